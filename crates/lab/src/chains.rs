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
type Seen = Result<Chains, String>;

/// Samples that are being taken.
#[derive(Debug)]
pub(super) struct Sampled {
    /// Whether something is measured from now on; dropped at the end, which wakes the thread.
    measuring: Sender<bool>,
    thread: JoinHandle<Seen>,
}

impl Sampled {
    /// From now on, with the clocks of all CPUs started before this returns.
    pub(super) fn start() -> anyhow::Result<Self> {
        let ((measuring, told), (begun, first)) = (channel(), channel());
        let take = move || {
            let clocks = Stacks::start(&Root::live(), EVERY);
            let _ = begun.send(());
            watched(clocks?, &told)
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
    pub(super) fn finish(self) -> Seen {
        drop(self.measuring);
        self.thread.join().unwrap_or_else(|_| Err("the sampling thread has panicked".into()))
    }
}

/// What is sampled until nobody tells any more whether something is measured.
fn watched(mut clocks: Stacks, told: &Receiver<bool>) -> Seen {
    let (mut all, mut seconds) = (stacks::Chains::default(), 0.0);
    let (mut counts, mut by_word, mut since) = (true, false, Instant::now());
    loop {
        let said = told.recv_timeout(EVERY);
        let text = clocks.text();
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
    Ok(Chains::of(seconds, &all.folded, all.left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_measured_counts() {
        let (sampled, began) = (Sampled::start().expect("a thread"), Instant::now());
        std::thread::sleep(Duration::from_millis(400));
        sampled.measuring(true);
        let until = Instant::now() + Duration::from_millis(200);
        while Instant::now() < until {
            std::hint::black_box(0);
        }
        sampled.measuring(false);
        std::thread::sleep(Duration::from_millis(300));
        // Without the rights that it takes it says so.
        match sampled.finish() {
            Ok(chains) => {
                let forgotten = began.elapsed().as_secs_f64() - chains.seconds;
                assert!(forgotten >= 0.7 && chains.seconds >= 0.2, "{chains:?}");
                assert!(!chains.samples.is_empty(), "{chains:?}");
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
}
