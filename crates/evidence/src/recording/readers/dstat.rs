//! `dstat`: groups of columns side by side, with bars between them, or with commas (`--output`).
//! Its rows look the same in `pcp dstat` and in Dool.

use super::prelude::*;
use super::sysstat::{is_elision, is_sane, of_key};
use super::words::time_of_day;
use crate::recording::Span;
use crate::recording::words::LISTING_COLUMNS;
use crate::table::Row;
use std::sync::LazyLock;

/// Prefixes count in steps of 1024 for bytes and of 1000 for the rest (dstat 0.8.0, `cprint`).
const BYTES: f64 = 1024.0;
const COUNTS: f64 = 1000.0;

/// Columns with a field: what their group's heading holds, their name, the step of prefixes.
///
/// `usr` is with interrupts where no column shows those (dstat 0.8.0, `dstat_cpu.extract`).
static COLUMNS: LazyLock<Vec<(&str, &str, Field, f64)>> = LazyLock::new(|| {
    let column = |row: &Row| {
        let [group, name, field, counted] = row.fields();
        let step = match counted {
            "bytes" => BYTES,
            "counts" => COUNTS,
            _ => row.refuse("prefixes count as bytes or as counts"),
        };
        (group, name, of_key(row, field), step)
    };
    LISTING_COLUMNS.iter().filter(|row| row.section == "dstat").map(column).collect()
});

/// A column that means something.
struct Column {
    /// Which of the groups, and which of its words.
    group: usize,
    at: usize,
    field: Field,
    step: f64,
    subject: Subject,
}

#[derive(Default)]
struct Dstat {
    headings: Vec<String>,
    columns: Vec<Column>,
    /// How many words each group has.
    widths: Vec<usize>,
    time: Option<usize>,
    rows: usize,
    /// Means since the machine started, unless no row follows.
    waiting: Vec<(usize, f64)>,
}

/// The groups' names, where this is the line of them: `--total-cpu-usage-- -dsk/total-`.
fn headings(line: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let dashed = |word: &&str| word.starts_with('-') && word.ends_with('-') && word.len() > 2;
    let ours = !words.is_empty() && words.iter().all(dashed);
    // Several of a kind stand together: `-dsk/sda----dsk/sdb-`.
    let names = words.iter().flat_map(|word| word.split("--"));
    let names: Vec<String> = names
        .map(|name| name.trim_matches('-').to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    let known = |name: &String| COLUMNS.iter().any(|(of, ..)| is_of(name, of));
    (ours && names.iter().any(known)).then_some(names)
}

/// What stands between the bars.
fn groups(line: &str) -> Vec<Vec<&str>> {
    line.split(['|', ':']).map(|part| part.split_whitespace().collect()).collect()
}

/// Whether the line names columns of which some are known.
fn is_columns(line: &str) -> bool {
    let known = |word: &&str| COLUMNS.iter().any(|(_, name, ..)| name == word);
    groups(line).iter().flatten().filter(|word| known(word)).count() >= 2
        && !line.contains(|c: char| c.is_ascii_digit() && !"15".contains(c))
}

/// Most lines between the first one of a file with commas and its columns.
const HEAD_LINES_MAX: usize = 16;

/// The cells of a line with commas; some are quoted, and no value has a comma in it.
fn cells(line: &str) -> Vec<&str> {
    line.trim()
        .trim_end_matches('\r')
        .split(',')
        .map(|cell| cell.trim().trim_matches('"'))
        .collect()
}

/// The groups of a line with commas: where each begins, and its name. The other cells are empty.
fn csv_groups(line: &str) -> Option<Vec<(usize, &str)>> {
    let cells = cells(line);
    let named = cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
    let named: Vec<(usize, &str)> = named.map(|(at, cell)| (at, *cell)).collect();
    let known = |name: &&str| COLUMNS.iter().any(|(of, ..)| is_of(name, of));
    let groups = line.starts_with('"') && named.iter().filter(|(_, name)| known(name)).count() > 1;
    (groups && named.first().is_some_and(|(at, _)| *at == 0)).then_some(named)
}

/// What a file with commas begins with: its version, author, machine and command.
fn is_csv_head(line: &str) -> bool {
    let first = cells(line).first().copied().unwrap_or("");
    let version = first.to_ascii_lowercase().ends_with("csv output");
    version || ["Author:", "URL:", "Host:", "User:", "Cmdline:", "Date:"].contains(&first)
}

/// A line with commas as it is with bars.
fn with_bars(line: &str, groups: &[(usize, String)]) -> String {
    let begins = |at: usize| at > 0 && groups.iter().any(|(begin, _)| *begin == at);
    let mut all = String::new();
    for (at, cell) in cells(line).into_iter().enumerate() {
        all.push(if begins(at) { '|' } else { ' ' });
        all.push_str(cell);
    }
    all
}

/// Begins a file with commas.
fn begins_csv(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let head = (0..HEAD_LINES_MAX).find(|by| csv_groups(lines.ahead(*by)).is_some())?;
    let quoted = |by: usize| lines.ahead(by).trim().is_empty() || is_csv_head(lines.ahead(by));
    let columns = is_columns(&with_bars(lines.ahead(head + 1), &[]));
    if !columns || !(0..head).all(quoted) {
        return None;
    }
    for by in 0..head {
        let cells = cells(lines.ahead(by));
        if let Some(at) = cells.iter().position(|cell| *cell == "Host:") {
            out.host(cells.get(at + 1).copied().unwrap_or(""));
        }
    }
    Some(lines.begin(SourceKind::Dstat, Csv { groups: Vec::new(), rows: Dstat::default() }, out))
}

/// A file with commas: its rows, read as those with bars.
struct Csv {
    groups: Vec<(usize, String)>,
    rows: Dstat,
}

impl Reader for Csv {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() || is_csv_head(line) {
            return Taken::Yes;
        }
        if let Some(groups) = csv_groups(line) {
            self.groups = groups.into_iter().map(|(at, name)| (at, name.to_owned())).collect();
            self.rows.headings =
                self.groups.iter().map(|(_, name)| name.replace(' ', "-")).collect();
            return Taken::Yes;
        }
        self.rows.take(&with_bars(line, &self.groups), out)
    }

    fn end(&mut self, out: &mut Builder) {
        self.rows.end(out);
    }
}

/// Whether a heading is of the group that holds this. Dool calls the CPUs' `total usage`.
fn is_of(heading: &str, group: &str) -> bool {
    let plain = heading.starts_with("total") && heading.ends_with("usage");
    heading.contains(group) || group == "cpu" && plain
}

pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    if lines.ahead(0).trim_start().starts_with('"') {
        return begins_csv(lines, out);
    }
    let names = headings(lines.ahead(0))?;
    let columns = lines.ahead(1);
    // Those of `vmstat -w` have no bars.
    if !is_columns(columns) || groups(columns).len() != names.len() {
        return None;
    }
    Some(lines.begin(SourceKind::Dstat, Dstat::default(), out))
}

/// A number with its prefix: `247`, `2790k`, `18.0G`, `4096B`. `None`: it is none.
fn value(word: &str, step: f64) -> Option<f64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match &word[digits.len()..] {
        "" | "B" => 0,
        "k" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    let plain = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number: f64 = digits.parse().ok().filter(|_| plain)?;
    Some(number * step.powi(power))
}

/// What a group is about.
fn subject(heading: &str) -> Subject {
    match heading.split_once('/') {
        Some((_, "total")) => Subject::Machine,
        Some(("net", name)) => Subject::Interface(name.to_owned()),
        Some((_, name)) => Subject::Disk(name.to_owned()),
        None => {
            let number = heading.strip_prefix("cpu").and_then(|rest| rest.split('-').next());
            number.and_then(|number| number.parse().ok()).map_or(Subject::Machine, Subject::Cpu)
        }
    }
}

impl Dstat {
    fn set_columns(&mut self, line: &str) {
        self.columns.clear();
        self.time = None;
        let groups = groups(line);
        self.widths = groups.iter().map(Vec::len).collect();
        for (group, words) in groups.iter().enumerate() {
            let Some(heading) = self.headings.get(group) else { break };
            if words.first() == Some(&"time") {
                self.time = Some(group);
            }
            for (at, word) in words.iter().enumerate() {
                let known =
                    |(of, name, ..): &&(&str, &str, Field, f64)| is_of(heading, of) && name == word;
                if let Some((_, _, field, step)) = COLUMNS.iter().find(known) {
                    let (field, step, subject) = (*field, *step, subject(heading));
                    self.columns.push(Column { group, at, field, step, subject });
                }
            }
        }
    }

    /// The groups of a row. A time has colons, which also stand between groups of a kind.
    fn cells<'a>(&self, line: &'a str) -> Option<(Option<Stamp>, Vec<Vec<&'a str>>)> {
        let bars: Vec<&str> = line.split('|').collect();
        let mut cells = Vec::new();
        let mut at = None;
        for bar in bars {
            if self.time == Some(cells.len()) {
                at = bar.split_whitespace().last().and_then(time_of_day);
                cells.push(bar.split_whitespace().collect());
                continue;
            }
            cells.extend(bar.split(':').map(|part| part.split_whitespace().collect::<Vec<_>>()));
        }
        (cells.len() == self.widths.len()).then_some((at, cells))
    }

    fn row(&mut self, line: &str, out: &mut Builder) -> Taken {
        let Some((at, cells)) = self.cells(line).filter(|_| !self.columns.is_empty()) else {
            return Taken::No;
        };
        let read = |column: &Column| value(cells.get(column.group)?.get(column.at)?, column.step);
        let values: Vec<Option<f64>> = self.columns.iter().map(read).collect();
        if values.iter().all(Option::is_none) {
            return Taken::No;
        }
        let first = self.rows == 0;
        self.rows += 1;
        self.waiting.clear();
        for (index, (column, value)) in self.columns.iter().zip(values).enumerate() {
            // A dash: nothing was measured.
            let Some(value) = value else { continue };
            if !is_sane(column.field, value) {
                out.problem(format!("{value} as {}, which cannot be", column.field.about().key));
            } else if first && column.field.about().span == Span::Average {
                self.waiting.push((index, value));
            } else {
                out.put(column.field, &column.subject, at, value);
            }
        }
        Taken::Yes
    }
}

impl Reader for Dstat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() || is_elision(line) {
            return Taken::Yes;
        }
        if let Some(names) = headings(line) {
            self.headings = names;
            return Taken::Yes;
        }
        if is_columns(line) {
            self.set_columns(line);
            return Taken::Yes;
        }
        self.row(line, out)
    }

    fn end(&mut self, out: &mut Builder) {
        for (index, value) in std::mem::take(&mut self.waiting) {
            if let Some(column) = self.columns.get(index) {
                out.put(column.field, &column.subject, None, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read, values};
    use super::*;

    /// dstat 0.8.0 on Linux 6.18, with a writer.
    const TEXT: &str = "\
----system---- --total-cpu-usage-- ------memory-usage----- ---system-- --io/total- -dsk/total-
     time     |usr sys idl wai stl| used  free  buff  cach| int   csw | read  writ| read  writ
24-11 04:27:36| 17   3  79   1   0| 144M 18.0G 22.4M 5257M| 247   169 |31.5  4.61 |1430k 2789k
24-11 04:27:37|  0  50  50   0   0| 147M 17.6G 22.4M 5675M| 316    77 |   0     0 |   0     0 
24-11 04:27:38|  0  51  48   0   0| 145M 17.2G 22.4M 6080M| 359   136 |1.00   103 |4096B  189M
";

    #[test]
    fn columns_of_all_groups_are_read() {
        let recording = read(TEXT);
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::CpuSystem), [50.0, 51.0]);
        assert_eq!(machine(&recording, Field::PageOut), [0.0, 189.0 * 1024.0 * 1024.0]);
        assert_eq!(machine(&recording, Field::PageIn), [0.0, 4096.0]);
        assert_eq!(machine(&recording, Field::DiskWrites), [0.0, 103.0]);
        assert_eq!(machine(&recording, Field::ContextSwitches), [77.0, 136.0]);
        let free = 18.0 * 1024.0 * 1024.0 * 1024.0;
        assert_eq!(machine(&recording, Field::MemFree)[0], free);
        // What is no rate is true from the first row on.
        assert_eq!(machine(&recording, Field::MemFree).len(), 3);
    }

    #[test]
    fn each_disk_interface_and_cpu_is_its_own() {
        let text = "\
-------cpu0-usage--------------cpu1-usage------ --dsk/sda-----dsk/sdb-- --net/eth0- ---load-avg---
usr sys idl wai hiq siq:usr sys idl wai hiq siq| read  writ: read  writ| recv  send| 1m   5m  15m 
  6   2  91   1   0   0:  5   3  90   2   0   0|  12k  209k:   0    51k|   0     0 |0.59 0.44 0.15
  1   9  40  50   0   0:  0   0 100   0   0   0|   0    10M:   0     0 | 120M  1.2M|0.59 0.44 0.15
";
        let recording = read(text);
        all_understood(&recording);
        assert_eq!(values(&recording, Field::CpuSystem, &Subject::Cpu(0)), [9.0]);
        assert_eq!(values(&recording, Field::CpuIdle, &Subject::Cpu(1)), [100.0]);
        let disk = Subject::Disk("sda".to_owned());
        assert_eq!(values(&recording, Field::DiskWriteBytes, &disk), [10.0 * 1024.0 * 1024.0]);
        let card = Subject::Interface("eth0".to_owned());
        assert_eq!(values(&recording, Field::NetRxBytes, &card), [120.0 * 1024.0 * 1024.0]);
        assert_eq!(machine(&recording, Field::Load15), [0.15, 0.15]);
    }

    #[test]
    fn files_with_commas_of_each_version() {
        let rows = "7.5,61.0,30.5,1.0,0.0,4096.0,8192.0\n6.5,71.0,20.5,2.0,0.0,0.0,16384.0\n";
        let columns = "\"usr\",\"sys\",\"idl\",\"wai\",\"stl\",\"read\",\"writ\"\n";
        let first = "\"Dstat 0.7.3 CSV output\"\n\"Author:\",\"A\",,,,\"URL:\",\"http://x\"\n\
                     \"Host:\",\"db7\",,,,\"User:\",\"root\"\n\
                     \"Cmdline:\",\"dstat --output x\",,,,\"Date:\",\"28 Nov 2026\"\n\n";
        let groups = "\"total cpu usage\",,,,,\"dsk/total\",\n";
        let dool = first.replace("Dstat 0.7.3", "Dool 1.3.1");
        for text in [
            format!("{first}{groups}{columns}{rows}"),
            format!("{dool}{}{columns}{rows}", groups.replace("cpu ", "")),
            format!("{groups}{columns}{rows}"),
        ] {
            let recording = read(&text);
            all_understood(&recording);
            assert_eq!(machine(&recording, Field::CpuSystem), [71.0], "{text}");
            assert_eq!(machine(&recording, Field::PageOut), [16_384.0]);
            let named = recording.hosts[0].name.as_deref();
            assert_eq!(named, text.contains("Host").then_some("db7"));
        }
        let timed = format!(
            "\"system\",\"total cpu usage\",,,,,\"dsk/total\",\n\"time\",{columns}\
             28-11 05:00:00,{}",
            rows.replace("\n6.5", "\n28-11 05:00:01,6.5")
        );
        let recording = read(&timed);
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::CpuSystem), [71.0]);
        assert!(read("\"a\",\"b\"\n\"usr\",\"sys\"\n1,2\n").sources.is_empty());
    }

    #[test]
    fn one_row_is_all_there_is() {
        let rows: Vec<&str> = TEXT.lines().take(3).collect();
        let recording = read(&rows.join("\n"));
        assert_eq!(machine(&recording, Field::CpuUser), [17.0]);
    }

    #[test]
    fn other_dashes_are_no_headings() {
        for text in ["-- a\nb", "--------\nusr sys", "-rw-r--r-- -x-\nusr sys idl"] {
            let recording = read(text);
            assert!(recording.sources.iter().all(|s| s.kind != SourceKind::Dstat), "{text}");
        }
    }
}
