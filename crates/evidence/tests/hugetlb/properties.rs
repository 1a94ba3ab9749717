//! Whatever a machine looks like: no panic, nothing taken from those who use it, sums that add up.

use super::machine::{HUGE, machine, run, share};
use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::facts::{Facts, NodePool, ObjectKind, Pool};
use hugewise_evidence::hugetlb::files;
use hugewise_evidence::hugetlb::input::Inputs;
use hugewise_evidence::hugetlb::java;
use hugewise_evidence::hugetlb::plan::plan;
use hugewise_evidence::hugetlb::pools as pool_files;
use hugewise_evidence::hugetlb::verify::verify;
use proptest::prelude::*;

fn pools() -> impl Strategy<Value = Vec<Pool>> {
    let node = |i: u32| {
        (any::<u64>(), any::<u64>()).prop_map(move |(total, free)| NodePool {
            node: i,
            total,
            free,
            surplus: None,
            memory_free: Some(Bytes(free)),
        })
    };
    let nodes = (node(0), node(1)).prop_map(|(a, b)| vec![a, b]);
    let page = prop::sample::select(vec![2_u64 << 20, 1 << 30, 64 << 10]);
    let number = prop_oneof![0_u64..5000, any::<u64>()];
    let numbers = (number.clone(), number.clone(), prop::option::of(number));
    let one = (page, numbers, prop::option::of(0_u64..5000), nodes).prop_map(
        |(page, (total, free, reserved), surplus, nodes)| Pool {
            page: Bytes(page),
            total,
            free,
            reserved,
            surplus,
            overcommit: None,
            nodes,
        },
    );
    prop::collection::vec(one, 0..3).prop_map(|mut pools| {
        pools.dedup_by_key(|pool| pool.page);
        pools
    })
}

fn facts() -> impl Strategy<Value = Facts> {
    let kind = prop_oneof![
        any::<u32>().prop_map(ObjectKind::SysV),
        Just(ObjectKind::Posix),
        Just(ObjectKind::Memfd),
        Just(ObjectKind::SharedAnonymous),
        Just(ObjectKind::PrivateHuge),
        Just(ObjectKind::HugetlbFile),
    ];
    let bytes = prop_oneof![0_u64..1 << 40, any::<u64>()];
    let object = (kind, bytes, 0_usize..3, any::<bool>());
    let objects = prop::collection::vec(object, 0..6);
    (pools(), objects, prop::option::of(any::<u64>())).prop_map(|(pools, objects, total)| {
        let mut facts = machine();
        facts.pools = pools;
        facts.memory.total = total.map(Bytes);
        let programs = ["oracle", "postgres", "other"];
        for (i, (kind, bytes, program, huge)) in (0_u32..).zip(objects) {
            let pids = run(&mut facts, programs[program], 100 + 10 * i, 3, 40);
            share(&mut facts, kind, bytes, &pids, if huge { HUGE } else { Bytes(4096) });
        }
        facts
    })
}

fn inputs() -> impl Strategy<Value = Inputs> {
    let bytes = || prop_oneof![0_u64..1 << 36, any::<u64>()];
    let segments = prop::collection::vec(bytes(), 0..3);
    let page = prop::option::of(prop::sample::select(vec![2_u64 << 20, 1 << 30]));
    let rest =
        (prop::option::of(any::<u64>()), any::<bool>(), prop::collection::vec(0_u32..3, 0..2));
    (segments, bytes(), page, rest).prop_map(|(segments, headroom, page, rest)| Inputs {
        segments: segments.into_iter().map(Bytes).collect(),
        headroom: Bytes(headroom),
        page: page.map(Bytes),
        processes: rest.0,
        shrink: rest.1,
        nodes: rest.2,
        ..Inputs::default()
    })
}

proptest! {
    #[test]
    fn plans_never_take_pages_in_use(facts in facts(), inputs in inputs()) {
        let plan = plan(&facts, &inputs);
        for pool in &plan.pools {
            let held = pool.now.as_ref().map_or(0, Pool::held);
            prop_assert!(pool.target_pages >= held);
            prop_assert!(pool.target_pages >= pool.needed_pages);
            if !inputs.shrink {
                prop_assert!(pool.target_pages >= pool.own_pages());
            }
            for demand in &pool.demands {
                prop_assert!(demand.held_pages <= demand.pages);
            }
        }
        let again = hugewise_evidence::hugetlb::plan::plan(&facts, &inputs);
        prop_assert_eq!(&plan, &again);
        let _ = verify(&plan, &facts, &[]);
        for file in files::wanted(&plan, facts.default_page) {
            prop_assert!(files::is_own(&file.path), "{}", file.path);
        }
    }

    #[test]
    fn any_path_and_text_of_a_pool_is_read_or_passed_over(text in ".{0,200}") {
        let paths = [pool_files::POOLS, pool_files::NODES].map(|folder| format!("{folder}/{text}"));
        let _ = pool_files::from_files(paths.iter().map(|path| (path.as_str(), &*text)));
    }

    #[test]
    fn any_java_flags_are_taken_or_passed_over(flags in prop::collection::vec(".{0,40}", 0..6)) {
        let _ = java::need(&flags, None);
    }

    #[test]
    fn java_sizes_never_overflow(heap in any::<u64>(), young in any::<u64>(), gc in 0_usize..5) {
        let gc = ["G1", "Parallel", "Serial", "Z", "Shenandoah"][gc];
        let flags = [format!("-Xmx{heap}"), format!("-Xmn{young}"), format!("-XX:+Use{gc}GC")];
        let need = java::need(&flags, None);
        let sum: Bytes = need.parts.iter().map(|(_, bytes)| *bytes).sum();
        prop_assert!(sum.0 >= heap.min(u64::MAX - (2 << 20)));
    }
}
