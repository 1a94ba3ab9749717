//! Apache's `LogFormat`: texts and `%` directives.
//!
//! Source: `mod_log_config` (`%t` is when the request was received, `%D` and `%T` how long serving
//! it took), `mod_logio` (`%^FB` until the first byte of the response headers).

use super::pieces::Pieces;
use super::slot::{Slot, What, rank};
use crate::response::values::Unit;

/// A directive: what stands before its letter, and the letter.
struct Directive<'a> {
    argument: Option<&'a str>,
    name: &'a str,
    rest: &'a str,
}

impl<'a> Directive<'a> {
    /// Behind the `%`: `>s`, `!200,304{Referer}i`, `^FB`, `{ms}T`.
    fn read(text: &'a str) -> Option<Self> {
        let is_condition = |c: char| c.is_ascii_digit() || matches!(c, '<' | '>' | '!' | ',');
        let text = text.trim_start_matches(is_condition);
        let (argument, text) = match text.strip_prefix('{') {
            Some(inner) => {
                let (argument, rest) = inner.split_once('}')?;
                (Some(argument), rest)
            }
            None => (None, text),
        };
        let long = text.starts_with('^');
        let end = if long { 3 } else { text.chars().next()?.len_utf8() };
        let (name, rest) = text.split_at_checked(end)?;
        Some(Self { argument, name, rest })
    }

    fn slot(&self) -> Slot {
        let argument = self.argument.unwrap_or_default();
        match self.name {
            "D" => Slot::time(What::Total, Unit::Microseconds),
            "T" => Slot::time(What::Total, Unit::named(argument).unwrap_or(Unit::Seconds)),
            "^FB" => Slot::time(What::FirstByte, Unit::Microseconds),
            "s" => Slot::of(What::Status),
            "r" => Slot::of(What::Request),
            "m" => Slot::of(What::Method),
            "U" => Slot::of(What::Path),
            "v" | "V" => Slot::of(What::Service(rank::HOST)),
            "e" if argument == "BALANCER_NAME" => Slot::of(What::Service(rank::NAME)),
            "e" if argument == "BALANCER_WORKER_NAME" => Slot::of(What::Service(rank::ADDRESS)),
            _ => Slot::of(What::Skip),
        }
    }
}

/// Reads a format; also a whole `LogFormat` directive.
pub(super) fn parse(text: &str) -> Pieces {
    let joined = directive(text);
    let text = joined.as_deref().unwrap_or(text);
    let mut pieces = Pieces::default();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        pieces.text(plain(before).as_bytes());
        if let Some(after) = behind.strip_prefix('%') {
            pieces.text(b"%");
            rest = after;
            continue;
        }
        let Some(found) = Directive::read(behind) else { break };
        match found.name {
            "t" => time(&mut pieces, found.argument),
            _ => pieces.field(found.slot()),
        }
        rest = found.rest;
    }
    pieces.text(plain(rest).as_bytes());
    pieces
}

/// `%t`, or `%{format}t`: seconds or parts of them since 1970, or a format of `strftime`, which is
/// read where it gives one of the usual forms.
fn time(pieces: &mut Pieces, argument: Option<&str>) {
    let Some(argument) = argument else {
        pieces.text(b"[");
        pieces.field(Slot::of(What::Start));
        pieces.text(b"]");
        return;
    };
    let (what, format) = match argument.strip_prefix("end:") {
        Some(format) => (What::End, format),
        None => (What::Start, argument.strip_prefix("begin:").unwrap_or(argument)),
    };
    // The fraction of a second alone.
    let alone = matches!(format, "msec_frac" | "usec_frac");
    pieces.field(Slot::of(if alone { What::Skip } else { what }));
}

/// What a configuration file writes with a backslash.
fn plain(text: &str) -> String {
    text.replace("\\\"", "\"").replace("\\t", "\t").replace("\\n", "")
}

/// The format within `LogFormat "..." nickname`; `None`: it is no directive.
fn directive(text: &str) -> Option<String> {
    let body = text.trim();
    let body = body.strip_prefix("LogFormat").or_else(|| body.strip_prefix("CustomLog"))?;
    let (_, quoted) = body.split_once('"')?;
    let mut escaped = false;
    let end = quoted.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    quoted.get(..end).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_is_its_format() {
        let format = r#"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-agent}i\" %D"#;
        let whole = format!("LogFormat \"{format}\" timed");
        assert_eq!(parse(&whole), parse(format));
        let line = b"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif \
            HTTP/1.0\" 200 2326 \"http://www.example.com/start.html\" \"Mozilla/4.08 [en] \
            (Win98)\" 412";
        let values = parse(format).read(line).expect("matches");
        assert_eq!((values.total_us, values.status), (Some(412), Some(200)));
        assert!(values.start.is_some() && values.end.is_none());
    }

    #[test]
    fn units_and_conditions_are_understood() {
        let unit = |text| parse(text).slots().next();
        assert_eq!(unit("%{ms}T"), Some(Slot::time(What::Total, Unit::Milliseconds)));
        assert_eq!(unit("%T"), Some(Slot::time(What::Total, Unit::Seconds)));
        assert_eq!(unit("%^FB"), Some(Slot::time(What::FirstByte, Unit::Microseconds)));
        assert_eq!(unit("%!200,304s"), Some(Slot::of(What::Status)));
        assert_eq!(unit("%{end:usec}t"), Some(Slot::of(What::End)));
        for broken in ["%", "%{", "%{x}", "a%^F", "%>"] {
            let _ = parse(broken);
        }
    }
}
