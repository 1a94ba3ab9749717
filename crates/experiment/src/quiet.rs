//! Whether a machine stands still before a run, and how much others do on it.

use super::record::Conditions;
use super::spec::{Noise, Settle};
use hugewise_base::parse::proc_stat::CpuTimes;
use hugewise_base::units::{Bytes, Ns};

/// What is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineSample {
    /// When.
    pub at: Ns,
    /// Memory that new work could get.
    pub mem_available: Option<Bytes>,
    /// Regions that khugepaged has made huge since the machine started.
    pub collapsed: Option<u64>,
    /// CPU time of the whole machine.
    pub cpu: Option<CpuTimes>,
}

/// What follows from the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It still moves.
    Moving,
    /// It has stood still for long enough.
    Still,
    /// It still moves, and nobody waits any longer.
    GivenUp,
}

/// The looks of one wait.
#[derive(Debug)]
pub struct Quiet<'a> {
    rule: &'a Settle,
    total: Option<Bytes>,
    looks: Vec<MachineSample>,
}

impl<'a> Quiet<'a> {
    /// Begins to wait, on a machine with so much memory.
    pub const fn new(rule: &'a Settle, total: Option<Bytes>) -> Self {
        Self { rule, total, looks: Vec::new() }
    }

    /// One more look.
    pub fn look(&mut self, look: MachineSample) -> State {
        self.looks.push(look);
        let waited_s = self.waited_s();
        let needed_s = self.rule.still_s as f64;
        if waited_s >= needed_s && self.stands_still(look.at) {
            State::Still
        } else if waited_s >= self.rule.max_s as f64 {
            State::GivenUp
        } else {
            State::Moving
        }
    }

    /// Seconds since the first look.
    pub fn waited_s(&self) -> f64 {
        match (self.looks.first(), self.looks.last()) {
            (Some(first), Some(last)) => last.at.0.saturating_sub(first.at.0) as f64 / 1e9,
            _ => 0.0,
        }
    }

    fn stands_still(&self, now: Ns) -> bool {
        let since = now.0.saturating_sub(self.rule.still_s.saturating_mul(1_000_000_000));
        let last: Vec<_> = self.looks.iter().filter(|look| look.at.0 >= since).collect();
        let available = || last.iter().filter_map(|look| look.mem_available);
        let moved = available().max().zip(available().min()).map(|(max, min)| max.0 - min.0);
        let within = self.total.map(|total| total.percent(self.rule.within_percent).0);
        // A source that is missing cannot hold anything up.
        let memory = moved.zip(within).is_none_or(|(moved, within)| moved <= within);
        let collapsed = || last.iter().filter_map(|look| look.collapsed);
        memory && collapsed().max() == collapsed().min()
    }

    /// What the wait has shown.
    pub fn conditions(&self, state: State, noise: &Noise) -> Conditions {
        let (first, last) = (self.looks.first(), self.looks.last());
        let times = first.and_then(|look| look.cpu).zip(last.and_then(|look| look.cpu));
        let (busy, steal) = times.map_or((None, None), |(a, b)| shares(&a, &b));
        let mut conditions = Conditions {
            settled_s: (state == State::Still).then(|| self.waited_s()),
            busy_percent: busy,
            steal_percent: steal,
            mem_available: last.and_then(|look| look.mem_available),
            ..Conditions::default()
        };
        let limits = (noise.busy_percent, noise.steal_percent);
        conditions.noisy = complaints(&conditions, limits);
        if conditions.settled_s.is_none() {
            let text = format!("memory or khugepaged still moved after {:.0} s", self.waited_s());
            conditions.noisy.push(text);
        }
        conditions
    }
}

/// Percent of the CPU time between two looks that was spent, and that the hypervisor took.
fn shares(from: &CpuTimes, to: &CpuTimes) -> (Option<f64>, Option<f64>) {
    let less = |f: fn(&CpuTimes) -> u64| f(to).saturating_sub(f(from)) as f64;
    let busy = less(|t| t.user) + less(|t| t.nice) + less(|t| t.system);
    let busy = busy + less(|t| t.irq) + less(|t| t.softirq);
    let steal = less(|t| t.steal);
    let all = busy + steal + less(|t| t.idle) + less(|t| t.iowait);
    if all > 0.0 { (Some(100.0 * busy / all), Some(100.0 * steal / all)) } else { (None, None) }
}

/// What is above the limits for CPU time of others and of the hypervisor.
fn complaints(conditions: &Conditions, limits: (f64, f64)) -> Vec<String> {
    let busy = conditions
        .busy_percent
        .filter(|busy| *busy > limits.0)
        .map(|busy| format!("others used {busy:.0} % of the CPU time (limit {:.0} %)", limits.0));
    let steal = conditions.steal_percent.filter(|steal| *steal > limits.1).map(|steal| {
        format!("the hypervisor took {steal:.0} % of the CPU time (limit {:.0} %)", limits.1)
    });
    busy.into_iter().chain(steal).collect()
}

/// Notes what the hypervisor took during a run, between its first and its last look. What others
/// used cannot be told from what the workload did.
pub fn during(conditions: &mut Conditions, from: &CpuTimes, to: &CpuTimes, noise: &Noise) {
    conditions.run_steal_percent = shares(from, to).1;
    if let Some(steal) = conditions.run_steal_percent.filter(|steal| *steal > noise.steal_percent) {
        conditions.noisy.push(format!(
            "the hypervisor took {steal:.0} % of the CPU time during the run (limit {:.0} %)",
            noise.steal_percent
        ));
    }
}

/// Why nothing should be measured now; empty when it may be.
pub fn refusals(conditions: &Conditions, noise: &Noise) -> Vec<String> {
    complaints(conditions, (noise.refuse_busy_percent, noise.refuse_steal_percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn look(second: u64, mib: u64, collapsed: u64, busy: u64) -> MachineSample {
        let cpu = CpuTimes { user: busy, idle: 200 * second - busy, ..CpuTimes::default() };
        MachineSample {
            at: Ns(second * SECOND),
            mem_available: Some(Bytes::mib(mib)),
            collapsed: Some(collapsed),
            cpu: Some(cpu),
        }
    }

    #[test]
    fn it_waits_until_memory_and_khugepaged_stand_still() {
        let rule = Settle { still_s: 2, within_percent: 1.0, max_s: 30 };
        let mut quiet = Quiet::new(&rule, Some(Bytes::mib(1000)));
        let looks = [(100, 0), (200, 0), (300, 1), (301, 1), (302, 2), (303, 2), (304, 2)];
        let states = looks
            .iter()
            .enumerate()
            .map(|(at, (mib, collapsed))| quiet.look(look(at as u64 + 1, *mib, *collapsed, 0)));
        let states: Vec<_> = states.collect();
        assert!(states[..6].iter().all(|state| *state == State::Moving), "{states:?}");
        assert_eq!(states[6], State::Still);
        let conditions = quiet.conditions(State::Still, &Noise::default());
        assert_eq!((conditions.settled_s, conditions.noisy.len()), (Some(6.0), 0));
    }

    #[test]
    fn it_gives_up_and_says_so() {
        let rule = Settle { still_s: 1, within_percent: 1.0, max_s: 3 };
        let mut quiet = Quiet::new(&rule, Some(Bytes::mib(1000)));
        let states: Vec<_> = (1..=4).map(|at| quiet.look(look(at, at * 100, 0, 0))).collect();
        assert_eq!(states.last(), Some(&State::GivenUp));
        let conditions = quiet.conditions(State::GivenUp, &Noise::default());
        assert_eq!(conditions.settled_s, None);
        assert!(conditions.noisy[0].contains("still moved after 3 s"), "{conditions:?}");
    }

    #[test]
    fn what_others_do_is_noted_and_refused() {
        let (rule, noise) = (Settle { still_s: 0, ..Settle::default() }, Noise::default());
        let mut quiet = Quiet::new(&rule, None);
        quiet.look(look(1, 100, 0, 0));
        quiet.look(look(2, 100, 0, 120));
        let conditions = quiet.conditions(State::Still, &noise);
        assert_eq!(conditions.busy_percent, Some(60.0));
        assert!(conditions.noisy[0].starts_with("others used 60 %"), "{conditions:?}");
        assert_eq!(refusals(&conditions, &noise).len(), 1);
        assert_eq!(refusals(&Conditions::default(), &noise), Vec::<String>::new());
    }

    #[test]
    fn what_the_hypervisor_takes_during_a_run_is_noted() {
        let (noise, mut conditions) = (Noise::default(), Conditions::default());
        let from = CpuTimes { user: 10, steal: 5, ..CpuTimes::default() };
        let calm = CpuTimes { user: 108, steal: 7, ..CpuTimes::default() };
        during(&mut conditions, &from, &calm, &noise);
        assert_eq!((conditions.run_steal_percent, conditions.noisy.len()), (Some(2.0), 0));
        let taken = CpuTimes { user: 90, steal: 25, ..CpuTimes::default() };
        during(&mut conditions, &from, &taken, &noise);
        assert_eq!(conditions.run_steal_percent, Some(20.0));
        assert!(conditions.noisy[0].contains("20 % of the CPU time during"), "{conditions:?}");
        during(&mut conditions, &from, &from, &noise);
        assert_eq!(conditions.run_steal_percent, None);
    }

    #[test]
    fn what_cannot_be_seen_holds_nothing_up() {
        let rule = Settle { still_s: 1, ..Settle::default() };
        let mut quiet = Quiet::new(&rule, None);
        quiet.look(MachineSample { at: Ns(SECOND), ..MachineSample::default() });
        let state = quiet.look(MachineSample { at: Ns(2 * SECOND), ..MachineSample::default() });
        assert_eq!(state, State::Still);
    }
}
