//! What moving a process to another host would give.

use super::load::HostLoad;
use crate::recording::Subject;
use serde::Serialize;

/// Moves that make the pair of hosts less busy by less than this are not worth the trouble: points
/// of CPU. A judgement.
const GAIN_MIN: f64 = 5.0;
/// A host beyond this has no room (`busy_high_percent` of `diagnose`).
pub(super) const BUSY_MAX: f64 = 90.0;

/// One process that would run on another host. An estimate: it is taken to need as many CPUs there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Move {
    /// The program.
    pub program: String,
    /// Its process, where the recording has it.
    pub pid: Option<u32>,
    /// CPUs that it uses.
    pub cpus: f64,
    /// The host that it leaves.
    pub from: String,
    /// CPU in use there, percent, before and after.
    pub from_percent: (f64, f64),
    /// The host that takes it.
    pub to: String,
    /// CPU in use there, percent, before and after.
    pub to_percent: (f64, f64),
}

impl Move {
    /// By how many points the busier one of the two hosts becomes less busy.
    pub(crate) fn gain_points(&self) -> f64 {
        self.from_percent.0 - self.from_percent.1.max(self.to_percent.1)
    }
}

/// The best move of each host that is too busy.
pub(super) fn moves(hosts: &[HostLoad]) -> Vec<Move> {
    let busy = hosts.iter().filter(|host| host.is_too_busy());
    let mut all: Vec<Move> = busy.filter_map(|host| best(host, hosts)).collect();
    all.sort_by(|a, b| b.gain_points().total_cmp(&a.gain_points()));
    all
}

fn best(from: &HostLoad, hosts: &[HostLoad]) -> Option<Move> {
    let takers: Vec<&HostLoad> =
        hosts.iter().filter(|host| host.busy_percent < from.busy_percent).collect();
    let all = from.used.iter().flat_map(|(subject, cpus)| {
        let (pid, name) = movable(subject).unzip();
        takers.iter().filter_map(move |to| one(from, to, name?, pid?, *cpus))
    });
    let worth = all.filter(|one| one.gain_points() >= GAIN_MIN && one.to_percent.1 <= BUSY_MAX);
    worth.max_by(|a, b| a.gain_points().total_cmp(&b.gain_points()))
}

/// A process that is no thread of the kernel: those stay where their work is.
fn movable(subject: &Subject) -> Option<(Option<u32>, &str)> {
    const KERNEL: [&str; 9] = [
        "kworker",
        "ksoftirqd",
        "kswapd",
        "kcompactd",
        "khugepaged",
        "ksmd",
        "migration/",
        "rcu_",
        "jbd2/",
    ];
    let Subject::Process { pid, name } = subject else { return None };
    let own = !KERNEL.iter().any(|start| name.starts_with(start));
    own.then_some((*pid, name.as_str()))
}

fn one(from: &HostLoad, to: &HostLoad, name: &str, pid: Option<u32>, cpus: f64) -> Option<Move> {
    let share = |host: &HostLoad| Some(100.0 * cpus / host.cpus.filter(|cpus| *cpus >= 1.0)?);
    let after = (from.busy_percent - share(from)?).max(0.0);
    Some(Move {
        program: name.to_owned(),
        pid,
        cpus,
        from: from.name.clone(),
        from_percent: (from.busy_percent, after),
        to: to.name.clone(),
        to_percent: (to.busy_percent, to.busy_percent + share(to)?),
    })
}
