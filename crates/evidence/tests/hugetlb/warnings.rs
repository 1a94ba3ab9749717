//! Each warning is reached by a machine, and no other machine has it.

use super::machine::{GIB, HUGE, MIB, machine, node, pool, run, sga, share};
use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::facts::{ConfiguredLine, Facts, Kubelet, ObjectKind, Pool};
use hugewise_evidence::hugetlb::input::Inputs;
use hugewise_evidence::hugetlb::plan::plan;
use hugewise_evidence::hugetlb::warning::WarningKind as W;
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
            hugewise_evidence::hugetlb::facts::NodePool {
                memory_free: Some(Bytes(GIB)),
                ..node(1, 0, 0)
            },
        ],
        ..pool(0, 0, 0)
    };
    let other = changed(|facts| {
        facts.pools = vec![pool(3000, 2990, 0)];
        let pids = run(facts, "dpdk", 5, 1, 10);
        share(facts, ObjectKind::HugetlbFile, 20 * MIB, &pids, HUGE);
    });
    vec![
        (W::UsedByOthers, other, calm()),
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
        (process.unit, process.memlock) = (None, Some(Bytes(4 * GIB)));
        share(facts, ObjectKind::SysV(1), 4 * GIB, &pids, Bytes(4096));
    });
    vec![
        (W::RightToUse, oracle(u64::MAX, 0), Inputs::default()),
        (W::GroupReplaced, changed(|facts| facts.limits.shm_group = Some(77)), calm()),
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

fn about(facts: &Facts, inputs: &Inputs, kind: W) -> Vec<String> {
    let warnings = plan(facts, inputs).warnings.into_iter();
    warnings.filter(|warning| warning.kind == kind).map(|warning| warning.about).collect()
}

#[test]
fn who_was_found_on_huge_pages_is_named_and_the_rest_is_told_apart() {
    let mut facts = machine();
    facts.pools = vec![pool(3000, 2985, 0)];
    let pids = run(&mut facts, "dpdk", 5, 1, 10);
    share(&mut facts, ObjectKind::HugetlbFile, 20 * MIB, &pids, HUGE);
    let found = about(&facts, &calm(), W::UsedByOthers);
    assert!(found[0].starts_with("10 of 15 held pages of 2 MiB; "), "{found:?}");
    assert!(found[0].contains("dpdk (pid 5)"), "{found:?}");
    let rest = about(&facts, &calm(), W::UnattributedUse);
    assert_eq!(rest, ["5 of 15 held pages of 2 MiB"]);
    facts.pools = vec![pool(3000, 2990, 0)];
    assert!(about(&facts, &calm(), W::UnattributedUse).is_empty());
}

#[test]
fn hundreds_of_processes_are_one_line() {
    let mut facts = machine();
    let pids = run(&mut facts, "oracle", 100, 300, 9000);
    for (pid, process) in &mut facts.processes {
        process.name = format!("oracle_{pid}_orc");
    }
    share(&mut facts, ObjectKind::SysV(1), 4 * GIB, &pids, Bytes(4096));
    let found = about(&facts, &Inputs::default(), W::MemlockTooLow);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("300 processes, such as oracle_100_orc (pid 100), of dba: "));
}

#[test]
fn parameters_of_the_kernel_are_of_the_size_before_them() {
    let mut facts = machine();
    facts.pools.push(Pool { page: Bytes(GIB), ..pool(0, 0, 0) });
    let mut told = |parameters: &[(&str, &str)]| {
        let line = |(key, value): &(&str, &str)| ConfiguredLine {
            file: "/proc/cmdline".into(),
            line: 1,
            key: (*key).into(),
            value: (*value).into(),
        };
        facts.configured = parameters.iter().map(line).collect();
        about(&facts, &calm(), W::ConfiguredElsewhere).len()
    };
    assert_eq!(told(&[("hugepages", "2048")]), 0);
    assert_eq!(told(&[("hugepages", "0:1024,1:1024")]), 0);
    assert_eq!(told(&[("hugepages", "0:1024,1:1023")]), 1);
    assert_eq!(told(&[("hugepages", "0:1024,x")]), 1);
    let giant = ("hugepagesz", "1G");
    assert_eq!(told(&[giant, ("hugepages", "0"), ("hugepagesz", "2M"), ("hugepages", "2048")]), 0);
    assert_eq!(told(&[giant, ("hugepages", "2048")]), 1);
    assert_eq!(told(&[("default_hugepagesz", "1G"), ("hugepages", "4")]), 1);
    // A size that the plan does not know is no conflict.
    assert_eq!(told(&[("hugepagesz", "16G"), ("hugepages", "4")]), 0);
}
