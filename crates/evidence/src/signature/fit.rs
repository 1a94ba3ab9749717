//! The mixture of signatures that is nearest to a vector.
//!
//! Loads side by side add up, so a mixture is a sum of signatures, none of them negative. Which
//! one is nearest is a least-squares problem with few unknowns: all sets of at most [`PARTS_MAX`]
//! signatures are solved exactly, so that the answer is the same each time and no local one.

use super::feature::FEATURES;
use super::vector::Vector;

/// Most signatures that a mixture is made of: of more, nobody could say which one it was.
pub const PARTS_MAX: usize = 3;

/// A signature is compared where so much of it is: what marks network load is packets, and where
/// they are not counted, CPU in the kernel alone would look like it.
const KNOWN_MIN: f64 = 2.0 / 3.0;

/// A mixture.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The signatures by their number, each with how many times it is in the mixture, above 0: 1
    /// is as much as the stressor does alone.
    pub parts: Vec<(usize, f64)>,
    /// Distance from the vector, 0 (the same) to 1 (nothing in common).
    pub distance: f64,
}

/// A feature that both sides know.
#[derive(Clone, Copy, Debug)]
struct Axis {
    place: usize,
    /// What a rate is divided by.
    unit: f64,
}

/// Signatures in the features that a vector has, on axes that can be compared.
#[derive(Clone, Debug)]
pub struct Space {
    axes: Vec<Axis>,
    /// Signatures on these axes; `None` for one that too little is known of here.
    points: Vec<Option<Vec<f64>>>,
}

impl Space {
    /// Of signatures on a machine with a given number of CPUs, in the features that `known` has.
    ///
    /// An axis is scaled by the largest value of a signature, at least by the feature's floor. The
    /// features that count the same events have the weight of one together.
    pub fn new(signatures: &[Vector], known: &Vector, cpus: u32) -> Self {
        let of_all = |place: &usize| signatures.iter().all(|one| one.get(*place).is_some());
        let whole: Vec<usize> = (0..FEATURES.len()).filter(of_all).collect();
        let axes = axes(signatures, &whole, cpus);
        let is_known = |axis: &Axis| known.get(axis.place).is_some();
        let compared: Vec<usize> =
            axes.iter().filter(|axis| is_known(axis)).map(|axis| axis.place).collect();
        // Where one counter of some events is missing, another one tells as much.
        let known_events: Vec<&str> =
            compared.iter().map(|place| FEATURES[*place].events).collect();
        let is_comparable = |one: &Vector| {
            let point = project(&axes, one);
            let known = axes.iter().zip(&point);
            let known =
                known.filter(|(axis, _)| known_events.contains(&FEATURES[axis.place].events));
            let known: f64 = known.map(|(_, value)| value * value).sum();
            known >= KNOWN_MIN * dot(&point, &point)
        };
        let comparable: Vec<bool> = signatures.iter().map(is_comparable).collect();
        let axes = self::axes(signatures, &compared, cpus);
        let point = |(one, comparable): (&Vector, bool)| comparable.then(|| project(&axes, one));
        let points = signatures.iter().zip(comparable).map(point).collect();
        Self { points, axes }
    }

    /// Whether a signature is compared.
    pub fn compares(&self, index: usize) -> bool {
        self.points.get(index).is_some_and(Option::is_some)
    }

    /// Places of the features that are compared.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        self.axes.iter().map(|axis| axis.place)
    }

    /// Kinds of events that are compared.
    pub(crate) fn kinds_of_events(&self) -> usize {
        let mut events: Vec<&str> = self.places().map(|place| FEATURES[place].events).collect();
        events.sort_unstable();
        events.dedup();
        events.len()
    }

    /// The nearest mixtures of exactly 1, 2, ... signatures, as far as there are any.
    pub fn nearest(&self, vector: &Vector) -> Vec<Fit> {
        let point = project(&self.axes, vector);
        let count = self.points.len();
        let sets = |size: usize| -> Vec<Vec<usize>> {
            let longer = |sets: Vec<Vec<usize>>| -> Vec<Vec<usize>> {
                let more = sets.into_iter().flat_map(|set: Vec<usize>| {
                    let from = set.last().map_or(0, |last| last + 1);
                    (from..count).map(move |next| [set.as_slice(), &[next]].concat())
                });
                more.collect()
            };
            (0..size).fold(vec![Vec::new()], |sets, _| longer(sets))
        };
        let best = |size| {
            let fits = sets(size).into_iter().filter_map(|set| self.fit(&point, &set));
            // The first of equals.
            fits.reduce(|best, other| if other.distance < best.distance { other } else { best })
        };
        (1..=PARTS_MAX).map_while(best).collect()
    }

    /// The nearest mixture of all these signatures; `None` where one of them would be negative.
    pub(crate) fn of_all(&self, vector: &Vector, set: &[usize]) -> Option<Fit> {
        self.fit(&project(&self.axes, vector), set)
    }

    fn fit(&self, point: &[f64], set: &[usize]) -> Option<Fit> {
        let one = |index: &usize| self.points.get(*index)?.as_deref();
        let chosen = set.iter().map(one).collect::<Option<Vec<&[f64]>>>()?;
        let size = dot(point, point);
        let times = solve(&chosen, point)?;
        if size <= 0.0 || !times.iter().all(|times| times.is_finite() && *times > 0.0) {
            return None;
        }
        let made = |axis: usize| {
            let parts = chosen.iter().zip(&times);
            parts.map(|(one, times)| one.get(axis).copied().unwrap_or(0.0) * times).sum::<f64>()
        };
        let left = point.iter().enumerate().map(|(axis, value)| (value - made(axis)).powi(2));
        let distance = (left.sum::<f64>() / size).sqrt().clamp(0.0, 1.0);
        Some(Fit { parts: set.iter().copied().zip(times).collect(), distance })
    }

    /// What a mixture leaves of a vector, by place: the rate that the mixture makes, and the part
    /// of the whole distance that this feature has, 0 to 1, above 0 where the vector has more.
    pub fn left(
        &self,
        signatures: &[Vector],
        vector: &Vector,
        fit: &Fit,
    ) -> Vec<(usize, f64, f64)> {
        let rate = |place: usize| {
            let parts = fit.parts.iter();
            let rates = parts.map(|(index, times)| {
                signatures.get(*index).and_then(|one| one.get(place)).unwrap_or(0.0) * times
            });
            rates.sum::<f64>()
        };
        let left = self.axes.iter().map(|axis| {
            let (has, made) = (vector.get(axis.place).unwrap_or(0.0), rate(axis.place));
            (axis.place, made, (has - made) / axis.unit)
        });
        let left: Vec<(usize, f64, f64)> = left.collect();
        let all = left.iter().map(|(.., part)| part * part).sum::<f64>();
        let share = |part: f64| if all > 0.0 { part * part.abs() / all } else { 0.0 };
        left.into_iter().map(|(place, made, part)| (place, made, share(part))).collect()
    }

    /// Length of a vector: about 1 for a stressor that moves one kind of events.
    pub fn size(&self, vector: &Vector) -> f64 {
        let point = project(&self.axes, vector);
        dot(&point, &point).sqrt()
    }
}

/// How far one vector is from any multiple of another, 0 to 1, in the features that both know and
/// on the axes of all these signatures; the same both ways. `None` where one of them is empty.
pub fn between(signatures: &[Vector], cpus: u32, one: &Vector, other: &Vector) -> Option<f64> {
    let space = Space::new(signatures, one, cpus);
    let (one, other) = (project(&space.axes, one), project(&space.axes, other));
    let sizes = dot(&one, &one) * dot(&other, &other);
    let cosine = dot(&one, &other) / sizes.sqrt();
    (sizes > 0.0).then(|| (1.0 - cosine * cosine).clamp(0.0, 1.0).sqrt())
}

/// The axes of features at these places, which all signatures know.
fn axes(signatures: &[Vector], places: &[usize], cpus: u32) -> Vec<Axis> {
    let axis = |place: &usize| {
        let feature = FEATURES.get(*place)?;
        let events = |other: &&usize| {
            FEATURES.get(**other).is_some_and(|other| other.events == feature.events)
        };
        let alike = places.iter().filter(events).count();
        let values = signatures.iter().filter_map(|one| one.get(*place));
        let scale = values.fold(feature.matters(cpus), f64::max);
        Some(Axis { place: *place, unit: scale * (alike as f64).sqrt() })
    };
    places.iter().filter_map(axis).collect()
}

fn project(axes: &[Axis], vector: &Vector) -> Vec<f64> {
    axes.iter().map(|axis| vector.get(axis.place).unwrap_or(0.0) / axis.unit).collect()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// Least share of a signature that is in none of the others before it: of less, rounding would
/// decide how much of which is in a mixture.
const INDEPENDENT_MIN: f64 = 1e-6;

/// How many times each of a few vectors is in the sum nearest to a point: the normal equations, by
/// Cholesky's method. `None` where one of the vectors is a sum of the others.
fn solve(chosen: &[&[f64]], point: &[f64]) -> Option<Vec<f64>> {
    let count = chosen.len();
    // Of length 1, so that the diagonal tells how independent they are.
    let lengths: Vec<f64> = chosen.iter().map(|one| dot(one, one).sqrt()).collect();
    if lengths.iter().any(|length| *length <= 0.0) {
        return None;
    }
    let mut lower = vec![vec![0.0_f64; count]; count];
    for row in 0..count {
        for column in 0..=row {
            let product = dot(chosen[row], chosen[column]) / (lengths[row] * lengths[column]);
            let before = dot(&lower[row][..column], &lower[column][..column]);
            let rest = product - before;
            if row == column {
                if rest < INDEPENDENT_MIN {
                    return None;
                }
                lower[row][row] = rest.sqrt();
            } else {
                lower[row][column] = rest / lower[column][column];
            }
        }
    }
    let mut times = vec![0.0_f64; count];
    for row in 0..count {
        let wanted = dot(chosen[row], point) / lengths[row];
        times[row] = (wanted - dot(&lower[row][..row], &times[..row])) / lower[row][row];
    }
    for row in (0..count).rev() {
        let below: f64 = (row + 1..count).map(|below| lower[below][row] * times[below]).sum();
        times[row] = (times[row] - below) / lower[row][row];
    }
    Some(times.iter().zip(&lengths).map(|(times, length)| times / length).collect())
}
