//! HAProxy's `log-format`: texts, `%` variables and `%[expressions]`.
//!
//! Source: HAProxy's configuration manual, 8.2 (formats), 8.2.6 (variables) and 8.4 (timers, all in
//! milliseconds): `%Ta` = `%TR` + `%Tw` + `%Tc` + `%Tr` + `%Td`. `%t` and `%tr` are when the
//! connection was accepted and when the request came. `%Tq` holds the handshake and the idle time
//! before the request, and `%Tt` holds `%Tq`.

use super::pieces::Pieces;
use super::slot::{Slot, What, rank};
use crate::response::values::Unit;

/// Longest name of a variable (`%trl`, `%sslv`, `%hrl`).
const NAME_MAX: usize = 4;

/// What a variable means; `None`: there is none of this name.
fn variable(name: &str) -> Option<Slot> {
    let time = |what| Slot::time(what, Unit::Milliseconds);
    Some(match name {
        // `Ts` is in seconds, the others are dates.
        "t" | "tr" | "T" | "trg" | "Tl" | "trl" | "Ts" => Slot::of(What::Start),
        "Ta" | "Tu" => time(What::Total),
        "Tt" => time(What::Session),
        "Tq" => time(What::Before),
        "TR" => time(What::Receive),
        "Tw" => time(What::Queue),
        "Tc" => time(What::Connect),
        "Tr" => time(What::Answer),
        "ST" => Slot::of(What::Status),
        "r" => Slot::of(What::Request),
        "HM" => Slot::of(What::Method),
        "HU" | "HP" | "HPO" => Slot::of(What::Path),
        "b" => Slot::of(What::Service(rank::NAME)),
        "s" => Slot::of(What::Server),
        "B" | "CC" | "CS" | "H" | "HQ" | "HV" | "ID" | "Td" | "Th" | "Ti" | "U" | "ac" | "bc"
        | "bi" | "bp" | "bq" | "ci" | "cp" | "f" | "fc" | "fi" | "fp" | "ft" | "hr" | "hrl"
        | "hs" | "hsl" | "lc" | "ms" | "o" | "pid" | "rc" | "rt" | "sc" | "si" | "sp" | "sq"
        | "sslc" | "sslv" | "ts" | "tsc" | "Bi" | "Bp" | "Ci" | "Cp" | "Fi" | "Fp" | "Si"
        | "Sp" => Slot::of(What::Skip),
        _ => return None,
    })
}

/// Whether a format is HAProxy's and not Apache's: both begin their names with `%`.
pub(super) fn is_format(text: &str) -> bool {
    ["%TR", "%Tw", "%Tc", "%Tr", "%Ta", "%Tt", "%Tq", "%ST", "%ci", "%ft", "%HM", "%tr"]
        .iter()
        .any(|name| text.contains(name))
        || text.contains("%[")
        || text.contains("}o ")
}

/// Reads a format; also a whole `log-format` directive.
pub(super) fn parse(text: &str) -> Pieces {
    let joined = directive(text);
    let text = joined.as_deref().unwrap_or(text);
    let mut reader = Reader { pieces: Pieces::default(), quoted: false };
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        reader.pieces.text(before.replace("\\ ", " ").replace("\\\"", "\"").as_bytes());
        rest = reader.variable(behind);
    }
    reader.pieces.text(rest.replace("\\ ", " ").replace("\\\"", "\"").as_bytes());
    without_sessions(&reader.pieces)
}

/// In a format of HTTP `%Tt` is the whole time, with `%Tq` in it.
fn without_sessions(pieces: &Pieces) -> Pieces {
    let http = [What::Status, What::Request, What::Answer].iter().any(|what| pieces.has(*what));
    let has_total = pieces.has(What::Total);
    pieces.with(|slot| match slot.what {
        What::Session if has_total => Slot::of(What::Skip),
        What::Session if http => Slot { what: What::Total, ..slot },
        What::Before if has_total => Slot { what: What::Receive, ..slot },
        _ => slot,
    })
}

struct Reader {
    pieces: Pieces,
    /// `%{+Q}o` quotes all that follows.
    quoted: bool,
}

impl Reader {
    /// A variable, behind its `%`; returns what follows it.
    fn variable<'a>(&mut self, text: &'a str) -> &'a str {
        if let Some(rest) = text.strip_prefix('%') {
            self.pieces.text(b"%");
            return rest;
        }
        // `%(name)` gives the field a name, `%{flags}` says how it is written.
        let text = behind(text, '(', ')').map_or(text, |(_, rest)| rest);
        let (flags, text) = behind(text, '{', '}').unwrap_or(("", text));
        let quoted = (self.quoted || flags.contains("+Q")) && !flags.contains("-Q");
        if text.starts_with('[') {
            let rest = expression_end(text);
            self.field(quoted, Slot::of(What::Skip));
            return rest;
        }
        let most = text.chars().take(NAME_MAX).take_while(char::is_ascii_alphabetic).count();
        let known = |length: usize| Some((text.get(..length)?, text.get(length..)?));
        let found = (1..=most).rev().filter_map(known);
        let found = found.filter_map(|(name, rest)| Some((name, variable(name)?, rest))).next();
        let Some((name, slot, rest)) = found else { return text };
        match name {
            "o" => {
                self.quoted = quoted;
                return rest.strip_prefix(' ').unwrap_or(rest);
            }
            // Captured headers, which are written only where some are captured.
            "hr" | "hs" => {
                self.pieces.drop_blank();
                self.pieces.field(Slot::of(What::Skip));
            }
            _ => self.field(quoted, slot),
        }
        rest
    }

    fn field(&mut self, quoted: bool, slot: Slot) {
        let quote: &[u8] = if quoted { b"\"" } else { b"" };
        self.pieces.text(quote);
        self.pieces.field(slot);
        self.pieces.text(quote);
    }
}

/// What stands in brackets at the start, and what follows.
fn behind(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    text.strip_prefix(open)?.split_once(close)
}

/// What follows an expression, `[...]` with brackets in it.
fn expression_end(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return text.get(at + 1..).unwrap_or_default();
        }
    }
    ""
}

/// The format within `log-format "..."`; `None`: it is no directive.
fn directive(text: &str) -> Option<String> {
    let body = text.trim().strip_prefix("log-format")?.trim();
    let inner = body.strip_prefix('"').and_then(|body| body.strip_suffix('"'));
    Some(inner.unwrap_or(body).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::part::Part;

    /// `option httplog`, as the manual writes it out.
    const HTTPLOG: &str = "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc \
                           %ac/%fc/%bc/%sc/%rc %sq/%bq %hr %hs %{+Q}r";

    #[test]
    fn lines_of_the_manual_are_read() {
        let pieces = parse(HTTPLOG);
        let captured = b"10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 \
            10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} \"GET /index.html \
            HTTP/1.1\"";
        let values = pieces.read(captured).expect("matches");
        assert_eq!(values.total_us, Some(109_000));
        assert_eq!((values.receive_us, values.queue_us), (Some(10_000), Some(0)));
        assert_eq!((values.connect_us, values.answer_us), (Some(30_000), Some(69_000)));
        assert_eq!(values.service, Some((rank::NAME, &b"static"[..])));
        assert_eq!((values.server, values.status), (Some(&b"srv1"[..]), Some(200)));
        assert_eq!(values.request, Some(&b"GET /index.html HTTP/1.1"[..]));
        let plain = b"10.0.1.2:33317 [06/Feb/2009:12:14:14.655] fe static/<NOSRV> \
            10/-1/-1/-1/+109 -1 0 - - CR-- 1/1/1/1/0 0/0 \"<BADREQ>\"";
        let values = pieces.read(plain).expect("matches");
        assert_eq!((values.status, values.queue_us, values.server), (None, None, None));
        assert!(values.early && values.total_us == Some(109_000));
    }

    #[test]
    fn before_1_7_the_idle_time_is_no_part_of_the_time() {
        let pieces = parse("%ci:%cp [%t] %ft %b/%s %Tq/%Tw/%Tc/%Tr/%Tt %ST %B %{+Q}r");
        let line = b"::1:3 [06/Feb/2009:12:14:14.655] a b/c 5000/1/2/30/5040 200 7 \"GET / x\"";
        let timed = pieces.read(line).and_then(|values| values.timed()).expect("a time");
        assert_eq!(timed.total_us, 40_000);
    }

    #[test]
    fn a_session_counts_until_it_is_connected() {
        let pieces = parse("%ci:%cp [%t] %ft %b/%s %Tw/%Tc/%Tt %B %ts %ac/%fc/%bc/%sc/%rc %sq/%bq");
        let line = b"10.0.1.2:33313 [06/Feb/2009:12:12:51.443] fnt bck/srv1 0/3/5007 212 -- \
                     0/0/0/0/3 0/0";
        let timed = pieces.read(line).and_then(|values| values.timed()).expect("a time");
        assert_eq!(timed.total_us, 3000);
        // One that never was connected waited all the time.
        let waits = [("0/-1/9007", Part::Connect, 9007), ("-1/-1/30000", Part::Queue, 30_000_u64)];
        for (timers, part, ms) in waits {
            let line = String::from_utf8_lossy(line).replace("0/3/5007", timers);
            let timed = pieces.read(line.as_bytes()).and_then(|values| values.timed());
            let timed = timed.expect("a time");
            assert_eq!((timed.total_us, timed.parts.get(part)), (1000 * ms, 1000 * ms));
        }
    }

    #[test]
    fn directives_flags_and_expressions_are_understood() {
        let whole = format!("log-format \"{HTTPLOG} %[ssl_fc_sni,lower] x=%(n)[rand(3)]\"");
        assert!(is_format(&whole) && parse(&whole).has(What::Answer));
        assert!(!is_format("%h %l %u %t \\\"%r\\\" %>s %b %D"));
        for broken in ["%", "%{", "%[", "%(", "%zzzz", "log-format", "%[[[", "%{+Q}"] {
            let _ = parse(broken);
        }
    }
}
