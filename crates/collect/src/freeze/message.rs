//! What the threads tell each other, and the clock and the file that they share.

use hugewise_base::parse;
use hugewise_base::units::Ns;
use hugewise_evidence::freeze::Late;
use hugewise_linux::root::Root;
use rustix::time::{ClockId, clock_gettime};

/// Where the kernel sums waiting for memory up (PSI).
pub(super) const PRESSURE: &str = "proc/pressure/memory";

/// What threads tell.
#[derive(Debug)]
pub(super) enum Message {
    /// A probe woke late.
    Late(Late),
    /// Something freezes now: look.
    Hurry,
    /// When it was looked, and for how long programs had waited for memory since boot.
    Waited(Ns, Ns),
    /// Whoever waits is to wait no longer.
    Wake,
}

/// The monotonic clock.
pub fn now() -> Ns {
    let clock = clock_gettime(ClockId::Monotonic);
    let (seconds, rest) = (u64::try_from(clock.tv_sec), u64::try_from(clock.tv_nsec));
    Ns(seconds.unwrap_or(0).saturating_mul(1_000_000_000) + rest.unwrap_or(0))
}

/// Time in which some program waited for memory, since boot.
pub(super) fn waited(root: &Root) -> Option<Ns> {
    waited_of(&root.read_text(PRESSURE).ok()?)
}

pub(super) fn waited_of(text: &str) -> Option<Ns> {
    let some = parse::pressure::parse(text).value.some?;
    Some(Ns::us(some.total_us))
}
