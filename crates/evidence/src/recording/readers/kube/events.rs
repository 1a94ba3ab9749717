//! Rows of events, and of pods in a list.

use super::super::kernel_log::killed_in;
use super::{container, duration_ms};
use crate::recording::readers::prelude::*;
use crate::recording::{Shortage, Subject};

/// Most kills of one row that are put down: the row says how many there were.
const KILLS_MAX: u64 = 100;

/// `(x7 over 30m)` behind an age: how often.
fn times(words: &[&str]) -> u64 {
    let times = words.first().and_then(|word| count(word.strip_prefix("(x")?));
    times.unwrap_or(1)
}

/// The head of one of the tables, with the words that its columns have.
pub(super) fn heads(line: &str) -> bool {
    let words = words(line);
    let has = |all: &[&str]| all.iter().all(|word| words.contains(word));
    has(&["Type", "Reason", "Age", "From", "Message"])
        || has(&["TYPE", "REASON", "MESSAGE"]) && has(&["SEEN"])
        || has(&["NAME", "READY", "STATUS", "RESTARTS"])
        || has(&["Type", "Status", "LastHeartbeatTime"])
}

/// Puts a row of events down: `Warning  SystemOOM  4m (x7 over 30m)  kubelet  System OOM ...` of
/// `node`, or `3m  Warning  OOMKilling  node/n1  ...`.
pub(super) fn event(line: &str, node: &str, out: &mut Builder) -> bool {
    let words = words(line);
    let kinds = ["Warning", "Normal"];
    let Some(at) = words.iter().take(3).position(|word| kinds.contains(word)) else { return false };
    let (Some(reason), rest) = (words.get(at + 1), words.get(at + 2..).unwrap_or_default()) else {
        return false;
    };
    if !reason.starts_with(|c: char| c.is_ascii_uppercase()) {
        return false;
    }
    // A table of all events has the age first, the object behind the reason.
    let listed = at > 0;
    let age = if listed { words.get(at - 1) } else { rest.first() };
    let age = age.and_then(|word| duration_ms(word));
    let behind = rest.get(1..).unwrap_or_default();
    let often = if listed { 1 } else { times(behind) };
    let object = if listed { rest.first().copied().unwrap_or(node) } else { node };
    let part = Subject::part(object, reason);
    out.put(Field::ClusterEvents, &part, None, often as f64);
    out.put_known(Field::ClusterEventAge, &part, None, age);
    let text = rest.join(" ");
    if let Some(kill) = kill(reason, &text) {
        for _ in 0..often.min(KILLS_MAX) {
            out.put(Field::ProcKilled, &kill, None, 1.0);
        }
        out.put_known(Field::ClusterEventAge, &kill, None, age);
    }
    true
}

/// The kill that an event tells of: the kubelet's, or the kernel's line.
fn kill(reason: &str, text: &str) -> Option<Subject> {
    let (scope, victim) = match reason {
        "SystemOOM" => {
            let victim = text.split_once("victim process: ").map(|(_, rest)| rest);
            let name = victim.and_then(|rest| rest.split(',').next()).map(str::to_owned);
            (Shortage::Machine, name)
        }
        "OOMKilling" => {
            let (scope, name) = killed_in(text)?;
            (scope, Some(name))
        }
        _ => return None,
    };
    Some(Subject::Kill { scope, limited: None, victim })
}

/// What `kubectl get pods` shows of pods in trouble, in the column of their state.
const TROUBLE: [&str; 2] = ["Evicted", "ContainerStatusUnknown"];

/// Puts a row of pods down: `shop  cart-6f  0/1  OOMKilled  14 (3m ago)  2h`.
pub(super) fn pod(line: &str, out: &mut Builder) -> bool {
    let words = words(line);
    let ready = |word: &&str| {
        word.split_once('/').is_some_and(|(up, of)| count(up).is_some() && count(of).is_some())
    };
    let Some(at) = words.iter().take(3).position(ready) else { return false };
    let (Some(name), Some(status)) = (words.get(at.wrapping_sub(1)), words.get(at + 1)) else {
        return false;
    };
    let restarts = words.get(at + 2).and_then(|word| count(word));
    let subject = Subject::Named((*name).to_owned());
    out.put_known(Field::Restarts, &subject, None, restarts.map(|restarts| restarts as f64));
    if TROUBLE.contains(status) {
        out.put(Field::ClusterEvents, &Subject::part(name, status), None, 1.0);
    }
    if *status == "OOMKilled" {
        let kill = container(name);
        out.put(Field::ProcKilled, &kill, None, 1.0);
        let ago = words.get(at + 3).and_then(|word| duration_ms(word.strip_prefix('(')?));
        out.put_known(Field::ClusterEventAge, &kill, None, ago);
    }
    true
}
