//! All kinds of workloads: one definition each, from which the lists, the check, the reference
//! page and what starts them follow.
//!
//! A new kind is a [`Kind`] with its parameters in a file here, a line in `tasks!`, and the driver
//! or workload that the compiler then asks for.

mod builtin;
mod external;
mod fragment;
mod groups;
mod http;
mod manager;
mod service;
mod siblings;
mod stress;

use super::kind::{Demand, Kind, Named, ParamError, Source, Start, Times, Value, Values};
use super::load::Profile;
use super::spec::{Experiment, Variant};
use serde::{Serialize, Serializer};

pub use super::kind::User;
pub use builtin::{
    AFTER, Algorithm, AllocatorChurn, FaultLatency, ForkCow, Forks, Graph, Gups, HashJoin, HotPart,
    Merge, Order, PARENT_METRICS, Prefork, Requests, SegmentPages, SharedSegment, Size,
    SparseTouch, Stride, Text, Updates, Yardstick,
};
pub use external::{
    Collector, Command, Java, Memcached, Output, PoolPages, Postgres, Redis, STRESS_NG, Scenario,
    Socket, StressNg,
};
pub use fragment::Fragment;
pub use http::Http;
pub use manager::{
    Advise, Bloat, Demo, DemoScenario, Diagnose, Fill, Later, Meanwhile, Method, Promote, Recover,
    Rest, Scale, Scan, Shape, Tool, Zeros,
};
pub use service::Service;
pub use siblings::Siblings;
pub use stress::{StressCpu, StressFork, StressIo, StressNet, StressRead, StressSwitch, StressVm};

/// A kind, and how its parameters become a task.
struct Entry {
    kind: &'static Kind,
    read: fn(&Values) -> Option<Task>,
}

/// The kinds by how they are started: name of the task, type of its parameters, definition.
macro_rules! tasks {
    ($($(#[$about:meta])* $start:ident {
        $($name:ident: $params:ident = $kind:path;)*
    })*) => {
        /// What is run: a kind with its parameters, by how it is started.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Task {
            $($(#[$about])* $start($start),)*
        }

        $(
            $(#[$about])*
            #[derive(Debug, Clone, PartialEq, Eq)]
            pub enum $start {
                $(#[doc = stringify!($kind)] $name($params),)*
            }
        )*

        $($(const _: () = assert!(matches!($kind.start, Start::$start));)*)*

        const ALL: &[Entry] = &[$($(Entry {
            kind: &$kind,
            read: |values| Some(Task::$start($start::$name($params::read(values)?))),
        },)*)*];

        impl Task {
            fn demand(&self) -> &dyn Demand {
                match self {
                    $($(Self::$start($start::$name(params)) => params,)*)*
                }
            }
        }
    };
}

tasks! {
    /// Part of hugewise: `hugewise lab workload lab KIND`.
    BuiltIn {
        FaultLatency: FaultLatency = builtin::FAULT_LATENCY;
        Requests: Requests = builtin::REQUESTS;
        SparseTouch: SparseTouch = builtin::SPARSE_TOUCH;
        Gups: Gups = builtin::GUPS;
        PointerChase: Size = builtin::POINTER_CHASE;
        Btree: Size = builtin::BTREE;
        HashJoin: HashJoin = builtin::HASH_JOIN;
        Graph: Graph = builtin::GRAPH;
        AllocatorChurn: AllocatorChurn = builtin::ALLOCATOR_CHURN;
        SharedSegment: SharedSegment = builtin::SHARED_SEGMENT;
        ForkCow: ForkCow = builtin::FORK_COW;
        Prefork: Prefork = builtin::PREFORK;
        Merge: Merge = builtin::MERGE;
        Text: Text = builtin::TEXT;
        Stride: Stride = builtin::STRIDE;
        StressCpu: StressCpu = stress::CPU;
        StressIo: StressIo = stress::IO;
        StressVm: StressVm = stress::VM;
        StressNet: StressNet = stress::NET;
        StressFork: StressFork = stress::FORK;
        StressSwitch: StressSwitch = stress::SWITCH;
        StressRead: StressRead = stress::READ;
        FragmentHoles: Fragment = fragment::HOLES;
        FragmentPageCache: Fragment = fragment::PAGE_CACHE;
    }
    /// A server of others, with its clients.
    Server {
        Redis: Redis = external::REDIS;
        Memcached: Memcached = external::MEMCACHED;
        Postgres: Postgres = external::POSTGRES;
        Java: Java = external::JAVA;
        Http: Http = http::HTTP;
    }
    /// A program that works by itself, or when it is asked to.
    Executable {
        Command: Command = external::COMMAND;
        Demo: Demo = manager::DEMO;
        Bloat: Bloat = manager::BLOAT;
        Numpy: Zeros = manager::NUMPY;
        Node: Zeros = manager::NODE;
        Siblings: Siblings = siblings::SIBLINGS;
    }
    /// A measurement of what hugewise itself costs and gains.
    Measurement {
        Promote: Promote = manager::PROMOTE;
        Rest: Rest = manager::REST;
        Scan: Scan = manager::SCAN;
        Scale: Scale = manager::SCALE;
        Recover: Recover = manager::RECOVER;
        Diagnose: Diagnose = manager::DIAGNOSE;
        Service: Service = service::SERVICE;
    }
    /// Beside a workload only.
    Beside {
        StressNg: StressNg = external::STRESS;
    }
}

/// All parameters of a workload: those given, and the defaults of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    values: Values,
    task: Task,
}

impl Params {
    /// Of this kind.
    ///
    /// # Errors
    /// When a name is unknown or a value not allowed: which, and what is allowed.
    pub fn new(kind: &Kind, given: &Values) -> Result<Self, ParamError> {
        let values = kind.values(given)?;
        let entry = ALL.iter().find(|entry| entry.kind.name == kind.name);
        let task = entry.and_then(|entry| (entry.read)(&values));
        let task = task.ok_or_else(|| {
            ParamError(format!("the parameters of '{}' are not those of its task", kind.name))
        })?;
        Ok(Self { values, task })
    }

    /// What is run with them.
    pub const fn task(&self) -> &Task {
        &self.task
    }

    /// All of them by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Memory that the workload takes, MiB; see [`Demand::memory_mib`].
    pub fn memory_mib(&self) -> Option<u64> {
        let own = match self.values.get("mib") {
            Some(Value::Count(mib)) => Some(*mib),
            _ => None,
        };
        self.task.demand().memory_mib().or(own)
    }

    /// Time that a run takes beside its preparations, seconds, as far as its parameters say.
    pub fn run_seconds(&self, experiment: &Experiment) -> u64 {
        let load = experiment.load.as_ref().and_then(|load| Profile::parse(&load.steps).ok());
        let load_s = load.map(|load| load.time().0.div_ceil(1_000_000_000));
        let measure_s = load_s.unwrap_or(experiment.measure_s);
        self.task.demand().seconds(Times { manage_s: experiment.manage_s, measure_s })
    }

    /// What the workload needs of its experiment and has not got; see [`Demand::fault`].
    pub fn fault(&self, memory_limit_mib: Option<u64>) -> Option<String> {
        self.task.demand().fault(memory_limit_mib)
    }

    /// Whether it is a server that gets the load of its experiment.
    pub fn takes_load(&self) -> bool {
        self.task.demand().takes_load()
    }

    /// The program that it runs, where a parameter names it.
    pub fn program(&self) -> Option<Named<'_>> {
        self.task.demand().program()
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values.serialize(serializer)
    }
}

/// The kind with this name.
pub fn find(name: &str) -> Option<&'static Kind> {
    all().find(|kind| kind.name == name)
}

/// All kinds, in the order in which they are listed.
pub fn all() -> impl Iterator<Item = &'static Kind> {
    ALL.iter().map(|entry| entry.kind)
}

/// The kinds that are part of hugewise.
pub fn builtin() -> impl Iterator<Item = &'static Kind> {
    all().filter(|kind| kind.start == Start::BuiltIn)
}

/// The kinds whose program is `hugewise lab workload lab`: all built-in ones, and that of
/// `hugewise try`, which has a driver of its own.
pub fn in_lab_workload() -> impl Iterator<Item = &'static Kind> {
    all().filter(|kind| kind.start == Start::BuiltIn || kind.name == manager::DEMO.name)
}

/// Whether a kind can be measured from the end of its fill on (`at_work`).
pub fn works_from_start(kind: &Kind) -> bool {
    let others = ["redis", "memcached", "java", "bloat", "numpy", "node"];
    kind.start == Start::BuiltIn || others.contains(&kind.name)
}

/// Why a variant cannot have huge pages that come later of this kind, which would otherwise run as
/// [`HugePages::Inherit`] without a word.
pub fn later_fault(kind: &Kind, variant: &Variant) -> Option<String> {
    let is_wrong = kind.huge_pages != Source::VariantOrLater;
    (variant.huge_pages.come_later() && is_wrong).then(|| {
        let able = all().filter(|kind| kind.huge_pages == Source::VariantOrLater);
        let others = able.filter(|kind| kind.start != Start::BuiltIn).map(|kind| kind.name);
        format!(
            "variant '{}': huge_pages = '{}' cannot be had for '{}': nobody but a program \
             itself can switch its huge pages on after its fill; {} and the built-in kinds do",
            variant.name,
            variant.huge_pages.key(),
            kind.name,
            others.collect::<Vec<_>>().join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Value;
    use crate::metric;
    use crate::spec::HugePages;
    use std::collections::BTreeSet;

    fn params(kind: &str, given: &[(&str, Value)]) -> Params {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Params::new(find(kind).expect("a kind"), &given.collect()).expect("allowed")
    }

    #[test]
    fn metrics_of_the_parent_are_known() {
        for key in PARENT_METRICS {
            assert!(metric::find(key).is_some(), "{key}");
        }
    }

    #[test]
    fn later_is_refused_where_nobody_can_do_it() {
        let variant = |huge_pages| Variant { name: "b".into(), huge_pages, ..Variant::default() };
        let fault = |name, pages| later_fault(find(name).expect("a kind"), &variant(pages));
        for kind in ["gups", "demo", "bloat"] {
            assert_eq!(fault(kind, HugePages::Later), None, "{kind}");
        }
        for kind in ["redis", "java", "command", "numpy", "promote"] {
            let said = fault(kind, HugePages::Later).expect(kind);
            assert!(said.starts_with("variant 'b': huge_pages = 'later' cannot"), "{said}");
            assert!(said.ends_with("; demo, bloat, siblings and the built-in kinds do"), "{said}");
            assert_eq!(fault(kind, HugePages::Always), None, "{kind}");
        }
    }

    #[test]
    fn what_works_from_the_start_is_known() {
        for name in ["gups", "redis", "memcached", "java", "bloat", "numpy", "node"] {
            assert!(works_from_start(find(name).expect("a kind")), "{name}");
        }
        assert!(!works_from_start(find("command").expect("a kind")));
    }

    #[test]
    fn names_are_unique_and_metrics_and_defaults_are_known() {
        let names: BTreeSet<_> = all().map(|kind| kind.name).collect();
        assert_eq!(names.len(), all().count());
        for kind in all() {
            for key in kind.metrics {
                assert!(metric::find(key).is_some(), "{}: {key}", kind.name);
            }
            let params = Params::new(kind, &Values::new()).expect("defaults");
            // A default must be a value that could be given, too.
            let given = params.iter().map(|(name, value)| (name.to_owned(), value.clone()));
            assert_eq!(Params::new(kind, &given.collect()), Ok(params), "{}", kind.name);
        }
    }

    #[test]
    fn memory_follows_from_the_parameters() {
        let count = Value::Count;
        let needs = |kind: &str, given: &[(&str, Value)]| params(kind, given).memory_mib();
        assert_eq!(needs("rest", &[]), Some(16 << 10));
        assert_eq!(needs("gups", &[("mib", count(64))]), Some(64));
        assert_eq!(needs("java", &[]), Some(512));
        let redis = [("keys", count(1024)), ("value_bytes", count(1 << 20))];
        assert_eq!(needs("redis", &redis), Some(1024));
        let timeline = [&redis[..], &[("scenario", Value::Text("timeline".into()))]].concat();
        assert_eq!(needs("redis", &timeline), Some(1024 + 256));
        let memcached = [("hashpower", count(26)), ("keys", count(100))];
        assert_eq!(needs("memcached", &memcached), Some(512 + 1));
        assert_eq!(needs("fork-cow", &[("mib", count(100))]), Some(150));
        for kind in ["command", "diagnose", "fragment-holes", "stress-cpu"] {
            assert_eq!(needs(kind, &[]), None, "{kind}");
        }
    }

    #[test]
    fn time_counts_what_is_waited_for() {
        let text = r#"{ "name": "n", "question": "q", "workload": { "kind": "gups" },
                        "measure_s": 5, "manage_s": 20, "variant": [{ "name": "a" }] }"#;
        let experiment: Experiment = serde_json::from_str(text).expect("well-formed");
        let seconds = |kind| params(kind, &[]).run_seconds(&experiment);
        assert_eq!(seconds("gups"), 25);
        assert_eq!(seconds("redis"), 20 + 2 * 5 + 45);
        assert_eq!(seconds("bloat"), 20 + 5 + 45);
        assert_eq!((seconds("promote"), seconds("demo")), (300, 10));
    }
}
