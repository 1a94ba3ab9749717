//! Programs in a cgroup of their own, what they hold, and how long their requests take.

use super::super::target;
use super::{Result, Values};
use hugewise_core::parse::cgroup;
use hugewise_core::stats::Histogram;
use hugewise_linux::root::Root;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const MIB: f64 = (1 << 20) as f64;
/// Memory is steady when it moved by less than a hundredth for so long, ...
const STEADY: usize = 15;
/// ... which is asked once in this time.
const STEP: Duration = Duration::from_secs(1);

/// A memory cgroup (version 1) for one program; `None` where there can be none.
struct Group(Option<PathBuf>);

impl Group {
    fn new() -> Self {
        let own = Root::live().read("proc/self/cgroup").ok().map(|text| cgroup::parse(&text).value);
        let own = own.and_then(|own| own.v1_paths.get("memory").cloned());
        let made = own.and_then(|own| {
            let parent = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/'));
            let path = parent.join(format!("hugewise-bench-{}", std::process::id()));
            std::fs::create_dir(&path).ok().map(|()| path)
        });
        Self(made)
    }

    /// A command that is in the group before its program starts.
    fn command(&self, program: &str) -> Command {
        let Some(path) = &self.0 else { return Command::new(program) };
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""]).arg(path);
        command.arg(program);
        command
    }

    /// Memory charged to it, MiB.
    fn usage(&self) -> Option<f64> {
        let path = self.0.as_ref()?.join("memory.usage_in_bytes");
        Some(std::fs::read_to_string(path).ok()?.trim().parse::<f64>().ok()? / MIB)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(path) = &self.0 else { return };
        // A process that was just killed may keep its group busy for a moment.
        for _ in 0..100 {
            if std::fs::remove_dir(path).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A program that is looked at, and the group around it. The program ends first.
pub(super) struct Program {
    running: target::Running,
    group: Group,
    /// `MemAvailable` before it started, MiB.
    available: f64,
}

impl Program {
    /// Starts what `prepare` makes of the command.
    pub(super) fn start(program: &str, prepare: impl FnOnce(&mut Command)) -> Result<Self> {
        let group = Group::new();
        let available = available()?;
        let mut command = group.command(program);
        prepare(&mut command);
        let running = target::Running(command.spawn()?);
        Ok(Self { running, group, available })
    }

    pub(super) fn pid(&self) -> u32 {
        self.running.0.id()
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.running.0
    }

    /// Memory charged to its cgroup, MiB.
    pub(super) fn usage(&self) -> Option<f64> {
        self.group.usage()
    }

    /// Its resident memory, MiB.
    pub(super) fn rss(&self) -> Result<f64> {
        let status = std::fs::read(format!("/proc/{}/status", self.pid()))?;
        let status = hugewise_core::parse::pid_status::parse(&status).value;
        let rss = status.rss_anon_bytes.unwrap_or(0) + status.rss_file_bytes.unwrap_or(0);
        Ok(rss as f64 / MIB)
    }

    /// What it holds now.
    pub(super) fn memory(&self) -> Result<Memory> {
        Ok(Memory {
            rss: self.rss()?,
            group: self.usage(),
            missing: self.available - available()?,
            huge: target::huge(self.pid())?.0 as f64 / MIB,
        })
    }

    /// Watches until its memory is steady or `limit` has passed; one look a second.
    pub(super) fn watch(&self, limit: Duration) -> Result<Vec<Memory>> {
        let began = Instant::now();
        let mut seen = vec![self.memory()?];
        while began.elapsed() < limit && !steady(&seen) {
            std::thread::sleep(STEP);
            seen.push(self.memory()?);
        }
        Ok(seen)
    }
}

fn steady(seen: &[Memory]) -> bool {
    let held = |memory: &Memory| memory.group.unwrap_or(memory.rss).max(memory.rss);
    let Some(last) = seen.len().checked_sub(STEADY).map(|first| &seen[first..]) else {
        return false;
    };
    let low = last.iter().map(held).fold(f64::MAX, f64::min);
    let high = last.iter().map(held).fold(0.0, f64::max);
    high - low < high / 100.0
}

/// `MemAvailable`, MiB.
fn available() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.ok_or("no MemAvailable")?.trim().trim_end_matches(" kB");
    Ok(kib.parse::<f64>()? / 1024.0)
}

/// What a program holds, MiB.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    pub(super) rss: f64,
    /// Charged to its cgroup: also what is held by huge pages that are mapped in part.
    pub(super) group: Option<f64>,
    /// By how much `MemAvailable` of the machine fell since before its start.
    pub(super) missing: f64,
    pub(super) huge: f64,
}

impl Memory {
    /// Puts all of it into the values, under these names.
    pub(super) fn put(&self, values: &mut Values, names: [&'static str; 4]) {
        let [rss, group, missing, huge] = names;
        values.insert(rss, self.rss);
        values.extend(self.group.map(|value| (group, value)));
        values.insert(missing, self.missing);
        values.insert(huge, self.huge);
    }
}

/// What a load of requests felt.
pub(super) struct Load {
    pub(super) per_s: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) p999_us: f64,
}

/// Sends one request after another for so long; `request` says how long its answer took.
pub(super) fn load(time: Duration, mut request: impl FnMut() -> Result<Duration>) -> Result<Load> {
    let (began, mut all) = (Instant::now(), Histogram::default());
    let (mut count, mut waited) = (0.0, Duration::ZERO);
    while began.elapsed() < time {
        let took = request()?;
        count += 1.0;
        waited += took;
        all.record(u64::try_from(took.as_nanos())?);
    }
    let us = |q| all.quantile(q).map_or(f64::NAN, |ns| ns as f64 / 1e3);
    Ok(Load {
        // Checking the answers is not the server's time.
        per_s: count / waited.as_secs_f64(),
        p50_us: us(0.5),
        p99_us: us(0.99),
        p999_us: us(0.999),
    })
}
