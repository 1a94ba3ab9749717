//! `/proc/net/softnet_stat`: receiving by CPU, in hexadecimal.

use super::prelude::*;
use hugewise_base::parse::softnet::{self, Backlog};

/// Columns of the oldest kernels: `softnet_seq_show` of Linux 2.6.
const COLUMNS_MIN: usize = 9;
/// Width of a column.
const DIGITS: usize = 8;

/// CPUs of the largest machines (`CONFIG_NR_CPUS`), in some looks.
const ROWS_MAX: usize = 65_536;

/// A row, whose place tells the CPU where no column does.
fn row(line: &str, place: usize) -> Option<Backlog> {
    let mut words = line.split_ascii_whitespace();
    let usual = |word: &str| word.len() == DIGITS && word.bytes().all(|b| b.is_ascii_hexdigit());
    let columns = words.clone().count();
    (columns >= COLUMNS_MIN && words.all(usual)).then(|| softnet::row(line, place))?
}

/// Begins at a row.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    row(lines.ahead(0), 0)?;
    // Consecutive looks are one series.
    Some(lines.resume(
        SourceKind::Softnet,
        Softnet { samples: out.typed_samples("softnet_stat"), rows: Vec::new() },
        out,
    ))
}

struct Softnet {
    /// How often the latest command shows the file, where that is known.
    samples: usize,
    /// Of the looks that are read now.
    rows: Vec<String>,
}

impl Reader for Softnet {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() {
            // A blank line parts the looks.
            if !self.rows.is_empty() {
                self.samples = 1;
            }
            self.end(out);
            return Taken::Yes;
        }
        if row(line, 0).is_none() || self.rows.len() >= ROWS_MAX {
            return Taken::No;
        }
        self.rows.push(line.to_owned());
        Taken::Yes
    }

    /// Puts the rows so far. Where nothing parts the looks of one command, each has as many rows.
    fn end(&mut self, out: &mut Builder) {
        let rows = std::mem::take(&mut self.rows);
        let parts = self.samples.max(1);
        let each = if rows.len().is_multiple_of(parts) { rows.len() / parts } else { rows.len() };
        for (at, line) in rows.iter().enumerate() {
            let Some(cpu) = row(line, at % each.max(1)) else { continue };
            let subject = Subject::Cpu(cpu.cpu);
            for (field, count) in [
                (Field::SoftnetPacketCount, cpu.packets),
                (Field::SoftnetDroppedCount, cpu.dropped),
                (Field::SoftnetSqueezedCount, cpu.squeezed),
            ] {
                out.put(field, &subject, None, count.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    fn look(dropped: u32) -> String {
        let row = |dropped: u32, cpu: u32| {
            format!("00001000 {dropped:08x} 00000003{} {cpu:08x}\n", " 00000000".repeat(9))
        };
        format!("{}{}", row(dropped, 0), row(7, 1))
    }

    #[test]
    fn looks_give_rates_where_the_time_between_them_is_known() {
        let cat = "cat /proc/net/softnet_stat";
        let recording =
            read(&format!("a@b:~$ {cat}; sleep 10; {cat}\n{}\n{}", look(16), look(116)));
        all_understood(&recording);
        assert_eq!(values(&recording, Field::SoftnetDroppedCount, &Subject::Cpu(0)), [16.0, 116.0]);
        assert_eq!(values(&recording, Field::SoftnetDropped, &Subject::Cpu(0)), [10.0]);
        assert_eq!(values(&recording, Field::SoftnetDropped, &Subject::Cpu(1)), [0.0]);
        let alone = read(&look(16));
        all_understood(&alone);
        assert_eq!(values(&alone, Field::SoftnetDropped, &Subject::Cpu(0)).len(), 0);
    }

    #[test]
    fn looks_of_one_command_need_nothing_between_them() {
        // Old kernels have no column for the CPU.
        let look = |dropped: u32| {
            let row = |dropped: u32| format!("00001000 {dropped:08x}{}\n", " 00000000".repeat(8));
            format!("{}{}", row(dropped), row(7))
        };
        let cat = "cat /proc/net/softnet_stat | head -2";
        for typed in [
            format!("{cat} ; sleep 5; {cat}"),
            format!("for i in 1 2; do {cat}; sleep 5; done"),
            format!("for i in $(seq 2); do {cat}; sleep 5; done"),
        ] {
            let recording = read(&format!("a@b:~$ {typed}\n{}{}", look(16), look(116)));
            all_understood(&recording);
            assert_eq!(values(&recording, Field::SoftnetDropped, &Subject::Cpu(0)), [20.0]);
            assert_eq!(values(&recording, Field::SoftnetDropped, &Subject::Cpu(1)), [0.0]);
            assert_eq!(values(&recording, Field::SoftnetDropped, &Subject::Cpu(2)).len(), 0);
        }
    }

    #[test]
    fn other_hexadecimal_is_none() {
        assert!(read("deadbeef 00000001 00000002\ncafe 1 2 3 4 5 6 7 8 9\n").hosts.is_empty());
    }
}
