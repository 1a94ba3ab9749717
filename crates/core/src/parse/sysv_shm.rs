//! `/proc/sysvipc/shm` (`ipc/shm.c`): shared memory segments, under a line of column names.

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, numbered_lines};

/// One segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// `shmid`: its number.
    pub id: u32,
    /// `size`: in bytes, as asked for.
    pub bytes: u64,
    /// `nattch`: how often it is attached.
    pub attached: u64,
}

/// Reads the file.
#[must_use]
pub fn parse(text: &str) -> Parsed<Vec<Segment>> {
    let mut parsed = Parsed::<Vec<Segment>>::empty();
    let mut lines = numbered_lines(text.as_bytes());
    let Some((number, head)) = lines.next() else { return parsed };
    let head = std::str::from_utf8(head).unwrap_or_default();
    let column = |name: &str| head.split_ascii_whitespace().position(|word| word == name);
    let (Some(id), Some(size), Some(attached)) =
        (column("shmid"), column("size"), column("nattch"))
    else {
        parsed.note(ParseError::new("sysvipc/shm", number, head, "shmid, size and nattch"));
        return parsed;
    };
    for (number, line) in lines {
        let line = std::str::from_utf8(line).unwrap_or_default();
        let word = |column: usize| line.split_ascii_whitespace().nth(column).unwrap_or_default();
        let (id, bytes, attached) =
            (decimal(word(id)), decimal(word(size)), decimal(word(attached)));
        match (id, bytes, attached) {
            (Some(id), Some(bytes), Some(attached)) => {
                parsed.value.push(Segment { id, bytes, attached });
            }
            _ => parsed.note(ParseError::new("sysvipc/shm", number, line, "numbers")),
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_segments() {
        let text = "       key      shmid perms                  size  cpid  lpid nattch   uid\n\
                    \x20   12345          7   600             536870912   811   900     12     0\n";
        let parsed = parse(text);
        assert_eq!(parsed.problems, []);
        assert_eq!(parsed.value, [Segment { id: 7, bytes: 512 << 20, attached: 12 }]);
        assert_eq!(parse("a b\n").problems.len(), 1);
        assert_eq!(parse("shmid size nattch\n1 2\n-1 2 3\n").problems.len(), 2);
    }
}
