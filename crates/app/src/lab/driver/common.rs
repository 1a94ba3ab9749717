//! What several drivers do alike.

use super::super::manager::Manager;
use super::super::program::Memory;
use super::super::run::Run;
use anyhow::bail;
use hugewise_core::lab::spec::HugePages;
use std::process::Command;
use std::time::Duration;

/// jemalloc then advises all its memory (jemalloc(3), `thp:always`).
const JEMALLOC: (&str, &str) = ("MALLOC_CONF", "thp:always");
/// glibc then advises what it allocates (`glibc.malloc.hugetlb`, since 2.35).
const GLIBC: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

/// Tells the allocators of a program to ask for huge pages, where the variant wants them at every
/// fault and says nothing else itself.
pub(super) fn advise(run: &Run<'_>, command: &mut Command) {
    for (name, value) in [JEMALLOC, GLIBC] {
        if run.huge_pages() == HugePages::Always && !run.variant().env.contains_key(name) {
            command.env(name, value);
        }
    }
}

/// An error when the program has huge pages where the variant forbids them, or none where it asks.
pub(super) fn check_huge(run: &Run<'_>, name: &str, memory: &Memory) -> anyhow::Result<()> {
    match run.huge_pages() {
        HugePages::Always if memory.huge <= 0.0 => {
            bail!("{name} was told to ask for huge pages and got none")
        }
        HugePages::Never if memory.huge > 0.0 => {
            bail!("{} MiB of {name} are huge although it may have none", memory.huge)
        }
        _ => Ok(()),
    }
}

/// How long khugepaged and a manager may work before something is measured: the same for every
/// variant, as khugepaged works beside all of them.
pub(super) fn settling(run: &Run<'_>) -> Duration {
    Duration::from_secs(run.experiment().manage_s)
}

/// Waits for that.
pub(super) fn settle(run: &mut Run<'_>, manager: &mut Option<Manager>) -> anyhow::Result<()> {
    run.step("memory settles")?;
    run.sleep(settling(run))?;
    check(manager)
}

/// An error when the manager, if there is one, has ended by itself.
pub(super) fn check(manager: &mut Option<Manager>) -> anyhow::Result<()> {
    manager.as_mut().map_or(Ok(()), Manager::check)
}
