//! `hugewise record`.

use super::programs::{FILE, Teller};
use crate::capture::{NotRead, Stop, Taken};
use crate::cli::duration;
use crate::cli::{Global, RecordArgs};
use crate::exit;
use crate::history::{Book, Limits};
use crate::output::Output;
use crate::say::{Progress, note};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_base::units::Bytes;
use hugewise_collect::capture::{Options, PROCESSES_MAX, Sampler};
use hugewise_linux::cpu;
use hugewise_linux::root::Root;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Version of what is printed with `--json`.
const SCHEMA: u32 = 1;
/// A failure that lasts is said once in so many samples: once an hour, at 5 s.
const SAY_EVERY: u64 = 720;

/// What was recorded.
#[derive(Debug, Default, Serialize)]
struct Done {
    /// [`SCHEMA`].
    schema: u32,
    /// Samples that were written.
    samples: u64,
    /// Samples that could not be written.
    lost: u64,
    /// Their size on disk.
    bytes: u64,
    /// Files that were deleted to stay within the limits.
    files_deleted: u64,
    /// CPU time that it took, compression included.
    cpu_ms: u64,
    /// What could not be read.
    unreadable: Vec<NotRead>,
    /// Most processes that a sample left out.
    processes_left_out: usize,
    /// Most cgroups that a sample left out.
    cgroups_left_out: usize,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &RecordArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let time = |text: &str| duration(text).map(|time| Duration::from_nanos(time.0));
    let every = time(&args.interval)?;
    let length = args.r#for.as_deref().map(time).transpose()?;
    let limits = Limits { days: args.days, bytes: Bytes(args.max_size.0) };
    let mut book = Book::open(&args.history, limits)?;
    let options = Options { arguments: args.with_arguments, processes_max: PROCESSES_MAX };
    let mut recorder = Recorder {
        teller: Teller::new(&root, &args.daemon, &args.state_dir),
        sampler: Sampler::new(&root, options),
        done: Done::default(),
    };
    let stop = Stop::on_signals()?;
    let progress = Progress::new(!global.json);
    let began = Instant::now();
    let mut due = began;
    loop {
        recorder.sample(&mut book);
        progress.show(&recorder.line());
        due = next(due, every, Instant::now());
        let ended = length.is_some_and(|length| due > began + length);
        if ended || stop.wait_until(due) {
            break;
        }
    }
    drop(progress);
    recorder.end(&book, global, args)
}

/// When the next sample is due: those that were missed are left out.
fn next(due: Instant, every: Duration, now: Instant) -> Instant {
    let next = due + every;
    if next >= now { next } else { now + every }
}

struct Recorder {
    teller: Teller,
    sampler: Sampler,
    done: Done,
}

impl Recorder {
    fn sample(&mut self, book: &mut Book) {
        let told = serde_json::to_vec(&self.teller.ask()).unwrap_or_default();
        let text = self.sampler.sample_with(&[(FILE, &told)]);
        match book.append(&text) {
            Ok(bytes) => {
                self.done.samples += 1;
                self.done.bytes += bytes;
            }
            Err(error) => {
                if self.done.lost.is_multiple_of(SAY_EVERY) {
                    note(&format!("a sample is lost: {error:#}"));
                }
                self.done.lost += 1;
            }
        }
    }

    fn line(&self) -> String {
        let samples = counted(self.done.samples, "sample", "samples");
        let lost = match self.done.lost {
            0 => String::new(),
            lost => format!(", {lost} lost"),
        };
        format!("{samples}, {} KiB{lost}", self.done.bytes >> 10)
    }

    fn end(self, book: &Book, global: &Global, args: &RecordArgs) -> anyhow::Result<Output> {
        let taken = Taken::of(&self.sampler);
        let done = Done {
            schema: SCHEMA,
            files_deleted: book.deleted(),
            cpu_ms: cpu::process_cpu_time_ns() / 1_000_000,
            unreadable: taken.unreadable,
            processes_left_out: taken.processes_left_out,
            cgroups_left_out: taken.cgroups_left_out,
            ..self.done
        };
        let code = if done.lost > 0 { exit::PARTIAL } else { exit::OK };
        if global.json {
            return Output::json(&done, code);
        }
        let mut text = format!(
            "{} in '{}': {} KiB, {:.2} s of CPU.\n",
            counted(done.samples, "sample", "samples"),
            args.history.display(),
            done.bytes.div_ceil(1024),
            done.cpu_ms as f64 / 1000.0
        );
        for (number, one, many, what) in [
            (done.lost, "sample", "samples", "could not be written"),
            (done.files_deleted, "file", "files", "deleted to stay within the limits"),
            (done.processes_left_out as u64, "process", "processes", "left out of a sample"),
            (done.cgroups_left_out as u64, "cgroup", "cgroups", "left out of a sample"),
        ] {
            if number > 0 {
                text.push_str(&format!("{} {what}.\n", counted(number, one, many)));
            }
        }
        if !done.unreadable.is_empty() {
            let paths = done.unreadable.iter().map(|what| printable(&what.path));
            let paths: Vec<_> = paths.collect();
            text.push_str(&format!("Could not be read: {}.\n", paths.join(", ")));
        }
        Ok(Output::text(text, code))
    }
}
