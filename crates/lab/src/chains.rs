//! What the CPUs run while a driver measures, as `hugewise record` sees it: from a thread of its
//! own, so that no request waits for it.

use anyhow::Context;
use hugewise_collect::capture::Stacks;
use hugewise_evidence::recording::readers::capture::stacks;
use hugewise_experiment::chains::Chains;
use hugewise_linux::root::Root;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between looks at what was sampled.
const EVERY: Duration = Duration::from_secs(1);

/// Why there is none, in words.
type SampleResult = Result<Chains, String>;

/// Samples that are being taken.
#[derive(Debug)]
pub(super) struct Sampled {
    /// Whether something is measured from now on; dropped at the end, which wakes the thread.
    measuring: Sender<bool>,
    thread: JoinHandle<SampleResult>,
}

impl Sampled {
    /// From now on, with the clocks of all CPUs started before this returns.
    pub(super) fn start() -> anyhow::Result<Self> {
        let ((measuring, told), (begun, first)) = (channel(), channel());
        let take = move || {
            let clocks = Stacks::start(&Root::live(), EVERY);
            let _ = begun.send(());
            let mut clocks = clocks?;
            Ok(watched(|| clocks.text(), &told))
        };
        let thread = std::thread::Builder::new().name("chains".into()).spawn(take);
        let thread = thread.context("cannot start a thread")?;
        first.recv().context("the sampling thread has panicked")?;
        Ok(Self { measuring, thread })
    }

    /// From now on something is measured, or not. Until the first such word all counts; with it
    /// only what is measured does.
    pub(super) fn measuring(&self, is: bool) {
        // One that could not start tells why at the end.
        let _ = self.measuring.send(is);
    }

    /// What was seen.
    pub(super) fn finish(self) -> SampleResult {
        drop(self.measuring);
        self.thread.join().unwrap_or_else(|_| Err("the sampling thread has panicked".into()))
    }
}

/// What is sampled until nobody tells any more whether something is measured.
/// `sampled`: the text of what was sampled since it was last asked.
fn watched(mut sampled: impl FnMut() -> String, told: &Receiver<bool>) -> Chains {
    let (mut all, mut seconds) = (stacks::Chains::default(), 0.0);
    let (mut counts, mut by_word, mut since) = (true, false, Instant::now());
    loop {
        let said = told.recv_timeout(EVERY);
        let text = sampled();
        let passed_s = since.elapsed().as_secs_f64();
        since = Instant::now();
        if counts {
            all.add(&text);
            seconds += passed_s;
        }
        match said {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
            Ok(is) => {
                if !by_word {
                    (all, seconds) = (stacks::Chains::default(), 0.0);
                }
                (counts, by_word) = (is, true);
            }
        }
    }
    let all = all.finish();
    Chains::of(seconds, &all.folded, all.left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_measured_counts() {
        let (measuring, told) = channel();
        for is in [true, false, true] {
            measuring.send(is).expect("somebody listens");
        }
        drop(measuring);
        let mut looks = 0;
        let text = || {
            looks += 1;
            format!("# cpu-clock frequency_hz=97 lost=0\nshop;look_{looks} 5\n")
        };
        let chains = watched(text, &told);
        // The first look is before anything was measured, the third after.
        let counted =
            |look: u32| chains.samples.keys().any(|chain| chain.contains(&format!("look_{look}")));
        assert_eq!([1, 2, 3, 4].map(counted), [false, true, false, true], "{chains:?}");
    }

    #[test]
    fn without_a_word_all_counts() {
        let (measuring, told) = channel::<bool>();
        drop(measuring);
        let text = || "# cpu-clock frequency_hz=97 lost=0\nshop;serve 5\n".to_owned();
        let chains = watched(text, &told);
        assert!(chains.samples.keys().any(|chain| chain.contains("serve")), "{chains:?}");
    }
}
