//! `free` of procps, old and new. free(1).

use super::prelude::*;

/// Below this many KiB of memory the numbers are surely in a larger unit: no Linux of today runs
/// in 64 MiB.
const TOTAL_KIB_MIN: u64 = 65_536;

/// Numbers that are no KiB are MiB from this many on: fewer may be GiB of a large machine.
const TOTAL_MIB_MIN: u64 = 4096;
/// More (4 TiB) may be thousands of bytes (`--kilo`).
const TOTAL_MIB_MAX: u64 = 4 << 20;

/// From this many on (a TiB in KiB) numbers may be plain bytes.
const TOTAL_KIB_DOUBTFUL: u64 = 1 << 30;

/// The columns of procps 3.3.10 and later, in this order in every language; with `-w`; and before.
const COLUMNS: [&str; 6] = ["total", "used", "free", "shared", "buff/cache", "available"];
const WIDE: [&str; 7] = ["total", "used", "free", "shared", "buffers", "cache", "available"];
const OLD: [&str; 6] = ["total", "used", "free", "shared", "buffers", "cached"];

/// Numbers of the row about swap, and of each beside that of memory but one: before 3.3.10 there
/// was a row of two numbers about what is left without the caches.
const FEW: usize = 3;
const WITHOUT_CACHES: usize = 2;

fn is_head(words: &[&str]) -> bool {
    words.starts_with(&["total", "used", "free"])
}

/// The columns of a head in another language: it has no number, and stands over rows of as many
/// numbers as some version prints. Its words may be more than its columns.
fn translated(lines: &Lines<'_>) -> Option<&'static [&'static str]> {
    let (memory, next) = (row(lines.ahead(1))?, row(lines.ahead(2))?);
    let columns: &[&str] = match (memory.len(), next.len()) {
        (6, FEW) => &COLUMNS,
        (7, FEW) => &WIDE,
        (6, WITHOUT_CACHES) => &OLD,
        _ => return None,
    };
    // All memory is the largest of them.
    let sizes: Option<Vec<f64>> = memory.iter().map(|word| bytes(word, Some(1), false)).collect();
    let sizes = sizes?;
    let largest = sizes.iter().all(|size| size <= sizes.first().unwrap_or(&0.0));
    let head = lines.ahead(0);
    let words = words(head);
    let no_number = words.iter().all(|word| !word.contains(|c: char| c.is_ascii_digit()));
    (no_number && !head.contains(':') && words.len() >= columns.len() && largest).then_some(columns)
}

/// The numbers of a row behind its name, which may be of several words: `Mem :`.
fn row(line: &str) -> Option<Vec<&str>> {
    let (name, rest) = line.split_once(':')?;
    let numbers = words(rest);
    let named = !name.trim().is_empty() && name.split_whitespace().count() <= NAME_WORDS_MAX;
    let all = numbers.iter().all(|word| number_and_unit(word).is_some());
    (named && all && !numbers.is_empty()).then_some(numbers)
}

/// `Partition d'échange` has two.
const NAME_WORDS_MAX: usize = 3;

/// Begins at the line of column names.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let next = lines.ahead(1).trim_start();
    let own = next.starts_with("Mem:") && is_head(&words(lines.ahead(0)));
    let translated = if own { None } else { Some(translated(lines)?) };
    let above = (1..=2).filter_map(|by| lines.above(by));
    let unit_bytes = above.filter(|line| !line.trim().is_empty()).find_map(option);
    // What other commands of the same line print stands in between.
    let unit_bytes = unit_bytes.or_else(|| option(out.latest_command()));
    out.begin(SourceKind::Free, lines.number());
    let foreign = translated.is_some();
    let columns = translated.unwrap_or_default().iter().map(|name| (*name).to_owned()).collect();
    let head = words(lines.ahead(0)).into_iter().map(str::to_owned).collect();
    Some(Box::new(Free { columns, head, rows: Vec::new(), unit_bytes, foreign }))
}

/// Bytes in the unit that the command line above asked for; `None` where there is none.
fn option(line: &str) -> Option<u64> {
    let words = words(line);
    let at = words.iter().position(|word| *word == "free" || word.ends_with("/free"))?;
    let options = words.get(at + 1..).unwrap_or_default();
    for word in options {
        let long = match *word {
            "--bytes" => Some(1),
            "--kilo" => Some(1000),
            "--mega" => Some(1_000_000),
            "--giga" => Some(1_000_000_000),
            "--kibi" => Some(1 << 10),
            "--mebi" => Some(1 << 20),
            "--gibi" => Some(1 << 30),
            _ => None,
        };
        let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let letter = short.and_then(|rest| rest.find(['b', 'k', 'm', 'g']).map(|at| &rest[at..]));
        let of_letter = match letter.and_then(|rest| rest.chars().next()) {
            Some('b') => Some(1),
            Some('k') => Some(1 << 10),
            Some('m') => Some(1 << 20),
            Some('g') => Some(1 << 30),
            _ => None,
        };
        if long.is_some() || of_letter.is_some() {
            return long.or(of_letter);
        }
    }
    // A command line without a unit: KiB.
    Some(1 << 10)
}

struct Free {
    columns: Vec<String>,
    /// The words of the head.
    head: Vec<String>,
    /// `Mem:` and `Swap:` with their words, until the block is whole.
    rows: Vec<(String, Vec<String>)>,
    unit_bytes: Option<u64>,
    /// Whether its words are of another language.
    foreign: bool,
}

impl Free {
    /// Bytes in the unit of numbers without a suffix; `None` when it is not known.
    fn unit(&self) -> Option<u64> {
        if self.unit_bytes.is_some() {
            return self.unit_bytes;
        }
        let numbers = self.rows.iter().flat_map(|(_, row)| row).filter_map(|word| count(word));
        let numbers: Vec<u64> = numbers.collect();
        let all = |factor: u64| numbers.iter().all(|number| number.is_multiple_of(factor));
        let total = numbers.first().copied()?;
        // The kernel counts pages of at least 4 KiB: other numbers are rounded to another unit.
        if total >= TOTAL_KIB_DOUBTFUL && all(4096) {
            return Some(1);
        }
        if all(4) {
            return (total >= TOTAL_KIB_MIN).then_some(1 << 10);
        }
        // Other numbers are no KiB. A thousand of what they are is a thousand MiB: hardly any
        // machine has less, and none has a thousand GiB but no more.
        (TOTAL_MIB_MIN..=TOTAL_MIB_MAX).contains(&total).then_some(1 << 20)
    }

    /// A line in another language: as many numbers as columns are memory, others wait until all
    /// rows are there. `None`: none of these.
    fn take_foreign(&mut self, line: &str, out: &mut Builder) -> Option<Taken> {
        let Some(numbers) = row(line) else {
            // The head, also repeated by `-s`.
            return (self.head == words(line)).then_some(Taken::Yes);
        };
        let memory = numbers.len() == self.columns.len();
        if !memory && !matches!(numbers.len(), FEW | WITHOUT_CACHES) {
            return Some(Taken::No);
        }
        if memory {
            self.end(out);
        }
        if numbers.len() != WITHOUT_CACHES {
            let name = if memory { "Mem:" } else { "" };
            let numbers = numbers.into_iter().map(str::to_owned).collect();
            self.rows.push((name.to_owned(), numbers));
        }
        Some(Taken::Yes)
    }

    /// Says which row in another language is about swap: the first beside that of memory, unless
    /// the first two are its low and high part (`-l`), which make it up.
    fn name_swap(&mut self) {
        let number = |at: usize| {
            let word = self.rows.get(at)?.1.first()?;
            bytes(word, Some(1), false)
        };
        let parts = number(0).zip(number(1)).zip(number(2)).is_some_and(|((all, low), high)| {
            let of_all = low + high;
            low > 0.0 && (of_all - all).abs() <= all / 1000.0
        });
        let low = parts && self.rows.len() > 3;
        if let Some((name, _)) = self.rows.get_mut(if low { 3 } else { 1 }) {
            "Swap:".clone_into(name);
        }
    }
}

/// `15Gi`, `15G` (what procps 3.3 prints for GiB), `512B` or a number in `unit`.
fn bytes(word: &str, unit: Option<u64>, with_suffix: bool) -> Option<f64> {
    let (value, suffix) = number_and_unit(word)?;
    if suffix.is_empty() {
        // Beside numbers with a suffix only 0 has none.
        return match (with_suffix, unit) {
            (true, _) => (value == 0.0).then_some(0.0),
            (false, unit) => Some(value * unit? as f64),
        };
    }
    let prefix = suffix.trim_end_matches('B').trim_end_matches('i');
    Some(value * binary_factor(prefix)?)
}

impl Reader for Free {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if self.foreign
            && let Some(taken) = self.take_foreign(line, out)
        {
            return taken;
        }
        let words = words(line);
        if is_head(&words) {
            self.end(out);
            self.columns = words.into_iter().map(str::to_owned).collect();
            return Taken::Yes;
        }
        let number = |word: &&str| number_and_unit(word).is_some();
        match words.as_slice() {
            // Repeated by `-s`: a blank line between.
            [] => Taken::Yes,
            [name @ ("Mem:" | "Swap:"), row @ ..] if row.iter().any(number) => {
                // Without its other line: the next block begins here.
                if self.rows.iter().any(|(known, _)| known == name) {
                    self.end(out);
                }
                let row = row.iter().map(|word| (*word).to_owned()).collect();
                self.rows.push(((*name).to_owned(), row));
                if *name == "Swap:" {
                    self.end(out);
                }
                Taken::Yes
            }
            ["Low:" | "High:" | "Total:" | "Comm:", row @ ..] if row.iter().any(number) => {
                Taken::Yes
            }
            ["-/+", "buffers/cache:", ..] => Taken::Yes,
            _ => Taken::No,
        }
    }

    fn end(&mut self, out: &mut Builder) {
        if self.rows.is_empty() {
            return;
        }
        if self.foreign {
            self.name_swap();
        }
        let unit = self.unit();
        let rows = std::mem::take(&mut self.rows);
        let suffixed = |word: &String| word.ends_with(|c: char| c.is_ascii_alphabetic());
        let with_suffix = rows.iter().flat_map(|(_, row)| row).any(suffixed);
        if unit.is_none() && !with_suffix {
            out.problem(
                "free's numbers are not KiB and the text does not say their unit: left out; give \
                 the output of plain 'free', or its command line too",
            );
            return;
        }
        for (name, row) in &rows {
            for (column, word) in self.columns.iter().zip(row) {
                let field = match (name.as_str(), column.as_str()) {
                    ("Mem:", "total") => Field::MemTotal,
                    ("Mem:", "used") => Field::MemUsed,
                    ("Mem:", "free") => Field::MemFree,
                    ("Mem:", "shared") => Field::Shmem,
                    ("Mem:", "buffers") => Field::Buffers,
                    ("Mem:", "cached") => Field::Cached,
                    ("Mem:", "available") => Field::MemAvailable,
                    ("Swap:", "total") => Field::SwapTotal,
                    ("Swap:", "free") => Field::SwapFree,
                    _ => continue,
                };
                match bytes(word, unit, with_suffix) {
                    Some(value) => out.put(field, &Subject::Machine, None, value),
                    None => out.problem("no size such as '15Gi' or '3589572': left out"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;

    const NEW: &str = "               total        used        free      shared  buff/cache   \
    available\n\
        Mem:        24684092      912700    23281700       11104       81700    23192900\n\
        Swap:              0           0           0\n";

    #[test]
    fn other_languages_have_the_same_order() {
        let german = "$ free -m\n  gesamt  benutzt  frei  gemns.  Puffer/Cache verfügbar\n\
                      Speicher:   24105  666  13971  8  9868  23438\n\
                      Swap:       10     4    6\n";
        let recording = read(german);
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::MemTotal), [24_105.0 * 1_048_576.0]);
        assert_eq!(machine(&recording, Field::MemAvailable), [23_438.0 * 1_048_576.0]);
        assert_eq!(machine(&recording, Field::SwapFree), [6.0 * 1_048_576.0]);
        assert!(read("six words of a very plain\nX: 1 2 3 4 5 6\nY: 1 2 3\n").hosts.is_empty());
    }

    #[test]
    fn every_layout_may_be_translated() {
        const MIB: f64 = 1_048_576.0;
        let rows = "Memoria: 24105 666 13971 8 9868 23438\n";
        for (text, swap) in [
            // Words of two parts, full-width colons.
            ("tổng cộng  đã dùng  còn trống  chia sẻ  đệm/tạm  sẵn dùng\n", 10.0),
            ("総計 使用 空き 共有 バッファ/キャッシュ 利用可能\n", 10.0),
        ] {
            let recording = read(&format!("$ free -m\n{text}{rows}スワップ： 10 4 6\n"));
            all_understood(&recording);
            assert_eq!(machine(&recording, Field::SwapTotal), [swap * MIB], "{text}");
            assert_eq!(machine(&recording, Field::MemFree), [13_971.0 * MIB], "{text}");
        }
        let head = "gesamt benutzt frei gemns. Puffer/Cache verfügbar\n";
        for (more, swap) in [
            ("Low: 24105 10134 13971\nHigh: 0 0 0\nAuslag: 10 4 6\n", 10.0),
            ("Auslag: 10 4 6\nGesamt: 24115 670 13977\n", 10.0),
            ("Auslag: 0 0 0\nGesamt: 24105 666 13971\n", 0.0),
            (
                "Low: 24105 10134 13971\nHigh: 0 0 0\nAuslag: 10 4 6\nGesamt: 24115 670 13977\n",
                10.0,
            ),
        ] {
            let recording = read(&format!("$ free -m\n{head}{rows}{more}"));
            all_understood(&recording);
            assert_eq!(machine(&recording, Field::SwapTotal), [swap * MIB], "{more}");
        }
        let wide =
            read("$ free -wm\na b c d e f g\nM: 24105 666 13971 8 20 9868 23438\nS: 10 4 6\n");
        assert_eq!(machine(&wide, Field::MemAvailable), [23_438.0 * MIB]);
        let old = read(
            "$ free -m\na b c d e f\nM: 24105 20666 3439 8 20 9868\n-/+ x/y: 10778 13327\n\
             S: 10 4 6\n\na b c d e f\nM: 24105 20666 3440 8 20 9868\n\
             -/+ x/y: 10778 13327\nS: 10 4 6\n",
        );
        all_understood(&old);
        assert_eq!(machine(&old, Field::Cached), [9868.0 * MIB; 2]);
        assert_eq!(machine(&old, Field::MemAvailable).len(), 0);
        assert_eq!(machine(&old, Field::MemFree), [3439.0 * MIB, 3440.0 * MIB]);
    }

    #[test]
    fn new_and_old_layouts() {
        let recording = read(NEW);
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::MemAvailable), [23_192_900.0 * 1024.0]);
        assert_eq!(machine(&recording, Field::SwapTotal), [0.0]);
        let old = read(
            "             total       used       free     shared    buffers     cached\n\
             Mem:      20549012   20462836      86176          0       8240    7040608\n\
             -/+ buffers/cache:   13413988    7135024\n\
             Swap:      8388604     352204    8036400\n",
        );
        all_understood(&old);
        assert_eq!(machine(&old, Field::Cached), [7_040_608.0 * 1024.0]);
        assert_eq!(machine(&old, Field::SwapFree), [8_036_400.0 * 1024.0]);
    }

    #[test]
    fn suffixes_say_the_unit() {
        let recording = read(
            "              total        used        free      shared  buff/cache   available\n\
             Mem:           23Gi       912Mi        22Gi        11Mi        81Mi        22Gi\n\
             Swap:            0B          0B          0B\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::MemUsed), [912.0 * 1_048_576.0]);
    }

    #[test]
    fn an_unknown_unit_is_a_problem_and_a_prompt_tells_it() {
        let text = "              total        used        free      shared  buff/cache   \
        available\n\
            Mem:         128733       90211       30000        1101        8522       37400\n";
        // The kernel counts in pages of 4 KiB: these are none, and that much of anything is MiB.
        assert_eq!(machine(&read(text), Field::MemTotal), [128_733.0 * 1_048_576.0]);
        let few = read(&text.replace("128733", "961"));
        assert_eq!(few.problems.len(), 1);
        assert_eq!(machine(&few, Field::MemTotal).len(), 0);
        let told = read(&format!("[root@db1 ~]# free -m\n{text}"));
        assert_eq!(machine(&told, Field::MemTotal), [128_733.0 * 1_048_576.0]);
        let one_line = read(&format!("[root@db1 ~]# uname -r; nproc; free -m\n6.1.0\n8\n{text}"));
        assert_eq!(machine(&one_line, Field::MemTotal), [128_733.0 * 1_048_576.0]);
        assert_eq!(option("$ free -h -s 2"), Some(1 << 10));
        assert_eq!(option("$ free -tg"), Some(1 << 30));
        assert_eq!(option("free memory was low"), Some(1 << 10));
        let bytes = read(
            "              total        used        free\n\
             Mem:    25276510208   934604800 24341905408\nSwap: 0 0 0\n",
        );
        assert_eq!(machine(&bytes, Field::MemTotal), [25_276_510_208.0]);
    }
}
