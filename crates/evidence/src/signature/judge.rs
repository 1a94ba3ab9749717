//! What a bad time resembles, in words that a user can act on.

use super::feature::{FEATURES, Feature};
use super::file::Signatures;
use super::fit::{Fit, Space};
use super::vector::Vector;
use crate::diagnose::{Context, Diagnosis, Interval, Thresholds, apart, in_one_moment, spacing_s};
use crate::recording::{Host, Recording, Subject};
use serde::Serialize;
use std::collections::BTreeMap;

/// Up to this distance a time resembles a mixture.
///
/// Between what stressors and pairs of them come to when they run again, at most 0.25, and what
/// loads of another kind do, at least 0.67: measured, see "Signatures" in docs/measurements.md.
pub const RESEMBLES_MAX: f64 = 0.35;
/// Up to this distance it does so in part.
pub const IN_PART_MAX: f64 = 0.5;
/// A further signature is named only where the distance is so much less with it.
///
/// Between what one brings that did not run, at most 0.028, and one that did, at least 0.076:
/// measured, see "Signatures" in docs/measurements.md.
const GAIN_MIN: f64 = 0.05;
/// Another signature is named in place of one where the distance is no more than this greater.
const ALIKE_MAX: f64 = 0.03;
/// What does not fit is named where it makes so much of a distance alone.
const MISFIT_MIN: f64 = 0.1;
/// Most of what does not fit that is named.
const MISFITS_MAX: usize = 4;
/// Fewer kinds of events than these look like anything.
const EVENTS_MIN: usize = 5;
/// Fewer calm samples than these say little of what is usual, ...
const CALM_MIN: usize = 5;
/// ... nor do seconds between two bad ones: who watches for ten seconds watches a bad time.
const CALM_MIN_S: i64 = 60;
/// Calm is what is usual: it lasts this many times as long as the bad time, at least.
const CALM_TIMES: usize = 2;

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It resembles the parts that are named.
    Resembles,
    /// It resembles them in part: something else happens, too.
    InPart,
    /// It resembles no mixture.
    None,
    /// Nothing happens that could be compared.
    AtRest,
    /// Too few counters are known on both sides.
    TooLittle,
}

/// What was taken away first, so that only what is above it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The rest of the same recording, where nothing was wrong.
    Calm,
    /// The machine at rest, as the signatures have it.
    Rest,
}

/// A signature that is part of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// How many times as much as the stressor does alone.
    pub times: f64,
    /// Its share of all parts, 0 to 100.
    pub share_percent: f64,
    /// Signatures that could stand in its place: with these counters, they cannot be distinguished.
    pub or: Vec<String>,
}

/// A signature alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Other {
    /// Its name.
    pub name: String,
    /// How far any multiple of it is.
    pub distance: f64,
}

/// A counter that does not fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Misfit {
    /// Its name in files.
    pub feature: &'static str,
    /// What it counts, in words.
    pub name: &'static str,
    /// How much of it there is, above the baseline.
    pub is: f64,
    /// How much of it the mixture would make.
    pub would_be: f64,
    /// The same in a sentence.
    pub text: String,
}

/// What a machine's bad time resembles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resemblance {
    /// The machine's name.
    pub host: Option<String>,
    /// What came out.
    pub verdict: Verdict,
    /// The times that were compared; empty: all.
    pub times: Vec<Interval>,
    /// What was taken away.
    pub baseline: Baseline,
    /// The mixture, the largest part first. Where the verdict is `None`, the nearest one.
    pub parts: Vec<Part>,
    /// How far it is, 0 (the same) to 1 (nothing in common); `None`: nothing was compared.
    pub distance: Option<f64>,
    /// What was compared: rates by the names of their features, above the baseline.
    pub rates: BTreeMap<String, f64>,
    /// Signatures that are not compared: what marks them is not in the recording.
    pub not_compared: Vec<String>,
    /// The others alone, the nearest first.
    pub alone: Vec<Other>,
    /// What does not fit, the largest first.
    pub misfits: Vec<Misfit>,
    /// Counters that both sides have.
    pub compared: usize,
    /// Counters that only the signatures have.
    pub missing: Vec<&'static str>,
    /// What the reader should know.
    pub caveats: Vec<String>,
}

/// What the machines of a recording resemble in the times of their worst findings; all of the
/// time where there is none.
pub fn resembled(
    recording: &Recording,
    found: &Diagnosis,
    thresholds: &Thresholds,
    signatures: &Signatures,
) -> Vec<Resemblance> {
    let related = in_one_moment(recording);
    let hosts = related.hosts.iter().filter(|host| !host.is_empty());
    let one = |host: &Host| {
        let worst = found.findings.iter().filter(|finding| finding.host == host.name);
        let times = worst.map(|finding| &finding.intervals).find(|times| !times.is_empty());
        let times = apart(times.cloned().unwrap_or_default());
        let cx = Context::alone(&related, host, thresholds);
        let known_cpus = cx.cpus();
        let cpus = known_cpus.unwrap_or(f64::from(signatures.cpus)).max(1.0);
        let bad = Vector::of(&cx.during(&times), cpus);
        let above = |base: &Vector| judge(&bad.above(base), cpus, signatures);
        let calm = calm(&cx, &times).map(|calm| Vector::of(&cx.during(&calm), cpus));
        // A finding may be of less than what happens all the time.
        let told = calm.map(|calm| above(&calm)).filter(|told| told.verdict != Verdict::AtRest);
        let (baseline, told) = match told {
            Some(told) => (Baseline::Calm, told),
            None => (Baseline::Rest, above(&rest(signatures, cpus))),
        };
        let kernel = cx.setting("kernel").map(|quote| quote.text.as_str());
        let caveats = caveats(signatures, known_cpus, kernel);
        Resemblance { host: host.name.clone(), times, baseline, caveats, ..told }
    };
    hosts.map(one).collect()
}

/// The machine at rest, as large as the one in question.
fn rest(signatures: &Signatures, cpus: f64) -> Vector {
    let times = cpus / f64::from(signatures.cpus.max(1));
    let rates = signatures.rest.iter().map(|(key, rate)| (key.clone(), rate * times));
    Vector::of_rates(&rates.collect())
}

/// The times that are not bad, where they are long enough to be what is usual.
fn calm(cx: &Context<'_>, bad: &[Interval]) -> Option<Vec<Interval>> {
    let line = cx.user(&Subject::Machine).or_else(|| cx.busy(&Subject::Machine))?;
    let mut calm: Vec<Interval> = Vec::new();
    let mut from = None;
    for interval in bad {
        // An end without a time is open: there is no time beyond it.
        if let Some(end) = interval.from {
            calm.push(Interval { from, to: Some(end) });
        }
        from = Some(interval.to?);
    }
    calm.push(Interval { from: Some(from?), to: None });
    let count = |times: &[Interval]| {
        let cx = cx.during(times);
        line.points.iter().filter(|point| point.at.is_some() && cx.in_times(point)).count()
    };
    let (samples, bad) = (count(&calm), count(bad));
    let seconds = spacing_s(&line.points)?.saturating_mul(i64::try_from(samples).ok()?);
    let usual = samples >= CALM_MIN && samples >= bad.saturating_mul(CALM_TIMES);
    (usual && seconds >= CALM_MIN_S).then_some(calm)
}

fn caveats(signatures: &Signatures, cpus: Option<f64>, kernel: Option<&str>) -> Vec<String> {
    let mut all = Vec::new();
    let own = signatures.cpus;
    match cpus {
        None => all.push(format!("how many CPUs there are is not known: taken to be {own}")),
        Some(cpus) if (cpus - f64::from(own)).abs() >= 0.5 => all.push(format!(
            "the signatures are of a machine with another number of CPUs: {own}, not {cpus:.0}"
        )),
        Some(_) => {}
    }
    if let (Some(own), Some(kernel)) = (signatures.kernel.as_deref(), kernel)
        && own != kernel
    {
        all.push(format!("the signatures are of another kernel: {own}, not {kernel}"));
    }
    if let Some(noise) = signatures.noisy.first() {
        all.push(format!("the machine was not quiet when the signatures were made: {noise}"));
    }
    let unknown = signatures.unknown_rates();
    if unknown > 0 {
        all.push(format!("{unknown} counters of the signatures are not known to this version"));
    }
    all
}

/// What a vector of a machine with a given number of CPUs resembles, above what it does at rest.
pub fn judge(vector: &Vector, cpus: f64, signatures: &Signatures) -> Resemblance {
    let vectors = signatures.vectors();
    let space = Space::new(&vectors, vector, signatures.cpus);
    let compared: Vec<usize> = space.places().collect();
    let missing = (0..FEATURES.len()).filter(|place| {
        vector.get(*place).is_none() && vectors.iter().all(|one| one.get(*place).is_some())
    });
    let numbered = signatures.signatures.iter().enumerate();
    let not_compared = numbered.filter(|(index, _)| !space.compares(*index));
    let mut told = Resemblance {
        host: None,
        verdict: Verdict::TooLittle,
        times: Vec::new(),
        baseline: Baseline::Rest,
        parts: Vec::new(),
        distance: None,
        rates: vector.rates(),
        not_compared: not_compared.map(|(_, one)| one.name.clone()).collect(),
        alone: Vec::new(),
        misfits: Vec::new(),
        compared: compared.len(),
        missing: missing.map(|place| FEATURES[place].key).collect(),
        caveats: Vec::new(),
    };
    if space.kinds_of_events() < EVENTS_MIN || told.not_compared.len() == vectors.len() {
        return told;
    }
    let matters = |place: &usize| {
        vector.get(*place).is_some_and(|rate| rate >= FEATURES[*place].matters(1) * cpus)
    };
    if !compared.iter().any(matters) {
        told.verdict = Verdict::AtRest;
        return told;
    }
    told.alone = alone(&space, vector, signatures);
    let Some(fit) = clearest(space.nearest(vector)) else {
        told.verdict = Verdict::None;
        told.distance = Some(1.0);
        return told;
    };
    told.verdict = match fit.distance {
        distance if distance <= RESEMBLES_MAX => Verdict::Resembles,
        distance if distance <= IN_PART_MAX => Verdict::InPart,
        _ => Verdict::None,
    };
    told.distance = Some(fit.distance);
    told.parts = parts(&space, vector, signatures, &fit);
    told.misfits = misfits(&space, &vectors, vector, &fit);
    told
}

/// The mixture of the fewest signatures that one more does not make clearly nearer.
fn clearest(fits: Vec<Fit>) -> Option<Fit> {
    fits.into_iter().reduce(|fewer, more| {
        let gain = fewer.distance - more.distance;
        let next = more.parts.len() == fewer.parts.len() + 1;
        if next && gain >= GAIN_MIN { more } else { fewer }
    })
}

fn alone(space: &Space, vector: &Vector, signatures: &Signatures) -> Vec<Other> {
    let one = |(index, name): (usize, &str)| Other {
        name: name.to_owned(),
        distance: space.of_all(vector, &[index]).map_or(1.0, |fit| fit.distance),
    };
    let names = signatures.signatures.iter().map(|one| one.name.as_str()).enumerate();
    let mut all: Vec<Other> = names.filter(|(index, _)| space.compares(*index)).map(one).collect();
    all.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    all
}

fn parts(space: &Space, vector: &Vector, signatures: &Signatures, fit: &Fit) -> Vec<Part> {
    let vectors = signatures.vectors();
    let name = |index: usize| signatures.signatures.get(index).map_or("", |one| one.name.as_str());
    let size = |(index, times): &(usize, f64)| {
        vectors.get(*index).map_or(0.0, |one| space.size(one)) * times
    };
    let all: f64 = fit.parts.iter().map(size).sum();
    let or = |own: usize| {
        if fit.distance > IN_PART_MAX {
            return Vec::new();
        }
        let others = (0..vectors.len()).filter(|other| fit.parts.iter().all(|(i, _)| i != other));
        let stands_in = |other: &usize| {
            let set = fit.parts.iter().map(|(i, _)| if *i == own { *other } else { *i });
            let instead = space.of_all(vector, &set.collect::<Vec<_>>());
            instead.is_some_and(|instead| instead.distance <= fit.distance + ALIKE_MAX)
        };
        others.filter(stands_in).map(|other| name(other).to_owned()).collect()
    };
    let part = |part: &(usize, f64)| Part {
        name: name(part.0).to_owned(),
        times: part.1,
        share_percent: if all > 0.0 { (100.0 * size(part) / all).min(100.0) } else { 0.0 },
        or: or(part.0),
    };
    let mut parts: Vec<Part> = fit.parts.iter().map(part).collect();
    parts.sort_by(|a, b| b.share_percent.total_cmp(&a.share_percent));
    parts
}

/// The largest of what is left, once for each kind of events.
fn misfits(space: &Space, vectors: &[Vector], vector: &Vector, fit: &Fit) -> Vec<Misfit> {
    let mut left = space.left(vectors, vector, fit);
    left.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    let of = |place: usize| &FEATURES[place];
    let mut told: Vec<(&Feature, f64, f64, f64)> = Vec::new();
    for (place, would_be, share) in left {
        let feature = of(place);
        match told.iter_mut().find(|(known, ..)| known.events == feature.events) {
            Some((.., all)) => *all += share.abs(),
            None => {
                told.push((feature, vector.get(place).unwrap_or(0.0), would_be, share.abs()));
            }
        }
    }
    told.retain(|(.., share)| share.sqrt() * fit.distance >= MISFIT_MIN);
    told.sort_by(|a, b| b.3.total_cmp(&a.3));
    told.truncate(MISFITS_MAX);
    let misfit = |(feature, is, would_be, _): (&'static Feature, f64, f64, f64)| Misfit {
        feature: feature.key,
        name: feature.name,
        is,
        would_be,
        text: sentence(feature, is, would_be),
    };
    told.into_iter().map(misfit).collect()
}

fn sentence(feature: &Feature, is: f64, would_be: f64) -> String {
    let (word, amount) =
        if is > would_be { ("more", is - would_be) } else { ("less", would_be - is) };
    format!(
        "{}: {}, {} {word} than these would make",
        feature.name,
        feature.written(is),
        feature.written(amount)
    )
}
