//! Experiments whose truth is known: as many false differences as promised and no more, true ones
//! found, intervals that cover.

use hugewise_base::rng::Rng;
use hugewise_base::stats::normal;
use hugewise_experiment::compare::{Better, Comparison, Judged, Judgement, Rule, compare, judge};
use std::f64::consts::PI;

const EXPERIMENTS: u64 = 200;
const VARIANTS: usize = 4;
const RULE: Rule = Rule { alpha: 0.05, equal_within_percent: None, better: Better::Lower };

/// The chance with which a bound below fails a correct program, were its seed drawn anew.
const BAD_LUCK: f64 = 1e-3;

/// Noise around 100, about 2 % wide.
#[derive(Debug, Clone, Copy)]
enum Noise {
    Normal,
    Lognormal,
    /// Student's t with two degrees of freedom: no variance.
    HeavyTail,
    /// Each round is slower than the one before: a machine that warms up.
    Drift,
    /// Every third run, at random, is a tenth slower: a lucky or unlucky memory layout.
    TwoModes,
}

const MODELS: [Noise; 5] =
    [Noise::Normal, Noise::Lognormal, Noise::HeavyTail, Noise::Drift, Noise::TwoModes];

/// Uniform, strictly between 0 and 1.
fn uniform(rng: &mut Rng) -> f64 {
    ((rng.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn gauss(rng: &mut Rng) -> f64 {
    // Box and Muller.
    (-2.0 * uniform(rng).ln()).sqrt() * (2.0 * PI * uniform(rng)).cos()
}

impl Noise {
    fn run(self, rng: &mut Rng, at: usize) -> f64 {
        match self {
            Self::Normal => 100.0 + 2.0 * gauss(rng),
            Self::Lognormal => 100.0 * (0.02 * gauss(rng)).exp(),
            // The normal part over the root of an exponential one.
            Self::HeavyTail => 100.0 + gauss(rng) / (-uniform(rng).ln()).sqrt(),
            Self::Drift => 100.0 + 0.3 * at as f64 + 2.0 * gauss(rng),
            Self::TwoModes => 100.0 + 10.0 * f64::from(rng.percent(33)) + 0.5 * gauss(rng),
        }
    }
}

/// The runs of a baseline and its variants, interleaved: every round runs each once, in random
/// order. `factors` are the true ratios.
fn experiment(noise: Noise, rounds: usize, factors: &[f64], rng: &mut Rng) -> Vec<Vec<f64>> {
    let mut runs = vec![Vec::new(); factors.len()];
    let mut at = 0;
    for _ in 0..rounds {
        let mut order: Vec<usize> = (0..factors.len()).collect();
        for i in (1..order.len()).rev() {
            let bound = u64::try_from(i + 1).expect("small");
            order.swap(i, usize::try_from(rng.below(bound)).expect("small"));
        }
        for variant in order {
            runs[variant].push(factors[variant] * noise.run(rng, at));
            at += 1;
        }
    }
    runs
}

fn judged(runs: &[Vec<f64>]) -> Vec<Judged<usize>> {
    let against = |other: &Vec<f64>| -> Comparison { compare(&runs[0], other, &RULE) };
    let family = runs.iter().enumerate().skip(1).map(|(key, other)| (key, against(other), RULE));
    judge(family.collect())
}

fn differs(judgement: Judgement) -> bool {
    matches!(judgement, Judgement::Better | Judgement::Worse | Judgement::Different)
}

/// The smallest count that a binomial of `trials` and `chance` exceeds with at most [`BAD_LUCK`].
fn most(trials: u64, chance: f64) -> u64 {
    let (mut one, mut below) = ((1.0 - chance).powf(trials as f64), 0.0);
    for count in 0..trials {
        below += one;
        if 1.0 - below <= BAD_LUCK {
            return count;
        }
        one *= (trials - count) as f64 / (count + 1) as f64 * chance / (1.0 - chance);
    }
    trials
}

#[test]
fn the_bound_is_that_of_the_binomial_distribution() {
    // Normal approximation: 10 + 3.09 * sqrt(200 * 0.05 * 0.95) = 19.5, the tail is skewed upwards.
    let bound = most(200, 0.05);
    assert!((20..=22).contains(&bound), "{bound}");
    assert_eq!((most(1, 0.5), most(10, 0.0)), (1, 0));
}

#[test]
fn equal_variants_are_called_different_as_rarely_as_promised() {
    let bound = most(EXPERIMENTS, RULE.alpha);
    for (noise, rounds) in MODELS.iter().flat_map(|noise| [(*noise, 5), (*noise, 10)]) {
        let mut rng = Rng::new(4242);
        let wrong = (0..EXPERIMENTS).filter(|_| {
            let runs = experiment(noise, rounds, &[1.0; VARIANTS + 1], &mut rng);
            judged(&runs).iter().any(|judged| differs(judged.judgement))
        });
        let wrong = wrong.count() as u64;
        println!("{noise:?}, {rounds} rounds: {wrong} of {EXPERIMENTS} wrong, bound {bound}");
        assert!(wrong <= bound, "{noise:?}, {rounds} rounds: {wrong} of {EXPERIMENTS}");
    }
}

#[test]
fn a_difference_of_ten_percent_in_two_percent_noise_is_found() {
    let mut factors = [1.0; VARIANTS + 1];
    factors[2] = 1.1;
    for rounds in [5, 10] {
        let mut rng = Rng::new(99);
        let found = (0..EXPERIMENTS).filter(|_| {
            let runs = experiment(Noise::Normal, rounds, &factors, &mut rng);
            judged(&runs)[1].judgement == Judgement::Worse
        });
        let found = found.count() as u64;
        println!("{rounds} rounds: {found} of {EXPERIMENTS} found");
        assert!(found * 100 >= EXPERIMENTS * 95, "{rounds} rounds: {found} of {EXPERIMENTS}");
    }
}

#[test]
fn intervals_cover_the_true_ratio_as_often_as_promised() {
    let (truth, bound) = (1.07, most(EXPERIMENTS, RULE.alpha));
    for (noise, rounds) in MODELS.iter().flat_map(|noise| [(*noise, 5), (*noise, 10)]) {
        let mut rng = Rng::new(7);
        let missed = (0..EXPERIMENTS).filter(|_| {
            let runs = experiment(noise, rounds, &[1.0, truth], &mut rng);
            let ratio = compare(&runs[0], &runs[1], &RULE).ratio.expect("above 0");
            !ratio.interval.expect("enough runs").contains(truth)
        });
        let missed = missed.count() as u64;
        println!("{noise:?}, {rounds} rounds: {missed} of {EXPERIMENTS} missed, bound {bound}");
        assert!(missed <= bound, "{noise:?}, {rounds} rounds: {missed} of {EXPERIMENTS}");
    }
}

/// Four in five at the size that is called visible: the noise is normal, but its width is
/// estimated from each experiment's own runs.
#[test]
fn what_could_have_been_seen_mostly_is() {
    for rounds in [5, 10, 20] {
        let mut rng = Rng::new(11);
        let percents = (0..EXPERIMENTS).map(|_| {
            let runs = experiment(Noise::Normal, rounds, &[1.0; 2], &mut rng);
            let comparison = compare(&runs[0], &runs[1], &RULE);
            comparison.smallest_visible_percent.expect("enough runs")
        });
        let percent = percents.sum::<f64>() / EXPERIMENTS as f64;
        let found = (0..EXPERIMENTS).filter(|_| {
            let runs = experiment(Noise::Normal, rounds, &[1.0, 1.0 + percent / 100.0], &mut rng);
            differs(judged(&runs)[0].judgement)
        });
        let found = found.count();
        println!("{rounds} rounds: {percent:.2} % found in {found} of {EXPERIMENTS}");
        // 160 of 200 with a standard deviation of 6, and the formula's own error.
        assert!((134..=186).contains(&found), "{rounds} rounds, {percent} %: {found}");
    }
}

#[test]
fn noise_is_about_two_percent_wide() {
    // A model that does not scatter would make every test above pass.
    for noise in MODELS {
        let mut rng = Rng::new(5);
        let mut runs: Vec<f64> = (0..1000).map(|at| noise.run(&mut rng, at % 25)).collect();
        runs.sort_by(f64::total_cmp);
        let sd = (runs[750] - runs[250]) / (2.0 * normal::quantile(0.75).expect("inside"));
        assert!((0.5..8.0).contains(&sd), "{noise:?}: {sd}");
    }
}
