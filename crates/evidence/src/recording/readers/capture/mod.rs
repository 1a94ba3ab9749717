//! `hugewise record`: samples of raw kernel text, as values.
//!
//! [`sample`] has the format. A [`Capture`] reads samples one after the other: what the kernel
//! states is taken as it is, what it counts becomes a rate over the time since the sample before.
//! A counter that went back, a process that is another one, and the first sample after a restart
//! give no rate.

mod cgroup;
mod cpu;
mod disk;
mod files;
pub mod listeners;
mod memory;
mod network;
mod previous;
mod process;
pub mod sample;
pub mod stacks;

#[cfg(test)]
mod tests;

pub(super) use cgroup::path as cgroup_path;

use std::collections::{BTreeMap, BTreeSet};

use self::files::Files;
use self::listeners::{Owners, Waited};
use self::previous::{COUNTERS_MAX, Counts, Now};
use self::sample::{Header, Sample};
use self::stacks::Stacks;
use super::storage::Mounts;
use crate::recording::base_page::SizeSource;
use crate::recording::{Builder, Field, Protocol, SocketState, SourceKind, Subject};
use hugewise_base::parse::tcp_table::Row;
use hugewise_base::parse::unix_diag::Listener;
use hugewise_base::units::Bytes;

/// Files below these are settings, or say what kernel it is.
const SETTINGS: [&str; 6] = [
    "/sys/kernel/mm/transparent_hugepage/",
    "/sys/kernel/mm/hugepages/",
    "/sys/devices/system/node/",
    "/proc/sys/",
    "/proc/version",
    "/proc/cmdline",
];

/// Most programs of sockets that are kept.
const OWNERS_MAX: usize = 10_000;

/// Shortest time between samples that rates are computed over: below, ticks of a CPU's time are
/// all there is to see.
const PASSED_MIN_S: f64 = 0.001;

/// Samples that follow each other, of one capture.
#[derive(Debug, Default)]
pub struct Capture {
    input: String,
    header: Option<Header>,
    counts: Counts,
    /// Of the latest sample that has them: a recording has no more than one list of sockets.
    sockets: Vec<Row>,
    /// Of the latest one that has those of the UNIX domain.
    unix: Vec<Listener>,
    tcp_waited: Waited,
    unix_waited: Waited,
    owners: Owners,
    profile: Stacks,
    samples: usize,
    rated: bool,
    said: BTreeSet<&'static str>,
}

impl Capture {
    /// A capture of which nothing was read. `input` is its name in what is said about it: the
    /// directory or file as the user named it, or words such as `this machine`.
    pub fn new(input: &str) -> Self {
        Self { input: input.to_owned(), ..Self::default() }
    }

    /// How many samples were read.
    pub const fn samples(&self) -> usize {
        self.samples
    }

    /// Reads a text of one or more samples. Between the first call and [`Capture::end`] nothing
    /// else may be read into the same [`Builder`].
    pub fn take(&mut self, text: &[u8], out: &mut Builder) {
        if self.samples == 0 {
            out.input(&self.input);
        }
        let mut rest = text;
        while !rest.is_empty() {
            rest = match sample::split(rest) {
                Ok((sample, after)) => {
                    self.one(sample, out);
                    after
                }
                Err(what) => {
                    out.input_problem(format!("a sample that cannot be read: {what}"));
                    sample::next_sample(rest)
                }
            };
        }
    }

    /// No more samples follow.
    pub fn end(self, out: &mut Builder) {
        if self.samples == 0 {
            out.input(&self.input);
        }
        for row in &self.sockets {
            let queues = (row.receive_queue, row.send_queue);
            let kind = (Some(Protocol::Tcp), network::state(row));
            let owner = row.inode.and_then(|inode| self.owners.get(&inode));
            out.socket(kind, queues, (&row.local, &row.remote), owner.map(String::as_str));
        }
        for one in &self.unix {
            let queues = (one.waiting.into(), one.most.into());
            let owner = self.owners.get(&one.inode).map(String::as_str);
            let kind = (Some(Protocol::Unix), SocketState::Listen);
            out.socket(kind, queues, (&one.name, "*"), owner);
        }
        self.profile.put(out);
        match self.samples {
            0 => out.input_problem("no sample of 'hugewise record' in it"),
            1 => out.input_problem(
                "one sample only: there are states and settings, and no rates (CPU, faults, \
                 disks, network), which need two",
            ),
            _ if !self.rated => {
                out.input_problem("no two samples follow each other, so there are no rates");
            }
            _ => {}
        }
    }

    fn one(&mut self, sample: Sample<'_>, out: &mut Builder) {
        let Sample { header, files, torn } = sample;
        let at = header.stamp();
        self.samples += 1;
        if let Some(torn) = torn {
            out.input_problem(format!("sample {} is not complete: {torn}", self.samples));
        }
        if at.is_none() && self.said.insert("time") {
            out.input_problem("a sample without local time: its values have no time");
        }
        let passed_s = self.follow(&header, out);
        let page = header.page_bytes.map(Bytes);
        page.into_iter().for_each(|page| out.base_page(SizeSource::Stated, page));
        let files = self.of_usual_size(files, out);
        settings(&files, out);
        mounts(&files, out);
        let before = std::mem::take(&mut self.counts);
        let mut files = Files::new(files, &mut self.said);
        let mut now = Now {
            out,
            at,
            passed_s,
            before: &before,
            counts: Counts::default(),
            ticks_per_s: header.ticks_per_s,
            page_bytes: header.page_bytes,
        };
        // The monotonic clock is that of the kernel's log, too.
        now.state(Field::Uptime, &Subject::Machine, header.monotonic_ns as f64 / 1e6);
        cpu::read(&mut files, &mut now);
        memory::read(&mut files, &mut now);
        disk::read(&mut files, &mut now);
        network::read(&mut files, &mut now);
        process::read(&mut files, &mut now);
        cgroup::read(&mut files, &mut now);
        let owners = listeners::owners(&files.text(listeners::OWNERS));
        self.owners.extend(owners.into_iter().take(OWNERS_MAX.saturating_sub(self.owners.len())));
        if let Some(sockets) = network::sockets(&mut files) {
            self.tcp_waited.put(&network::waiting(&sockets), &mut now);
            self.sockets = sockets;
        }
        if files.bytes(listeners::UNIX).is_some() {
            self.unix = listeners::unix(&files.text(listeners::UNIX));
            let waiting = self.unix.iter().map(|one| (one.name.as_str(), one.waiting.into()));
            self.unix_waited.put(&waiting.collect(), &mut now);
        }
        self.counts = now.counts;
        let stacks = files.text(stacks::PATH);
        if let Some(odd) = self.profile.take(&stacks) {
            files.note(odd);
        }
        self.rated |= passed_s.is_some();
        for problem in files.problems {
            out.input_problem(problem.to_string());
        }
        if self.counts.left_out > 0 && self.said.insert("counters") {
            out.cut(format!(
                "more than {COUNTERS_MAX} counters in a sample: {} more are left out",
                self.counts.left_out
            ));
        }
        self.header = Some(header);
    }

    /// Without files that are larger than any that `hugewise record` takes.
    fn of_usual_size<'a>(
        &mut self,
        mut files: BTreeMap<&'a str, &'a [u8]>,
        out: &mut Builder,
    ) -> BTreeMap<&'a str, &'a [u8]> {
        files.retain(|path, bytes| {
            let sockets = sample::SOCKETS.contains(path);
            let most = if sockets { sample::SOCKETS_BYTES_MAX } else { sample::FILE_BYTES_MAX };
            let usual = bytes.len() <= most;
            if !usual && self.said.insert("size") {
                let path: String = path.chars().take(80).collect();
                out.cut(format!(
                    "sample {}: {path} has more than {} MiB, which no sample has: files like this \
                     are left out",
                    self.samples,
                    most >> 20
                ));
            }
            usual
        });
        files
    }

    /// Time since the sample before; `None`, and nothing remembered of it, where this one does not
    /// follow it.
    fn follow(&mut self, header: &Header, out: &mut Builder) -> Option<f64> {
        let before = self.header.take();
        let same_machine = before.as_ref().is_some_and(|before| before.host == header.host);
        if !same_machine {
            std::mem::take(&mut self.profile).put(out);
            if let Some(host) = &header.host {
                out.host(host);
            }
            out.begin(SourceKind::Capture, 1);
            self.counts = Counts::default();
            return None;
        }
        let before = before?;
        let passed_ns = header.monotonic_ns.checked_sub(before.monotonic_ns);
        if before.boot != header.boot || passed_ns.is_none() {
            out.restart(header.stamp());
            self.counts = Counts::default();
            return None;
        }
        let passed_s = passed_ns.map(|passed| passed as f64 / 1e9);
        if passed_s.is_none_or(|passed| passed < PASSED_MIN_S) {
            self.counts = Counts::default();
            return None;
        }
        passed_s
    }
}

fn settings(files: &BTreeMap<&str, &[u8]>, out: &mut Builder) {
    for (path, bytes) in files {
        if SETTINGS.iter().any(|prefix| path.starts_with(prefix)) {
            out.setting(path, &String::from_utf8_lossy(bytes));
        }
    }
}

/// File systems of other machines.
fn mounts(files: &BTreeMap<&str, &[u8]>, out: &mut Builder) {
    let Some(bytes) = files.get(sample::MOUNTS) else { return };
    let mut mounts = Mounts::default();
    for line in String::from_utf8_lossy(bytes).lines() {
        mounts.line(line);
    }
    mounts.put(out);
}

/// Whether a text is samples of `hugewise record`. They may contain bytes that are no text.
pub fn is_capture(bytes: &[u8]) -> bool {
    bytes.starts_with(sample::MAGIC.as_bytes())
}
