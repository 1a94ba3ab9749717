//! Expected against actual.

use super::machine::{GIB, HUGE, MIB, machine, pool, run, sga, share};
use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::facts::{Facts, ObjectKind, Pool};
use hugewise_evidence::hugetlb::files::{SYSCTL, WantedFile};
use hugewise_evidence::hugetlb::input::Inputs;
use hugewise_evidence::hugetlb::plan::{plan, plan_again};
use hugewise_evidence::hugetlb::verify::{Verified, verify};

/// PostgreSQL on 4 KiB pages, planned for; then as `now` has it.
fn after(now: impl FnOnce(&mut Facts)) -> Verified {
    let mut before = machine();
    let pids = run(&mut before, "postgres", 200, 21, 2392);
    share(&mut before, ObjectKind::SharedAnonymous, 1_125_482_496, &pids, Bytes(4096));
    let plan = plan(&before, &Inputs::default());
    assert_eq!(plan.pools[0].target_pages, 537);
    let mut facts = machine();
    now(&mut facts);
    verify(&plan, &facts, &[])
}

fn row<'a>(verified: &'a Verified, what: &str) -> &'a hugewise_evidence::hugetlb::verify::Check {
    let found = verified.checks.iter().find(|check| check.what.contains(what));
    found.unwrap_or_else(|| panic!("no '{what}' in {:#?}", verified.checks))
}

#[test]
fn a_program_on_huge_pages_is_as_planned_and_its_tables_are_smaller() {
    let verified = after(|facts| {
        facts.pools = vec![pool(537, 17, 17)];
        let pids = run(facts, "postgres", 500, 21, 344);
        share(facts, ObjectKind::SharedAnonymous, 537 * 2 * MIB, &pids, HUGE);
    });
    assert_eq!(verified.ok(), Some(true), "{:#?}", verified.checks);
    let tables = verified.tables.expect("both are known");
    assert!((tables.times_smaller - 2392.0 / 344.0).abs() < 1e-9, "{tables:?}");
}

#[test]
fn a_program_that_stayed_on_base_pages_is_found() {
    let verified = after(|facts| {
        facts.pools = vec![pool(537, 537, 0)];
        let pids = run(facts, "postgres", 500, 21, 2392);
        share(facts, ObjectKind::SharedAnonymous, 1_125_482_496, &pids, Bytes(4096));
    });
    assert_eq!(verified.ok(), Some(false));
    let advice = &row(&verified, "PostgreSQL").advice;
    assert!(advice.contains("huge_pages = on"), "{advice}");
    assert_eq!(row(&verified, "available").ok, Some(true), "it would fit");
}

#[test]
fn a_stopped_program_leaves_it_open() {
    let verified = after(|facts| facts.pools = vec![pool(537, 537, 0)]);
    assert_eq!(verified.ok(), None, "{:#?}", verified.checks);
    assert_eq!(verified.tables, None);
}

#[test]
fn one_page_fewer_is_foretold() {
    let mut facts = machine();
    facts.pools = vec![pool(536, 536, 0)];
    let inputs = Inputs {
        postgres: vec![hugewise_evidence::hugetlb::input::PostgresAnswer {
            directory: "/db".into(),
            pages: 537,
            page: None,
            connections: None,
            user: None,
        }],
        ..Inputs::default()
    };
    let plan = plan(&facts, &inputs);
    let verified = verify(&plan, &facts, &[]);
    assert_eq!(verified.ok(), Some(false));
    let advice = &row(&verified, "available").advice;
    assert!(advice.contains("1 short") && advice.contains("does not start"), "{advice}");
}

#[test]
fn promised_pages_are_not_available() {
    let mut facts = machine();
    facts.pools = vec![pool(1000, 1000, 600)];
    let other = run(&mut facts, "dpdk", 5, 1, 10);
    share(&mut facts, ObjectKind::HugetlbFile, 600 * 2 * MIB, &other, HUGE);
    let plan = plan(&facts, &sga(&[GIB], 0));
    assert_eq!(plan.pools[0].target_pages, 1112);
    let verified = verify(&plan, &facts, &[]);
    assert_eq!(row(&verified, "available").ok, Some(false));
    assert!(row(&verified, "available").actual.starts_with("400 "));
}

#[test]
fn surplus_pages_are_no_pool() {
    let verified = after(|facts| {
        let surplus = Some(537);
        facts.pools = vec![Pool { surplus, ..pool(537, 17, 17) }];
        let pids = run(facts, "postgres", 500, 21, 344);
        share(facts, ObjectKind::SharedAnonymous, 537 * 2 * MIB, &pids, HUGE);
    });
    assert_eq!(verified.ok(), Some(false), "the next start would fail");
    assert_eq!(row(&verified, "pool of").actual, "0 + 537 surplus");
}

#[test]
fn pages_that_others_took_are_missed_before_the_next_start() {
    let verified = after(|facts| facts.pools = vec![pool(537, 0, 0)]);
    assert_eq!(verified.ok(), Some(false));
    assert!(row(&verified, "available").advice.contains("537 short"));
}

#[test]
fn an_unrelated_database_is_no_concern() {
    let mut facts = machine();
    facts.pools = vec![pool(512, 512, 0)];
    let pids = run(&mut facts, "postgres", 100, 4, 300);
    share(&mut facts, ObjectKind::SharedAnonymous, 128 * MIB, &pids, Bytes(4096));
    let verified = verify(&plan(&facts, &sga(&[GIB], 0)), &facts, &[]);
    assert_eq!(verified.ok(), None, "{:#?}", verified.checks);
}

#[test]
fn a_shrink_that_did_not_happen_is_told() {
    let facts = Facts { pools: vec![pool(512, 512, 0)], ..machine() };
    let plan = plan(&facts, &Inputs { shrink: true, ..Inputs::default() });
    assert_eq!(plan.pools[0].target_pages, 0);
    assert_eq!(verify(&plan, &facts, &[]).ok(), Some(false));
    let shrunk = Facts { pools: vec![pool(0, 0, 0)], ..machine() };
    assert_eq!(verify(&plan, &shrunk, &[]).ok(), Some(true));
}

#[test]
fn a_database_that_was_described_and_runs_on_base_pages_is_named() {
    let mut facts = machine();
    facts.pools = vec![pool(5120, 5120, 0)];
    let pids = run(&mut facts, "oracle", 100, 4, 20_000);
    share(&mut facts, ObjectKind::SysV(3), 10 * GIB, &pids, Bytes(4096));
    let plan = plan(&facts, &sga(&[10 * GIB], 0));
    let verified = verify(&plan, &facts, &[]);
    assert_eq!(verified.ok(), Some(false));
    assert!(row(&verified, "SysV segment 3").advice.contains("use_large_pages"));
}

#[test]
fn a_neighbour_on_base_pages_is_no_concern_of_a_plan_that_is_met() {
    let mut facts = machine();
    facts.pools = vec![pool(5120, 0, 0)];
    let planned = run(&mut facts, "oracle", 100, 4, 20_000);
    share(&mut facts, ObjectKind::SysV(3), 10 * GIB, &planned, HUGE);
    let other = run(&mut facts, "postgres", 200, 4, 500);
    share(&mut facts, ObjectKind::SharedAnonymous, 64 * MIB, &other, Bytes(4096));
    let plan = plan_again(&facts, &sga(&[10 * GIB], 0));
    let verified = verify(&plan, &facts, &[]);
    assert_eq!(verified.ok(), Some(true), "{:#?}", verified.checks);
}

#[test]
fn files_are_compared_to_the_byte() {
    let wanted = WantedFile { path: SYSCTL.into(), text: "vm.nr_hugepages = 1\n".into() };
    let facts = machine();
    let plan = plan(&facts, &Inputs::default());
    for (found, ok) in
        [(Some("vm.nr_hugepages = 1\n"), true), (Some("vm.nr_hugepages = 1"), false), (None, false)]
    {
        let files = [(wanted.clone(), found.map(str::to_owned))];
        assert_eq!(verify(&plan, &facts, &files).ok(), Some(ok), "{found:?}");
    }
}
