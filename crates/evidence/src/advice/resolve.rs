//! What to do where products want different things: for each the way of least reach, and the
//! global mode under which every one of them can have what it wants.

use super::effective::{Because, Effective, under, works};
use super::facts::{Machine, Process};
use super::rule::{Level, Product, Reads, Rule, SwitchKind};
use super::setting::{Mode, Setting, accepts, range_of};
use super::verdict::{Findings, Row, Verdict, products_by_pid};
use super::version::Version;
use serde::Serialize;
use std::collections::BTreeMap;

/// First version of systemd that has `MemoryTHP=`.
const MEMORY_THP: u32 = 260;

/// How a product gets the mode that it wants, in the order of reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "way")]
pub enum Way {
    /// It has it.
    Nothing,
    /// Its own switch: configuration or arguments.
    Switch {
        /// What to set.
        set: String,
    },
    /// Its environment.
    Environment {
        /// What to set.
        set: String,
    },
    /// A drop-in of its unit.
    Unit {
        /// The unit.
        unit: String,
        /// What to set there.
        set: String,
    },
    /// Its start by `hugewise advise run`.
    Run {
        /// The policy.
        policy: Mode,
    },
    /// A manager, which makes its memory huge in the background.
    Manage,
    /// None.
    None {
        /// Why there is none.
        why: Obstacle,
    },
}

/// Why a product cannot have the mode that it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// It reads the global file, and acts on that.
    ReadsGlobal,
    /// It refuses huge pages for itself.
    RefusesThem,
    /// Under the global mode `never` nothing gives huge pages.
    GlobalNever,
    /// The kernel cannot keep huge pages from what was not advised (before Linux 6.18).
    KernelTooOld,
}

impl Obstacle {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::ReadsGlobal => "it reads the global file and acts on that",
            Self::RefusesThem => "it refuses huge pages for itself (PR_SET_THP_DISABLE)",
            Self::GlobalNever => "nothing gives huge pages while the global mode is 'never'",
            Self::KernelTooOld => "only Linux 6.18 and later can limit a process to advised memory",
        }
    }
}

/// What is to be done for a product.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// The product.
    pub product: &'a Product,
    /// Its version.
    pub version: Option<Version>,
    /// The rule.
    pub rule: &'a Rule,
    /// Its processes.
    pub processes: Vec<&'a Process>,
    /// How.
    pub way: Way,
}

/// A setting of the machine, and what is wanted of it.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// The setting.
    pub setting: Setting,
    /// Its value.
    pub actual: Option<String>,
    /// A value that all rules accept, or, failing that, all that demand one; `None`: there is none.
    pub value: Option<String>,
    /// The rules.
    pub rules: Vec<&'a Rule>,
    /// Rules that do not accept [`Wanted::value`].
    pub against: Vec<&'a Rule>,
}

/// What to do.
#[derive(Clone, Debug, Default)]
pub struct Resolution<'a> {
    /// The global mode as it is.
    pub global: Option<Mode>,
    /// The file that decides about it, below the root.
    pub global_file: Option<String>,
    /// The global mode as it should be; `None`: no rule is about it.
    pub wanted_global: Option<Mode>,
    /// No mode is right for all as a global one.
    pub is_conflict: bool,
    /// What each product needs under [`Resolution::wanted_global`], and what has none first.
    pub steps: Vec<Step<'a>>,
    /// Other settings, by name.
    pub settings: Vec<Wanted<'a>>,
    /// Processes whose mode a change of the global one would change, those with most huge memory
    /// first.
    pub touched: Vec<&'a Process>,
}

impl Resolution<'_> {
    /// Steps that cannot be taken.
    pub fn unresolved(&self) -> impl Iterator<Item = &Step<'_>> {
        self.steps.iter().filter(|step| matches!(step.way, Way::None { .. }))
    }
}

/// Rows that count: rules that hold for certain and have an effect.
fn needs<'f, 'a>(findings: &'f Findings<'a>, about_mode: bool) -> Vec<&'f Row<'a>> {
    let all = findings.rows.iter();
    let counts = |row: &&Row<'_>| row.is_certain() && row.verdict != Verdict::Moot;
    all.filter(counts).filter(|row| (row.rule.setting == Setting::Thp) == about_mode).collect()
}

/// Finds out what to do.
pub fn resolve<'a>(
    findings: &Findings<'a>,
    machine: &Machine,
    processes: &'a [Process],
) -> Resolution<'a> {
    let modes = needs(findings, true);
    let of_pid = products_by_pid(&findings.running);
    let global = machine.global();
    let global_file = machine.global_file.clone();
    let mut resolution = Resolution { global, global_file, ..Resolution::default() };
    resolution.settings = settings(&needs(findings, false), machine);
    if modes.is_empty() {
        return resolution;
    }
    let accepts_mode =
        |row: &&Row<'_>, mode: Mode| row.rule.accept.iter().any(|one| one == mode.name());
    resolution.is_conflict =
        !Mode::ALL.iter().any(|mode| modes.iter().all(|row| accepts_mode(row, *mode)));
    let plan = |mode: Mode| -> Vec<Step<'a>> {
        modes.iter().flat_map(|row| steps(row, mode, machine, &of_pid)).collect()
    };
    let plans = Mode::ALL.map(|mode| (mode, plan(mode)));
    let best = plans.into_iter().min_by_key(|(mode, steps)| cost(*mode, steps, global));
    let Some((mode, mut steps)) = best else { return resolution };
    steps.sort_by_key(|step| !matches!(step.way, Way::None { .. }));
    resolution.wanted_global = Some(mode);
    resolution.steps = steps;
    if Some(mode) != global {
        resolution.touched = touched(mode, machine, processes, &of_pid);
    }
    resolution
}

/// What a global mode costs: demands that nothing satisfies, recommendations that nothing
/// satisfies, whether the mode changes at all, and the reach of everything else.
fn cost(mode: Mode, steps: &[Step<'_>], global: Option<Mode>) -> (usize, usize, bool, usize) {
    let none = |level: Level| {
        let has_none =
            |step: &&Step<'_>| step.rule.level == level && matches!(step.way, Way::None { .. });
        steps.iter().filter(has_none).count()
    };
    let reach = steps.iter().map(|step| reach(&step.way)).sum();
    (none(Level::Required), none(Level::Recommended), Some(mode) != global, reach)
}

const fn reach(way: &Way) -> usize {
    match way {
        Way::Nothing => 0,
        Way::Switch { .. } => 1,
        Way::Environment { .. } => 2,
        Way::Unit { .. } => 3,
        Way::Run { .. } => 4,
        Way::Manage => 5,
        Way::None { .. } => 6,
    }
}

/// What a row needs under a global mode: processes that need the same are one step.
fn steps<'a>(
    row: &Row<'a>,
    global: Mode,
    machine: &Machine,
    of_pid: &BTreeMap<u32, Vec<&'a Product>>,
) -> Vec<Step<'a>> {
    let mut ways: BTreeMap<Way, Vec<&'a Process>> = BTreeMap::new();
    if row.processes.is_empty() {
        let is_right = row.rule.accept.iter().any(|one| one == global.name());
        let why = Obstacle::ReadsGlobal;
        ways.insert(if is_right { Way::Nothing } else { Way::None { why } }, Vec::new());
    }
    for process in &row.processes {
        let products = of_pid.get(&process.pid).map(Vec::as_slice).unwrap_or_default();
        let effective = under(Some(global), process, products, machine);
        ways.entry(way(row, process, global, &effective, machine)).or_default().push(process);
    }
    let step = |(way, processes)| Step {
        product: row.product,
        version: row.version.clone(),
        rule: row.rule,
        processes,
        way,
    };
    ways.into_iter().map(step).collect()
}

fn way(
    row: &Row<'_>,
    process: &Process,
    global: Mode,
    effective: &Effective,
    machine: &Machine,
) -> Way {
    let accept = |mode: Mode| row.rule.accept.iter().any(|one| one == mode.name());
    if row.rule.reads == Reads::Global {
        let why = Obstacle::ReadsGlobal;
        return if accept(global) { Way::Nothing } else { Way::None { why } };
    }
    if effective.is_one_of(&row.rule.accept) == Some(true) {
        return Way::Nothing;
    }
    if let Some(way) = own_switch(row, global) {
        return way;
    }
    if accept(Mode::Never) {
        return by_start(row, process, Mode::Never, machine);
    }
    if effective.because == Because::Refused {
        return Way::None { why: Obstacle::RefusesThem };
    }
    match global {
        Mode::Never => Way::None { why: Obstacle::GlobalNever },
        // What is accepted here is `always` alone.
        Mode::Madvise => Way::Manage,
        // ... and here `madvise` alone; `always` is what it has, but for what it said itself.
        Mode::Always if !accept(Mode::Madvise) => Way::None { why: Obstacle::RefusesThem },
        Mode::Always if machine.except_advised == Some(true) => {
            by_start(row, process, Mode::Madvise, machine)
        }
        Mode::Always => Way::None { why: Obstacle::KernelTooOld },
    }
}

/// The product's own switch, its configuration and arguments first.
fn own_switch(row: &Row<'_>, global: Mode) -> Option<Way> {
    let fits = |switch: &&super::rule::Switch| {
        let mode = switch.mode.mode();
        let in_range = row.version.as_ref().is_none_or(|version| switch.versions.contains(version));
        let is_wanted =
            mode.is_some_and(|mode| row.rule.accept.iter().any(|one| one == mode.name()));
        is_wanted && in_range && works(switch, global) && switch.kind != SwitchKind::Code
    };
    let switch = row.product.switches.iter().filter(fits).min_by_key(|switch| switch.kind)?;
    let set = switch.text.clone();
    Some(match switch.kind {
        SwitchKind::Environment => Way::Environment { set },
        _ => Way::Switch { set },
    })
}

/// A limit that a process is started with.
fn by_start(row: &Row<'_>, process: &Process, policy: Mode, machine: &Machine) -> Way {
    let has_memory_thp = machine.systemd.is_some_and(|found| found >= MEMORY_THP);
    let unit = process.unit.clone().or_else(|| row.product.units.first().cloned());
    match unit.filter(|unit| has_memory_thp && unit.ends_with(".service")) {
        Some(unit) => {
            let value = if policy == Mode::Never { "disable" } else { "madvise" };
            Way::Unit { unit, set: format!("MemoryTHP={value}") }
        }
        None => Way::Run { policy },
    }
}

/// Settings that are files of the machine, with the value that suits most.
fn settings<'a>(rows: &[&Row<'a>], machine: &Machine) -> Vec<Wanted<'a>> {
    let mut by_setting: BTreeMap<&Setting, Vec<&'a Rule>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.rule.setting.file().is_some()) {
        let rules = by_setting.entry(&row.rule.setting).or_default();
        if rules.iter().all(|rule| rule.id != row.rule.id) {
            rules.push(row.rule);
        }
    }
    let wanted = by_setting.into_iter().map(|(setting, rules)| {
        let actual = machine.settings.get(setting).cloned();
        let value = common(setting, &rules, actual.as_deref());
        let is_against = |rule: &&&Rule| {
            value.as_ref().is_some_and(|value| !accepts(setting, &rule.accept, value))
        };
        let against = rules.iter().filter(is_against).copied().collect();
        Wanted { setting: setting.clone(), actual, value, rules, against }
    });
    wanted.collect()
}

/// A value that all accept, or else all that demand one: the one that is there, if it is one.
fn common(setting: &Setting, rules: &[&Rule], actual: Option<&str>) -> Option<String> {
    let required: Vec<&Rule> =
        rules.iter().filter(|rule| rule.level == Level::Required).copied().collect();
    for group in [rules, required.as_slice()].into_iter().filter(|group| !group.is_empty()) {
        let is_right = |value: &str| group.iter().all(|rule| accepts(setting, &rule.accept, value));
        if let Some(actual) = actual.filter(|actual| is_right(actual)) {
            return Some(actual.to_owned());
        }
        for wanted in group.iter().flat_map(|rule| &rule.accept) {
            let value = match range_of(wanted) {
                Some(range) => range.least(),
                None => Some(wanted.clone()),
            };
            if let Some(value) = value.filter(|value| is_right(value)) {
                return Some(value);
            }
        }
    }
    None
}

/// Processes whose mode differs under another global one.
fn touched<'a>(
    mode: Mode,
    machine: &Machine,
    processes: &'a [Process],
    of_pid: &BTreeMap<u32, Vec<&'a Product>>,
) -> Vec<&'a Process> {
    let changes = |process: &&Process| {
        let products = of_pid.get(&process.pid).map(Vec::as_slice).unwrap_or_default();
        let now = under(machine.global(), process, products, machine).mode;
        now != under(Some(mode), process, products, machine).mode
    };
    let mut all: Vec<&Process> = processes.iter().filter(changes).collect();
    all.sort_by_key(|process| std::cmp::Reverse((process.huge, process.rss)));
    all
}
