//! What a thread does, by its state and its frames.

use std::collections::VecDeque;

use super::known::{
    CONNECTS, FILES, IDLE, LIBRARIES, LOCK_CLASSES, POLLS, POOLS, REQUESTS, RESULTS, SERVER_READS,
    SERVICES, SOCKET_PARKS, SOCKET_READS, TASKS, is_of,
};
use super::line::{Object, Relation, State};
use super::name::method;

/// Frames that are remembered from the top of a stack, and from its bottom: deeper ones are a
/// framework's or a recursion's.
const TOP_MAX: usize = 128;
const BOTTOM_MAX: usize = 64;

/// How far below the top a method may stand in which a thread waits: between it and the system's
/// call lie the frames of locks and queues.
const NEAR: usize = 12;

/// How far below the top the client of a service may stand: drivers wrap sockets in several layers.
const CLIENT: usize = 40;

/// Objects that a thread holds which are remembered.
const HOLDS_MAX: usize = 64;

/// The lines of one thread.
#[derive(Debug, Default)]
pub(super) struct Stack {
    pub(super) state: Option<State>,
    top: Vec<String>,
    bottom: VecDeque<String>,
    /// What it waits for.
    waits: Option<(Relation, Object)>,
    pub(super) holds: Vec<Object>,
}

impl Stack {
    /// One of this state.
    pub(super) fn of(state: Option<State>) -> Self {
        Self { state, ..Self::default() }
    }

    pub(super) fn frame(&mut self, frame: &str) {
        if self.top.len() < TOP_MAX {
            self.top.push(frame.to_owned());
            return;
        }
        if self.bottom.len() >= BOTTOM_MAX {
            self.bottom.pop_front();
        }
        self.bottom.push_back(frame.to_owned());
    }

    pub(super) fn object(&mut self, relation: Relation, object: Object) {
        if relation != Relation::Holds {
            self.waits.get_or_insert((relation, object));
        } else if self.holds.len() < HOLDS_MAX {
            self.holds.push(object);
        }
    }

    fn frames(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.top.iter().chain(&self.bottom).map(String::as_str)
    }

    fn near(&self, all: &[&str], depth: usize) -> bool {
        self.top.iter().take(depth).any(|frame| is_of(frame, all))
    }

    fn has(&self, all: &[&str]) -> bool {
        self.frames().any(|frame| is_of(frame, all))
    }

    fn is_waiting(&self) -> bool {
        // Dumps without states, as JSON up to Java 24: by what stands on top.
        let parked = || self.near(&["java.lang.Object.wait", "jdk.internal.misc.Unsafe.park"], 1);
        match self.state {
            Some(state) => matches!(state, State::Waiting | State::TimedWaiting),
            None => parked() || self.near(&["java.lang.VirtualThread.park"], 4),
        }
    }

    /// What it waits for, without objects that it still holds.
    pub(super) fn released(&mut self) {
        // Who waits to be notified has given the monitor up, although its frames say `locked`; who
        // waits to enter it has it already only where the frames are those of the wait.
        if let Some((Relation::Notified | Relation::Enters, object)) = &self.waits {
            let address = object.address;
            self.holds.retain(|held| held.address.is_none() || held.address != address);
        }
    }

    /// The program's own method that stands highest.
    fn site(&self) -> Option<String> {
        let own = self.frames().find(|frame| !is_of(frame, &LIBRARIES));
        let plain = || self.frames().find(|frame| !is_of(frame, &["java.", "jdk.", "sun."]));
        own.or_else(plain).map(method)
    }
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Does {
    /// It has no work.
    Idle,
    /// It waits for connections, or for what comes on many of them.
    Polls,
    /// It waits until a pool has a connection for it.
    Borrows,
    /// It waits to enter a monitor, or for a lock of `java.util.concurrent`.
    Locked,
    /// It waits for a permit of a semaphore, or for a place or an item of a queue.
    Limited,
    /// It waits for what another program answers.
    Service,
    /// It waits for what another thread of its program finishes.
    Result,
    /// It waits otherwise.
    Waits,
    Sleeps,
    /// It reads or writes files.
    Files,
    /// It runs, or could.
    Runs,
}

/// What one thread does, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Activity {
    pub(super) does: Does,
    /// What it waits for, in words.
    pub(super) what: String,
    /// Where in the program's own code.
    pub(super) site: Option<String>,
    /// The lock that it waits for.
    pub(super) lock: Option<u64>,
    /// Whether it serves a request.
    pub(super) request: bool,
    /// Whether it is one of a limited number: virtual threads and goroutines are started as they
    /// are needed.
    pub(super) pooled: bool,
    /// The pools of whose connections it uses one, each a bit in the order of the runtime's list.
    pub(super) uses: u32,
}

impl Activity {
    /// As a verb: of one thread, or of several.
    pub(super) fn phrase(&self, one: bool) -> String {
        let what = &self.what;
        let verb =
            |singular: &'static str, plural: &'static str| if one { singular } else { plural };
        let waits = verb("waits for", "wait for");
        match self.does {
            Does::Idle | Does::Polls => verb("has no work", "have no work").to_owned(),
            Does::Borrows => format!("{waits} a connection of {what}"),
            Does::Locked => format!("{waits} a lock"),
            Does::Limited | Does::Service => format!("{waits} {what}"),
            Does::Result => format!("{waits} what other threads do"),
            Does::Waits => verb("waits", "wait").to_owned(),
            Does::Sleeps => verb("sleeps", "sleep").to_owned(),
            Does::Files => verb("reads or writes a file", "read or write files").to_owned(),
            Does::Runs => verb("runs", "run").to_owned(),
        }
    }

    /// The same with the place in the program's code.
    pub(super) fn told(&self) -> String {
        let at = self.site.as_ref().map_or_else(String::new, |site| format!(" in {site}"));
        format!("{}{at}", self.phrase(true))
    }
}

/// The pool for a connection of which it waits.
fn borrows(stack: &Stack) -> Option<&'static str> {
    if !stack.is_waiting() || stack.near(&CONNECTS, CLIENT) {
        return None;
    }
    let waits_in = |(name, borrows, own): (&'static str, &[&str], &str)| {
        let at = stack.top.iter().position(|frame| is_of(frame, borrows))?;
        let java = ["java.", "jdk.", "sun.", own];
        stack.top.iter().take(at).all(|frame| is_of(frame, &java)).then_some(name)
    };
    POOLS.iter().find_map(|pool| waits_in((pool.name, &pool.borrows, pool.own)))
}

/// The pools of whose connections it uses one.
fn uses(stack: &Stack) -> u32 {
    let mut bits = 0;
    let mut latest: (&[&str], bool) = (&[], false);
    for (bit, pool) in POOLS.iter().enumerate() {
        // Most pools are of connections to databases, and share one list.
        if latest.0 != pool.uses {
            latest = (&pool.uses, stack.has(&pool.uses));
        }
        if latest.1 {
            bits |= 1_u32 << bit;
        }
    }
    bits
}

/// The lock that it waits for: its class.
fn locked(stack: &Stack) -> Option<(String, Option<u64>)> {
    let bare = |class: &str| class.split('$').next().unwrap_or_default().to_owned();
    match (&stack.waits, stack.state) {
        // Java 11 says so of who waits to be notified, as well.
        (Some((Relation::Enters, _)), Some(State::Waiting | State::TimedWaiting)) => None,
        (Some((Relation::Enters, object)), _) => Some((object.class.clone(), object.address)),
        // Notified, and waiting for the monitor again.
        (Some((Relation::Notified, object)), Some(State::Blocked)) => {
            Some((object.class.clone(), object.address))
        }
        (_, Some(State::Blocked)) => Some(("a monitor".to_owned(), None)),
        (Some((Relation::Parked, object)), _) if is_of(&object.class, &LOCK_CLASSES) => {
            Some((bare(&object.class), object.address))
        }
        (Some((Relation::Parked, _)), _) => None,
        _ => {
            let frame = stack.top.iter().take(NEAR).find(|frame| is_of(frame, &LOCK_CLASSES))?;
            let class = frame.rsplit_once('.').map_or("", |(class, _)| class);
            stack.is_waiting().then(|| (bare(class), None))
        }
    }
}

/// The limited thing that it waits for, in words.
fn limited(stack: &Stack, task: bool, request: bool) -> Option<&'static str> {
    const SEMAPHORE: &str = "java.util.concurrent.Semaphore";
    if !stack.is_waiting() {
        return None;
    }
    let parked = matches!(&stack.waits, Some((_, object)) if object.class.starts_with(SEMAPHORE));
    if parked || stack.near(&[SEMAPHORE], NEAR) {
        return Some("a permit of a semaphore");
    }
    let ends = |names: &[&str]| {
        let near = stack.top.iter().take(NEAR);
        let mut queue = near.filter(|frame| {
            frame.starts_with("java.util.concurrent.")
                && (frame.contains("Queue.") || frame.contains("Deque."))
        });
        queue.any(|frame| names.iter().any(|name| frame.ends_with(name)))
    };
    if (task || request) && ends(&[".put", ".putFirst", ".putLast", ".offer", ".transfer"]) {
        return Some("room in a queue");
    }
    // Who takes from a queue within a request waits for something to be given back; elsewhere it
    // mostly waits for work.
    let takes = [".take", ".poll", ".takeFirst", ".takeLast", ".pollFirst", ".pollLast"];
    (request && ends(&takes)).then_some("an item of a queue")
}

/// The service for which it waits, in words; `None` within `Some` where it has no work: it reads
/// what somebody may send.
fn service(stack: &Stack, task: bool, request: bool) -> Option<Option<&'static str>> {
    let reads = stack.state.is_none_or(|state| state == State::Runnable)
        && stack.near(&SOCKET_READS, NEAR / 2);
    let reads = reads || (stack.is_waiting() && stack.near(&SOCKET_PARKS, NEAR));
    let client = stack
        .top
        .iter()
        .take(CLIENT)
        .find_map(|frame| SERVICES.iter().find(|[start, _]| frame.starts_with(start)));
    let asks = stack.is_waiting() && client.is_some();
    if !reads && !asks {
        return None;
    }
    let server = stack.near(&SERVER_READS, NEAR);
    if let Some([start, name]) = client.filter(|_| !server) {
        // A thread of the client itself, which reads whatever comes.
        let last = stack.frames().rev().find(|frame| !is_of(frame, &["java.", "jdk."]));
        let own = last.is_some_and(|frame| frame.starts_with(start));
        return Some((!own).then_some(*name));
    }
    let servlet =
        stack.has(&["javax.servlet.http.HttpServlet.", "jakarta.servlet.http.HttpServlet."]);
    match (server, task || request) {
        (true, _) => Some(servlet.then_some("its client")),
        (false, true) => Some(Some("what a socket brings")),
        (false, false) => Some(None),
    }
}

/// What a thread does, of which nothing else is known than whether it has work.
fn otherwise(stack: &Stack, task: bool, request: bool) -> Does {
    let at_work = task || request;
    let waiting = stack.is_waiting();
    if stack.near(&["java.lang.Thread.sleep", "java.lang.Thread.park"], 3) && waiting {
        return if at_work { Does::Sleeps } else { Does::Idle };
    }
    if waiting && stack.near(&RESULTS, NEAR) {
        return if at_work { Does::Result } else { Does::Idle };
    }
    if waiting {
        return if request { Does::Waits } else { Does::Idle };
    }
    if stack.near(&FILES, NEAR / 2) {
        return if at_work { Does::Files } else { Does::Idle };
    }
    Does::Runs
}

/// What a thread does.
pub(super) fn activity(stack: &Stack) -> Activity {
    let (request, task) = (stack.has(&REQUESTS), stack.has(&TASKS));
    let new = |does: Does, what: &str, lock: Option<u64>| {
        let what = what.to_owned();
        let pooled = !stack.has(&["java.lang.VirtualThread.run"]);
        Activity { does, what, site: stack.site(), lock, request, pooled, uses: 0 }
    };
    let mut found = if stack.top.is_empty() {
        new(Does::Idle, "", None)
    } else if let Some(pool) = borrows(stack) {
        new(Does::Borrows, pool, None)
    } else if stack.near(&POLLS, NEAR) {
        new(Does::Polls, "", None)
    } else if stack.near(&IDLE, NEAR) {
        new(Does::Idle, "", None)
    } else if let Some((class, address)) = locked(stack) {
        new(Does::Locked, &class, address)
    } else if let Some(what) = limited(stack, task, request) {
        new(Does::Limited, what, None)
    } else {
        match service(stack, task, request) {
            Some(Some(name)) => new(Does::Service, name, None),
            Some(None) => new(Does::Idle, "", None),
            None => new(otherwise(stack, task, request), "", None),
        }
    };
    let at_work = !matches!(found.does, Does::Idle | Does::Polls | Does::Borrows);
    if at_work && !stack.near(&CONNECTS, CLIENT) {
        found.uses = uses(stack);
    }
    found
}
