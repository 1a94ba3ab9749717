//! Dumps as JSON: `jcmd PID Thread.dump_to_file -format=json FILE`, the only one with all virtual
//! threads, of which Java 21 writes names and frames, Java 25 also states and locks
//! (`jdk.internal.vm.ThreadDumper`); and `/actuator/threaddump` of Spring Boot, a list of
//! `java.lang.management.ThreadInfo`.

use serde_json::Value;

use super::super::json;
use super::activity::Stack;
use super::dump::Dump;
use super::line::{First, Object, Relation, State, utc, without_module};
use crate::recording::{Builder, SourceKind};

/// Largest text that is read: 100,000 threads with 20 frames each have 200 MB.
const BYTES_MAX: usize = 256 << 20;

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// `java.util.concurrent.locks.ReentrantLock$NonfairSync@4f2410ac`: what `Objects.toIdentityString`
/// gives. The hash stands for the address.
fn object(text: &str) -> Object {
    let (class, hash) = text.rsplit_once('@').unwrap_or((text, ""));
    let class = class.chars().take(200).collect();
    Object { address: u64::from_str_radix(hash, 16).ok(), class }
}

/// What a thread waits for and holds, where the dump says it.
fn objects(thread: &Value, stack: &mut Stack) {
    // An object inside of which it stands, or its name.
    let parked = thread
        .get("parkBlocker")
        .and_then(|value| value.as_str().or_else(|| text(value, "object")));
    for (found, relation) in [
        (parked, Relation::Parked),
        (text(thread, "blockedOn"), Relation::Enters),
        (text(thread, "waitingOn"), Relation::Notified),
    ] {
        if let Some(found) = found {
            stack.object(relation, object(found));
        }
    }
    let frames = thread.get("monitorsOwned").and_then(Value::as_array);
    for frame in frames.into_iter().flatten() {
        let locks = frame.get("locks").and_then(Value::as_array);
        for lock in locks.into_iter().flatten().filter_map(Value::as_str) {
            stack.object(Relation::Holds, object(lock));
        }
    }
}

fn thread(value: &Value, dump: &mut Dump) {
    let mut stack = Stack::of(text(value, "state").and_then(State::new));
    let frames = value.get("stack").and_then(Value::as_array);
    for frame in frames.into_iter().flatten().filter_map(Value::as_str) {
        let whole = frame.split('(').next().unwrap_or_default();
        if let Some(frame) = without_module(whole) {
            stack.frame(frame);
        }
    }
    objects(value, &mut stack);
    let name = text(value, "name").filter(|name| !name.is_empty()).unwrap_or("virtual thread");
    dump.thread(&First { name, is_java: true, ..First::default() }, stack);
}

/// A lock of Spring Boot's list, which stands for itself or for what a thread waits for.
fn named(lock: &Value) -> Option<Object> {
    let class = text(lock, "className")?.chars().take(200).collect();
    let hash = lock.get("identityHashCode").and_then(Value::as_i64);
    // Java's hash is a number of 32 bits, with a sign in theory.
    Some(Object { address: hash.and_then(|hash| u64::try_from(hash).ok()), class })
}

/// One thread of Spring Boot's list.
fn of_actuator(value: &Value, dump: &mut Dump) {
    let state = text(value, "threadState").and_then(State::new);
    let mut stack = Stack::of(state);
    let list = |name: &str| value.get(name).and_then(Value::as_array).into_iter().flatten();
    for frame in list("stackTrace") {
        if let (Some(class), Some(method)) = (text(frame, "className"), text(frame, "methodName")) {
            stack.frame(&format!("{class}.{method}"));
        }
    }
    if let Some(object) = value.get("lockInfo").and_then(named) {
        let blocked = state == Some(State::Blocked);
        let waits =
            text(value, "lockName").is_some_and(|name| name.contains("java.util.concurrent"));
        let parked = if waits { Relation::Parked } else { Relation::Notified };
        stack.object(if blocked { Relation::Enters } else { parked }, object);
    }
    for lock in list("lockedMonitors").chain(list("lockedSynchronizers")) {
        if let Some(object) = named(lock) {
            stack.object(Relation::Holds, object);
        }
    }
    let name = text(value, "threadName").unwrap_or("a thread");
    dump.thread(&First { name, is_java: true, ..First::default() }, stack);
}

/// What `/actuator/threaddump` says; `false`, and nothing changed, where it is something else.
fn actuator(value: &Value, out: &mut Builder) -> bool {
    let Some(threads) = value.get("threads").and_then(Value::as_array) else { return false };
    let known = threads.first().is_some_and(|first| text(first, "threadState").is_some());
    if !known {
        return false;
    }
    out.resume(SourceKind::ThreadDump, 1);
    let mut dump = Dump::of_java(None);
    threads.iter().for_each(|thread| of_actuator(thread, &mut dump));
    dump.put(out, None);
    true
}

/// Reads a text that is such a dump; `false`, and nothing changed, where it is something else.
pub(in super::super) fn read(bytes: &[u8], out: &mut Builder) -> bool {
    let start = bytes.get(..bytes.len().min(200)).unwrap_or_default();
    let has = |word: &[u8]| start.windows(word.len()).any(|part| part == word);
    let likely = has(b"\"threadDump\"") || has(b"\"threads\"");
    if !likely || bytes.len() > BYTES_MAX {
        return false;
    }
    let Ok(value) = json::whole(bytes) else { return false };
    if actuator(&value, out) {
        return true;
    }
    let whole = value.get("threadDump");
    let containers = whole.and_then(|dump| dump.get("threadContainers")?.as_array());
    let Some((whole, containers)) = whole.zip(containers) else { return false };
    out.resume(SourceKind::ThreadDump, 1);
    let mut dump = Dump::of_java(text(whole, "time").and_then(utc));
    for container in containers {
        let threads = container.get("threads").and_then(Value::as_array);
        threads.into_iter().flatten().for_each(|value| thread(value, &mut dump));
    }
    // A number in Java 25, a text before.
    let pid =
        whole.get("processId").and_then(|pid| pid.as_u64().or_else(|| pid.as_str()?.parse().ok()));
    dump.put(out, pid.and_then(|pid| u32::try_from(pid).ok()));
    true
}
