use super::*;
use proptest::prelude::*;

const PAGE: u64 = 4_096;
const HUGE: u64 = 512 * PAGE;

fn access(from: u64, to: u64, least_pages: u64, most_pages: u64) -> Access {
    Access { from: Addr(from), to: Addr(to), least_pages, most_pages }
}

/// One region, of which so many base pages were accessed.
fn region(index: u64, pages: u64) -> Access {
    access(index * HUGE, (index + 1) * HUGE, pages, pages)
}

fn usage(heat: &Heat, index: u64) -> Use {
    heat.of(Addr(index * HUGE), Geometry::X86_64).expect("something is known")
}

fn look(heat: &mut Heat, seen: &[Access], second: u64) {
    heat.looked(seen, Geometry::X86_64, Ns::s(second));
}

/// In the integers of Ingens' release such a page stays cold for ever.
#[test]
fn a_base_page_that_is_accessed_in_every_interval_becomes_hot() {
    let page = |accessed| access(HUGE, HUGE + PAGE, accessed, accessed);
    let mut heat = Heat::default();
    look(&mut heat, &[page(0)], 0);
    assert!(usage(&heat, 1).temperature < IDLE);
    for second in 1..=8 {
        look(&mut heat, &[page(1)], second);
    }
    assert!(usage(&heat, 1).temperature >= HOT);
}

#[test]
fn a_huge_page_that_stays_in_use_keeps_what_was_known_of_it() {
    let mut heat = Heat::default();
    look(&mut heat, &[region(0, 512)], 0);
    for second in 1..20 {
        look(&mut heat, &[access(0, HUGE, 1, 512)], second);
    }
    assert!((usage(&heat, 0).coverage() - 1.0).abs() < 1e-9);
    look(&mut heat, &[region(0, 0)], 20);
    assert!(usage(&heat, 0).coverage() < 0.7, "one look is enough to see that it is idle");
}

/// A mapping of which an eighth is accessed is neither hot nor idle as a whole.
#[test]
fn sums_of_a_mapping_make_not_all_of_it_hot() {
    let mut heat = Heat::default();
    look(&mut heat, &[access(0, 64 * HUGE, 8 * 512, 8 * 512)], 0);
    let used = usage(&heat, 17);
    assert!((used.coverage() - 0.125).abs() < 1e-9);
    assert!(used.temperature < HOT && used.temperature >= IDLE, "{used:?}");
    look(&mut heat, &[access(0, 64 * HUGE, 0, 0)], 1_000);
    assert!(usage(&heat, 17).temperature < HOT);
}

/// More regions than are kept: the end counts as much as the beginning.
#[test]
fn a_hot_end_of_a_large_program_is_seen() {
    let all: Vec<_> = (0..10_000).map(|index| region(index, (index % 2) * 4)).collect();
    let hot = (10_000..10_100).map(|index| region(index, 512));
    let seen: Vec<_> = all.into_iter().chain(hot).collect();
    let mut heat = Heat::default();
    look(&mut heat, &seen, 0);
    assert!(heat.ranges.len() <= RANGES);
    assert!(usage(&heat, 10_050).coverage() > 0.9);
    assert!(usage(&heat, 5_000).coverage() < 0.1);
}

#[test]
fn what_nobody_looks_at_any_more_is_forgotten() {
    let mut heat = Heat::default();
    look(&mut heat, &[region(0, 512)], 0);
    assert!(!heat.forget(Ns::s(599)) && !heat.is_empty());
    assert!(heat.forget(Ns::s(600)) && heat.is_empty());
}

/// Anything at all: reversed, overlapping, empty, beyond every address space.
fn anything() -> impl Strategy<Value = Access> {
    let near = (0..64_u64, 0..16_u64, 0..2_000_u64, 0..2_000_u64)
        .prop_map(|(at, n, a, b)| access(at * HUGE / 2, (at + n) * HUGE / 2, a, b));
    let any = any::<(u64, u64, u64, u64)>().prop_map(|(from, to, a, b)| access(from, to, a, b));
    prop_oneof![4 => near, 1 => any]
}

fn anything_seen() -> impl Strategy<Value = Vec<Vec<Access>>> {
    let look = prop::collection::vec(anything(), 0..40).prop_flat_map(|seen| {
        let mut sorted = seen.clone();
        sorted.sort_by_key(|access| access.from);
        prop_oneof![Just(seen), Just(sorted)]
    });
    prop::collection::vec(look, 0..8)
}

proptest! {
    #[test]
    fn ranges_stay_in_order_whatever_is_seen(looks in anything_seen(), at in any::<u64>()) {
        let mut heat = Heat::default();
        for (second, seen) in (0..).zip(&looks) {
            look(&mut heat, seen, second * 100);
            let mut end = 0;
            for range in &heat.ranges {
                prop_assert!(range.from >= end && range.from < range.to, "{heat:?}");
                let Use { temperature, least, most } = range.used;
                prop_assert!((0.0..=1.0).contains(&temperature), "{range:?}");
                prop_assert!(0.0 <= least && least <= most && most <= 1.0, "{range:?}");
                end = range.to;
            }
            prop_assert!(heat.ranges.len() <= RANGES);
            for at in (0..40).map(|index| index * HUGE).chain([at, u64::MAX]) {
                let Some(used) = heat.of(Addr(at), Geometry::X86_64) else { continue };
                let Use { temperature, least, most } = used;
                prop_assert!((0.0..=1.0).contains(&temperature), "{used:?}");
                prop_assert!(0.0 <= least && least <= most && most <= 1.0, "{used:?}");
            }
        }
    }

    #[test]
    fn too_many_ranges_are_joined_and_the_sum_stays(
        pages in prop::collection::vec(0..=512_u64, 5_000..6_000),
    ) {
        let seen: Vec<_> = (0..).zip(&pages).map(|(index, pages)| region(index, *pages)).collect();
        let mut heat = Heat::default();
        look(&mut heat, &seen, 0);
        prop_assert!(heat.ranges.len() <= RANGES);
        let known = |range: &Range| range.used.coverage() * (range.to - range.from) as f64;
        let (sum, all) = (heat.ranges.iter().map(known).sum::<f64>(), pages.iter().sum::<u64>());
        prop_assert!((sum / PAGE as f64 - all as f64).abs() < 1.0, "{sum} of {all}");
    }

    #[test]
    fn what_is_not_seen_is_known_less_and_never_zero(
        pages in 0..=512_u64, looks in 1..20_u64, gap in 1..30_u64,
    ) {
        let mut heat = Heat::default();
        look(&mut heat, &[region(3, pages)], 0);
        for second in 1..=looks {
            let before = usage(&heat, 3);
            look(&mut heat, &[region(9, 1)], second * gap);
            if second * gap >= 600 {
                prop_assert!(heat.of(Addr(3 * HUGE), Geometry::X86_64).is_none());
                break;
            }
            let after = usage(&heat, 3);
            prop_assert!(after.least <= before.least && after.most >= before.most);
            prop_assert!(after.most > 0.0);
            prop_assert!((after.temperature - before.temperature).abs() < 1e-12);
        }
    }

    /// Whatever was known before: eight looks that show it are enough, as many as Ingens has bits.
    #[test]
    fn eight_intervals_of_use_make_hot(
        before in prop::collection::vec(0..=1_u64, 0..20), page in 0..512_u64,
    ) {
        let from = HUGE + page * PAGE;
        let mut heat = Heat::default();
        for (second, accessed) in (0..).zip(before.iter().chain(&[1; 8])) {
            look(&mut heat, &[access(from, from + PAGE, *accessed, *accessed)], second);
        }
        prop_assert!(usage(&heat, 1).temperature >= HOT);
        let mut never = Heat::default();
        for second in 0..8 {
            look(&mut never, &[access(from, from + PAGE, 0, 0)], second);
        }
        prop_assert!(usage(&never, 1).temperature < IDLE);
    }
}
