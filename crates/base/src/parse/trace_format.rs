//! The `format` file of one of the kernel's trace events (`Documentation/trace/events.rst`): where
//! its fields lie in a record.

use std::collections::BTreeMap;

/// Where a field lies, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From the start of the record.
    pub offset: usize,
    /// How many.
    pub size: usize,
}

/// Fields by name. Lines that describe none are passed over.
///
/// ```text
///     field:int sig;  offset:8;  size:4;  signed:1;
/// ```
pub fn parse(text: &str) -> BTreeMap<String, Place> {
    text.lines().filter_map(field).collect()
}

fn field(line: &str) -> Option<(String, Place)> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let name = declared.rsplit([' ', '*']).next()?.split('[').next()?;
    let (mut offset, mut size) = (None, None);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.parse().ok(),
            Some(("size", value)) => size = value.parse().ok(),
            _ => {}
        }
    }
    Some((name.to_owned(), Place { offset: offset?, size: size? }))
}

impl Place {
    /// The number that stands there in a record, where it is one of four bytes.
    pub fn number(self, record: &[u8]) -> Option<i32> {
        let end = self.offset.checked_add(self.size)?;
        let bytes: [u8; 4] = record.get(self.offset..end)?.try_into().ok()?;
        Some(i32::from_ne_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The file of Linux 6.18, in part.
    const SIGNAL: &str = "name: signal_generate\nID: 261\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:int sig;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:char comm[16];\toffset:20;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:36;\tsize:4;\tsigned:1;\n\n\
        print fmt: \"sig=%d errno=%d\", REC->sig, REC->errno\n";

    #[test]
    fn fields_have_their_places() {
        let fields = parse(SIGNAL);
        assert_eq!(fields.len(), 5);
        assert_eq!(fields["sig"], Place { offset: 8, size: 4 });
        assert_eq!(fields["comm"], Place { offset: 20, size: 16 });
        let mut record = vec![0; 40];
        record[36] = 7;
        assert_eq!(fields["pid"].number(&record), Some(7));
        assert_eq!(fields["pid"].number(&record[..38]), None, "cut off");
        assert_eq!(fields["comm"].number(&record), None, "no number");
    }

    #[test]
    fn other_lines_are_passed_over() {
        for text in ["", "field:", "field:int x;", "field:int x;\toffset:a;\tsize:4;", ";;;:"] {
            assert!(parse(text).is_empty(), "{text}");
        }
        let far = Place { offset: usize::MAX, size: 4 };
        assert_eq!(far.number(&[0; 8]), None);
    }
}
