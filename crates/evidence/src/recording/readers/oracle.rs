//! What an Oracle database says about large pages in its alert log, at each start of an instance:
//! sentences until 11.2, a table since 12.1.

use super::kernel_log::clock_before;
use super::prelude::*;

/// The database, as what its values are about.
const ORACLE: &str = "oracle";

/// Lines with a number of pages; how large these are another one says.
const IN_PAGES: [(&str, Field); 3] = [
    ("Large Pages used by this instance: ", Field::HugeUsed),
    ("Large Pages unused system wide = ", Field::HugePoolFree),
    ("Large Pages configured system wide = ", Field::HugePool),
];

/// Lines with an amount.
const AMOUNTS: [(&str, Field); 5] = [
    ("Per process system memlock (soft) limit = ", Field::MemlockLimit),
    ("Total System Global Area size is ", Field::MemoryWanted),
    ("Total Shared Global Region size is ", Field::MemoryWanted),
    ("SHARED GLOBAL AREA (SGA) into memory: ", Field::MemoryWanted),
    ("Large Page size = ", Field::HugetlbPage),
];

/// `22 GB`, `64 KB (...)`, `128G`.
fn amount(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let unit = rest.trim_start().chars().next().filter(char::is_ascii_alphabetic)?;
    Some(number(digits.trim_end_matches('.'))? * binary_factor(unit.encode_utf8(&mut [0; 4]))?)
}

/// `PAGESIZE  AVAILABLE_PAGES  EXPECTED_PAGES  ALLOCATED_PAGES  ERROR(s)`.
fn heads(line: &str) -> bool {
    let words = words(line);
    words.first() == Some(&"PAGESIZE") && words.contains(&"EXPECTED_PAGES")
}

/// The quantity of a line, whether in pages, and what stands behind its name.
fn told(line: &str) -> Option<(Field, bool, &str)> {
    let line = line.trim();
    let of = |known: &[(&str, Field)], pages: bool| {
        let found = known.iter().find_map(|(name, field)| Some((*field, line.strip_prefix(name)?)));
        found.map(|(field, rest)| (field, pages, rest))
    };
    of(&IN_PAGES, true).or_else(|| of(&AMOUNTS, false))
}

fn is_title(line: &str) -> bool {
    line.contains("Large Pages Information") && line.trim().starts_with('*')
}

/// Begins at the title of the sentences, at one of them, or at the head of the table.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let own = is_title(line) || told(line).is_some() || heads(line);
    own.then(|| lines.begin(SourceKind::ProgramLog, PastBlanks(Alert::default()), out))
}

#[derive(Default)]
struct Alert {
    table: bool,
    pages: Vec<(Field, f64)>,
    page_bytes: Option<f64>,
}

impl Alert {
    /// `2048K  12000  11265  0  ORA-27102`; pages of the usual size have no number of their own.
    fn row(line: &str, out: &mut Builder) -> bool {
        let words = words(line);
        let [size, available, _, allocated, ..] = words.as_slice() else { return false };
        let Some(page) = amount(size) else { return false };
        if let Some(available) = count(available) {
            for (field, pages) in
                [(Field::HugePool, Some(available)), (Field::HugeUsed, count(allocated))]
            {
                put(field, pages.map(|pages| pages as f64 * page), out);
            }
        }
        true
    }
}

fn put(field: Field, value: Option<f64>, out: &mut Builder) {
    out.put_known(field, &Subject::Service(ORACLE.to_owned()), None, value);
}

impl Reader for Alert {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some((field, in_pages, rest)) = told(line) {
            let number = rest.split([' ', '(']).next().and_then(count);
            match (in_pages, field) {
                (true, _) => self.pages.extend(number.map(|pages| (field, pages as f64))),
                (false, Field::HugetlbPage) => self.page_bytes = amount(rest),
                (false, _) => put(field, amount(rest), out),
            }
            return Taken::Yes;
        }
        if heads(line) {
            self.table = true;
            return Taken::Yes;
        }
        if self.table && Self::row(line, out) {
            return Taken::Yes;
        }
        // Frames, advice that is set in, and times between the lines.
        let trimmed = line.trim();
        let frame = trimmed.contains("***") || trimmed == "RECOMMENDATION:";
        let between = frame || line.starts_with(' ') || trimmed.starts_with("Total Shared Global");
        let time = words(line).len() <= 5 && clock_before(line).is_some();
        if between || time { Taken::Yes } else { Taken::No }
    }

    fn end(&mut self, out: &mut Builder) {
        let Some(page) = self.page_bytes else { return };
        for (field, pages) in &self.pages {
            put(*field, Some(pages * page), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    fn of(text: &str, field: Field) -> Vec<f64> {
        let recording = read(text);
        all_understood(&recording);
        values(&recording, field, &Subject::Service(ORACLE.to_owned()))
    }

    #[test]
    fn sentences_and_the_table() {
        let text = "****************** Large Pages Information *****************\n\
                    Per process system memlock (soft) limit = 1024 KB\n\n\
                    Total Shared Global Region in Large Pages = 0 KB (0%)\n\n\
                    Large Pages used by this instance: 3 (6144 KB)\n\
                    Large Pages unused system wide = 7 (14 MB) (alloc incr 16 MB)\n\
                    Large Pages configured system wide = 10 (20 MB)\n\
                    Large Page size = 2048 KB\n\
                    RECOMMENDATION:\n  Total System Global Area size is 3 GB. For optimal use,\n";
        let page = 2_097_152.0;
        assert_eq!(of(text, Field::MemlockLimit), [1_048_576.0]);
        assert_eq!(of(text, Field::HugePoolFree), [7.0 * page]);
        assert_eq!(of(text, Field::HugePool), [10.0 * page]);
        assert_eq!(of(text, Field::HugeUsed), [3.0 * page]);
        assert_eq!(of(text, Field::MemoryWanted), [3_221_225_472.0]);
        let table = "  PAGESIZE  AVAILABLE_PAGES  EXPECTED_PAGES  ALLOCATED_PAGES  ERROR(s)\n\
                     2026-05-01T10:00:00.120+02:00\n\
                     \x20       4K       Configured               5          524293        NONE\n\
                     \x20    2048K                9             512               9   ORA-27102\n";
        assert_eq!(of(table, Field::HugePool), [9.0 * page]);
        assert_eq!(of(table, Field::HugeUsed), [9.0 * page]);
        assert!(
            of("Per process system memlock (soft) limit = UNLIMITED\n", Field::HugePool).is_empty()
        );
    }
}
