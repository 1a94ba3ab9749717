//! What the CPUs run, by the kernel's functions: a clock interrupts each busy CPU and notes the
//! chain of calls.
//!
//! A sample of a capture gets them as text, a line for each chain that was met: the program, the
//! functions from the outermost to the innermost, and how often, as flame graphs are drawn from.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use hugewise_evidence::recording::readers::capture::stacks::frame;
use hugewise_sys::perf::Record;

use crate::clocks::Clocks;
use crate::sampling::Most;
use hugewise_linux::root::Root;

/// Each sample costs some microseconds. The rate of one CPU is odd, so that it does not beat with
/// what happens 100 times a second; a record has a chain of 30 calls.
const MOST: Most = Most {
    of_cpu_hz: 97,
    of_all_hz: 2_000,
    of_cpu_bytes: 256 << 10,
    of_all_bytes: 8 << 20,
    record_bytes: 288,
};
/// Most different chains of a sample.
const CHAINS_MAX: usize = 4096;
/// Most names of processes that are remembered.
const NAMES_MAX: usize = 65_536;
/// Clocks that run, and the names of who was seen.
#[derive(Debug)]
pub struct Stacks {
    clocks: Clocks,
    names: BTreeMap<u32, String>,
    root: Root,
}

impl Stacks {
    /// Starts the clocks of all CPUs; samples are asked for `every` so often.
    ///
    /// # Errors
    /// Why this machine, or this user, has none, in words.
    pub fn start(root: &Root, every: Duration) -> Result<Self, String> {
        let clocks = Clocks::start(root, &MOST, every)?;
        Ok(Self { clocks, names: BTreeMap::new(), root: root.clone() })
    }

    /// What was seen since the last call, as text.
    pub fn text(&mut self) -> String {
        let mut chains: BTreeMap<(u32, Vec<u64>), u64> = BTreeMap::new();
        let mut lost = 0_u64;
        let mut named = Vec::new();
        self.clocks.drain(|_, record| match record {
            Record::Sample { pid, kernel, .. } => {
                let key = (pid, kernel);
                if chains.len() < CHAINS_MAX || chains.contains_key(&key) {
                    *chains.entry(key).or_default() += 1;
                } else {
                    lost += 1;
                }
            }
            Record::Name { pid, tid, name } if pid == tid => named.push((pid, name)),
            Record::Name { .. } => {}
            Record::Lost(records) => lost = lost.saturating_add(records),
        });
        for (pid, name) in named {
            self.remember(pid, String::from_utf8_lossy(&name).into_owned());
        }
        self.write(&chains, lost)
    }

    fn write(&mut self, chains: &BTreeMap<(u32, Vec<u64>), u64>, lost: u64) -> String {
        let mut text =
            format!("# cpu-clock frequency_hz={} lost={lost}\n", self.clocks.frequency_hz());
        // Addresses of one function are one chain.
        let mut lines: BTreeMap<String, u64> = BTreeMap::new();
        for ((pid, kernel), count) in chains {
            let mut line = frame(&self.name(*pid));
            for address in kernel.iter().rev() {
                line.push(';');
                line.push_str(&frame(self.clocks.function(*address)));
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
