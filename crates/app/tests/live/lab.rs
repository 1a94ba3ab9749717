//! Workloads of experiments: fragmenters, on a machine that is nobody's, and where the huge pages
//! of the others come from.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, hugewise, promotes, skip, trial, trial_of_oldest_kernel};
use crate::machine::{Kernel, MIN_FREE, Turn, set_in_guest, thp};
use crate::manager::Manage;
use anyhow::{Context, bail, ensure};
use hugewise_base::parse::taskstats::Delay;
use hugewise_base::parse::{buddyinfo, meminfo};
use hugewise_linux::delays::{DelayReader, SWITCH};
use hugewise_workloads::protocol::{Event, Report, Request};
use libtest_mimic::Trial;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs;
use std::path::Path;

/// A machine with more is somebody's: taking all of its memory would hurt.
const LARGEST_MIB: u64 = 4096;
/// What must stay available in a guest of 1 GiB.
const LEAVE_MIB: u64 = 24;
const PROACTIVENESS: &str = "/proc/sys/vm/compaction_proactiveness";
/// What experiments call a fragmented machine.
const WANTED: f64 = 0.85;
/// Memory of a workload that is looked at for its huge pages, MiB.
const MIB: u64 = 32;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_oldest_kernel("lab_fragment_holes", lab_fragment_holes),
        trial_of_oldest_kernel("lab_fragment_page_cache", lab_fragment_page_cache),
        trial_of_oldest_kernel("lab_always_has_huge_pages", lab_always_has_huge_pages),
        trial("requests_never_compact_memory_beside_a_manager", nobody_compacts),
    ]
}

fn lab_fragment_holes(_: &Turn) -> anyhow::Result<()> {
    small_guest()?;
    let _lenient = Lenient::set()?;
    fragments("fragment-holes", Path::new("/tmp"))
}

fn lab_fragment_page_cache(_: &Turn) -> anyhow::Result<()> {
    small_guest()?;
    let _lenient = Lenient::set()?;
    let scratch = Scratch::new()?;
    // The guest has no disk: files of a tmpfs are in the page cache, too, and nowhere else.
    let folder = scratch.join("files");
    fs::create_dir(&folder)?;
    mount("tmpfs", &folder, "tmpfs", MountFlags::empty(), Some(c"size=100%"))
        .context("cannot mount a tmpfs")?;
    let outcome = fragments("fragment-page-cache", &folder);
    unmount(&folder, UnmountFlags::DETACH).context("cannot unmount the tmpfs")?;
    outcome
}

/// How long requests are measured.
const MEASURED_S: f64 = 8.0;

/// How often a server that asks for huge pages compacted memory in some seconds of requests, by the
/// kernel's own account.
fn compactions<T>(
    server: &mut Hold,
    what: &str,
    meanwhile: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<(u64, T)> {
    let pid = server.pid();
    let waits = || -> anyhow::Result<Delay> {
        let delays = DelayReader::open().and_then(|reader| reader.read(pid));
        let delays = delays.map_err(|error| anyhow::anyhow!("taskstats: {error:?}"))?;
        delays.compaction.context("this kernel does not count compactions")
    };
    let before = waits()?;
    server.tell(Request::Measure(MEASURED_S))?;
    let found = meanwhile()?;
    let measured = server.event()?;
    let Event::Measured(measured) = measured else { bail!("not measured: {measured:?}") };
    let now = waits()?;
    let [p50_us, worst_us] = ["p50_us", "worst_us"].map(|key| number(&measured, key));
    let (count, time) = (now.count - before.count, now.time.0.saturating_sub(before.time.0));
    init::say(&format!(
        "{what}: {count} compactions in {} ms; a request {:.0} ms, worst {:.0} ms",
        time / 1_000_000,
        p50_us? / 1e3,
        worst_us? / 1e3
    ));
    Ok((count, found))
}

/// The causes that are found in two seconds, of which one has `wanted`: a request that stalls for
/// longer than that may not have one compaction begin and end in them.
fn causes(wanted: &str) -> anyhow::Result<Vec<String>> {
    let mut all = Vec::new();
    for _ in 0..3 {
        let found = hugewise(["diagnose", "--for", "2s", "--json"])?.json()?;
        let found = found["findings"].as_array().context("findings")?;
        all.extend(found.iter().filter_map(|one| Some(one["cause"].as_str()?.to_owned())));
        if all.iter().any(|cause| cause == wanted) {
            break;
        }
    }
    Ok(all)
}

/// Memory of which no block can be made, and a server that asks for huge pages: by the kernel's
/// defaults its requests compact memory in vain, beside a manager none does.
fn nobody_compacts(_: &Turn) -> anyhow::Result<()> {
    const COMPACTIONS_COUNTED: Kernel = Kernel(5, 18);
    const DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/defrag";
    small_guest()?;
    promotes()?;
    if Kernel::running()? < COMPACTIONS_COUNTED {
        return Err(skip("before Linux 5.18 nobody counts who compacts"));
    }
    let _lenient = Lenient::set()?;
    set_in_guest(&format!("/{SWITCH}"), "1")?;
    let params = "{\"leave_mib\":48,\"hold_percent\":80,\"fmfi_percent\":0,\"pinned_percent\":5,\
                  \"free_blocks_max\":0}";
    let mut pinned = Hold::start_kind("lab", &format!("fragment-holes --params {params}"))?;
    let args = "requests --params {\"mib\":16,\"per_s\":4} --huge-pages always";
    let mut server = Hold::start_kind("lab", args)?;
    for defrag in ["madvise", "always"] {
        set_in_guest(DEFRAG, defrag)?;
        let found = || causes("memory_pinned");
        let (count, causes) = compactions(&mut server, defrag, found)?;
        ensure!(causes.iter().any(|cause| cause == "memory_pinned"), "{causes:?}");
        ensure!(count >= 40, "{defrag}: {count} compactions in {MEASURED_S} s");
    }
    let scratch = Scratch::new()?;
    let args = format!("--pid {} --for 1h --set compact.mode=on", server.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    let (count, ()) = compactions(&mut server, "beside a manager", || Ok(()))?;
    ensure!(count == 0, "{count} compactions beside a manager");
    manager.stop()?.expect(0)?;
    ensure!(thp("defrag")? == "always", "it did not come back");
    set_in_guest(DEFRAG, "madvise")?;
    ensure!(pinned.verify()? > 1000, "pages were lost");
    Ok(())
}

fn small_guest() -> anyhow::Result<()> {
    if !init::is_guest() {
        return Err(skip("it takes all memory of the machine: only in a virtual machine"));
    }
    let text = fs::read_to_string("/proc/meminfo")?;
    let bytes = meminfo::parse(&text).value.mem_total_bytes.context("no MemTotal")?;
    if bytes > LARGEST_MIB << 20 {
        return Err(skip(format!("the machine has more than {LARGEST_MIB} MiB of memory")));
    }
    Ok(())
}

/// A kernel that lets itself be fragmented, until dropped. Its own reserve is a tenth of such a
/// small guest, nobody may take it, and so it stays in large blocks; and it compacts in the
/// background where more than nine tenths of free memory are in pieces (Linux 5.9).
#[derive(Debug)]
struct Lenient(Vec<(&'static str, String)>);

impl Lenient {
    fn set() -> anyhow::Result<Self> {
        let mut before = Self(Vec::new());
        for (path, value) in [(MIN_FREE, "8192"), (PROACTIVENESS, "0")] {
            if let Ok(text) = fs::read_to_string(path) {
                set_in_guest(path, value)?;
                before.0.push((path, text));
            }
        }
        Ok(before)
    }
}

impl Drop for Lenient {
    fn drop(&mut self) {
        for (path, text) in &self.0 {
            // Where this does not work the next trial may fail, and says why it does.
            let _ = set_in_guest(path, text.trim());
        }
    }
}

/// Share of free memory in pieces too small for a huge page, looked at from outside.
fn fmfi() -> anyhow::Result<f64> {
    let zones = buddyinfo::parse(&fs::read_to_string("/proc/buddyinfo")?).value;
    buddyinfo::fmfi_total(&zones, 9).context("no free memory")
}

/// Fragments the machine, looks whether it is, and whether it recovers.
fn fragments(kind: &str, folder: &Path) -> anyhow::Result<()> {
    let before = fmfi()?;
    let folder = folder.display();
    let args = format!("{kind} --params {{\"leave_mib\":{LEAVE_MIB}}} --scratch {folder}");
    let mut fragmenter = Hold::start_kind("lab", &args)?;
    let (said, seen) = (number(&fragmenter.filled, "fmfi")?, fmfi()?);
    let took = number(&fragmenter.filled, "fill_s")?;
    let held = number(&fragmenter.filled, "held_mib")?;
    init::say(&format!("{kind}: {before:.3} -> {seen:.3}, {held:.0} MiB held, {took:.1} s"));
    ensure!(said >= WANTED && seen >= WANTED, "from {before:.2} to {seen:.2} only, {said:.2} said");
    let text = fs::read_to_string("/proc/meminfo")?;
    let left = meminfo::parse(&text).value.mem_available_bytes.context("no MemAvailable")?;
    ensure!(left > LEAVE_MIB << 20, "only {} MiB are left", left >> 20);
    let measured = fragmenter.ask(Request::Measure(1.0))?;
    let Event::Measured(measured) = measured else { bail!("not measured: {measured:?}") };
    let later = number(&measured, "fmfi")?;
    ensure!(later >= WANTED, "it did not last: {later:.2}");
    let verified = fragmenter.verify()?;
    ensure!(verified > 1000, "only {verified} were verified");
    let released = fragmenter.ask(Request::Release)?;
    let Event::Released(released) = released else { bail!("not released: {released:?}") };
    let released = number(&released, "fmfi")?;
    init::say(&format!("{kind}: {later:.3} a second later, {released:.3} when released"));
    ensure!(released < 0.5, "released, and the index is {released:.2}");
    Ok(())
}

fn number(report: &Report, name: &str) -> anyhow::Result<f64> {
    report.values.get(name).copied().with_context(|| format!("no {name}: {report:?}"))
}

/// What an experiment calls `always` is what the kernel did: also before Linux 6.13, where a page
/// that is read before it is written becomes a base page in spite of the advice.
fn lab_always_has_huge_pages(_: &Turn) -> anyhow::Result<()> {
    if thp("enabled")? == "never" {
        return Err(skip("transparent huge pages are switched off"));
    }
    for kind in ["demo", "gups", "pointer-chase", "btree", "fork-cow"] {
        let args = |pages: &str| format!("{kind} --params {{\"mib\":{MIB}}} --huge-pages {pages}");
        let huge = |pages: &str| -> anyhow::Result<u64> {
            Ok(Hold::start_kind("lab", &args(pages))?.memory()?.huge >> 10)
        };
        let (always, never) = (huge("always")?, huge("never")?);
        ensure!(always * 10 >= MIB * 9, "{kind}: {always} of {MIB} MiB are huge");
        ensure!(never == 0, "{kind}: {never} MiB are huge where none may be");
    }
    Ok(())
}
