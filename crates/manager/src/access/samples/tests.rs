use super::*;
use hugewise_base::rng::Rng;
use proptest::prelude::*;
use std::collections::BTreeMap;

const GEOMETRY: Geometry = Geometry::X86_64;
const WHOLE: u64 = 512;

fn region(index: u64, present: u64, counts: &[u32]) -> Sampled {
    Sampled { at: Addr(index << 21), present, huge: false, counts: counts.to_vec() }
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}

/// Regions that are all there, with these samples of their pages, as page numbers.
fn sampled(regions: u64, pages: impl Iterator<Item = u64>) -> Vec<Sampled> {
    let mut counts = BTreeMap::<u64, u32>::new();
    pages.for_each(|page| *counts.entry(page).or_default() += 1);
    let one = |index: u64| {
        let of = counts.range(index * WHOLE..(index + 1) * WHOLE).map(|(_, count)| *count);
        region(index, WHOLE, &of.collect::<Vec<_>>())
    };
    (0..regions).map(one).collect()
}

/// Bounds of each region; those that are left out may have any number of accessed pages.
fn bounds(regions: &[Sampled]) -> Vec<(u64, u64)> {
    let said = accesses(regions, GEOMETRY).expect("enough samples");
    let said: BTreeMap<_, _> =
        said.iter().map(|a| (a.from, (a.least_pages, a.most_pages))).collect();
    let of = |region: &Sampled| *said.get(&region.at).unwrap_or(&(0, region.present));
    regions.iter().map(of).collect()
}

#[test]
fn bounds_are_those_of_the_tables() {
    // Gehrels' tables 1 and 2, 95 % on one side.
    for (n, low, high) in [(1, 0.051, 4.744), (4, 1.366, 9.154), (10, 5.425, 16.96)] {
        assert!((upper(n) - high).abs() < 0.02, "{n}: {}", upper(n));
        assert!((lower(n) - low).abs() < 0.02, "{n}: {}", lower(n));
    }
    assert!((upper(0) - 2.996).abs() < 0.03 && lower(0) <= 0.0);
}

#[test]
fn too_few_samples_tell_nothing() {
    assert_eq!(accesses(&[], GEOMETRY), None);
    assert_eq!(accesses(&[region(0, WHOLE, &[1; 31])], GEOMETRY), None);
    // Whatever was accessed, no page of it was met again: there may be any number.
    assert_eq!(accesses(&[region(0, WHOLE, &[1; 400])], GEOMETRY), None);
    let huge = Sampled { huge: true, ..region(0, WHOLE, &[9; 100]) };
    assert_eq!(accesses(&[huge], GEOMETRY), None, "base pages are what counts");
}

#[test]
fn a_huge_page_without_samples_is_left_out_and_one_with_them_is_accessed() {
    let huge = |index, counts: &[u32]| Sampled { huge: true, ..region(index, WHOLE, counts) };
    let regions = [region(0, WHOLE, &[20, 20]), huge(1, &[]), huge(2, &[1]), region(3, 0, &[])];
    let said = accesses(&regions, GEOMETRY).expect("enough samples");
    let said: Vec<_> = said.iter().map(|a| (a.from.0 >> 21, a.least_pages, a.most_pages)).collect();
    assert_eq!(said, [(0, 2, 5), (2, 1, WHOLE)]);
}

/// A fraction of the misses of a hot eighth at the end of 2 GiB.
#[test]
fn a_hot_eighth_ranks_above_all_that_is_idle() {
    for seed in 0..50 {
        let mut rng = Rng::new(seed);
        let (all, hot) = (1024, 128);
        let page = |_| (all - hot) * WHOLE + rng.below(hot * WHOLE);
        let regions = sampled(all, (0..2_000).map(page));
        let bounds = bounds(&regions);
        // What is unknown counts as half, and ranks above what is idle.
        let middle = |(least, most): &(u64, u64)| (least + most) as f64 / (2 * WHOLE) as f64;
        let (idle, hot) = bounds.split_at(index(all - hot));
        let warmest = idle.iter().map(middle).fold(0.0, f64::max);
        let coldest = hot.iter().map(middle).fold(1.0, f64::min);
        assert!(coldest > warmest && warmest < 1.0 / 3.0, "{seed}: {coldest} {warmest}");
    }
}

/// Programs that access a part of each region, every page of it as often as any other one.
#[test]
fn bounds_hold_for_nineteen_regions_of_twenty() {
    let (mut within, mut all) = (0, 0);
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let accessed: Vec<u64> = (0..40).map(|_| rng.below(WHOLE + 1)).collect();
        let pages: Vec<u64> = accessed
            .iter()
            .zip(0_u64..)
            .flat_map(|(accessed, index)| (0..*accessed).map(move |page| index * WHOLE + page))
            .collect();
        let samples = 400 + rng.below(40_000);
        let page = |_| pages[index(rng.below(pages.len() as u64))];
        let bounds = bounds(&sampled(40, (0..samples).map(page)));
        let holds = |(bounds, truth): (&(u64, u64), &u64)| (bounds.0..=bounds.1).contains(truth);
        within += bounds.iter().zip(&accessed).filter(|pair| holds(*pair)).count();
        all += accessed.len();
    }
    assert!(within * 20 >= all * 19, "{within} of {all}");
}

/// Page `n` of a program is accessed in proportion to `1/(n + 1)^s`; pages of all ranks are mixed.
struct Zipf {
    cumulated: Vec<f64>,
    place: Vec<u64>,
}

impl Zipf {
    fn new(pages: u64, s: f64, rng: &mut Rng) -> Self {
        let mut sum = 0.0;
        let weight = |rank: u64| {
            sum += libm::pow(rank as f64 + 1.0, -s);
            sum
        };
        let cumulated = (0..pages).map(weight).collect();
        let mut place: Vec<u64> = (0..pages).collect();
        for last in (1..place.len()).rev() {
            place.swap(last, index(rng.below(last as u64 + 1)));
        }
        Self { cumulated, place }
    }

    fn sample(&self, rng: &mut Rng) -> u64 {
        let sum = self.cumulated.last().copied().unwrap_or(0.0);
        let at = rng.below(1 << 52) as f64 / (1_u64 << 52) as f64 * sum;
        self.place[self.cumulated.partition_point(|upto| *upto <= at).min(self.place.len() - 1)]
    }

    /// Of each region the pages that together, in all regions, have this share of all accesses:
    /// the fewest that have.
    fn of_share(&self, regions: u64, share: f64) -> Vec<u64> {
        let sum = self.cumulated.last().copied().unwrap_or(0.0);
        let ranks = self.cumulated.partition_point(|upto| *upto < share * sum);
        let mut pages = vec![0; index(regions)];
        self.place[..ranks].iter().for_each(|page| pages[index(page / WHOLE)] += 1);
        pages
    }
}

/// Where some pages are much hotter than others: the fewest pages that have three fifths of all
/// accesses are within the bounds, in nineteen regions of twenty.
#[test]
fn pages_with_most_of_the_misses_are_within_bounds_where_few_are_hot() {
    for s in [0.5, 0.8, 1.0, 1.2, 1.5] {
        for samples in [500_u64, 2_000, 10_000] {
            let (mut within, mut all) = (0, 0);
            for seed in 0..4 {
                let mut rng = Rng::new(seed);
                let zipf = Zipf::new(128 * WHOLE, s, &mut rng);
                let pages: Vec<u64> = (0..samples).map(|_| zipf.sample(&mut rng)).collect();
                let bounds = bounds(&sampled(128, pages.into_iter()));
                let truth = zipf.of_share(128, 0.6);
                within += bounds.iter().zip(&truth).filter(|(b, truth)| b.1 >= **truth).count();
                all += truth.len();
            }
            assert!(within * 20 >= all * 19, "s {s}, {samples} samples: {within} of {all}");
        }
    }
}

/// Memory is accessed everywhere, and a few pages of one region nearly all the time.
#[test]
fn a_few_very_hot_pages_do_not_make_their_region_look_full() {
    for (seed, hot) in (0..40).flat_map(|seed| [1, 4, 10, 40].map(|hot| (seed, hot))) {
        let mut rng = Rng::new(seed);
        // Every other access: the hot pages of a region that has nothing else.
        let page = |n: u64| match n % 2 {
            0 => rng.below(hot),
            _ => WHOLE + rng.below(31 * WHOLE),
        };
        let bounds = bounds(&sampled(32, (0..10_000).map(page)));
        assert_eq!(bounds[0].0, hot, "{seed}: seen often, and never more than were sampled");
        assert!(bounds[0].1 < hot + 20, "{seed}: {hot} of at most {}", bounds[0].1);
    }
}

proptest! {
    #[test]
    fn a_sample_proves_its_page_and_nothing_exceeds_what_is_there(
        all in proptest::collection::vec(
            (0..=WHOLE, any::<bool>(), proptest::collection::vec(1..9_u32, 0..60)),
            0..40,
        ),
    ) {
        let make = |((present, huge, counts), index): (&(u64, bool, Vec<u32>), u64)| Sampled {
            huge: *huge, ..region(index, *present, counts)
        };
        let regions: Vec<_> = all.iter().zip(0..).map(make).collect();
        let seen = accesses(&regions, GEOMETRY).unwrap_or_default();
        prop_assert!(seen.windows(2).all(|pair| pair[0].to <= pair[1].from));
        for access in &seen {
            let region = &regions[index(access.from.0 >> 21)];
            let pages = region.counts.len() as u64;
            prop_assert!(access.least_pages <= access.most_pages);
            prop_assert!(access.most_pages <= region.present.max(pages));
            prop_assert_eq!(access.least_pages, if region.huge { 1 } else { pages });
            prop_assert_eq!(access.to.0 - access.from.0, GEOMETRY.huge.0);
        }
        // Whatever was sampled is told, once anything is.
        let told = |region: &&Sampled| seen.iter().any(|access| access.from == region.at);
        let sampled = regions.iter().filter(|region| !region.counts.is_empty());
        prop_assert!(seen.is_empty() || sampled.clone().count() == sampled.filter(told).count());
    }
}
