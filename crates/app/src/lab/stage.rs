//! The machine before, during and after a run: quiet, with a variant's settings, and as it was.

use super::beside::{self, Stressor};
use super::run::Run;
use super::talk::Talk;
use crate::child::warm;
use crate::exit;
use crate::session::Session;
use anyhow::{Context, bail};
use hugewise_core::lab::check::Checked;
use hugewise_core::lab::quiet::{Look, Quiet, State, refusals};
use hugewise_core::lab::record::{Conditions, Measured};
use hugewise_core::lab::settings;
use hugewise_core::lab::spec::Variant;
use hugewise_core::parse::{self, size};
use hugewise_core::units::{Bytes, Ns};
use hugewise_linux::hugetlb::pool;
use hugewise_linux::instance::InstanceLock;
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Restored, Scope, Trail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a settling machine is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Memory that must stay available when a pool grows.
const LEAVE: Bytes = Bytes::mib(512);
/// Where a manager within an experiment keeps its trail, below the state directory.
const MANAGER: &str = "lab-manager";
/// Said where a variant changes something that the experiment was not known to change.
const NO_TRAIL: &str = "no trail of settings was opened";
/// Order of a huge page of x86-64, for the index of fragmentation.
const ORDER: usize = 9;

/// What a run needs of the machine. The engine is generic over it: its order of steps is tested
/// without a machine.
pub(crate) trait Machine {
    /// Waits for quiet and applies what a variant asks for.
    fn prepare(&mut self, index: usize, label: &str) -> anyhow::Result<Conditions>;
    /// Runs the workload.
    fn run(&mut self, index: usize, seed: u64, label: &str) -> anyhow::Result<Measured>;
    /// Ends what runs beside, and puts every setting back.
    fn tidy(&mut self) -> anyhow::Result<()>;
    /// An error after Ctrl-C.
    fn beat(&self) -> anyhow::Result<()>;
}

/// This machine.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    root: Root,
    checked: &'a Checked,
    session: Session,
    /// Only where something is changed, so that whoever may change nothing can measure, too.
    trail: Option<Trail>,
    manager_dir: PathBuf,
    noisy: bool,
    /// Held while a variant's pools stand.
    pools: Option<InstanceLock>,
    beside: Vec<Stressor>,
    fragmenter: Option<Talk>,
}

impl<'a> Stage<'a> {
    /// Opens the trail, and puts back what an experiment that was killed has left. Returns what
    /// that was.
    pub(crate) fn open(
        checked: &'a Checked,
        session: Session,
        state_dir: &Path,
        noisy: bool,
    ) -> anyhow::Result<(Self, Vec<Restored>)> {
        let (root, manager_dir) = (Root::live(), state_dir.join(MANAGER));
        let (changes, is_root) = (checked.changes_machine(), rustix::process::geteuid().is_root());
        let left = match put_back(&root, state_dir, false) {
            Err(error) if !changes && !is_root => {
                eprintln!(
                    "hugewise: whether a killed experiment has left settings is unknown: {error:#}"
                );
                Vec::new()
            }
            left => left?,
        };
        let trail =
            changes.then(|| Trail::open(root.clone(), state_dir, Scope::Lab)).transpose()?;
        let (pools, beside, fragmenter) = (None, Vec::new(), None);
        let stage =
            Self { root, checked, session, trail, manager_dir, noisy, pools, beside, fragmenter };
        Ok((stage, left))
    }

    fn variant(&self, index: usize) -> &'a Variant {
        &self.checked.variants()[index]
    }

    /// Waits until the machine stands still, and for a quieter moment where others are too busy.
    fn settle(&self) -> anyhow::Result<Conditions> {
        let experiment = &self.checked.experiment;
        let patience = Instant::now() + Duration::from_secs(experiment.noise.patience_s);
        loop {
            let conditions = self.wait()?;
            let refusals = refusals(&conditions, &experiment.noise);
            if refusals.is_empty() || self.noisy {
                return Ok(conditions);
            }
            if Instant::now() >= patience {
                let why = format!(
                    "this machine is too busy to measure: {}. Stop what else runs, or give \
                     --noisy and distrust the result",
                    refusals.join("; ")
                );
                return Err(exit::coded(exit::REFUSED, why));
            }
        }
    }

    fn wait(&self) -> anyhow::Result<Conditions> {
        let experiment = &self.checked.experiment;
        let meminfo = self.root.read_text("proc/meminfo").unwrap_or_default();
        let total = parse::meminfo::parse(&meminfo).value.mem_total_bytes.map(Bytes);
        let mut quiet = Quiet::new(&experiment.settle, total);
        let began = Instant::now();
        let state = loop {
            match quiet.look(self.look(began)) {
                State::Moving => self.session.sleep(LOOK)?,
                state => break state,
            }
        };
        let mut conditions = quiet.conditions(state, &experiment.noise);
        let zones = self.root.read_text("proc/buddyinfo").ok();
        let zones = zones.map(|text| parse::buddyinfo::parse(&text).value);
        conditions.fmfi = zones.and_then(|zones| parse::buddyinfo::fmfi_total(&zones, ORDER));
        Ok(conditions)
    }

    fn look(&self, began: Instant) -> Look {
        let text = |path| self.root.read_text(path).unwrap_or_default();
        let memory = parse::meminfo::parse(&text("proc/meminfo")).value;
        let vmstat = parse::vmstat::parse(&text("proc/vmstat")).value;
        Look {
            at: Ns(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)),
            mem_available: memory.mem_available_bytes.map(Bytes),
            collapsed: vmstat.get("thp_collapse_alloc"),
            cpu: parse::proc_stat::parse(&text("proc/stat")).value.all,
        }
    }

    /// Applies a variant's settings; what then stands in their files.
    fn set(&mut self, index: usize) -> anyhow::Result<BTreeMap<String, String>> {
        let wanted = self.checked.settings(self.variant(index));
        for (key, value) in &wanted {
            let file = settings::file(key).context("an unknown setting")?;
            self.trail.as_mut().context(NO_TRAIL)?.set(&file, value)?;
        }
        let pools = &self.variant(index).hugetlb;
        if !pools.is_empty() {
            self.pools = Some(InstanceLock::take_pools(&self.root)?);
        }
        for (text, pages) in pools {
            let page = Bytes(size::parse(text)?.bytes());
            let wanted = pool::Wanted { page, node: None, pages: *pages, leave: LEAVE };
            let trail = self.trail.as_mut().context(NO_TRAIL)?;
            let grown = pool::grow(&self.root, trail, wanted, &mut |_| {})?;
            if grown.pages != *pages {
                bail!("the kernel granted {} of {pages} pages of {text}", grown.pages);
            }
        }
        let read = |key: &String| {
            let file = settings::file(key)?;
            Some((key.clone(), self.root.read_line(file).ok()?))
        };
        Ok(wanted.keys().filter_map(read).collect())
    }
}

impl Machine for Stage<'_> {
    fn prepare(&mut self, index: usize, label: &str) -> anyhow::Result<Conditions> {
        self.session.step(format!("{label}: waiting for a quiet machine"))?;
        let mut conditions = self.settle()?;
        conditions.settings = self.set(index)?;
        let experiment = &self.checked.experiment;
        if let Some(mib) = experiment.warm_mib {
            self.session.step(format!("{label}: warming free memory"))?;
            warm(&self.session, Bytes::mib(mib))?;
        }
        if let Some(part) = &experiment.fragment {
            self.fragmenter = Some(beside::start(part, &mut self.session, label)?);
        }
        for part in &experiment.beside {
            self.beside.push(beside::stress(part, &mut self.session, label)?);
        }
        Ok(conditions)
    }

    fn run(&mut self, index: usize, seed: u64, label: &str) -> anyhow::Result<Measured> {
        let (checked, state) = (self.checked, &self.manager_dir);
        let release_s = checked.experiment.fragment_release_s;
        if let Some((talk, s)) = self.fragmenter.as_ref().zip(release_s) {
            talk.send_later("release", Duration::from_secs(s))?;
        }
        let mut run = Run::new(&mut self.session, checked, index, seed, label.to_owned(), state)?;
        super::driver::drive(checked.kind, &mut run)?;
        Ok(run.finish())
    }

    fn tidy(&mut self) -> anyhow::Result<()> {
        self.beside.clear();
        self.fragmenter = None;
        let steps = self.trail.as_mut().map(Trail::restore).unwrap_or_default();
        let failed = steps.into_iter().find_map(|step| match step {
            Restored::Failed { file, error } => Some(format!("/{file}: {error}")),
            Restored::InUse { file, to, wanted, .. } => {
                Some(format!("/{file}: {to} pages are in use, where there were {wanted}"))
            }
            _ => None,
        });
        self.pools = None;
        failed.map_or(Ok(()), |what| bail!("a setting could not be put back: {what}"))
    }

    fn beat(&self) -> anyhow::Result<()> {
        self.session.beat()
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // After an error or Ctrl-C.
        let _ = self.tidy();
    }
}

/// Puts back what an experiment that was killed has left, its manager's settings first, as those
/// were changed last; in a dry run says what that would be.
pub(crate) fn put_back(
    root: &Root,
    state_dir: &Path,
    dry_run: bool,
) -> anyhow::Result<Vec<Restored>> {
    let mut all = Vec::new();
    for (folder, scope) in [(&*state_dir.join(MANAGER), Scope::Manager), (state_dir, Scope::Lab)] {
        let mut trail = Trail::existing(root.clone(), folder, scope)?;
        all.extend(if dry_run { trail.plan() } else { trail.restore() });
    }
    Ok(all)
}
