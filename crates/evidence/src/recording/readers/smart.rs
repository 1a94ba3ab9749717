//! What a disk counts about itself (SMART), in whatever layout the attributes are shown: the table
//! of `smartctl -A`, its brief form, a line of `name raw=value`, several of them on one line.

use super::prelude::*;

/// Attributes that tell of damage (smartmontools, drivedb.h).
const ATTRIBUTES: [(&str, Field); 5] = [
    ("Reallocated_Sector_Ct", Field::SmartReplaced),
    ("Reallocated_Event_Count", Field::SmartReplaced),
    ("Current_Pending_Sector", Field::SmartUnreadable),
    ("Offline_Uncorrectable", Field::SmartUnreadable),
    ("Reported_Uncorrect", Field::SmartUnreadable),
];

/// Longest word before an entry of the disk's log: registers.
const REGISTER_BYTES_MAX: usize = 2;

/// The raw value among the words behind a name: named, or behind the column of failures, which is
/// a dash where there was none, or a word such as `In_the_past` or `NOW`.
fn raw(words: &[&str]) -> Option<u64> {
    for (at, word) in words.iter().enumerate() {
        if let Some(value) = word.strip_prefix("raw=") {
            return count(value);
        }
        if matches!(*word, "-" | "NOW" | "FAILING_NOW" | "In_the_past" | "Past") {
            return count(words.get(at + 1)?);
        }
    }
    None
}

/// The counts of a line, each with the name of its attribute.
fn attributes(line: &str) -> Vec<(&'static str, Field, u64)> {
    let words = words(line);
    let mut all = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some((name, field)) = ATTRIBUTES.iter().find(|(name, _)| name == word) else {
            continue;
        };
        if let Some(value) = words.get(at + 1..).and_then(raw) {
            all.push((*name, *field, value));
        }
    }
    all
}

/// Whether a line is an entry of the disk's log about a block that it could not read.
fn unreadable(line: &str) -> bool {
    let Some((registers, _)) = line.split_once("Error: UNC ") else { return false };
    registers.split_whitespace().all(|word| word.len() <= REGISTER_BYTES_MAX)
}

/// Whether a line is of the table of attributes: its heading, or a row of any attribute.
fn is_of_table(line: &str) -> bool {
    let kind = |word: &str| matches!(word, "ATTRIBUTE_NAME" | "Pre-fail" | "Old_age");
    line.split_whitespace().any(kind)
}

/// Begins at an attribute, or at an entry of the log.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let known = unreadable(line) || is_of_table(line) || !attributes(line).is_empty();
    known.then(|| lines.resume(SourceKind::Smart, Smart, out))
}

struct Smart;

impl Reader for Smart {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let all = attributes(line);
        for (name, field, value) in &all {
            out.put(*field, &Subject::part("disk", name), None, *value as f64);
        }
        let unreadable = unreadable(line);
        if unreadable {
            out.put(Field::SmartUnreadable, &Subject::Service("disk".to_owned()), None, 1.0);
        }
        let known = unreadable || is_of_table(line) || !all.is_empty();
        if known { Taken::Yes } else { Taken::No }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{read, values};
    use super::*;

    #[test]
    fn attributes_in_any_layout() {
        for text in [
            "  5 Reallocated_Sector_Ct   0x0033 100 100 005 Pre-fail Always   -   96\n\
             197 Current_Pending_Sector  0x0022 100 100 000 Old_age Always In_the_past 8 (0 3)\n",
            "  5 Reallocated_Sector_Ct   PO--CK   100   100   010    -    96\n\
             197 Current_Pending_Sector  -O--C-   100   100   000    -    8\n",
            "Reallocated_Sector_Ct    val=100 worst=100 thresh=010  raw=96\n\
             Current_Pending_Sector   val=099 worst=098 thresh=000  raw=8\n",
            "5 Reallocated_Sector_Ct 0x0033 100 100 005 Pre-fail Always - 96 ... 197 \
             Current_Pending_Sector 0x0022 100 100 000 Old_age Always - 8\n",
        ] {
            let recording = read(text);
            let of = |field, name| values(&recording, field, &Subject::part("disk", name));
            assert_eq!(of(Field::SmartReplaced, "Reallocated_Sector_Ct"), [96.0], "{text}");
            assert_eq!(of(Field::SmartUnreadable, "Current_Pending_Sector"), [8.0], "{text}");
        }
        let prose = "Current_Pending_Sector is what I watch, and Error: UNC is what I fear\n";
        assert!(read(prose).hosts.is_empty());
    }

    #[test]
    fn entries_of_the_log() {
        for text in [
            "  40 51 c0 d8 92 94 40  Error: UNC at LBA = 0x009492d8 = 9736920\n",
            "  40 -- 51 00 08 00 00 00 11 22 33 40 00  Error: UNC 8 sectors at LBA = 0x0011 = 17\n",
        ] {
            let disk = Subject::Service("disk".to_owned());
            assert_eq!(values(&read(text), Field::SmartUnreadable, &disk), [1.0], "{text}");
        }
    }
}
