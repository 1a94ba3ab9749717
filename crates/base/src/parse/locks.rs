//! `/proc/locks` (proc_locks(5), `fs/locks.c`): one line at a time, as anybody can make the file
//! long.

use super::decimal;

/// A lock that somebody holds by `fcntl`, on a range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLock {
    /// The process; `None` where it is of another pid namespace.
    pub pid: Option<u32>,
    /// The file: major and minor number of its device, and inode.
    pub file: (u32, u32, u64),
    /// First byte.
    pub first: u64,
    /// Last byte; `None`: to the end of the file, however long it gets.
    pub last: Option<u64>,
}

impl RecordLock {
    /// Whether this byte is in the range.
    pub fn covers(&self, byte: u64) -> bool {
        self.first <= byte && self.last.is_none_or(|last| byte <= last)
    }
}

/// Reads one line. `None` for locks of other kinds (`FLOCK`, `OFDLCK`, `LEASE`), for those that
/// are only waited for (`->`), and for what makes no sense.
pub fn record_lock(line: &str) -> Option<RecordLock> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, "POSIX", _, _, pid, file, first, last] = words[..] else { return None };
    let mut ids = file.split(':');
    let mut hex = || u32::from_str_radix(ids.next()?, 16).ok();
    let (major, minor) = (hex()?, hex()?);
    let inode = decimal(ids.next()?)?;
    let last = if last == "EOF" { None } else { Some(decimal(last)?) };
    let pid = decimal(pid).filter(|pid| *pid > 0);
    Some(RecordLock { pid, file: (major, minor, inode), first: decimal(first)?, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_lock_is_read() {
        let line = "1: POSIX  ADVISORY  READ 28632 00:1f:4026531837 7527036037712409445 EOF";
        let lock = record_lock(line).expect("a lock");
        assert_eq!((lock.pid, lock.file), (Some(28632), (0, 31, 4_026_531_837)));
        assert!(lock.covers(7_527_036_037_712_409_445) && lock.covers(u64::MAX));
        assert!(!lock.covers(7_527_036_037_712_409_444));
        let one = record_lock("2: POSIX  ADVISORY  WRITE -1 08:01:7 5 6").expect("a lock");
        assert_eq!((one.pid, one.last), (None, Some(6)));
        assert!(one.covers(6) && !one.covers(7));
    }

    #[test]
    fn other_lines_are_left_out() {
        for line in [
            "",
            "1: FLOCK  ADVISORY  WRITE 1 00:16:3688 0 EOF",
            "1: OFDLCK ADVISORY  READ -1 00:16:3688 0 EOF",
            "1: -> POSIX  ADVISORY  WRITE 1 00:16:3688 0 EOF",
            "1: POSIX  ADVISORY  READ 1 00:16 0 EOF",
            "1: POSIX  ADVISORY  READ 1 00:xx:1 0 EOF",
            "1: POSIX  ADVISORY  READ 1 00:16:3688 0 -1",
            "1: POSIX  ADVISORY  READ 1 00:16:3688 99999999999999999999 EOF",
        ] {
            assert_eq!(record_lock(line), None, "{line}");
        }
    }
}
