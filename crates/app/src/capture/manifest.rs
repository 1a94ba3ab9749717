//! What a capture says about itself.

use hugewise_collect::capture::{Sampler, Unreadable};
use hugewise_evidence::recording::readers::capture::sample::Sample;
use hugewise_linux::machine;
use hugewise_linux::root::Root;
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

/// Version of the manifest and of the files beside it.
pub(super) const SCHEMA: u32 = 1;

/// What is left out unless arguments are asked for.
const ARGUMENTS: [&str; 2] = ["arguments of processes", "kernel command line"];

/// Files that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotRead {
    /// Their path; of processes `/proc/PID/...`.
    pub(crate) path: String,
    /// What the system said.
    pub(crate) why: String,
    /// How often.
    pub(crate) times: u64,
}

/// What sampling came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Taken {
    /// Samples.
    pub(crate) samples: u64,
    /// Whether it was stopped before its time.
    pub(crate) stopped: bool,
    /// What could not be read.
    pub(crate) unreadable: Vec<NotRead>,
    /// Most processes that a sample left out.
    pub(crate) processes_left_out: usize,
    /// Most cgroups that a sample left out.
    pub(crate) cgroups_left_out: usize,
}

impl Taken {
    /// What a sampler had to leave out so far.
    pub(crate) fn of(sampler: &Sampler) -> Self {
        let not_read = |(path, what): (&String, &Unreadable)| NotRead {
            path: path.clone(),
            why: what.why.clone(),
            times: what.times,
        };
        Self {
            unreadable: sampler.unreadable().iter().map(not_read).collect(),
            processes_left_out: sampler.processes_left_out(),
            cgroups_left_out: sampler.cgroups_left_out(),
            ..Self::default()
        }
    }
}

/// The file `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// [`SCHEMA`].
    pub(crate) schema: u32,
    /// Version of hugewise that wrote it.
    pub(crate) hugewise: String,
    /// The machine's name.
    pub(crate) host: Option<String>,
    /// `uname -r`.
    pub(crate) kernel: Option<String>,
    /// Identity of the boot.
    pub(crate) boot_id: Option<String>,
    /// When it began, in UTC.
    pub(crate) began: String,
    /// Time between samples.
    pub(crate) interval_ms: u64,
    /// What was left out on purpose.
    pub(crate) redacted: Vec<String>,
    /// Whether it came to its end: by time, or by a signal.
    pub(crate) complete: bool,
    /// Why it ended: `time`, `signal`, or what went wrong.
    pub(crate) ended: Option<String>,
    /// Samples that were written.
    pub(crate) samples: u64,
    /// Their size on disk.
    pub(crate) bytes: u64,
    /// Their size as text.
    pub(crate) text_bytes: u64,
    /// CPU time that it took, compression included.
    pub(crate) cpu_ms: u64,
    /// What could not be read, and why.
    pub(crate) unreadable: Vec<NotRead>,
    /// Most processes that a sample left out.
    pub(crate) processes_left_out: usize,
    /// Most cgroups that a sample left out.
    pub(crate) cgroups_left_out: usize,
}

impl Manifest {
    /// Of a capture that begins now.
    pub(crate) fn new(root: &Root, every: Duration, arguments: bool) -> Self {
        let host = root.read_line("proc/sys/kernel/hostname").ok();
        let mut redacted = vec!["environment of processes".to_owned()];
        if !arguments {
            redacted.extend(ARGUMENTS.map(str::to_owned));
        }
        Self {
            schema: SCHEMA,
            hugewise: env!("CARGO_PKG_VERSION").to_owned(),
            host: host.filter(|host| !host.is_empty()),
            kernel: machine::kernel_release(root),
            boot_id: machine::boot_id(root),
            began: crate::journal::rfc3339(SystemTime::now()),
            interval_ms: u64::try_from(every.as_millis()).unwrap_or(u64::MAX),
            redacted,
            complete: false,
            ended: None,
            samples: 0,
            bytes: 0,
            text_bytes: 0,
            cpu_ms: 0,
            unreadable: Vec::new(),
            processes_left_out: 0,
            cgroups_left_out: 0,
        }
    }

    /// Of a piece of a history that begins with this sample.
    pub(crate) fn of_history(first: &Sample<'_>, every: Duration) -> Self {
        let header = &first.header;
        let root = Root::of_files(first.files.iter().map(|(path, bytes)| (*path, *bytes)));
        let since = Duration::from_millis(u64::try_from(header.at_ms).unwrap_or(0));
        Self {
            host: header.host.clone(),
            boot_id: header.boot.clone(),
            began: crate::journal::rfc3339(SystemTime::UNIX_EPOCH + since),
            ..Self::new(&root, every, false)
        }
    }

    /// Arguments are in it, after all.
    pub(crate) fn with_arguments(&mut self) {
        self.redacted.retain(|what| !ARGUMENTS.contains(&what.as_str()));
    }

    /// Takes over what sampling came to.
    pub(crate) fn end(&mut self, taken: Taken, error: Option<&anyhow::Error>) {
        self.complete = error.is_none();
        self.ended = Some(match error {
            Some(error) => format!("{error:#}"),
            None if taken.stopped => "signal".to_owned(),
            None => "time".to_owned(),
        });
        self.unreadable = taken.unreadable;
        self.processes_left_out = taken.processes_left_out;
        self.cgroups_left_out = taken.cgroups_left_out;
    }
}
