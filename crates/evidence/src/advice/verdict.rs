//! Whether a host is as its products want it: one row for each rule that holds, or may hold.

use super::book::Book;
use super::condition::{Holds, Subject, holds};
use super::detect::{Running, running};
use super::effective::{Because, Effective, under};
use super::facts::{Machine, Process};
use super::rule::{Product, Reads, Rule};
use super::setting::{ABSENT, Mode, PRESENT, Setting, accepts};
use super::version::Version;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a rule says of what is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "why")]
pub enum Verdict {
    /// It is otherwise.
    Wrong,
    /// It may be otherwise, depending on what no program can see, or on what could not be read.
    Depends(String),
    /// The value could not be read.
    Unknown,
    /// It is as it should be.
    Right,
    /// The setting has no effect on it: it has no transparent huge pages.
    Moot,
}

/// A rule, and the processes that it finds in one state.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The product.
    pub product: &'a Product,
    /// Its version.
    pub version: Option<Version>,
    /// The rule.
    pub rule: &'a Rule,
    /// The processes; none where the rule is about the machine.
    pub processes: Vec<&'a Process>,
    /// The value that counts.
    pub actual: Option<String>,
    /// What decides about the mode, of a rule about it.
    pub because: Option<Because>,
    /// What follows.
    pub verdict: Verdict,
}

impl Row<'_> {
    /// Whether the rule holds for certain.
    pub fn is_certain(&self) -> bool {
        !matches!(self.verdict, Verdict::Depends(_))
    }
}

/// What rules say of a host.
#[derive(Clone, Debug, Default)]
pub struct Findings<'a> {
    /// Products that run.
    pub running: Vec<Running<'a>>,
    /// Rows, by product.
    pub rows: Vec<Row<'a>>,
    /// Rules of products that run that do not hold here, by their number.
    pub elsewhere: usize,
}

/// Compares a host with what its products want. `today` is a day as ISO 8601 writes it.
pub fn findings<'a>(
    book: &'a Book,
    machine: &Machine,
    processes: &'a [Process],
    today: &str,
) -> Findings<'a> {
    let running = running(book, processes);
    let of_pid = products_by_pid(&running);
    let ids: Vec<&str> = running.iter().map(|one| one.product.id.as_str()).collect();
    let mut found = Findings::default();
    for one in &running {
        for rule in &one.product.rules {
            let before = found.rows.len();
            for process in subjects(one) {
                let products = process.and_then(|process| of_pid.get(&process.pid));
                let products = products.map(Vec::as_slice).unwrap_or_default();
                let own: Vec<&str> = products.iter().map(|product| product.id.as_str()).collect();
                let with = if process.is_some() { &own } else { &ids };
                let version = one.version.as_ref();
                let subject = Subject { machine, version, process, with };
                if let Some(row) = row(one, rule, &subject, products, today) {
                    add(&mut found.rows, row, before);
                }
            }
            found.elsewhere += usize::from(found.rows.len() == before);
        }
    }
    found.running = running.into_iter().filter(|one| is_here(one, &found.rows)).collect();
    found
}

/// A machine counts as a product where one of its rules holds.
fn is_here(one: &Running<'_>, rows: &[Row<'_>]) -> bool {
    !one.product.host || rows.iter().any(|row| row.product.id == one.product.id)
}

fn subjects<'a>(one: &Running<'a>) -> Vec<Option<&'a Process>> {
    match one.processes.is_empty() {
        true => vec![None],
        false => one.processes.iter().map(|process| Some(*process)).collect(),
    }
}

/// The products of each process, by pid.
pub(super) fn products_by_pid<'a>(running: &[Running<'a>]) -> BTreeMap<u32, Vec<&'a Product>> {
    let mut all: BTreeMap<u32, Vec<&Product>> = BTreeMap::new();
    for one in running {
        for process in &one.processes {
            all.entry(process.pid).or_default().push(one.product);
        }
    }
    all
}

/// Joins what is the same of several processes.
fn add<'a>(rows: &mut Vec<Row<'a>>, new: Row<'a>, first: usize) {
    let of_rule = rows.get_mut(first..).unwrap_or_default();
    let same = of_rule.iter_mut().find(|row| {
        row.actual == new.actual && row.because == new.because && row.verdict == new.verdict
    });
    match same {
        Some(row) => row.processes.extend(new.processes),
        None => rows.push(new),
    }
}

fn row<'a>(
    one: &Running<'a>,
    rule: &'a Rule,
    subject: &Subject<'_>,
    products: &[&Product],
    today: &str,
) -> Option<Row<'a>> {
    let holds = holds(rule, subject, today);
    if holds == Holds::No {
        return None;
    }
    let machine = subject.machine;
    let effective = subject
        .process
        .map(|process| under(machine.global(), process, products, machine))
        .unwrap_or(Effective { mode: machine.global(), because: Because::Global });
    let actual = actual(rule, subject, &effective);
    let is_tuning = matches!(rule.setting, Setting::ThpFile(_)) && subject.process.is_some();
    let is_mode = rule.setting == Setting::Thp && rule.reads == Reads::Process;
    let is_right = match &actual {
        Some(_) if is_mode => effective.is_one_of(&rule.accept),
        value => value.as_ref().map(|value| accepts(&rule.setting, &rule.accept, value)),
    };
    let verdict = match (holds, is_right) {
        (_, Some(true)) => Verdict::Right,
        _ if is_tuning && effective.mode == Some(Mode::Never) => Verdict::Moot,
        (Holds::Unknown(what), _) => Verdict::Depends(what),
        (_, Some(false)) => Verdict::Wrong,
        (_, None) => Verdict::Unknown,
    };
    let processes = one.processes.iter().copied();
    let processes = processes.filter(|one| subject.process.is_some_and(|own| own.pid == one.pid));
    Some(Row {
        product: one.product,
        version: one.version.clone(),
        rule,
        processes: processes.collect(),
        actual,
        because: is_mode.then_some(effective.because),
        verdict,
    })
}

/// The value of a setting that counts for a process.
fn actual(rule: &Rule, subject: &Subject<'_>, effective: &Effective) -> Option<String> {
    let machine = subject.machine;
    let known = |setting: &Setting| machine.settings.get(setting).cloned();
    match &rule.setting {
        Setting::Thp if rule.reads == Reads::Process => effective.mode.map(|mode| mode.to_string()),
        Setting::Argument(text) => of_argument(text, subject.process?),
        Setting::Environment(name) => {
            let environment = subject.process?.environment.as_ref()?;
            Some(environment.get(name).cloned().unwrap_or_else(|| ABSENT.to_owned()))
        }
        Setting::PageKib => machine.page.map(|page| (page.0 >> 10).to_string()),
        other => known(other),
    }
}

fn of_argument(text: &str, process: &Process) -> Option<String> {
    if process.arguments.is_empty() {
        return None;
    }
    for argument in &process.arguments {
        match argument.strip_prefix(text) {
            Some("") => return Some(PRESENT.to_owned()),
            Some(rest) if rest.starts_with('=') => return Some(rest.get(1..)?.to_owned()),
            _ => {}
        }
    }
    Some(ABSENT.to_owned())
}
