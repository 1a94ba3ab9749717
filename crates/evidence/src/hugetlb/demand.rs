//! Who needs HugeTLB pages, and how many: each piece of memory is rounded up on its own.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::facts::{Facts, Java, Object, ObjectKind};
use super::input::{Inputs, PostgresAnswer};
use super::java;
use super::product::Product;
use super::tables;
use crate::recording::ASSUMED;
use hugewise_base::named;
use hugewise_base::units::Bytes;

/// Where a demand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Somebody said so: the program may not run yet.
    Input,
    /// It runs, on base pages.
    Small,
    /// It runs, on HugeTLB pages already.
    Huge,
}

/// A piece of memory that is rounded up to whole pages on its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What it is.
    pub what: String,
    /// Its size.
    pub bytes: Bytes,
    /// `bytes / page`, rounded up.
    pub pages: u64,
}

/// A program's need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// What it is.
    pub name: String,
    /// The program, where it is known.
    pub product: Option<Product>,
    /// Where it comes from.
    pub origin: Origin,
    /// What it consists of.
    pub parts: Vec<Part>,
    /// Size of its pages.
    pub page_bytes: Bytes,
    /// Pages of all parts.
    pub pages: u64,
    /// Pages of the pool that it has already: in use, or reserved for it.
    pub held_pages: u64,
    /// Processes that map it; `None`: not given.
    pub attached: Option<u64>,
    /// Those of them that are known.
    pub pids: Vec<u32>,
    /// Users who need the right to use it; empty where none is needed or nobody is known.
    pub users: Vec<String>,
    /// Units in which it runs.
    pub units: Vec<String>,
    /// Whether the kernel wants a right for it: of a SysV segment `vm.hugetlb_shm_group` or
    /// `CAP_IPC_LOCK` (Linux 6.18 fs/hugetlbfs/inode.c `hugetlb_file_setup`; on older kernels a
    /// locked-memory limit is enough). `mmap` with `MAP_HUGETLB` wants none.
    pub needs_right: bool,
    /// Page tables of its processes now, all that they have; `None`: not known.
    pub tables_now_bytes: Option<Bytes>,
    /// Page tables for this memory alone, if each process touches all of it in base pages.
    pub tables_small_bytes: Option<Bytes>,
    /// The same on pages of `page_bytes`.
    pub tables_huge_bytes: Option<Bytes>,
}

named! {
    /// Why a piece of shared memory is not planned for.
    LeftOutReason,
    NoSwitchKnown = "no_switch_known":
        "no program that is known to have a switch for HugeTLB pages uses it",
        "--pid PID counts it, --sga SIZE plans for one like it";
    Tmpfs = "tmpfs":
        "POSIX shared memory lies on tmpfs, which has no HugeTLB pages",
        "Oracle: memory_target = 0 (no AMM)";
    Unattached = "unattached":
        "no process has it attached", "";
    NotAsked = "not_asked":
        "this Java runs without -XX:+UseLargePages", "--java='-Xmx...' plans for it";
    NotMoved = "not_moved":
        "its program's switch does not move this kind of memory", "--pid PID counts it";
    SharedMemoryType = "shared_memory_type":
        "PostgreSQL never puts a System V segment on HugeTLB pages, and with huge_pages = on does \
         not start",
        "shared_memory_type = mmap first, then plan again";
    HeapUnknown = "heap_unknown":
        "its arguments do not say how large its heap may become",
        "--java='-Xmx...' plans for it";
    OtherPages = "other_pages":
        "its large pages have another size than 2 MiB (-XX:LargePageSizeInBytes, or the kernel's \
         default), for which there is no formula",
        "see its own log (-Xlog:pagesize); for 1 GiB hugepagesz=1G on the kernel command line";
}

/// Shared memory that is not planned for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// What it is.
    pub name: String,
    /// Its size; `None`: not known.
    pub bytes: Option<Bytes>,
    /// Processes that map it.
    pub attached: u64,
    /// Why.
    pub reason: LeftOutReason,
}

/// All demands, and what is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// Who needs pages.
    pub all: Vec<Demand>,
    /// Who gets none, with the reason.
    pub left_out: Vec<LeftOut>,
}

impl Demand {
    fn new(name: String, origin: Origin, page: Bytes, parts: Vec<(String, Bytes)>) -> Self {
        let parts: Vec<Part> = parts
            .into_iter()
            .map(|(what, bytes)| Part { what, bytes, pages: pages(bytes, page) })
            .collect();
        Self {
            name,
            product: None,
            origin,
            page_bytes: page,
            pages: sum(parts.iter().map(|part| part.pages)),
            parts,
            held_pages: 0,
            attached: None,
            pids: Vec::new(),
            users: Vec::new(),
            units: Vec::new(),
            needs_right: false,
            tables_now_bytes: None,
            tables_small_bytes: None,
            tables_huge_bytes: None,
        }
    }

    /// Page tables for it on its huge pages, of one process that touches all of it.
    pub(crate) fn tables_huge_each(&self) -> Bytes {
        self.parts
            .iter()
            .map(|part| tables::of_mapping(part.bytes, self.page_bytes, ASSUMED.base))
            .sum()
    }

    /// Its size, not rounded.
    pub fn bytes(&self) -> Bytes {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Knows its processes: their users, units and page tables.
    pub(super) fn with_processes(mut self, facts: &Facts, pids: &[u32]) -> Self {
        let known = || pids.iter().filter_map(|pid| facts.processes.get(pid));
        let unique = |names: BTreeSet<&String>| names.into_iter().cloned().collect();
        self.users = unique(known().filter_map(|p| p.user.as_ref()).collect());
        self.units = unique(known().filter_map(|p| p.unit.as_ref()).collect());
        self.tables_now_bytes = page_tables(facts, pids);
        self.pids = pids.to_vec();
        self.shared_by(u64::try_from(pids.len()).ok())
    }

    /// Is mapped by a number of processes.
    pub(super) fn shared_by(mut self, attached: Option<u64>) -> Self {
        self.attached = attached;
        let of = |page| {
            let parts = self.parts.iter();
            let one: Bytes =
                parts.map(|part| tables::of_mapping(part.bytes, page, ASSUMED.base)).sum();
            attached.map(|attached| Bytes(one.0.saturating_mul(attached)))
        };
        (self.tables_small_bytes, self.tables_huge_bytes) = (of(ASSUMED.base), of(self.page_bytes));
        self
    }
}

/// Everything that needs pages: what was described, else what runs.
pub fn demands(facts: &Facts, inputs: &Inputs) -> Demands {
    if inputs.describe_programs() {
        return described(facts, inputs);
    }
    let mut found = Demands::default();
    // A Java heap is known by its flags and seen as private huge memory: it is one demand.
    let java = facts.java.iter().filter(|java| selected(inputs, &[java.pid]));
    java.for_each(|java| running_java(facts, java, &mut found));
    let taken: BTreeSet<u32> = found.all.iter().flat_map(|demand| demand.pids.clone()).collect();
    let of_java =
        |object: &Object| java_holds(object) && object.pids.iter().all(|pid| taken.contains(pid));
    let objects = facts.objects.iter().filter(|object| selected(inputs, &object.pids));
    objects.filter(|object| !of_java(object)).for_each(|o| running(facts, inputs, o, &mut found));
    found
}

/// Processes of these demands, each once: one may map several.
pub fn pids<'a>(demands: impl Iterator<Item = &'a Demand>) -> Vec<u32> {
    let all: BTreeSet<u32> = demands.flat_map(|demand| demand.pids.iter().copied()).collect();
    all.into_iter().collect()
}

/// Page tables of these processes; `None` where one is not known, or there are none.
pub fn page_tables(facts: &Facts, pids: &[u32]) -> Option<Bytes> {
    let all = pids.iter().map(|pid| facts.processes.get(pid)?.page_tables);
    let all: Option<Vec<Bytes>> = all.collect();
    all.filter(|all| !all.is_empty()).map(|all| all.into_iter().sum())
}

/// The page size that is planned for.
pub fn page_size(facts: &Facts, inputs: &Inputs) -> Bytes {
    inputs.page.or(facts.default_page).unwrap_or(Bytes::mib(2))
}

/// Pages together; what nobody can have is the largest number there is.
pub(super) fn sum(pages: impl Iterator<Item = u64>) -> u64 {
    pages.fold(0, u64::saturating_add)
}

/// `bytes / page`, rounded up.
pub fn pages(bytes: Bytes, page: Bytes) -> u64 {
    bytes.0.div_ceil(page.0.max(1))
}

fn selected(inputs: &Inputs, pids: &[u32]) -> bool {
    inputs.pids.is_empty() || pids.iter().any(|pid| inputs.pids.contains(pid))
}

fn described(facts: &Facts, inputs: &Inputs) -> Demands {
    let page = page_size(facts, inputs);
    let Demands { mut all, mut left_out } = Demands::default();
    for bytes in &inputs.segments {
        let parts = vec![("segment".to_owned(), *bytes)];
        let mut demand = Demand::new("shared memory (--sga)".into(), Origin::Input, page, parts);
        demand.needs_right = true;
        demand.users = inputs.user.iter().cloned().collect();
        demand.units.clone_from(&inputs.units);
        all.push(demand.shared_by(inputs.processes));
    }
    for flags in &inputs.java {
        let need = java::need(flags, facts.default_page);
        let (name, page) = ("Java (--java)".to_owned(), Bytes(java::PAGE));
        if need.other_page.is_some() {
            let reason = LeftOutReason::OtherPages;
            left_out.push(LeftOut { name, bytes: None, attached: 1, reason });
            continue;
        }
        let mut demand = Demand::new(name, Origin::Input, page, need.parts);
        demand.product = Some(Product::Java);
        demand.needs_right = need.sysv;
        all.push(demand.shared_by(Some(1)));
    }
    all.extend(inputs.postgres.iter().map(|answer| of_postgres(facts, inputs, answer)));
    Demands { all, left_out }
}

/// Its number is of pages of its own choice: `--page-size` does not change them.
fn of_postgres(facts: &Facts, inputs: &Inputs, answer: &PostgresAnswer) -> Demand {
    let page = answer.page.or(facts.default_page).unwrap_or(Bytes::mib(2));
    let bytes = Bytes(page.0.saturating_mul(answer.pages));
    let parts = vec![("shared_memory_size_in_huge_pages".to_owned(), bytes)];
    let name = format!("PostgreSQL in {}", answer.directory);
    let mut demand = Demand::new(name, Origin::Input, page, parts);
    demand.product = Some(Product::PostgreSql);
    demand.users = answer.user.iter().cloned().collect();
    demand.shared_by(inputs.processes.or(answer.connections))
}

fn running(facts: &Facts, inputs: &Inputs, object: &Object, found: &mut Demands) {
    let product = product(facts, object);
    let is_huge = |page: &Bytes| facts.pools.iter().any(|pool| pool.page == *page);
    let huge = object.page.filter(is_huge);
    let moves = product.map(|product| product.moves(&object.kind));
    let reason = match object.kind {
        _ if huge.is_some() => None,
        ObjectKind::Posix => Some(LeftOutReason::Tmpfs),
        _ if object.attached == 0 => Some(LeftOutReason::Unattached),
        ObjectKind::SysV(_) if product == Some(Product::PostgreSql) => {
            Some(sysv_of_postgres(object))
        }
        _ if !inputs.pids.is_empty() || moves == Some(true) => None,
        ObjectKind::SysV(_) if is_shared_by_unknown(facts, inputs, object) => None,
        _ if moves == Some(false) => Some(LeftOutReason::NotMoved),
        _ => Some(LeftOutReason::NoSwitchKnown),
    };
    let name = name_of(facts, object, product);
    if let Some(reason) = reason {
        let bytes = Some(object.bytes);
        found.left_out.push(LeftOut { name, bytes, attached: object.attached, reason });
        return;
    }
    let page = huge.unwrap_or_else(|| page_size(facts, inputs));
    let origin = if huge.is_some() { Origin::Huge } else { Origin::Small };
    let mut demand = Demand::new(name, origin, page, vec![("segment".into(), object.bytes)]);
    demand.product = product;
    demand.needs_right = matches!(object.kind, ObjectKind::SysV(_));
    demand.held_pages = if huge.is_some() { demand.pages } else { 0 };
    let demand = demand.with_processes(facts, &object.pids);
    found.all.push(demand.shared_by(Some(object.attached)));
}

/// A listing of segments alone does not say whose they are: one that several processes have
/// attached, and that fills a page, is what pools are made for.
fn is_shared_by_unknown(facts: &Facts, inputs: &Inputs, object: &Object) -> bool {
    let nobody = facts.processes.is_empty() && object.pids.is_empty();
    nobody && object.attached > 1 && object.bytes >= page_size(facts, inputs)
}

/// Each server has a segment of a few bytes, which only tells a second one that it runs.
fn sysv_of_postgres(object: &Object) -> LeftOutReason {
    if object.bytes < Bytes::mib(1) {
        LeftOutReason::NotMoved
    } else {
        LeftOutReason::SharedMemoryType
    }
}

fn running_java(facts: &Facts, java: &Java, found: &mut Demands) {
    let need = java::need(&java.flags, facts.default_page);
    let name = format!("Java (pid {})", java.pid);
    let reason = match (need.asks, need.other_page, need.parts.is_empty()) {
        (false, ..) => Some(LeftOutReason::NotAsked),
        (true, Some(_), _) => Some(LeftOutReason::OtherPages),
        (true, None, true) => Some(LeftOutReason::HeapUnknown),
        (true, None, false) => None,
    };
    if let Some(reason) = reason {
        let bytes = need.parts.iter().map(|(_, bytes)| *bytes).reduce(|a, b| a + b);
        found.left_out.push(LeftOut { name, bytes, attached: 1, reason });
        return;
    }
    let page = Bytes(java::PAGE);
    let own = |object: &&Object| java_holds(object) && object.pids.contains(&java.pid);
    let held = facts.objects.iter().filter(own).filter(|object| object.page == Some(page));
    let held = sum(held.map(|object| pages(object.bytes, page)));
    let origin = if held > 0 { Origin::Huge } else { Origin::Small };
    let mut demand = Demand::new(name, origin, page, need.parts);
    demand.product = Some(Product::Java);
    demand.needs_right = need.sysv;
    demand.held_pages = held.min(demand.pages);
    found.all.push(demand.with_processes(facts, &[java.pid]));
}

/// Java's memory on large pages is private; ZGC's heap is a memfd, `-XX:+UseSHM` segments.
pub(super) fn java_holds(object: &Object) -> bool {
    let kind = &object.kind;
    matches!(kind, ObjectKind::PrivateHuge | ObjectKind::Memfd | ObjectKind::SysV(_))
        && object.pids.len() == 1
        && object.page.is_some_and(|page| page >= Bytes::mib(2))
}

/// The product that uses it. A recording does not say who attaches a segment: then one that runs
/// and has such segments is taken for it.
pub(super) fn product(facts: &Facts, object: &Object) -> Option<Product> {
    if !object.pids.is_empty() {
        return object.pids.iter().find_map(|pid| Product::of(facts.processes.get(pid)?));
    }
    let all = facts.processes.values().filter_map(Product::of);
    let mut fitting = all.filter(|product| product.moves(&object.kind));
    fitting.find(|product| *product == Product::Oracle)
}

fn name_of(facts: &Facts, object: &Object, product: Option<Product>) -> String {
    let first = object.pids.first();
    let process = first.and_then(|pid| facts.processes.get(pid)).map(|p| p.name.as_str());
    let owner = product.map(|product| product.about().name).or(process);
    let what = object.kind.name(&object.name);
    match (owner, first) {
        (Some(owner), Some(pid)) => format!("{what} of {owner} (pid {pid})"),
        _ => what,
    }
}
