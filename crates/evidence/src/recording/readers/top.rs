//! `top` of procps 3.2 to 4.0, in batch mode or pasted. top(1).

use super::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;

use super::kernel_log::up_ms;
use super::top_words::english;

/// Most values of a first frame that wait for what follows it: 30,000 processes have as many.
const HELD_MAX: usize = 100_000;

/// Most columns: top has about 80 fields.
const COLUMNS_MAX: usize = 128;

/// What the letters behind a share of CPU stand for. `us` includes guests, as proc_stat(5) does.
const CPU_LABELS: [(&str, Field); 8] = [
    ("us", Field::CpuUser),
    ("sy", Field::CpuSystem),
    ("ni", Field::CpuNice),
    ("id", Field::CpuIdle),
    ("wa", Field::CpuIowait),
    ("hi", Field::CpuIrq),
    ("si", Field::CpuSoftirq),
    ("st", Field::CpuSteal),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum HeadLine {
    Head,
    Tasks,
    Cpu,
    Memory,
    Columns,
}

fn kind_of(line: &str) -> Option<HeadLine> {
    let line = plain(line).trim_start();
    let words: Vec<&str> = line.split_whitespace().take(3).collect();
    let first = words.first()?;
    if line.starts_with("top - ") && line.contains("load average") {
        return Some(HeadLine::Head);
    }
    if matches!(*first, "Tasks:" | "Threads:") && line.contains(" total") {
        return Some(HeadLine::Tasks);
    }
    let cpu = first.strip_prefix('%').unwrap_or(first).strip_prefix("Cpu");
    if cpu.is_some_and(|rest| rest.starts_with(|c: char| c == '(' || c.is_ascii_digit()))
        && line.contains(':')
    {
        return Some(HeadLine::Cpu);
    }
    // `%Node0 :` is the same about a NUMA node.
    if first.starts_with("%Node") && line.contains(':') {
        return Some(HeadLine::Cpu);
    }
    if memory_line(line).is_some() {
        return Some(HeadLine::Memory);
    }
    let has = |name: &str| line.split_whitespace().any(|word| word == name);
    let columns = has("PID") && has("%CPU") && has("COMMAND") && (has("RES") || has("TIME+"));
    (columns && are_names(line)).then_some(HeadLine::Columns)
}

/// Unit, name and the rest of a memory line: `KiB Mem :  3589572 total, ...`, `Mem: 2074844k ...`.
fn memory_line(line: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = line.split_once(':')?;
    let head: Vec<&str> = head.split_whitespace().collect();
    let (unit, name) = match head.as_slice() {
        [unit, name] => (unit.strip_suffix("iB")?, *name),
        [name] => ("", *name),
        _ => return None,
    };
    let bars = rest.contains('[') && rest.contains('/') && !unit.is_empty();
    let known = matches!(name, "Mem" | "Swap") && (rest.contains("total") || bars);
    known.then_some((unit, name, rest))
}

/// Begins at any line of the summary, or at the head of the table.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    kind_of(&english(lines.ahead(0)))?;
    Some(lines.begin(SourceKind::Top, Top::default(), out))
}

/// The columns as top has them by itself, for rows whose head a filter took.
const USUAL: [&str; 12] =
    ["PID", "USER", "PR", "NI", "VIRT", "RES", "SHR", "S", "%CPU", "%MEM", "TIME+", "COMMAND"];

/// Whether words are a row in the usual columns.
fn is_usual(words: &[&str]) -> bool {
    let Some([pid, _, priority, nice, _, _, _, state, cpu, memory, time, _]) =
        words.first_chunk::<12>()
    else {
        return false;
    };
    let whole = |word: &str| word.parse::<i64>().is_ok();
    let letter = state.len() == 1 && state.starts_with(|c: char| c.is_ascii_alphabetic());
    let numbers = [cpu, memory].iter().all(|word| number(word).is_some());
    let times = time.contains([':', '.', ',']) && time.starts_with(|c: char| c.is_ascii_digit());
    count(pid).is_some()
        && (whole(priority) || *priority == "rt")
        && whole(nice)
        && letter
        && numbers
        && times
}

#[derive(Default)]
struct Top {
    frames: u32,
    at: Option<Stamp>,
    day: i64,
    /// Processor time of the first frame: since boot when others follow, so that it must wait.
    held: Vec<(Field, Subject, f64)>,
    /// Those for which there was no room.
    left_out: usize,
    /// Sums over the frame's CPUs, for the machine's mean.
    sums: BTreeMap<Field, f64>,
    cpus: Vec<u32>,
    machine_seen: bool,
    columns: Vec<String>,
    /// Whether those are not its own.
    headless: bool,
    /// Whether its rows are threads (`top -H`).
    threads: bool,
}

impl Top {
    fn processor_time(&mut self, field: Field, subject: &Subject, value: f64, out: &mut Builder) {
        if self.frames > 1 {
            out.put(field, subject, self.at, value);
        } else if self.held.len() < HELD_MAX {
            self.held.push((field, subject.clone(), value));
        } else {
            self.left_out += 1;
        }
    }

    /// The machine's mean where the frame had single CPUs only.
    fn end_frame(&mut self, out: &mut Builder) {
        let cpus = std::mem::take(&mut self.cpus);
        let sums = std::mem::take(&mut self.sums);
        let alone = !std::mem::take(&mut self.machine_seen);
        let all = cpus.iter().zip(0_u32..).all(|(cpu, place)| *cpu == place);
        if cpus.is_empty() || !alone || !all {
            return;
        }
        out.put(Field::CpuCount, &Subject::Machine, self.at, cpus.len() as f64);
        for (field, sum) in sums {
            self.processor_time(field, &Subject::Machine, sum / cpus.len() as f64, out);
        }
    }

    fn head(&mut self, line: &str, out: &mut Builder) {
        self.end_frame(out);
        self.frames += 1;
        if self.frames == 2 {
            self.held.clear();
            self.left_out = 0;
        }
        self.columns.clear();
        let words = words(line);
        let time = words.get(2).and_then(|word| time_of_day(word));
        let before = self.at.map(|at| at.days_later(-self.day));
        if let (Some(before), Some(now)) = (before, time)
            && now < before
        {
            self.day += 1;
        }
        self.at = time.map(|time| time.days_later(self.day));
        out.put_known(Field::Uptime, &Subject::Machine, None, up_ms(line));
        let loads = words.iter().skip_while(|word| **word != "average:").skip(1);
        let fields = [Field::Load1, Field::Load5, Field::Load15];
        for (field, word) in fields.into_iter().zip(loads) {
            out.put_known(field, &Subject::Machine, self.at, number(word.trim_end_matches(',')));
        }
    }

    fn tasks(&self, line: &str, out: &mut Builder) {
        for (label, _, value) in labelled(line) {
            let field = match label {
                "total" => Field::Tasks,
                "running" => Field::RunQueue,
                _ => continue,
            };
            out.put(field, &Subject::Machine, self.at, value);
        }
    }

    fn cpu(&mut self, line: &str, out: &mut Builder) {
        if line.trim_start().starts_with("%Node") {
            return;
        }
        // Two CPUs on one line: procps 4 with `-w`.
        for part in line.split("Cpu").skip(1) {
            let Some((label, rest)) = part.split_once(':') else { continue };
            let label = label.trim();
            let values = shares(rest);
            if values.is_empty() || values.iter().any(|(_, value)| *value > 100.5) {
                out.problem(
                    "no shares of CPU such as '4.0 sy' here: bars (key t of top) are not read",
                );
                continue;
            }
            let cpu = count(label).and_then(|cpu| u32::try_from(cpu).ok());
            let subject = match cpu {
                Some(cpu) => Subject::Cpu(cpu),
                None if label == "(s)" => Subject::Machine,
                None => continue,
            };
            for (field, value) in &values {
                self.processor_time(*field, &subject, *value, out);
                if cpu.is_some() {
                    *self.sums.entry(*field).or_default() += value;
                }
            }
            self.cpus.extend(cpu);
            self.machine_seen |= cpu.is_none();
        }
    }

    fn memory(&self, line: &str, out: &mut Builder) {
        let Some((unit, name, rest)) = memory_line(line) else { return };
        if rest.contains('[') {
            out.problem("memory drawn as bars: not read; key m of top shows numbers");
            return;
        }
        let rest = uncut(rest);
        let sizes = labelled(&rest);
        if rest.contains('+') || !adds_up(&sizes) {
            out.problem("sizes cut by top ('+'): not read; a larger unit (key E) shows them whole");
            return;
        }
        for (label, suffix, value) in sizes {
            let field = match (name, label) {
                ("Mem", "total") => Field::MemTotal,
                ("Mem", "free") => Field::MemFree,
                ("Mem", "used") => Field::MemUsed,
                ("Mem", "buffers") => Field::Buffers,
                ("Swap", "total") => Field::SwapTotal,
                ("Swap", "free") => Field::SwapFree,
                // These two stand behind the swap for want of space.
                ("Swap", "cached") => Field::Cached,
                ("Swap", "avail") => Field::MemAvailable,
                _ => continue,
            };
            // Without any unit: procps before 3.3 always says `k`.
            let unit = if suffix.is_empty() { unit } else { suffix };
            out.put_known(
                field,
                &Subject::Machine,
                self.at,
                binary_factor(unit).filter(|_| !unit.is_empty()).map(|factor| value * factor),
            );
        }
    }

    fn column<'a>(&self, name: &str, words: &[&'a str]) -> Option<&'a str> {
        let at = self.columns.iter().position(|column| column == name)?;
        words.get(at).copied()
    }

    /// A process; `false` when the line is none.
    fn row(&mut self, line: &str, out: &mut Builder) -> bool {
        let words = words(line);
        if self.columns.is_empty() {
            self.headless = true;
            self.columns = USUAL.map(str::to_owned).to_vec();
        }
        if self.headless && !is_usual(&words) {
            return false;
        }
        let name_at = self.columns.iter().position(|column| column == "COMMAND");
        let (Some(name_at), Some(pid)) = (name_at, self.column("PID", &words)) else {
            return false;
        };
        let Some(pid) = count(pid).and_then(|pid| u32::try_from(pid).ok()) else { return false };
        let Some(name) = words.get(name_at).map(|word| command_name(word)) else { return false };
        let state = self.column("S", &words);
        if state.is_some_and(|state| state.len() != 1) {
            return false;
        }
        let subject = Subject::process(Some(pid), name);
        // A thread of the kernel is a process, and maps nothing.
        let kernel = self.column("RES", &words) == Some("0");
        let cpu = if self.threads && !kernel { Field::ThreadCpu } else { Field::ProcCpu };
        match self.column("%CPU", &words).map(number) {
            Some(Some(value)) => self.processor_time(cpu, &subject, value, out),
            Some(None) => out.problem("no share of CPU in the column %CPU: left out"),
            None => {}
        }
        // RES is in KiB unless it has a suffix.
        let resident = self.column("RES", &words).and_then(number_and_unit);
        if let Some((value, suffix)) = resident {
            let unit = if suffix.is_empty() { "k" } else { suffix };
            out.put_known(
                Field::ProcRss,
                &subject,
                self.at,
                binary_factor(unit).map(|factor| value * factor),
            );
        }
        if let Some(state) = state {
            let blocked = if state == "D" { 1.0 } else { 0.0 };
            out.put(Field::ProcBlocked, &subject, self.at, blocked);
        }
        true
    }
}

impl Reader for Top {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        // `top -H` says so in the word before the colon, in the languages that it speaks.
        let first = line.trim_start().split(' ').next().unwrap_or_default().to_lowercase();
        let threads = ["thread", "fils", "hilos"].iter().any(|word| first.starts_with(word));
        let line = &*english(line);
        match kind_of(line) {
            Some(HeadLine::Head) => self.head(line, out),
            Some(HeadLine::Tasks) => {
                self.threads = threads;
                self.tasks(line, out);
            }
            Some(HeadLine::Cpu) => self.cpu(line, out),
            Some(HeadLine::Memory) => self.memory(line, out),
            Some(HeadLine::Columns) => {
                let names = words(line).into_iter().take(COLUMNS_MAX);
                self.columns = names.map(str::to_owned).collect();
                self.headless = false;
            }
            None if line.trim().is_empty() || elided(line) => {}
            None if self.row(line, out) => {}
            None => return Taken::No,
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.end_frame(out);
        for (field, subject, value) in std::mem::take(&mut self.held) {
            out.put(field, &subject, self.at, value);
        }
        if self.left_out > 0 {
            let more = self.left_out;
            out.cut(format!("more than {HELD_MAX} shares of CPU in a frame: {more} are left out"));
        }
    }
}

/// Pairs such as `0.0 us`, `1.0%us` or `34,8 id`.
fn shares(text: &str) -> Vec<(Field, f64)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let end = rest.find(|c: char| !digits(c)).unwrap_or(rest.len());
        let (value, after) = rest.split_at(end);
        let after = after.trim_start_matches(|c: char| c == '%' || c.is_whitespace());
        let label = after.get(..2);
        let field = CPU_LABELS.iter().find(|(known, _)| Some(*known) == label);
        if let (Some((_, field)), Some(value)) = (field, number(value))
            && !found.iter().any(|(so_far, _)| so_far == field)
        {
            found.push((*field, value));
        }
        rest = after;
    }
    found
}

/// The numbers that top cut for want of room (`26382941+total`) with a zero for the digit that is
/// missing: the last of eight or more.
fn uncut(text: &str) -> Cow<'_, str> {
    if text.contains('+') { Cow::Owned(text.replace('+', "0 ")) } else { Cow::Borrowed(text) }
}

/// Whether no size is larger than the total: where more than one digit was cut, they do not fit.
fn adds_up(sizes: &[(&str, &str, f64)]) -> bool {
    let total = sizes.iter().find(|(label, ..)| *label == "total").map(|(.., value)| *value);
    let own = sizes.iter().filter(|(label, ..)| matches!(*label, "free" | "used"));
    total.is_none_or(|total| own.map(|(.., value)| value).sum::<f64>() <= total * 1.01)
}

/// Numbers with the word behind each: `217 total,` or `2074844k total,` as label, suffix, number.
fn labelled(text: &str) -> Vec<(&str, &str, f64)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.iter().zip(words.iter().skip(1));
    let numbers = pairs.filter_map(|(word, label)| {
        let (value, suffix) = number_and_unit(word)?;
        Some((label.trim_end_matches([',', '.']), suffix, value))
    });
    numbers.collect()
}

#[cfg(test)]
#[path = "top_tests.rs"]
mod tests;
