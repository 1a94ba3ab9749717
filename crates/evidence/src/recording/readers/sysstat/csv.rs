//! `sadf -d` and `sadf -p`: the columns of `sar`, behind semicolons, or one value a line.

use super::columns::{Kind, TABLES};
use super::iostat::moment;
use super::table::{self, Header, Layout, Wrong, is_sane};
use crate::recording::readers::prelude::*;

/// What stands before the columns: machine, interval and time.
const LEAD: usize = 3;
/// Most tables whose place is kept: all of `sadf -d -- -A` are about 60.
const TABLES_MAX: usize = 256;

/// The columns of a header of `sadf -d`.
fn header(line: &str) -> Option<Vec<&str>> {
    let cells: Vec<&str> = line.trim().strip_prefix('#')?.trim_start().split(';').collect();
    let ours = matches!(cells.as_slice(), ["hostname", "interval", "timestamp", _, ..]);
    ours.then(|| cells.get(LEAD..).unwrap_or_default().to_vec())
}

/// A row: the machine, the time and the rest; `split` is what parts the cells.
fn row(line: &str, split: char) -> Option<(&str, &str, Vec<&str>)> {
    let mut cells = line.trim_end().split(split);
    let (host, interval, time) = (cells.next()?, cells.next()?, cells.next()?);
    interval.parse::<i64>().ok()?;
    // Tables of other files are numbers only: `/proc/sys/fs/dentry-state`.
    let named = host.contains(|c: char| c.is_ascii_alphabetic());
    named.then(|| (host, time, cells.collect()))
}

/// `2026-11-23 18:25:05 UTC`, without the zone where it is local, or seconds since 1970.
fn stamp(text: &str, out: &mut Builder) -> Option<Stamp> {
    if let Some(at) = text.parse().ok().map(Stamp).filter(|at| at.has_date()) {
        out.clock(Clock::Utc);
        return Some(at);
    }
    let local = match text.strip_suffix(" UTC") {
        Some(utc) => {
            out.clock(Clock::Utc);
            utc
        }
        None => text,
    };
    moment(local, false)
}

/// Begins at a header, or at a value of `sadf -p`.
pub(in crate::recording::readers) fn begins(
    lines: &Lines<'_>,
    out: &mut Builder,
) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let host = match header(line) {
        Some(_) => row(lines.ahead(1), ';').map(|(host, ..)| host.to_owned()),
        None => Some(pretty(line)?.0.to_owned()),
    };
    if let Some(host) = host {
        out.host(&host);
    }
    Some(lines.begin(
        SourceKind::SadfText,
        PastBlanks(Csv { tables: Vec::new(), current: None }),
        out,
    ))
}

struct Csv {
    /// Headers as written, with their layouts; `None` for one that is passed over.
    tables: Vec<(String, Option<Box<Layout>>)>,
    current: Option<usize>,
}

impl Csv {
    fn begin_table(&mut self, line: &str, columns: &[&str], out: &mut Builder) {
        let known = self.tables.iter().position(|(text, _)| text == line);
        self.current = Some(known.unwrap_or_else(|| {
            if self.tables.len() >= TABLES_MAX {
                self.tables.clear();
            }
            let layout = match table::header(columns) {
                Some(Header::Table(layout)) => Some(layout),
                Some(Header::Passed(_)) => None,
                None => {
                    let text: String = columns.join(" ").chars().take(60).collect();
                    let what = "a table with columns that are not known";
                    out.problem(format!("{what}: {text}; it is left out"));
                    None
                }
            };
            self.tables.push((line.to_owned(), layout));
            self.tables.len() - 1
        }));
    }

    fn put(&mut self, time: &str, mut cells: Vec<&str>, out: &mut Builder) {
        let at = stamp(time, out);
        if cells.first().is_some_and(|first| first.starts_with("LINUX-RESTART")) {
            return out.restart(at);
        }
        let table = self.current.and_then(|at| self.tables.get_mut(at));
        let Some((_, Some(layout))) = table else { return };
        if let Some(all) = cells.first_mut().filter(|first| **first == "-1") {
            *all = "all";
        }
        match layout.put(&cells, at, out) {
            Ok(()) => {}
            Err(Wrong::Truncated) => {
                out.problem("truncated: a row with fewer columns than its header; it is left out");
            }
            Err(Wrong::Other(why)) => out.problem(format!("a row has {why}; it is left out")),
        }
    }
}

/// A line of `sadf -p`: machine, time, subject, column and value.
fn pretty(line: &str) -> Option<(&str, &str, &str, &str, f64)> {
    let (host, time, rest) = row(line, '\t')?;
    let [subject, column, value] = rest.as_slice() else { return None };
    let value: f64 = value.parse().ok()?;
    Some((host, time, subject, column, value))
}

/// Puts the value of a column that is known.
fn put_pretty(line: (&str, &str, &str, &str, f64), out: &mut Builder) {
    let (_, time, subject, name, value) = line;
    let at = stamp(time, out);
    // Disks and the machine both have `tps`.
    let of_machine = subject == "-";
    let tables = TABLES.iter().filter(|table| table.kind != Kind::Process);
    let tables = tables.filter(|table| (table.kind == Kind::Machine) == of_machine);
    let columns = tables.flat_map(|table| {
        table
            .columns
            .iter()
            .filter(|column| column.parts[0].0 == name)
            .map(|column| (table.kind, column))
    });
    for (kind, column) in columns.take(1) {
        let about = match (kind, subject) {
            (Kind::Machine, _) | (Kind::Cpu, "all") => Some(Subject::Machine),
            (Kind::Cpu, cpu) => {
                cpu.strip_prefix("cpu").and_then(|n| n.parse().ok()).map(Subject::Cpu)
            }
            (Kind::Disk, name) => Some(Subject::Disk(name.to_owned())),
            (Kind::Interface, name) => Some(Subject::Interface(name.to_owned())),
            _ => None,
        };
        let value = value * column.factor;
        if let Some(about) = about.filter(|_| is_sane(column.field, value)) {
            out.put(column.field, &about, at, value);
        }
    }
}

impl Reader for Csv {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some(columns) = header(line) {
            self.begin_table(line, &columns, out);
            return Taken::Yes;
        }
        if let Some(value) = pretty(line) {
            put_pretty(value, out);
            return Taken::Yes;
        }
        match row(line, ';').filter(|_| self.current.is_some()) {
            Some((_, time, cells)) => {
                self.put(time, cells, out);
                Taken::Yes
            }
            None => Taken::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::recording::readers::check::{all_understood, machine, read, values};
    use crate::recording::{Clock, Field, Subject};

    #[test]
    fn sadf_d_has_the_columns_of_sar() {
        let recording = read(
            "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n\
             vm;1;2026-11-23 18:25:05 UTC;-1;60.00;0.00;10.00;5.00;0.00;25.00\n\
             vm;1;2026-11-23 18:25:05 UTC;1;50.00;0.00;10.00;5.00;0.00;35.00\n\
             # hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util\n\
             vm;1;2026-11-23 18:25:05 UTC;vda;53.00;292.00;0.00;44.00;6.34;0.02;0.30;0.80\n\
             vm;-1;2026-11-23 18:25:06 UTC;LINUX-RESTART\t(2 CPU)\n",
        );
        all_understood(&recording);
        assert_eq!(recording.hosts[0].name.as_deref(), Some("vm"));
        assert_eq!(recording.sources[0].clock, Clock::Utc);
        assert_eq!(machine(&recording, Field::CpuUser), [60.0]);
        assert_eq!(values(&recording, Field::CpuUser, &Subject::Cpu(1)), [50.0]);
        let disk = Subject::Disk("vda".to_owned());
        assert_eq!(values(&recording, Field::DiskBusy, &disk), [0.8]);
        assert_eq!(recording.hosts[0].restarts.len(), 1);
    }

    #[test]
    fn sadf_p_has_one_value_a_line() {
        let recording = read(
            "vm\t1\t2026-11-23 18:25:05 UTC\tall\t%iowait\t5.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\tcpu1\t%iowait\t7.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\tvda\trkB/s\t2.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\t-\tkbmemfree\t10\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::CpuIowait), [5.0]);
        assert_eq!(values(&recording, Field::CpuIowait, &Subject::Cpu(1)), [7.0]);
        let disk = Subject::Disk("vda".to_owned());
        assert_eq!(values(&recording, Field::DiskReadBytes, &disk), [2048.0]);
        assert_eq!(machine(&recording, Field::MemFree), [10_240.0]);
    }
}
