//! `/proc/PID/io` (proc_pid_io(5)).

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, key_and_value, numbered_lines};

/// What a process made disks do since it started, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PidIo {
    /// `read_bytes`: read from disks.
    pub read_bytes: Option<u64>,
    /// `write_bytes`: to be written to disks.
    pub write_bytes: Option<u64>,
}

/// Reads the file. Keys this program has no use for are passed over in silence.
pub fn parse(text: &str) -> Parsed<PidIo> {
    let mut parsed = Parsed::<PidIo>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        let slot = match key_and_value(line) {
            Some(("read_bytes", value)) => Some((&mut parsed.value.read_bytes, value)),
            Some(("write_bytes", value)) => Some((&mut parsed.value.write_bytes, value)),
            Some(_) => None,
            None => {
                parsed.note(ParseError::new("io", number, line, "'key: value'"));
                None
            }
        };
        if let Some((slot, value)) = slot {
            *slot = decimal(value);
            if slot.is_none() {
                parsed.note(ParseError::new("io", number, line, "a number of bytes"));
            }
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bytes() {
        let text = "rchar: 9\nread_bytes: 4096\nwrite_bytes: 0\ncancelled_write_bytes: 7\n";
        let parsed = parse(text);
        assert_eq!(parsed.problems, []);
        let io = PidIo { read_bytes: Some(4096), write_bytes: Some(0) };
        assert_eq!(parsed.value, io);
        let torn = parse("read_bytes: x\nwrite_by");
        assert_eq!((torn.value, torn.problems.len()), (PidIo::default(), 2));
    }
}
