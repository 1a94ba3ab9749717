//! Each warning is reached by a machine, and no other machine has it.

use crate::machine::{GIB, HUGE, MIB, machine, node, pool, run, sga, share};
use hugewise_core::hugetlb::facts::{ConfiguredLine, Facts, Kubelet, ObjectKind, Pool};
use hugewise_core::hugetlb::input::Inputs;
use hugewise_core::hugetlb::plan::plan;
use hugewise_core::hugetlb::warning::WarningKind as W;
use hugewise_core::units::Bytes;
use std::collections::BTreeSet;

/// A described segment for a user who may use it, without anything to warn of.
fn calm() -> Inputs {
    Inputs {
        user: Some("dba".into()),
        units: vec!["db.service".into()],
        shm_group: Some(501),
        ..sga(&[4 * GIB], 0)
    }
}

fn kinds(facts: &Facts, inputs: &Inputs) -> Vec<W> {
    plan(facts, inputs).warnings.iter().map(|warning| warning.kind).collect()
}

fn cases() -> Vec<(W, Facts, Inputs)> {
    let mut all = sizes();
    all.extend(pools());
    all.extend(people());
    all.extend(neighbours());
    all
}

fn changed(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = machine();
    change(&mut facts);
    facts
}

fn sizes() -> Vec<(W, Facts, Inputs)> {
    let asks = |bytes| Inputs { segments: vec![Bytes(bytes)], ..calm() };
    let giant = Inputs { page: Some(Bytes(GIB)), ..calm() };
    let with_giant = changed(|facts| facts.pools.push(Pool { page: Bytes(GIB), ..pool(0, 0, 0) }));
    let twice = changed(|facts| {
        let pids = run(facts, "oracle", 100, 3, 9000);
        facts.processes.values_mut().for_each(|p| p.memlock = Some(Bytes(u64::MAX)));
        facts.limits.shm_group = Some(501);
        share(facts, ObjectKind::SysV(1), 40 * GIB, &pids, Bytes(4096));
    });
    vec![
        (W::MoreThanMemory, machine(), asks(65 * GIB)),
        (W::LeavesTooLittle, machine(), asks(60 * GIB)),
        (W::NoPoolOfThisSize, machine(), Inputs { page: Some(Bytes(GIB)), ..calm() }),
        (W::KernelCommandLine, with_giant, giant),
        (W::NeededTwice, twice, Inputs::default()),
        (W::NothingToPlan, machine(), Inputs::default()),
    ]
}

fn pools() -> Vec<(W, Facts, Inputs)> {
    let of = |pool: Pool| changed(|facts| facts.pools = vec![pool]);
    let surplus = Pool { surplus: Some(5), ..pool(3000, 2000, 0) };
    let nodes = Pool {
        nodes: vec![
            node(0, 0, 0),
            hugewise_core::hugetlb::facts::NodePool {
                memory_free: Some(Bytes(GIB)),
                ..node(1, 0, 0)
            },
        ],
        ..pool(0, 0, 0)
    };
    vec![
        (W::UnattributedUse, of(pool(3000, 2990, 0)), calm()),
        (W::ReservedUnused, of(pool(3000, 3000, 0)), calm()),
        (W::PromisedPages, of(pool(3000, 3000, 5)), calm()),
        (W::SurplusPages, of(surplus), calm()),
        (W::NodeTooSmall, of(nodes), calm()),
    ]
}

fn people() -> Vec<(W, Facts, Inputs)> {
    let oracle = |memlock: u64, group: u32| {
        changed(|facts| {
            let pids = run(facts, "oracle", 100, 3, 9000);
            facts.processes.values_mut().for_each(|p| p.memlock = Some(Bytes(memlock)));
            facts.limits.shm_group = Some(group);
            share(facts, ObjectKind::SysV(1), 4 * GIB, &pids, Bytes(4096));
        })
    };
    let alone = changed(|facts| {
        let pids = run(facts, "oracle", 100, 1, 9000);
        facts.limits.shm_group = Some(500);
        let process = facts.processes.get_mut(&100).expect("is there");
        (process.unit, process.memlock) = (None, Some(Bytes(u64::MAX)));
        share(facts, ObjectKind::SysV(1), 4 * GIB, &pids, Bytes(4096));
    });
    vec![
        (W::RightToUse, oracle(u64::MAX, 0), Inputs::default()),
        (W::MemlockTooLow, oracle(8 * MIB, 501), Inputs::default()),
        (W::UserUnknown, machine(), Inputs { user: None, ..calm() }),
        (W::ServiceLimit, alone, Inputs::default()),
    ]
}

fn neighbours() -> Vec<(W, Facts, Inputs)> {
    let amm = changed(|facts| {
        let pids = run(facts, "oracle", 100, 3, 9000);
        share(facts, ObjectKind::Posix, 4 * GIB, &pids, Bytes(4096));
    });
    let configured = changed(|facts| {
        facts.configured.push(ConfiguredLine {
            file: "/etc/sysctl.conf".into(),
            line: 12,
            key: "vm.nr_hugepages".into(),
            value: "100".into(),
        });
    });
    let swaps = changed(|facts| {
        facts.memory.swap_total = Some(Bytes(8 * GIB));
        facts.memory.swap_free = Some(Bytes(7 * GIB));
    });
    vec![
        (W::KubeletRestart, changed(|facts| facts.kubelet = Some(Kubelet::Running)), calm()),
        (W::SigbusInPods, changed(|facts| facts.kubelet = Some(Kubelet::Installed)), calm()),
        (W::AutomaticMemory, amm, calm()),
        (W::SwapInUse, swaps, calm()),
        (W::CommitLimit, changed(|facts| facts.limits.overcommit_memory = Some(2)), calm()),
        (W::ConfiguredElsewhere, configured, calm()),
    ]
}

#[test]
fn a_calm_machine_has_none() {
    assert_eq!(kinds(&machine(), &calm()), []);
}

#[test]
fn each_is_reached() {
    let mut reached = BTreeSet::new();
    for (expected, facts, inputs) in cases() {
        let found = kinds(&facts, &inputs);
        assert!(found.contains(&expected), "{expected:?} expected: {found:?}");
        reached.insert(expected);
    }
    let missing: Vec<&W> = W::ALL.iter().filter(|kind| !reached.contains(kind)).collect();
    assert_eq!(missing, Vec::<&W>::new());
}

#[test]
fn only_what_would_hurt_others_is_refused() {
    for (expected, facts, inputs) in cases() {
        let plan = plan(&facts, &inputs);
        let refused = plan.refusals().next().is_some();
        assert_eq!(refused, expected.refuses(), "{expected:?}: {:?}", plan.warnings);
    }
}

#[test]
fn a_line_that_says_the_same_is_no_conflict() {
    let mut facts = machine();
    facts.configured.push(ConfiguredLine {
        file: "/etc/sysctl.conf".into(),
        line: 1,
        key: "vm.nr_hugepages".into(),
        value: "2048".into(),
    });
    assert_eq!(kinds(&facts, &calm()), []);
    assert_eq!(HUGE.0 * 2048, 4 * GIB);
}
