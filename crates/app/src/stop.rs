//! What ends a command that runs for a while, and what it does until then at equal intervals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// What ends a command before its time.
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

    /// Calls `then`, in a thread of its own, when it is stopped; whether it was.
    ///
    /// # Errors
    /// Where the system refuses a thread.
    pub(crate) fn then(
        self,
        then: impl FnOnce() + Send + 'static,
    ) -> anyhow::Result<Arc<AtomicBool>> {
        let stopped = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stopped);
        std::thread::Builder::new().name("stop".into()).spawn(move || {
            if self.0.is_some_and(|receive| receive.recv().is_ok()) {
                flag.store(true, Ordering::Relaxed);
                then();
            }
        })?;
        Ok(stopped)
    }

    /// Waits until then; `true` when it was stopped.
    fn wait_until(&self, at: Instant) -> bool {
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

    /// Calls `each` at once, then after each interval, at last when the time is up; `false` ends it
    /// earlier. Calls that were missed, as on a machine that slept, are left out. `true` when it
    /// was stopped.
    ///
    /// # Errors
    /// The first one of `each`, which ends it, too.
    pub(crate) fn repeat(
        &self,
        every: Duration,
        length: Option<Duration>,
        mut each: impl FnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<bool> {
        let began = Instant::now();
        let mut due = Duration::ZERO;
        while each()? {
            due = next(due, every, began.elapsed());
            if length.is_some_and(|length| due > length) {
                break;
            }
            if self.wait_until(began + due) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// When the next call is due.
fn next(due: Duration, every: Duration, elapsed: Duration) -> Duration {
    let next = due + every;
    if elapsed <= next {
        return next;
    }
    let every_ns = every.as_nanos().max(1);
    let missed_ns = elapsed.as_nanos().div_ceil(every_ns) * every_ns;
    Duration::from_nanos(u64::try_from(missed_ns).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_called_at_once_and_until_the_time_is_up() {
        let mut calls = 0;
        let (every, length) = (Duration::from_millis(200), Duration::from_millis(600));
        let stopped = Stop::never().repeat(every, Some(length), || {
            calls += 1;
            Ok(true)
        });
        assert!(!stopped.expect("nothing went wrong"));
        // Fewer on a machine that is busy: those that are late are left out.
        assert!((2..=4).contains(&calls), "{calls}");
    }

    #[test]
    fn an_error_ends_it() {
        let mut calls = 0;
        let result = Stop::never().repeat(Duration::from_millis(1), None, || {
            calls += 1;
            anyhow::bail!("no space left")
        });
        assert_eq!((calls, result.is_err()), (1, true));
    }

    #[test]
    fn calls_that_were_missed_are_left_out() {
        let s = Duration::from_secs;
        assert_eq!(next(s(0), s(1), Duration::from_millis(20)), s(1));
        assert_eq!(next(s(1), s(1), s(2)), s(2));
        assert_eq!(next(s(1), s(1), Duration::from_millis(4500)), s(5));
    }
}
