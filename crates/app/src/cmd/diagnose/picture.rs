//! The flame graph of what was diagnosed: of the time of the first finding, where that is known.

use super::{input, when};
use crate::cli::DiagnoseArgs;
use crate::exit::{self, coded};
use crate::history::History;
use crate::render::flame;
use hugewise_evidence::diagnose::{Diagnosis, Interval};
use hugewise_evidence::recording::Recording;
use std::ops::RangeInclusive;

/// The picture; `None`: no chains of calls were read. Of a history, or a file of samples, it is of
/// the times of the first finding that has some, where chains of calls were recorded then.
pub(super) fn of(
    args: &DiagnoseArgs,
    recording: &Recording,
    found: &Diagnosis,
) -> anyhow::Result<Option<String>> {
    let past = match &args.files[..] {
        _ if args.past.is_meant() => Some(when::meant(args)?),
        [file] if History::is_recording(file) => Some((History::open(file)?, i64::MIN..=i64::MAX)),
        _ => None,
    };
    let of_finding = past.map_or(Ok(None), |(past, all)| of_finding(past, all, found))?;
    of_finding.map_or_else(|| flame::svg(recording, found, None), |svg| Ok(Some(svg)))
}

/// The picture of the times of the first finding that has some.
fn of_finding(
    mut past: History,
    all: RangeInclusive<i64>,
    found: &Diagnosis,
) -> anyhow::Result<Option<String>> {
    let timed = |one: &Interval| one.from.zip(one.to).is_some();
    let first = found.findings.iter().find(|one| one.intervals.iter().any(timed));
    let times = first.map(|one| &one.intervals[..]).unwrap_or_default();
    let times: Vec<Interval> = times.iter().copied().filter(timed).collect();
    let from = times.iter().filter_map(|one| one.from).min();
    let to = times.iter().filter_map(|one| one.to).max();
    let Some((from, to)) = from.zip(to) else { return Ok(None) };
    let of = match times.len() {
        1 => format!("{from} to {to}, the time of the first finding"),
        many => format!("{many} times from {from} to {to}, those of the first finding"),
    };
    let then = input::of_times(&mut past, all, &times)?;
    flame::svg(&then, found, Some(&of))
}

/// Why there is none.
pub(super) fn none() -> anyhow::Error {
    let why = "--flame-graph: no chains of calls were read (give 'perf script', or what 'hugewise \
               record --stacks' wrote)";
    coded(exit::ERROR, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::FrameFile;
    use hugewise_evidence::diagnose::{Thresholds, diagnose};
    use hugewise_evidence::recording::readers::capture::sample::{Header, Writer};
    use hugewise_evidence::recording::readers::capture::stacks::PATH;
    use hugewise_scratch::Scratch;

    /// Begin of the made-up recording: in 2026.
    const BEGIN_MS: i64 = 1_790_000_000_000;
    const MINUTE_MS: i64 = 60_000;

    /// An hour with a sample a minute, of which the kernel takes everything for ten minutes.
    fn hour(file: &std::path::Path, storm: RangeInclusive<i64>) {
        let mut out = FrameFile::create(file).expect("a new file");
        let (mut user, mut system, mut idle) = (0_u64, 0_u64, 0_u64);
        for minute in 0..60 {
            let storms = storm.contains(&minute);
            let (more_user, more_system) = if storms { (60, 11_600) } else { (1200, 60) };
            user += more_user;
            system += more_system;
            idle += 12_000 - more_user - more_system;
            let cpus = format!("{user} 0 {system} {idle} 0 0 0 0 0 0");
            let stat = format!("cpu  {cpus}\ncpu0 {cpus}\nctxt 1\nbtime 1\nprocesses 1\n");
            let chain = if storms { "web;sys_madvise;storm" } else { "web;sys_read;calm" };
            let mut sample = Writer::default();
            sample.file(PATH, format!("{chain} 90\n").as_bytes());
            sample.file("/proc/stat", stat.as_bytes());
            let header = Header {
                at_ms: BEGIN_MS + minute * MINUTE_MS,
                utc_offset_s: Some(3600),
                monotonic_ns: (1 + minute.unsigned_abs()) * 60_000_000_000,
                host: Some("here".into()),
                boot: Some("one".into()),
                ticks_per_s: Some(100),
                page_bytes: Some(4096),
            };
            out.append(&sample.finish(&header)).expect("written");
        }
    }

    #[test]
    fn it_is_of_the_time_of_the_finding() {
        let scratch = Scratch::new();
        let file = scratch.join("an-hour");
        hour(&file, 20..=29);
        let open = || History::open(&file).expect("samples");
        let all = || i64::MIN..=i64::MAX;
        let recording = input::of_past(&mut open(), all()).expect("read");
        let found = diagnose(&recording, &Thresholds::default());
        let svg = of_finding(open(), all(), &found).expect("drawn").expect("chains");
        assert!(svg.contains("storm (900 events, 100.00%)"), "{svg}");
        assert!(!svg.contains("calm"), "{svg}");
        assert!(svg.contains("the time of the first finding"), "{svg}");
        let whole = flame::svg(&recording, &found, None).expect("drawn").expect("chains");
        assert!(whole.contains("storm") && whole.contains("calm"));
        // What was diagnosed is a part of it: nothing else is drawn.
        let calm = BEGIN_MS..=BEGIN_MS + 25 * MINUTE_MS;
        let svg = of_finding(open(), calm, &found).expect("drawn").expect("chains");
        assert!(svg.contains("storm (540 events, 100.00%)"), "{svg}");
    }
}
