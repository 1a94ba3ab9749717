//! Limits that programs run into: a cgroup's memory, ports, open files.

use super::age::is_old;
use super::prelude::*;
use crate::recording::readers::failures::FAILURES;
use crate::recording::readers::kernel_log::{LOG, Trouble, quoted};
use hugewise_base::count;
use std::collections::BTreeMap;

/// How full a cgroup's memory is, in a sentence.
fn filled(cx: &Context<'_>, cgroup: &Subject) -> Option<Evidence> {
    let used = cx.latest(Field::CgroupMemory, cgroup)?;
    let (limit, name) = match cx.latest(Field::CgroupMemoryMax, cgroup) {
        Some(limit) => (limit, "limit"),
        None => (cx.latest(Field::CgroupMemoryHigh, cgroup)?, "memory.high"),
    };
    let text = format!(
        "{cgroup}: {} of its {name} of {} in use",
        write::bytes(used.value),
        write::bytes(limit.value)
    );
    Some(cx.say(&used, &text))
}

/// Is a cgroup at its memory limit, so that its programs wait for memory?
pub(super) fn cgroup_memory(cx: &Context<'_>) -> Answer {
    let rate = [Field::CgroupMaxHits, Field::CgroupHighHits].map(|field| cx.top(field));
    let rate = most(rate.into_iter().flatten());
    let stalls = cx.top(Field::CgroupPsiMemory);
    let ever = [Field::CgroupMaxHitCount, Field::CgroupHighHitCount].map(|f| cx.top(f));
    let ever = most(ever.into_iter().flatten());
    let hit = rate.as_ref().filter(|seen| seen.value >= cx.limit(T::CgroupHits));
    let stalled = stalls.as_ref().filter(|seen| seen.value >= cx.limit(T::PsiHigh));
    let often = ever.as_ref().filter(|seen| seen.value >= cx.limit(T::CgroupHitsEver));
    let Some(first) = stalled.or(hit).or(often.filter(|_| rate.is_none() && stalls.is_none()))
    else {
        let seen = rate.or(stalls).or(ever);
        let Some(seen) = seen else { return Answer::unknown(&[CGROUP_MEMORY]) };
        return Answer::no(vec![cx.quote(&seen)]).if_close(seen.value > 0.0);
    };
    let others = [hit, stalled].into_iter().flatten();
    let others = others.filter(|seen| seen.field != first.field).map(|seen| cx.quote(seen));
    let refaults = cx.peak(Field::CgroupRefaults, &first.subject).filter(|seen| seen.value > 0.0);
    let refaults = refaults.map(|seen| cx.quote(&seen));
    let weight = stalled.map_or(0.5, |seen| (seen.value / 100.0).max(0.5));
    Answer::yes(weight, vec![cx.quote(first)])
        .and(others)
        .and(filled(cx, &first.subject))
        .and(refaults)
}

/// What `connect` chooses from unless set otherwise (ip-sysctl.rst).
const PORTS_DEFAULT: f64 = 28_232.0;

/// How many ports there are for connections to one peer; whether that is taken to be so.
fn ports(cx: &Context<'_>) -> (f64, bool) {
    let range = cx.setting("/proc/sys/net/ipv4/ip_local_port_range").and_then(|quote| {
        let mut ends = quote.text.split_whitespace().map(str::parse::<f64>);
        let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
        (high >= low).then_some(high - low + 1.0)
    });
    range.map_or((PORTS_DEFAULT, true), |range| (range, false))
}

/// The peer's service with most closed connections, as counted or listed.
fn closed(cx: &Context<'_>) -> Option<(String, f64, Option<Reading>)> {
    if let Some(seen) = cx.top(Field::PeerTimeWait)
        && let Subject::Flow { remote, .. } = &seen.subject
    {
        return Some((remote.clone(), seen.value, Some(seen.clone())));
    }
    let mut peers: BTreeMap<&str, f64> = BTreeMap::new();
    let waits = cx.host.sockets.iter().filter(|s| s.state == SocketState::TimeWait);
    for socket in waits {
        *peers.entry(socket.remote.as_str()).or_default() += 1.0;
    }
    let most = peers.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((most.0.to_owned(), most.1, None))
}

/// Judgement: a number of connections so near below the number of ports is no chance.
const PORTS_USED: f64 = 0.98;

/// Are the ports for connections to one peer used up?
pub(super) fn ports_used_up(cx: &Context<'_>) -> Answer {
    let failed = cx.top(Field::PortErrors);
    let log = Subject::part(FAILURES, Field::PortErrors.about().key);
    let old = failed.as_ref().and_then(|_| is_old(cx, &log));
    let times = cx.lines(Field::PortErrors, |_| true).iter().map(|l| l.points.len()).sum::<usize>();
    let failed = failed.map(|seen| {
        let text = format!(
            "a log says {} that a connection got no address: every port to that peer \
             is taken",
            count::times(times)
        );
        cx.say(&seen, &text)
    });
    let (all, assumed) = ports(cx);
    let limit = all * cx.limit(T::PortsNear) / 100.0;
    let peer = closed(cx);
    let total = cx.highest_of(Field::TcpTimeWait);
    let range = format!("of {} ports", write::number(all));
    let of_peer =
        peer.as_ref().filter(|(_, closed, _)| *closed >= limit).map(|(name, closed, seen)| {
            let text = format!(
                "{} closed connections to {name} still hold a port, {range}",
                write::number(*closed)
            );
            match seen {
                Some(seen) => cx.say(seen, &text),
                None => Evidence::derived(text),
            }
        });
    let many = total.as_ref().filter(|seen| seen.value >= limit).map(|seen| {
        let text = format!("{} closed connections in TIME-WAIT", write::number(seen.value));
        cx.say(seen, &text)
    });
    let supposed = assumed
        .then(|| Evidence::assumed("net.ipv4.ip_local_port_range is the default, 32768 to 60999"));
    if let Some(of_peer) = of_peer {
        return Answer::yes(0.7, vec![of_peer]).and(failed).and(many).and(supposed);
    }
    if let Some(failed) = failed {
        let certain = many.is_some() || times > 1;
        let answer = Answer::yes(0.6, vec![failed]).and(many).lacking(&[PORTS]);
        return answer.mild(old == Some(true) || !certain);
    }
    let Some(seen) = total else { return Answer::unknown(&[PORTS]) };
    // A server's closed connections share its one port: many of them are no harm there. As many
    // as there are ports, and no more, are of one that runs out of them.
    let exactly = (PORTS_USED..=1.0).contains(&(seen.value / all.max(1.0)));
    if exactly {
        let text = format!("{} closed connections in TIME-WAIT {range}", write::number(seen.value));
        let evidence = vec![cx.say(&seen, &text)];
        return Answer::yes(0.4, evidence).mild(true).and(supposed).lacking(&[PORTS]);
    }
    Answer::no(vec![cx.quote(&seen)]).if_close(seen.value >= limit)
}

/// Has a program, or the machine, as many files open as it may?
pub(super) fn open_files(cx: &Context<'_>) -> Answer {
    let near = cx.limit(T::TableFull) / 100.0;
    let failed = cx.top(Field::OpenFileErrors);
    let log = Subject::part(FAILURES, Field::OpenFileErrors.about().key);
    let lines = cx.lines(Field::OpenFileErrors, |_| true);
    let times: usize = lines.iter().map(|line| line.points.len()).sum();
    let old = is_old(cx, &log) == Some(true);
    let logged = failed.map(|seen| {
        cx.say(&seen, &format!("a log says {}: too many open files", count::times(times)))
    });
    let process = cx.lines(Field::OpenFiles, |_| true).into_iter().filter_map(|line| {
        let (open, most) =
            (cx.highest(&line)?, cx.latest(Field::OpenFilesMax, &line.subject)?.value);
        let text = format!(
            "{}: {} of {} files open",
            line.subject,
            write::number(open.value),
            write::number(most)
        );
        Some((cx.say(&open, &text), open.value >= most * near))
    });
    let process = process.reduce(|a, b| if b.1 { b } else { a });
    let machine = machine_files(cx);
    let full_log = cx
        .setting(&quoted(Trouble::FileMax))
        .map(|quote| cx.cite(quote, &format!("the kernel's log says: {}", quote.text)));
    let limit_old = is_old(cx, &Subject::part(LOG, Trouble::FileMax.key())) == Some(true);
    let full = process.as_ref().is_some_and(|(_, full)| *full)
        || machine.as_ref().is_some_and(|(_, full)| *full);
    let found = full || logged.is_some() || full_log.is_some();
    let (process, machine) = (process.map(|p| p.0), machine.map(|m| m.0));
    let mild = !full && (logged.is_none() || old) && (full_log.is_none() || limit_old);
    let evidence: Vec<Evidence> =
        logged.into_iter().chain(full_log).chain(process).chain(machine).collect();
    match (found, evidence.is_empty()) {
        (true, _) => Answer::yes(0.6, evidence).mild(mild),
        (false, false) => Answer::no(evidence),
        (false, true) => Answer::unknown(&[OPEN_FILES]),
    }
}

/// `/proc/sys/fs/file-nr`: open, free, most.
fn machine_files(cx: &Context<'_>) -> Option<(Evidence, bool)> {
    let quote = cx.setting("/proc/sys/fs/file-nr")?;
    let numbers: Vec<f64> =
        quote.text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [open, free, most] = numbers.as_slice() else { return None };
    // Without a limit it is what the kernel can count.
    let (open, limited) = (open - free, *most < 1e15);
    if !limited {
        let text = format!("the machine: {} files open, without a limit", write::number(open));
        return Some((cx.cite(quote, &text), false));
    }
    let text =
        format!("the machine: {} of {} files open", write::number(open), write::number(*most));
    Some((cx.cite(quote, &text), open >= most * cx.limit(T::TableFull) / 100.0))
}
