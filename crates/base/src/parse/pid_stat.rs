//! `/proc/PID/stat` (proc_pid_stat(5), `fs/proc/array.c`).

use serde::{Deserialize, Serialize};

use super::{ParseError, decimal};

/// `PF_KTHREAD` of `include/linux/sched.h`: set for threads of the kernel.
pub const PF_KTHREAD: u64 = 0x0020_0000;

/// Field number of the first field after the name, as the manual page counts.
const FIRST_FIELD: usize = 3;

/// State and counters of one process. Times are clock ticks (`sysconf(_SC_CLK_TCK)`, nearly always
/// 100 a second).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PidStat {
    /// Process id.
    pub pid: u32,
    /// Name of the main thread, at most 15 bytes; invalid UTF-8 replaced.
    pub comm: String,
    /// `R`, `S`, `D`, `Z`, ...
    pub state: char,
    /// Process id of the parent; 0 for the first process and for what it cannot see.
    pub ppid: u32,
    /// Kernel flags, `PF_*`.
    pub flags: u64,
    /// Page faults served without reading from disk.
    pub minflt: u64,
    /// Page faults that waited for disk.
    pub majflt: u64,
    /// CPU time in user mode, in ticks.
    pub utime: u64,
    /// CPU time in the kernel, in ticks.
    pub stime: u64,
    /// The same of children that have ended and were waited for, and of theirs: user mode, ...
    pub cutime: u64,
    /// ... and kernel.
    pub cstime: u64,
    /// Number of threads.
    pub num_threads: u64,
    /// Start time after boot, in ticks. With the pid it names a process for good.
    pub starttime: u64,
    /// Address space in bytes.
    pub vsize: u64,
    /// Resident memory in base pages; may lag behind by some pages per thread.
    pub rss_pages: u64,
    /// First address of the program's code; 1 where that may not be seen, 0 while the program is
    /// being started and once its memory is gone. Together with `start_stack` it changes with
    /// each exec, which `starttime` does not.
    #[serde(default)]
    pub start_code: u64,
    /// Bottom of the main stack; 0 where that may not be seen.
    #[serde(default)]
    pub start_stack: u64,
    /// CPU the process last ran on.
    pub processor: u32,
    /// Real-time priority, 1 to 99; 0 for ordinary scheduling.
    pub rt_priority: u32,
    /// Scheduling policy, `SCHED_*` of `include/uapi/linux/sched.h`.
    pub policy: u32,
}

impl PidStat {
    /// Whether this is a thread of the kernel, which has no memory of its own.
    pub fn is_kernel_thread(&self) -> bool {
        self.flags & PF_KTHREAD != 0
    }
}

/// Reads the file. The name may contain blanks, parentheses and any bytes, so it reaches from the
/// first `(` to the *last* `)`.
///
/// # Errors
/// When a field is missing or is not a number.
pub fn parse(text: &[u8]) -> Result<PidStat, ParseError> {
    let error = |found: &[u8], wanted| ParseError::new("stat", 1, found, wanted);
    let open = text.iter().position(|byte| *byte == b'(');
    let close = text.iter().rposition(|byte| *byte == b')');
    let (Some(open), Some(close)) = (open, close) else {
        return Err(error(text, "a name in parentheses"));
    };
    if close < open {
        return Err(error(text, "a name in parentheses"));
    }
    let before = std::str::from_utf8(&text[..open]).unwrap_or_default();
    let after = std::str::from_utf8(&text[close + 1..])
        .map_err(|_| error(&text[close + 1..], "plain text after the name"))?;
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let fields = Fields(&fields);
    Ok(PidStat {
        pid: decimal(before.trim_end()).ok_or_else(|| error(&text[..open], "a process id"))?,
        comm: String::from_utf8_lossy(&text[open + 1..close]).into_owned(),
        state: fields.state()?,
        ppid: fields.number(4, "the parent's id in field 4")?,
        flags: fields.number(9, "flags in field 9")?,
        minflt: fields.number(10, "minor faults in field 10")?,
        majflt: fields.number(12, "major faults in field 12")?,
        utime: fields.number(14, "user time in field 14")?,
        stime: fields.number(15, "system time in field 15")?,
        cutime: fields.number(16, "user time of children in field 16")?,
        cstime: fields.number(17, "system time of children in field 17")?,
        num_threads: fields.number(20, "threads in field 20")?,
        starttime: fields.number(22, "start time in field 22")?,
        vsize: fields.number(23, "address space in field 23")?,
        rss_pages: fields.number(24, "resident pages in field 24")?,
        start_code: fields.number(26, "start of the code in field 26")?,
        start_stack: fields.number(28, "start of the stack in field 28")?,
        processor: fields.number(39, "the CPU in field 39")?,
        rt_priority: fields.number(40, "real-time priority in field 40")?,
        policy: fields.number(41, "scheduling policy in field 41")?,
    })
}

/// The fields after the name.
struct Fields<'a>(&'a [&'a str]);

impl Fields<'_> {
    fn text(&self, field: usize) -> &str {
        self.0.get(field - FIRST_FIELD).copied().unwrap_or("")
    }

    fn number<T: std::str::FromStr>(
        &self,
        field: usize,
        wanted: &'static str,
    ) -> Result<T, ParseError> {
        let text = self.text(field);
        decimal(text).ok_or_else(|| ParseError::new("stat", 1, text, wanted))
    }

    fn state(&self) -> Result<char, ParseError> {
        let text = self.text(FIRST_FIELD);
        let mut letters = text.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) if letter.is_ascii_alphabetic() => Ok(letter),
            _ => Err(ParseError::new("stat", 1, text, "one letter for the state in field 3")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: &str = " R 4125 4125 3302 0 -1 4194304 100 0 7 0 11 12 5 6 20 0 3 0 46458 3133440 \
                        381 18446744073709551615 94473411850240 94473411870121 140722620237088 0 \
                        0 0 0 0 0 0 0 0 17 1 0 2 0 0 0 94473411886128 94473411887744 \
                        94473775329280 140722620242625 140722620242645 140722620242645 \
                        140722620243947 0\n";

    fn text(name: &[u8]) -> Vec<u8> {
        [b"4132 (", name, b")", TAIL.as_bytes()].concat()
    }

    #[test]
    fn reads_a_line_of_this_format() {
        let stat = parse(&text(b"cat")).expect("a complete line");
        assert_eq!((stat.pid, stat.comm.as_str(), stat.state, stat.ppid), (4132, "cat", 'R', 4125));
        assert_eq!((stat.minflt, stat.majflt, stat.utime, stat.stime), (100, 7, 11, 12));
        assert_eq!((stat.cutime, stat.cstime), (5, 6));
        assert_eq!((stat.num_threads, stat.starttime), (3, 46458));
        assert_eq!((stat.vsize, stat.rss_pages), (3_133_440, 381));
        assert_eq!((stat.processor, stat.rt_priority, stat.policy), (1, 0, 2));
        assert!(!stat.is_kernel_thread());
    }

    #[test]
    fn names_may_hold_anything() {
        for name in [b"a) R 1 (b".as_slice(), b"", b"tmux: server", b"\xff\xfe", b"))((", b"a\nb"] {
            let stat = parse(&text(name)).expect("only the name is odd");
            assert_eq!((stat.pid, stat.ppid), (4132, 4125));
            assert_eq!(stat.comm, String::from_utf8_lossy(name));
        }
    }

    #[test]
    fn knows_kernel_threads() {
        let line = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 \
                    18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0";
        assert!(parse(line.as_bytes()).is_ok_and(|stat| stat.is_kernel_thread()));
    }

    #[test]
    fn says_what_is_missing() {
        let error = parse(b"1 (a) S 0 0").expect_err("fields are missing");
        assert_eq!(error.wanted, "flags in field 9");
        assert!(parse(b"").is_err());
        assert!(parse(b"1 )a( S").is_err());
    }
}
