//! What the kernel refuses to programs: memory that may not be committed, tasks and mappings beyond
//! a limit, space on a full file system.

use super::age::is_old;
use super::prelude::*;
use crate::recording::readers::failures::FAILURES;

const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

/// What logs say of one kind of failure, and whether that is over.
fn logged(cx: &Context<'_>, field: Field, what: &str) -> Option<(Evidence, bool)> {
    let line = cx.line(field, &Subject::part(FAILURES, field.about().key))?;
    let seen = cx.highest(&line)?;
    let lines = match line.points.len() {
        1 => "a line".to_owned(),
        many => format!("{many} lines"),
    };
    let old = is_old(cx, &line.subject) == Some(true);
    Some((cx.say(&seen, &format!("{lines} of a program: {what}")), old))
}

/// That a program found no space left on a device, and whether that is over.
fn no_space(cx: &Context<'_>) -> Option<(Evidence, bool)> {
    logged(cx, Field::NoSpace, "no space was left on a device")
}

/// Is a file system full?
pub(super) fn full(cx: &Context<'_>) -> Answer {
    filled(cx).and(deleted(cx))
}

/// The process that keeps most deleted files open, if they are large.
fn deleted(cx: &Context<'_>) -> Option<Evidence> {
    const LARGE_BYTES: f64 = 1_073_741_824.0;
    let most = cx.top(Field::ProcDeleted).filter(|most| most.value >= LARGE_BYTES)?;
    let bytes = write::bytes(most.value);
    let text = format!("{} keeps {bytes} of deleted files: free when it closes them", most.subject);
    Some(cx.say(&most, &text))
}

/// By how full file systems are, and by the errors that programs got.
fn filled(cx: &Context<'_>) -> Answer {
    let lines = [Field::FsUsed, Field::FsInodes].into_iter();
    let lines = lines.flat_map(|field| cx.lines(field, |_| true));
    let top = most(lines.filter_map(|line| cx.latest(line.field, &line.subject)));
    let refused = no_space(cx);
    let Some(seen) = &top else {
        return match refused {
            Some((evidence, old)) => {
                Answer::yes(0.5, vec![evidence]).mild(old).lacking(&[FILESYSTEMS])
            }
            None => cx.judged(top, T::FsFull, 0.4, FILESYSTEMS),
        };
    };
    match refused {
        // What was full is so in a way that the listing does not show.
        Some((evidence, _)) if seen.value < cx.limit(T::FsFull) => {
            let text = "the file systems that are listed have room: look at their inodes, at \
                        quotas, and at what btrfs or ZFS has allocated";
            Answer::yes(0.3, vec![evidence, cx.say(seen, text)]).mild(true)
        }
        _ => cx.judged(top, T::FsFull, 0.4, FILESYSTEMS),
    }
}

fn number(cx: &Context<'_>, setting: &str) -> Option<f64> {
    cx.setting(setting)?.text.trim().parse().ok()
}

/// Does the kernel refuse memory because too much is promised already?
pub(super) fn commit(cx: &Context<'_>) -> Answer {
    let promised = cx.highest_of(Field::Committed).zip(cx.state(Field::CommitLimit));
    let strict = cx.setting(OVERCOMMIT).map(|quote| (quote, quote.text.trim() == "2"));
    let failed = logged(cx, Field::MemoryErrors, "it got no memory");
    let Some((promised, limit)) = promised else { return Answer::unknown(&[COMMIT]) };
    let text = format!(
        "{} are promised to programs, of {} that may be",
        write::bytes(promised.value),
        write::bytes(limit.value)
    );
    let evidence = vec![cx.say(&promised, &text)];
    let full = promised.value >= limit.value * cx.limit(T::TableFull) / 100.0;
    let setting = |text| strict.map(|(quote, _)| cx.cite(quote, text));
    match strict {
        Some((_, true)) if full => {
            let hard = "vm.overcommit_memory is 2: beyond the limit nothing is promised, whatever \
                        is free";
            Answer::yes(0.6, evidence).and(setting(hard)).and(failed.map(|(evidence, _)| evidence))
        }
        Some((_, true)) => Answer::no(evidence),
        Some((_, false)) => {
            Answer::no(evidence).and(setting("vm.overcommit_memory is not 2: it is no hard limit"))
        }
        None if full => Answer::unknown(&[COMMIT]).and(evidence),
        None => Answer::no(evidence),
    }
}

/// By what a log says, with whether that is over, and by a count, with whether it is at its limit.
fn judged(
    failed: Option<(Evidence, bool)>,
    counted: Option<(Evidence, bool)>,
    missing: Missing,
) -> Answer {
    let full = counted.as_ref().is_some_and(|(_, full)| *full);
    let counted = counted.map(|(evidence, _)| evidence);
    match (failed, counted) {
        (Some((evidence, old)), counted) => {
            Answer::yes(0.7, vec![evidence]).and(counted).mild(old && !full)
        }
        (None, Some(evidence)) if full => Answer::yes(0.6, vec![evidence]),
        (None, Some(evidence)) => Answer::no(vec![evidence]),
        (None, None) => Answer::unknown(&[missing]),
    }
}

/// Can no more tasks be started?
pub(super) fn tasks(cx: &Context<'_>) -> Answer {
    let failed = logged(cx, Field::TaskErrors, "no task could be started, for a limit");
    let limits = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"];
    let known = limits.iter().filter_map(|path| Some((*path, number(cx, path)?)));
    let lowest = least_by(known, |(_, limit)| *limit);
    let tasks = cx.highest_of(Field::Tasks);
    let counted = tasks.as_ref().zip(lowest).map(|(tasks, (path, limit))| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let text = format!(
            "{} tasks of {} that kernel.{name} allows",
            write::number(tasks.value),
            write::number(limit)
        );
        let full = tasks.value >= limit * cx.limit(T::TableFull) / 100.0;
        (cx.say(tasks, &text), full)
    });
    judged(failed, counted, TASK_LIMITS)
}

/// Has a program as many mappings as it may?
pub(super) fn maps(cx: &Context<'_>) -> Answer {
    const LIMIT: &str = "/proc/sys/vm/max_map_count";
    /// The kernel's own limit (`DEFAULT_MAX_MAP_COUNT` in `include/linux/mm.h`).
    const DEFAULT: f64 = 65_530.0;
    let failed = logged(cx, Field::MapErrors, "it got no further mapping");
    let limit = number(cx, LIMIT);
    let most = cx.top(Field::Maps);
    let counted = most.map(|most| {
        let of = limit.unwrap_or(DEFAULT);
        let text = format!(
            "{} has {} mappings of {} that vm.max_map_count allows",
            most.subject,
            write::number(most.value),
            write::number(of)
        );
        let full = most.value >= of * cx.limit(T::TableFull) / 100.0;
        (cx.say(&most, &text), full)
    });
    judged(failed, counted, MAPS)
}
