//! One dump: its threads, by pool and by what they do, and who holds what others wait for.

use std::collections::{BTreeMap, BTreeSet};

use super::activity::{Activity, Does, Stack, activity};
use super::known::{GO_POOLS, POOLS, Pool};
use super::line::{First, State};
use super::name;
use crate::recording::{Builder, Field, Stamp, Subject};

/// Most threads of a dump that are distinguished: Java's virtual machine with its defaults has room
/// for some ten thousand.
const THREADS_MAX: usize = 100_000;

/// Most objects held whose holders are remembered.
const HELD_MAX: usize = 200_000;

/// Most pools, locks, and other groups of a dump that are reported: the largest.
const GROUPS_MAX: usize = 32;

/// Most threads whose stay in one place is watched from dump to dump.
const STAYS_MAX: usize = 256;

/// Most members of a deadlock that are named.
const MEMBERS_MAX: usize = 6;

/// Threads of the virtual machine that collect garbage, by the start of their name.
const COLLECTORS: [&str; 9] = [
    "GC Thread",
    "GC task thread",
    "Gang worker",
    "G1 ",
    "Concurrent Mark-Sweep GC Thread",
    "ParGC Thread",
    "ZWorker",
    "Shenandoah GC",
    "ZDriver",
];

/// One thread of Java.
struct Thread {
    shown: String,
    pool: usize,
    activity: Activity,
    /// Whether it has a stack: a compiler of the virtual machine has none.
    has_code: bool,
    cpu_ms: Option<f64>,
}

/// Threads of a pool: those that wait for work, that wait for what comes on connections, that work,
/// and that serve a request.
#[derive(Clone, Debug, Default)]
struct Counts {
    idle: usize,
    polls: usize,
    busy: usize,
    requests: usize,
}

impl Counts {
    /// Threads that could take work. In a pool of event loops those that poll can; where they are
    /// few beside many with work, as in Jetty's pool, they only accept and hand on.
    fn free(&self) -> usize {
        let loops = self.polls * 4 > self.busy;
        self.idle + if loops { self.polls } else { 0 }
    }
}

/// A dump that is being read.
#[derive(Default)]
pub(super) struct Dump {
    pub(super) at: Option<Stamp>,
    /// The runtime that printed it, and the pools of connections that it may have.
    kind: &'static str,
    known: &'static [Pool],
    /// What tells this process from another: an address of a thread that lives as long as it.
    identity: Option<u64>,
    threads: Vec<Thread>,
    left_out: usize,
    pools: BTreeMap<String, usize>,
    states: BTreeMap<State, usize>,
    held: BTreeMap<u64, usize>,
    elapsed_ms: Option<f64>,
    collectors_ms: Option<f64>,
    deadlocks: Vec<Vec<String>>,
}

impl Dump {
    /// One of Java, of this time.
    pub(super) fn of_java(at: Option<Stamp>) -> Self {
        Self { at, kind: "java", known: &POOLS, ..Self::default() }
    }

    /// One of Go, which prints no time.
    pub(super) fn of_go() -> Self {
        Self { kind: "go", known: &GO_POOLS, ..Self::default() }
    }

    /// Whether it has no thread yet.
    pub(super) fn is_empty(&self) -> bool {
        self.threads.is_empty() && self.identity.is_none() && self.collectors_ms.is_none()
    }

    /// A deadlock begins in the list of them.
    pub(super) fn deadlock(&mut self) {
        if self.deadlocks.len() < GROUPS_MAX {
            self.deadlocks.push(Vec::new());
        }
    }

    /// One of its threads.
    pub(super) fn member(&mut self, thread: &str) {
        let thread = name::shown(thread);
        if let Some(members) = self.deadlocks.last_mut()
            && members.len() <= MEMBERS_MAX
            && !members.contains(&thread)
        {
            members.push(thread);
        }
    }

    /// A thread whose lines are all read.
    pub(super) fn thread(&mut self, first: &First<'_>, mut stack: Stack) {
        if COLLECTORS.iter().any(|start| first.name.starts_with(start))
            && let Some(cpu_ms) = first.cpu_ms
        {
            self.collectors_ms = Some(self.collectors_ms.unwrap_or(0.0) + cpu_ms);
        }
        if first.name == "Reference Handler" {
            self.identity = first.tid;
        }
        if !first.is_java && stack.state.is_none() {
            return;
        }
        let elapsed = [self.elapsed_ms, first.elapsed_ms].into_iter().flatten().reduce(f64::max);
        self.elapsed_ms = elapsed;
        if let Some(state) = stack.state {
            *self.states.entry(state).or_default() += 1;
        }
        stack.released();
        let shown = name::shown(first.name);
        let pool = name::pool(first.name);
        let held = stack.holds.iter().filter_map(|object| object.address).collect();
        self.add((shown, pool), activity(&stack), held, first.cpu_ms);
    }

    /// A thread of this shown name and pool, which does this, and holds these objects.
    pub(super) fn add(
        &mut self,
        (shown, pool): (String, String),
        activity: Activity,
        held: Vec<u64>,
        cpu_ms: Option<f64>,
    ) {
        if self.threads.len() >= THREADS_MAX {
            self.left_out += 1;
            return;
        }
        let number = self.threads.len();
        let room = HELD_MAX.saturating_sub(self.held.len());
        self.held.extend(held.into_iter().take(room).map(|address| (address, number)));
        let next = self.pools.len();
        let pool = *self.pools.entry(pool).or_insert(next);
        let has_code = activity.site.is_some();
        self.threads.push(Thread { shown, pool, activity, has_code, cpu_ms });
    }

    /// Puts what was read, about the process of this name.
    pub(super) fn put(&self, out: &mut Builder, pid: Option<u32>) {
        if self.threads.is_empty() {
            return;
        }
        if self.left_out > 0 {
            out.cut(format!(
                "a thread dump with more than {THREADS_MAX} threads: {} are left out",
                self.left_out
            ));
        }
        let service = out.program(self.kind, self.identity, pid);
        let put = &mut Put { out, service: &service, at: self.at };
        self.totals(put);
        self.of_pools(put);
        self.waits(put);
        self.locks(put);
        self.users(put);
        for members in self.deadlocks.iter().filter(|members| members.len() > 1) {
            put.part(Field::ThreadsDeadlocked, &members.join(", "), members.len());
        }
    }

    fn totals(&self, put: &mut Put<'_>) {
        let busy = self.threads.iter().filter(|thread| thread.is_busy()).count();
        put.all(Field::Threads, self.threads.len());
        put.all(Field::ThreadsBusy, busy);
        for (state, count) in &self.states {
            put.part(Field::ThreadsInState, state.label(), *count);
        }
        // Compilers come and go, and take with them what they used.
        let own = self.threads.iter().filter(|thread| thread.has_code);
        let used: Vec<f64> = own.filter_map(|thread| thread.cpu_ms).collect();
        if let Some(elapsed_ms) = self.elapsed_ms.filter(|_| !used.is_empty()) {
            let whole = Subject::Service(put.service.to_owned());
            put.out.put(Field::ServerUptime, &whole, put.at, elapsed_ms);
            put.out.put(Field::ThreadsCpu, &whole, put.at, used.iter().sum());
            if let Some(collectors_ms) = self.collectors_ms {
                put.out.put(Field::CollectorsCpu, &whole, put.at, collectors_ms);
            }
        }
    }

    /// Threads by pool, those at work, those that serve requests, and what they do.
    fn of_pools(&self, put: &mut Put<'_>) {
        let mut counts = vec![Counts::default(); self.pools.len()];
        let mut doing: BTreeMap<(usize, String), usize> = BTreeMap::new();
        for thread in &self.threads {
            let Some(counts) = counts.get_mut(thread.pool) else { continue };
            let pooled = thread.activity.pooled;
            counts.idle += usize::from(pooled && thread.activity.does == Does::Idle);
            counts.polls += usize::from(thread.activity.does == Does::Polls);
            if thread.is_busy() {
                counts.busy += usize::from(pooled);
                counts.requests += usize::from(pooled && thread.activity.request);
                *doing.entry((thread.pool, thread.activity.phrase(false))).or_default() += 1;
            }
        }
        let named = self.pools.iter().filter_map(|(name, pool)| Some((name, counts.get(*pool)?)));
        let mut named: Vec<_> = named.filter(|(_, counts)| counts.idle + counts.busy > 1).collect();
        named.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.idle + counts.busy));
        for (pool, counts) in named.into_iter().take(GROUPS_MAX) {
            put.part(Field::PoolActive, pool, counts.busy);
            put.part(Field::PoolIdle, pool, counts.free());
            put.part(Field::PoolRequests, pool, counts.requests);
        }
        let names: BTreeMap<usize, &String> = self.pools.iter().map(|(n, p)| (*p, n)).collect();
        for ((pool, phrase), count) in largest(doing) {
            if let Some(name) = names.get(&pool) {
                put.group(Field::ThreadsDoing, name, &phrase, count);
            }
        }
    }

    /// What threads wait for, beside locks.
    fn waits(&self, put: &mut Put<'_>) {
        for (does, field) in [
            (Does::Borrows, Field::ThreadsBorrow),
            (Does::Limited, Field::ThreadsLimited),
            (Does::Service, Field::ThreadsRemote),
        ] {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for thread in self.threads.iter().filter(|thread| thread.activity.does == does) {
                // Who reads on behalf of nobody waits for what may never come.
                if does == Does::Service && !thread.activity.request {
                    continue;
                }
                let site = thread.activity.site.as_ref().filter(|_| does == Does::Limited);
                let site = site.map_or_else(String::new, |site| format!(" in {site}"));
                *counts.entry(format!("{}{site}", thread.activity.what)).or_default() += 1;
            }
            for (what, count) in largest(counts) {
                put.part(field, &what, count);
            }
        }
        let waits = |thread: &&Thread| thread.activity.does == Does::Service;
        let waits = self.threads.iter().filter(waits).filter(|thread| thread.activity.request);
        self.stays(put, waits.map(|thread| (thread, thread.activity.what.as_str())));
    }

    /// Locks that threads wait for, those with most of them first, and who holds them.
    fn locks(&self, put: &mut Put<'_>) {
        // Without an address a lock is known by its class and place.
        let mut locks: BTreeMap<(Option<u64>, String), usize> = BTreeMap::new();
        for activity in self.threads.iter().map(|thread| &thread.activity) {
            if activity.does == Does::Locked {
                let site = activity.site.as_deref();
                let site = site.map_or_else(String::new, |site| format!(" in {site}"));
                let known = activity.lock.is_some();
                let place = if known { String::new() } else { format!("{}{site}", activity.what) };
                *locks.entry((activity.lock, place)).or_default() += 1;
            }
        }
        let mut told: Vec<String> = Vec::new();
        for ((address, place), count) in largest(locks) {
            let label = address.map_or(place, |address| self.label(address));
            // Of two locks of one class the one with most waiters counts.
            if told.contains(&label) {
                continue;
            }
            put.part(Field::ThreadsLocked, &label, count);
            let holder = address.and_then(|address| self.held.get(&address));
            if let Some(holder) = holder.and_then(|number| self.threads.get(*number)) {
                put.group(Field::LockHolders, &label, &holder.activity.told(), count);
                self.stays(put, std::iter::once((holder, label.as_str())));
            }
            told.push(label);
        }
    }

    /// The class of a lock, and the place where most of its waiters wait.
    fn label(&self, address: u64) -> String {
        let mut sites: BTreeMap<&str, usize> = BTreeMap::new();
        let mut class = "";
        for thread in &self.threads {
            if thread.activity.does == Does::Locked && thread.activity.lock == Some(address) {
                class = &thread.activity.what;
                *sites.entry(thread.activity.site.as_deref().unwrap_or_default()).or_default() += 1;
            }
        }
        let most = sites.into_iter().max_by_key(|(_, count)| *count).map_or("", |(site, _)| site);
        let class = if class.is_empty() { "a lock" } else { class };
        if most.is_empty() { class.to_owned() } else { format!("{class} in {most}") }
    }

    /// Who uses connections of the pools that others wait for, and what those threads do.
    fn users(&self, put: &mut Put<'_>) {
        let borrowed = |name: &str| {
            let all = self.threads.iter().map(|thread| &thread.activity);
            all.filter(|a| a.does == Does::Borrows && a.what == name).count()
        };
        for (bit, pool) in self.known.iter().enumerate() {
            if borrowed(pool.name) == 0 {
                continue;
            }
            let uses = |thread: &&Thread| thread.activity.uses & (1 << bit) != 0;
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for thread in self.threads.iter().filter(uses) {
                *counts.entry(thread.activity.told()).or_default() += 1;
            }
            for (told, count) in largest(counts) {
                put.group(Field::ConnectionUsers, pool.name, &told, count);
            }
            let users = self.threads.iter().filter(uses);
            self.stays(put, users.map(|thread| (thread, pool.name)));
        }
    }

    /// The CPU time of threads that may be in the same place at the next dump.
    fn stays<'a>(&self, put: &mut Put<'_>, all: impl Iterator<Item = (&'a Thread, &'a str)>) {
        // Who has no name of its own cannot be known again.
        let mut told: BTreeSet<&str> = BTreeSet::new();
        for (thread, place) in all.take(STAYS_MAX).filter(|(thread, _)| told.insert(&thread.shown))
        {
            let service = put.service.to_owned();
            let (group, what) = (place.to_owned(), thread.shown.clone());
            let subject = Subject::Threads { service, group, what };
            put.out.put(Field::ThreadStays, &subject, put.at, thread.cpu_ms.unwrap_or(0.0));
        }
    }
}

impl Thread {
    fn is_busy(&self) -> bool {
        !matches!(self.activity.does, Does::Idle | Does::Polls)
    }
}

/// The largest counts first, no more than are reported.
fn largest<K: Ord>(counts: BTreeMap<K, usize>) -> Vec<(K, usize)> {
    let mut all: Vec<(K, usize)> = counts.into_iter().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all.truncate(GROUPS_MAX);
    all
}

/// Where values of one dump go.
struct Put<'a> {
    out: &'a mut Builder,
    service: &'a str,
    at: Option<Stamp>,
}

impl Put<'_> {
    fn value(&mut self, field: Field, subject: &Subject, count: usize) {
        #[expect(clippy::cast_precision_loss, reason = "numbers of threads")]
        self.out.put(field, subject, self.at, count as f64);
    }

    fn all(&mut self, field: Field, count: usize) {
        self.value(field, &Subject::Service(self.service.to_owned()), count);
    }

    fn part(&mut self, field: Field, name: &str, count: usize) {
        self.value(field, &Subject::part(self.service, name), count);
    }

    fn group(&mut self, field: Field, group: &str, what: &str, count: usize) {
        let (service, group, what) = (self.service.to_owned(), group.to_owned(), what.to_owned());
        self.value(field, &Subject::Threads { service, group, what }, count);
    }
}
