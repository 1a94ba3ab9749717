//! A clock on each CPU that notes what it runs, and the names of the kernel's functions.

use crate::sampling::{self, Most};
use hugewise_base::parse::kallsyms::{self, Kallsyms};
use hugewise_linux::root::Root;
use hugewise_sys::Errno;
use hugewise_sys::perf::{CpuClock, Record};
use std::time::Duration;

/// Largest list of functions that is read, in bytes: a large kernel's has 12 MiB.
const KALLSYMS_BYTES_MAX: usize = 64 << 20;

/// Clocks that run.
#[derive(Debug)]
pub(crate) struct Clocks {
    clocks: Vec<(u32, CpuClock)>,
    frequency_hz: u64,
    functions: Kallsyms,
}

impl Clocks {
    /// Starts the clocks of all CPUs; records are fetched `every` so often.
    ///
    /// # Errors
    /// Why this machine, or this user, has none, in words.
    pub(crate) fn start(root: &Root, most: &Most, every: Duration) -> Result<Self, String> {
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
        let (frequency_hz, pages) = most.rates(online.len(), every, rustix::param::page_size());
        let mut clocks = Vec::new();
        for cpu in online {
            match CpuClock::open(cpu, frequency_hz, pages) {
                Ok(clock) => clocks.push((cpu, clock)),
                // It went offline meanwhile.
                Err(Errno::NODEV) => {}
                Err(errno) => return Err(errno.to_string()),
            }
        }
        Ok(Self { clocks, frequency_hz, functions })
    }

    /// Samples a second of each CPU.
    pub(crate) const fn frequency_hz(&self) -> u64 {
        self.frequency_hz
    }

    /// Hands over the records since the last call with their CPU, those of one CPU in their order.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(u32, Record)) {
        for (cpu, clock) in &mut self.clocks {
            clock.drain(|record| each(*cpu, record));
        }
    }

    /// The name of the function that has this address.
    pub(crate) fn function(&self, address: u64) -> &str {
        self.functions.function(address).unwrap_or("?")
    }
}
