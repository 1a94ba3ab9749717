//! `vmstat` of procps: one table for the machine. Its headings are translated, the order of its
//! columns is not. A time may stand before each line or, as `-t` has it, behind each row.

use super::prelude::*;
use super::sysstat::{Cell, cell, factor, is_elision, moment, number, of_key, words};
use crate::recording::lead;
use crate::recording::words::LISTING_COLUMNS;
use crate::recording::{SeriesId, Span};
use crate::table::Row;
use std::sync::LazyLock;

/// kB of vmstat are 1024 bytes. `-S` changes the unit, which nothing in the listing says, but the
/// command behind the prompt may.
const KB: f64 = 1024.0;

/// Bytes of the unit that a command asks for: vmstat(8), `-S`.
fn unit(command: &str) -> f64 {
    let mut words = command.split_whitespace();
    if words.next().is_none_or(|name| name.rsplit('/').next() != Some("vmstat")) {
        return KB;
    }
    let asked = words.clone().zip(words.clone().skip(1).chain([""])).find_map(|(word, next)| {
        let (short, long) = (word.strip_prefix("-S"), word.strip_prefix("--unit="));
        let value = short.or(long)?;
        Some(if value.is_empty() { next } else { value })
    });
    match asked {
        Some("k") => 1000.0,
        Some("m") => 1e6,
        Some("M") => KB * KB,
        _ => KB,
    }
}

/// The columns with a field, and what their values are to be multiplied with.
static COLUMNS: LazyLock<Vec<(&str, Field, f64)>> = LazyLock::new(|| {
    let column = |row: &Row| {
        let [name, field, unit] = row.fields();
        (name, of_key(row, field), factor(row, unit))
    };
    LISTING_COLUMNS.iter().filter(|row| row.section == "vmstat").map(column).collect()
});

const HALF_DAY_S: i64 = 43_200;

/// Where a field is in the rows.
#[derive(Clone, Copy, Debug)]
struct Column {
    at: usize,
    field: Field,
    factor: f64,
    series: Option<SeriesId>,
}

#[derive(Debug, Default)]
struct Vmstat {
    width: usize,
    /// Bytes of its unit against the usual one.
    scale: f64,
    places: Vec<Column>,
    /// The words of its columns.
    heading: Vec<String>,
    /// The latest time before a row, where that has no date, and the days since the first.
    latest: Option<Stamp>,
    days: i64,
    /// Averages of the first row, which are since the machine started if another row follows.
    waiting: Option<Vec<(usize, Option<Stamp>, f64)>>,
    rows: usize,
}

/// Finds the line of groups, or the one of columns.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let at = usize::from(is_groups(lines.ahead(0)));
    let heading = words(behind_time(lines.ahead(at)).1);
    let below = || behind_time(lines.ahead(at + 1)).1;
    if !is_columns(&heading) && !is_translated(&heading, below()) {
        return None;
    }
    out.begin(SourceKind::Vmstat, lines.number());
    let scale = unit(out.latest_command()) / KB;
    let heading = heading.into_iter().map(str::to_owned).collect();
    Some(Box::new(Vmstat { scale, heading, ..Vmstat::default() }))
}

/// What stands behind a time before a line, and that time.
fn behind_time(line: &str) -> (Option<Stamp>, &str) {
    // Heads of groups over a time have dashes, too: `--time--`.
    let lead = lead(line);
    lead.map_or((None, line), |lead| (Some(lead.at), line.get(lead.length..).unwrap_or("")))
}

/// A line of groups: `procs ---memory--- ---swap--`. Where blogs are set, dashes are joined.
fn is_groups(line: &str) -> bool {
    let dash = |c: char| matches!(c, '-' | '\u{2013}' | '\u{2014}');
    let words = words(behind_time(line).1);
    let grouped = words.iter().filter(|word| word.starts_with(dash) && word.ends_with(dash));
    let known = || words.iter().any(|word| *word == "procs" || *word == "kthr");
    let count = grouped.count();
    count >= GROUPS || count >= 3 && known()
}

/// Groups that each version has, beside that of processes: memory, swap, io, system, cpu.
const GROUPS: usize = 5;

fn is_columns(words: &[&str]) -> bool {
    words.starts_with(&["r", "b", "swpd"])
        && ["si", "so", "bi", "bo"].iter().all(|w| words.contains(w))
}

/// All columns in their order. `st` is there since 2.6.11, `gu` since procps 4.
const ORDER: [&str; 18] = [
    "r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs", "us", "sy",
    "id", "wa", "st", "gu",
];
/// How many of them are before the shares of CPU.
const BEFORE_SHARES: usize = 12;

/// Whether these words are the columns in another language: as many as in some version, over a row
/// of as many numbers, the last of which are shares of all CPU time.
fn is_translated(heading: &[&str], below: &str) -> bool {
    let columns = heading.len();
    let row: Option<Vec<f64>> = words(below).iter().take(columns).map(|w| number(w)).collect();
    let Some(row) = row.filter(|row| row.len() == columns) else { return false };
    let named = heading.iter().all(|word| !word.contains(|c: char| c.is_ascii_digit()));
    let shares: f64 = row.iter().skip(BEFORE_SHARES).sum();
    (16..=ORDER.len()).contains(&columns) && named && (98.0..=102.0).contains(&shares)
}

/// The columns of a translated heading, by their place. Third and fourth of memory are something
/// else with `-a`, which only the command tells.
fn by_place(heading: &[&str], command: &str) -> Vec<String> {
    let active = command.split_whitespace().any(|word| {
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        word == "--active" || letters.is_some_and(|letters| letters.contains('a'))
    });
    let known = command.contains("vmstat") && !active;
    let place = |(word, own): (&&str, &&str)| match *own {
        "buff" | "cache" if !known => (*word).to_owned(),
        // No field; behind this word others would be found by their place again.
        "swpd" => (*word).to_owned(),
        own => own.to_owned(),
    };
    heading.iter().zip(&ORDER).map(place).collect()
}

/// The name of a column. Those of memory are translated, and stand behind `swpd`: free, and
/// buffers and cache, or with `-a` inactive and active.
fn canonical<'a>(words: &[&'a str], word: &'a str) -> &'a str {
    let place = |wanted: &str| words.iter().position(|word| *word == wanted);
    let (Some(at), Some(swpd)) = (place(word), place("swpd")) else { return word };
    let active = words.get(swpd + 2).is_some_and(|second| second.starts_with("ina"));
    match (at.checked_sub(swpd), active) {
        (Some(1), _) => "free",
        (Some(2), false) => "buff",
        (Some(3), false) => "cache",
        (Some(2), true) => "inact",
        (Some(3), true) => "active",
        _ => word,
    }
}

impl Vmstat {
    fn columns(&mut self, words: &[&str], out: &mut Builder) {
        // What follows the columns names the time zone of `-t`.
        let known = |word: &&str| {
            matches!(*word, "w" | "swpd") || COLUMNS.iter().any(|(name, ..)| name == word)
        };
        self.width = words.iter().rposition(known).map_or(0, |last| last + 1);
        self.places = COLUMNS
            .iter()
            .filter_map(|(name, field, factor)| {
                let at = words.iter().position(|word| canonical(words, word) == *name)?;
                let series = out.series(*field, &Subject::Machine);
                // Blocks of I/O are of 1024 bytes whatever the unit: vmstat(8).
                let memory = *factor == KB && !matches!(*name, "bi" | "bo");
                let factor = if memory { factor * self.scale } else { *factor };
                Some(Column { at, field: *field, factor, series })
            })
            .collect();
    }

    /// The time before a row; a step back by more than half a day is midnight.
    fn day_of(&mut self, before: Option<Stamp>) -> Option<Stamp> {
        let before = before?;
        if before.has_date() {
            return Some(before);
        }
        if self.latest.is_some_and(|latest| before.0 + HALF_DAY_S < latest.0) {
            self.days += 1;
        }
        self.latest = Some(before);
        Some(before.days_later(self.days))
    }

    fn row(&mut self, words: &[&str], before: Option<Stamp>, out: &mut Builder) -> Taken {
        let numbers = words.iter().take(self.width).filter(|word| number(word).is_some()).count();
        if self.width == 0 || numbers < words.len().min(self.width) || words.is_empty() {
            return Taken::No;
        }
        if words.len() < self.width {
            out.problem(format!(
                "truncated: a row of {} of {} columns; it is left out",
                words.len(),
                self.width
            ));
            return Taken::Yes;
        }
        let rest = words.get(self.width..).unwrap_or_default();
        let at = rest.get(..2).and_then(|rest| moment(&rest.join(" "), false));
        if at.is_none() && rest.first().is_some_and(|word| number(word).is_some()) {
            out.problem("a row has more columns than its header; it is left out");
            return Taken::Yes;
        }
        let at = at.or_else(|| self.day_of(before));
        // The first row is the mean since the machine started, but for what is counted at once.
        let first = self.rows == 0;
        self.rows += 1;
        self.waiting = first.then(Vec::new);
        for (index, place) in self.places.iter().enumerate() {
            let word = words.get(place.at).copied().unwrap_or("");
            let Cell::Number(value) = cell(word) else { continue };
            let value = value * place.factor;
            if !super::sysstat::is_sane(place.field, value) {
                out.problem(format!("{word} as {}, which cannot be", place.field.about().key));
                continue;
            }
            match (&mut self.waiting, place.field.about().span, place.series) {
                (Some(waiting), Span::Average, _) => waiting.push((index, at, value)),
                (_, _, Some(id)) => out.push(id, at, value),
                (_, _, None) => {}
            }
        }
        Taken::Yes
    }
}

impl Reader for Vmstat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() || is_elision(line) {
            return Taken::Yes;
        }
        if is_groups(line) {
            // Another run, unless this is the first line.
            return Taken::Yes;
        }
        let (before, rest) = behind_time(line);
        let words = words(rest);
        if is_columns(&words) {
            self.columns(&words, out);
            return Taken::Yes;
        }
        if self.heading == words {
            let names = by_place(&words, out.latest_command());
            self.columns(&names.iter().map(String::as_str).collect::<Vec<_>>(), out);
            return Taken::Yes;
        }
        self.row(&words, before, out)
    }

    fn end(&mut self, out: &mut Builder) {
        // No other row follows: this one is all there is.
        for (index, at, value) in self.waiting.take().unwrap_or_default() {
            if let Some(id) = self.places.get(index).and_then(|place| place.series) {
                out.push(id, at, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;

    const HEADS: &str =
        "procs -----------memory---------- ---swap-- -----io---- -system-- ----cpu----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
";
    const ROWS: [&str; 3] = [
        " 3  0   2048 100000   2000  50000    0    0     5     6  700  800  5  5 90  0  0",
        " 9  4   4096  90000   2100  51000  300  400    50    60 7000 8000 30 20 10 40  0",
        "11  5   8192  80000   2200  52000  310  420    51    61 7100 8100 31 21  8 40  0",
    ];

    /// Each line behind what stands before it, by its place.
    fn timed(before: impl Fn(usize) -> String) -> String {
        let lines = HEADS.lines().chain(ROWS).enumerate();
        lines.map(|(at, line)| format!("{}{line}\n", before(at))).collect()
    }

    fn times(recording: &crate::recording::Recording) -> Vec<String> {
        let series = recording.hosts[0].series(Field::SwapIn, &Subject::Machine).expect("values");
        series
            .points
            .iter()
            .map(|point| point.at.map_or("none".into(), |at| at.to_string()))
            .collect()
    }

    #[test]
    fn a_time_may_stand_before_each_line() {
        for (text, wanted) in [
            (timed(|at| format!("Nov 28 05:00:0{at} ")), "05:00:03"),
            (timed(|at| format!("05:00:0{at} ")), "05:00:03"),
            (timed(|at| format!("2026-11-28 05:00:0{at} ")), "2026-11-28 05:00:03"),
            (timed(|at| format!("[2026-11-28T05:00:0{at}Z] ")), "2026-11-28 05:00:03"),
            (timed(|at| format!("Sat Nov 28 05:00:0{at} UTC 2026: ")), "2026-11-28 05:00:03"),
            (timed(|at| format!("179584200{at} ")), "2026-11-28 05:00:03"),
            (
                timed(|at| match at {
                    0 => "--time-- ".to_owned(),
                    1 => "         ".to_owned(),
                    _ => format!("05:00:0{at} "),
                }),
                "05:00:03",
            ),
        ] {
            let recording = read(&text);
            all_understood(&recording);
            assert_eq!(machine(&recording, Field::SwapIn), [300.0 * KB, 310.0 * KB], "{text}");
            assert_eq!(times(&recording)[0], wanted, "{text}");
        }
    }

    #[test]
    fn times_go_on_behind_midnight() {
        let recording = read(&timed(|at| {
            ["23:59:57 ", "23:59:57 ", "23:59:57 ", "23:59:59 ", "00:00:01 "][at].into()
        }));
        assert_eq!(times(&recording), ["23:59:59", "day +1 00:00:01"]);
    }

    #[test]
    fn columns_keep_their_order_in_every_language() {
        let chinese = HEADS.replace("swpd   free   buff  cache", "交换 空闲 缓冲 缓存");
        let other = "процессы -----память---- ---своп--- ---ввод/вывод-- -система- ----цп----
 о  б  своп  своб  буф  кэш  пв  пи  вх  ис  пр  пк  по  си  пр  ож  кр
";
        let groups =
            "--procs--- -----------memory---------- ---swap-- -----io---- -system-- ----cpu----\n";
        for heads in [chinese.as_str(), other, groups] {
            let columns = if heads == groups {
                format!("{groups}{}", HEADS.lines().nth(1).unwrap_or("")) + "\n"
            } else {
                heads.to_owned()
            };
            for command in ["", "$ vmstat 1\n"] {
                let recording = read(&format!("{command}{columns}{}\n", ROWS.join("\n")));
                all_understood(&recording);
                assert_eq!(
                    machine(&recording, Field::SwapOut),
                    [400.0 * KB, 420.0 * KB],
                    "{heads}"
                );
                assert_eq!(machine(&recording, Field::CpuIowait), [40.0, 40.0], "{heads}");
                assert_eq!(machine(&recording, Field::MemFree).len(), 3, "{heads}");
            }
        }
        // Without shares that make a whole these are any numbers.
        let strange = ROWS.join("\n").replace(" 90  0  0", " 50  0  0");
        assert!(read(&format!("a b c d e f g h i j k l m n o p q\n{strange}\n")).hosts.is_empty());
    }

    #[test]
    fn what_is_no_buffer_is_not_taken_for_one() {
        let active = HEADS.replace("swpd   free   buff  cache", "交换 空闲 非活跃 活跃");
        for command in ["", "$ vmstat -a 1\n", "$ vmstat --active 1\n", "$ vmstat -wa 1\n"] {
            let recording = read(&format!("{command}{active}{}\n", ROWS.join("\n")));
            assert_eq!(machine(&recording, Field::Buffers).len(), 0, "{command}");
        }
    }
}
