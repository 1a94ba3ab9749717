//! What a process has waited for, as the kernel's delay accounting counts it (`taskstats`): for a
//! CPU, for the disk, for memory to be reclaimed or compacted.
//!
//! `Documentation/accounting/delay-accounting.rst`, `include/uapi/linux/taskstats.h`. The kernel
//! counts only while `kernel.task_delayacct` is 1, and only for threads that began after that.

use super::netlink::{
    NLMSG_ERROR, attribute, attributes, find, messages, request, u16_at, u32_at, u64_at,
};
use crate::units::Ns;

/// Waits of one kind, of all threads of a process since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// How often.
    pub count: u64,
    /// How long in all.
    pub time: Ns,
}

/// What a process has waited for. `None`: this kernel does not count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Able to run, without a CPU.
    pub cpu: Option<Delay>,
    /// For requests to disks.
    pub block_io: Option<Delay>,
    /// For pages out of swap.
    pub swap_in: Option<Delay>,
    /// For memory that it reclaimed itself.
    pub reclaim: Option<Delay>,
    /// For pages that had just been evicted (Linux 4.20).
    pub thrashing: Option<Delay>,
    /// For memory that it compacted itself (Linux 5.18).
    pub compaction: Option<Delay>,
    /// For copies of pages that are shared until one writes (Linux 5.19).
    pub copying: Option<Delay>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoDelays {
    /// The kernel refuses, with this error.
    Errno(i32),
    /// The answer is none that is known: of a version whose layout was changed by mistake (15 of
    /// Linux 6.14, put right in 16), or cut short.
    Layout(Option<u16>),
}

const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const TASKSTATS_CMD_GET: u8 = 1;
const TASKSTATS_CMD_ATTR_TGID: u16 = 2;
const TASKSTATS_TYPE_STATS: u16 = 3;
const TASKSTATS_TYPE_AGGR_TGID: u16 = 5;
/// Bytes of the header of a generic message: command, version, two of nothing.
const GENERIC_BYTES: usize = 4;
/// The version whose new fields stand among the old ones.
const VERSION_BROKEN: u16 = 15;

/// Where a count stands, its time after it, and the version of the structure that has it first.
type Place = (usize, u16);
const CPU: Place = (16, 1);
const BLOCK_IO: Place = (32, 1);
const SWAP_IN: Place = (48, 1);
const RECLAIM: Place = (312, 7);
const THRASHING: Place = (328, 9);
const COMPACTION: Place = (352, 11);
const COPYING: Place = (400, 13);

fn generic(family: u16, command: u8, attribute: &[u8]) -> Vec<u8> {
    let mut body = vec![command, 1, 0, 0];
    body.extend(attribute);
    request(family, 0, &body)
}

/// The question for the number of the family, which the kernel gives out as it boots.
pub fn family_request() -> Vec<u8> {
    let name = attribute(CTRL_ATTR_FAMILY_NAME, b"TASKSTATS\0");
    generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, &name)
}

/// The question for a process, by its number.
pub fn delays_request(family: u16, pid: u32) -> Vec<u8> {
    generic(family, TASKSTATS_CMD_GET, &attribute(TASKSTATS_CMD_ATTR_TGID, &pid.to_ne_bytes()))
}

/// The attributes of an answer of one message.
fn answer(datagram: &[u8]) -> Result<Vec<(u16, &[u8])>, NoDelays> {
    let all = messages(datagram);
    let message = all.first().ok_or(NoDelays::Layout(None))?;
    if message.kind == NLMSG_ERROR {
        let errno = u32_at(message.body, 0).map(u32::cast_signed).unwrap_or_default();
        return Err(NoDelays::Errno(errno.saturating_neg()));
    }
    Ok(attributes(message.body.get(GENERIC_BYTES..).unwrap_or_default()))
}

/// The number of the family.
///
/// # Errors
/// `ENOENT` where the kernel has none.
pub fn family(datagram: &[u8]) -> Result<u16, NoDelays> {
    let found = answer(datagram)?;
    let id = find(&found, CTRL_ATTR_FAMILY_ID).and_then(|value| u16_at(value, 0));
    id.ok_or(NoDelays::Layout(None))
}

/// What the process has waited for.
///
/// # Errors
/// `ESRCH` where it has ended, `EPERM` without `CAP_NET_ADMIN`.
pub fn delays(datagram: &[u8]) -> Result<Delays, NoDelays> {
    let found = answer(datagram)?;
    let inner = find(&found, TASKSTATS_TYPE_AGGR_TGID).map(attributes).unwrap_or_default();
    let stats = find(&inner, TASKSTATS_TYPE_STATS).ok_or(NoDelays::Layout(None))?;
    let version = u16_at(stats, 0).ok_or(NoDelays::Layout(None))?;
    if version == VERSION_BROKEN {
        return Err(NoDelays::Layout(Some(version)));
    }
    let delay = |(at, since): Place| {
        let (count, time) = (u64_at(stats, at)?, u64_at(stats, at + 8)?);
        (version >= since).then_some(Delay { count, time: Ns(time) })
    };
    Ok(Delays {
        cpu: delay(CPU),
        block_io: delay(BLOCK_IO),
        swap_in: delay(SWAP_IN),
        reclaim: delay(RECLAIM),
        thrashing: delay(THRASHING),
        compaction: delay(COMPACTION),
        copying: delay(COPYING),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(version: u16, bytes: usize) -> Vec<u8> {
        let mut stats = vec![0; bytes];
        stats[..2].copy_from_slice(&version.to_ne_bytes());
        for at in (16..bytes).step_by(8) {
            stats[at..at + 8].copy_from_slice(&(at as u64).to_ne_bytes());
        }
        let stats = attribute(TASKSTATS_TYPE_STATS, &stats);
        generic(25, 2, &attribute(TASKSTATS_TYPE_AGGR_TGID, &stats))
    }

    #[test]
    fn each_kernel_says_what_it_counts() {
        let all = delays(&datagram(13, 416)).expect("an answer");
        let delay = |at: u64| Some(Delay { count: at, time: Ns(at + 8) });
        assert_eq!((all.compaction, all.copying), (delay(352), delay(400)));
        assert_eq!((all.cpu, all.reclaim, all.thrashing), (delay(16), delay(312), delay(328)));
        let old = delays(&datagram(8, 328)).expect("an answer");
        assert_eq!((old.reclaim, old.thrashing, old.compaction), (delay(312), None, None));
        let error = delays(&datagram(15, 480));
        assert_eq!(error, Err(NoDelays::Layout(Some(15))), "its fields stand elsewhere");
    }

    #[test]
    fn refusals_have_their_number() {
        let refused = request(NLMSG_ERROR, 0, &(-1_i32).to_ne_bytes());
        assert_eq!(delays(&refused), Err(NoDelays::Errno(1)));
        assert_eq!(family(&refused), Err(NoDelays::Errno(1)));
        for cut in 0..300 {
            let whole = datagram(13, 416);
            assert!(delays(&whole[..cut]).is_err(), "{cut} bytes");
        }
    }
}
