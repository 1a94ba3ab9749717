//! What a trial says, in figures and in plain sentences, also where hugewise loses.

use super::protocol::Variant;
use super::{Freeing, GivenBack, Memory, Row, Tail, Trial};
use hugewise_core::stats::{Histogram, Summary, median};
use hugewise_core::units::{Bytes, saturating_u64};
use std::fmt::Write;

/// From this share of the dense part on, promotion counts as complete.
const COMPLETE_PERCENT: f64 = 90.0;

/// One variant over all its runs.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    /// Which.
    pub(crate) variant: Variant,
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
    pub(crate) demoted: Option<u64>,
}

impl Figures {
    /// Of one variant.
    pub(crate) fn of(trial: &Trial, variant: Variant) -> Self {
        let mut first_touch = Histogram::default();
        let (mut quiet, mut promoting) = (Tail::default(), Tail::default());
        let (mut access, mut fill) = (Vec::new(), Vec::new());
        for row in trial.of(variant) {
            if let Some(timing) = &row.timing {
                first_touch.merge(&timing.first_touch);
                quiet.merge(&timing.quiet);
                access.extend(median(&timing.access_ns));
                fill.push(timing.fill_s);
            }
            if let Some(tail) = row.promotion.as_ref().and_then(|p| p.tail.as_ref()) {
                promoting.merge(tail);
            }
        }
        let of_rows = |value: fn(&Row) -> Option<f64>| {
            let values: Vec<_> = trial.of(variant).filter_map(value).collect();
            median(&values)
        };
        let bytes = |value| of_rows(value).map(|bytes| Bytes(saturating_u64(bytes)));
        Self {
            variant,
            dense_percent: of_rows(|row| Some(row.memory.huge_percent.dense)),
            sparse_percent: of_rows(|row| Some(row.memory.huge_percent.sparse)),
            rss: bytes(|row| Some(row.memory.rss.0 as f64)),
            cgroup: bytes(|row| row.memory.cgroup.map(|bytes| bytes.0 as f64)),
            access: Summary::of(&access),
            fill: Summary::of(&fill),
            first_touch,
            quiet,
            promoting,
            freeing: freeing(trial, variant),
            demoted: given_back(trial.of(variant)).map(|given| given.demoted),
        }
    }

    /// What counts as its memory: the cgroup's usage, which shows all of it, else RSS.
    pub(crate) fn memory(&self) -> Option<Bytes> {
        self.cgroup.or(self.rss)
    }
}

/// Medians over all runs that freed memory.
fn freeing(trial: &Trial, variant: Variant) -> Option<[Bytes; 3]> {
    let all: Vec<_> = trial.of(variant).filter_map(|row| row.freeing.as_ref()).collect();
    let of = |memory: fn(&Freeing) -> &Memory| {
        let values: Vec<_> = all.iter().map(|f| memory(f).physical().0 as f64).collect();
        median(&values).map(|bytes| Bytes(saturating_u64(bytes)))
    };
    Some([of(|f| &f.before)?, of(|f| &f.after)?, of(|f| &f.later)?])
}

fn given_back<'a>(mut rows: impl Iterator<Item = &'a Row>) -> Option<&'a GivenBack> {
    rows.find_map(|row| row.freeing.as_ref()?.given_back.as_ref())
}

impl Tail {
    fn merge(&mut self, other: &Self) {
        self.access.merge(&other.access);
        self.fault.merge(&other.fault);
        self.map.merge(&other.map);
    }
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
pub(crate) fn speed(trial: &Trial, variant: Variant) -> Option<f64> {
    let access = |row: &Row| row.timing.as_ref().and_then(|timing| median(&timing.access_ns));
    let pairs = trial.of(Variant::Hugewise).filter_map(|ours| {
        let theirs = trial.of(variant).find(|row| row.round == ours.round)?;
        Some(access(theirs)? / access(ours)?)
    });
    median(&pairs.collect::<Vec<_>>())
}

impl Verdict {
    /// Of a trial.
    pub(crate) fn of(trial: &Trial) -> Self {
        let figures = Variant::ALL.map(|variant| Figures::of(trial, variant));
        let mut found = Vec::new();
        found.extend(main_sentence(trial, &figures));
        found.extend(coverage(trial, &figures));
        found.extend(overlap(&figures));
        found.extend(promotion(trial));
        found.extend(fill(&figures));
        found.extend(tail(&figures));
        found.extend(freed(trial, &figures));
        found.extend(data(trial));
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
    let (Some(never), Some(always)) = (speed(trial, Variant::Never), speed(trial, Variant::Always))
    else {
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
    let (Some(never), Some(always)) = (speed(trial, Variant::Never), speed(trial, Variant::Always))
    else {
        return Some(format!("hugewise: {memory}."));
    };
    Some(format!(
        "hugewise: {never:.2}x the speed of never, {always:.2}x of always (random reads); {memory}."
    ))
}

fn coverage(trial: &Trial, [_, _, hugewise]: &[Figures; 3]) -> Option<String> {
    let (dense, sparse) = (hugewise.dense_percent?, hugewise.sparse_percent?);
    let mut text = format!(
        "hugewise made {dense:.0} % of the dense part huge and {sparse:.0} % of the sparse part."
    );
    if dense < COMPLETE_PERCENT {
        let promotions = trial.rows.iter().filter_map(|row| row.promotion.as_ref());
        match promotions.filter_map(|promotion| promotion.limit).next() {
            Some(limit) => {
                let key = limit.config_key();
                let _ = write!(
                    text,
                    " The dense part is not complete: {key} held the rate down until the time \
                     was over."
                );
            }
            None => text.push_str(" The dense part is not complete: time or free blocks ran out."),
        }
    }
    Some(text)
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
    let all: Vec<_> = trial.rows.iter().filter_map(|row| row.promotion.as_ref()).collect();
    let seconds = median(&all.iter().map(|p| p.seconds).collect::<Vec<_>>())?;
    let promoted = median(&all.iter().map(|p| p.promoted as f64).collect::<Vec<_>>())?;
    let cpu: Vec<_> = all.iter().filter_map(|p| p.cpu_s).collect();
    let cpu = median(&cpu).map_or(String::new(), |s| format!(", {s:.2} s of CPU time"));
    let calls = all.iter().fold(Histogram::default(), |mut calls, p| {
        calls.merge(&p.calls);
        calls
    });
    let call = calls
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
    let percent = trial.rows.iter().find_map(|row| row.freeing.as_ref())?.percent;
    let [never, always, ours] = figures.each_ref().map(|figures| figures.freeing);
    let (never, always, ours) = (never?, always?, ours?);
    let at = |[_, _, later]: [Bytes; 3]| mib(Some(later));
    let blind = trial.simulated.is_none() && trial.rows.iter().any(|r| r.memory.cgroup.is_none());
    let kind = if blind { " of resident memory, which does not show held blocks" } else { "" };
    let mut text = format!(
        "After freeing {percent} % in pieces: never {}, always {}, hugewise {}{kind}.",
        at(never),
        at(always),
        at(ours)
    );
    let given = given_back(trial.of(Variant::Hugewise))?;
    let cpu = given.cpu_s.map_or(String::new(), |s| format!(" with {s:.2} s of CPU time"));
    let _ = write!(
        text,
        " hugewise held {} at first, and split {} huge pages within {:.1} s{cpu}.",
        mib(Some(ours[1])),
        given.demoted,
        given.seconds
    );
    if !given.settled {
        text.push_str(" The time was over before memory had settled.");
    } else if more_percent(Some(never[2]), Some(ours[2])) > Some(REST_PERCENT) {
        text.push_str(" Not all of it came back.");
    }
    Some(text)
}

/// From so much more memory than never has on, not everything was given back, percent.
const REST_PERCENT: f64 = 5.0;

/// Whole MiB; `-` when unknown.
pub(crate) fn mib(bytes: Option<Bytes>) -> String {
    bytes.map_or("-".into(), |bytes| format!("{:.0} MiB", bytes.0 as f64 / f64::from(1 << 20)))
}

fn data(trial: &Trial) -> Option<String> {
    let words: Vec<_> = trial.rows.iter().filter_map(|row| row.timing.as_ref()).collect();
    let least = words.iter().map(|timing| timing.verified_words).min()?;
    let kept = trial.rows.iter().filter_map(|row| row.freeing.as_ref()?.verified_words).min();
    let kept = kept.map_or(String::new(), |kept| {
        format!(", and what was left after freeing ({:.1} million)", kept as f64 / 1e6)
    });
    Some(format!(
        "All data was intact: {} runs, {:.1} million words compared in each{kept}.",
        words.len(),
        least as f64 / 1e6
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
        format!("small differences: {} rounds give a range, no statistical test", trial.rounds),
    ];
    if trial.rows.iter().any(|row| row.memory.cgroup.is_none()) {
        limits.push("memory that RSS misses: the workload had no cgroup of its own".into());
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
    use crate::trial::samples;

    #[test]
    fn the_headline_claims_no_speed_that_noise_may_have_made() {
        let mut trial = samples::real();
        assert!(Verdict::of(&trial).headline.starts_with("1.25x the speed of never"));
        let slow = trial.rows.iter_mut().find(|row| row.variant == Variant::Hugewise);
        let timing = slow.and_then(|row| row.timing.as_mut()).expect("a timed row");
        timing.access_ns = vec![500.0];
        let headline = Verdict::of(&trial).headline;
        assert!(headline.starts_with("no clear difference in speed"), "{headline}");
    }

    #[test]
    fn the_headline_says_when_promotion_was_incomplete() {
        let mut trial = samples::real();
        for row in trial.rows.iter_mut().filter(|row| row.variant == Variant::Hugewise) {
            row.memory.huge_percent.dense = 40.0;
        }
        let headline = Verdict::of(&trial).headline;
        assert!(headline.starts_with("With only 40 % huge: 1.25x"), "{headline}");
    }

    #[test]
    fn speeds_are_compared_within_a_round() {
        let mut trial = samples::real();
        // A round that was slow for everybody says nothing about anybody.
        for timing in trial.rows.iter_mut().filter(|r| r.round == 2).flat_map(|r| &mut r.timing) {
            timing.access_ns.iter_mut().for_each(|ns| *ns *= 3.0);
        }
        let speed = speed(&trial, Variant::Never).expect("timed rows");
        assert!((speed - 1.25).abs() < 0.001, "{speed}");
        assert_eq!(super::speed(&samples::simulated(), Variant::Never), None);
    }

    #[test]
    fn the_sentence_about_freeing_says_what_is_wrong() {
        let sentence = |trial: &Trial| freed(trial, &Verdict::of(trial).figures);
        let mut trial = samples::real();
        let text = sentence(&trial).expect("a row with freeing");
        assert!(text.starts_with("After freeing 70 % in pieces: never 130 MiB, always 515 MiB"));
        assert!(text.contains("hugewise 131 MiB. hugewise held 419 MiB at first"), "{text}");
        assert!(text.ends_with("within 9.5 s with 0.12 s of CPU time."), "{text}");
        let last = trial.rows.iter_mut().filter_map(|row| row.freeing.as_mut()).next_back();
        last.expect("freeing").later.cgroup = Some(Bytes::mib(200));
        let text = sentence(&trial).expect("a sentence");
        assert!(text.ends_with("Not all of it came back."), "{text}");
        trial.rows.iter_mut().for_each(|row| row.freeing = None);
        assert_eq!(sentence(&trial), None);
    }

    #[test]
    fn durations_read_well() {
        let texts = [Some(7), Some(2_140), Some(250_000), Some(3_400_000), None].map(duration);
        assert_eq!(texts, ["7 ns", "2.1 us", "250 us", "3.4 ms", "-"]);
    }
}
