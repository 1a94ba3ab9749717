//! `/proc/net/softnet_stat`: receiving by CPU, in hexadecimal.

use super::{Lines, Reader, Taken};
use crate::evidence::recording::{Builder, Field, SourceKind, Subject};
use crate::parse::softnet::{self, Backlog};

/// Columns of the oldest kernels: `softnet_seq_show` of Linux 2.6.
const COLUMNS_MIN: usize = 9;
/// Width of a column.
const DIGITS: usize = 8;

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
    out.resume(SourceKind::Softnet, lines.number());
    Some(Box::new(Softnet { rows: 0 }))
}

struct Softnet {
    /// Of the look that is read now.
    rows: usize,
}

impl Reader for Softnet {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() {
            self.rows = 0;
            return Taken::Yes;
        }
        let Some(cpu) = row(line, self.rows) else { return Taken::No };
        self.rows += 1;
        let subject = Subject::Cpu(cpu.cpu);
        for (field, count) in [
            (Field::SoftnetPacketCount, cpu.packets),
            (Field::SoftnetDroppedCount, cpu.dropped),
            (Field::SoftnetSqueezedCount, cpu.squeezed),
        ] {
            out.put(field, &subject, None, count.into());
        }
        Taken::Yes
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
    fn other_hexadecimal_is_none() {
        assert!(read("deadbeef 00000001 00000002\ncafe 1 2 3 4 5 6 7 8 9\n").hosts.is_empty());
    }
}
