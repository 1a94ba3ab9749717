//! The machine's counters while a driver measures: samples as `hugewise record` takes them, from
//! a thread of its own, so that no request waits for one.

use anyhow::Context;
use hugewise_collect::capture::{Options, Sampler};
use hugewise_experiment::counters;
use hugewise_linux::root::Root;
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between samples.
const EVERY: Duration = Duration::from_secs(1);
/// The machine as a whole: no process by itself.
const WHAT: Options = Options { arguments: false, processes_max: 0 };

/// Samples that are being taken.
#[derive(Debug)]
pub(super) struct Counters {
    /// Dropped at the end, which wakes the thread.
    end: Sender<()>,
    thread: JoinHandle<Vec<Vec<u8>>>,
}

impl Counters {
    /// From now on, with the first sample taken before this returns.
    pub(super) fn start() -> anyhow::Result<Self> {
        let ((end, ended), (begun, first)) = (channel::<()>(), channel::<()>());
        let take = move || {
            // A sampler stays in its thread.
            let mut sampler = Sampler::new(&Root::live(), WHAT);
            let mut all = vec![sampler.sample()];
            let _ = begun.send(());
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                all.push(sampler.sample());
            }
            all.push(sampler.sample());
            all
        };
        let thread = std::thread::Builder::new().name("counters".into()).spawn(take);
        let thread = thread.context("cannot start a thread")?;
        first.recv().context("the sampling thread has panicked")?;
        Ok(Self { end, thread })
    }

    /// The means since the begin, by the keys of recordings.
    pub(super) fn finish(self) -> anyhow::Result<BTreeMap<String, f64>> {
        drop(self.end);
        let samples = self.thread.join();
        let samples = samples.map_err(|_| anyhow::anyhow!("the sampling thread has panicked"))?;
        Ok(counters::over(&samples))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_seen_from_begin_to_end() {
        let counters = Counters::start().expect("a thread");
        std::thread::sleep(Duration::from_millis(300));
        let found = counters.finish().expect("samples");
        let percent = |key: &str| found.get(key).copied();
        assert!(percent("cpu.idle_percent").is_some_and(|idle| (0.0..=100.0).contains(&idle)));
        assert!(percent("tasks.switches_per_s").is_some_and(|switches| switches > 0.0));
        assert!(percent("mem.total_bytes").is_some_and(|bytes| bytes > 1e6), "{found:?}");
    }
}
