//! Simulated services with a known fault: the answer must be right for any seed.

use std::fmt::Write as _;

use super::*;
use hugewise_base::calendar;
use hugewise_base::rng::Rng;
use hugewise_base::units::saturating_u64;
use std::ops::Range;

/// 2026-11-26 12:00:00 UTC.
const NOON_MS: u64 = 1_795_694_400_000;

/// What goes wrong from 120 s to 200 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The proxy may send less at a time: requests wait in its queue.
    SmallPool,
    /// The service takes longer for each.
    SlowService,
    /// The upstream's connections are lost at first: the kernel tries again after a second.
    Network,
    /// Some clients read slowly.
    SlowClient,
    /// One of two servers takes longer.
    OneServer,
    /// Nearly nothing is answered.
    Stall,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    at_us: u64,
    queue_us: u64,
    connect_us: u64,
    service_us: u64,
    transfer_us: u64,
    server: u64,
    endpoint: u64,
}

impl Request {
    const fn total_us(&self) -> u64 {
        self.queue_us + self.connect_us + self.service_us + self.transfer_us
    }
}

fn exponential(rng: &mut Rng, mean_us: f64) -> u64 {
    let uniform = (rng.below(1 << 40) as f64 + 0.5) / (1_u64 << 40) as f64;
    saturating_u64(-mean_us * uniform.ln())
}

/// A service of 16 slots with a request each 12 ms, for five minutes.
fn simulated(fault: Fault, seed: u64) -> Vec<Request> {
    let mut rng = Rng::new(seed);
    let mut slots = [0_u64; 16];
    let (mut at_us, mut all) = (0, Vec::new());
    while at_us < 300_000_000 {
        at_us += exponential(&mut rng, 12_000.0);
        let ill = (120_000_000..200_000_000).contains(&at_us);
        let now = if ill { fault } else { Fault::None };
        let server = rng.below(2);
        let slow = now == Fault::SlowService || (now == Fault::OneServer && server == 1);
        let mean_us = if slow { 160_000.0 } else { 40_000.0 };
        let mut service_us = exponential(&mut rng, mean_us) + 2000;
        if now == Fault::Stall {
            service_us += 200_000_000_u64.saturating_sub(at_us).min(40_000_000);
        }
        // Three of sixteen slots serve 70 of 83 requests a second.
        let open = if now == Fault::SmallPool { 3 } else { slots.len() };
        let free = slots[..open].iter_mut().min().expect("slots");
        let begin = at_us.max(*free);
        let limited = !matches!(now, Fault::Stall | Fault::SlowService | Fault::OneServer);
        if limited {
            *free = begin + service_us;
        }
        let lost = now == Fault::Network && rng.percent(30);
        all.push(Request {
            at_us,
            queue_us: if limited { begin - at_us } else { 0 },
            connect_us: if lost { 1_000_000 } else { rng.below(1000) },
            service_us,
            transfer_us: match now == Fault::SlowClient && rng.percent(50) {
                true => exponential(&mut rng, 900_000.0),
                false => rng.below(3000),
            },
            server,
            endpoint: rng.below(4),
        });
    }
    all.sort_by_key(|request| request.at_us + request.total_us());
    all
}

/// `26/Nov/2026:12:00:00`, with milliseconds.
fn clock(us: u64) -> (String, u64) {
    let ms = NOON_MS + us / 1000;
    let s = i64::try_from(ms / 1000).expect("a time");
    let (year, month, day) = calendar::date(s.div_euclid(calendar::DAY_S));
    assert_eq!(month, 11);
    let of_day = s.rem_euclid(calendar::DAY_S);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    (format!("{day:02}/Nov/{year}:{hour:02}:{minute:02}:{second:02}"), ms % 1000)
}

fn haproxy(all: &[Request]) -> String {
    let mut text = String::new();
    for request in all {
        let (time, ms) = clock(request.at_us);
        let [queue, connect, service, total] =
            [request.queue_us, request.connect_us, request.service_us, request.total_us()]
                .map(|us| us / 1000);
        let _ = writeln!(
            text,
            "10.0.1.2:33317 [{time}.{ms:03}] web app/srv{} 0/{queue}/{connect}/{service}/{total} \
             200 2750 - - ---- 1/1/1/1/0 0/0 \"GET /e{}/7 HTTP/1.1\"",
            request.server, request.endpoint
        );
    }
    text
}

fn nginx(all: &[Request]) -> String {
    let mut text = String::new();
    for request in all {
        let end_us = request.at_us + request.total_us();
        let (time, _) = clock(end_us);
        let s = |us: u64| format!("{}.{:03}", us / 1_000_000, us / 1000 % 1000);
        // A queue within the upstream looks like its work.
        let header = request.connect_us + request.queue_us + request.service_us;
        let _ = writeln!(
            text,
            "10.0.1.2 - - [{time} +0000] \"GET /e{}/7 HTTP/1.1\" 200 2750 \"-\" \"x\" {} {} {} {} \
             10.1.0.{}:80",
            request.endpoint,
            s(request.total_us()),
            s(request.connect_us),
            s(header),
            s(header),
            request.server
        );
    }
    text
}

fn answer(text: &str) -> Account {
    let mut tally = Tally::new(Options::default());
    tally.begin("x.log");
    text.lines().for_each(|line| tally.line(line.as_bytes()));
    account(tally, How { every_ms: None, margin: MARGIN, goal_us: None })
}

/// The episode that meets the fault.
fn found(account: &Account, fault: Fault, seed: u64) -> &Episode {
    let about = format!("{fault:?} {seed}: {:?}", account.episodes);
    let noon = i64::try_from(NOON_MS).expect("a time");
    let meets = |episode: &&Episode| {
        episode.span_ms.0 < noon + 200_000 && noon + 120_000 < episode.span_ms.1
    };
    let all: Vec<&Episode> = account.episodes.iter().filter(meets).collect();
    // What began later or ended sooner belongs to it.
    let longest = all.iter().max_by(|a, b| a.length_s.total_cmp(&b.length_s));
    let longest = longest.unwrap_or_else(|| panic!("{about}"));
    assert!(longest.length_s > 30.0, "{about}");
    assert!(account.episodes.len() <= 4, "{about}");
    longest
}

fn main_part(episode: &Episode) -> (Part, f64) {
    episode.parts.first().map(|added| (added.part, added.share)).expect("parts")
}

/// A fifth of them; all in `make soak`.
#[allow(clippy::disallowed_methods, reason = "the test itself asks how long it is to take")]
fn seeds(all: Range<u64>) -> impl Iterator<Item = u64> {
    all.step_by(if std::env::var_os("HUGEWISE_SOAK").is_some() { 1 } else { 5 })
}

#[test]
fn faults_behind_haproxy_are_told_apart() {
    let truths = [
        (Fault::SmallPool, Part::Queue),
        (Fault::SlowService, Part::FirstByte),
        (Fault::Network, Part::Connect),
        (Fault::SlowClient, Part::Transfer),
        (Fault::OneServer, Part::FirstByte),
        (Fault::Stall, Part::FirstByte),
    ];
    for seed in seeds(0..12) {
        for (fault, part) in truths {
            let account = answer(&haproxy(&simulated(fault, seed)));
            assert_eq!(account.inputs[0].left_out, 0);
            let episode = found(&account, fault, seed);
            let (main, share) = main_part(episode);
            assert!(main == part && share > 0.8, "{fault:?} {seed}: {:?}", episode.parts);
            let shares: f64 = episode.parts.iter().map(|added| added.share).sum();
            assert!((shares - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn faults_behind_nginx_are_told_apart() {
    let truths = [
        (Fault::SmallPool, Part::FirstByte),
        (Fault::SlowService, Part::FirstByte),
        (Fault::Network, Part::Connect),
        (Fault::SlowClient, Part::Rest),
    ];
    for seed in seeds(20..26) {
        for (fault, part) in truths {
            let account = answer(&nginx(&simulated(fault, seed)));
            let episode = found(&account, fault, seed);
            let (main, share) = main_part(episode);
            assert!(main == part && share > 0.8, "{fault:?} {seed}: {:?}", episode.parts);
        }
    }
}

#[test]
fn a_calm_service_is_calm() {
    for seed in seeds(40..70) {
        let all = simulated(Fault::None, seed);
        for text in [haproxy(&all), nginx(&all)] {
            let account = answer(&text);
            assert!(account.episodes.is_empty(), "{seed}: {:?}", account.episodes);
            assert_eq!((account.untold, account.partial), (None, false));
        }
    }
}

#[test]
fn the_server_that_is_slow_is_named() {
    for seed in seeds(80..90) {
        for text in [haproxy, nginx] {
            let account = answer(&text(&simulated(Fault::OneServer, seed)));
            let episode = found(&account, Fault::OneServer, seed);
            let servers =
                if episode.servers.is_empty() { &episode.services } else { &episode.servers };
            let first = servers.first().expect("servers");
            let named = ["app/srv1", "10.1.0.1:80"].contains(&first.name.as_str());
            assert!(named && first.share > 0.9, "{seed}: {servers:?}");
            // No endpoint stands out.
            let endpoint = episode.endpoints.first().expect("endpoints");
            assert!(endpoint.share < MAIN_SHARE, "{:?}", episode.endpoints);
            assert!(episode.mix_share < 0.1);
        }
    }
}

#[test]
fn load_and_time_say_which_kind_it_is() {
    for seed in seeds(100..106) {
        let shape = |fault| {
            let account = answer(&haproxy(&simulated(fault, seed)));
            let episode = found(&account, fault, seed);
            (episode.shape, episode.all_held_up)
        };
        assert_eq!(shape(Fault::SmallPool), (Shape::PilesUp, true), "{seed}");
        assert!(!shape(Fault::SlowClient).1, "{seed}");
    }
}

#[test]
fn requests_under_way_obey_littles_law() {
    let account = answer(&haproxy(&simulated(Fault::SlowService, 7)));
    let episode = found(&account, Fault::SlowService, 7);
    for traffic in [&episode.traffic, &episode.calm_traffic] {
        let (observed, derived) = (traffic.in_flight, traffic.in_flight_little);
        assert!((observed / derived - 1.0).abs() < 0.1, "{observed} {derived}");
    }
}

#[test]
fn all_parts_of_all_requests_are_their_time() {
    let all = simulated(Fault::SmallPool, 3);
    let account = answer(&haproxy(&all));
    let share: f64 = account.parts.iter().map(|part| part.share).sum();
    assert!((share - 1.0).abs() < 1e-9, "{:?}", account.parts);
    let requests: u64 = account.classes.iter().map(|class| class.requests).sum();
    assert_eq!(requests, all.len() as u64);
    let rows: u64 = account.rows.iter().map(|row| row.times.requests).sum();
    assert_eq!(rows, all.len() as u64);
    assert!((10..=60).contains(&account.rows.len()), "{}", account.rows.len());
}

#[test]
fn what_a_log_lacks_is_said_with_its_directive() {
    let lacks = |line: &str| answer(&format!("{line}\n").repeat(50)).lacks.join("\n");
    let head = "10.0.1.2 - - [26/Nov/2026:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\"";
    assert!(lacks(head).contains("$request_time"));
    assert!(lacks(head).contains("%D"));
    assert!(lacks(&format!("{head} 0.120")).contains("$upstream_header_time"));
    assert!(lacks(&format!("{head} 41234")).contains("%^FB"));
    assert_eq!(lacks(&format!("{head} 0.120 0.001 0.100 0.110")), "");
}

mod joined {
    use super::*;
    use crate::diagnose::{Thresholds, diagnose};
    use crate::recording::{Builder, Field, Recording, SourceKind, Stamp, Subject};

    /// `sar -u` from before noon on, each 10 s, busy from 120 s to 200 s, in the machine's time.
    fn sar(hour: i64) -> Recording {
        let mut text = String::from(
            "Linux 6.1.0-18-amd64 (web1) \t11/26/2026 \t_x86_64_\t(2 CPU)\n\n\
             11:59:50        CPU     %user     %nice   %system   %iowait    %steal     %idle\n",
        );
        for at in 0..30_i64 {
            let s = hour * 3600 + at * 10;
            let busy = (12..20).contains(&at);
            let user = if busy { 92.0 } else { 11.0 } + (at % 7) as f64 / 10.0;
            let idle = 100.0 - user - 3.0;
            let _ = writeln!(
                text,
                "{:02}:{:02}:{:02}        all     {user:.2}      0.00      2.00      1.00 \
                 \x20    0.00     {idle:.2}",
                s / 3600,
                s / 60 % 60,
                s % 60
            );
        }
        let mut builder = Builder::new();
        builder.read("sar.txt", text.as_bytes()).expect("sar");
        builder.finish()
    }

    fn joined(account: &Account, recording: &Recording) -> Joined {
        join(account, recording, &diagnose(recording, &Thresholds::default()))
    }

    #[test]
    fn what_moved_is_told() {
        // HAProxy says no zone: both are in the machine's time.
        let account = answer(&haproxy(&simulated(Fault::SlowService, 5)));
        let joined = joined(&account, &sar(12));
        assert_eq!(joined.unmatched, None);
        let named: Vec<&str> = joined.moved.iter().map(|moved| moved.name).collect();
        assert!(named.contains(&"CPU in programs"), "{named:?}");
        assert!(!named.contains(&"CPU in the kernel, without interrupts"), "{named:?}");
        assert!(joined.moved.iter().all(|moved| moved.p <= ALPHA));
        assert!(joined.episodes.iter().all(|beside| beside.covered));
    }

    #[test]
    fn events_that_come_together_are_told() {
        let noon = Stamp(i64::try_from(NOON_MS / 1000).expect("a time"));
        let mut builder = Builder::new();
        builder.input("gc.log");
        builder.begin(SourceKind::GcLog, 1);
        for at in (125..195).step_by(4) {
            builder.put(Field::GcPause, &Subject::Machine, Some(Stamp(noon.0 + at)), 400.0);
        }
        for at in (5..290).step_by(30) {
            builder.put(Field::Safepoint, &Subject::Machine, Some(Stamp(noon.0 + at)), 4.0);
        }
        let account = answer(&nginx(&simulated(Fault::SlowService, 5)));
        let joined = joined(&account, &builder.finish());
        assert_eq!(joined.unmatched, None, "{joined:?}");
        let keys: Vec<&str> = joined.events.iter().map(|it| it.field.about().key).collect();
        assert_eq!(keys, ["gc.pause_ms"], "{:?}", joined.events);
        assert_eq!(joined.events[0].calm, 0);
    }

    #[test]
    fn other_times_and_other_zones_are_said() {
        let account = answer(&haproxy(&simulated(Fault::SlowService, 5)));
        assert_eq!(joined(&account, &sar(3)).unmatched, Some(Unmatched::Apart));
        // nginx says its zone, so the recording's local time is known.
        let account = answer(&nginx(&simulated(Fault::SlowService, 5)));
        assert_eq!(joined(&account, &sar(12)).unmatched, None);
        let unknown = Account { clock: LogClock { utc: true, ..LogClock::default() }, ..account };
        assert_eq!(joined(&unknown, &sar(12)).unmatched, Some(Unmatched::ZoneUnknown));
        assert_eq!(joined(&unknown, &Builder::new().finish()).unmatched, Some(Unmatched::NoTimes));
    }
}
