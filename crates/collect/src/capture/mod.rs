//! Samples of raw kernel text for `hugewise record` and for a live diagnosis: which files, and what
//! of them. What the texts mean, and their format, is known in
//! `hugewise_evidence::recording::readers::capture`.
//!
//! Environments of processes are never read; arguments, the kernel's included, only on request.

mod list;
mod owners;
mod stacks;
mod threads;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hugewise_base::parse::pid_stat::{self, PidStat};
use hugewise_base::parse::tcp_table;
use hugewise_evidence::recording::readers::capture::listeners::{self, Owners};
use hugewise_evidence::recording::readers::capture::sample::{self, Header, Writer};
use hugewise_evidence::recording::readers::capture::stacks::PATH as STACKS;
use hugewise_evidence::recording::readers::storage;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

pub use self::stacks::Stacks;
use self::threads::Busy;
use hugewise_linux::address_space::SpaceFile;
use hugewise_linux::machine;
use hugewise_linux::process;
use hugewise_linux::root::Root;
use hugewise_linux::space_text;

/// Most processes of a sample; the format has room for four files of each.
pub const PROCESSES_MAX: usize = 4096;
/// Time between tables of sockets, less half a second, for samples are never quite on time: the
/// kernel walks all its hash buckets for one (`docs/measurements.md#socket-tables`), which costs
/// more than all else.
const SOCKETS_EVERY_NS: u64 = 9_500_000_000;
/// How many kinds of unreadable files are remembered.
const UNREADABLE_MAX: usize = 200;

/// What is taken beyond the usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Arguments of processes (`/proc/PID/cmdline`) and of the kernel (`/proc/cmdline`).
    pub arguments: bool,
    /// Most processes, at most [`PROCESSES_MAX`].
    pub processes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { arguments: false, processes_max: PROCESSES_MAX }
    }
}

/// A kind of file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// Its path; of processes `/proc/PID/...`.
    pub path: String,
    /// What the system said.
    pub why: String,
    /// How often.
    pub times: u64,
}

/// What samples do not have, of all that were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
    /// Most processes that a sample left out.
    pub processes_left_out: usize,
    /// Most cgroups that a sample left out.
    pub cgroups_left_out: usize,
}

/// Takes samples.
#[derive(Debug)]
pub struct Sampler {
    root: Root,
    options: Options,
    settings: Vec<String>,
    left_out: LeftOut,
    buffer: Vec<u8>,
    /// On the monotonic clock.
    sockets_due_ns: u64,
    /// Sockets whose program was looked for since the last table.
    asked: BTreeSet<u64>,
    busy: Busy,
    /// Threads that this sample may still take.
    threads_left: usize,
    stacks: Option<Stacks>,
}

impl Sampler {
    /// Finds the settings that this kernel has.
    pub fn new(root: &Root, options: Options) -> Self {
        let processes_max = options.processes_max.min(PROCESSES_MAX);
        Self {
            root: root.clone(),
            options: Options { processes_max, ..options },
            settings: list::settings(root),
            left_out: LeftOut::default(),
            buffer: Vec::new(),
            sockets_due_ns: 0,
            asked: BTreeSet::new(),
            busy: Busy::default(),
            threads_left: 0,
            stacks: None,
        }
    }

    /// From now on, samples tell what the CPUs ran since the one before; they are to follow each
    /// other `every` so often. Why there is nothing to tell is noted as unreadable.
    pub fn start_stacks(&mut self, every: Duration) {
        // What is only a copy of a machine's files runs nothing.
        if self.stacks.is_some() || !self.root.is_live() {
            return;
        }
        match Stacks::start(&self.root, every) {
            Ok(stacks) => self.stacks = Some(stacks),
            Err(why) => self.add_unreadable("the CPUs' chains of calls", why),
        }
    }

    /// Samples tell no more what the CPUs ran.
    pub fn stop_stacks(&mut self) {
        self.stacks = None;
    }

    /// Takes one sample: its text.
    pub fn sample(&mut self) -> Vec<u8> {
        self.sample_with(&[])
    }

    /// The same, with more files: paths and bytes.
    pub fn sample_with(&mut self, more: &[(&str, &[u8])]) -> Vec<u8> {
        let header = header(&self.root);
        let mut out = Writer::default();
        self.busy.begin(header.monotonic_ns);
        self.threads_left = threads::OF_SAMPLE_MAX;
        if let Some(stacks) = &mut self.stacks {
            out.file(STACKS, stacks.text().as_bytes());
        }
        for path in list::FAST.into_iter().chain(list::FILES) {
            self.take(&mut out, path, path);
        }
        self.take_all_sockets(&mut out, header.monotonic_ns);
        // Kernels without CONFIG_SCHEDSTATS do not have it.
        self.take_if_there(&mut out, list::SCHEDSTAT);
        self.take_mounts(&mut out);
        if self.options.arguments {
            self.take(&mut out, "/proc/cmdline", "/proc/cmdline");
        }
        for path in std::mem::take(&mut self.settings) {
            self.take_if_there(&mut out, &path);
            self.settings.push(path);
        }
        // An interface that is down, or is none of hardware, has no speed.
        for path in list::interfaces(&self.root) {
            self.take_if_there(&mut out, &path);
        }
        let cgroups = list::cgroups(&self.root);
        self.left_out.cgroups_left_out = self.left_out.cgroups_left_out.max(cgroups.left_out);
        for path in cgroups.files {
            self.take_if_there(&mut out, &path);
        }
        self.processes(&mut out);
        for (path, bytes) in more {
            out.file(path, bytes);
        }
        out.finish(&header)
    }

    /// A sample of those counters only that move within a second: its text.
    pub fn fast(&mut self) -> Vec<u8> {
        let header = header(&self.root);
        let mut out = Writer::default();
        for path in list::FAST {
            self.take(&mut out, path, path);
        }
        out.finish(&header)
    }

    /// What samples had to leave out so far.
    pub const fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    fn processes(&mut self, out: &mut Writer) {
        let mut pids = match process::pids(&self.root) {
            Ok(pids) => pids,
            Err(error) => return self.note("/proc", &error),
        };
        // The oldest first: the same ones in every sample, so that there are rates.
        let left_out = pids.len().saturating_sub(self.options.processes_max);
        self.left_out.processes_left_out = self.left_out.processes_left_out.max(left_out);
        pids.truncate(self.options.processes_max);
        let mut programs = Vec::new();
        for pid in pids {
            if !self.take(out, &format!("/proc/{pid}/stat"), "/proc/PID/stat") {
                continue;
            }
            let stat = pid_stat::parse(&self.buffer).ok();
            // The kernel's threads have no memory, arguments or disk counts of their own.
            if stat.as_ref().is_some_and(PidStat::is_kernel_thread) {
                continue;
            }
            let ticks_per_s = rustix::param::clock_ticks_per_second();
            if stat.is_some_and(|stat| self.busy.is(&stat, ticks_per_s)) {
                self.threads(out, pid);
            }
            self.take(out, &format!("/proc/{pid}/status"), "/proc/PID/status");
            programs.push(pid);
        }
        self.address_spaces(out, &programs);
    }

    /// Files for which a process can be made to wait by the one that it reads about.
    fn address_spaces(&mut self, out: &mut Writer, pids: &[u32]) {
        let mut files: Vec<_> = pids.iter().map(|pid| (*pid, SpaceFile::Io)).collect();
        if self.options.arguments {
            files.extend(pids.iter().map(|pid| (*pid, SpaceFile::CommandLine)));
        }
        let texts = space_text::read_all(&self.root, &files);
        for ((pid, file), text) in files.iter().zip(texts) {
            match text {
                Ok(mut text) => {
                    text.truncate(sample::FILE_BYTES_MAX);
                    out.file(&format!("/proc/{pid}/{}", file.name()), &text);
                }
                Err(error) => self.note(&format!("/proc/PID/{}", file.name()), &error),
            }
        }
    }

    /// The threads of a process.
    fn threads(&mut self, out: &mut Writer, pid: u32) {
        let folder = format!("proc/{pid}/task");
        let most = self.threads_left.min(threads::OF_PROCESS_MAX);
        for thread in self.root.names(&folder, true).iter().take(most) {
            self.take_if_there(out, &format!("/{folder}/{thread}/stat"));
            self.take_if_there(out, &format!("/{folder}/{thread}/schedstat"));
            self.threads_left -= 1;
        }
    }

    /// Takes a file; `kind` is what it is called when it cannot be read.
    fn take(&mut self, out: &mut Writer, path: &str, kind: &str) -> bool {
        match self.read(path, sample::FILE_BYTES_MAX as u64) {
            Ok(()) => out.file(path, &self.buffer),
            Err(error) => {
                self.note(kind, &error);
                false
            }
        }
    }

    fn take_if_there(&mut self, out: &mut Writer, path: &str) {
        if self.read(path, sample::FILE_BYTES_MAX as u64).is_ok() {
            out.file(path, &self.buffer);
        }
    }

    /// Only file systems of other machines, without options.
    fn take_mounts(&mut self, out: &mut Writer) {
        match self.read(sample::MOUNTS, sample::FILE_BYTES_MAX as u64) {
            Ok(()) => {
                let text = String::from_utf8_lossy(&self.buffer);
                let rows: String = text.lines().filter_map(storage::kept).collect();
                out.file(sample::MOUNTS, rows.as_bytes());
            }
            Err(error) => self.note(sample::MOUNTS, &error),
        }
    }

    fn take_all_sockets(&mut self, out: &mut Writer, now_ns: u64) {
        let mut wait = BTreeSet::new();
        if now_ns >= self.sockets_due_ns {
            self.sockets_due_ns = now_ns.saturating_add(SOCKETS_EVERY_NS);
            self.asked.clear();
            for path in sample::SOCKETS {
                wait.extend(self.take_sockets(out, path));
            }
        }
        if !self.root.is_live() {
            return;
        }
        match owners::unix_listeners() {
            Ok(all) => {
                out.file(listeners::UNIX, listeners::unix_text(&all).as_bytes());
                wait.extend(all.iter().filter(|one| one.waiting > 0).map(|one| one.inode));
            }
            Err(error) => self.note("queues of UNIX sockets", &error.into()),
        }
        // Finding out whose a socket is looks at the descriptors of all processes.
        wait.retain(|inode| self.asked.insert(*inode));
        let found = if wait.is_empty() { Owners::new() } else { owners::owners(&self.root, wait) };
        if !found.is_empty() {
            out.file(listeners::OWNERS, listeners::owners_text(&found).as_bytes());
        }
    }

    /// Only the rows that say something: an idle connection's does not, and there may be 100,000.
    ///
    /// Gives those in whose queues something waits.
    fn take_sockets(&mut self, out: &mut Writer, path: &str) -> Vec<u64> {
        let mut wait = Vec::new();
        match self.read(path, sample::SOCKETS_BYTES_MAX as u64) {
            Ok(()) => {
                let text = String::from_utf8_lossy(&self.buffer);
                let rows = text.split_inclusive('\n').filter(|row| tcp_table::worth_keeping(row));
                let rows: String = rows.collect();
                let parsed = tcp_table::parse(&rows).value;
                let waiting = parsed.iter().filter(|row| row.send_queue + row.receive_queue > 0);
                wait.extend(waiting.filter_map(|row| row.inode));
                out.file(path, rows.as_bytes());
            }
            Err(error) => self.note(path, &error),
        }
        wait
    }

    fn read(&mut self, path: &str, most: u64) -> io::Result<()> {
        self.buffer.clear();
        fs::File::open(self.root.path(path))?.take(most + 1).read_to_end(&mut self.buffer)?;
        if self.buffer.len() as u64 > most {
            let text = format!("larger than {} MiB", most >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        Ok(())
    }

    fn note(&mut self, kind: &str, error: &io::Error) {
        let of_process = kind.starts_with("/proc/PID/");
        // A process that ended meanwhile is no error: ENOENT, or ESRCH of an open file.
        let ended = error.kind() == io::ErrorKind::NotFound
            || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error());
        if of_process && ended {
            return;
        }
        self.add_unreadable(kind, error.to_string());
    }

    fn add_unreadable(&mut self, path: &str, why: String) {
        let unreadable = &mut self.left_out.unreadable;
        if let Some(known) = unreadable.iter_mut().find(|known| known.path == path) {
            known.times += 1;
        } else if unreadable.len() < UNREADABLE_MAX {
            unreadable.push(Unreadable { path: path.to_owned(), why, times: 1 });
        }
    }
}

fn header(root: &Root) -> Header {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let clock = clock_gettime(ClockId::Monotonic);
    let (seconds, rest) = (u64::try_from(clock.tv_sec), u64::try_from(clock.tv_nsec));
    let monotonic_ns = seconds.unwrap_or(0).saturating_mul(1_000_000_000) + rest.unwrap_or(0);
    let name = root.read_line("proc/sys/kernel/hostname").ok();
    Header {
        at_ms,
        utc_offset_s: hugewise_sys::localtime::utc_offset_s(at_ms.div_euclid(1000)),
        monotonic_ns,
        host: name.filter(|name| !name.is_empty()),
        boot: machine::boot_id(root),
        ticks_per_s: Some(rustix::param::clock_ticks_per_second()),
        page_bytes: Some(rustix::param::page_size() as u64),
    }
}

#[cfg(test)]
mod tests;
