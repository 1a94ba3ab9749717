//! What the kernel's log says is wrong. A line from long ago is reported, and is no alarm; so is a
//! single line of which nobody knows when it was written.

use super::age::{ago, is_old};
use super::prelude::*;
use super::{io, tasks};
use crate::recording::readers::audit::AUDIT;
use crate::recording::readers::kernel_log::{CLOCKSOURCE, LOG, REPORT, Trouble, quoted};
use hugewise_base::count::counted;
use hugewise_base::parse::zones::SMALL;

/// What the log says about one kind of trouble.
struct LoggedTrouble {
    lines: Reading,
    /// The highest number in its lines.
    most: Option<f64>,
    evidence: Evidence,
    old: Option<bool>,
    /// Whether the log is an extract of a few lines: somebody chose them for what is wrong.
    chosen: bool,
}

/// Lines of the kernel's log that somebody chose; more are what a command shows. Judgement.
const CHOSEN_MAX: f64 = 10.0;

fn told(cx: &Context<'_>, kind: Trouble) -> Option<LoggedTrouble> {
    let subject = Subject::part(LOG, kind.key());
    let line = cx.line(Field::LogLines, &subject)?;
    let count: f64 = line.points.iter().map(|point| point.value).sum();
    let lines = Reading { value: count, ..cx.highest(&line)? };
    let most = cx.peak(Field::LogAmount, &subject);
    let many = match count {
        count if count <= 1.0 => "a line".to_owned(),
        count => format!("{} lines, the last", write::number(count)),
    };
    let when = ago(cx, &subject, ", ");
    let quote = cx.setting(&quoted(kind)).map_or("", |quote| quote.text.as_str());
    let text = format!("the kernel's log has {many}: {quote}{when}");
    let evidence = cx.say(&lines, &text);
    let length = cx.peak(Field::LogLength, &subject);
    // To drop caches once is no habit, whatever shows it.
    let habit = kind == Trouble::CacheDropped;
    let chosen = !habit && length.is_some_and(|length| length.value <= CHOSEN_MAX);
    let (most, old) = (most.map(|seen| seen.value), is_old(cx, &subject));
    Some(LoggedTrouble { lines, most, evidence, old, chosen })
}

impl LoggedTrouble {
    /// Whether it is of now: known to be, or at least said more than once.
    fn is_of_now(&self) -> bool {
        self.old.map_or(self.chosen || self.lines.value >= 2.0, |old| !old)
    }
}

/// No word about it, in a log or without one. A log is mostly a part of one: it rules nothing out.
fn silent(cx: &Context<'_>) -> Answer {
    let ours = cx.recording.hosts.iter().position(|host| std::ptr::eq(host, cx.host));
    let mut all = cx.recording.sources.iter();
    let logged = all.any(|s| s.kind == SourceKind::KernelLog && Some(s.host) == ours);
    let text = "the kernel's log, as far as it is shown, has no line about it";
    match logged {
        true => Answer::no(vec![Evidence::derived(text)]).if_close(true),
        false => Answer::unknown(&[KERNEL_LOG]),
    }
}

/// Yes where the log speaks of one of these; mild where it is over.
fn about(cx: &Context<'_>, kinds: &[Trouble], weight: f64) -> Answer {
    let all: Vec<LoggedTrouble> = kinds.iter().filter_map(|kind| told(cx, *kind)).collect();
    if all.is_empty() {
        return silent(cx);
    }
    let now = all.iter().any(LoggedTrouble::is_of_now);
    let evidence = all.into_iter().map(|told| told.evidence).collect();
    Answer::yes(weight, evidence).mild(!now)
}

/// Were CPUs stuck in the kernel?
pub(super) fn lockups(cx: &Context<'_>) -> Answer {
    let longest = told(cx, Trouble::Lockup).and_then(|told| told.most);
    let longest =
        longest.map(|s| Evidence::derived(format!("a CPU did nothing else for up to {s:.0} s")));
    about(cx, &[Trouble::Lockup], 0.7).and(longest).and(reported(cx, Trouble::Lockup))
}

/// Do requests to storage end in errors, or not at all?
pub(super) fn storage(cx: &Context<'_>) -> Answer {
    const KINDS: [Trouble; 4] =
        [Trouble::BadMedia, Trouble::PathLost, Trouble::DiskError, Trouble::LateRequest];
    // Where the disks are listed, their own times say why requests were late.
    let known = if cx.top(Field::DiskBusy).is_some() { &KINDS[..3] } else { &KINDS };
    let answer = about(cx, known, 0.9);
    let answer = with_paths(cx, answer);
    // Blocks that cannot be read stay so, however long ago and however often the log says it.
    let mild = answer.mild && told(cx, Trouble::BadMedia).is_none();
    let answer = answer.mild(mild);
    let stuck = io::stuck(cx);
    if !answer.is_yes() || !stuck.is_yes() {
        return answer;
    }
    // What hangs now makes what the log says one of now, too.
    answer.and(stuck.evidence).mild(false)
}

/// Paths that are lost as `multipath` lists them now, beside what the log says.
fn with_paths(cx: &Context<'_>, answer: Answer) -> Answer {
    let paths = cx.lines(Field::PathLost, |_| true);
    let lost = paths.iter().filter_map(|line| cx.latest(line.field, &line.subject));
    let lost: Vec<Reading> = lost.filter(|seen| seen.value > 0.0).collect();
    let Some(first) = lost.first() else { return answer };
    let text = format!(
        "{} of {} to storage lost, such as {}",
        lost.len(),
        counted(paths.len(), "path", "paths"),
        first.subject
    );
    let listed = cx.say(first, &text);
    match answer.is_yes() {
        true => answer.and([listed]).mild(false),
        false => Answer::yes(0.8, vec![listed]),
    }
}

/// Does the log say that the battery of a write cache failed?
pub(super) fn write_cache(cx: &Context<'_>) -> Answer {
    about(cx, &[Trouble::WriteCache], 0.7)
}

/// Does somebody drop the page cache, again and again?
pub(super) fn dropped(cx: &Context<'_>) -> Answer {
    about(cx, &[Trouble::CacheDropped], 0.5)
}

/// Is a file system damaged, or was it made read-only?
pub(super) fn file_systems(cx: &Context<'_>) -> Answer {
    about(cx, &[Trouble::FileSystem], 0.6)
}

/// Are tables of the network full, or cards hanging?
pub(super) fn neighbours(cx: &Context<'_>) -> Answer {
    about(cx, &[Trouble::Neighbours], 0.6)
}

/// Does a network card hang, or lose its link again and again?
pub(super) fn cards(cx: &Context<'_>) -> Answer {
    let hangs = about(cx, &[Trouble::CardHangs], 0.6);
    let Some(down) = told(cx, Trouble::LinkDown) else { return hangs };
    let flaps = down.lines.value >= cx.limit(T::LinkFlaps);
    if !hangs.is_yes() && !flaps {
        let twice = down.lines.value >= 2.0;
        return if twice { Answer::yes(0.3, vec![down.evidence]).mild(true) } else { hangs };
    }
    if hangs.is_yes() {
        return hangs.and([down.evidence]);
    }
    let now = down.is_of_now();
    Answer::yes(0.5, vec![down.evidence]).mild(!now)
}

/// Has TCP used up its memory?
pub(super) fn tcp_memory(cx: &Context<'_>) -> Answer {
    let answer = about(cx, &[Trouble::TcpMemory], 0.6);
    let orphans = cx.highest_of(Field::TcpOrphans).and_then(|orphans| {
        let limit = cx.setting("/proc/sys/net/ipv4/tcp_max_orphans")?.text.parse().ok()?;
        Some((orphans, limit)).filter(|(_, limit): &(_, f64)| *limit > 0.0)
    });
    let Some((orphans, limit)) = orphans else { return answer };
    let text = format!(
        "{} connections that no program has open any more, of {} allowed (tcp_max_orphans)",
        write::number(orphans.value),
        write::number(limit)
    );
    let full = orphans.value >= limit * cx.limit(T::TableFull) / 100.0;
    if full { Answer::yes(0.6, vec![cx.say(&orphans, &text)]).and(answer.evidence) } else { answer }
}

/// Does the hardware report errors that could not be corrected?
pub(super) fn hardware(cx: &Context<'_>) -> Answer {
    about(cx, &[Trouble::Uncorrected], 0.6)
}

/// Did the kernel itself fail?
pub(super) fn bugs(cx: &Context<'_>) -> Answer {
    let answer = about(cx, &[Trouble::Bug], 0.5).and(reported(cx, Trouble::Bug));
    // A kernel that failed once stays as it is until the next start.
    let over = told(cx, Trouble::Bug).is_none_or(|told| told.old == Some(true));
    let mild = answer.mild && over;
    answer.mild(mild)
}

/// Did a check within the kernel fail?
pub(in crate::diagnose) fn warnings(cx: &Context<'_>) -> Answer {
    about(cx, &[Trouble::Warned], 0.1).and(reported(cx, Trouble::Warned))
}

/// What the worst report of the kernel says, if it is about this: where, in which kernel, for which
/// task, and what became of the machine.
fn reported(cx: &Context<'_>, kind: Trouble) -> Vec<Evidence> {
    let part = |name: &str| cx.setting(&format!("{REPORT}{name}"));
    let Some(fate) = part("fate").filter(|_| part("about").is_some_and(|q| q.text == kind.key()))
    else {
        return Vec::new();
    };
    let text = |name: &str| part(name).map(|quote| quote.text.as_str());
    let failed = text("where").map_or_else(String::new, |place| format!("{place}, "));
    let task = text("task").map_or_else(String::new, |task| format!("for {task}, "));
    let kernel = text("kernel").unwrap_or("of unknown release");
    let taint = text("taint").map_or_else(String::new, |taint| format!(", {taint}"));
    let place = format!("it happened {failed}{task}kernel {kernel}{taint}");
    vec![cx.cite(fate, &place), cx.cite(fate, &fate.text)]
}

/// Zones by their free memory, without those that are no substantial part of the machine: one that
/// has no more free than x86's zone DMA has memory, and next to no share of `min_free_kbytes`. The
/// kernel divides that by size (`setup_per_zone_wmarks`).
fn substantial_zones(cx: &Context<'_>) -> Vec<Reading> {
    const SMALL_SHARE: f64 = 1.0 / 32.0;
    let least = |free: &Reading| cx.peak(Field::LogZoneMin, &free.subject).map(|min| min.value);
    let mut zones = cx.sorted(Field::LogZoneFree, |_| true);
    let largest = zones.iter().filter_map(least).fold(0.0, f64::max);
    let small = |free: &Reading| {
        let share = least(free).is_some_and(|least| least < largest * SMALL_SHARE);
        share && free.value <= SMALL.0 as f64
    };
    zones.retain(|free| !small(free));
    zones
}

/// That the kernel killed for want of a block of several pages while single ones were left: all
/// zones had twice their minimum. A small one is kept for devices, and has that always
/// (`lowmem_reserve_ratio`).
fn in_pieces(cx: &Context<'_>) -> Option<Answer> {
    let order = cx.top(Field::OomOrder).filter(|order| order.value >= 1.0)?;
    let zones = substantial_zones(cx);
    let roomy = |free: &Reading| {
        let least = cx.peak(Field::LogZoneMin, &free.subject);
        least.is_some_and(|least| least.value > 0.0 && free.value >= 2.0 * least.value)
    };
    let all = zones.iter().all(roomy);
    let roomy = zones.into_iter().next().filter(|_| all)?;
    let size = write::bytes(cx.base_page() * 2_f64.powf(order.value.min(20.0)));
    let text = format!("{} asked for {size} in one piece (order {})", order.subject, order.value);
    let free = format!("{}: {} were free", roomy.subject, write::bytes(roomy.value));
    Some(Answer::yes(0.7, vec![cx.say(&order, &text), cx.say(&roomy, &free)]))
}

/// Do allocations of several pages fail?
pub(super) fn blocks(cx: &Context<'_>) -> Answer {
    let answer = about(cx, &[Trouble::NoBlock], 0.5);
    let killed = in_pieces(cx).filter(|_| !answer.is_yes());
    let answer = killed.unwrap_or(answer);
    // Orders are below 64: `MAX_ORDER` is 11.
    let order = told(cx, Trouble::NoBlock).and_then(|told| told.most).filter(|o| *o < 64.0);
    let size = order.map(|order| {
        let size = write::bytes(cx.base_page() * 2_f64.powf(order));
        let free = cx.state(Field::MemFree).map(|free| write::bytes(free.value));
        let free = free.map_or_else(String::new, |free| format!(", though {free} are free"));
        Evidence::derived(format!("order {order:.0} is a block of {size} in one piece{free}"))
    });
    // What fails in pieces that are still there fails again.
    let still = super::blocks::fragmentation(cx);
    let lasts = answer.is_yes() && still.is_yes();
    let mild = answer.mild && !lasts;
    answer.and(size).and(still.evidence.into_iter().filter(|_| lasts)).mild(mild)
}

/// Whether the kernel could not even get a single page: its reserve was used up.
pub(super) fn page_refused(cx: &Context<'_>) -> Option<Answer> {
    let answer = about(cx, &[Trouble::NoPage], 0.4);
    answer.is_yes().then(|| answer.lacking(&[MEMINFO]))
}

/// Whether a link went down again and again: a cable, plug, port or peer.
pub(super) fn link_flaps(cx: &Context<'_>) -> Option<Answer> {
    /// A restart of the machine or of its peer takes a link down once or twice.
    const DOWNS_MIN: f64 = 4.0;
    let often = told(cx, Trouble::LinkDown)?.lines.value >= DOWNS_MIN;
    often.then(|| about(cx, &[Trouble::LinkDown], 0.3))
}

/// Other known lines: quoted, and no alarm.
pub(super) fn other(cx: &Context<'_>) -> Answer {
    const KINDS: [Trouble; 7] = [
        Trouble::Corrected,
        Trouble::NoPage,
        Trouble::LinkDown,
        Trouble::Tasks,
        Trouble::Crash,
        Trouble::LateRequest,
        Trouble::FileMax,
    ];
    about(cx, &KINDS, 0.02).mild(true)
}

/// Does the log name trouble at all?
pub(super) fn any(cx: &Context<'_>) -> Answer {
    let tests = [
        storage(cx),
        lockups(cx),
        audit(cx),
        file_systems(cx),
        blocks(cx),
        dropped(cx),
        neighbours(cx),
        cards(cx),
        tcp_memory(cx),
        hardware(cx),
        bugs(cx),
        other(cx),
    ];
    super::servers::any(&tests, KERNEL_LOG)
}

/// Do programs wait until a record of audit finds a place?
pub(super) fn audit(cx: &Context<'_>) -> Answer {
    let number = |name: &str| {
        let quote = cx.setting(&format!("{AUDIT}{name}"))?;
        Some((quote, quote.text.parse::<f64>().ok()?))
    };
    let full = number("backlog").zip(number("backlog_limit"));
    let full = full.filter(|((_, waiting), (_, limit))| *limit > 0.0 && waiting >= limit);
    let full = full.map(|((quote, waiting), (_, limit))| {
        let lost = number("lost")
            .map_or_else(String::new, |(_, lost)| format!(", {} lost", write::number(lost)));
        let (waiting, limit) = (write::number(waiting), write::number(limit));
        cx.cite(quote, &format!("{waiting} records of audit wait, {limit} may{lost}"))
    });
    let waits = tasks::waiting(cx).into_iter().find(|wait| wait.function == "audit_log_start");
    let waits = waits.map(|wait| wait.say(cx));
    let logged = about(cx, &[Trouble::Audit], 0.7);
    let seen = full.is_some() || waits.is_some();
    match (logged.is_yes(), seen) {
        (false, false) => logged.lacking(&[AUDIT_STATUS]),
        (true, _) => {
            let mild = logged.mild && !seen;
            logged.and(waits).and(full).mild(mild)
        }
        (false, true) => Answer::yes(0.7, waits.into_iter().chain(full).collect()),
    }
}

/// Does heat slow the CPUs down?
pub(super) fn heat(cx: &Context<'_>) -> Answer {
    let counts = cx.host.settings.iter().filter(|(path, _)| path.ends_with("_throttle_count"));
    let counted = counts.filter_map(|(_, quote)| Some((quote, quote.text.parse::<f64>().ok()?)));
    let counted = most_by(counted, |(_, events)| *events).filter(|(_, events)| *events > 0.0);
    let limit = cx.limit(T::HeatEvents);
    let clock = || clock_rate(cx);
    if let Some(told) = told(cx, Trouble::Throttled) {
        let much = told.most.is_some_and(|most| most >= limit) || told.lines.value >= limit;
        let (now, slow) = (told.old != Some(true), clock());
        let mild = !(now && (much || slow.is_some()));
        return Answer::yes(0.7, vec![told.evidence]).and(slow).mild(mild);
    }
    let Some((quote, events)) = counted else { return silent(cx) };
    let text = format!("a CPU slowed down for heat {} times since boot", write::number(events));
    // Since the start: it may be over.
    Answer::yes(0.5, vec![cx.cite(quote, &text)]).and(clock()).mild(clock().is_none())
}

/// That CPUs in use run at less than they are rated for.
pub(super) fn clock_rate(cx: &Context<'_>) -> Option<Evidence> {
    let (now, rated) = (cx.state(Field::CpuClock)?, cx.state(Field::CpuRated)?);
    // An idle CPU is slow to save power.
    let busy = cx.mean_busy().is_some_and(|busy| busy.value >= cx.limit(T::UserHigh));
    let slow = busy && now.value < rated.value * cx.limit(T::ClockLow) / 100.0;
    let text = format!(
        "CPUs run at {} of the {} MHz that they are rated for",
        write::number(now.value),
        write::number(rated.value)
    );
    slow.then(|| cx.say(&now, &text))
}

/// Clocks that the kernel reads from a device or a port: about 1 us each time, and not from a
/// program (`Documentation/timers/hpet.rst`; `arch/x86/entry/vdso`).
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "refined-jiffies", "jiffies", "pit"];
/// Functions that read them.
const READS: [&str; 3] = ["read_hpet", "acpi_pm_read", "pit_read"];

/// Does the kernel read the time from a slow clock?
pub(super) fn clock(cx: &Context<'_>) -> Answer {
    const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let quote = cx.setting(CURRENT).or_else(|| cx.setting(CLOCKSOURCE));
    let named = |name: &str| READS.contains(&name);
    let reads = |subject: &Subject| matches!(subject, Subject::Symbol(name) if named(name));
    let read = cx.top_of(Field::SymbolPercent, reads);
    let slow = quote.filter(|quote| SLOW_CLOCKS.contains(&quote.text.trim()));
    let felt = read.as_ref().is_some_and(|read| read.value >= cx.limit(T::WayShare));
    if slow.is_none() && !felt {
        let Some(quote) = quote else {
            // x86 reads its own counter unless the kernel gives it up.
            let told = told(cx, Trouble::Clock).map(|told| told.evidence);
            let answer = told.map(|told| Answer::yes(0.2, vec![told]).mild(true));
            return answer.unwrap_or_else(|| Answer::unknown(&[CLOCK])).lacking(&[CLOCK]);
        };
        return Answer::no(vec![cx.cite(quote, &format!("the clock is {}", quote.text))]);
    }
    let kernel = cx.kernel(&Subject::Machine).and_then(|line| cx.mean(&line));
    let busy = kernel.is_some_and(|kernel| kernel.value >= cx.limit(T::KernelHigh));
    let named = slow.map(|quote| {
        let text = format!(
            "the clock is {}: each look at the time is a call into the kernel and an access to a \
             device",
            quote.text
        );
        cx.cite(quote, &text)
    });
    let weight = read.as_ref().map_or(0.3, |read| read.value / 100.0);
    let read = read.filter(|_| felt).map(|read| cx.quote(&read));
    let why = told(cx, Trouble::Clock).map(|told| told.evidence);
    let evidence = read.into_iter().chain(named).chain(why).collect();
    Answer::yes(weight, evidence).mild(!felt && !busy)
}
