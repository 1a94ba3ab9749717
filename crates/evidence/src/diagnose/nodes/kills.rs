//! What the kernel killed for memory by logs and cluster tools, at whose limit, and what
//! that limit is raised with.

use super::age::{age_s, ago, is_old};
use super::prelude::*;
use crate::diagnose::remedy::{Reach, Remedy, When};
use crate::recording::Shortage;
use hugewise_base::count::{counted, times};
use std::collections::BTreeSet;

/// Kills of the same program at the same limit.
struct Kill {
    line: Line,
    scope: Shortage,
    limited: Option<String>,
    victim: Option<String>,
    limit: Option<f64>,
    size: Option<f64>,
    /// Seconds since the last of them; infinite where nobody says.
    age_s: f64,
}

/// Most names, and most limits, that are reported.
const TOLD_MAX: usize = 4;

/// The latest first.
fn kills(cx: &Context<'_>, field: Field) -> Vec<Kill> {
    let all = cx.lines(field, |subject| matches!(subject, Subject::Kill { .. }));
    let kill = |line: Line| {
        let Subject::Kill { scope, limited, victim } = line.subject.clone() else { return None };
        let most = |field| cx.peak(field, &line.subject).map(|seen| seen.value);
        let (limit, size) = (most(Field::OomLimit), most(Field::OomVictim));
        let age_s = age_s(cx, &line.subject).unwrap_or(f64::INFINITY);
        Some(Kill { line, scope, limited, victim, limit, size, age_s })
    };
    let mut all: Vec<Kill> = all.into_iter().filter_map(kill).collect();
    all.sort_by(|one, other| one.age_s.total_cmp(&other.age_s));
    all
}

/// What a cluster or systemd tells beside the kernel's log are the same kills again, unless they
/// were at another limit.
fn once(cx: &Context<'_>, mut all: Vec<Kill>) -> Vec<Kill> {
    let logged = |kill: &Kill| {
        let source = cx.recording.source(kill.line.source);
        source.is_some_and(|source| source.kind == SourceKind::KernelLog)
    };
    let limits: Vec<Option<f64>> = all.iter().filter(|k| logged(k)).map(|k| k.limit).collect();
    if !limits.is_empty() {
        let new = |kill: &Kill| kill.limit.is_some() && !limits.contains(&kill.limit);
        all.retain(|kill| logged(kill) || new(kill));
    }
    // The same victim where more is known: the kernel's words of it rather than the kubelet's.
    let (own, others): (Vec<Kill>, Vec<Kill>) = all.into_iter().partition(|kill| {
        let limits = [Shortage::Cgroup, Shortage::Container, Shortage::Daemon];
        let limit = limits.contains(&kill.scope);
        limit || kill.scope == Shortage::Machine && logged(kill)
    });
    let known = |kill: &Kill| own.iter().any(|other| other.victim == kill.victim);
    let rest: Vec<Kill> = others.into_iter().filter(|kill| !known(kill)).collect();
    own.into_iter().chain(rest).collect()
}

impl Kill {
    fn count(&self) -> usize {
        self.line.points.len()
    }

    /// Whose memory was used up.
    fn whose(&self, cx: &Context<'_>) -> String {
        let of = self.limit.map(|limit| format!(" of {}", write::bytes(limit)));
        let of = of.unwrap_or_default();
        match (self.scope, &self.limited) {
            (Shortage::Cgroup, Some(name)) => {
                format!("at the limit{of} of {name}, whatever the machine has left")
            }
            (Shortage::Cgroup, None) => format!(
                "at the limit{of} of a cgroup that these lines do not name, whatever the machine \
                 has left"
            ),
            (Shortage::Container, name) => {
                let name = name.as_deref().unwrap_or("its container");
                format!("at the limit{of} of {name}, whatever the machine has left")
            }
            (Shortage::Machine, _) if super::defaults::min_free(cx).is_yes() => {
                "at no cgroup's limit: the machine had no memory to give, and vm.min_free_kbytes \
                 keeps much of it free"
                    .to_owned()
            }
            (Shortage::Machine, _) if movable_only(cx).is_some() => {
                "at no cgroup's limit: the machine had no memory left that the request may use"
                    .to_owned()
            }
            (Shortage::Machine, _) => {
                "at no cgroup's limit: the machine's memory was used up".to_owned()
            }
            (Shortage::Nodes, _) => "because the NUMA nodes were full that a cpuset or a policy \
                                     of memory leaves to it, whatever others have"
                .to_owned(),
            (Shortage::Daemon, _) => "by a daemon's own rule, such as the memory pressure that \
                                       systemd-oomd allows: the kernel had memory left"
                .to_owned(),
            (Shortage::ByHand, _) => "because somebody asked for it (sysrq f)".to_owned(),
            (Shortage::Unknown, _) => "whose memory was used up, the machine's or a cgroup's, \
                                       these lines do not say"
                .to_owned(),
        }
    }

    fn named(&self) -> String {
        let name = self.victim.as_deref().unwrap_or("a program");
        let size = self.size.map(|size| format!(" ({} resident)", write::bytes(size)));
        format!("{name}{}", size.unwrap_or_default())
    }
}

/// That programs were killed, the latest first where that is known, and how often.
fn summary(cx: &Context<'_>, all: &[Kill]) -> Option<Evidence> {
    let first = all.first()?;
    let seen = cx.highest(&first.line)?;
    let mut names: Vec<String> = Vec::new();
    for name in all.iter().map(Kill::named) {
        if names.len() < TOLD_MAX && !names.contains(&name) {
            names.push(name);
        }
    }
    let killed: usize = all.iter().map(Kill::count).sum();
    let often = if killed > 1 { format!(", {killed} times") } else { String::new() };
    let lead = if killed > 1 { ", the last " } else { ", " };
    let when = ago(cx, &first.line.subject, lead);
    let source = cx.recording.source(seen.source);
    let logged = source.is_none_or(|source| source.kind == SourceKind::KernelLog);
    let text = match logged {
        true => format!(
            "the kernel's log says that it killed {} for memory{often}{when}",
            names.join(", ")
        ),
        false => format!("killed for memory: {}{often}{when}", names.join(", ")),
    };
    Some(cx.say(&seen, &text))
}

/// At whose limits, each said once.
fn limits(cx: &Context<'_>, all: &[Kill]) -> Vec<Evidence> {
    let mut told: Vec<(String, usize, Evidence)> = Vec::new();
    for kill in all {
        let Some(seen) = cx.highest(&kill.line) else { continue };
        let text = kill.whose(cx);
        match told.iter_mut().find(|(known, ..)| *known == text) {
            Some((_, count, _)) => *count += kill.count(),
            None => told.push((text.clone(), kill.count(), cx.say(&seen, &text))),
        }
    }
    let several = told.len() > 1;
    let more = told.len().saturating_sub(TOLD_MAX);
    let said = told.into_iter().take(TOLD_MAX).map(|(text, count, mut evidence)| {
        if several {
            evidence.text = format!("{} {text}", times(count));
        }
        evidence
    });
    let mut said: Vec<Evidence> = said.collect();
    if more > 0 {
        said.push(Evidence::derived(format!("{} more", counted(more, "limit", "limits"))));
    }
    said
}

fn restarts_of(count: f64) -> String {
    write::counted(count, "time", "times")
}

/// How often the container was started again, whatever ended it.
fn restarts(cx: &Context<'_>, all: &[Kill]) -> Vec<Evidence> {
    let restarted = |kill: &Kill| {
        let seen = cx.peak(Field::Restarts, &kill.line.subject)?;
        let name = kill.victim.as_deref().unwrap_or("its container");
        let text = format!("{name} was restarted {}", restarts_of(seen.value));
        Some(cx.say(&seen, &text))
    };
    all.iter().filter_map(restarted).take(TOLD_MAX).collect()
}

/// Who wanted the memory, where that is another program than the victim.
fn asked(cx: &Context<'_>, all: &[Kill]) -> Option<Evidence> {
    let lines = cx.lines(Field::OomAsked, |_| true);
    let victims: BTreeSet<&str> = all.iter().filter_map(|kill| kill.victim.as_deref()).collect();
    let other = |line: &&Line| line.subject.process_name().is_some_and(|n| !victims.contains(n));
    let others: Vec<&Line> = lines.iter().filter(other).collect();
    let first = cx.highest(others.first()?)?;
    let names: Vec<String> =
        others.iter().take(TOLD_MAX).map(|line| line.subject.to_string()).collect();
    Some(cx.say(&first, &format!("{} asked for the memory", names.join(", "))))
}

/// Free memory that was there when the kernel reported, where most of it is CMA: memory that only
/// what can be moved may use.
fn movable_only(cx: &Context<'_>) -> Option<Evidence> {
    let total = |field| {
        let lines = cx.lines(field, |_| true);
        sum(lines.iter().filter_map(|line| cx.highest(line)))
    };
    let (free, cma) = (total(Field::LogZoneFree)?, total(Field::LogZoneFreeCma)?);
    let kept = total(Field::LogZoneMin)?;
    let text = format!(
        "of {} that were free {} are CMA, which only movable memory may use: the rest is {}, the \
         watermark {}",
        write::bytes(free.value),
        write::bytes(cma.value),
        write::bytes(free.value - cma.value),
        write::bytes(kept.value)
    );
    let decisive = free.value > kept.value && free.value - cma.value <= kept.value;
    decisive.then(|| cx.say(&free, &text))
}

/// Who held the memory when the kernel reported, as far as the report says: the largest part of it
/// and the largest process.
fn holders(cx: &Context<'_>) -> Vec<Evidence> {
    const PARTS: [Field; 6] = [
        Field::LogAnon,
        Field::LogFileCache,
        Field::LogShmem,
        Field::LogSlabFixed,
        Field::LogPageTables,
        Field::LogHugetlb,
    ];
    let largest = most(PARTS.into_iter().filter_map(|field| cx.top(field)));
    let whole = cx.top(Field::LogMemory);
    let part = largest.map(|seen| {
        let of = whole.map_or_else(String::new, |all| format!(" of {}", write::bytes(all.value)));
        cx.say(
            &seen,
            &format!(
                "most of it was {}: {}{of}",
                seen.field.about().name,
                write::bytes(seen.value)
            ),
        )
    });
    let process = cx.top(Field::LogTaskRss).map(|seen| {
        cx.say(&seen, &format!("{} was the largest: {}", seen.subject, write::bytes(seen.value)))
    });
    part.into_iter().chain(process).collect()
}

/// The command that raises the limit of what was killed.
fn raise(cx: &Context<'_>, kill: &Kill) -> Option<String> {
    let name = kill.limited.as_deref()?;
    let unit =
        if kill.scope == Shortage::Container || name.contains("kubepods") { "Mi" } else { "M" };
    let more = kill.limit.map_or_else(|| "SIZE".to_owned(), |now| more_than(now, unit));
    let last = name.rsplit('/').next().unwrap_or(name);
    let source = cx.recording.source(kill.line.source).map(|source| source.kind);
    let by_systemd = [".service", ".slice", ".scope"].iter().any(|end| last.ends_with(end));
    let docker = ["docker", "libpod"].iter().find(|kind| name.contains(**kind));
    Some(if kill.scope == Shortage::Container && source == Some(SourceKind::Docker) {
        let more = more.trim_end_matches('i');
        format!("docker update --memory {more} --memory-swap {more} {name}")
    } else if kill.scope == Shortage::Container || name.contains("kubepods") {
        format!("kubectl set resources WORKLOAD -c CONTAINER --limits=memory={more}")
    } else if let Some(engine) = docker {
        let engine = if *engine == "libpod" { "podman" } else { "docker" };
        let id = last.trim_end_matches(".scope").rsplit('-').next().unwrap_or(last);
        format!("{engine} update --memory {more} --memory-swap {more} {id}")
    } else if by_systemd {
        format!("systemctl set-property --runtime {last} MemoryMax={more}")
    } else {
        format!("echo {more} > /sys/fs/cgroup/{}/memory.max", name.trim_start_matches('/'))
    })
}

fn mends(cx: &Context<'_>, kill: &Kill) -> Option<Remedy> {
    Some(Remedy {
        reach: Reach::Service,
        what: "raise the limit at which it was killed, or let the program need less",
        command: raise(cx, kill)?.into(),
        verify: "oom_kill in its memory.events stops growing",
        when: When::Always,
    })
}

/// Half as much again as a limit, in MiB.
fn more_than(limit: f64, unit: &str) -> String {
    let mib = (limit * 1.5 / f64::from(1 << 20)).ceil();
    format!("{mib:.0}{unit}")
}

/// Does a log, or a tool of a cluster, say so?
pub(super) fn told(cx: &Context<'_>) -> Answer {
    let all = once(cx, kills(cx, Field::ProcKilled));
    if let Some(summary) = summary(cx, &all) {
        let old = all.iter().all(|kill| is_old(cx, &kill.line.subject) == Some(true));
        let open = all.iter().any(|kill| {
            let unnamed = kill.scope == Shortage::Cgroup && kill.limited.is_none();
            kill.scope == Shortage::Unknown || unnamed
        });
        let own = [Shortage::Cgroup, Shortage::Container];
        let machine = all.iter().any(|kill| !own.contains(&kill.scope));
        let cma = movable_only(cx).filter(|_| machine);
        let missing: &[Missing] = if open { &[KERNEL_LOG] } else { &[] };
        let answer = Answer::yes(0.8, vec![summary]).and(limits(cx, &all)).and(cma);
        let answer =
            answer.and(restarts(cx, &all)).and(if machine { holders(cx) } else { Vec::new() });
        let answer = answer.and(asked(cx, &all)).lacking(missing).mild(old);
        let steps = all.iter().filter_map(|kill| mends(cx, kill)).take(TOLD_MAX).collect();
        return if machine { answer } else { answer.mended_by(steps) };
    }
    let calls = [Field::OomCalls, Field::OomNobody].map(|field| kills(cx, field)).into_iter();
    let calls: Vec<Kill> = calls.flatten().collect();
    let Some(seen) = calls.first().and_then(|call| cx.highest(&call.line)) else {
        return Answer::unknown(&[VMSTAT]);
    };
    let old = calls.iter().all(|call| is_old(cx, &call.line.subject) == Some(true));
    let text = match seen.field {
        Field::OomNobody => "memory was used up, and nobody was left whom the kernel could kill",
        _ => {
            "the kernel looked for somebody to kill for memory: whom it killed these lines do \
              not say"
        }
    };
    let when = ago(cx, &seen.subject, ", ");
    let answer = Answer::yes(0.8, vec![cx.say(&seen, &format!("{text}{when}"))]);
    answer.and(asked(cx, &[])).and(limits(cx, &calls)).lacking(&[KERNEL_LOG]).mild(old)
}
