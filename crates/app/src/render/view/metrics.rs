//! What `hugewise serve --once` says. Names have the units of Prometheus: bytes, seconds, and
//! shares as
//! ratios from 0 to 1.

use crate::render::exposition::{Labels, Metric, Type};
use crate::render::text::capital;
use crate::render::view::status::fields::{self, Field, Kind, Value};
use crate::render::view::status::values::Machine;
use crate::render::view::status::{ManagerState, Occupant};
use hugewise_base::escape::printable;
use hugewise_base::units::{Bytes, Ns};
use hugewise_evidence::hugetlb::facts::Pool;
use hugewise_manager::monitors::GuestMemory;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::snapshot::ThpMode;
use hugewise_manager::status::{CgroupStatus, ManagerStatus, TargetStatus};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Begins every name.
const OURS: &str = "hugewise";

/// A counter of the kernel for one size of pages.
#[derive(Debug, Clone)]
pub(crate) struct SizeCounter {
    /// `64kB`, ...
    pub(crate) size: String,
    /// Name of its file.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: u64,
}

/// Everything that metrics are made of.
#[derive(Debug)]
pub(crate) struct MetricsInput {
    /// The machine.
    pub(crate) machine: Machine,
    /// Memory in page tables.
    pub(crate) page_tables: Option<Bytes>,
    /// Counters by size of transparent huge pages.
    pub(crate) sizes: Vec<SizeCounter>,
    /// `HugeTLB` pools.
    pub(crate) pools: Vec<Pool>,
    /// The manager.
    pub(crate) manager: ManagerState,
    /// Programs and cgroups that are shown, the largest ones.
    pub(crate) top: usize,
}

/// All metrics, in the order in which they are written.
pub(crate) fn metrics(facts: &MetricsInput) -> Vec<Metric> {
    let mut all = List::default();
    let version = Labels::from([("version", env!("CARGO_PKG_VERSION").to_owned())]);
    all.add(Type::Info, "build", "The program that says this.", [(version, Some(1.0))]);
    machine(&mut all, facts);
    pools(&mut all, &facts.pools);
    let up = match &facts.manager {
        ManagerState::Running(_) | ManagerState::Elsewhere { role: Occupant::Manager, .. } => {
            Some(1.0)
        }
        ManagerState::Absent { .. } => Some(0.0),
        ManagerState::Elsewhere { role: Occupant::Experiment, .. } | ManagerState::Unknown => None,
    };
    all.gauge("manager_up", "1 while a manager runs, 0 while none does.", up);
    if let Some(status) = facts.manager.status() {
        manager(&mut all, status);
        skipped(&mut all, status);
        compaction(&mut all, status);
        programs(&mut all, &status.targets, facts.top);
        guests(&mut all, &status.targets, facts.top);
        cgroups(&mut all, &status.cgroups, facts.top);
    }
    all.0
}

/// Metrics so far.
#[derive(Debug, Default)]
struct List(Vec<Metric>);

impl List {
    /// One more; unknown values are left out, and values of the same labels added up.
    fn add(
        &mut self,
        kind: Type,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, Option<f64>)>,
    ) {
        let mut known = BTreeMap::new();
        for (labels, value) in values {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                *known.entry(labels).or_insert(0.0) += value;
            }
        }
        let (name, help) = (format!("{OURS}_{name}"), help.to_owned());
        self.0.push(Metric { name, kind, help, values: known });
    }

    fn gauge(&mut self, name: &str, help: &str, value: Option<f64>) {
        self.add(Type::Gauge, name, help, [(Labels::new(), value)]);
    }

    fn counter(&mut self, name: &str, help: &str, value: Option<f64>) {
        self.add(Type::Counter, name, help, [(Labels::new(), value)]);
    }
}

fn label(name: &'static str, value: impl Into<String>) -> Labels {
    Labels::from([(name, value.into())])
}

/// A sentence of a text that begins and ends as parts of tables do.
fn sentence(text: &str) -> String {
    capital(text) + "."
}

fn seconds(time: Option<Ns>) -> Option<f64> {
    time.map(Ns::as_s)
}

fn amount(bytes: Option<Bytes>) -> Option<f64> {
    bytes.map(|bytes| bytes.0 as f64)
}

/// The name of a field's metric with its unit, and its value in that; `None` for texts.
fn measured<T>(field: &Field<T>, of: &T) -> Option<(String, Option<f64>)> {
    let name = field.key.replace('.', "_");
    let name = match field.kind {
        Kind::Text => return None,
        Kind::Count => name,
        Kind::Bytes => format!("{name}_bytes"),
        Kind::Index => format!("{name}_ratio"),
        Kind::Percent => format!("{}_ratio", name.trim_end_matches("_percent")),
    };
    let value = match ((field.get)(of), field.kind) {
        (Value::Text(_), _) => None,
        (Value::Number(n), _) => n.map(|n| n as f64),
        (Value::Float(x), Kind::Percent) => x.map(|x| x / 100.0),
        (Value::Float(x), _) => x,
    };
    Some((name, value))
}

fn machine(all: &mut List, facts: &MetricsInput) {
    let machine = &facts.machine;
    let mode = machine.thp.map(ThpMode::name);
    let mode = mode.map(|mode| (label("mode", mode), Some(1.0)));
    all.add(Type::Info, "thp_mode", "Effective setting of transparent huge pages.", mode);
    for field in fields::MACHINE {
        if let Some((name, value)) = measured(field, machine) {
            all.gauge(&name, &sentence(field.help), value);
        }
    }
    let help = "Memory in page tables.";
    all.gauge("page_tables_bytes", help, amount(facts.page_tables));
    let zones = machine.zones.as_deref().unwrap_or_default();
    let of = |node: u32, zone: &str| {
        Labels::from([("node", node.to_string()), ("zone", zone.to_owned())])
    };
    let fmfi = zones.iter().map(|zone| (of(zone.node, &zone.zone), zone.fmfi));
    all.add(Type::Gauge, "zone_fmfi_ratio", "FMFI of a zone of memory.", fmfi);
    let free = zones.iter().map(|zone| (of(zone.node, &zone.zone), Some(zone.free_huge as f64)));
    all.add(Type::Gauge, "zone_free_huge", "Free blocks of a zone, in huge pages.", free);
    for counter in &machine.counters {
        let help = format!("{} of /proc/vmstat.", counter.name);
        let total = counter.total.map(|total| total as f64);
        all.counter(&format!("vmstat_{}", counter.name), &help, total);
    }
    sizes(all, &facts.sizes);
}

/// The kernel's counters by size; `nr_` begins what goes up and down.
fn sizes(all: &mut List, counters: &[SizeCounter]) {
    let of = |counter: &SizeCounter| {
        let labels = [("size", counter.size.clone()), ("event", counter.name.clone())];
        (Labels::from(labels), Some(counter.value as f64))
    };
    let (now, since): (Vec<_>, Vec<_>) =
        counters.iter().partition(|counter| counter.name.starts_with("nr_"));
    let help = "Events of transparent huge pages of a size, as the kernel counts them.";
    all.add(Type::Counter, "thp_size_events", help, since.into_iter().map(of));
    let help = "Transparent huge pages of a size that there are.";
    all.add(Type::Gauge, "thp_size_pages", help, now.into_iter().map(of));
}

fn pools(all: &mut List, pools: &[Pool]) {
    let size = |pool: &Pool| format!("{}kB", pool.page.0 >> 10);
    let machine = pools.iter().flat_map(|pool| {
        let states = [
            ("total", Some(pool.total)),
            ("free", Some(pool.free)),
            ("reserved", pool.reserved),
            ("surplus", pool.surplus),
        ];
        states.map(|(state, pages)| {
            let labels = Labels::from([("size", size(pool)), ("state", state.to_owned())]);
            (labels, pages.map(|pages| pages as f64))
        })
    });
    all.add(Type::Gauge, "hugetlb_pages", "Pages of a HugeTLB pool.", machine);
    let nodes = pools.iter().flat_map(|pool| {
        pool.nodes.iter().flat_map(move |node| {
            let states =
                [("total", Some(node.total)), ("free", Some(node.free)), ("surplus", node.surplus)];
            states.map(|(state, pages)| {
                let labels = [
                    ("size", size(pool)),
                    ("node", node.node.to_string()),
                    ("state", state.to_owned()),
                ];
                (Labels::from(labels), pages.map(|pages| pages as f64))
            })
        })
    });
    all.add(Type::Gauge, "hugetlb_node_pages", "Pages of a pool on a NUMA node.", nodes);
}

fn manager(all: &mut List, status: &ManagerStatus) {
    let labels = [("mode", status.mode.clone()), ("policy", status.policy.clone())];
    let help = "How the manager works.";
    all.add(Type::Info, "manager", help, [(Labels::from(labels), Some(1.0))]);
    let flag = |flag: bool| Some(f64::from(u8::from(flag)));
    let number = |n: u64| Some(n as f64);
    let dry = "1 where nothing is changed ('--dry-run').";
    all.gauge("manager_dry_run", dry, flag(status.dry_run));
    all.gauge(
        "manager_paused",
        "1 while 'hugewise manage pause' is in force.",
        flag(status.paused),
    );
    let help = "1 while memory is short on the machine.";
    all.gauge("memory_short", help, flag(status.pressure.is_some()));
    let help = "1 while waste above its budget is taken back.";
    all.gauge("giving_back", help, flag(status.giving_back));
    let budget = amount(status.bloat_budget);
    all.gauge("bloat_budget_bytes", "Waste that promotions may cause.", budget);
    let faults = &status.faults;
    let help = "Size of the folios that faults hand out by hugewise's choice.";
    all.gauge("fault_size_bytes", help, amount(faults.size));
    let help = "1 where faults hand out huge pages by hugewise's choice.";
    all.gauge("huge_faults", help, faults.huge.and_then(flag));
    let help = "Pages that faults handed out and nobody wrote, estimated.";
    all.gauge("unwritten_bytes", help, amount(faults.unwritten));
    let help = "Half of the 95 % interval of that estimate.";
    all.gauge("unwritten_error_bytes", help, amount(faults.unwritten_error));
    let bloat = amount(Some(status.known_bloat));
    all.gauge("known_bloat_bytes", "Waste in huge pages, as far as known.", bloat);
    let unknown = amount(Some(status.bloat.unknown));
    all.gauge("unknown_use_bytes", "Memory in huge pages whose use is not known.", unknown);
    all.counter("promotions", "Regions that the manager made huge.", number(status.promoted));
    all.counter("splits", "Huge pages that the manager split.", number(status.demoted));
    let freed = amount(Some(status.freed));
    all.counter("freed_bytes", "Memory that these splits gave back.", freed);
    all.counter("failed_calls", "Calls that failed.", number(status.failed));
    all.counter("withheld", "Decisions that nobody carried out.", number(status.withheld));
    all.counter("warm_ups", "Blocks warmed for a promotion.", number(status.warm_ups));
    let cpu = seconds(status.own_cpu);
    all.counter("manager_cpu_seconds", "CPU time of the manager.", cpu);
    let help = "CPU time of warming ahead, which nobody else wanted.";
    all.counter("manager_warm_cpu_seconds", help, seconds(status.warm_cpu));
}

/// Regions by the reason for which they stay as they are.
fn skipped(all: &mut List, status: &ManagerStatus) {
    let by = |(reason, n): (&SkipReason, &u64)| (label("reason", reason.key()), Some(*n as f64));
    let small = status.targets.iter().flat_map(|target| target.not_promoted.iter().map(by));
    all.add(Type::Gauge, "regions_not_promoted", "Regions that are not made huge.", small);
    let kept = status.targets.iter().flat_map(|target| target.not_split.iter().map(by));
    all.add(Type::Gauge, "regions_not_split", "Regions with waste that are not split.", kept);
    let alone = status.left_alone.iter().map(|one| (label("reason", one.reason.key()), Some(1.0)));
    all.add(Type::Gauge, "programs_left_alone", "Large programs that are left alone.", alone);
    let gate = status.gate.map(|reason| (label("reason", reason.key()), Some(1.0)));
    all.add(Type::Gauge, "promotion_gate_closed", "1: nothing at all is promoted now.", gate);
}

fn compaction(all: &mut List, status: &ManagerStatus) {
    let compaction = &status.compaction;
    let wanted = Some(compaction.wanted_blocks as f64);
    all.gauge("blocks_wanted", "Regions that wait for a free block and nothing else.", wanted);
    let reserve = Some(compaction.reserve_blocks as f64);
    all.gauge(
        "blocks_reserve",
        "Free blocks that are kept ready for faults and promotions.",
        reserve,
    );
    let runs = Some(compaction.totals.runs as f64);
    all.counter("compaction_runs", "Runs of compaction that the manager began.", runs);
    let won = Some(compaction.totals.won as f64);
    all.counter("compaction_blocks", "Free blocks that there were more after them.", won);
    let cpu = seconds(Some(compaction.totals.cpu));
    all.counter("compaction_cpu_seconds", "CPU time of these runs.", cpu);
}

/// Programs by name, and so few: a pid would be a new series at each start.
fn programs(all: &mut List, targets: &[TargetStatus], top: usize) {
    let mut programs = BTreeMap::<String, Vec<&TargetStatus>>::new();
    for target in targets {
        programs.entry(printable(&target.name)).or_default().push(target);
    }
    let mut programs: Vec<_> = programs.into_iter().collect();
    programs.sort_by_key(|(_, all)| Reverse(all.iter().map(|one| one.anon.0).sum::<u64>()));
    programs.truncate(top);
    let count = programs.iter().map(|(name, all)| (label("program", name), Some(all.len() as f64)));
    all.add(Type::Gauge, "program_processes", "Managed processes of this name.", count);
    let sums = fields::TARGET
        .iter()
        .chain(fields::BLOAT)
        .filter(|field| field.key != "pid" && matches!(field.kind, Kind::Bytes | Kind::Count));
    for field in sums {
        let mut name = String::new();
        let mut values = Vec::new();
        for (program, processes) in &programs {
            for (key, value) in processes.iter().filter_map(|one| measured(field, *one)) {
                name = format!("program_{key}");
                values.push((label("program", program), value));
            }
        }
        all.add(Type::Gauge, &name, &sentence(field.help), values);
    }
}

/// Virtual machines, the largest ones.
fn guests(all: &mut List, targets: &[TargetStatus], top: usize) {
    let guest =
        |target: &TargetStatus| Some((labels_of_guest(target)?, target.guest.as_ref()?.memory?));
    let mut guests: Vec<_> = targets.iter().filter_map(guest).collect();
    guests.sort_by_key(|(_, guest)| Reverse(guest.populated));
    guests.truncate(top);
    let mut add = |name: &str, help: &str, get: &dyn Fn(&GuestMemory) -> Option<f64>| {
        let values: Vec<_> = guests.iter().map(|(of, guest)| (of.clone(), get(guest))).collect();
        all.add(Type::Gauge, &format!("vm_{name}"), help, values);
    };
    let help = "Populated memory of a virtual machine's guest.";
    add("guest_bytes", help, &|guest| amount(Some(guest.populated)));
    let help = "Its memory in huge pages.";
    add("guest_huge_bytes", help, &|guest| amount(Some(guest.huge)));
    let help = "Share of its memory that is in huge pages.";
    add("guest_huge_ratio", help, &|guest| Some(guest.coverage_percent()? / 100.0));
}

/// A virtual machine by its monitor, its process, and its pod or unit.
fn labels_of_guest(target: &TargetStatus) -> Option<Labels> {
    let guest = target.guest.as_ref()?;
    let mut labels = label("monitor", printable(&guest.monitor));
    labels.insert("pid", target.pid.to_string());
    labels.extend(target.cgroup.as_ref().map(|cgroup| ("cgroup", printable(cgroup))));
    labels.extend(target.belongs_to.as_ref().map(|owner| ("belongs_to", printable(owner))));
    Some(labels)
}

fn cgroups(all: &mut List, cgroups: &[CgroupStatus], top: usize) {
    let mut cgroups: Vec<_> = cgroups.iter().collect();
    cgroups.sort_by_key(|cgroup| Reverse(cgroup.anon));
    cgroups.truncate(top);
    let labels = |cgroup: &CgroupStatus| {
        let mut labels = label("cgroup", printable(&cgroup.cgroup));
        labels.extend(cgroup.belongs_to.as_ref().map(|owner| ("belongs_to", printable(owner))));
        labels
    };
    let mut add = |name: &str, help: &str, get: &dyn Fn(&CgroupStatus) -> Option<f64>| {
        let values: Vec<_> = cgroups.iter().map(|cgroup| (labels(cgroup), get(cgroup))).collect();
        all.add(Type::Gauge, &format!("cgroup_{name}"), help, values);
    };
    add("processes", "Managed processes of a cgroup.", &|one| Some(one.processes as f64));
    add("anon_bytes", "Their resident anonymous memory.", &|one| amount(Some(one.anon)));
    add("huge_bytes", "Their memory in huge pages.", &|one| amount(Some(one.huge)));
    let help = "Their waste in huge pages, as far as known.";
    add("known_bloat_bytes", help, &|one| amount(Some(one.bloat.known())));
    let help = "Usage of the cgroup, or of the one above it that is closest to its limit.";
    add("usage_bytes", help, &|one| amount(one.memory.map(|memory| memory.usage)));
    add("limit_bytes", "Limit of the same.", &|one| amount(one.memory.map(|memory| memory.limit)));
    let help = "1 while memory is short for it.";
    add("short", help, &|one| Some(f64::from(u8::from(one.pressure.is_some()))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::exposition::{Form, text};
    use crate::render::golden;
    use crate::render::view::status::tests::with_manager;
    use hugewise_evidence::hugetlb::facts::NodePool;
    use hugewise_manager::status::GuestStatus;
    use std::collections::BTreeSet;

    fn write(metrics: &[Metric]) -> String {
        text(metrics, Form::Prometheus)
    }

    fn facts() -> MetricsInput {
        let mut view = with_manager();
        view.machine.psi_some_avg10 = Some(1.5);
        if let ManagerState::Running(status) = &mut view.manager {
            status.left_alone.append(&mut view.left_alone);
            let memory = GuestMemory { populated: Bytes::mib(1000), huge: Bytes::mib(960) };
            let guest = GuestStatus { monitor: "qemu".to_owned(), memory: Some(memory) };
            status.targets.iter_mut().take(1).for_each(|one| one.guest = Some(guest.clone()));
            (status.own_cpu, status.warm_cpu) = (Some(Ns::ms(1500)), Some(Ns::ms(250)));
        }
        let size =
            |name: &str, value| SizeCounter { size: "64kB".into(), name: name.into(), value };
        let node = NodePool { node: 1, total: 7, free: 2, surplus: Some(0), memory_free: None };
        let pool = Pool {
            page: Bytes::mib(2),
            total: 10,
            free: 4,
            reserved: Some(1),
            surplus: None,
            overcommit: None,
            nodes: vec![node],
        };
        MetricsInput {
            machine: view.machine,
            page_tables: Some(Bytes::mib(12)),
            sizes: vec![size("anon_fault_alloc", 9), size("nr_anon", 3)],
            pools: vec![pool],
            manager: view.manager,
            top: 10,
        }
    }

    #[test]
    fn each_figure_has_its_unit_and_its_meaning() {
        golden::check("metrics.prom", &write(&metrics(&facts())));
    }

    #[test]
    fn names_are_unique_and_well_formed() {
        let all = metrics(&facts());
        let good = |name: &str| {
            name.bytes().all(|b| b.is_ascii_lowercase() || b"_0123456789".contains(&b))
        };
        assert!(
            all.iter().all(|metric| good(&metric.name) && metric.help.ends_with('.')),
            "{all:?}"
        );
        let names: BTreeSet<_> = all.iter().map(|metric| &metric.name).collect();
        assert_eq!(names.len(), all.len());
    }

    /// Prometheus says nothing of a name that does not exist: an alert on it never fires.
    #[test]
    fn rules_and_documents_name_what_there_is() {
        let texts = [
            include_str!("../../../../../dist/prometheus/hugewise.rules.yml"),
            include_str!("../../../../../dist/grafana/hugewise.json"),
            include_str!("../../../../../docs/how-to/metrics.md"),
        ];
        let known = write(&metrics(&facts()));
        let words = texts.iter().flat_map(|text| {
            text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        });
        let names: BTreeSet<_> = words.filter(|word| word.starts_with("hugewise_")).collect();
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            // The beginning of several.
            let known = if name.ends_with('_') {
                known.contains(&format!("\n{name}"))
            } else {
                known.lines().any(|line| {
                    line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
                })
            };
            assert!(known, "there is no {name}");
        }
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        let facts = MetricsInput { manager: ManagerState::Unknown, page_tables: None, ..facts() };
        let text = write(&metrics(&facts));
        assert!(!text.contains("manager_up") && !text.contains("page_tables"), "{text}");
        let facts = MetricsInput { manager: ManagerState::Absent { left: Vec::new() }, ..facts };
        let text = write(&metrics(&facts));
        assert!(text.contains("hugewise_manager_up 0\n") && !text.contains("program_"), "{text}");
    }

    #[test]
    fn only_the_largest_programs_are_series() {
        let facts = MetricsInput { top: 1, ..facts() };
        let all = metrics(&facts);
        let of = |name: &str| all.iter().find(|metric| metric.name == name).expect("there");
        assert_eq!(of("hugewise_program_anon_bytes").values.len(), 1);
        assert_eq!(of("hugewise_cgroup_huge_bytes").values.len(), 1);
    }
}
