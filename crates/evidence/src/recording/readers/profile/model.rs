//! One profile: the samples of an event, by function and by the ways there. Readers put rows or
//! chains into it, and it becomes facts.

use std::collections::{BTreeMap, BTreeSet};

use super::way::{is_entry, way};
use crate::recording::readers::words::number;
use crate::recording::{Builder, Field, Stacks, Subject};

/// Most functions, and most ways into them, that are remembered.
pub(super) const KINDS_MAX: usize = 10_000;

/// Most functions of one chain. The kernel records 127 unless it is set otherwise
/// (`kernel.perf_event_max_stack`).
pub(super) const FRAMES_MAX: usize = 1024;

/// Most functions of another event than CPU time that are reported.
const OF_EVENT_MAX: usize = 20;

/// Beginnings of the names of functions in which an idle CPU rests: samples there are no work.
const IDLE: [&str; 20] = [
    "pv_native_safe_halt",
    "native_safe_halt",
    "native_halt",
    "xen_safe_halt",
    "acpi_safe_halt",
    "default_idle",
    "intel_idle",
    "mwait_idle",
    "acpi_idle_do_entry",
    "cpuidle_enter",
    "cpuidle_idle_call",
    "cpu_startup_entry",
    "poll_idle",
    "cpu_idle",
    "do_idle",
    "acpi_processor_ffh_cstate_enter",
    "io_idle",
    "cpu_do_idle",
    "arch_cpu_idle",
    "call_cpuidle",
];

/// Parts of the names of functions that an interrupt runs: also where it meets an idle CPU.
const INTERRUPTS: [&str; 6] =
    ["softirq", "irq_exit", "interrupt", "sysvec_", "handle_irq", "__irqentry"];

/// Parts of the names of functions with which a profiler starts to count: they are not the load.
const PROFILER: [&str; 3] = ["perf_event_enable", "perf_event_exec", "pmu_enable_all"];

/// Where a task leaves its CPU: a profile of nothing else counts waiting.
const SWITCHES: [&str; 4] = ["finish_task_switch", "__schedule", "schedule", "__switch_to"];

/// Parts of the names of events that count CPU time.
const CPU_TIME: [&str; 7] =
    ["cycles", "cpu-clock", "task-clock", "cpu_clk", "ibs_op", "itimer", "profile"];
/// Cycles in which a CPU waits, or is not there.
const NO_CPU_TIME: [&str; 3] = ["stalled", "idle-cycles", "cycles-frontend"];

/// Whether samples of an event are shares of CPU time; an event that nobody named is taken to be
/// the tools' default, which is.
fn counts_time(event: &str) -> bool {
    let event = event.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| event.contains(part));
    event.is_empty() || has(&CPU_TIME) && !has(&NO_CPU_TIME)
}

/// Whether a function of the kernel is one in which an idle CPU rests.
pub(super) fn is_idle(name: &str) -> bool {
    IDLE.iter().any(|idle| name.starts_with(idle))
}

/// Whether nobody knows which function it is: an address, `[unknown]`.
fn is_unknown(name: &str) -> bool {
    name.starts_with("[unknown") || name.starts_with("0x") || name == "??"
}

/// Samples that a line says were lost: `# Total Lost Samples: 12` of a report,
/// `PERF_RECORD_LOST lost 12` of `perf script --show-lost-events`.
pub(super) fn lost(line: &str) -> Option<f64> {
    let told = line.split_once("Total Lost Samples:").map(|(_, rest)| rest);
    let (_, count) = told.map(|rest| ("", rest)).or_else(|| {
        line.split_once("PERF_RECORD_LOST").and_then(|(_, rest)| rest.split_once(" lost "))
    })?;
    number(count.split_whitespace().next()?)
}

/// A function of a chain, and whether it is the kernel's.
#[derive(Clone, Copy, Debug)]
pub(in crate::recording::readers) struct Frame<'a> {
    pub(in crate::recording::readers) name: &'a str,
    pub(in crate::recording::readers) kernel: bool,
}

/// A chain of which the source marks no function as the kernel's, the outermost first: what lies
/// inside the first known way into the kernel is its.
pub(super) fn unmarked<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Frame<'a>> {
    let mut kernel = false;
    let frames = names.into_iter().map(|name| {
        let plain = name.strip_suffix("_[k]");
        kernel |= plain.is_some() || is_entry(name);
        Frame { name: plain.unwrap_or(name), kernel }
    });
    frames.collect()
}

/// A row of a table: percent of all samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProfileRow<'a> {
    pub(super) own: f64,
    /// With what the function called, where the table has that.
    pub(super) within: Option<f64>,
    pub(super) program: &'a str,
    pub(super) name: &'a str,
    pub(super) kernel: bool,
}

type Shares<K> = BTreeMap<K, f64>;

/// Samples of one event. Numbers of them, or percent of all.
#[derive(Debug, Default)]
pub(in crate::recording::readers) struct Profile {
    /// As the tool wrote it; empty where it did not.
    event: String,
    /// Whether values are percent of all samples, and not numbers of samples.
    percent: bool,
    /// How many samples there are, where that is known.
    samples: Option<f64>,
    /// All of them.
    all: f64,
    idle: f64,
    user: f64,
    /// The kernel's, without idle ones; `None`: not reported.
    kernel: Option<f64>,
    /// Those of which the function is unknown, and those where a task left its CPU.
    unknown: f64,
    switches: f64,
    /// Those of which the outermost function is unknown.
    broken: f64,
    /// How many samples were lost.
    lost: f64,
    functions: Shares<String>,
    within: Shares<String>,
    /// The same from chains below rows, where rows may have it too.
    chained: Shares<String>,
    entries: Shares<(String, String)>,
    paths: Shares<(String, String)>,
    /// By program and function, the kernel's or not, with what it called where chains are known.
    everywhere: Shares<(String, String)>,
    /// What was too much.
    left_out: usize,
    /// All chains but the idle ones.
    stacks: Stacks,
}

fn add<K: Ord>(to: &mut Shares<K>, key: K, count: f64) -> bool {
    let room = to.len() < KINDS_MAX || to.contains_key(&key);
    if room {
        *to.entry(key).or_default() += count;
    }
    room
}

impl Profile {
    /// One whose values are percent of all samples.
    pub(super) fn of_percent() -> Self {
        Self { all: 100.0, percent: true, ..Self::default() }
    }

    /// One of this event.
    pub(super) fn of_event(event: &str) -> Self {
        Self { event: event.to_owned(), ..Self::default() }
    }

    /// What the head of a table says: its event, and how many samples there are of it.
    pub(super) fn head(&mut self, samples: Option<f64>, event: &str) {
        self.samples = samples.or(self.samples.take());
        event.clone_into(&mut self.event);
    }

    /// The kernel's share, idle time included, as a head of a table says it.
    pub(super) fn kernel(&mut self, percent: f64) {
        self.kernel = Some(percent);
    }

    /// A number of further samples, of which the chain counts as often as its period says.
    pub(super) fn sampled(&mut self, samples: f64) {
        *self.samples.get_or_insert_default() += samples;
    }

    /// A number of further ones were lost.
    pub(super) fn lost(&mut self, samples: f64) {
        self.lost += samples;
    }

    /// How many samples there are.
    fn counted(&self) -> Option<f64> {
        self.samples.or((!self.percent).then_some(self.all))
    }

    /// A chain of calls, the outermost function first, met `count` times.
    pub(in crate::recording::readers) fn chain(
        &mut self,
        program: &str,
        frames: &[Frame<'_>],
        count: f64,
    ) {
        let frames = frames.get(..FRAMES_MAX).unwrap_or(frames);
        let kernel: Vec<&str> = frames.iter().filter(|f| f.kernel).map(|f| f.name).collect();
        self.all += count;
        let last = frames.last().map_or("", |frame| frame.name);
        for name in frames.iter().map(|frame| frame.name).collect::<BTreeSet<_>>() {
            self.everywhere(program, name, count);
        }
        self.unknown += if is_unknown(last) { count } else { 0.0 };
        let broken = frames.first().is_some_and(|outermost| is_unknown(outermost.name));
        self.broken += if broken { count } else { 0.0 };
        let profiler = kernel.iter().any(|name| PROFILER.iter().any(|part| name.contains(part)));
        let interrupted =
            || kernel.iter().any(|name| INTERRUPTS.iter().any(|part| name.contains(part)));
        let rests = profiler
            || kernel.last().is_some_and(|last| is_idle(last))
            || program.starts_with("swapper") && !interrupted();
        if !rests {
            self.stacks.add(program, frames.iter().map(|f| (f.name, f.kernel)), count);
        }
        let Some(inner) = kernel.last().filter(|_| !rests) else {
            *(if rests { &mut self.idle } else { &mut self.user }) += count;
            return;
        };
        self.switches += if SWITCHES.contains(&plain(inner)) { count } else { 0.0 };
        *self.kernel.get_or_insert_default() += count;
        self.add_function(inner, count);
        for name in kernel.iter().copied().collect::<BTreeSet<_>>() {
            let kept = add(&mut self.within, name.to_owned(), count);
            self.left_out += usize::from(!kept);
        }
        let (entry, path) = way(&kernel);
        self.path(program, path, count);
        let kept = add(&mut self.entries, (program.to_owned(), entry), count);
        self.left_out += usize::from(!kept);
    }

    /// A row of a table; whether it is work in the kernel.
    pub(super) fn row(&mut self, row: &ProfileRow<'_>) -> bool {
        self.everywhere(row.program, row.name, row.own);
        if row.kernel && is_idle(row.name) {
            self.idle += row.own;
        } else if row.kernel {
            self.add_function(row.name, row.own);
            if let Some(within) = row.within {
                self.called(row.name, within);
            }
            return true;
        } else {
            self.user += row.own;
        }
        false
    }

    fn everywhere(&mut self, program: &str, name: &str, count: f64) {
        add(&mut self.everywhere, (program.to_owned(), name.to_owned()), count);
    }

    fn add_function(&mut self, name: &str, count: f64) {
        let kept = add(&mut self.functions, name.to_owned(), count);
        self.left_out += usize::from(!kept);
    }

    /// Samples in what this function of the kernel called.
    pub(super) fn called(&mut self, name: &str, count: f64) {
        let kept = add(&mut self.within, name.to_owned(), count);
        self.left_out += usize::from(!kept);
    }

    /// The same as the chains below a table's rows say it.
    pub(super) fn chained(&mut self, name: &str, count: f64) {
        let kept = add(&mut self.chained, name.to_owned(), count);
        self.left_out += usize::from(!kept);
    }

    /// Samples of a program after this way.
    pub(super) fn path(&mut self, program: &str, path: String, count: f64) {
        let kept = add(&mut self.paths, (program.to_owned(), path), count);
        self.left_out += usize::from(!kept);
    }

    /// Samples in the kernel, where they are counted.
    pub(in crate::recording::readers) fn in_kernel(&self) -> f64 {
        self.kernel.unwrap_or(0.0)
    }

    /// All samples.
    pub(super) fn size(&self) -> f64 {
        self.all
    }

    /// The function in which all chains end, if there is just one: then each may be a call of that,
    /// and no sample.
    pub(super) fn one_call(&self) -> Option<&str> {
        let one = self.functions.len() == 1 && self.user <= 0.0 && self.idle <= 0.0;
        self.functions.keys().next().filter(|_| one).map(String::as_str)
    }

    /// Whether the samples are shares of CPU time.
    pub(super) fn counts_time(&self) -> bool {
        let waiting = self.switches > self.in_kernel() / 2.0;
        counts_time(&self.event) && !waiting
    }

    /// The chains of calls alone.
    pub(in crate::recording::readers) fn into_stacks(mut self) -> Stacks {
        self.take_stacks()
    }

    fn take_stacks(&mut self) -> Stacks {
        let mut stacks = std::mem::take(&mut self.stacks);
        stacks.cpu_time = self.counts_time();
        stacks.event.clone_from(&self.event);
        stacks
    }

    /// The facts: shares of what ran. Of another event than CPU time only the largest functions.
    pub(in crate::recording::readers) fn put(mut self, out: &mut Builder) {
        if self.left_out > 0 {
            out.cut(format!(
                "a profile of more than {KINDS_MAX} functions or ways: {} more are left out",
                self.left_out
            ));
        }
        out.stacks(self.take_stacks());
        if !self.counts_time() {
            return self.put_event(out);
        }
        self.put_size(&Subject::Machine, out);
        let runs = self.all - self.idle;
        if runs <= 0.0 {
            return;
        }
        let one = 100.0 / runs;
        let percent = |count: f64| count * one;
        let machine = &Subject::Machine;
        // What a table's head says of the kernel has the idle time in it.
        let kernel = self.kernel.map(|all| if self.percent { all - self.idle } else { all });
        out.put_known(Field::ProfileKernel, machine, None, kernel.map(|k| percent(k.max(0.0))));
        // Without functions of the kernel it may have been left out of the profile.
        if !self.functions.is_empty() {
            let most = percent(self.all - self.idle - self.user).clamp(0.0, 100.0);
            out.put(Field::ProfileKernelMost, machine, None, most);
        }
        let samples = self.counted();
        let ran = samples.map(|samples| samples * runs / self.all);
        out.put_known(Field::ProfileSamples, machine, None, ran);
        if self.idle > 0.0 {
            out.put(Field::ProfileIdle, machine, None, self.idle / self.all * 100.0);
        }
        if self.unknown > 0.0 {
            out.put(Field::ProfileUnknown, machine, None, percent(self.unknown));
        }
        let mut within = self.within;
        for (name, count) in self.chained {
            let known = within.entry(name).or_default();
            *known = known.max(count);
        }
        let functions = [(Field::SymbolPercent, self.functions), (Field::WithinPercent, within)];
        for (field, counts) in functions {
            for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0.0) {
                out.put(field, &Subject::Symbol(name), None, percent(count));
            }
        }
        let ways = [(Field::EntryPercent, self.entries), (Field::PathPercent, self.paths)];
        for (field, counts) in ways {
            for ((program, path), count) in counts {
                out.put(field, &Subject::Calls { program, path }, None, percent(count));
            }
        }
    }

    /// How much there is of it, idle or not, how much of that has no whole chain, and how many
    /// samples were lost.
    fn put_size(&self, about: &Subject, out: &mut Builder) {
        if let Some(samples) = self.counted().filter(|_| self.lost > 0.0) {
            let percent = self.lost / (self.lost + samples) * 100.0;
            out.put(Field::ProfileLost, about, None, percent);
        }
        if self.percent || self.all <= 0.0 {
            return;
        }
        out.put(Field::ProfileWeight, about, None, self.all);
        if self.broken > 0.0 {
            out.put(Field::ProfileBroken, about, None, self.broken / self.all * 100.0);
        }
    }

    fn put_event(self, out: &mut Builder) {
        let event = if counts_time(&self.event) { "waiting off the CPU" } else { &self.event };
        let samples = self.counted();
        let of_event = Subject::Named(event.to_owned());
        out.put_known(Field::ProfileSamples, &of_event, None, samples);
        self.put_size(&of_event, out);
        let mut all: Vec<_> = self.everywhere.into_iter().collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        for ((program, name), count) in all.into_iter().take(OF_EVENT_MAX) {
            let part = Subject::part(event, &format!("{program}: {name}"));
            out.put(Field::EventPercent, &part, None, count / self.all * 100.0);
        }
    }
}

/// A name without what a compiler or a tool added: `finish_task_switch.isra.0`.
fn plain(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_events_are_cpu_time() {
        for event in ["", "cycles:ppp", "cpu_core/cycles/P", "cpu-clock:HG", "99Hz cpu-clock"] {
            assert!(counts_time(event), "{event}");
        }
        for event in ["page-faults", "cache-misses", "instructions", "sched:sched_switch", "r1b0"] {
            assert!(!counts_time(event), "{event}");
        }
        assert!(!counts_time("stalled-cycles-backend"));
    }

    #[test]
    fn what_lies_inside_the_way_into_the_kernel_is_its() {
        let kernel =
            |names: &[&str]| unmarked(names.iter().copied()).iter().filter(|f| f.kernel).count();
        assert_eq!(kernel(&["main", "malloc", "asm_exc_page_fault", "clear_page"]), 2);
        assert_eq!(kernel(&["main", "malloc"]), 0);
        assert_eq!(kernel(&["main", "vfs_read_[k]"]), 1);
    }
}
