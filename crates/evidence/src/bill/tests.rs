use super::*;
use crate::recording::{Builder, Field, Host, SourceKind, Subject};
use hugewise_base::units::Bytes;

const MIB: f64 = 1_048_576.0;
const WORTH: Worth =
    Worth { bloat_budget_percent: 3.0, min_utilization_percent: 50.0, promotions_per_s: 128.0 };

/// Name, pid, anonymous memory and page tables in MiB and KiB, and whether it takes huge pages.
type Given<'a> = (&'a str, u32, f64, f64, bool);

fn host(machine: &[(Field, f64)], programs: &[Given<'_>], settings: &[(&str, &str)]) -> Host {
    let mut builder = Builder::new();
    builder.input("capture");
    builder.host("db1");
    builder.begin(SourceKind::Capture, 1);
    for (field, value) in machine {
        builder.put(*field, &Subject::Machine, None, *value);
    }
    for (name, pid, anon_mib, tables_kib, takes) in programs {
        let subject = Subject::process(Some(*pid), name);
        builder.put(Field::ProcAnon, &subject, None, anon_mib * MIB);
        builder.put(Field::ProcPageTables, &subject, None, tables_kib * 1024.0);
        builder.put(Field::ProcPrivate, &subject, None, 4096.0 * MIB);
        builder.put(Field::ProcThpOff, &subject, None, if *takes { 0.0 } else { 1.0 });
    }
    for (path, text) in settings {
        builder.setting(path, text);
    }
    builder.finish().hosts.pop().expect("a host")
}

fn machine(anon_mib: f64, huge_mib: f64, tables_kib: f64) -> Vec<(Field, f64)> {
    vec![
        (Field::MemTotal, 16384.0 * MIB),
        (Field::Anon, anon_mib * MIB),
        (Field::AnonHuge, huge_mib * MIB),
        (Field::PageTables, tables_kib * 1024.0),
        (Field::Shmem, 100.0 * MIB),
        (Field::HugetlbTotal, 0.0),
    ]
}

fn mib(estimate: Option<Estimate>) -> (f64, f64) {
    let Estimate { low, high, .. } = estimate.expect("known");
    ((low / MIB).round(), (high / MIB).round())
}

fn bill(host: &Host) -> Bill {
    Bill::of(&Facts::of(host), WORTH, Pools::default(), None)
}

fn memory(bill: &Bill, way: Way) -> (f64, f64) {
    mib(bill.row(way).and_then(|row| row.memory_bytes))
}

/// Redis fills its memory; the other program touches a page here and there: 300 regions for
/// 10 MiB. With base pages now, `never` is exact and `always` bounded by what is touched.
#[test]
fn page_tables_bound_what_always_takes() {
    let programs = [("redis", 1, 1000.0, 2048.0, true), ("sparse", 2, 10.0, 1200.0, true)];
    let host = host(&machine(1010.0, 0.0, 3248.0), &programs, &[]);
    let bill = bill(&host);
    assert_eq!(memory(&bill, Way::Now), (1113.0, 1113.0));
    assert_eq!(memory(&bill, Way::Never), (1113.0, 1113.0));
    // 512 regions of 2 MiB for redis, 300 for the other: 24 and 590 MiB more.
    assert_eq!(memory(&bill, Way::Always), (1113.0, 1727.0));
    // The budget is 3 % of 16 GiB.
    assert_eq!(memory(&bill, Way::Worth), (1113.0, 1605.0));
    assert_eq!(bill.programs[0].name, "sparse");
    assert_eq!(mib(Some(bill.programs[0].always_bytes)), (10.0, 600.0));
    assert_eq!(memory_of_pools(&bill), None);
}

fn memory_of_pools(bill: &Bill) -> Option<Estimate> {
    bill.row(Way::Hugetlb).and_then(|row| row.memory_bytes)
}

#[test]
fn a_program_that_takes_no_huge_pages_does_not_grow() {
    let programs = [("redis", 1, 100.0, 4000.0, false)];
    let host = host(&machine(100.0, 0.0, 4000.0), &programs, &[]);
    let bill = bill(&host);
    assert_eq!(memory(&bill, Way::Now), memory(&bill, Way::Always));
    assert_eq!(bill.programs[0].huge_off, 1);
}

#[test]
fn programs_that_are_not_listed_count_by_the_machines_page_tables() {
    let host = host(&machine(100.0, 0.0, 800.0), &[], &[]);
    // 200 tables reach 400 MiB, of which 100 are there.
    assert_eq!(memory(&bill(&host), Way::Always), (204.0 - 3.0, 504.0 - 3.0));
}

#[test]
fn what_huge_pages_waste_is_a_range() {
    let host = host(&machine(1024.0, 512.0, 2048.0), &[], &[]);
    assert_eq!(memory(&bill(&host), Way::Never), (1126.0 - 511.0, 1126.0));
}

#[test]
fn pools_are_billed_where_somebody_would_use_them() {
    let host = host(&machine(1000.0, 0.0, 4096.0), &[], &[]);
    let facts = Facts::of(&host);
    let pools = Pools {
        planned: Bytes::mib(600),
        now: Bytes(0),
        moved: Bytes::mib(500),
        tables_saved: Bytes::mib(2),
    };
    let bill = Bill::of(&facts, WORTH, pools, None);
    assert_eq!(mib(memory_of_pools(&bill)), (1104.0 + 600.0 - 502.0, 1704.0));
    assert!(!bill.no_pool);
}

fn with_faults(base: f64, huge: f64, more: &[(Field, f64)]) -> Vec<(Field, f64)> {
    let mut all = machine(1000.0, 0.0, 2048.0);
    all.extend([(Field::Faults, base + huge), (Field::ThpFaultAlloc, huge)]);
    all.extend(more);
    all
}

fn stall(bill: &Bill, way: Way) -> Estimate {
    bill.row(way).and_then(|row| row.stall_ms_per_s).expect("known")
}

#[test]
fn stalls_follow_from_faults_and_what_each_costs() {
    let bill = bill(&host(&with_faults(10_000.0, 0.0, &[]), &[], &[]));
    assert!((stall(&bill, Way::Now).likely - 24.0).abs() < 1e-9);
    assert_eq!(stall(&bill, Way::Never), stall(&bill, Way::Now));
    let always = stall(&bill, Way::Always);
    // Full regions fault once instead of 512 times; none is anonymous, and nothing changes.
    assert!((3.6..3.8).contains(&always.low) && always.high > 36.0, "{always:?}");
    assert!(always.likely < stall(&bill, Way::Now).likely, "{always:?}");
    let worth = stall(&bill, Way::Worth);
    assert!((worth.low - 10.0).abs() < 1e-9 && worth.high > 36.0 && worth.high < 55.0, "{worth:?}");
}

#[test]
fn never_ends_compaction_for_huge_pages_only() {
    let compactions = [(Field::CompactStall, 10.0)];
    let others = bill(&host(&with_faults(0.0, 0.0, &compactions), &[], &[]));
    assert_eq!(stall(&others, Way::Never).low, 10.0);
    let ours = bill(&host(&with_faults(0.0, 20.0, &compactions), &[], &[]));
    assert!(stall(&ours, Way::Never).low < 0.1, "{:?}", stall(&ours, Way::Never));
}

/// Only with `defrag` at `always`, and without free blocks, does everybody compact.
#[test]
fn always_compacts_where_it_may_and_must() {
    let always = |defrag: &str, blocks: f64| {
        let settings = [("/sys/kernel/mm/transparent_hugepage/defrag", defrag)];
        let more = [(Field::FreeHugeBlocks, blocks)];
        stall(&bill(&host(&with_faults(10_000.0, 0.0, &more), &[], &settings)), Way::Always).high
    };
    let least = always("always defer defer+madvise [madvise] never", 3.0);
    assert_eq!(least, always("[always] defer defer+madvise madvise never", 5000.0));
    assert!(always("[always] defer defer+madvise madvise never", 3.0) > 10.0 * least);
}

#[test]
fn speed_is_bounded_by_what_walks_cost() {
    let facts = Facts::of(&host(&machine(1000.0, 0.0, 2048.0), &[], &[]));
    let speed = |walks, way| {
        let bill = Bill::of(&facts, WORTH, Pools::default(), walks);
        bill.row(way).and_then(|row| row.speed_percent)
    };
    assert_eq!(speed(None, Way::Always), None);
    assert_eq!(speed(None, Way::Never), Some(Estimate::exact(0.0)));
    let gain = speed(Some(20.0), Way::Worth).expect("known");
    assert!(gain.low == 0.0 && gain.high == 25.0 && gain.likely > 16.0, "{gain:?}");
}

#[test]
fn a_bill_is_scored_by_what_came() {
    let settings = |word| [("/sys/kernel/mm/transparent_hugepage/enabled", word)];
    let before = host(&machine(1010.0, 0.0, 3248.0), &[], &settings("always [madvise] never"));
    let bill_before = bill(&before);
    let check = |anon, word| {
        let after = host(&machine(anon, 900.0, 3248.0), &[], &settings(word));
        let (before, facts) = (Facts::of(&before), Facts::of(&after));
        let way = way_of(&before, &facts);
        way.map(|way| Check::of(&bill_before, &before, &facts, &bill(&after), way))
    };
    let came = check(1400.0, "[always] madvise never").expect("the setting says it");
    let memory = came.memory_bytes.expect("in both");
    assert!(came.way == Way::Always && memory.inside && !came.is_off(), "{came:?}");
    assert!(memory.miss_percent.is_some_and(|miss| miss.abs() < 10.0), "{came:?}");
    let off = check(2400.0, "[always] madvise never").expect("the setting says it");
    assert!(off.is_off() && off.memory_bytes.is_some_and(|one| !one.inside), "{off:?}");
    assert_eq!(check(1010.0, "always [madvise] never"), None);
}

#[test]
fn nothing_is_made_up() {
    let bill = bill(&host(&[(Field::MemTotal, MIB)], &[], &[]));
    assert!(bill.is_empty() && bill.missing.len() == 5, "{bill:?}");
}
