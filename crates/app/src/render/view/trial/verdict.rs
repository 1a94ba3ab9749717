//! What a trial says, in figures and in plain sentences, also where hugewise loses.

use super::model::{ALWAYS, HUGEWISE, NEVER, Trial, VARIANTS, bytes, physical};
use hugewise_base::count::counted;
use hugewise_base::stats::{Histogram, Summary, median};
use hugewise_base::units::Bytes;
use hugewise_experiment::record::Record;
use std::collections::BTreeSet;
use std::fmt::Write;

/// From this share of the dense part on, promotion counts as complete.
const COMPLETE_PERCENT: f64 = 90.0;

/// Latencies that a stall would show in, in nanoseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail {
    /// One random read (mean of a batch).
    pub(crate) access: Histogram,
    /// First touch of a base page of a new small mapping.
    pub(crate) fault: Histogram,
    /// `mmap` of a small piece.
    pub(crate) map: Histogram,
}

impl Tail {
    /// All runs of a variant, in a phase that is named with its dot.
    fn of(trial: &Trial, variant: &str, phase: &str) -> Self {
        let all = |name: &str| trial.histogram(variant, &format!("{phase}{name}"));
        Self { access: all("access"), fault: all("fault"), map: all("map") }
    }
}

/// One variant over all its runs.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    /// Which.
    pub(crate) variant: &'static str,
    /// Share of the dense and of the sparse part that is huge, percent.
    pub(crate) dense_percent: Option<f64>,
    /// See `dense_percent`.
    pub(crate) sparse_percent: Option<f64>,
    /// Resident memory.
    pub(crate) rss: Option<Bytes>,
    /// Memory charged to the workload's cgroup.
    pub(crate) cgroup: Option<Bytes>,
    /// A random read, in nanoseconds: of the median of each run.
    pub(crate) access: Option<Summary>,
    /// Seconds of the fill.
    pub(crate) fill: Option<Summary>,
    /// First touches of all runs.
    pub(crate) first_touch: Histogram,
    /// All runs, with nobody promoting.
    pub(crate) quiet: Tail,
    /// All runs, while the manager promoted.
    pub(crate) promoting: Tail,
    /// Physical memory before much of it was freed, right after, and when it had settled.
    pub(crate) freeing: Option<[Bytes; 3]>,
    /// Huge pages that a manager split after that.
    pub(crate) demoted: Option<f64>,
}

impl Figures {
    /// Of one variant.
    pub(crate) fn of(trial: &Trial, variant: &'static str) -> Self {
        Self {
            variant,
            dense_percent: trial.median(variant, "dense.huge_percent"),
            sparse_percent: trial.median(variant, "sparse.huge_percent"),
            rss: trial.median(variant, "rss_mib").map(bytes),
            cgroup: trial.median(variant, "cgroup_mib").map(bytes),
            access: Summary::of(&trial.values(variant, "access_ns")),
            fill: Summary::of(&trial.values(variant, "fill_s")),
            first_touch: trial.histogram(variant, "first_touch"),
            quiet: Tail::of(trial, variant, ""),
            promoting: Tail::of(trial, variant, "promoting."),
            freeing: freeing(trial, variant),
            demoted: given_back(trial, variant, "demoted"),
        }
    }

    /// What counts as its memory: the cgroup's usage, which shows all of it, else RSS.
    pub(crate) fn memory(&self) -> Option<Bytes> {
        self.cgroup.or(self.rss)
    }

    /// Memory before it was freed, right after, settled, and huge pages split, as tables show them.
    pub(crate) fn freed_cells(&self) -> [String; 4] {
        let at = |moment: usize| mib(self.freeing.map(|all| all[moment]));
        [at(0), at(1), at(2), self.demoted.map_or("-".into(), |n| format!("{n:.0}"))]
    }
}

/// The rows of a table of stalls: a variant, what it did, and its latencies.
pub(crate) fn tails(
    figures: &[Figures; 3],
) -> impl Iterator<Item = (&'static str, &'static str, &Tail)> {
    figures.iter().flat_map(|row| {
        let promoting = (row.variant, ", promoting", &row.promoting);
        let promoting = (row.variant == HUGEWISE).then_some(promoting);
        promoting.into_iter().chain([(row.variant, ", at rest", &row.quiet)])
    })
}

/// Runs of a variant that freed memory.
fn freed_runs<'a>(trial: &'a Trial, variant: &'a str) -> impl Iterator<Item = &'a Record> {
    trial.of(variant).filter(|record| physical(record, "settled.").is_some())
}

/// Medians over these.
fn freeing(trial: &Trial, variant: &str) -> Option<[Bytes; 3]> {
    let at = |phase: &str| {
        let all = freed_runs(trial, variant).filter_map(|record| physical(record, phase));
        median(&all.collect::<Vec<_>>()).map(bytes)
    };
    Some([at("")?, at("freed.")?, at("settled.")?])
}

/// What the manager of these runs did, by the median.
fn given_back(trial: &Trial, variant: &str, key: &str) -> Option<f64> {
    let values = freed_runs(trial, variant).filter_map(|record| record.measured.values.get(key));
    median(&values.copied().collect::<Vec<_>>())
}

/// The three variants, and what follows from them.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    /// In the order of the tables.
    pub(crate) figures: [Figures; 3],
    /// In one line.
    pub(crate) headline: String,
    /// What was found.
    pub(crate) found: Vec<String>,
    /// What this run cannot tell.
    pub(crate) limits: Vec<String>,
}

/// How many times faster than `variant` hugewise read, pair by pair within each round.
pub(crate) fn speed(trial: &Trial, variant: &str) -> Option<f64> {
    let access = |record: &Record| record.measured.values.get("access_ns").copied();
    let pairs = trial.of(HUGEWISE).filter_map(|ours| {
        let theirs = trial.of(variant).find(|theirs| theirs.repetition == ours.repetition)?;
        Some(access(theirs)? / access(ours)?)
    });
    median(&pairs.collect::<Vec<_>>())
}

impl Verdict {
    /// Of a trial.
    pub(crate) fn of(trial: &Trial) -> Self {
        let figures = VARIANTS.map(|variant| Figures::of(trial, variant));
        let mut found = Vec::new();
        found.extend(main_sentence(trial, &figures));
        found.extend(coverage(&figures));
        found.extend(overlap(&figures));
        found.extend(promotion(trial));
        found.extend(fill(&figures));
        found.extend(tail(&figures));
        found.extend(freed(trial, &figures));
        found.extend(data(trial));
        found.extend(noted(trial));
        let headline = headline(trial, &figures);
        Self { headline, found, limits: limits(trial), figures }
    }
}

/// More memory than `base`, in percent.
pub(crate) fn more_percent(base: Option<Bytes>, other: Option<Bytes>) -> Option<f64> {
    let (base, other) = (base?.0 as f64, other?.0 as f64);
    (base > 0.0).then(|| 100.0 * (other - base) / base)
}

/// `+0.4 %`, or `no more` for what rounds to nothing: both stand before "memory".
pub(crate) fn signed(percent: Option<f64>) -> String {
    match percent {
        None => "an unknown amount of".into(),
        Some(percent) if percent.abs() < 0.05 => "no more".into(),
        Some(percent) => format!("{percent:+.1} %"),
    }
}

fn memories(figures: &[Figures; 3]) -> (String, String) {
    let [never, always, hugewise] = figures.each_ref().map(Figures::memory);
    (signed(more_percent(never, hugewise)), signed(more_percent(never, always)))
}

fn headline(trial: &Trial, figures: &[Figures; 3]) -> String {
    let (ours, theirs) = memories(figures);
    let (Some(never), Some(always)) = (speed(trial, NEVER), speed(trial, ALWAYS)) else {
        return format!("Simulated: {ours} memory against never (always: {theirs})");
    };
    let greedy = never / always;
    let incomplete = figures[2].dense_percent.filter(|dense| *dense < COMPLETE_PERCENT);
    let only = incomplete.map_or(String::new(), |dense| format!("With only {dense:.0} % huge: "));
    if overlaps(figures) {
        return format!(
            "{only}no clear difference in speed from never ({never:.2}x, but the runs overlap); \
             {ours} memory (always: {greedy:.2}x at {theirs})"
        );
    }
    format!(
        "{only}{never:.2}x the speed of never at {ours} memory (always: {greedy:.2}x at {theirs})"
    )
}

fn main_sentence(trial: &Trial, figures: &[Figures; 3]) -> Option<String> {
    let (ours, theirs) = memories(figures);
    let memory = format!("{ours} memory against never (always: {theirs})");
    let (Some(never), Some(always)) = (speed(trial, NEVER), speed(trial, ALWAYS)) else {
        return Some(format!("hugewise: {memory}."));
    };
    Some(format!(
        "hugewise: {never:.2}x the speed of never, {always:.2}x of always (random reads); {memory}."
    ))
}

fn coverage([_, _, hugewise]: &[Figures; 3]) -> Option<String> {
    let (dense, sparse) = (hugewise.dense_percent?, hugewise.sparse_percent?);
    let mut text = format!(
        "hugewise made {dense:.0} % of the dense part huge and {sparse:.0} % of the sparse part."
    );
    if dense < COMPLETE_PERCENT {
        text.push_str(" The dense part is not complete.");
    }
    Some(text)
}

/// What the runs had to say themselves.
fn noted(trial: &Trial) -> Option<String> {
    let notes = trial.records.iter().flat_map(|record| &record.measured.notes);
    let notes: BTreeSet<&str> = notes.map(String::as_str).collect();
    let notes: Vec<&str> = notes.into_iter().collect();
    (!notes.is_empty()).then(|| format!("Noted by the runs: {}.", notes.join("; ")))
}

/// Whether some run of hugewise was as slow as some run of never.
fn overlaps([never, _, hugewise]: &[Figures; 3]) -> bool {
    let pair = never.access.zip(hugewise.access);
    pair.is_some_and(|(never, ours)| ours.max >= never.min)
}

fn overlap(figures: &[Figures; 3]) -> Option<String> {
    overlaps(figures).then(|| {
        "The read times of hugewise and never overlap: their difference may be noise.".into()
    })
}

fn promotion(trial: &Trial) -> Option<String> {
    let seconds = trial.median(HUGEWISE, "promoting_s")?;
    let promoted = trial.median(HUGEWISE, "promoted")?;
    let cpu = trial.median(HUGEWISE, "promoted.manager_cpu_s");
    let cpu = cpu.map_or(String::new(), |s| format!(", {s:.2} s of CPU time"));
    let call = trial
        .histogram(HUGEWISE, "promoted.call")
        .quantile(0.5)
        .map_or(String::new(), |ns| format!("; a promotion took {} (median)", duration(Some(ns))));
    Some(format!(
        "The manager promoted {promoted:.0} regions in {seconds:.1} s{cpu}{call}. Until then \
         reads run at the speed of base pages: always is fast from the start."
    ))
}

fn fill([never, always, hugewise]: &[Figures; 3]) -> Option<String> {
    let at = |figures: &Figures| figures.fill.map(|fill| fill.median);
    let (never_s, always_s, ours) = (at(never)?, at(always)?, at(hugewise)?);
    let who = if ours > always_s * 1.05 { "hugewise loses to always here" } else { "no loss here" };
    let worst = |figures: &Figures| duration(figures.first_touch.quantile(0.999));
    Some(format!(
        "The first write of all memory took {ours:.2} s (never {never_s:.2} s, always \
         {always_s:.2} s; {who}); one in a thousand first touches took {} or longer (never {}, \
         always {}).",
        worst(hugewise),
        worst(never),
        worst(always)
    ))
}

fn tail([never, _, hugewise]: &[Figures; 3]) -> Option<String> {
    let ours = &hugewise.promoting;
    ours.fault.quantile(0.5)?;
    let both = |ours: &Histogram, never: &Histogram, q: f64| {
        format!("{} ({})", duration(ours.quantile(q)), duration(never.quantile(q)))
    };
    Some(format!(
        "While it promoted (in brackets: never): page fault p99 {}, p99.9 {}; mmap p99 {}, p99.9 \
         {}; read p99.9 {}; longest read {}.",
        both(&ours.fault, &never.quiet.fault, 0.99),
        both(&ours.fault, &never.quiet.fault, 0.999),
        both(&ours.map, &never.quiet.map, 0.99),
        both(&ours.map, &never.quiet.map, 0.999),
        both(&ours.access, &never.quiet.access, 0.999),
        both(&ours.access, &never.quiet.access, 1.0),
    ))
}

/// What became of memory that was freed in pieces.
fn freed(trial: &Trial, figures: &[Figures; 3]) -> Option<String> {
    let [never, always, ours] = figures.each_ref().map(|figures| figures.freeing);
    let (never, always, ours) = (never?, always?, ours?);
    let at = |[_, _, later]: [Bytes; 3]| mib(Some(later));
    let kind =
        if blind(trial) { " of resident memory, which does not show held blocks" } else { "" };
    let mut text = format!(
        "After freeing {} % in pieces: never {}, always {}, hugewise {}{kind}.",
        trial.free_percent,
        at(never),
        at(always),
        at(ours)
    );
    let demoted = figures[2].demoted?;
    let cpu = given_back(trial, HUGEWISE, "demoted.manager_cpu_s");
    let cpu = cpu.map_or(String::new(), |s| format!(" with {s:.2} s of CPU time"));
    let settled = given_back(trial, HUGEWISE, "settle_s");
    let within = settled.map_or(String::new(), |s| format!(" within {s:.1} s"));
    let _ = write!(
        text,
        " hugewise held {} at first, and split {demoted:.0} huge pages{within}{cpu}.",
        mib(Some(ours[1])),
    );
    if settled.is_none() {
        text.push_str(" The time was over before memory had settled.");
    } else if more_percent(Some(never[2]), Some(ours[2])) > Some(REST_PERCENT) {
        text.push_str(" Not all of it came back.");
    }
    Some(text)
}

/// Whether some real run had no cgroup of its own, which shows what RSS does not.
fn blind(trial: &Trial) -> bool {
    let misses = |record: &Record| !record.measured.values.contains_key("cgroup_mib");
    trial.simulated.is_none() && trial.records.iter().any(misses)
}

/// From so much more memory than never has on, not everything was given back, percent.
const REST_PERCENT: f64 = 5.0;

/// Whole MiB; `-` when unknown.
pub(crate) fn mib(bytes: Option<Bytes>) -> String {
    bytes.map_or("-".into(), |bytes| format!("{:.0} MiB", bytes.0 as f64 / f64::from(1 << 20)))
}

fn data(trial: &Trial) -> Option<String> {
    let least = |key: &str| {
        let all = VARIANTS.into_iter().flat_map(|variant| trial.values(variant, key));
        Some(all.reduce(f64::min)? / 1e6)
    };
    let kept = least("settled.verified_words").map_or(String::new(), |kept| {
        format!(", and what was left after freeing ({kept:.1} million)")
    });
    Some(format!(
        "All data was intact: {}, {:.1} million words compared in each{kept}.",
        counted(trial.records.len(), "run", "runs"),
        least("verified_words")?
    ))
}

fn limits(trial: &Trial) -> Vec<String> {
    if trial.simulated.is_some() {
        let text = "speed, latency and real memory: the simulator knows which regions would be \
                    promoted and what they would hold, and nothing else";
        return vec![text.into()];
    }
    let mut limits = vec![
        "your program: this one reads at random, the best case for huge pages".to_owned(),
        "fragmented memory, memory pressure, many processes, hours of work".to_owned(),
        match trial.rounds {
            1 => "small differences: one round says nothing of how much they scatter".to_owned(),
            n => format!("small differences: {n} rounds give a range, no statistical test"),
        },
    ];
    if blind(trial) {
        limits.push("memory that RSS misses: the workload had no cgroup of its own".into());
    }
    let noisy: Vec<_> = trial.records.iter().map(|record| &record.conditions.noisy).collect();
    if let Some(first) = noisy.iter().find_map(|reasons| reasons.first()) {
        let (all, some) = (noisy.len(), noisy.iter().filter(|reasons| !reasons.is_empty()).count());
        let all = counted(all, "run was", "runs were");
        limits.push(format!("a quiet machine: {some} of {all} disturbed ({first})"));
    }
    if trial.environment.virtual_machine == Some(true) {
        limits.push(
            "bare metal: in a virtual machine TLB misses cost more, memory is warmed \
                     before each run, and the host's other guests show in every figure"
                .into(),
        );
    }
    limits
}

/// A duration for people: `312 ns`, `2.1 us`, `3.4 ms`; `-` when unknown.
pub(crate) fn duration(ns: Option<u64>) -> String {
    let Some(ns) = ns else { return "-".into() };
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    if value < 99.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::view::trial::samples;

    #[test]
    fn the_headline_claims_no_speed_that_noise_may_have_made() {
        let mut trial = samples::real();
        assert!(Verdict::of(&trial).headline.starts_with("1.25x the speed of never"));
        let slow = trial.records.iter_mut().find(|record| record.variant == HUGEWISE);
        samples::set(slow.expect("a run"), "access_ns", 500.0);
        let headline = Verdict::of(&trial).headline;
        assert!(headline.starts_with("no clear difference in speed"), "{headline}");
    }

    #[test]
    fn the_headline_says_when_promotion_was_incomplete() {
        let mut trial = samples::real();
        let ours = trial.records.iter_mut().filter(|record| record.variant == HUGEWISE);
        ours.for_each(|record| {
            samples::set(record, "dense.huge_percent", 40.0);
            record.measured.notes.push("a budget held it down".into());
        });
        let verdict = Verdict::of(&trial);
        let headline = &verdict.headline;
        assert!(headline.starts_with("With only 40 % huge: 1.25x"), "{headline}");
        let found = verdict.found.concat();
        assert!(found.contains("The dense part is not complete."), "{found}");
        assert!(found.contains("Noted by the runs: a budget held it down; nothing"), "{found}");
    }

    #[test]
    fn speeds_are_compared_within_a_round() {
        let mut trial = samples::real();
        // A round that was slow for everybody says nothing about anybody.
        for record in trial.records.iter_mut().filter(|record| record.repetition == 1) {
            let slow = record.measured.values["access_ns"] * 3.0;
            samples::set(record, "access_ns", slow);
        }
        let speed = speed(&trial, NEVER).expect("timed runs");
        assert!((speed - 1.25).abs() < 0.001, "{speed}");
        assert_eq!(super::speed(&samples::simulated(), NEVER), None);
    }

    #[test]
    fn the_sentence_about_freeing_says_what_is_wrong() {
        let sentence = |trial: &Trial| freed(trial, &Verdict::of(trial).figures);
        let mut trial = samples::real();
        let text = sentence(&trial).expect("a run with freeing");
        assert!(text.starts_with("After freeing 70 % in pieces: never 130 MiB, always 515 MiB"));
        assert!(text.contains("hugewise 131 MiB. hugewise held 419 MiB at first"), "{text}");
        assert!(text.ends_with("within 9.5 s with 0.12 s of CPU time."), "{text}");
        let ours = |record: &&mut Record| record.variant == HUGEWISE && record.repetition == 0;
        let run = trial.records.iter_mut().find(ours).expect("a run");
        samples::set(run, "settled.cgroup_mib", 200.0);
        let text = sentence(&trial).expect("a sentence");
        assert!(text.ends_with("Not all of it came back."), "{text}");
        let run = trial.records.iter_mut().find(ours).expect("a run");
        run.measured.values.remove("settle_s");
        let text = sentence(&trial).expect("a sentence");
        assert!(text.ends_with("The time was over before memory had settled."), "{text}");
        trial.records.retain(|record| record.repetition > 0);
        assert_eq!(sentence(&trial), None);
    }

    #[test]
    fn a_disturbed_machine_is_told() {
        let mut trial = samples::real();
        assert!(!Verdict::of(&trial).limits.iter().any(|limit| limit.contains("disturbed")));
        trial.records[4].conditions.noisy.push("others were busy".into());
        let limits = Verdict::of(&trial).limits;
        let wanted = "a quiet machine: 1 of 9 runs were disturbed (others were busy)";
        assert!(limits.iter().any(|limit| limit == wanted), "{limits:?}");
    }

    #[test]
    fn durations_read_well() {
        let texts = [Some(7), Some(2_140), Some(250_000), Some(3_400_000), None].map(duration);
        assert_eq!(texts, ["7 ns", "2.1 us", "250 us", "3.4 ms", "-"]);
    }
}
