//! `sadf -j`: the JSON of a sysstat binary, read as it comes: one sample at a time is in memory.
//! `mpstat`, `iostat` and `pidstat` with `-o JSON` have the same frame.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::banner;
use super::columns::{self, RowSubject, TABLES, Table};
use super::table::is_sane;
use super::time;
use crate::recording::readers::json::{Bounded, VALUES_MAX};
use crate::recording::{Builder, Clock, Field, SourceKind, Stamp, Subject};

/// Reads the text if it is this tool's.
pub(in crate::recording::readers) fn read(bytes: &[u8], out: &mut Builder) -> bool {
    if !is_sadf(bytes) {
        return false;
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let mut host = Host::of(kind_of(bytes));
    let walk = Walk { step: Step::Document, host: &mut host, out };
    let read = walk.deserialize(&mut json).and_then(|()| json.end());
    if let Err(error) = read {
        let what = if error.is_eof() {
            "truncated".to_owned()
        } else if error.is_data() {
            format!("a sample of more than {VALUES_MAX} values, or none at all")
        } else {
            "damaged".to_owned()
        };
        let (line, column) = (error.line(), error.column());
        host.begin(out);
        out.input_problem(format!(
            "{what}: the JSON of sadf cannot be read beyond line {line}, column {column}; what \
             stands before is kept"
        ));
    }
    true
}

/// `{"sysstat": ...` with any blanks.
fn is_sadf(bytes: &[u8]) -> bool {
    let inside = bytes.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    inside.is_some_and(|inside| inside.starts_with(b"\"sysstat\""))
}

/// What the text says about a machine before its samples.
struct Host {
    name: Option<String>,
    kernel: Option<String>,
    machine: Option<String>,
    cpus: Option<f64>,
    date: Option<Stamp>,
    begun: bool,
    kind: SourceKind,
    /// The first report of `iostat` shows the time since the machine started, if others follow.
    first: Option<Value>,
    reports: usize,
}

/// How far the name of a section lies from the start: a machine's facts stand before it.
const HEAD_BYTES: usize = 4096;

/// Which tool wrote it.
fn kind_of(bytes: &[u8]) -> SourceKind {
    let head = String::from_utf8_lossy(bytes.get(..HEAD_BYTES).unwrap_or(bytes));
    match () {
        () if head.contains("\"file-date\"") => SourceKind::SadfJson,
        () if head.contains("\"avg-cpu\"") || head.contains("\"disk_device\"") => {
            SourceKind::Iostat
        }
        () if head.contains("\"task-") || head.contains("\"child-") => SourceKind::Pidstat,
        () if head.contains("\"date\"") && head.contains("\"cpu-load\"") => SourceKind::Mpstat,
        () => SourceKind::SadfJson,
    }
}

impl Host {
    /// Nothing is known yet.
    fn of(kind: SourceKind) -> Self {
        let (name, kernel, machine, cpus, date, first) = (None, None, None, None, None, None);
        Self { name, kernel, machine, cpus, date, begun: false, kind, first, reports: 0 }
    }

    fn begin(&mut self, out: &mut Builder) {
        if self.begun {
            return;
        }
        self.begun = true;
        if let Some(name) = &self.name {
            out.host(name);
        }
        out.begin(self.kind, 1);
        if let Some(kernel) = &self.kernel {
            out.setting("kernel", kernel);
        }
        self.machine.iter().for_each(|machine| out.machine(machine));
        out.put_known(
            Field::CpuCount,
            &Subject::Machine,
            None,
            self.cpus.filter(|cpus| *cpus > 0.0),
        );
    }

    fn fact(&mut self, key: &str, value: &Value) {
        match key {
            "nodename" => self.name = value.as_str().map(str::to_owned),
            "release" => self.kernel = value.as_str().map(str::to_owned),
            "machine" => self.machine = value.as_str().map(str::to_owned),
            "number-of-cpus" => self.cpus = value.as_f64(),
            "file-date" | "date" => {
                self.date = value.as_str().and_then(|text| banner::date(text, false));
            }
            _ => {}
        }
    }
}

/// Where in the document a value is.
#[derive(Clone, Copy, Debug)]
enum Step {
    Document,
    Sysstat,
    Hosts,
    Host,
    Statistics,
    Restarts,
}

/// Reads the value at a step.
struct Walk<'a> {
    step: Step,
    host: &'a mut Host,
    out: &'a mut Builder,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "what sadf writes as {:?}", self.step)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let next = match (self.step, key.as_str()) {
                (Step::Document, "sysstat") => Step::Sysstat,
                (Step::Sysstat, "hosts") => Step::Hosts,
                (Step::Host, "statistics") => Step::Statistics,
                (Step::Host, "restarts") => Step::Restarts,
                (Step::Host, key) => {
                    self.host.fact(key, &map.next_value_seed(Bounded(&Cell::new(0)))?);
                    continue;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if matches!(next, Step::Statistics | Step::Restarts) {
                self.host.begin(self.out);
            }
            map.next_value_seed(Walk { step: next, host: &mut *self.host, out: &mut *self.out })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        loop {
            match self.step {
                Step::Hosts => {
                    *self.host = Host::of(self.host.kind);
                    let walk =
                        Walk { step: Step::Host, host: &mut *self.host, out: &mut *self.out };
                    if seq.next_element_seed(walk)?.is_none() {
                        return Ok(());
                    }
                    self.host.begin(self.out);
                }
                Step::Statistics => match seq.next_element_seed(Bounded(&Cell::new(0)))? {
                    Some(sample) => self.host.sample(sample, self.out),
                    None => {
                        self.host.end(self.out);
                        return Ok(());
                    }
                },
                Step::Restarts => match seq.next_element_seed(Bounded(&Cell::new(0)))? {
                    Some(restart) => put_restart(&restart, self.out),
                    None => return Ok(()),
                },
                Step::Document | Step::Sysstat | Step::Host => {
                    if seq.next_element::<IgnoredAny>()?.is_none() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// The time in an object with `date`, `time` and, where they are UTC, `utc` (to 12.6) or `tz`.
pub(super) fn stamp(object: &Value, out: &mut Builder) -> Option<Stamp> {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    let midnight = banner::date(text("date")?, false)?;
    let (at, _) = time::time(text("time")?)?;
    let utc = object.get("utc").and_then(Value::as_u64) == Some(1);
    if utc || text("tz") == Some("UTC") {
        out.clock(Clock::Utc);
    }
    Some(Stamp(midnight.0 + at.second_of_day()))
}

fn put_restart(restart: &Value, out: &mut Builder) {
    let at = restart.get("boot").and_then(|boot| stamp(boot, out));
    if at.is_some() {
        out.restart(at);
    }
}

impl Host {
    fn sample(&mut self, sample: Value, out: &mut Builder) {
        self.reports += 1;
        if self.kind == SourceKind::Iostat && self.reports == 1 {
            self.first = Some(sample);
            return;
        }
        self.first = None;
        self.put(&sample, out);
    }

    /// No other report follows: the first one is all there is.
    fn end(&mut self, out: &mut Builder) {
        if let Some(only) = self.first.take() {
            self.put(&only, out);
        }
    }

    fn put(&self, sample: &Value, out: &mut Builder) {
        let Some(sample) = sample.as_object() else { return };
        let at = sample.get("timestamp").and_then(|timestamp| match timestamp.as_str() {
            Some(text) => self.moment(text, out),
            None => stamp(timestamp, out),
        });
        put_sections(sample, at, out);
    }

    /// `mpstat` has a time of the day, `iostat -t` a date before it; with `-H` or `-U` they count
    /// seconds since 1970.
    fn moment(&self, text: &str, out: &mut Builder) -> Option<Stamp> {
        if let Some(at) = text.parse().ok().map(Stamp).filter(|at| at.has_date()) {
            out.clock(Clock::Utc);
            return Some(at);
        }
        let day = |(at, rest): (Stamp, &str)| {
            let midnight = self.date.map_or(0, |date| date.0);
            rest.trim().is_empty().then(|| Stamp(midnight + at.second_of_day()))
        };
        time::time(text).and_then(day).or_else(|| super::iostat::moment(text, false))
    }
}

fn put_sections(sections: &Map<String, Value>, at: Option<Stamp>, out: &mut Builder) {
    for (name, section) in sections {
        match (name.as_str(), section) {
            ("network" | "psi", Value::Object(inner)) => put_sections(inner, at, out),
            ("interrupts", Value::Array(rows)) => put_interrupts(rows, at, out),
            ("io", Value::Object(io)) => put_section("io", &Value::Object(flat(io)), at, out),
            (name, section) => put_section(name, section, at, out),
        }
    }
}

/// `io` has its columns in objects for reads and writes.
fn flat(object: &Map<String, Value>) -> Map<String, Value> {
    let mut all = Map::new();
    for (key, value) in object {
        match value {
            Value::Object(inner) => all.extend(inner.iter().map(|(k, v)| (k.clone(), v.clone()))),
            other => {
                all.insert(key.clone(), other.clone());
            }
        }
    }
    all
}

pub(super) fn put_section(name: &str, section: &Value, at: Option<Stamp>, out: &mut Builder) {
    for table in TABLES.iter().filter(|table| table.sections.contains(&name)) {
        match section {
            Value::Object(row) => put_row(table, row, at, out),
            Value::Array(rows) => {
                for row in rows.iter().filter_map(Value::as_object) {
                    put_row(table, row, at, out);
                }
            }
            _ => {}
        }
    }
}

fn put_row(table: &Table, row: &Map<String, Value>, at: Option<Stamp>, out: &mut Builder) {
    let Some(subject) = subject(table.kind, row) else { return };
    let number = |key: &str| row.get(key).and_then(Value::as_f64);
    if is_thread(row) {
        if let Some(cpu) = number("cpu") {
            put(Field::ThreadCpu, &subject, at, cpu, out);
        }
        return;
    }
    // `iostat` has the names of its text as keys, without the percent sign.
    let named = |text: &'static str| number(text).or_else(|| number(text.strip_prefix('%')?));
    // A CPU that is offline has 0 everywhere, also where an idle one has 100.
    let shares = || table.columns.iter().filter_map(|column| number(column.parts[0].1));
    let idle = table.columns.iter().any(|column| column.field == Field::CpuIdle);
    if idle && matches!(subject, Subject::Cpu(_)) && shares().all(|share| share == 0.0) {
        return;
    }
    let mut done: Vec<Field> = Vec::with_capacity(table.columns.len());
    for column in &table.columns {
        let (text, key) = column.parts[0];
        // Older and newer columns stand side by side: the first one counts.
        if let Some(value) = number(key).or_else(|| named(text))
            && !done.contains(&column.field)
        {
            done.push(column.field);
            put(column.field, &subject, at, value * column.factor, out);
        }
    }
    if let Some(all) = &table.whole
        && let Some((part, percent)) = number(all.parts[0].1).zip(number(all.parts[1].1))
        && let Some(value) = columns::whole(part * all.factor, percent)
    {
        put(all.field, &subject, at, value, out);
    }
    for sum in &table.sums {
        let parts: Option<Vec<f64>> = sum.parts.iter().map(|(_, key)| number(key)).collect();
        if let Some(parts) = parts {
            put(sum.field, &subject, at, parts.iter().sum::<f64>() * sum.factor, out);
        }
    }
}

fn put(field: Field, subject: &Subject, at: Option<Stamp>, value: f64, out: &mut Builder) {
    if is_sane(field, value) {
        out.put(field, subject, at, value);
    } else {
        out.input_problem(format!("{value} as {}, which cannot be", field.about().key));
    }
}

fn subject(kind: RowSubject, row: &Map<String, Value>) -> Option<Subject> {
    let name = |key: &str| row.get(key).and_then(Value::as_str);
    match kind {
        RowSubject::Machine => Some(Subject::Machine),
        // `iostat` knows the machine only.
        RowSubject::Cpu if !row.contains_key("cpu") => Some(Subject::Machine),
        RowSubject::Cpu => match row.get("cpu")? {
            Value::String(all) if all == "all" => Some(Subject::Machine),
            Value::String(number) => number.parse().ok().map(Subject::Cpu),
            number => u32::try_from(number.as_u64()?).ok().map(Subject::Cpu),
        },
        RowSubject::Disk => {
            let disk = name("disk-device").or_else(|| name("disk_device"))?;
            // `iostat -g` sums up groups, whose names it indents.
            (!disk.starts_with(' ')).then(|| Subject::Disk(disk.to_owned()))
        }
        RowSubject::Filesystem => {
            let filesystem = name("filesystem").or_else(|| name("mountpoint"))?;
            Some(Subject::Filesystem(filesystem.to_owned()))
        }
        RowSubject::Interface => Some(Subject::Interface(name("iface")?.to_owned())),
        RowSubject::Process => {
            let id =
                if is_thread(row) { name("TID") } else { name("PID").or_else(|| name("TGID")) };
            Some(Subject::process(Some(id?.parse().ok()?), name("cmd")?))
        }
        RowSubject::Vector => None,
    }
}

/// A row of `pidstat -t` about one thread.
fn is_thread(row: &Map<String, Value>) -> bool {
    row.get("TID").and_then(Value::as_str).is_some_and(|id| !id.is_empty())
}

/// Interrupts: `value` up to 12.4, then `all` and a key for each CPU.
pub(super) fn put_interrupts(rows: &[Value], at: Option<Stamp>, out: &mut Builder) {
    for row in rows.iter().filter_map(Value::as_object) {
        let Some(name) = row.get("intr").and_then(Value::as_str) else { continue };
        for (key, value) in row {
            let cpu = match key.strip_prefix("CPU") {
                Some(number) => number.parse::<u32>().ok().map(Some),
                None => matches!(key.as_str(), "all" | "value").then_some(None),
            };
            let (Some(cpu), Some(value)) = (cpu, value.as_f64()) else { continue };
            let (field, subject) = match (name, cpu) {
                ("sum", None) => (Field::Interrupts, Subject::Machine),
                ("sum", Some(cpu)) => (Field::Interrupts, Subject::Cpu(cpu)),
                (name, cpu) => (Field::IrqRate, Subject::Vector { name: name.to_owned(), cpu }),
            };
            put(field, &subject, at, value, out);
        }
    }
}
