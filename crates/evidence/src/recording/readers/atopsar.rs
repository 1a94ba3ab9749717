//! `atopsar`: reports of atop that look like those of `sar`, each row group with the time once, and
//! the report's name at the end of its headings.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::prelude::*;
use super::sysstat::{factor, is_elision, is_sane, of_key};
use crate::table::table;

/// A column's heading, what it is, and what its values are to be multiplied with.
type Column = (&'static str, Field, f64);

/// Reports by the name at the end of their headings, with the columns that have a field.
static REPORTS: LazyLock<BTreeMap<&str, Vec<Column>>> = LazyLock::new(|| {
    let mut reports: BTreeMap<&str, Vec<Column>> = BTreeMap::new();
    for row in table!("atopsar.tsv").rows() {
        let [heading, field, unit] = row.fields();
        let column = (heading, of_key(&row, field), factor(&row, unit));
        reports.entry(row.section).or_default().push(column);
    }
    reports
});

/// What the headings of the busiest processes end with.
const BUSIEST: &str = "_top3_";

#[derive(Debug, Default)]
struct Atopsar {
    midnight: Option<Stamp>,
    at: Option<Stamp>,
    kind: ReportKind,
}

/// What the rows below a line of headings are.
#[derive(Debug, Default)]
enum ReportKind {
    /// A report of which nothing is used.
    #[default]
    Other,
    /// The busiest processes, by CPU where the headings say so.
    Busiest { by_cpu: bool },
    /// Places of columns among the words of a row, whether rows name somebody, and which report.
    Table { columns: Vec<(usize, Field, f64)>, named: bool, report: &'static str },
}

/// A heading's words without the report's name, which may stick to the last one.
fn report(line: &str) -> Option<(Vec<&str>, &'static str)> {
    let line = line.trim_end();
    let found = REPORTS.keys().copied().chain([BUSIEST]);
    let name = found.into_iter().find(|name| line.ends_with(name))?;
    let head = if name.starts_with('_') { line.strip_suffix(name)? } else { line };
    Some((words(head), name))
}

fn is_banner(line: &str) -> Option<(&str, &str)> {
    let words = words(line);
    let [host, release, version, .., day] = words.as_slice() else { return None };
    let ours = release.starts_with(|c: char| c.is_ascii_digit()) && version.starts_with('#');
    date(day).filter(|_| ours).map(|_| (*host, *release))
}

/// `---- analysis date: 2026/11/24 ----`.
fn day(line: &str) -> Option<Stamp> {
    let (before, rest) = line.split_once("analysis date:")?;
    let dashes = before.trim_start().starts_with("---");
    date(rest.split_whitespace().next()?).filter(|_| dashes)
}

/// Finds the banner, the line with the date, or a line of headings.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let soon = |wanted: fn(&str) -> bool| (1..=4).any(|by| wanted(lines.ahead(by)));
    let banner = is_banner(line).filter(|_| soon(|line| day(line).is_some()));
    let headings = line.trim_start().starts_with(|c: char| c.is_ascii_digit())
        && report(line).is_some_and(|(words, _)| words.first().is_some_and(is_time));
    if banner.is_none() && day(line).is_none() && !headings {
        return None;
    }
    if let Some((host, _)) = banner {
        out.host(host);
    }
    out.begin(SourceKind::Atopsar, lines.number());
    if let Some((_, release)) = banner {
        out.setting("kernel", release);
    }
    Some(Box::new(Atopsar::default()))
}

fn is_time(word: &&str) -> bool {
    time_of_day(word).is_some()
}

impl Atopsar {
    fn headings(&mut self, words: &[&str], report: &'static str) {
        if report == BUSIEST {
            self.kind = ReportKind::Busiest { by_cpu: words.contains(&"cpu%") };
            return;
        }
        let known = REPORTS.get(report).map_or(&[][..], Vec::as_slice);
        let place = |word: &str| known.iter().find(|(name, ..)| *name == word);
        // Without the time, which not every row has.
        let columns = words.iter().skip(1).enumerate();
        let columns = columns.filter_map(|(at, word)| place(word).map(|c| (at, c.1, c.2)));
        let named = matches!(report, "_cpu_" | "_dsk_" | "_if_");
        self.kind = ReportKind::Table { columns: columns.collect(), named, report };
    }

    /// The time of a row, on the next day where it went back.
    fn time(&mut self, word: &str) -> Option<()> {
        let time = time_of_day(word)?;
        let mut at = self.midnight.map_or(time, |day| joined(day, time));
        while self.at.is_some_and(|before| at < before && before.has_date()) {
            at = at.days_later(1);
        }
        self.at = Some(at);
        Some(())
    }

    fn table(&self, row: &[&str], out: &mut Builder) -> Taken {
        let ReportKind::Table { columns, named, report } = &self.kind else { return Taken::Yes };
        let subject = match (*named, *report, row.first()) {
            (true, _, None) => return Taken::Yes,
            (true, "_cpu_", Some(&"all")) | (false, ..) => Subject::Machine,
            (true, "_cpu_", Some(number)) => match number.parse() {
                Ok(number) => Subject::Cpu(number),
                Err(_) => return Taken::No,
            },
            (true, "_dsk_", Some(name)) => Subject::Disk((*name).to_owned()),
            (true, _, Some(name)) => Subject::Interface((*name).to_owned()),
        };
        let value = |at: usize| row.get(at).and_then(|word| read(word));
        // All CPUs together have 100 % each.
        let whole: f64 = match (*report, &subject) {
            ("_cpu_", Subject::Machine) => {
                columns.iter().filter_map(|(at, ..)| value(*at)).sum::<f64>() / 100.0
            }
            _ => 1.0,
        };
        for (at, field, factor) in columns {
            let Some(value) = value(*at).filter(|_| whole > 0.0) else { continue };
            // The size of no request at all is unknown.
            let size = matches!(field, Field::DiskReadRequestBytes | Field::DiskWriteRequestBytes);
            let value = value * factor / whole;
            if is_sane(*field, value) && !(size && value == 0.0) {
                out.put(*field, &subject, self.at, value);
            }
        }
        Taken::Yes
    }

    /// `13232 dd       100% | 13423 atop       1% |`.
    fn busiest(&self, line: &str, out: &mut Builder) -> Taken {
        if !matches!(self.kind, ReportKind::Busiest { by_cpu: true }) {
            return Taken::Yes;
        }
        for cell in line.split('|') {
            let words = words(cell);
            let [pid, .., share] = words.as_slice() else { continue };
            let name = words[1..words.len() - 1].join(" ");
            if let (Ok(pid), Some(share)) = (pid.parse(), read(share)) {
                let process = Subject::process(Some(pid), &name);
                out.put(Field::ProcCpu, &process, self.at, share);
            }
        }
        Taken::Yes
    }
}

/// A value: `102`, `76%`, `24105M`, with a mark of overload (`-M`); `?` is none.
fn read(word: &str) -> Option<f64> {
    let word = word.trim_end_matches(['*', '+']);
    let word = word.strip_suffix('%').unwrap_or(word);
    let (value, unit) = number_and_unit(word)?;
    binary_factor(unit).map(|factor| value * factor)
}

impl Reader for Atopsar {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() || is_elision(line) || is_banner(line).is_some() {
            return Taken::Yes;
        }
        if let Some(day) = day(line) {
            (self.midnight, self.at) = (Some(day), None);
            return Taken::Yes;
        }
        if let Some((words, report)) = report(line).filter(|(words, _)| is_time(&words[0])) {
            self.at = None;
            self.headings(&words, report);
            return Taken::Yes;
        }
        let words = words(line);
        let Some(first) = words.first() else { return Taken::Yes };
        let timed = self.time(first).is_some();
        // A report of another kind: its headings are words behind a time.
        let values = words.iter().skip(1).filter(|word| read(word).is_some()).count();
        if timed && values == 0 && words.len() > 3 {
            self.kind = ReportKind::Other;
            self.at = None;
            return Taken::Yes;
        }
        if !timed && !line.starts_with(' ') {
            return Taken::No;
        }
        let row = if timed { &words[1..] } else { &words[..] };
        match self.kind {
            ReportKind::Other => Taken::Yes,
            ReportKind::Busiest { .. } => {
                let rest = line.trim_start();
                self.busiest(if timed { &rest[first.len()..] } else { rest }, out)
            }
            ReportKind::Table { .. } => self.table(row, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read, values};
    use super::*;

    /// atop 2.8.1 on Linux 6.18, of two CPUs.
    const TEXT: &str = "
vm  6.18.44-fc-v669  #1 SMP PREEMPT_DYNAMIC @0  x86_64  2026/11/24

-------------------------- analysis date: 2026/11/24 --------------------------

23:59:59  cpu  %usr %nice %sys %irq %softirq  %steal %guest  %wait %idle  _cpu_
00:00:00  all     2     0   36    0        2       0      0     48   112
            0     0     0    0    0        0       0      0      0   100
            1     2     0   40    0        4       0      0     54     0

23:59:59  memtotal memfree buffers cached dirty slabmem  swptotal swpfree _mem_
00:00:00    24105M  18992M     24M  4691M  716M    288M        0M      0M

23:59:59  disk           busy read/s KB/read  writ/s KB/writ avque avserv _dsk_
00:00:00  vda             76%    0.0     0.0 17324.7     4.0   1.0   0.04358 ms

23:59:59  interf busy ipack/s opack/s iKbyte/s oKbyte/s imbps ombps maxmbps_if_
00:00:00  lo        ?     0.0     0.0        0        0     0     0       0
          eth0      ?    12.0     0.0      100        0     0     0       0

23:59:59  intot/s outtot/s  inecho/s inerep/s  otecho/s oterep/s       _icmpv4_
00:00:00      0.0      0.0      0.00     0.00      0.00     0.00

23:59:59    pid command  cpu% |   pid command  cpu% |   pid command  cpu%_top3_
00:00:00  13232 dd       100% | 13423 a b        1% |
";

    #[test]
    fn reports_are_read_with_their_date() {
        let recording = read(TEXT);
        all_understood(&recording);
        let idle = machine(&recording, Field::CpuIdle);
        assert_eq!(idle, [56.0]);
        assert_eq!(values(&recording, Field::CpuSystem, &Subject::Cpu(1)), [40.0]);
        assert_eq!(machine(&recording, Field::MemFree), [18992.0 * 1_048_576.0]);
        let disk = Subject::Disk("vda".to_owned());
        assert_eq!(values(&recording, Field::DiskBusy, &disk), [76.0]);
        assert_eq!(values(&recording, Field::DiskWriteRequestBytes, &disk), [4096.0]);
        assert_eq!(values(&recording, Field::DiskReadRequestBytes, &disk), [0.0; 0]);
        let card = Subject::Interface("eth0".to_owned());
        assert_eq!(values(&recording, Field::NetRxBytes, &card), [102_400.0]);
        let program = Subject::process(Some(13423), "a b");
        assert_eq!(values(&recording, Field::ProcCpu, &program), [1.0]);
        let host = &recording.hosts[0];
        let at = host.series(Field::CpuIdle, &Subject::Machine).expect("a series").points[0].at;
        assert_eq!(at.map(|at| at.to_string()), Some("2026-11-24 00:00:00".to_owned()));
        assert_eq!(host.name.as_deref(), Some("vm"));
    }

    #[test]
    fn without_its_head_it_is_known_by_the_report_s_name() {
        let text: String = TEXT.lines().skip(5).take(3).map(|line| format!("{line}\n")).collect();
        let recording = read(&text);
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::CpuIowait), [24.0]);
    }
}
