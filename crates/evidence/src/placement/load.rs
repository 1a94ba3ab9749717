//! What each host does, and which of its programs others do not have.

use crate::recording::{Field, Host, Recording, Series, Stamp, Subject};
use hugewise_base::stats::median;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A program explains a host if it takes so much of what the host uses beyond the middle, percent.
const SHARE_MIN_PERCENT: f64 = 20.0;
/// Most programs that are reported of a host.
const PROGRAMS_MAX: usize = 3;
/// A clock below this share of the rated one, or of the other hosts', makes a host slow. CPUs with
/// much to do run a little below their highest clock: a judgement.
const CLOCK_MIN_PERCENT: f64 = 85.0;
/// Points of CPU that the hypervisor takes beyond what it takes of others. A judgement.
const STEAL_MIN: f64 = 5.0;

/// Recordings whose times are so near to each other are of one time: seconds.
const NEAR_S: i64 = 600;

/// A host that is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub host: String,
    /// Why.
    pub why: String,
}

/// What a host does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostLoad {
    /// Its name.
    pub name: String,
    /// CPU in use, mean over its recording, percent of all its CPUs.
    pub busy_percent: f64,
    /// Its CPUs.
    pub cpus: Option<f64>,
    /// Whether no source says how many CPUs it has, and [`HostLoad::cpus`] follows from what its
    /// programs use and the share that this is: at least about this number.
    pub cpus_inferred: bool,
    /// How far it is from the middle, as a modified z-score.
    pub score: Option<f64>,
    /// Whether that is farther than hosts usually are.
    pub out_of_line: bool,
    /// Programs that use more CPU here than on other hosts, the greatest difference first; only of
    /// a host that is busier than others.
    pub programs: Vec<Program>,
    /// Other reasons for being busy with the same work.
    pub reasons: Vec<String>,
    #[serde(skip)]
    pub(super) used: BTreeMap<Subject, f64>,
    #[serde(skip)]
    clock_mhz: Option<(f64, Option<f64>)>,
    #[serde(skip)]
    steal_percent: Option<f64>,
    #[serde(skip)]
    span: Option<(Stamp, Stamp)>,
}

/// A program, all its processes together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// CPUs that it uses on this host.
    pub cpus: f64,
    /// The middle of what it uses on the other hosts: 0 where it is not among their busy ones.
    pub elsewhere_cpus: f64,
    /// The share of it in what the host uses beyond the middle, percent; `None` where the host's
    /// CPUs are not known.
    pub share_percent: Option<f64>,
}

impl HostLoad {
    /// Whether it is busier than others.
    pub(crate) fn is_too_busy(&self) -> bool {
        // Of two hosts there is no score: then only the fuller one is out of line.
        self.out_of_line && self.score.is_none_or(|score| score > 0.0)
    }

    /// Its program that uses most CPUs, and how many; `None` where its recording names none.
    pub fn busiest(&self) -> Option<(&str, f64)> {
        self.by_program().into_iter().max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn by_program(&self) -> BTreeMap<&str, f64> {
        let mut all = BTreeMap::new();
        for (subject, cpus) in &self.used {
            *all.entry(subject.process_name().unwrap_or_default()).or_insert(0.0) += cpus;
        }
        all
    }
}

/// All hosts that say what their CPUs do, and those that do not.
pub(super) fn loads(recording: &Recording) -> (Vec<HostLoad>, Vec<LeftOut>) {
    let (mut loads, mut left_out) = (Vec::new(), Vec::new());
    for (number, host) in recording.hosts.iter().enumerate() {
        let name = host.name.clone().unwrap_or_else(|| format!("host {}", number + 1));
        let why = || LeftOut { host: name.clone(), why: "no CPU use in its recording".into() };
        match load(&name, host) {
            Some(load) => loads.push(load),
            None => left_out.push(why()),
        }
    }
    (loads, left_out)
}

fn load(name: &str, host: &Host) -> Option<HostLoad> {
    let idle = host.series(Field::CpuIdle, &Subject::Machine)?;
    let waits = host.series(Field::CpuIowait, &Subject::Machine);
    let free = idle.mean()? + waits.and_then(Series::mean).unwrap_or(0.0);
    let one = |field| host.series(field, &Subject::Machine).and_then(Series::mean);
    let span = idle.points.first().and_then(|point| point.at);
    let span = span.zip(idle.points.last().and_then(|point| point.at));
    let counted = one(Field::CpuCount).or_else(|| {
        let cpus = host.subjects(Field::CpuIdle);
        let cpus = cpus.filter(|(subject, _)| matches!(subject, Subject::Cpu(_))).count();
        (cpus > 0).then_some(cpus as f64)
    });
    let busy_percent = (100.0 - free).clamp(0.0, 100.0);
    let used = used(host);
    let inferred = counted.is_none().then(|| inferred(&used, busy_percent)).flatten();
    Some(HostLoad {
        name: name.to_owned(),
        busy_percent,
        cpus: counted.or(inferred),
        cpus_inferred: inferred.is_some(),
        score: None,
        out_of_line: false,
        programs: Vec::new(),
        reasons: Vec::new(),
        used,
        clock_mhz: one(Field::CpuClock).map(|now| (now, one(Field::CpuRated))),
        steal_percent: one(Field::CpuSteal),
        span,
    })
}

/// Below this use, percent, what is not listed may be most of it.
const BUSY_INFER_MIN: f64 = 10.0;

/// How many CPUs there are at least about, where `top` shows their mean only: its programs use so
/// many, and that is the share that is in use. Programs that are not listed make it more.
fn inferred(used: &BTreeMap<Subject, f64>, busy_percent: f64) -> Option<f64> {
    let sum: f64 = used.values().sum();
    let cpus = (sum / busy_percent * 100.0).round();
    (busy_percent >= BUSY_INFER_MIN && cpus >= 1.0).then_some(cpus)
}

/// CPUs that each process uses on average. Tools list busy processes only: one that is missing in a
/// sample used next to nothing then.
fn used(host: &Host) -> BTreeMap<Subject, f64> {
    let mut times = BTreeMap::<_, (BTreeSet<Stamp>, usize)>::new();
    for (_, all) in host.subjects(Field::ProcCpu) {
        for series in all {
            let (stamps, most) = times.entry(series.source).or_default();
            stamps.extend(series.points.iter().filter_map(|point| point.at));
            *most = (*most).max(series.points.len());
        }
    }
    let samples = |series: &Series| {
        times.get(&series.source).map_or(1, |(stamps, most)| stamps.len().max(*most)).max(1)
    };
    let mut used = BTreeMap::new();
    for (subject, all) in host.subjects(Field::ProcCpu) {
        let percent = all.iter().map(|series| {
            let sum: f64 = series.points.iter().map(|point| point.value).sum();
            sum / samples(series) as f64
        });
        // Two tools that saw the same process: it did not work twice.
        let cpus = percent.fold(0.0, f64::max) / 100.0;
        used.insert(subject.clone(), cpus);
    }
    used
}

/// Whether all recordings overlap, or nearly so; `None` where that is not known.
pub(super) fn same_time(hosts: &[HostLoad]) -> Option<bool> {
    let spans = hosts.iter().map(|host| host.span.filter(|(from, _)| from.has_date()));
    let spans: Vec<(Stamp, Stamp)> = spans.collect::<Option<_>>()?;
    let latest = spans.iter().map(|(from, _)| *from).max()?;
    let earliest = spans.iter().map(|(_, to)| *to).min()?;
    Some(latest.0.saturating_sub(earliest.0) <= NEAR_S)
}

/// Says what makes hosts busy that are out of line.
pub(super) fn explain(hosts: &mut [HostLoad], middle: f64) {
    for at in 0..hosts.len() {
        let Some((host, others)) = apart(hosts, at) else { continue };
        if !host.is_too_busy() {
            continue;
        }
        let programs = programs(host, &others, middle);
        let reasons = reasons(host, &others);
        if let Some(host) = hosts.get_mut(at) {
            (host.programs, host.reasons) = (programs, reasons);
        }
    }
}

fn apart(hosts: &[HostLoad], at: usize) -> Option<(&HostLoad, Vec<&HostLoad>)> {
    let others = hosts.iter().enumerate().filter(|(other, _)| *other != at);
    Some((hosts.get(at)?, others.map(|(_, host)| host).collect()))
}

fn programs(host: &HostLoad, others: &[&HostLoad], middle: f64) -> Vec<Program> {
    let beyond = host.cpus.map(|cpus| cpus * (host.busy_percent - middle) / 100.0);
    let others = others.iter().filter(|other| !other.used.is_empty());
    let others: Vec<_> = others.map(|other| other.by_program()).collect();
    let all = host.by_program().into_iter().map(|(name, cpus)| {
        let elsewhere = others.iter().map(|other| other.get(name).copied().unwrap_or(0.0));
        let elsewhere: Vec<f64> = elsewhere.collect();
        let elsewhere_cpus = median(&elsewhere).unwrap_or(0.0);
        let share = beyond.filter(|beyond| *beyond > 0.0);
        let share_percent = share.map(|beyond| 100.0 * (cpus - elsewhere_cpus) / beyond);
        Program { name: name.to_owned(), cpus, elsewhere_cpus, share_percent }
    });
    let counts = |one: &Program| match one.share_percent {
        Some(share) => share >= SHARE_MIN_PERCENT,
        None => one.cpus > one.elsewhere_cpus,
    };
    let mut all: Vec<Program> = all.filter(counts).collect();
    let excess = |one: &Program| one.cpus - one.elsewhere_cpus;
    all.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
    all.truncate(PROGRAMS_MAX);
    all
}

/// Why the same work may take more of this host.
fn reasons(host: &HostLoad, others: &[&HostLoad]) -> Vec<String> {
    let mut reasons = Vec::new();
    let clocks: Vec<f64> = others.iter().filter_map(|other| Some(other.clock_mhz?.0)).collect();
    if let Some((now, rated)) = host.clock_mhz {
        let usual = median(&clocks).into_iter().chain(rated).fold(0.0, f64::max);
        if 100.0 * now < CLOCK_MIN_PERCENT * usual {
            reasons.push(format!(
                "its CPUs run at {now:.0} MHz, and should at {usual:.0}: see the governor \
                 (cpupower frequency-info), power limits and temperature"
            ));
        }
    }
    let steals: Vec<f64> = others.iter().filter_map(|other| other.steal_percent).collect();
    if let Some((own, usual)) = host.steal_percent.zip(median(&steals))
        && own - usual >= STEAL_MIN
    {
        reasons.push(format!(
            "the hypervisor takes {own:.0} % of its CPUs, and {usual:.0} % of the others': a \
             neighbour on the same machine"
        ));
    }
    reasons
}
