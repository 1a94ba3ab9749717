//! What a line of a log says: values as they stand there, and the request that they make.

use super::part::{Part, PartSet, Parts};
use super::when::LogTime;

/// A unit of a time, as microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds, with decimals.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl Unit {
    /// One of it, in microseconds.
    const fn in_us(self) -> f64 {
        match self {
            Self::Seconds => 1e6,
            Self::Milliseconds => 1e3,
            Self::Microseconds => 1.0,
            Self::Nanoseconds => 1e-3,
        }
    }

    /// By its name; `None`: there is no such unit.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "s" | "sec" | "secs" | "second" | "seconds" => Self::Seconds,
            "ms" | "msec" | "msecs" | "millis" | "milliseconds" => Self::Milliseconds,
            "us" | "\u{b5}s" | "\u{3bc}s" | "usec" | "micros" | "microseconds" => {
                Self::Microseconds
            }
            "ns" | "nsec" | "nanos" | "nanoseconds" => Self::Nanoseconds,
            _ => return None,
        })
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
        }
    }
}

/// The longest time that is believed: a month. What is longer was written by a broken clock.
const LONGEST_US: f64 = 30.0 * 86_400.0 * 1e6;

/// A time that can be believed, whole.
fn believed(us: f64) -> Option<u64> {
    let fits = (0.0..=LONGEST_US).contains(&us);
    fits.then(|| hugewise_base::units::saturating_u64(us.round()))
}

/// A number at the start of a text, with the unit behind it where there is one: `12`, `+34`,
/// `0.120`, `9.29e-05`, `1.5s`, `12 ms`, `1m0.64s`. `None`: no number, or a negative one, which
/// HAProxy writes where a request did not come so far; and one with something behind it that is
/// not understood: it would be another time.
pub(super) fn time_us(text: &[u8], unit: Unit) -> Option<u64> {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let (number, behind) = number(text)?;
    let word = behind.split(|c| *c == b' ').find(|word| !word.is_empty()).unwrap_or_default();
    let own = std::str::from_utf8(word).ok().and_then(Unit::named);
    let bare = behind.starts_with(b" ") || word.iter().all(|c| b",;|\"')]}".contains(c));
    match own.or(bare.then_some(unit)) {
        Some(unit) => believed(number * unit.in_us()),
        None => compound_us(text),
    }
}

/// The number at the start of a text, and what is behind it.
fn number(text: &[u8]) -> Option<(f64, &[u8])> {
    let digits = |text: &[u8]| text.iter().take_while(|c| c.is_ascii_digit()).count();
    let is_number = |c: &&u8| c.is_ascii_digit() || **c == b'.';
    let mut end = text.iter().take_while(is_number).count();
    if let [b'e' | b'E', exponent @ ..] = text.get(end..)? {
        let sign = usize::from(matches!(exponent.first(), Some(b'+' | b'-')));
        let length = digits(exponent.get(sign..)?);
        end += if length > 0 { 1 + sign + length } else { 0 };
    }
    let (number, behind) = text.split_at_checked(end)?;
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, behind))
}

/// As Go writes what is longer than a minute: `1h2m3.5s`.
fn compound_us(mut text: &[u8]) -> Option<u64> {
    let mut us = 0.0;
    while !text.is_empty() {
        let (number, behind) = number(text)?;
        let end = behind.iter().position(u8::is_ascii_digit).unwrap_or(behind.len());
        let (name, rest) = behind.split_at_checked(end)?;
        us += number
            * match name {
                b"h" => 3600e6,
                b"m" => 60e6,
                _ => Unit::named(std::str::from_utf8(name).ok()?)?.in_us(),
            };
        text = rest;
    }
    believed(us)
}

/// The times of several tries of an upstream, as nginx lists them: `0.010, 0.200 : 0.1`, `-` for a
/// try that did not come so far. Source: `ngx_http_upstream_module`, `$upstream_addr` and
/// `$upstream_response_time`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tries {
    /// All but the last one.
    pub(super) earlier_us: u64,
    /// The last one, if it came so far.
    pub(super) last_us: Option<u64>,
    /// How many; 0: no upstream was asked.
    pub(super) count: u32,
}

impl Tries {
    /// Reads them; `None` where it is no such list.
    pub(super) fn read(text: &[u8], unit: Unit) -> Option<Self> {
        let text = text.trim_ascii();
        let mut tries = Self::default();
        if text.is_empty() || text == b"-" {
            return Some(tries);
        }
        for try_ in text.split(|c| matches!(c, b',' | b':')) {
            let try_ = try_.trim_ascii();
            tries.earlier_us = tries.earlier_us.saturating_add(tries.last_us.unwrap_or(0));
            tries.last_us = match try_ {
                b"-" | b"" => None,
                _ => Some(time_us(try_, unit)?),
            };
            tries.count = tries.count.saturating_add(1);
        }
        Some(tries)
    }
}

/// What a line says of one request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Values<'a> {
    /// When the request came.
    pub(super) start: Option<LogTime>,
    /// When it was done.
    pub(super) end: Option<LogTime>,
    /// Its whole time.
    pub(super) total_us: Option<u64>,
    /// Time before the request was complete that is no part of `total_us` (HAProxy's Tq).
    pub(super) before_us: Option<u64>,
    /// Until the request was received.
    pub(super) receive_us: Option<u64>,
    /// In the proxy's queue.
    pub(super) queue_us: Option<u64>,
    /// Connecting.
    pub(super) connect_us: Option<u64>,
    /// The line says that it never was connected (HAProxy's `-1`).
    pub(super) unconnected: bool,
    /// From connected to the first byte of the answer.
    pub(super) answer_us: Option<u64>,
    /// nginx: from the start of each try until it was connected.
    pub(super) tries_connect: Option<Tries>,
    /// nginx: from the start of each try to the first byte.
    pub(super) tries_header: Option<Tries>,
    /// nginx: each try from its start to its end.
    pub(super) tries_response: Option<Tries>,
    /// The upstream in one number.
    pub(super) upstream_us: Option<u64>,
    /// Until the first byte of the answer left the server (Apache's `%^FB`).
    pub(super) first_byte_us: Option<u64>,
    /// Sending the answer to the client.
    pub(super) transfer_us: Option<u64>,
    /// The time was written before the answer was complete (HAProxy's `option logasap`).
    pub(super) early: bool,
    /// A session of `mode tcp`: its whole time is no response time.
    pub(super) session: bool,
    /// The log has timers of HAProxy, which do not come so far for each request.
    pub(super) timers: bool,
    /// Status of the answer; `None`: none was sent.
    pub(super) status: Option<u16>,
    /// The client says that it failed.
    pub(super) failed: bool,
    /// `GET /path HTTP/1.1`.
    pub(super) request: Option<&'a [u8]>,
    /// The method alone.
    pub(super) method: Option<&'a [u8]>,
    /// The path alone.
    pub(super) path: Option<&'a [u8]>,
    /// What a request was for, where that is no path: a statement without its literals.
    pub(super) endpoint: Option<&'a str>,
    /// Who answers: an upstream, a backend or a virtual host, and how well it says that.
    pub(super) service: Option<(u8, &'a [u8])>,
    /// The server of that backend.
    pub(super) server: Option<&'a [u8]>,
}

/// Where times disagree by more than this, clocks of a millisecond do not explain it: nginx's
/// clock is renewed with each round of its loop, and some of its numbers are rounded twice.
const ROUNDING_US: u64 = 20_000;

/// The times of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timed {
    /// The whole time.
    pub(super) total_us: u64,
    /// Its parts.
    pub(super) parts: Parts,
    /// Parts that the line tells.
    pub(super) told: PartSet,
    /// The parts are longer than the whole by more than rounding explains.
    pub(super) contradicts: bool,
}

impl Values<'_> {
    /// Whether it is no request but a connection of another protocol, which ends when somebody
    /// hangs up: after an upgrade (101), or one of TCP, as Envoy writes it.
    pub(super) fn is_connection(&self) -> bool {
        let unsaid = Some(&b"-"[..]);
        let of_tcp = self.status.is_none() && self.method == unsaid && self.path == unsaid;
        self.status == Some(101) || of_tcp
    }

    /// The whole time with its parts; `None` where the line has no time.
    pub(super) fn timed(&self) -> Option<Timed> {
        let (mut parts, mut told) = (Parts::default(), PartSet::default());
        let mut put = |part: Part, us: Option<u64>| {
            if let Some(us) = us {
                parts.add(part, us);
                told.insert(part);
            }
        };
        // All of its time was waiting for that.
        let waited = self.total_us.filter(|_| self.session && self.unconnected);
        put(Part::Receive, self.receive_us);
        put(Part::Queue, self.queue_us);
        put(Part::Connect, self.connect_us);
        let at = if self.queue_us.is_some() { Part::Connect } else { Part::Queue };
        put(at, waited.map(|us| us.saturating_sub(self.queue_us.unwrap_or(0))));
        put(Part::FirstByte, self.answer_us);
        put(Part::Upstream, self.upstream_us);
        put(Part::Server, self.first_byte_us);
        put(Part::Transfer, self.transfer_us);
        self.put_tries(&mut put);
        let total_us = match (self.total_us, self.before_us) {
            // Until it was connected, or given up.
            _ if self.session => parts.sum(),
            (Some(total), before) => total.saturating_sub(before.unwrap_or(0)),
            // A log with the upstream's time only: all that is known.
            (None, _) if !self.timers && !told.is_empty() => parts.sum(),
            (None, _) => return None,
        };
        // Behind the first byte there is nothing but the rest of the answer.
        let answered = self.answer_us.is_some() || self.first_byte_us.is_some();
        let rest = match answered && !self.early {
            true => Part::Transfer,
            false => Part::Rest,
        };
        if rest == Part::Transfer {
            told.insert(Part::Transfer);
        }
        let excess = parts.fit(total_us, rest);
        let contradicts = excess > ROUNDING_US && excess > total_us / 20;
        Some(Timed { total_us, parts, told, contradicts })
    }

    /// The tries of nginx. Its three times of a try all count from the start of that try
    /// (`ngx_http_upstream.c`), so that each holds those before it.
    fn put_tries(&self, put: &mut impl FnMut(Part, Option<u64>)) {
        let Some(response) = self.tries_response else {
            put(Part::Connect, self.tries_connect.map(|tries| tries.last_us.unwrap_or(0)));
            return;
        };
        let asked = response.count > 0;
        put(Part::EarlierTries, (response.count > 1).then_some(response.earlier_us));
        let last = response.last_us.unwrap_or(0);
        let within = |tries: Option<Tries>| tries.map(|tries| tries.last_us.map(|us| us.min(last)));
        let (connect, header) = (within(self.tries_connect), within(self.tries_header));
        // What did not come so far took all of its time before.
        let connected = connect.map(|connect| connect.unwrap_or(last));
        put(Part::Connect, connected);
        let behind = last.saturating_sub(connected.unwrap_or(0));
        match header {
            None => put(Part::Upstream, Some(behind)),
            Some(header) => {
                let first = header.unwrap_or(last).saturating_sub(connected.unwrap_or(0));
                let first = if asked { first } else { 0 };
                put(Part::FirstByte, Some(first));
                put(Part::Body, Some(behind.saturating_sub(first)));
            }
        }
    }

    /// When it was done, and for how long it was under way; `None` without a time.
    pub(super) fn end(&self, total_us: u64) -> Option<LogTime> {
        let later = |start: LogTime| {
            let whole = if self.session { self.total_us.unwrap_or(total_us) } else { total_us };
            let ms = whole.saturating_add(self.before_us.unwrap_or(0)) / 1000;
            LogTime { ms: start.ms.saturating_add_unsigned(ms), ..start }
        };
        self.end.or_else(|| self.start.map(later))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(timed: &Timed) -> Vec<(Part, u64)> {
        let all = Part::ALL.map(|part| (part, timed.parts.get(part)));
        all.into_iter().filter(|(_, us)| *us > 0).collect()
    }

    #[test]
    fn tries_are_read_as_the_manual_says() {
        let read = |text: &str| Tries::read(text.as_bytes(), Unit::Seconds);
        let tries = |earlier_us, last_us, count| Some(Tries { earlier_us, last_us, count });
        assert_eq!(read("0.010, 0.200 : 0.1"), tries(210_000, Some(100_000), 3));
        assert_eq!(read("0.010"), tries(0, Some(10_000), 1));
        assert_eq!(read("-"), tries(0, None, 0));
        assert_eq!(read("-, 0.2"), tries(0, Some(200_000), 2));
        assert_eq!(read("0.2, -"), tries(200_000, None, 2));
        assert_eq!(read("soon"), None);
    }

    #[test]
    fn times_have_their_unit_or_the_formats() {
        let read = |text: &str, unit| time_us(text.as_bytes(), unit);
        assert_eq!(read("0.120", Unit::Seconds), Some(120_000));
        assert_eq!(read("+17514", Unit::Milliseconds), Some(17_514_000));
        assert_eq!(read("12ms", Unit::Seconds), Some(12_000));
        assert_eq!(read("250\u{b5}s", Unit::Seconds), Some(250));
        assert_eq!(read("48321000", Unit::Nanoseconds), Some(48_321));
        assert_eq!((read("-1", Unit::Milliseconds), read("", Unit::Seconds)), (None, None));
        assert_eq!(read("99999999999", Unit::Seconds), None);
        assert_eq!(read("12 ms", Unit::Seconds), Some(12_000));
        assert_eq!(read("0.120\"", Unit::Seconds), Some(120_000));
    }

    #[test]
    fn exponents_and_the_durations_of_go_are_read_whole() {
        let read = |text: &str| time_us(text.as_bytes(), Unit::Seconds);
        assert_eq!(
            (read("9.29e-05"), read("5.551e-6"), read("1E+1")),
            (Some(93), Some(6), Some(10_000_000))
        );
        assert_eq!(read("1m0.64s"), Some(60_640_000));
        assert_eq!(read("1h2m3.5s"), Some(3_723_500_000));
        assert_eq!((read("2.5\u{b5}s"), read("5m0s")), (Some(3), Some(300_000_000)));
        for strange in ["1,5", "12x", "0:12:33", "1m2", "5e", "3d", "1e999", "12kB"] {
            assert_eq!(read(strange), None, "{strange}");
        }
    }

    #[test]
    fn a_try_of_nginx_is_told_apart() {
        let tries = |text: &str| Tries::read(text.as_bytes(), Unit::Seconds);
        let values = Values {
            total_us: Some(500_000),
            tries_connect: tries("0.001, 0.010"),
            tries_header: tries("-, 0.150"),
            tries_response: tries("0.100, 0.250"),
            ..Values::default()
        };
        let timed = values.timed().expect("a time");
        let wanted = [
            (Part::EarlierTries, 100_000),
            (Part::Connect, 10_000),
            (Part::FirstByte, 140_000),
            (Part::Body, 100_000),
            (Part::Rest, 150_000),
        ];
        assert_eq!(parts(&timed), wanted);
        assert!(!timed.contradicts && timed.told.has(Part::Connect));
    }

    #[test]
    fn an_upstream_that_never_answered_took_its_time_before() {
        let tries = |text: &str| Tries::read(text.as_bytes(), Unit::Seconds);
        let mut values = Values {
            total_us: Some(3_000_000),
            tries_connect: tries("-"),
            tries_header: tries("-"),
            tries_response: tries("3.000"),
            ..Values::default()
        };
        let all = |values: &Values<'_>| parts(&values.timed().expect("a time"));
        assert_eq!(all(&values), [(Part::Connect, 3_000_000)]);
        values.tries_connect = tries("0.002");
        assert_eq!(all(&values), [(Part::Connect, 2000), (Part::FirstByte, 2_998_000)]);
        values.tries_response = tries("-");
        assert_eq!(all(&values), [(Part::Rest, 3_000_000)]);
    }

    #[test]
    fn what_haproxy_did_not_reach_is_left() {
        let values = Values {
            total_us: Some(30_000_000),
            receive_us: Some(0),
            queue_us: Some(29_999_000),
            timers: true,
            ..Values::default()
        };
        let timed = values.timed().expect("a time");
        assert_eq!(parts(&timed), [(Part::Queue, 29_999_000), (Part::Rest, 1000)]);
        assert!(!timed.told.has(Part::Transfer));
        let done = Values { connect_us: Some(0), answer_us: Some(0), ..values };
        assert!(done.timed().expect("a time").told.has(Part::Transfer));
    }

    #[test]
    fn parts_longer_than_the_whole_are_named() {
        let values =
            Values { total_us: Some(1_000_000), upstream_us: Some(2_000_000), ..Values::default() };
        let timed = values.timed().expect("a time");
        assert!(timed.contradicts && timed.parts.sum() == 1_000_000);
        let close = Values { upstream_us: Some(1_001_000), ..values };
        assert!(!close.timed().expect("a time").contradicts);
    }
}
