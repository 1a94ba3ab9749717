//! This host, as its products see it.

use crate::cli::Global;
use crate::journal::rfc3339;
use crate::render::view::advise::report::View;
use hugewise_collect::advice::{Host, host, statements};
use hugewise_evidence::advice::book::Book;
use hugewise_evidence::advice::change;
use hugewise_evidence::advice::owners::owned;
use hugewise_evidence::advice::resolve::resolve;
use hugewise_evidence::advice::verdict::findings;
use hugewise_linux::root::Root;
use hugewise_manager::{ownership, thp_settings};
use std::path::Path;
use std::time::SystemTime;

/// A host that was read.
#[derive(Debug)]
pub(super) struct Advised {
    host: Host,
    today: String,
}

impl Advised {
    /// Reads it. `pids`: only these processes; empty: all.
    pub(super) fn new(global: &Global, book: &Book, pids: &[u32]) -> anyhow::Result<Self> {
        let root = Root::at(&global.root);
        let host = host(&root, book, pids);
        let has_all = pids.iter().all(|pid| host.processes.iter().any(|one| one.pid == *pid));
        anyhow::ensure!(has_all, "--pid: no such process, or a thread of the kernel");
        let now = rfc3339(SystemTime::now());
        let today = now.split('T').next().unwrap_or_default().to_owned();
        Ok(Self { host, today })
    }

    /// What rules say of it, and what follows.
    pub(super) fn view<'a>(
        &'a self,
        book: &'a Book,
        global: &Global,
        state_dir: &Path,
    ) -> View<'a> {
        let machine = &self.host.machine;
        let findings = findings(book, machine, &self.host.processes, &self.today);
        let resolution = resolve(&findings, machine, &self.host.processes);
        let root = Root::at(&global.root);
        let trails = [change::OWNER, thp_settings::OWNER, ownership::OWNER];
        let lines = statements(&root, state_dir, &trails);
        let owners = owned(lines, |setting| machine.settings.get(setting).cloned());
        View { machine, findings, resolution, owners, missing: self.host.missing.clone() }
    }
}
