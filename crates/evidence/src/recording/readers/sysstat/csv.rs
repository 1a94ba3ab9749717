//! `sadf -d` and `sadf -p`: the columns of `sar`, behind semicolons, or one value a line.

use std::mem::take;

use super::iostat::moment;
use super::table::{self, Header, Layout};
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

/// `2026-11-23 18:25:05 UTC`, another zone or none where it is local, or seconds since 1970.
fn stamp(text: &str, out: &mut Builder) -> Option<Stamp> {
    if let Some(at) = text.parse().ok().map(Stamp).filter(|at| at.has_date()) {
        out.clock(Clock::Utc);
        return Some(at);
    }
    let zoned = text.rsplit_once(' ');
    match zoned.filter(|(_, zone)| zone.bytes().all(|byte| byte.is_ascii_uppercase())) {
        Some((utc, "UTC")) => {
            out.clock(Clock::Utc);
            moment(utc, false)
        }
        Some((local, _)) => moment(local, false),
        None => moment(text, false),
    }
}

fn is_restart(cells: &[&str]) -> bool {
    cells.first().is_some_and(|first| first.starts_with("LINUX-RESTART"))
}

/// Begins at a header, at a value of `sadf -p`, or at a restart.
pub(in crate::recording::readers) fn begins(
    lines: &Lines<'_>,
    out: &mut Builder,
) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let value = |cells: &[&str]| {
        is_restart(cells) || cells.len() == VALUE_CELLS && cells[2].parse::<f64>().is_ok()
    };
    let host = match header(line) {
        Some(_) => row(lines.ahead(1), ';').map(|(host, ..)| host),
        None => {
            let tabs = row(line, '\t').filter(|(.., cells)| value(cells));
            let found = tabs.or_else(|| row(line, ';').filter(|(.., cells)| is_restart(cells)));
            Some(found?.0)
        }
    };
    if let Some(host) = host {
        out.host(host);
    }
    let reader = Csv { tables: Vec::new(), current: None, group: Group::default() };
    Some(lines.begin(SourceKind::SadfText, PastBlanks(reader), out))
}

/// What a line of `sadf -p` has behind the time: subject, column and value.
const VALUE_CELLS: usize = 3;

/// Most columns of a subject: those of the machine in `sadf -p -- -A` are 200.
const COLUMNS_MAX: usize = 1024;

/// Values of `sadf -p` about one subject at one time: together a row of `sar`.
#[derive(Default)]
struct Group {
    time: String,
    subject: String,
    names: Vec<String>,
    cells: Vec<String>,
}

impl Group {
    fn push(&mut self, time: &str, value: [&str; VALUE_CELLS], out: &mut Builder) {
        let [subject, name, cell] = value;
        let another = self.time != time || self.subject != subject;
        if another || self.names.len() >= COLUMNS_MAX || self.names.iter().any(|n| n == name) {
            self.put(out);
            (self.time, self.subject) = (time.to_owned(), subject.to_owned());
        }
        self.names.push(name.to_owned());
        self.cells.push(cell.to_owned());
    }

    /// Puts what was gathered. Of two columns with the same field the first one counts.
    fn put(&mut self, out: &mut Builder) {
        let (names, values) = (take(&mut self.names), take(&mut self.cells));
        if names.is_empty() {
            return;
        }
        let at = stamp(&self.time, out);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let subject = self.subject.strip_prefix("cpu").unwrap_or(&self.subject);
        let mut cells: Vec<&str> = values.iter().map(String::as_str).collect();
        if subject != "-" {
            cells.insert(0, subject);
        }
        let mut done: Vec<Field> = Vec::new();
        for mut layout in table::columns_of(subject, &names) {
            let before = done.clone();
            let row = layout.row(&cells, |field, about, value| {
                if !before.contains(&field) {
                    done.push(field);
                    out.put(field, about, at, value);
                }
            });
            if let Err(wrong) = row {
                out.problem(wrong.text());
            }
        }
    }
}

struct Csv {
    /// Headers as written, with their layouts; `None` for one that is passed over.
    tables: Vec<(String, Option<Box<Layout>>)>,
    current: Option<usize>,
    group: Group,
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
        if is_restart(&cells) {
            return out.restart(at);
        }
        if cells.first().is_some_and(|first| first.starts_with("COM ")) {
            return;
        }
        let table = self.current.and_then(|at| self.tables.get_mut(at));
        let Some((_, Some(layout))) = table else { return };
        if let Some(all) = cells.first_mut().filter(|first| **first == "-1") {
            *all = "all";
        }
        if let Err(wrong) = layout.put(&cells, at, out) {
            out.problem(wrong.text());
        }
    }
}

impl Reader for Csv {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some(columns) = header(line) {
            self.begin_table(line, &columns, out);
            return Taken::Yes;
        }
        if let Some((_, time, cells)) = row(line, '\t') {
            match cells.as_slice() {
                [subject, name, cell] => self.group.push(time, [subject, name, cell], out),
                // A comment, or what two tabs part.
                _ if !is_restart(&cells) => {}
                _ => {
                    self.group.put(out);
                    let at = stamp(time, out);
                    out.restart(at);
                }
            }
            return Taken::Yes;
        }
        let Some((_, time, cells)) = row(line, ';') else { return Taken::No };
        if self.current.is_none() && !is_restart(&cells) {
            return Taken::No;
        }
        self.put(time, cells, out);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.group.put(out);
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
            "vm\t-1\t2026-11-23 18:20:00 UTC\tLINUX-RESTART\t(2 CPU)\n\
             vm\t1\t2026-11-23 18:25:05 UTC\tall\t%iowait\t5.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\tall\t%idle\t90.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\tcpu1\t%iowait\t7.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\tcpu1\t%idle\t80.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\tsum\tcpu1\t33.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\tvda\trkB/s\t2.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\t-\tkbmemfree\t10\n\
             vm\t1\t2026-11-23 18:25:05 UTC\t-\tkbmemused\t30\n\
             vm\t1\t2026-11-23 18:25:05 UTC\t-\t%memused\t75.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\t-\t%smem-10\t60.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\t-\t%smem\t4.00\n\
             vm\t1\t2026-11-23 18:25:05 UTC\tBAT0\tstatus\tFull\n",
        );
        all_understood(&recording);
        assert_eq!(recording.hosts[0].restarts.len(), 1);
        assert_eq!(machine(&recording, Field::CpuIowait), [5.0]);
        assert_eq!(values(&recording, Field::CpuIowait, &Subject::Cpu(1)), [7.0]);
        assert_eq!(values(&recording, Field::Interrupts, &Subject::Cpu(1)), [33.0]);
        let disk = Subject::Disk("vda".to_owned());
        assert_eq!(values(&recording, Field::DiskReadBytes, &disk), [2048.0]);
        assert_eq!(machine(&recording, Field::MemFree), [10_240.0]);
        assert_eq!(machine(&recording, Field::MemTotal), [40_960.0]);
        // Of the interval, not the moving average.
        assert_eq!(machine(&recording, Field::PsiMemorySome), [4.0]);
    }

    #[test]
    fn sadf_d_begins_at_a_restart_and_has_zones_and_comments() {
        let recording = read(
            "vm;-1;2026-11-23 19:20:00 CET;LINUX-RESTART\t(2 CPU)\n\
             # hostname;interval;timestamp;FILESYSTEM;MBfsfree;MBfsused;%fsused;%ufsused\n\
             vm;1;2026-11-23 19:25:05 CET;/dev/vda1;10;90;90.00;95.00\n\
             vm;-1;2026-11-23 19:25:06 CET;COM before the change\n\
             # hostname;interval;timestamp;INTR;CPU*\n\
             vm;1;2026-11-23 19:25:05 CET;sum;9.00;4.00;5.00\n",
        );
        all_understood(&recording);
        let filesystem = Subject::Filesystem("/dev/vda1".to_owned());
        assert_eq!(values(&recording, Field::FsUsed, &filesystem), [95.0]);
        assert_eq!(recording.hosts[0].restarts.len(), 1);
    }
}
