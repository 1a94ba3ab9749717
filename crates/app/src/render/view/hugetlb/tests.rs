use super::{plan as plan_view, verify as verify_view};
use crate::render::colour::Paint;
use crate::render::golden;
use crate::render::text::{WIDTH, width};
use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::facts::{
    ConfiguredLine, Facts, Java, Kubelet, Limits, Memory, Missing, Mount, Object, ObjectKind, Pool,
    Process,
};
use hugewise_evidence::hugetlb::input::Inputs;
use hugewise_evidence::hugetlb::plan::plan;
use hugewise_evidence::hugetlb::verify::verify;

const GIB: u64 = 1 << 30;
const HUGE: Bytes = Bytes(2 << 20);

/// The memory of 003_80b3d735f18cc1a9.txt.
fn seed() -> Facts {
    Facts {
        source: "meminfo.txt".into(),
        memory: Memory {
            total: Some(Bytes::kib(20_549_012)),
            page_tables: Some(Bytes::kib(5_007_924)),
            ..Memory::default()
        },
        default_page: Some(HUGE),
        pools: vec![Pool { page: HUGE, ..Pool::default() }],
        ..Facts::default()
    }
}

/// A busy database host with most of what can be there.
fn host() -> Facts {
    let process = |name: &str, tables_mib| Process {
        name: name.into(),
        program: Some(name.into()),
        uid: Some(500),
        user: Some("oracle".into()),
        groups: vec![500],
        page_tables: Some(Bytes::mib(tables_mib)),
        memlock: Some(Bytes::mib(8)),
        unit: None,
        directory: None,
    };
    let mut facts = seed();
    facts.source = "this machine".into();
    facts.memory.available = Some(Bytes(4 * GIB));
    (facts.memory.swap_total, facts.memory.swap_free) = (Some(Bytes(GIB)), Some(Bytes(GIB / 2)));
    let (reserved, surplus) = (Some(40), Some(0));
    facts.pools[0] = Pool { total: 500, free: 450, reserved, surplus, ..facts.pools[0].clone() };
    let pids: Vec<u32> = (1000..1240).collect();
    facts.processes = pids.iter().map(|pid| (*pid, process("oracle", 20))).collect();
    facts.processes.insert(77, process("java", 1));
    facts.java = vec![Java { pid: 77, flags: vec!["-Xmx1g".into(), "-XX:+UseLargePages".into()] }];
    let object = |kind, name: &str, bytes, pids: &[u32], page| Object {
        kind,
        name: name.into(),
        bytes: Bytes(bytes),
        page,
        uid: Some(500),
        pids: pids.to_vec(),
        attached: pids.len() as u64,
        touched: None,
    };
    let small = Some(Bytes(4096));
    facts.objects = vec![
        object(ObjectKind::SysV(65_538), "/SYSV0", 10 * GIB + 4096, &pids, small),
        object(ObjectKind::Posix, "/dev/shm/ora_orcl_4", GIB, &pids[..1], small),
        object(ObjectKind::SysV(4), "/SYSV1", GIB, &[], small),
    ];
    facts.limits = Limits { shm_group: Some(0), overcommit_memory: Some(2), ..Limits::default() };
    facts.mounts = vec![Mount { path: "/dev/hugepages".into(), page: Some(HUGE), limit: None }];
    facts.configured = vec![ConfiguredLine {
        file: "/etc/sysctl.conf".into(),
        line: 41,
        key: "vm.nr_hugepages".into(),
        value: "500".into(),
    }];
    facts.kubelet = Some(Kubelet::Running);
    facts.missing =
        vec![Missing { what: "maps of 3 processes".into(), why: "Permission denied".into() }];
    facts
}

fn checked(name: &str, text: &str) {
    for line in text.lines() {
        assert!(width(line) <= WIDTH, "{name}: {line}");
        assert_eq!(line.trim_end(), line, "{name}");
    }
    golden::check(name, text);
}

#[test]
fn a_described_database_on_another_machine() {
    let inputs =
        Inputs { segments: vec![Bytes(10 * GIB)], headroom: Bytes(2 * GIB), ..Inputs::default() };
    let facts = seed();
    let text = plan_view::render(&facts, &plan(&facts, &inputs), None, Paint::plain());
    checked("hugetlb-plan-003.txt", &text);
}

#[test]
fn a_host_with_everything_to_warn_of() {
    let facts = host();
    let made = plan(&facts, &Inputs::default());
    let text = plan_view::render(&facts, &made, Some(""), Paint::plain());
    checked("hugetlb-plan-host.txt", &text);
}

#[test]
fn a_database_that_came_back_on_huge_pages_and_a_jvm_that_did_not() {
    let before = host();
    let made = plan(&before, &Inputs::default());
    let mut after = before.clone();
    after.pools[0].total = made.pools[0].target_pages;
    after.pools[0].free = 700;
    after.pools[0].reserved = Some(10);
    after.objects[0].page = Some(HUGE);
    for process in after.processes.values_mut().filter(|p| p.name == "oracle") {
        process.page_tables = Some(Bytes::kib(90));
    }
    after.memory.page_tables = Some(Bytes::mib(70));
    let verified = verify(&made, &after, &[]);
    let text = verify_view::render(&verified, Paint::plain());
    checked("hugetlb-verify.txt", &text);
}
