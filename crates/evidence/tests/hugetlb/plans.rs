//! Sums and choices.

use super::machine::{GIB, HUGE, MIB, java, machine, node, pool, run, sga, share};
use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::demand::{LeftOutReason, Origin};
use hugewise_evidence::hugetlb::facts::ObjectKind;
use hugewise_evidence::hugetlb::files;
use hugewise_evidence::hugetlb::input::{Inputs, PostgresAnswer};
use hugewise_evidence::hugetlb::plan::{HugetlbPlan, PoolPlan, plan, plan_again};
use hugewise_evidence::hugetlb::product::Product;

const SMALL: Bytes = Bytes(4096);

fn only(plan: &HugetlbPlan) -> &PoolPlan {
    assert_eq!(plan.pools.len(), 1, "{:?}", plan.pools);
    &plan.pools[0]
}

#[test]
fn seed_003_comes_out_to_the_page_and_the_kilobyte() {
    let inputs = Inputs { processes: Some(300), ..sga(&[10 * GIB], 2 * GIB) };
    let plan = plan(&machine(), &inputs);
    let pool = only(&plan);
    let terms = (pool.demands[0].pages, pool.headroom_pages, pool.others_pages);
    assert_eq!(terms, (5120, 1024, 0));
    assert_eq!((pool.needed_pages, pool.target_pages), (6144, 6144));
    let memlock = plan.memlock.as_ref().expect("a SysV segment needs it");
    assert_eq!(memlock.limit_kb, 12_582_912);
    assert_eq!(plan.memory.remains_bytes, Some(Bytes(52 * GIB)));
    // 300 processes, 20 MiB and a bit each on 4 KiB pages, ten tables each on huge ones.
    assert_eq!(plan.tables.small_bytes, Some(Bytes(300 * 5130 * 4096)));
    assert_eq!(plan.tables.huge_bytes, Some(Bytes(300 * 10 * 4096)));
}

#[test]
fn each_segment_is_rounded_up_on_its_own() {
    let plan = plan(&machine(), &sga(&[MIB, 3 * MIB, 2 * MIB], 1));
    assert_eq!(only(&plan).needed_pages, 1 + 2 + 1 + 1);
}

#[test]
fn what_runs_is_found_and_the_rest_has_a_reason() {
    let mut facts = machine();
    let oracle = run(&mut facts, "oracle", 100, 40, 21_000);
    share(&mut facts, ObjectKind::SysV(7), 10 * GIB + 5, &oracle, SMALL);
    let postgres = run(&mut facts, "postgres", 200, 3, 500);
    share(&mut facts, ObjectKind::SharedAnonymous, 149_520_384, &postgres, SMALL);
    let redis = run(&mut facts, "redis-server", 300, 2, 50);
    share(&mut facts, ObjectKind::SharedAnonymous, 64 * MIB, &redis, SMALL);
    share(&mut facts, ObjectKind::Posix, GIB, &oracle, SMALL);
    share(&mut facts, ObjectKind::SysV(9), GIB, &[], SMALL);
    share(&mut facts, ObjectKind::Memfd, GIB, &oracle[..1], SMALL);
    java(&mut facts, 400, "-Xmx512m -XX:+UseLargePages -XX:+UseSerialGC");
    java(&mut facts, 401, "-Xmx512m");
    java(&mut facts, 402, "-XX:+UseLargePages");
    let plan = plan(&facts, &Inputs::default());
    let mut found: Vec<_> =
        plan.demands().map(|demand| (demand.product, demand.pages, demand.origin)).collect();
    found.sort_by_key(|(product, ..)| *product);
    assert_eq!(
        found,
        [
            (Some(Product::Oracle), 5121, Origin::Small),
            (Some(Product::PostgreSql), 72, Origin::Small),
            (Some(Product::Java), 376, Origin::Small),
        ]
    );
    assert_eq!(only(&plan).needed_pages, 5121 + 72 + 376);
    let mut reasons: Vec<_> = plan.left_out.iter().map(|left| left.reason).collect();
    reasons.sort_unstable();
    let mut expected = vec![
        LeftOutReason::NoSwitchKnown,
        LeftOutReason::Tmpfs,
        LeftOutReason::Unattached,
        LeftOutReason::NotMoved,
        LeftOutReason::NotAsked,
        LeftOutReason::HeapUnknown,
    ];
    expected.sort_unstable();
    assert_eq!(reasons, expected);
    let segment = plan.demands().find(|d| d.product == Some(Product::Oracle)).expect("is there");
    assert_eq!(segment.attached, Some(40));
    assert_eq!(segment.tables_now_bytes, Some(Bytes::kib(40 * 21_000)));
    assert_eq!(
        (segment.users.as_slice(), segment.units.as_slice()),
        (&["dba".to_owned()][..], &["oracle.service".to_owned()][..])
    );
}

#[test]
fn postgres_on_system_v_segments_gets_none() {
    let mut facts = machine();
    let postgres = run(&mut facts, "postgres", 200, 3, 500);
    share(&mut facts, ObjectKind::SysV(1), 56, &postgres, SMALL);
    share(&mut facts, ObjectKind::SysV(2), GIB, &postgres, SMALL);
    for pids in [Vec::new(), postgres] {
        let plan = plan(&facts, &Inputs { pids, ..Inputs::default() });
        assert_eq!(only(&plan).needed_pages, 0);
        let reasons: Vec<_> = plan.left_out.iter().map(|left| left.reason).collect();
        assert_eq!(reasons, [LeftOutReason::NotMoved, LeftOutReason::SharedMemoryType]);
    }
}

#[test]
fn a_named_process_is_taken_whatever_it_is() {
    let mut facts = machine();
    let own = run(&mut facts, "mine", 10, 2, 50);
    let other = run(&mut facts, "oracle", 20, 2, 50);
    share(&mut facts, ObjectKind::SysV(1), 64 * MIB, &own, SMALL);
    share(&mut facts, ObjectKind::SysV(2), GIB, &other, SMALL);
    let inputs = Inputs { pids: own, ..Inputs::default() };
    let plan = plan(&facts, &inputs);
    assert_eq!(only(&plan).needed_pages, 32);
}

#[test]
fn pages_in_use_are_kept_and_counted_once() {
    let mut facts = machine();
    // 72 pages: 8 touched, 64 promised; and 10 of somebody who was not found.
    facts.pools = vec![pool(100, 82, 64)];
    let postgres = run(&mut facts, "postgres", 200, 3, 300);
    share(&mut facts, ObjectKind::SharedAnonymous, 72 * 2 * MIB, &postgres, HUGE);
    let now = plan(&facts, &Inputs::default());
    let found = only(&now);
    assert_eq!((found.others_pages, found.needed_pages, found.target_pages), (10, 82, 100));
    let shrunk = plan(&facts, &Inputs { shrink: true, ..Inputs::default() });
    assert_eq!(only(&shrunk).target_pages, 82);
    // A described program is one more: the program that holds pages now is another.
    let asked = plan(&facts, &sga(&[73 * 2 * MIB], 0));
    assert_eq!((only(&asked).others_pages, only(&asked).needed_pages), (82, 155));
}

#[test]
fn a_neighbours_few_pages_are_not_taken_for_the_database() {
    let mut facts = machine();
    facts.pools = vec![pool(10, 0, 0)];
    let other = run(&mut facts, "dpdk", 5, 1, 10);
    share(&mut facts, ObjectKind::HugetlbFile, 20 * MIB, &other, HUGE);
    let plan = plan(&facts, &sga(&[10 * GIB], 0));
    assert_eq!((only(&plan).others_pages, only(&plan).target_pages), (10, 5130));
}

#[test]
fn a_jvm_on_huge_pages_is_one_demand() {
    let mut facts = machine();
    facts.pools = vec![pool(152, 140, 140)];
    java(&mut facts, 400, "-Xmx64m -XX:+UseLargePages");
    share(&mut facts, ObjectKind::PrivateHuge, 304 * MIB, &[400], HUGE);
    let now = plan(&facts, &Inputs::default());
    let demand = &only(&now).demands[0];
    assert_eq!((demand.pages, demand.held_pages, demand.origin), (152, 152, Origin::Huge));
    assert_eq!((only(&now).demands.len(), only(&now).needed_pages), (1, 152));
    let inputs = Inputs {
        java: vec![vec!["-Xmx64m".into(), "-XX:+UseLargePages".into()]],
        ..Inputs::default()
    };
    let described = plan(&facts, &inputs);
    assert_eq!((only(&described).needed_pages, only(&described).others_pages), (304, 152));
    let applied = plan_again(&facts, &inputs);
    assert_eq!((only(&applied).needed_pages, only(&applied).others_pages), (152, 0));
}

#[test]
fn java_is_planned_on_the_pages_that_it_takes() {
    let mut facts = machine();
    facts.default_page = Some(Bytes(GIB));
    facts.pools.push(hugewise_evidence::hugetlb::facts::Pool { page: Bytes(GIB), ..pool(0, 0, 0) });
    java(&mut facts, 400, "-Xmx64m -XX:+UseLargePages");
    let flags = vec!["-Xmx512m".to_owned(), "-XX:+UseLargePages".to_owned()];
    for page in [None, Some(Bytes(GIB))] {
        let inputs = Inputs { page, ..Inputs::default() };
        let running = plan(&facts, &inputs);
        let described = plan(&facts, &Inputs { java: vec![flags.clone()], ..inputs });
        let pages =
            |plan: &HugetlbPlan| plan.pools.iter().map(|p| p.needed_pages).collect::<Vec<_>>();
        assert_eq!((pages(&running), pages(&described)), (vec![152, 0], vec![384, 0]));
    }
}

#[test]
fn java_is_left_out_where_large_pages_have_another_size() {
    let mut facts = machine();
    facts.default_page = Some(Bytes::mib(32));
    java(&mut facts, 400, "-Xmx64m -XX:+UseLargePages");
    let flags = vec!["-Xmx512m".to_owned(), "-XX:+UseLargePages".to_owned()];
    for java in [Vec::new(), vec![flags]] {
        let plan = plan(&facts, &Inputs { java, ..Inputs::default() });
        let left: Vec<_> = plan.left_out.iter().map(|one| one.reason).collect();
        assert_eq!(left, [hugewise_evidence::hugetlb::demand::LeftOutReason::OtherPages]);
    }
}

#[test]
fn postgres_says_its_own_number_and_page_size() {
    let mut facts = machine();
    facts.pools.push(hugewise_evidence::hugetlb::facts::Pool { page: Bytes(GIB), ..pool(0, 0, 0) });
    let answer = |pages, page| PostgresAnswer {
        directory: "/db".into(),
        pages,
        page,
        connections: Some(100),
        user: Some("postgres".into()),
    };
    let inputs = Inputs {
        postgres: vec![answer(537, None), answer(2, Some(Bytes(GIB)))],
        ..Inputs::default()
    };
    // The answer is in pages of the server's own size, whatever the rest is planned on.
    for page in [None, Some(Bytes(GIB))] {
        let plan = plan(&facts, &Inputs { page, ..inputs.clone() });
        let pages: Vec<u64> = plan.pools.iter().map(|pool| pool.target_pages).collect();
        assert_eq!(pages, [537, 2]);
        assert_eq!(plan.memlock, None, "mmap with MAP_HUGETLB needs no right");
    }
}

/// A second instance beside a running one of the same size, and the first one planned again.
#[test]
fn a_described_program_is_one_more_until_it_was_applied() {
    let mut facts = machine();
    facts.pools = vec![pool(512, 0, 0)];
    let oracle = run(&mut facts, "oracle", 100, 40, 50);
    share(&mut facts, ObjectKind::SysV(1), GIB, &oracle, HUGE);
    assert_eq!(only(&plan(&facts, &sga(&[GIB], 0))).target_pages, 1024);
    let again = plan_again(&facts, &sga(&[GIB], 0));
    assert_eq!((only(&again).target_pages, only(&again).others_pages), (512, 0));
    // What is PostgreSQL's is never taken for it.
    facts.processes.values_mut().for_each(|process| {
        (process.name, process.program) = ("postgres".into(), Some("postgres".into()));
    });
    let again = plan_again(&facts, &sga(&[GIB], 0));
    assert_eq!((only(&again).target_pages, only(&again).others_pages), (1024, 512));
}

/// Exact sizes first: the smaller of two is not taken for a part of the larger.
#[test]
fn two_described_segments_find_their_own() {
    let mut facts = machine();
    facts.pools = vec![pool(2000, 1488, 0)];
    let oracle = run(&mut facts, "oracle", 100, 4, 50);
    share(&mut facts, ObjectKind::SysV(1), GIB, &oracle, HUGE);
    let plan = plan_again(&facts, &sga(&[2 * GIB, GIB], 0));
    let held: Vec<u64> = plan.demands().map(|demand| demand.held_pages).collect();
    assert_eq!(held, [0, 512]);
}

/// A second `apply --persist` writes the same files: what stands already stays in them.
#[test]
fn files_do_not_depend_on_what_stands_already() {
    let inputs = Inputs { shm_group: Some(501), user: Some("dba".into()), ..sga(&[GIB], 0) };
    let before = machine();
    let first = files::wanted(&plan(&before, &inputs), Some(HUGE));
    let mut after = machine();
    after.pools = vec![pool(512, 512, 0)];
    after.limits.shm_group = Some(501);
    assert_eq!(files::wanted(&plan(&after, &inputs), Some(HUGE)), first);
    let inputs = Inputs { nodes: vec![0], ..sga(&[GIB], 0) };
    let first = files::wanted(&plan(&before, &inputs), Some(HUGE));
    assert_eq!(files::wanted(&plan(&after, &inputs), Some(HUGE)), first);
    assert!(first[0].text.contains("/node0/"), "{first:?}");
}

#[test]
fn new_pages_are_spread_over_the_chosen_nodes() {
    let mut facts = machine();
    facts.pools[0].nodes = vec![node(0, 4, 4), node(1, 0, 0), node(2, 0, 0)];
    (facts.pools[0].total, facts.pools[0].free) = (4, 4);
    let shares = |nodes: &[u32]| {
        let inputs = Inputs { nodes: nodes.to_vec(), ..sga(&[15 * 2 * MIB], 0) };
        let plan = plan(&facts, &inputs);
        only(&plan).nodes.iter().map(|share| share.target_pages).collect::<Vec<_>>()
    };
    assert_eq!(shares(&[]), [4 + 4, 4, 3]);
    assert_eq!(shares(&[1, 2]), [4, 6, 5]);
    assert_eq!(shares(&[2]), [4, 0, 11]);
}

#[test]
fn limits_are_only_raised() {
    let mut facts = machine();
    facts.limits.shmmax = Some(Bytes(GIB));
    facts.limits.shmall_pages = Some(1000);
    let inputs = Inputs { shm_group: Some(501), ..sga(&[4 * GIB, GIB], 0) };
    let plan = plan(&facts, &inputs);
    let set: Vec<_> = plan
        .settings
        .iter()
        .map(|setting| (setting.key.as_str(), setting.value.as_str()))
        .collect();
    assert_eq!(
        set,
        [
            ("vm.hugetlb_shm_group", "501"),
            ("kernel.shmmax", "4294967296"),
            ("kernel.shmall", "1310720"),
        ]
    );
}

#[test]
fn segments_beside_the_plan_count_for_all_of_them() {
    let mut facts = machine();
    let other = run(&mut facts, "other", 10, 2, 50);
    share(&mut facts, ObjectKind::SysV(1), GIB, &other, SMALL);
    facts.limits.shmall_pages = Some(5 * GIB / 4096 - 1);
    let set = |facts: &_, inputs: &_| {
        let settings = plan(facts, inputs).settings.into_iter();
        settings.map(|setting| (setting.key, setting.value)).collect::<Vec<_>>()
    };
    let wanted = ("kernel.shmall".to_owned(), (5 * GIB / 4096).to_string());
    assert_eq!(set(&facts, &sga(&[4 * GIB], 0)), [wanted]);
    // One that runs is there already; and nobody else's limit is touched.
    let oracle = run(&mut facts, "oracle", 100, 2, 50);
    share(&mut facts, ObjectKind::SysV(2), 4 * GIB - 4096, &oracle, SMALL);
    assert_eq!(set(&facts, &Inputs::default()), []);
    facts.limits.shmall_pages = Some(1);
    assert_eq!(set(&facts, &Inputs { headroom: Bytes(GIB), ..Inputs::default() }).len(), 1);
    facts.objects.pop();
    assert_eq!(set(&facts, &Inputs { headroom: Bytes(GIB), ..Inputs::default() }), []);
}

#[test]
fn a_higher_memlock_limit_is_not_lowered() {
    let mut facts = machine();
    let pids = run(&mut facts, "oracle", 100, 2, 50);
    share(&mut facts, ObjectKind::SysV(1), GIB, &pids, SMALL);
    let mut with = |limits: [u64; 2], inputs: &Inputs| {
        for (process, limit) in facts.processes.values_mut().zip(limits) {
            process.memlock = Some(Bytes(limit));
        }
        let memlock = plan(&facts, inputs).memlock;
        memlock.map(|memlock| (memlock.limit_kb, memlock.users, memlock.units))
    };
    let none = Inputs::default();
    let (users, units) = (vec!["dba".to_owned()], vec!["oracle.service".to_owned()]);
    assert_eq!(with([u64::MAX; 2], &none), None);
    let both = Some((GIB / 1024, users.clone(), units));
    assert_eq!(with([u64::MAX, MIB], &none), both);
    // The same limit may be the one that was written before: it stays in the files.
    assert_eq!(with([GIB; 2], &none), both);
    let given = Inputs { user: Some("dba".into()), ..none };
    assert_eq!(with([u64::MAX; 2], &given), Some((GIB / 1024, users, Vec::new())));
}

#[test]
fn files_say_what_the_plan_says() {
    let inputs = Inputs {
        user: Some("oracle".into()),
        units: vec!["db.service".into()],
        shm_group: Some(501),
        ..sga(&[10 * GIB], 2 * GIB)
    };
    let made = plan(&machine(), &inputs);
    let files = files::wanted(&made, Some(HUGE));
    let lines = |path: &str| {
        let file = files.iter().find(|file| file.path == path).expect("is wanted");
        assert!(file.text.ends_with('\n') && file.text.starts_with("# Written by"));
        let kept = file.text.lines().filter(|line| !line.starts_with('#'));
        kept.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(files::SYSCTL), ["vm.nr_hugepages = 6144", "vm.hugetlb_shm_group = 501"]);
    assert_eq!(
        lines(files::LIMITS),
        ["oracle soft memlock 12582912", "oracle hard memlock 12582912"]
    );
    assert_eq!(
        lines("etc/systemd/system/db.service.d/90-hugewise-hugetlb.conf"),
        ["[Service]", "LimitMEMLOCK=12582912K"]
    );
    assert!(files.iter().all(|file| files::is_own(&file.path)));
    // On one node only, or of another size, sysctl has no word for it.
    let inputs = Inputs { nodes: vec![0], ..sga(&[MIB * 64], 0) };
    let made = plan(&machine(), &inputs);
    let files = files::wanted(&made, Some(HUGE));
    let text = &files.iter().find(|file| file.path == files::TMPFILES).expect("is wanted").text;
    let path = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
    assert!(text.contains(&format!("w {path} - - - - 32\n")), "{text}");
}
