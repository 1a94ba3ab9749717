//! Moments that were recorded, as `top`, `status` and `diagnose` show them.

use super::programs::{FILE, ProgramsReport};
use super::snapshot::{Counters, Snapshot, shown};
use crate::cli::PastArgs;
use crate::exit::{self, coded};
use crate::history::History;
use crate::journal::rfc3339;
use crate::render::view::top::values::Shown;
use anyhow::Context;
use hugewise_base::units::{Bytes, Ns};
use hugewise_evidence::history::time;
use hugewise_evidence::recording::readers::capture::sample::{self, Header};
use hugewise_linux::root::Root;
use std::time::{Duration, UNIX_EPOCH};

/// What was recorded, and the moment that is meant: the last one, where no other is.
pub(super) fn open(args: &PastArgs) -> anyhow::Result<(History, usize)> {
    let past = History::open(args.directory())?;
    let at = match &args.at {
        Some(text) => past.at(parse(&past, "--at", text)?),
        None => past.moments().len().saturating_sub(1),
    };
    Ok((past, at))
}

/// A time that a user named, in milliseconds since 1970-01-01 UTC.
pub(super) fn parse(past: &History, option: &str, text: &str) -> anyhow::Result<i64> {
    let last = past.moments().iter().map(|moment| moment.at_ms).max().unwrap_or(0);
    let parsed = time::parse(text, last);
    parsed.map_err(|error| coded(exit::USAGE, format!("{option} {error}")))
}

/// A time for people, in UTC as everywhere.
pub(super) fn clock(at_ms: i64) -> String {
    let since = Duration::from_millis(u64::try_from(at_ms).unwrap_or(0));
    let text = rfc3339(UNIX_EPOCH + since);
    let (date, clock) = (text.get(..10), text.get(11..19));
    format!("{} {} UTC", date.unwrap_or_default(), clock.unwrap_or_default())
}

/// A recorded sample taken apart.
struct Recorded {
    header: Header,
    root: Root,
    told: ProgramsReport,
}

fn recorded(past: &mut History, at: usize) -> anyhow::Result<Recorded> {
    let moment = *past.moments().get(at).context("there is no such moment")?;
    let text = past.text(moment)?;
    let (sample, _) = sample::split(text).map_err(|why| anyhow::anyhow!("no sample: {why}"))?;
    let told = told(sample.files.get(FILE).copied());
    let files = sample.files.iter().map(|(path, bytes)| (*path, *bytes));
    Ok(Recorded { root: Root::of_files(files), told, header: sample.header })
}

/// What a sample has of programs.
fn told(bytes: Option<&[u8]>) -> ProgramsReport {
    match bytes.map(serde_json::from_slice) {
        Some(Ok(told)) => told,
        Some(Err(error)) => {
            ProgramsReport::nothing(&format!("programs: what was recorded of them {error}"))
        }
        None => ProgramsReport::nothing("programs: only a history has what is known of them"),
    }
}

/// A moment as it was, with rates since the one before where that is of the same boot.
pub(super) fn shown_at(past: &mut History, at: usize) -> anyhow::Result<Shown> {
    // What came before is no more than a help.
    let before = at.checked_sub(1).and_then(|before| recorded(past, before).ok());
    let now = recorded(past, at)?;
    let before = before.filter(|before| before.header.boot == now.header.boot);
    let counters = before.map(|before| seen(&before, None).1);
    Ok(seen(&now, counters.as_ref()).0)
}

fn seen(recorded: &Recorded, before: Option<&Counters>) -> (Shown, Counters) {
    let header = &recorded.header;
    let moment = Snapshot {
        root: &recorded.root,
        at: Ns(header.monotonic_ns),
        base_page: header.page_bytes.map(Bytes),
        host: header.host.clone().unwrap_or_default(),
        time: clock(header.at_ms),
        told: recorded.told.clone(),
    };
    shown(moment, before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::record;
    use crate::history::{Book, Limits};
    use crate::render::view::status::tests::with_manager;
    use hugewise_base::units::Bytes;
    use hugewise_collect::capture::{Options, Sampler};
    use hugewise_scratch::Scratch;
    use std::fs;
    use std::path::Path;

    /// What the screens show a figure of.
    const FILES: [&str; 12] = [
        "proc/stat",
        "proc/meminfo",
        "proc/vmstat",
        "proc/buddyinfo",
        "proc/pressure/memory",
        "proc/sys/kernel/osrelease",
        "sys/kernel/mm/transparent_hugepage/enabled",
        "sys/kernel/mm/transparent_hugepage/defrag",
        "sys/kernel/mm/transparent_hugepage/shmem_enabled",
        "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
        "sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none",
        "sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled",
    ];

    /// Copies what this machine has of them now.
    fn copy(to: &Path) {
        for file in FILES {
            if let Ok(text) = fs::read(Path::new("/").join(file)) {
                let place = to.join(file);
                fs::create_dir_all(place.parent().expect("below")).expect("made");
                fs::write(place, text).expect("written");
            }
        }
    }

    /// All figures, as text.
    fn figures(shown: &Shown) -> String {
        let Shown { cpus, cpu, view, groups, own, .. } = shown;
        format!("{cpus:?} {cpu:?} {view:#?} {groups:#?} {own}")
    }

    #[test]
    fn live_recorded_and_captured_have_the_same_figures() {
        let scratch = Scratch::new();
        let (copies, history) = (scratch.join("root"), scratch.join("history"));
        let root = Root::at(&copies);
        let told = ProgramsReport {
            manager: with_manager().manager,
            own: None,
            missing: vec!["a".to_owned()],
        };
        let limits = Limits { days: 1, bytes: Bytes::mib(8) };
        let mut book = Book::open(&history, limits).expect("a history");
        let mut live: Vec<Shown> = Vec::new();
        let mut before = None;
        for _ in 0..3 {
            copy(&copies);
            let mut sampler = Sampler::new(&root, Options::default());
            let json = serde_json::to_vec(&told).expect("plain values");
            let text = sampler.sample_with(&[(FILE, &json)]);
            book.append(&text).expect("written");
            let header = sample::header_of(&text).expect("a sample");
            let (at, base_page) = (Ns(header.monotonic_ns), header.page_bytes.map(Bytes));
            let (host, time) = (String::new(), clock(header.at_ms));
            let moment = Snapshot { root: &root, at, base_page, host, time, told: told.clone() };
            let (now, counters) = shown(moment, before.as_ref());
            before = Some(counters);
            live.push(now);
            std::thread::sleep(Duration::from_millis(30));
        }
        let out = scratch.join("piece");
        let mut whole = History::open(&history).expect("a history");
        record::export(&mut whole, i64::MIN..=i64::MAX, &out).expect("a capture");
        let mut piece = History::open(&out).expect("a capture");
        for (at, live) in live.iter().enumerate() {
            for past in [&mut whole, &mut piece] {
                let replayed = shown_at(past, at).expect("whole");
                assert_eq!(replayed.time, live.time);
                assert_eq!(figures(&replayed), figures(live), "moment {at}");
            }
        }
        assert!(live[0].view.machine.mem_total.is_some(), "there are figures");
    }
}
