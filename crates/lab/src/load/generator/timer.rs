//! A timer that is exact: tokio's own wakes up to a millisecond late, which is many times what a
//! request over loopback takes.

use hugewise_base::units::Ns;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

const S: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    #[expect(
        deprecated,
        reason = "it trusts any type to keep its descriptor; OwnedFd does, and the new way is \
                  unsafe code, which this crate has none of"
    )]
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self(AsyncFd::new(timerfd_create(TimerfdClockId::Monotonic, flags)?)?))
    }

    /// Waits. May be given up and begun anew.
    pub(super) async fn sleep(&self, time: Ns) -> io::Result<()> {
        // Zero would switch the timer off.
        let time = time.0.max(1);
        let part = |part: u64| i64::try_from(part).unwrap_or(i64::MAX);
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec { tv_sec: part(time / S), tv_nsec: part(time % S) };
        let once = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
        loop {
            let mut ready = self.0.readable().await?;
            let mut count = [0; 8];
            match rustix::io::read(&self.0, &mut count) {
                Ok(_) => return Ok(()),
                // It was ready from a sleep that was given up.
                Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
