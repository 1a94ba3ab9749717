//! A table as its header lays it out, and its rows.

use std::collections::BTreeMap;

use super::columns::{self, PASSED_OVER, RowSubject, SOFT_VECTORS, Table};
use super::words::{self, Cell};
use crate::recording::{Builder, Field, SERIES_MAX, SeriesId, Stamp, Subject, Unit};

/// What a header says.
pub(super) enum Header {
    /// A table with fields.
    Table(Box<Layout>),
    /// A table that is known to have none, of this number of columns.
    Passed(usize),
}

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It ends too early.
    Truncated,
    /// It has other cells than the header.
    Other(String),
}

impl Wrong {
    /// What is said about a row that is left out for it.
    pub(super) fn text(self) -> String {
        match self {
            Self::Truncated => {
                "truncated: a row with fewer columns than its header; it is left out".to_owned()
            }
            Self::Other(why) => format!("a row has {why}; it is left out"),
        }
    }
}

/// What a cell is put as.
enum Target {
    /// A field about the row's subject.
    Field(Field),
    /// A vector; the row is a CPU.
    Vector { name: String, soft: bool },
    /// A CPU, or all of them; the row is a vector.
    Cpu(Option<u32>),
}

struct Value {
    /// The cells that make it up, together.
    cells: Vec<usize>,
    /// The cell that says how many percent of the value those are; none: they are all of it.
    percent: Option<usize>,
    target: Target,
    factor: f64,
}

/// Where things are in the rows of a table.
pub(super) struct Layout {
    kind: RowSubject,
    width: usize,
    subject: Option<usize>,
    command: Option<usize>,
    /// The column of `pidstat -t` that is `-` in the rows of threads.
    leader: Option<usize>,
    /// The columns of a thread's id and of its CPU time, where there are threads.
    thread: Option<(usize, usize)>,
    values: Vec<Value>,
    /// By the row's subject: the series of each value.
    series: Vec<(String, Vec<Option<SeriesId>>)>,
    index: BTreeMap<String, usize>,
    next: usize,
    last_decimals: Option<usize>,
}

/// Reads a header. `None` when it is none that is known.
pub(super) fn header(words: &[&str]) -> Option<Header> {
    // Every word of a header has a letter, and no number is among them.
    if words.is_empty() || words.iter().any(|word| words::number(word).is_some()) {
        return None;
    }
    let table = columns::TABLES.iter().find(|table| matches(table, words));
    let layout = table.map(|table| Layout::of(table, words));
    if let Some(layout) = layout.filter(|layout| !layout.values.is_empty()) {
        return Some(Header::Table(Box::new(layout)));
    }
    if words.iter().any(|word| PASSED_OVER.contains(word)) {
        return Some(Header::Passed(words.len()));
    }
    Layout::of_vectors(words).map(|layout| Header::Table(Box::new(layout)))
}

/// The tables whose columns these are, where a row says what it is about (`-`: the machine) and not
/// in which column.
pub(super) fn columns_of(subject: &str, names: &[&str]) -> Vec<Layout> {
    /// Headers of a row's subject; those of vectors fit any columns, and come last.
    const SUBJECTS: [&str; 5] = ["CPU", "DEV", "FILESYSTEM", "IFACE", "INTR"];
    if subject == "-" {
        let marked = |table: &&Table| {
            table.kind == RowSubject::Machine && table.marks.iter().all(|mark| names.contains(mark))
        };
        let tables = columns::TABLES.iter().filter(marked);
        return tables.map(|table| Layout::of(table, names)).collect();
    }
    // `sadf` writes `cpu3` for the column of a vector that `sar` heads `CPU3`.
    let columns: Vec<String> = names.iter().map(|name| name.replacen("cpu", "CPU", 1)).collect();
    for word in SUBJECTS {
        let mut header = vec![word];
        header.extend(columns.iter().map(String::as_str));
        let ours = |table: &&Table| subject_word(table.kind, word) && matches(table, &header);
        if let Some(table) = columns::TABLES.iter().find(ours) {
            return vec![Layout::of(table, &header)];
        }
    }
    Vec::new()
}

fn subject_word(kind: RowSubject, word: &str) -> bool {
    match kind {
        RowSubject::Machine => false,
        RowSubject::Cpu => word == "CPU",
        RowSubject::Disk => matches!(word, "DEV" | "Device" | "Device:"),
        RowSubject::Filesystem => matches!(word, "FILESYSTEM" | "MOUNTPOINT"),
        RowSubject::Interface => word == "IFACE",
        RowSubject::Vector => word == "INTR",
        RowSubject::Process => word == "PID" || word == "TGID",
    }
}

fn matches(table: &Table, words: &[&str]) -> bool {
    let marked = table.marks.iter().all(|mark| words.contains(mark));
    let known = |word: &&str| {
        let mut parts = table.columns.iter().chain(&table.sums).flat_map(|columns| &columns.parts);
        parts.any(|(text, _)| text == word)
    };
    // A table begins with its subject or with one of its own columns. Another word there means
    // something, such as a half of the day in a language that is not known.
    let own =
        |word: &&str| known(word) || table.marks.contains(word) || subject_word(table.kind, word);
    // `iostat -xh` has the device last, and begins one of its blocks with flushes; `sar -I` since
    // 12.7 begins with CPUs.
    let last = words.last().is_some_and(|last| subject_word(table.kind, last));
    let begins = words.first().is_some_and(|first| {
        (last && (*first == "f/s" || table.kind == RowSubject::Vector && cpu_of(first).is_some()))
            || own(first)
            || (table.kind == RowSubject::Process && matches!(*first, "UID" | "USER"))
    });
    let subject = matches!(table.kind, RowSubject::Machine | RowSubject::Cpu)
        || words.iter().any(|word| subject_word(table.kind, word));
    marked && begins && subject && (table.kind == RowSubject::Vector || words.iter().any(known))
}

impl Layout {
    fn empty(kind: RowSubject, words: &[&str]) -> Self {
        let place = |wanted: &str| words.iter().position(|word| *word == wanted);
        Self {
            kind,
            width: words.len(),
            subject: words.iter().position(|word| subject_word(kind, word)),
            command: place("Command").filter(|_| kind == RowSubject::Process),
            leader: place("TGID"),
            thread: place("TID").zip(place("%CPU")),
            values: Vec::new(),
            series: Vec::new(),
            index: BTreeMap::new(),
            next: 0,
            last_decimals: None,
        }
    }

    fn of(table: &Table, words: &[&str]) -> Self {
        let mut layout = Self::empty(table.kind, words);
        let place = |wanted: &str| words.iter().position(|word| *word == wanted);
        for column in &table.columns {
            let has = |value: &Value| matches!(value.target, Target::Field(f) if f == column.field);
            if let Some(at) = place(column.parts[0].0)
                && !layout.values.iter().any(has)
            {
                let target = Target::Field(column.field);
                let factor = column.factor;
                layout.values.push(Value { cells: vec![at], percent: None, target, factor });
            }
        }
        if let Some(whole) = &table.whole
            && let Some((part, percent)) = place(whole.parts[0].0).zip(place(whole.parts[1].0))
        {
            let (target, factor) = (Target::Field(whole.field), whole.factor);
            layout.values.push(Value { cells: vec![part], percent: Some(percent), target, factor });
        }
        for sum in &table.sums {
            let cells: Option<Vec<usize>> = sum.parts.iter().map(|(text, _)| place(text)).collect();
            if let Some(cells) = cells {
                let target = Target::Field(sum.field);
                let factor = sum.factor;
                layout.values.push(Value { cells, percent: None, target, factor });
            }
        }
        if table.kind == RowSubject::Vector {
            for (at, word) in words.iter().enumerate() {
                if let Some(cpu) = cpu_of(word) {
                    let target = Target::Cpu(cpu);
                    let cells = vec![at];
                    layout.values.push(Value { cells, percent: None, target, factor: 1.0 });
                }
            }
        }
        layout
    }

    /// `mpstat -I CPU` and `-I SCPU`: a column for each vector.
    fn of_vectors(words: &[&str]) -> Option<Self> {
        let (first, vectors) = words.split_first()?;
        let names: Option<Vec<&str>> = vectors.iter().map(|word| word.strip_suffix("/s")).collect();
        let names = names.filter(|names| *first == "CPU" && !names.is_empty())?;
        let soft = names.iter().all(|name| SOFT_VECTORS.contains(name));
        let hard = ["NMI", "LOC", "RES"].iter().any(|name| names.contains(name))
            || names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        if !soft && !hard {
            return None;
        }
        let mut layout = Self::empty(RowSubject::Cpu, words);
        for (at, name) in names.iter().enumerate() {
            let target = Target::Vector { name: (*name).to_owned(), soft };
            let cells = vec![at + 1];
            layout.values.push(Value { cells, percent: None, target, factor: 1.0 });
        }
        Some(layout)
    }

    /// How many columns it has.
    pub(super) const fn width(&self) -> usize {
        self.width
    }

    /// Gives a row's values.
    pub(super) fn row(
        &mut self,
        words: &[&str],
        mut give: impl FnMut(Field, &Subject, f64),
    ) -> Result<(), Wrong> {
        let values = self.check(words)?;
        let Some(values) = values else { return Ok(()) };
        let subject = self.subject_of(words)?;
        for (value, number) in self.values.iter().zip(values) {
            if let Some(number) = number {
                let (field, about) = target(&value.target, &subject);
                give(field, &about, number);
            }
        }
        Ok(())
    }

    /// Puts a row's values.
    pub(super) fn put(
        &mut self,
        words: &[&str],
        at: Option<Stamp>,
        out: &mut Builder,
    ) -> Result<(), Wrong> {
        let Some(values) = self.check(words)? else {
            self.put_thread(words, at, out);
            return Ok(());
        };
        let place = self.place(words, out)?;
        let Some((_, series)) = self.series.get(place) else { return Ok(()) };
        for (id, value) in series.iter().zip(values) {
            if let (Some(id), Some(value)) = (id, value) {
                out.push(*id, at, value);
            }
        }
        Ok(())
    }

    /// A row of a thread: its CPU time, by its own id and name.
    fn put_thread(&self, words: &[&str], at: Option<Stamp>, out: &mut Builder) {
        let cell = |at: usize| words.get(at).copied().unwrap_or("");
        let Some((id, cpu)) = self.thread else { return };
        let (Ok(id), Cell::Number(cpu)) = (cell(id).parse(), words::cell(cell(cpu))) else {
            return;
        };
        let name = self.command_of(words);
        let name = name.trim_start_matches(['|', '_', ' ']);
        if is_sane(Field::ThreadCpu, cpu) {
            out.put(Field::ThreadCpu, &Subject::process(Some(id), name), at, cpu);
        }
    }

    /// The numbers of a row in fields' units, `None` for a row that is passed over.
    fn check(&mut self, words: &[&str]) -> Result<Option<Vec<Option<f64>>>, Wrong> {
        let Some(cells) = words.get(..self.width) else { return Err(Wrong::Truncated) };
        // What follows the columns is a note, but a number there means another layout.
        let extra = words.get(self.width).filter(|_| self.command.is_none());
        if extra.is_some_and(|extra| words::number(extra).is_some()) {
            return Err(Wrong::Other("more columns than its header".to_owned()));
        }
        if self.leader.and_then(|at| cells.get(at)).is_some_and(|word| *word == "-") {
            return Ok(None);
        }
        let mut numbers = Vec::with_capacity(self.values.len());
        for value in &self.values {
            numbers.push(self.number(value, cells)?);
        }
        if self.command.is_none()
            && let Some(last) = cells.last().filter(|word| words::number(word).is_some())
        {
            // Every tool prints a column with the same number of decimals.
            let decimals = words::decimals(last);
            if decimals < *self.last_decimals.get_or_insert(decimals) {
                return Err(Wrong::Truncated);
            }
        }
        Ok(Some(numbers).filter(|numbers| !self.is_offline(cells, numbers)))
    }

    /// Whether a row is of a CPU that is offline: until version 12 it has 0 everywhere, also where
    /// an idle one has 100.
    fn is_offline(&self, cells: &[&str], numbers: &[Option<f64>]) -> bool {
        let is_idle = |value: &Value| matches!(value.target, Target::Field(Field::CpuIdle));
        let one = self.subject.and_then(|at| cells.get(at)).is_some_and(|name| *name != "all");
        self.kind == RowSubject::Cpu
            && one
            && self.values.iter().any(is_idle)
            && numbers.iter().all(|number| *number == Some(0.0))
    }

    fn number(&self, value: &Value, cells: &[&str]) -> Result<Option<f64>, Wrong> {
        let field = match &value.target {
            Target::Field(field) => *field,
            Target::Vector { .. } | Target::Cpu(_) => Field::IrqRate,
        };
        let size = matches!(field.about().unit, Unit::Bytes | Unit::BytesPerSecond);
        let mut sum = 0.0;
        for at in &value.cells {
            let word = cells.get(*at).copied().unwrap_or("");
            sum += match words::cell(word) {
                Cell::Number(number) => number * value.factor,
                Cell::Bytes(bytes) if size => bytes,
                Cell::Absent => return Ok(None),
                Cell::Bytes(_) | Cell::Bad => {
                    return Err(Wrong::Other(format!("'{}', which is no number", short(word))));
                }
            };
        }
        if let Some(at) = value.percent {
            let Cell::Number(percent) = words::cell(cells.get(at).copied().unwrap_or("")) else {
                return Ok(None);
            };
            return Ok(columns::whole(sum, percent).filter(|sum| is_sane(field, *sum)));
        }
        // pidstat says -1 where it has no permission.
        if self.kind == RowSubject::Process && sum < 0.0 {
            return Ok(None);
        }
        if !is_sane(field, sum) {
            return Err(Wrong::Other(format!("{sum} as {}, which cannot be", field.about().key)));
        }
        Ok(Some(sum))
    }

    /// The place of the row's series, in the order of the rows before where that continues.
    fn place(&mut self, words: &[&str], out: &mut Builder) -> Result<usize, Wrong> {
        let key = match (self.kind, self.subject.and_then(|at| words.get(at))) {
            (RowSubject::Process, Some(pid)) => format!("{pid} {}", self.command_of(words)),
            (_, Some(word)) => {
                let next = self.next;
                if self.series.get(next).is_some_and(|(name, _)| name == word) {
                    self.next += 1;
                    return Ok(next);
                }
                (*word).to_owned()
            }
            (_, None) if !self.series.is_empty() => return Ok(0),
            (_, None) => String::new(),
        };
        if let Some(&found) = self.index.get(&key) {
            self.next = found + 1;
            return Ok(found);
        }
        let subject = self.subject_of(words)?;
        if self.series.len() >= SERIES_MAX {
            return Ok(self.series.len());
        }
        let ids = self.values.iter().map(|value| {
            let (field, about) = target(&value.target, &subject);
            out.series(field, &about)
        });
        self.series.push((key.clone(), ids.collect()));
        let place = self.series.len() - 1;
        self.index.insert(key, place);
        self.next = place + 1;
        Ok(place)
    }

    fn command_of(&self, words: &[&str]) -> String {
        let found = self.command.and_then(|at| words.get(at..)).unwrap_or_default();
        command(found)
    }

    fn subject_of(&self, words: &[&str]) -> Result<Subject, Wrong> {
        let Some(word) = self.subject.and_then(|at| words.get(at)) else {
            return Ok(Subject::Machine);
        };
        let number = word.parse::<u32>().ok();
        let wrong = || Wrong::Other(format!("'{}' where a number should be", short(word)));
        match self.kind {
            RowSubject::Machine => Ok(Subject::Machine),
            RowSubject::Cpu if matches!(*word, "all" | "ALL") => Ok(Subject::Machine),
            RowSubject::Cpu => number.map(Subject::Cpu).ok_or_else(wrong),
            RowSubject::Disk => Ok(Subject::Disk((*word).to_owned())),
            RowSubject::Filesystem => Ok(Subject::Filesystem((*word).to_owned())),
            RowSubject::Interface => Ok(Subject::Interface((*word).to_owned())),
            RowSubject::Vector if *word == "sum" => Ok(Subject::Machine),
            RowSubject::Vector => Ok(Subject::Vector { name: (*word).to_owned(), cpu: None }),
            RowSubject::Process => {
                let pid = number.ok_or_else(wrong)?;
                Ok(Subject::process(Some(pid), &self.command_of(words)))
            }
        }
    }
}

/// The CPU that the column of a vector is about, `None` for all of them together.
fn cpu_of(word: &str) -> Option<Option<u32>> {
    match word.strip_prefix("CPU") {
        Some(number) => number.parse().ok().map(Some),
        // `all` since 12.6, before it `intr/s`.
        None => matches!(word, "all" | "intr/s").then_some(None),
    }
}

/// What a value of a row about `subject` is, and what about.
fn target(target: &Target, subject: &Subject) -> (Field, Subject) {
    match (target, subject) {
        (Target::Field(field), _) => (*field, subject.clone()),
        (Target::Vector { name, soft }, _) => {
            let cpu = if let Subject::Cpu(cpu) = subject { Some(*cpu) } else { None };
            let field = if *soft { Field::SoftirqRate } else { Field::IrqRate };
            (field, Subject::Vector { name: name.clone(), cpu })
        }
        (Target::Cpu(cpu), Subject::Vector { name, .. }) => {
            (Field::IrqRate, Subject::Vector { name: name.clone(), cpu: *cpu })
        }
        // The row `sum`.
        (Target::Cpu(Some(cpu)), _) => (Field::Interrupts, Subject::Cpu(*cpu)),
        (Target::Cpu(None), _) => (Field::Interrupts, Subject::Machine),
    }
}

/// Longest name of a task: `TASK_COMM_LEN` of the kernel, less the end mark.
const COMM_MAX: usize = 15;

/// A command's name without its arguments, which `pidstat -l` shows as well.
fn command(words: &[&str]) -> String {
    let note = words.iter().position(|word| word.starts_with("<-")).unwrap_or(words.len());
    let words = words.get(..note).unwrap_or_default();
    let all = words.join(" ");
    let first = words.first().copied().unwrap_or("");
    if all.len() <= COMM_MAX && !first.starts_with('/') && !all.contains(" -") {
        return all;
    }
    first.rsplit('/').next().unwrap_or(first).to_owned()
}

/// Ticks of 10 ms that end just within a short interval make more than 100 of it.
const THREAD_MAX: f64 = 110.0;

/// Whether a value can be: no negative amounts, and no CPU, nor a thread, busy for more than all of
/// the time (the tools' rounding apart).
pub(in crate::recording::readers) fn is_sane(field: Field, value: f64) -> bool {
    let share = (Field::CpuUser..=Field::CpuIdle).contains(&field);
    let thread = field == Field::ThreadCpu;
    let most = if share {
        101.0
    } else if thread {
        THREAD_MAX
    } else {
        f64::INFINITY
    };
    value.is_finite() && value >= 0.0 && value <= most
}

/// The start of a word, for a message.
fn short(word: &str) -> String {
    word.chars().take(20).collect()
}
