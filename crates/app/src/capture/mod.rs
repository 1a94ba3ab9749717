//! Samples of raw kernel text: taken live, written to a directory, read back.
//!
//! [`live`] takes them, [`write::Directory`] keeps them as one zstd frame each beside a
//! [`manifest::Manifest`], [`read::open`] gives them back. What they mean is read by
//! `hugewise_evidence::recording::readers::capture::Capture`, sample by sample.

mod manifest;
pub(crate) mod read;
mod ring;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use manifest::{Manifest, NotRead, Taken};
pub(crate) use ring::Ring;
pub(crate) use write::Directory;

use hugewise_collect::capture::{Options, Sampler};
use hugewise_linux::root::Root;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Name of a capture's manifest.
const MANIFEST: &str = "manifest.json";

/// When to sample, and what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CapturePlan {
    /// Time between samples.
    pub(crate) every: Duration,
    /// Time from the first to the last one.
    pub(crate) length: Duration,
    /// What is taken.
    pub(crate) options: Options,
}

/// What ends sampling before its time.
#[derive(Debug)]
pub(crate) struct Stop(Option<Receiver<()>>);

impl Stop {
    /// Nothing does: signals do what they always do.
    pub(crate) const fn never() -> Self {
        Self(None)
    }

    /// SIGINT and SIGTERM do, from now on.
    ///
    /// # Errors
    /// Where the system refuses a handler, or a thread.
    pub(crate) fn on_signals() -> anyhow::Result<Self> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let (send, receive) = mpsc::channel();
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for _ in signals.forever() {
                if send.send(()).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self(Some(receive)))
    }

    /// Waits until it is stopped; for ever, where nothing does.
    pub(crate) fn wait(&self) {
        if let Some(receive) = &self.0 {
            // An error says that the thread is gone, which ends with the process only.
            let _ = receive.recv();
        }
    }

    /// Waits until then; `true` when it was stopped.
    pub(crate) fn wait_until(&self, at: Instant) -> bool {
        let wait = at.saturating_duration_since(Instant::now());
        let Some(receive) = &self.0 else {
            std::thread::sleep(wait);
            return false;
        };
        match receive.recv_timeout(wait) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(wait);
                false
            }
        }
    }
}

/// Samples the machine below `root`: at once, then after each interval, at last when the time is
/// up. Each sample's text goes to `each`; its error ends sampling, too. What was taken until then
/// is told in any case.
pub(crate) fn live(
    root: &Root,
    plan: &CapturePlan,
    stop: &Stop,
    mut each: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> (Taken, anyhow::Result<()>) {
    let mut sampler = Sampler::new(root, plan.options);
    sampler.start_stacks(plan.every);
    let began = Instant::now();
    let mut taken = Taken::default();
    let mut due = Duration::ZERO;
    let result = loop {
        if due > Duration::ZERO && stop.wait_until(began + due) {
            taken.stopped = true;
            break Ok(());
        }
        let result = each(&sampler.sample());
        if result.is_err() {
            break result;
        }
        taken.samples += 1;
        due = next(due, plan, began.elapsed());
        if due > plan.length {
            break Ok(());
        }
    };
    let taken = Taken { samples: taken.samples, stopped: taken.stopped, ..Taken::of(&sampler) };
    (taken, result)
}

/// When the next sample is due: those that were missed, as on a machine that slept, are left out.
fn next(due: Duration, plan: &CapturePlan, elapsed: Duration) -> Duration {
    let next = due + plan.every;
    if elapsed <= next {
        return next;
    }
    let missed = elapsed.as_nanos().div_ceil(plan.every.as_nanos().max(1));
    u32::try_from(missed).map_or(Duration::MAX, |missed| plan.every.saturating_mul(missed))
}
