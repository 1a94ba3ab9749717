//! What the CPUs run, by the kernel's functions: a clock interrupts each busy CPU and notes the
//! chain of calls.
//!
//! A sample of a capture gets them as text, a line for each chain that was met: the program, the
//! functions from the outermost to the innermost, and how often, as flame graphs are drawn from.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use hugewise_core::evidence::recording::readers::capture::stacks::frame;
use hugewise_core::parse::kallsyms::{self, Kallsyms};
use hugewise_sys::Errno;
use hugewise_sys::perf::{CpuClock, Record};

use crate::root::Root;
use crate::sampling::{self, Most};

/// Each sample costs some microseconds. The rate of one CPU is odd, so that it does not beat with
/// what happens 100 times a second; a record has a chain of 30 calls.
const MOST: Most = Most {
    of_cpu_hz: 97,
    of_all_hz: 2_000,
    of_cpu_bytes: 256 << 10,
    of_all_bytes: 8 << 20,
    record_bytes: 280,
};
/// Most different chains of a sample.
const CHAINS_MAX: usize = 4096;
/// Most names of processes that are remembered.
const NAMES_MAX: usize = 65_536;
/// Largest list of functions that is read, in bytes: a large kernel's has 12 MiB.
const KALLSYMS_BYTES_MAX: usize = 64 << 20;

/// Clocks that run.
#[derive(Debug)]
pub(super) struct Stacks {
    clocks: Vec<CpuClock>,
    frequency_hz: u64,
    functions: Kallsyms,
    names: BTreeMap<u32, String>,
    root: Root,
}

impl Stacks {
    /// Starts the clocks of all CPUs; samples are asked for `every` so often.
    ///
    /// # Errors
    /// Why this machine, or this user, has none, in words.
    pub(super) fn start(root: &Root, every: Duration) -> Result<Self, String> {
        if !root.is_live() {
            return Err("only the running machine has them".into());
        }
        // Before the clocks run: it takes a tenth of a second.
        let bytes = root.read("proc/kallsyms").map_err(|error| error.to_string())?;
        if bytes.len() > KALLSYMS_BYTES_MAX {
            return Err("/proc/kallsyms is larger than any kernel's".into());
        }
        let functions = kallsyms::parse(&String::from_utf8_lossy(&bytes));
        if functions.is_empty() {
            return Err("/proc/kallsyms hides the kernel's addresses (kernel.kptr_restrict)".into());
        }
        let online = sampling::online(root)?;
        let (frequency_hz, pages) = MOST.rates(online.len(), every, rustix::param::page_size());
        let mut clocks = Vec::new();
        for cpu in online {
            match CpuClock::open(cpu, frequency_hz, pages) {
                Ok(clock) => clocks.push(clock),
                // It went offline meanwhile.
                Err(Errno::NODEV) => {}
                Err(errno) => return Err(errno.to_string()),
            }
        }
        let names = BTreeMap::new();
        Ok(Self { clocks, frequency_hz, functions, names, root: root.clone() })
    }

    /// What was seen since the last call, as text.
    pub(super) fn text(&mut self) -> String {
        let mut chains: BTreeMap<(u32, Vec<u64>), u64> = BTreeMap::new();
        let mut lost = 0_u64;
        let mut clocks = std::mem::take(&mut self.clocks);
        for clock in &mut clocks {
            clock.drain(|record| match record {
                Record::Sample { pid, kernel } => {
                    let key = (pid, kernel);
                    if chains.len() < CHAINS_MAX || chains.contains_key(&key) {
                        *chains.entry(key).or_default() += 1;
                    } else {
                        lost += 1;
                    }
                }
                Record::Name { pid, tid, name } if pid == tid => {
                    self.remember(pid, String::from_utf8_lossy(&name).into_owned());
                }
                Record::Name { .. } => {}
                Record::Lost(records) => lost = lost.saturating_add(records),
            });
        }
        self.clocks = clocks;
        self.write(&chains, lost)
    }

    fn write(&mut self, chains: &BTreeMap<(u32, Vec<u64>), u64>, lost: u64) -> String {
        let mut text = format!("# cpu-clock frequency_hz={} lost={lost}\n", self.frequency_hz);
        // Addresses of one function are one chain.
        let mut lines: BTreeMap<String, u64> = BTreeMap::new();
        for ((pid, kernel), count) in chains {
            let mut line = frame(&self.name(*pid));
            for address in kernel.iter().rev() {
                line.push(';');
                line.push_str(&frame(self.functions.function(*address).unwrap_or("?")));
            }
            *lines.entry(line).or_default() += count;
        }
        for (line, count) in lines {
            let _ = writeln!(text, "{line} {count}");
        }
        text
    }

    /// A process's name: as it is now, or, where it ended, as it was last.
    fn name(&mut self, pid: u32) -> String {
        if let Ok(name) = self.root.read_line(format!("proc/{pid}/comm")) {
            self.remember(pid, name.clone());
            return name;
        }
        self.names.get(&pid).cloned().unwrap_or_else(|| "(ended)".into())
    }

    fn remember(&mut self, pid: u32, name: String) {
        if self.names.len() >= NAMES_MAX {
            self.names.clear();
        }
        self.names.insert(pid, name);
    }
}
