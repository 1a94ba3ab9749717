//! What Redis and Valkey say of themselves.

use super::defaults::thp_always;
use super::prelude::*;
use super::servers::{self, any, name, parts, setting, state, worst};
use hugewise_base::count::counted;
use hugewise_base::size::Size;

const KIND: &str = "redis";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const GIB: f64 = 1_073_741_824.0;

/// Does one of them say that it suffers?
pub(super) fn any_of(cx: &Context<'_>) -> Answer {
    let tests = [
        command(cx),
        slow_log(cx),
        full(cx),
        fork(cx),
        copied(cx),
        evictions(cx),
        resident(cx),
        fsync(cx),
    ];
    any(&tests, REDIS)
}

/// One command against all of a server.
struct Top {
    seen: Reading,
    share: f64,
}

/// The command with the most of a quantity.
fn top(cx: &Context<'_>, field: Field, server: &str) -> Option<Top> {
    let lines = parts(cx, field, server);
    let values: Vec<Reading> =
        lines.iter().filter_map(|line| cx.latest(field, &line.subject)).collect();
    let sum: f64 = values.iter().map(|seen| seen.value).sum();
    let seen = most(values)?;
    let share = if sum > 0.0 { seen.value / sum * 100.0 } else { 0.0 };
    Some(Top { seen, share })
}

/// The server's process where it takes all of a CPU, as the machine shows it.
fn process(cx: &Context<'_>) -> Option<Reading> {
    let own = |subject: &Subject| {
        let name = subject.process_name().unwrap_or_default();
        name.starts_with("redis-server") || name.starts_with("valkey-server")
    };
    let lines = [Field::ThreadCpu, Field::ProcCpu].into_iter().flat_map(|f| cx.lines(f, own));
    let means = lines.filter_map(|line| cx.mean(&line));
    most(means.filter(|seen| seen.value >= cx.limit(T::ThreadFull)))
}

/// Time of a call, in milliseconds, by the counts since the server's start.
fn of_call(cx: &Context<'_>, part: &Subject) -> Option<(f64, f64)> {
    let time = cx.latest(Field::CommandTime, part)?.value;
    let calls = cx.latest(Field::CommandCalls, part)?.value;
    (calls > 0.0).then(|| (time / calls, calls))
}

fn percent(value: f64) -> String {
    write::value(Unit::Percent, value)
}

/// Does one kind of command, slow by itself, take most of a server's time?
pub(super) fn command(cx: &Context<'_>) -> Answer {
    worst(cx, KIND, &[Field::CommandTime], REDIS, |server| one_command(cx, server))
}

fn one_command(cx: &Context<'_>, server: &str) -> Option<Answer> {
    let now = top(cx, Field::CommandBusy, server);
    let rate = now.is_some();
    let Top { seen, share } = now.or_else(|| top(cx, Field::CommandTime, server))?;
    let (call_ms, calls) = of_call(cx, &seen.subject)?;
    let what = name(&seen.subject);
    let each = format!("{what} took {} a call", write::milliseconds(call_ms));
    let each = format!("{each}, over {}", write::counted(calls, "call", "calls"));
    let uptime = state(cx, Field::ServerUptime, server).filter(|up| up.value > 0.0);
    let mean = uptime.map(|up| seen.value / up.value * 100.0).filter(|_| !rate);
    let of_all = format!("{} of the time in all commands", percent(share));
    let process = process(cx);
    let (first, busy) = match (rate, mean) {
        (true, _) => {
            let text = format!("{server}: {what} takes {} of its one thread", percent(seen.value));
            (cx.say(&seen, &format!("{text}: {of_all}")), Some(seen.value))
        }
        (false, Some(mean)) => {
            let text = format!("{server}: {what} took {} of its one thread", percent(mean));
            let mut evidence = cx.say(&seen, &format!("{text} since its start: {of_all}"));
            // It is a mean over all that time, not a count of long ago.
            if mean >= cx.limit(T::CommandBusy) {
                (evidence.field, evidence.value) = (None, None);
            }
            (evidence, Some(mean))
        }
        (false, None) => (cx.say(&seen, &format!("{server}: {what} took {of_all}")), None),
    };
    let slow = call_ms >= cx.limit(T::CommandLong) && share >= cx.limit(T::CommandShare);
    let unknown = busy.is_none();
    let enough = busy.is_none_or(|busy| busy >= cx.limit(T::CommandBusy));
    // Who takes a whole CPU now explains itself by what it mostly did.
    let explained = process.filter(|_| !rate);
    let mut evidence = vec![first, Evidence::derived(each)];
    if !slow || !(enough || explained.is_some()) {
        return Some(Answer::no(evidence));
    }
    if let Some(process) = &explained {
        evidence.insert(0, cx.quote(process));
    } else if unknown {
        let text = "how long it has counted is not in these sources";
        evidence.push(Evidence::assumed(text));
    }
    evidence.push(Evidence::derived("one thread serves all clients: the others wait as long"));
    Some(Answer::yes(busy.unwrap_or(share).max(share / 2.0) / 100.0, evidence))
}

/// Does the slow log show calls that stop the server for long?
pub(super) fn slow_log(cx: &Context<'_>) -> Answer {
    let fields = [Field::CommandSlow, Field::LatencyEvent];
    worst(cx, KIND, &fields, REDIS_SLOW_LOG, |server| {
        let calls = parts(cx, Field::CommandSlow, server);
        let events = parts(cx, Field::LatencyEvent, server);
        let commands = events.into_iter().filter(|line| name(&line.subject) == "command");
        let lines: Vec<Line> = calls.into_iter().chain(commands).collect();
        let limit = cx.limit(T::SlowCommand);
        let long = |line: &Line| line.points.iter().filter(|p| p.value >= limit).count();
        let most = lines.iter().max_by_key(|line| long(line))?;
        let worst = cx.highest(most)?;
        let count = long(most);
        let calls = match name(&most.subject) {
            "command" => counted(count, "command", "commands"),
            name => format!("{} of {name}", counted(count, "call", "calls")),
        };
        let text = format!(
            "{server}: {calls} took {} or more, the longest {}",
            write::milliseconds(limit),
            write::milliseconds(worst.value)
        );
        let evidence = vec![cx.say(&worst, &text)];
        let many = count as f64 >= cx.limit(T::SlowCommands);
        Some(Answer::when(many, 0.5, evidence))
    })
}

/// Commands that write to new memory.
const WRITES: [&str; 12] = [
    "SET", "SETEX", "MSET", "GETSET", "APPEND", "HSET", "HMSET", "LPUSH", "RPUSH", "SADD", "ZADD",
    "XADD",
];

/// From this share on, percent, the kernel has more of a server's CPU time than its own code.
const MOST_PERCENT: f64 = 50.0;

/// The CPU of a server, and the share of it that was in the kernel, percent: now, or since its
/// start.
fn cpu_in_kernel(cx: &Context<'_>, server: &str) -> Option<(Reading, f64)> {
    let of = |all, kernel| Some((state(cx, all, server)?, state(cx, kernel, server)?.value));
    let now = of(Field::ServerCpu, Field::ServerSystem);
    let (all, kernel) = now.or_else(|| of(Field::ServerCpuTime, Field::ServerSystemTime))?;
    let share = kernel / all.value * 100.0;
    (all.value > 0.0).then_some((all, share))
}

/// That the kernel has most of a server's CPU time.
fn in_kernel(cx: &Context<'_>, server: &str) -> Option<Evidence> {
    let (_, share) = cpu_in_kernel(cx, server)?;
    let text = format!("{} of that is in the kernel: more than in its own code", percent(share));
    (share > MOST_PERCENT).then(|| Evidence::derived(text))
}

/// What each server does, whether it suffers or not: its CPU, and the commands that have most of
/// its time.
pub(in crate::diagnose) fn doing(cx: &Context<'_>) -> Vec<Evidence> {
    const COMMANDS_MAX: usize = 3;
    let line = |server: &String| {
        let (cpu, share) = cpu_in_kernel(cx, server)?;
        let used = match cpu.field {
            Field::ServerCpu => format!("{} of one CPU", percent(cpu.value)),
            _ => format!("{} of CPU time since its start", write::milliseconds(cpu.value)),
        };
        let now = parts(cx, Field::CommandBusy, server);
        let lines = if now.is_empty() { parts(cx, Field::CommandTime, server) } else { now };
        let mut all: Vec<Reading> =
            lines.iter().filter_map(|line| cx.latest(line.field, &line.subject)).collect();
        let sum: f64 = all.iter().map(|seen| seen.value).sum();
        all.sort_by(|a, b| b.value.total_cmp(&a.value));
        let most = all.iter().take(COMMANDS_MAX).filter(|seen| seen.value > 0.0);
        let most = most
            .map(|seen| format!("{} {}", name(&seen.subject), percent(seen.value / sum * 100.0)));
        let most: Vec<String> = most.collect();
        let commands = match most.is_empty() {
            true => String::new(),
            false => format!("; of its commands' time {}", most.join(", ")),
        };
        let text = format!("{server}: {used}, {} of it in the kernel{commands}", percent(share));
        Some(cx.say(&cpu, &text))
    };
    servers::all(cx, KIND, &[Field::ServerCpuTime]).iter().filter_map(line).collect()
}

/// Is a server's one thread full?
pub(super) fn full(cx: &Context<'_>) -> Answer {
    let fields = [Field::ServerCpu, Field::ServerCpuTime];
    worst(cx, KIND, &fields, REDIS, |server| {
        let limit = cx.limit(T::ServerFull);
        let most = top(cx, Field::CommandBusy, server)
            .or_else(|| top(cx, Field::CommandTime, server))
            .filter(|top| top.seen.value > 0.0);
        let write = most.as_ref().is_some_and(|top| WRITES.contains(&name(&top.seen.subject)));
        let most = most.map(|top| {
            let text = format!(
                "{} of its commands' time is {}",
                percent(top.share),
                name(&top.seen.subject)
            );
            cx.say(&top.seen, &text)
        });
        let size = Size(cx.host.geometry().huge.0);
        let huge = setting(cx, THP, &format!(": a write to new memory clears {size} first"));
        let huge = huge.filter(|_| write && thp_always(cx).is_yes());
        if let Some(cpu) = state(cx, Field::ServerCpu, server) {
            let text = format!("{server} used {} of one CPU", percent(cpu.value));
            let evidence = vec![cx.say(&cpu, &text)];
            return Some(
                Answer::when(cpu.value >= limit, cpu.value / 100.0, evidence)
                    .backed(in_kernel(cx, server))
                    .backed(most)
                    .backed(huge)
                    .or_close(cx.is_close(cpu.value, limit)),
            );
        }
        let (used, up) = (
            state(cx, Field::ServerCpuTime, server)?,
            state(cx, Field::ServerUptime, server).filter(|up| up.value > 0.0)?,
        );
        let mean = used.value / up.value * 100.0;
        let text = format!("{server} used {} of one CPU since its start", percent(mean));
        let mut evidence = cx.say(&used, &text);
        (evidence.field, evidence.value) = (None, None);
        Some(if mean >= limit {
            Answer::yes(mean / 100.0, vec![evidence]).and(most).and(huge)
        } else {
            // What it does now may be more.
            Answer::no(vec![evidence]).if_close(true)
        })
    })
}

/// Does the server stand still while it forks?
pub(super) fn fork(cx: &Context<'_>) -> Answer {
    let fields = [Field::ForkTime, Field::LatencyEvent];
    worst(cx, KIND, &fields, REDIS, |server| {
        let measured = parts(cx, Field::LatencyEvent, server);
        let measured = measured.iter().filter(|line| name(&line.subject) == "fork");
        let measured = measured.filter_map(|line| cx.highest(line)).next();
        let seen = state(cx, Field::ForkTime, server).or(measured)?;
        let data = state(cx, Field::DataSize, server).map(|data| data.value / GIB);
        let of_gib = data.filter(|gib| *gib > 0.0).map(|gib| seen.value / gib);
        let text = format!("{server}: the latest fork took {}", write::milliseconds(seen.value));
        let text = match (of_gib, data) {
            (Some(each), Some(gib)) if gib >= 1.0 => {
                format!(
                    "{text}, {} for each of {} GiB",
                    write::milliseconds(each),
                    write::number(gib)
                )
            }
            _ => text,
        };
        // The longest that the server has seen stopped its clients as well.
        let worst = parts(cx, Field::LatencyWorst, server);
        let worst = worst.iter().filter(|line| name(&line.subject) == "fork");
        let worst = worst.filter_map(|line| cx.highest(line)).next();
        let longest = worst.map_or(seen.value, |worst| worst.value.max(seen.value));
        let text = match longest > seen.value {
            true => format!("{text}; the longest took {}", write::milliseconds(longest)),
            false => text,
        };
        let evidence = vec![cx.say(&seen, &text)];
        let slow = of_gib.is_some_and(|each| each >= cx.limit(T::ForkSlow));
        let felt = seen.value >= cx.limit(T::ForkFelt);
        // In huge pages each write after the fork copies a whole one as well.
        let huge = cx.top(Field::HugeFound);
        if longest < cx.limit(T::ForkHigh) && !(felt && (slow || huge.is_some())) {
            return Some(Answer::no(evidence));
        }
        let page = Size(cx.host.geometry().base.0);
        let text = format!(": a fork copies 8 bytes of page tables for each {page}");
        let small = setting(cx, THP, &text);
        let small = small.filter(|_| !thp_always(cx).is_yes());
        let follows = Evidence::derived("until the fork is done no client is served");
        Some(
            Answer::yes((seen.value / 5000.0).min(0.6), evidence)
                .and(small)
                .and(huge.map(|seen| cx.quote(&seen)))
                .and([follows]),
        )
    })
}

/// Is most of the data copied while the server saves?
pub(super) fn copied(cx: &Context<'_>) -> Answer {
    worst(cx, KIND, &[Field::CowSize], REDIS, |server| {
        let copied = state(cx, Field::CowSize, server)?;
        let data = state(cx, Field::DataSize, server).filter(|data| data.value > 0.0)?;
        let share = copied.value / data.value * 100.0;
        let text = format!(
            "{server}: {} were copied while it last saved, {} of its {}",
            write::bytes(copied.value),
            percent(share),
            write::bytes(data.value)
        );
        let evidence = vec![cx.say(&copied, &text)];
        let large = data.value >= cx.limit(T::DataLarge);
        if !large || share < cx.limit(T::CowHigh) {
            return Some(Answer::no(evidence));
        }
        let huge = setting(
            cx,
            THP,
            ": before Linux 5.8 one byte written copies a whole huge page, unless Redis switched \
             them off (disable-thp, 6.2 and later)",
        );
        let huge = huge.filter(|_| thp_always(cx).is_yes());
        Some(Answer::yes((share / 100.0).min(0.8), evidence).and(huge))
    })
}

/// Does it evict what is asked for again, or refuse to write?
pub(super) fn evictions(cx: &Context<'_>) -> Answer {
    let fields = [Field::EvictedCount, Field::RefusedWriteCount];
    worst(cx, KIND, &fields, REDIS, |server| {
        let rate = state(cx, Field::Evictions, server);
        let evicted = rate.or_else(|| state(cx, Field::EvictedCount, server));
        let refused = state(cx, Field::RefusedWriteCount, server);
        let refused = refused.filter(|refused| refused.value > 0.0);
        let first = refused.as_ref().or(evicted.as_ref())?;
        let mut evidence = vec![cx.quote(first)];
        let full = full_of(cx, server);
        let near = full.as_ref().is_some_and(|(_, near)| *near);
        evidence.extend(full.map(|(evidence, _)| evidence));
        let hits = hits(cx, server);
        let low = hits.as_ref().is_some_and(|(share, _)| *share < cx.limit(T::CacheHits));
        evidence.extend(hits.map(|(_, evidence)| evidence));
        evidence.extend(setting(cx, &format!("{server} maxmemory_policy"), ""));
        let evicts = evicted.is_some_and(|evicted| evicted.value > 0.0) && low;
        Some(if near && (evicts || refused.is_some()) {
            // That memory is full is no count of long ago.
            evidence.swap(0, 1);
            Answer::yes(0.4, evidence)
        } else {
            Answer::no(evidence)
        })
    })
}

/// How near a server is to its limit.
fn full_of(cx: &Context<'_>, server: &str) -> Option<(Evidence, bool)> {
    let data = state(cx, Field::DataSize, server)?;
    let limit = state(cx, Field::DataLimit, server).filter(|limit| limit.value > 0.0)?;
    let share = data.value / limit.value * 100.0;
    let text =
        format!("{server} uses {} of its limit of {}", percent(share), write::bytes(limit.value));
    Some((cx.say(&data, &text), share >= cx.limit(T::LimitNear)))
}

/// The share of reads that found their key.
fn hits(cx: &Context<'_>, server: &str) -> Option<(f64, Evidence)> {
    let hits = state(cx, Field::CacheHitCount, server)?;
    let misses = state(cx, Field::CacheMissCount, server)?.value;
    let all = hits.value + misses;
    let share = hits.value / all * 100.0;
    let text = format!("{} of {} reads found their key", percent(share), write::number(all));
    (all > 0.0).then(|| (share, cx.say(&hits, &text)))
}

/// Bytes that a server holds and does not use from which on a ratio means something, however small
/// the data is: judgement, what a small machine misses.
const WASTED_MIN_BYTES: f64 = 536_870_912.0;

/// The same from which on it is worth a note.
const WASTED_NOTED_BYTES: f64 = 67_108_864.0;

/// Resident memory over what was handed out, and the difference in bytes where it is known.
fn ratio(cx: &Context<'_>, server: &str) -> Option<(Reading, f64, f64)> {
    let data = state(cx, Field::DataSize, server);
    let by_size = || {
        let rss = state(cx, Field::DataRss, server)?;
        let size = data.as_ref().filter(|data| data.value > 0.0)?.value;
        Some((rss.value / size, rss))
    };
    let said = state(cx, Field::RssRatio, server).map(|seen| (seen.value, seen));
    let (ratio, seen) = said.or_else(by_size)?;
    let wasted = data.map_or(0.0, |data| data.value * (ratio - 1.0));
    Some((seen, ratio, wasted))
}

/// Is far more memory resident than the server uses?
pub(super) fn resident(cx: &Context<'_>) -> Answer {
    let fields = [Field::RssRatio, Field::DataRss];
    worst(cx, KIND, &fields, REDIS, |server| {
        let (seen, ratio, wasted) = ratio(cx, server)?;
        let large = wasted >= WASTED_MIN_BYTES;
        let sizes = state(cx, Field::DataRss, server).zip(state(cx, Field::DataSize, server));
        let sizes = sizes.map_or_else(String::new, |(rss, data)| {
            format!(": {} for {}", write::bytes(rss.value), write::bytes(data.value))
        });
        let text = format!("{server}: resident memory is {ratio:.2} times what it uses{sizes}");
        let evidence = vec![cx.say(&seen, &text)];
        let limit = cx.limit(T::RssRatio);
        if !large || ratio < limit {
            let noted = wasted >= WASTED_NOTED_BYTES && ratio >= limit;
            let near = noted || large && cx.is_close(ratio, limit);
            return Some(Answer::when(near, 0.2, evidence).mild(true));
        }
        let inner = state(cx, Field::AllocatorFragmentation, server);
        let inner = inner.map(|seen| cx.quote(&seen));
        let held = state(cx, Field::AllocatorRss, server).map(|seen| cx.quote(&seen));
        Some(Answer::yes((1.0 - 1.0 / ratio).min(0.8), evidence).and(inner).and(held))
    })
}

/// Is it huge pages that keep what the allocator gave back?
pub(super) fn huge(cx: &Context<'_>) -> Answer {
    let fields = [Field::RssRatio, Field::DataRss];
    worst(cx, KIND, &fields, REDIS, |server| {
        let (_, ratio, _) = ratio(cx, server)?;
        let inner = state(cx, Field::AllocatorFragmentation, server)?;
        let held = state(cx, Field::AllocatorRss, server)?;
        let rest = ratio / (inner.value * held.value).max(1.0);
        let thp = setting(cx, THP, "")?;
        let text = format!(
            "{server}: the allocator accounts for {:.2} times what is used, the process holds \
             {rest:.2} times as much as that",
            inner.value * held.value
        );
        let evidence = vec![cx.say(&held, &text)];
        let always = thp_always(cx).is_yes();
        Some(if always && rest >= cx.limit(T::RssRatio) {
            let follows = "what was given back in parts of huge pages stays, or is filled again";
            Answer::yes((1.0 - 1.0 / ratio).min(0.8), evidence)
                .and([thp, Evidence::derived(follows)])
        } else {
            Answer::no(evidence).and([thp])
        })
    })
}

/// Do writes wait for the disk that keeps the log?
pub(super) fn fsync(cx: &Context<'_>) -> Answer {
    let fields = [Field::FsyncDelayCount, Field::LatencyEvent];
    worst(cx, KIND, &fields, REDIS_LATENCY, |server| {
        let events = parts(cx, Field::LatencyEvent, server);
        let own = events.iter().filter(|line| name(&line.subject).starts_with("aof-"));
        let stall = most(own.filter_map(|line| cx.highest(line)));
        if let Some(stall) = stall.filter(|stall| stall.value >= cx.limit(T::SlowCommand)) {
            return Some(Answer::yes(0.5, vec![cx.quote(&stall)]));
        }
        let limit = cx.limit(T::FsyncDelays);
        if let Some(rate) = state(cx, Field::FsyncDelays, server) {
            let evidence = vec![cx.quote(&rate)];
            let many = rate.value >= limit;
            return Some(Answer::when(many, 0.5, evidence));
        }
        let count = state(cx, Field::FsyncDelayCount, server)?;
        let up = state(cx, Field::ServerUptime, server).filter(|up| up.value > 0.0);
        let mean = up.map(|up| count.value / (up.value / 1000.0));
        let Some(mean) = mean.filter(|mean| *mean >= limit) else {
            return Some(Answer::no(vec![cx.quote(&count)]));
        };
        let text = format!(
            "{server}: {} writes of the log held up by fsync since its start: one in {} s",
            write::number(count.value),
            write::number(1.0 / mean)
        );
        let mut evidence = cx.say(&count, &text);
        // It is a mean over all that time, not a count of long ago.
        (evidence.field, evidence.value) = (None, None);
        Some(Answer::yes(0.4, vec![evidence]))
    })
}
