//! The memory of an Oracle database in its workload report as text (AWR, Statspack): what its SGA
//! has, and the parameters that size it.

use super::prelude::*;

/// The SGA as one segment. The report has no numbers of segments.
pub(crate) const SGA: &str = "SGA";
/// Memory that the database shares out by itself (`memory_target`): files on `/dev/shm`.
pub(crate) const AUTOMATIC: &str = "memory_target";

const MIB: f64 = 1_048_576.0;

/// Rows of the section `Memory Statistics`, with the bytes of their unit.
const MEMORY: [(&str, Option<Field>, f64); 4] = [
    ("Host Mem (MB):", Some(Field::MemTotal), MIB),
    ("SGA use (MB):", Some(Field::SegmentBytes), MIB),
    ("PGA use (MB):", None, MIB),
    ("% Host Mem used for SGA+PGA:", None, 1.0),
];

/// Parameters that say how large a segment is; of several for one the largest counts.
const SIZES: [(&str, &str); 4] = [
    ("sga_max_size", SGA),
    ("sga_target", SGA),
    ("memory_max_target", AUTOMATIC),
    ("memory_target", AUTOMATIC),
];

/// `1,068,937,216`
fn whole(word: &str) -> Option<f64> {
    number(&word.replace(',', ""))
}

fn memory(line: &str) -> Option<(Option<Field>, f64)> {
    let line = line.trim();
    let (name, field, unit) = MEMORY.iter().find(|(name, ..)| line.starts_with(name))?;
    // Begin and end; the end is what it is now.
    let value = words(&line[name.len()..]).last().and_then(|word| whole(word))?;
    Some((*field, value * unit))
}

/// `E Other  83.0  N/A  2.9  6.4  34  34  29  29`: every process has memory of this category, and
/// the number of processes is the last but one.
fn processes(line: &str) -> Option<f64> {
    match words(line)[..] {
        ["B" | "E", "Other", _, _, _, _, _, _, processes, _] => whole(processes),
        _ => None,
    }
}

fn is_regions(line: &str) -> bool {
    words(line).starts_with(&["SGA", "regions"])
}

fn is_parameters(line: &str) -> bool {
    words(line).starts_with(&["Parameter", "Name", "Begin", "value"])
}

/// Begins at a row of the memory or of processes, at the head of the regions of the SGA or of the
/// parameters.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let row = memory(line).is_some() || processes(line).is_some();
    let own = row || is_regions(line) || is_parameters(line);
    own.then(|| lines.begin(SourceKind::ProgramLog, Report::default(), out))
}

#[derive(Default)]
struct Report {
    table: bool,
    ended: bool,
    sga: f64,
    automatic: f64,
}

fn put(segment: &str, field: Field, value: Option<f64>, out: &mut Builder) {
    let value = value.filter(|value| *value > 0.0);
    out.put_known(field, &Subject::Segment(segment.to_owned()), None, value);
}

impl Report {
    /// A row of a table: a name and its value, at the end of the interval where that differs.
    fn row(&mut self, words: &[&str]) {
        let [name, values @ ..] = words else { return };
        let value = values.iter().rev().find_map(|word| whole(word));
        let of = SIZES.iter().find(|(known, _)| known == name).map(|(_, segment)| *segment);
        match (of, *name) {
            (Some(SGA), _) | (None, "sum") => self.sga = self.sga.max(value.unwrap_or(0.0)),
            (Some(_), _) => self.automatic = self.automatic.max(value.unwrap_or(0.0)),
            (None, _) => {}
        }
    }
}

impl Reader for Report {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some((field, bytes)) = memory(line) {
            match field {
                Some(Field::SegmentBytes) => put(SGA, Field::SegmentBytes, Some(bytes), out),
                Some(field) => out.put(field, &Subject::Machine, None, bytes),
                None => {}
            }
            return Taken::Yes;
        }
        if let Some(processes) = processes(line) {
            put(SGA, Field::SegmentAttached, Some(processes), out);
            return Taken::Yes;
        }
        if is_regions(line) || is_parameters(line) {
            self.table = true;
            return Taken::Yes;
        }
        if !self.table || self.ended {
            return Taken::No;
        }
        let words = words(line);
        // The line below the last row is set in, the one below the heading is not; a report that
        // was cut has neither, and what is pasted behind it is something else.
        let below = line.starts_with("     ")
            && line.trim_end().ends_with("-----")
            && words.len() == 1
            && line.trim().len() > 40;
        self.ended = below || words.is_empty();
        if words.is_empty() {
            return Taken::No;
        }
        self.row(&words);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        put(SGA, Field::SegmentBytes, Some(self.sga), out);
        put(AUTOMATIC, Field::SegmentBytes, Some(self.automatic), out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    fn segment(text: &str, name: &str, field: Field) -> Vec<f64> {
        values(&read(text), field, &Subject::Segment(name.to_owned()))
    }

    #[test]
    fn the_memory_of_a_report() {
        let memory = "                  Host Mem (MB):      32,061.5     32,061.5\n\
                      \x20                  SGA use (MB):      12,288.0     12,288.0\n\
                      \x20                  PGA use (MB):         841.2      1,102.7\n\
                      \x20   % Host Mem used for SGA+PGA:         40.95        41.77\n";
        all_understood(&read(memory));
        assert_eq!(segment(memory, SGA, Field::SegmentBytes), [12_288.0 * MIB]);
        assert_eq!(values(&read(memory), Field::MemTotal, &Subject::Machine), [32_061.5 * MIB]);
        let rows = "B Other   312.4   N/A   2.1   3.9   40   40   148   148\n\
                    E Other   390.0   N/A   2.4   4.4   40   41   163   163\n";
        assert_eq!(segment(rows, SGA, Field::SegmentAttached), [148.0, 163.0]);
    }

    #[test]
    fn regions_and_parameters() {
        let regions = "SGA regions                     Begin Size (Bytes)      (if different)\n\
                       ------------------------------ ------------------- -------------------\n\
                       Database Buffers                    9,663,676,416       9,395,240,960\n\
                       Fixed Size                              2,268,392\n\
                       Variable Size                       3,187,671,832\n\
                       \x20                              -------------------\n\
                       sum                                12,853,616,640\n";
        assert_eq!(segment(regions, SGA, Field::SegmentBytes), [12_853_616_640.0]);
        let parameters = |more: &str| {
            format!(
                "Parameter Name                Begin value                       (if different)\n\
                 ----------------------------- --------------------------------- --------------\n\
                 db_name                       till\n\
                 {more}sga_max_size                  12884901888\n\
                 sga_target                    10737418240                       11811160064\n\
                 use_large_pages               TRUE\n\
                 \x20         -------------------------------------------------------------\n"
            )
        };
        all_understood(&read(&parameters("")));
        assert_eq!(segment(&parameters(""), SGA, Field::SegmentBytes), [12_884_901_888.0]);
        let automatic = parameters("memory_target                 17179869184\n");
        assert_eq!(segment(&automatic, AUTOMATIC, Field::SegmentBytes), [17_179_869_184.0]);
        for other in ["Host Mem: 3\n", "Parameter Name Value\n", "SGA use (MB): none\n"] {
            assert!(read(other).sources.is_empty(), "{other}");
        }
    }
}
