//! The network: interrupts and packets, drops, links, queues of sockets.

use super::prelude::*;
use crate::functions::RECEIVE;
use hugewise_base::count::counted;
use std::collections::BTreeMap;

/// Most services whose unread bytes are reported one by one.
const SERVICES_MAX: usize = 12;

fn interfaces(cx: &Context<'_>, field: Field) -> Vec<Line> {
    super::pick::hardware(cx.lines(field, |subject| matches!(subject, Subject::Interface(_))))
}

/// Means of a field over all interfaces, added up.
fn total(cx: &Context<'_>, field: Field) -> Option<Reading> {
    let means = interfaces(cx, field);
    let sum = sum(means.iter().filter_map(|line| cx.mean(line)))?;
    Some(Reading { subject: Subject::Machine, ..sum })
}

/// The weight of packets where the number of CPUs is unknown: too little to be reported
/// as a trouble unless CPU time says so.
const UNKNOWN_SHARE: f64 = 0.4;

/// The part of the machine's CPUs that a packet rate takes, 0 to 1.
fn cpu_share(cx: &Context<'_>, packets: f64) -> f64 {
    let cpus = packets * cx.limit(T::CostPacket) / 1e6;
    cx.cpus().map_or_else(|| cpus.min(UNKNOWN_SHARE), |all| cpus / all)
}

/// Are there many small packets, so that packets and not bytes are the load?
pub(super) fn small_packets(cx: &Context<'_>) -> Answer {
    let fields = [Field::NetRxPackets, Field::NetTxPackets, Field::NetRxBytes, Field::NetTxBytes];
    let [Some(rx), Some(tx), Some(rx_bytes), Some(tx_bytes)] = fields.map(|f| total(cx, f)) else {
        return Answer::unknown(&[NETWORK]);
    };
    let packets = rx.value + tx.value;
    let bytes = rx_bytes.value + tx_bytes.value;
    let size = if packets > 0.0 { bytes / packets } else { 0.0 };
    let text = format!(
        "{} packets a second, {} of data: {:.0} bytes a packet",
        write::number(packets),
        write::value(Unit::BytesPerSecond, bytes),
        size
    );
    let mut evidence = vec![cx.say(&rx, &text)];
    evidence.extend(receive_vector(cx));
    let many = packets >= cx.limit(T::PacketsHigh);
    Answer::when(many && size <= cx.limit(T::SmallPacket), cpu_share(cx, packets), evidence)
}

/// Are there many packets, and not small ones?
pub(super) fn many_packets(cx: &Context<'_>) -> Answer {
    let (rx, tx) = (total(cx, Field::NetRxPackets), total(cx, Field::NetTxPackets));
    // Without counts of packets a profile may say that the stack has the time.
    let Some((rx, tx)) = rx.zip(tx) else {
        let profiled = super::profile::named(cx, &RECEIVE);
        return profiled.unwrap_or_else(|| Answer::unknown(&[NETWORK]));
    };
    let packets = rx.value + tx.value;
    let text = format!("{} packets a second", write::number(packets));
    let evidence = vec![cx.say(&rx, &text)];
    Answer::when(
        packets >= cx.limit(T::PacketsHigh) && !small_packets(cx).is_yes(),
        cpu_share(cx, packets),
        evidence,
    )
}

/// The soft interrupts of receiving, where they are counted.
fn receive_vector(cx: &Context<'_>) -> Option<Evidence> {
    let ours =
        |subject: &Subject| matches!(subject, Subject::Vector { name, .. } if name == "NET_RX");
    let rates = cx.lines(Field::SoftirqRate, ours);
    let Some(first) = rates.first().and_then(|line| cx.mean(line)) else {
        return received_between_looks(cx);
    };
    let sum: f64 = rates.iter().filter_map(|line| cx.mean(line)).map(|seen| seen.value).sum();
    let text = format!("{} NET_RX soft interrupts a second", write::number(sum));
    Some(cx.say(&Reading { value: sum, ..first }, &text))
}

/// The soft interrupts that grew most between two readings of their counts, if those are of
/// receiving.
fn received_between_looks(cx: &Context<'_>) -> Option<Evidence> {
    let mut grown: BTreeMap<String, (f64, Reading)> = BTreeMap::new();
    for line in cx.lines(Field::SoftirqCount, |_| true) {
        let [first, .., last] = line.points.as_slice() else { continue };
        let Subject::Vector { name, .. } = &line.subject else { continue };
        let seen = line.seen(last.value, Interval::ALWAYS);
        grown.entry(name.clone()).or_insert((0.0, seen)).0 += last.value - first.value;
    }
    let all: f64 = grown.values().map(|(count, _)| count).sum();
    let (name, (count, seen)) = grown.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    if name != "NET_RX" || *count <= 0.0 {
        return None;
    }
    let text = format!(
        "NET_RX grew most of all soft interrupts between two looks: by {} of {}",
        write::number(*count),
        write::number(all)
    );
    Some(cx.say(seen, &text))
}

/// Does one CPU take nearly all interrupts while others take none?
pub(super) fn one_cpu(cx: &Context<'_>) -> Answer {
    let own = |subject: &Subject| matches!(subject, Subject::Cpu(_));
    let cpus = cx.lines(Field::CpuSoftirq, own);
    let mut means: Vec<Reading> =
        cpus.iter().filter_map(|line| cx.mean(&cx.interrupts(&line.subject)?)).collect();
    if means.len() < 2 {
        return by_count(cx);
    }
    means.sort_by(|a, b| b.value.total_cmp(&a.value));
    let rest: f64 = means[1..].iter().map(|seen| seen.value).sum();
    let others = rest / (means.len() - 1) as f64;
    let text = format!(
        "{}: {} in interrupts, the other CPUs {} (averages)",
        means[0].subject,
        write::value(Unit::Percent, means[0].value),
        write::value(Unit::Percent, others)
    );
    let evidence = vec![cx.say(&means[0], &text)];
    // Far more than the others and a real load: spread evenly it would be shared by all.
    let alone = means[0].value >= cx.limit(T::InterruptHigh)
        && means[0].value >= cx.limit(T::InterruptAlone) * others;
    let hard = super::named::hardware_part(cx, &means[0].subject);
    Answer::when(alone, means[0].value / 100.0, evidence).backed(hard)
}

/// Is a CPU full of soft interrupts, as its thread of the kernel shows? The mean of many CPUs
/// hides it.
pub(super) fn softirq_thread(cx: &Context<'_>) -> Answer {
    let ours = |subject: &Subject| {
        subject.process_name().is_some_and(|name| name.starts_with("ksoftirqd/"))
    };
    let lines = cx.lines(Field::ProcCpu, ours);
    let Some(top) = most(lines.iter().filter_map(|line| cx.mean(line))) else {
        return Answer::unknown(&[PROCESSES]);
    };
    let limit = cx.limit(T::KernelCpuHigh);
    let share = cx.cpus().map_or(0.3, |cpus| top.value / 100.0 / cpus.max(1.0));
    let idle = cx.mean_of(Field::CpuIdle).map(|seen| cx.quote(&seen));
    let text = "it takes over where soft interrupts never end: one CPU gets nearly all packets";
    let answer = Answer::when(top.value >= limit, share, vec![cx.quote(&top)]);
    answer.backed(idle).backed([Evidence::derived(text)]).or_close(true)
}

/// The same from counts: receiving by CPU in `/proc/softirqs`.
fn by_count(cx: &Context<'_>) -> Answer {
    let ours =
        |s: &Subject| matches!(s, Subject::Vector { name, cpu: Some(_) } if name == "NET_RX");
    let fields = [Field::SoftirqRate, Field::SoftirqCount];
    let lines = fields.iter().map(|field| cx.lines(*field, ours)).find(|lines| lines.len() > 1);
    let Some(lines) = lines else { return Answer::unknown(&[CPU, SOFTIRQS]) };
    // Of two listings the difference counts, of one the whole time since boot.
    let grown = |line: &Line| {
        let (first, last) = (line.points.first()?.value, line.points.last()?.value);
        let counts = line.field == Field::SoftirqCount && line.points.len() > 1;
        Some(if counts { last - first } else { last })
    };
    let mut all: Vec<_> = lines.iter().filter_map(|line| Some((line, grown(line)?))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let sum: f64 = all.iter().map(|(_, value)| value).sum();
    let Some((line, most)) = all.first().filter(|_| sum > 0.0) else {
        return Answer::unknown(&[SOFTIRQS]);
    };
    let share = most / sum * 100.0;
    let text = format!(
        "{}: {share:.0} % of the NET_RX soft interrupts of {} CPUs",
        line.subject,
        all.len()
    );
    let seen = line.seen(*most, Interval::ALWAYS);
    let evidence = vec![cx.say(&seen, &text)];
    // Of hardly any packets, one CPU takes as many as there are.
    let few = line.field == Field::SoftirqRate && *most < RECEIVE_MIN_PER_S;
    Answer::when(share >= cx.limit(T::ReceiveAlone) && !few, 0.3, evidence)
}

/// Soft interrupts a second for received packets that are no load for a CPU: at some 10 us each
/// they take a hundredth of it.
const RECEIVE_MIN_PER_S: f64 = 1000.0;

/// The highest value of several fields over all subjects, against a limit.
fn any_above(cx: &Context<'_>, fields: &[Field], limit: T, missing: Missing) -> Answer {
    let lines = fields.iter().map(|field| super::pick::hardware(cx.lines(*field, |_| true)));
    let top = most(lines.flatten().filter_map(|line| cx.sustained(&line)));
    let Some(top) = top else { return Answer::unknown(&[missing]) };
    let evidence = vec![cx.quote(&top)];
    let limit = cx.limit(limit);
    Answer::when(top.value >= limit, (top.value / limit / 10.0).min(0.6), evidence)
}

/// Are packets dropped?
pub(super) fn drops(cx: &Context<'_>) -> Answer {
    let fields = [Field::SoftnetDropped, Field::NetRxDrops, Field::NetTxDrops, Field::NetRxFifo];
    any_above(cx, &fields, T::DropsHigh, SOFTNET)
}

/// Do packets arrive damaged?
pub(super) fn errors(cx: &Context<'_>) -> Answer {
    let now = any_above(cx, &[Field::NetErrors], T::DropsHigh, NETWORK);
    if now.verdict != Verdict::Unknown {
        return now;
    }
    let flaps = super::log::link_flaps(cx);
    flaps.or_else(|| damaged_since_boot(cx)).unwrap_or(now)
}

/// Packets that arrived damaged since boot, of all: a link in order damages next to none.
fn damaged_since_boot(cx: &Context<'_>) -> Option<Answer> {
    const DAMAGED_MIN: f64 = 100.0;
    const DAMAGED_MIN_PERCENT: f64 = 0.01;
    let damaged = cx.top(Field::NetErrorCount)?;
    let got = cx.peak(Field::NetRxPacketCount, &damaged.subject)?;
    let percent = damaged.value / (damaged.value + got.value).max(1.0) * 100.0;
    let text = format!(
        "{}: {} damaged packets since boot, {percent:.2} % of all",
        damaged.subject,
        write::number(damaged.value)
    );
    let much = damaged.value >= DAMAGED_MIN && percent >= DAMAGED_MIN_PERCENT;
    Some(Answer::when(much, 0.3, vec![cx.say(&damaged, &text)]).or_close(true))
}

/// Are receive rounds cut short with work left?
pub(super) fn squeezed(cx: &Context<'_>) -> Answer {
    any_above(cx, &[Field::SoftnetSqueezed], T::SqueezeHigh, SOFTNET)
}

/// Are segments sent again?
pub(super) fn retransmits(cx: &Context<'_>) -> Answer {
    let rates = (cx.mean_of(Field::TcpRetransmits), cx.mean_of(Field::TcpOutSegments));
    let counts = || (cx.state(Field::TcpRetransmitCount), cx.state(Field::TcpOutSegmentCount));
    let (again, sent, since) = match (rates, counts()) {
        ((Some(again), Some(sent)), _) => (again, sent, ""),
        (_, (Some(again), Some(sent))) => {
            match (cx.grown(Field::TcpRetransmitCount), cx.grown(Field::TcpOutSegmentCount)) {
                (Some(again), Some(sent)) => (again, sent, " between two looks"),
                _ => (again, sent, " since boot"),
            }
        }
        _ => return Answer::unknown(&[TCP]),
    };
    let percent = if sent.value > 0.0 { again.value / sent.value * 100.0 } else { 0.0 };
    let text = format!(
        "{} of {} TCP segments sent again{since}: {percent:.2} %",
        write::number(again.value),
        write::number(sent.value)
    );
    let mut evidence = cx.say(&again, &text);
    if since == " between two looks" {
        evidence.field = Some(Field::TcpRetransmits);
    }
    let evidence = vec![evidence];
    // Less than one a second is noise, whatever its share.
    let real = again.value >= 1.0;
    if real && percent >= cx.limit(T::RetransmitShare) {
        Answer::yes((percent / 10.0).min(0.6), evidence)
    } else {
        // What was so since boot rules out nothing of now.
        Answer::no(evidence).if_close(since == " since boot")
    }
}

/// Does the table of connections overflow?
pub(super) fn conntrack(cx: &Context<'_>) -> Answer {
    let logged = cx.peak(Field::ConntrackDrops, &Subject::Machine);
    let number = |name: &str| {
        let places = ["/proc/sys/net/netfilter/", "/proc/sys/net/"];
        let quotes = places.iter().find_map(|place| cx.setting(&format!("{place}{name}")));
        quotes.and_then(|quote| Some((quote, quote.text.parse::<f64>().ok()?)))
    };
    let filled = number("nf_conntrack_count").zip(number("nf_conntrack_max"));
    let filled =
        filled.filter(|((_, _), (_, most))| *most > 0.0).map(|((quote, count), (_, most))| {
            let text = format!(
                "{} tracked, of at most {}",
                write::counted(count, "connection is", "connections are"),
                write::number(most)
            );
            (count / most * 100.0, cx.cite(quote, &text))
        });
    if let Some(seen) = logged {
        let text = format!(
            "the kernel's log says {} that the table of connections is full and packets are \
             dropped",
            write::counted(seen.value, "time", "times")
        );
        return Answer::yes(0.6, vec![cx.say(&seen, &text)]).and(filled.map(|(_, said)| said));
    }
    let Some((percent, evidence)) = filled else {
        return refused_entries(cx).unwrap_or_else(|| Answer::unknown(&[CONNTRACK]));
    };
    let limit = cx.limit(T::TableFull);
    Answer::when(percent >= limit, 0.5, vec![evidence]).or_close(cx.is_close(percent, limit))
}

/// Connections that found no place in the table, since boot: far more than collisions are.
fn refused_entries(cx: &Context<'_>) -> Option<Answer> {
    const REFUSED_MIN: f64 = 1_000.0;
    const COUNTS: [Field; 2] = [Field::ConntrackDropCount, Field::ConntrackEvictCount];
    let all: Vec<Reading> = COUNTS.into_iter().filter_map(|field| cx.top(field)).collect();
    let worst = most(all.iter().cloned())?;
    let evidence = all.iter().filter(|seen| seen.value > 0.0).map(|seen| cx.quote(seen)).collect();
    let many = worst.value >= REFUSED_MIN;
    Some(Answer::when(many, 0.4, evidence).or_close(worst.value > 0.0).lacking(&[CONNTRACK]))
}

/// Do accept queues overflow?
pub(super) fn listen(cx: &Context<'_>) -> Answer {
    let full = cx.host.sockets.iter().find(|socket| {
        socket.state == SocketState::Listen
            && socket.send_queue > 0
            && socket.receive_queue >= socket.send_queue
    });
    if let Some(socket) = full {
        let text = format!(
            "{} holds {} not accepted, of at most {}{}",
            socket.local,
            write::counted(socket.receive_queue as f64, "connection", "connections"),
            socket.send_queue,
            program(socket)
        );
        return Answer::yes(0.6, vec![quote(socket, text)]);
    }
    let flooded = cx.line(Field::SynFloods, &Subject::Machine);
    if let Some(seen) = flooded.and_then(|line| cx.highest(&line)) {
        let text = "the kernel's log says that more wanted to connect than a port's queue takes";
        return Answer::yes(0.5, vec![cx.say(&seen, text)]).lacking(&[LISTEN]);
    }
    if let Some(rate) = cx.mean_of(Field::TcpListenOverflows) {
        let evidence = vec![cx.quote(&rate)];
        let full = rate.value >= cx.limit(T::DropsHigh);
        return Answer::when(full, 0.5, evidence);
    }
    overflows(cx)
}

/// Overflows that were counted: between two looks, whatever the time, or else since boot.
fn overflows(cx: &Context<'_>) -> Answer {
    if let Some(grown) = cx.grown(Field::TcpListenOverflowCount).filter(|seen| seen.value > 0.0) {
        let text = format!(
            "accept queues overflowed {} between two looks",
            write::counted(grown.value, "time", "times")
        );
        let mut evidence = cx.say(&grown, &text);
        evidence.field = Some(Field::TcpListenOverflows);
        let many = grown.value >= cx.limit(T::DropsHigh);
        let answer = Answer::no(vec![evidence.clone()]).if_close(true);
        return if many { Answer::yes(0.5, vec![evidence]) } else { answer };
    }
    let seen = cx.state(Field::TcpListenOverflowCount);
    let Some(seen) = seen else { return Answer::unknown(&[LISTEN]) };
    let evidence = vec![cx.quote(&seen)];
    let many = seen.value >= cx.limit(T::ListenOverflowsHigh);
    // None since boot is none now.
    let close = seen.value > 0.0;
    Answer::when(many, 0.5, evidence).or_close(close)
}

fn program(socket: &Socket) -> String {
    socket.program.as_ref().map_or_else(String::new, |name| format!(" ({name})"))
}

fn quote(socket: &Socket, text: String) -> Evidence {
    let mut evidence = Evidence::plain(Ground::Observed, text);
    evidence.source = Some(socket.source);
    evidence
}

/// The service behind a well-known port (IANA's registry).
fn service(end: &str) -> Option<&'static str> {
    Some(match end.rsplit_once(':')?.1 {
        "3306" | "mysql" => "MySQL",
        "5432" | "postgresql" => "PostgreSQL",
        "6379" | "redis" => "Redis",
        "27017" => "MongoDB",
        "1521" => "Oracle",
        "11211" => "memcached",
        "9042" => "Cassandra",
        "9092" => "Kafka",
        "2049" | "nfs" => "NFS",
        _ => return None,
    })
}

/// How many connections each end has: that of a service is the same for many.
type Ends<'a> = BTreeMap<&'a str, usize>;

fn ends<'a>(sockets: &[&'a Socket]) -> Ends<'a> {
    let mut ends = Ends::new();
    for end in sockets.iter().flat_map(|socket| [&socket.local, &socket.remote]) {
        *ends.entry(end.as_str()).or_default() += 1;
    }
    ends
}

/// The end of a connection that is the service's: its peer's where that is well known, or where
/// more connections share that end than this machine's; else this machine's.
fn service_of(socket: &Socket, ends: &Ends<'_>) -> String {
    let port = |end: &str| end.rsplit_once(':').map_or(end, |(_, port)| port).to_owned();
    if let Some(name) = service(&socket.remote) {
        return format!("{name} (port {})", port(&socket.remote));
    }
    let shared = |end: &str| ends.get(end).copied().unwrap_or(0);
    if shared(&socket.remote) > shared(&socket.local) {
        return socket.remote.clone();
    }
    format!("callers of its port {}", port(&socket.local))
}

/// Connections with bytes waiting that have something in common.
#[derive(Clone, Copy)]
struct Pile<'a> {
    first: &'a Socket,
    sockets: usize,
    bytes: u64,
}

impl<'a> Pile<'a> {
    /// Puts a connection onto the pile of this name.
    fn put<K: Ord>(piles: &mut BTreeMap<K, Self>, name: K, socket: &'a Socket, bytes: u64) {
        let pile = piles.entry(name).or_insert(Self { first: socket, sockets: 0, bytes: 0 });
        pile.sockets += 1;
        // Counts of a text may be any.
        pile.bytes = pile.bytes.saturating_add(bytes);
    }
}

/// The program with most unread bytes, and what it has not read of each service.
fn unread<'a>(cx: &'a Context<'_>) -> Option<(&'a str, BTreeMap<String, Pile<'a>>)> {
    let connected = |socket: &&Socket| {
        matches!(socket.state, SocketState::Established | SocketState::CloseWait)
    };
    let program_of = |socket: &'a Socket| {
        socket.program.as_deref().unwrap_or("a program that the listing does not name")
    };
    let all: Vec<&Socket> = cx.host.sockets.iter().filter(connected).collect();
    let waiting = || all.iter().copied().filter(|socket| socket.receive_queue > 0);
    let mut programs: BTreeMap<&str, Pile<'_>> = BTreeMap::new();
    for socket in waiting() {
        Pile::put(&mut programs, program_of(socket), socket, socket.receive_queue);
    }
    // One pile for each service of each program would be many for a large listing.
    let (program, _) = programs.into_iter().max_by_key(|(_, pile)| pile.bytes)?;
    let ends = ends(&all);
    let mut services = BTreeMap::new();
    for socket in waiting().filter(|socket| program_of(socket) == program) {
        Pile::put(&mut services, service_of(socket, &ends), socket, socket.receive_queue);
    }
    Some((program, services))
}

/// Does a program read its connections too slowly?
pub(super) fn reader(cx: &Context<'_>) -> Answer {
    if cx.host.sockets.is_empty() {
        return Answer::unknown(&[SOCKETS]);
    }
    let Some((program, all)) = unread(cx) else {
        let text =
            format!("no unread bytes on {}", counted(cx.host.sockets.len(), "socket", "sockets"));
        return Answer::no(vec![Evidence::derived(text)]);
    };
    let sockets: usize = all.values().map(|pile| pile.sockets).sum();
    let sum = all.values().fold(0, |sum: u64, pile| sum.saturating_add(pile.bytes)) as f64;
    let name = program
        .split_once('/')
        .map_or_else(|| program.to_owned(), |(pid, name)| format!("{name} (PID {pid})"));
    let unread = write::counted(sum, "byte", "bytes");
    let on = counted(sockets, "connection", "connections");
    let text = format!("{name} has not read {unread} on {on}");
    let mut evidence = Vec::new();
    for (service, pile) in &all {
        if evidence.is_empty() {
            evidence.push(quote(pile.first, format!("Recv-Q: {text}")));
        }
        if evidence.len() > SERVICES_MAX {
            let more = all.len() - SERVICES_MAX;
            evidence.push(Evidence::derived(format!(
                "the rest with {}",
                counted(more, "more service", "more services")
            )));
            break;
        }
        let bytes = write::number(pile.bytes as f64);
        let text = match all.len() {
            1 => format!("all {} with {service}", pile.sockets),
            _ => format!("{} of them with {service}: {bytes} bytes", pile.sockets),
        };
        evidence.push(quote(pile.first, text));
    }
    let piled =
        sockets as f64 >= cx.limit(T::ReceiveQueueSockets) && sum >= cx.limit(T::ReceiveQueueBytes);
    let one = sum >= cx.limit(T::ReceiveQueueOneBytes);
    let follows = "the bytes are here and wait: the reader is too slow, not the network";
    Answer::when(piled || one, 0.6, evidence).backed([Evidence::derived(follows)])
}

/// Does a peer, or the network to it, take bytes too slowly?
pub(super) fn sender(cx: &Context<'_>) -> Answer {
    if cx.host.sockets.is_empty() {
        return Answer::unknown(&[SOCKETS]);
    }
    let mut peers: BTreeMap<&str, Pile<'_>> = BTreeMap::new();
    let connected = |socket: &&Socket| socket.state == SocketState::Established;
    for socket in cx.host.sockets.iter().filter(connected).filter(|s| s.send_queue > 0) {
        let peer = socket.remote.rsplit_once(':').map_or(socket.remote.as_str(), |(host, _)| host);
        Pile::put(&mut peers, peer, socket, socket.send_queue);
    }
    let Some((peer, pile)) = peers.iter().max_by_key(|(_, pile)| pile.bytes) else {
        let text = format!(
            "no unacknowledged bytes on {}",
            counted(cx.host.sockets.len(), "socket", "sockets")
        );
        return Answer::no(vec![Evidence::derived(text)]);
    };
    let (sum, first) = (pile.bytes as f64, pile.first);
    let text = format!(
        "Send-Q: {} to {peer} not acknowledged, on {}{}",
        write::counted(sum, "byte", "bytes"),
        counted(pile.sockets, "connection", "connections"),
        program(first)
    );
    let evidence = vec![quote(first, text)];
    Answer::when(sum >= cx.limit(T::SendQueueBytes), 0.5, evidence)
}
