//! Lines that name their fields: JSON, and `key=value`.

use serde_json::Value;

use super::names;
use super::slot::{Slot, What};
use crate::evidence::response::values::{Unit, Values};

/// Most fields of a line that are looked at.
const FIELDS_MAX: usize = 200;
/// How deep objects within objects are looked into: Caddy has `request.uri`.
const DEPTH_MAX: usize = 3;

/// The text of fields that mean something: what values of a line point into.
#[derive(Debug, Default)]
pub(in crate::evidence::response) struct Scratch(Vec<(What, Option<Unit>, String)>);

/// How fields without a unit are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::evidence::response) struct Fields {
    /// The unit of the whole time where neither its name nor its program says one.
    pub(in crate::evidence::response) otherwise: Unit,
}

impl Fields {
    /// The values of a JSON object; `None`: it is none, or nothing in it means anything.
    pub(super) fn json<'a>(self, line: &[u8], scratch: &'a mut Scratch) -> Option<Values<'a>> {
        scratch.0.clear();
        let object: Value = serde_json::from_slice(line).ok()?;
        let mut name = String::new();
        flat(&object, &mut name, 0, &mut scratch.0);
        self.values(scratch)
    }

    /// The values of a line of `key=value`.
    pub(super) fn pairs<'a>(self, line: &[u8], scratch: &'a mut Scratch) -> Option<Values<'a>> {
        scratch.0.clear();
        for (name, value) in Pairs(line).take(FIELDS_MAX) {
            if let Some((what, unit)) = names::meaning(name) {
                scratch.0.push((what, unit, String::from_utf8_lossy(value).into_owned()));
            }
        }
        self.values(scratch)
    }

    fn values<'a>(self, scratch: &'a Scratch) -> Option<Values<'a>> {
        let mut values = Values::default();
        // Traefik and Envoy say the unit of the upstream's time by its name, and write both alike.
        let upstream = scratch.0.iter().find(|(what, _, _)| *what == What::Upstream);
        let otherwise = upstream.and_then(|(_, unit, _)| *unit).unwrap_or(self.otherwise);
        for (what, unit, text) in &scratch.0 {
            let slot = Slot::time(*what, unit.unwrap_or(otherwise));
            if !slot.take(text.as_bytes(), &mut values) {
                return None;
            }
        }
        let something = values.total_us.is_some() || values.status.is_some();
        something.then_some(values)
    }
}

/// Whether a line is a JSON object.
pub(super) fn is_json(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{")
}

/// Whether a line names its fields: a status, and at least two more that mean something.
pub(super) fn is_pairs(line: &[u8]) -> bool {
    let known = Pairs(line).take(FIELDS_MAX).filter_map(|(name, _)| names::meaning(name));
    let known: Vec<What> = known.map(|(what, _)| what).collect();
    known.len() >= 3 && (known.contains(&What::Status) || known.contains(&What::Total))
}

/// The whole time as a line has it, where its name says no unit: with decimals or without.
pub(super) fn undecided(line: &[u8]) -> Option<bool> {
    let mut found = Vec::new();
    if is_json(line) {
        let object: Value = serde_json::from_slice(line).ok()?;
        flat(&object, &mut String::new(), 0, &mut found);
    } else {
        for (name, value) in Pairs(line).take(FIELDS_MAX) {
            let meaning = names::meaning(name);
            let text = || String::from_utf8_lossy(value).into_owned();
            found.extend(meaning.map(|(what, unit)| (what, unit, text())));
        }
    }
    if found.iter().any(|(what, unit, _)| *what == What::Upstream && unit.is_some()) {
        return None;
    }
    let total = found.iter().find(|(what, unit, _)| *what == What::Total && unit.is_none())?;
    let text = total.2.trim();
    let bare = text.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'e' | b'-'));
    bare.then(|| text.contains('.'))
}

/// The fields of an object, those within others as `outer.inner`.
fn flat(
    value: &Value,
    name: &mut String,
    depth: usize,
    out: &mut Vec<(What, Option<Unit>, String)>,
) {
    let Value::Object(fields) = value else { return };
    for (own, value) in fields.iter().take(FIELDS_MAX) {
        let before = name.len();
        if depth > 0 {
            name.push('.');
        }
        name.push_str(own);
        let text = match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Object(_) if depth < DEPTH_MAX => {
                flat(value, name, depth + 1, out);
                None
            }
            _ => None,
        };
        // `request.method` is known by its whole name, and else by its last one.
        let meaning = || {
            let last = own.rsplit('.').next().unwrap_or(own);
            names::meaning(name.as_bytes()).or_else(|| names::meaning(last.as_bytes()))
        };
        if let Some((text, (what, unit))) = text.and_then(|text| Some((text, meaning()?))) {
            out.push((what, unit, text));
        }
        name.truncate(before);
    }
}

/// `key=value` and `key="value"`, with anything between them.
pub(super) struct Pairs<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let equals = self.0.iter().position(|c| matches!(c, b'=' | b'"'))?;
            let (before, behind) = self.0.split_at_checked(equals)?;
            let (mark, rest) = behind.split_first()?;
            if *mark == b'"' {
                // A quoted text that is no value.
                self.0 = rest.get(quoted(rest) + 1..)?;
                continue;
            }
            let start = before.iter().rposition(|c| !is_name(*c)).map_or(0, |at| at + 1);
            let name = before.get(start..)?;
            let value = match rest.strip_prefix(b"\"") {
                Some(inner) => {
                    let end = quoted(inner);
                    self.0 = inner.get(end + 1..).unwrap_or_default();
                    inner.get(..end)?
                }
                None => {
                    let end = bare(rest);
                    self.0 = rest.get(end..)?;
                    rest.get(..end)?
                }
            };
            if !name.is_empty() {
                return Some((name, value));
            }
        }
    }
}

const fn is_name(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.' | b'@')
}

/// Where a quoted text ends.
fn quoted(text: &[u8]) -> usize {
    let mut escaped = false;
    let ends = |c: &u8| {
        let ends = *c == b'"' && !escaped;
        escaped = *c == b'\\' && !escaped;
        ends
    };
    text.iter().position(ends).unwrap_or(text.len())
}

/// Where a value without quotes ends: at a blank that no list goes on behind.
fn bare(text: &[u8]) -> usize {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.iter().position(|c| *c == b' ')) {
        let at = from + at;
        let before = text.get(..at).unwrap_or_default();
        let behind = text.get(at + 1..).unwrap_or_default();
        let goes_on =
            before.ends_with(b",") || before.ends_with(b" :") || behind.starts_with(b": ");
        if !goes_on {
            return at;
        }
        from = at + 1;
    }
    text.len()
}

/// A line's fields with the slots that they fill, for whoever has text before them.
pub(super) fn named_slots(text: &[u8], otherwise: Unit) -> impl Iterator<Item = (Slot, &[u8])> {
    let known = Pairs(text).take(FIELDS_MAX);
    known.filter_map(move |(name, value)| {
        let (what, unit) = names::meaning(name)?;
        Some((Slot::time(what, unit.unwrap_or(otherwise)), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECONDS: Fields = Fields { otherwise: Unit::Seconds };

    #[test]
    fn traefiks_nanoseconds_are_known() {
        let line = br#"{"DownstreamStatus":200,"Duration":48321000,"OriginDuration":48200000,
            "Overhead":121000,"RequestMethod":"GET","RequestPath":"/gasolineras/10918",
            "ServiceName":"trafico-live@docker","StartUTC":"2026-04-17T17:29:18Z"}"#;
        let mut scratch = Scratch::default();
        let values = SECONDS.json(line, &mut scratch).expect("values");
        assert_eq!((values.total_us, values.upstream_us), (Some(48_321), Some(48_200)));
        assert_eq!(values.service.map(|(_, name)| name), Some(&b"trafico-live@docker"[..]));
        assert!(values.start.is_some() && undecided(line).is_none());
    }

    #[test]
    fn caddys_request_lies_deeper() {
        let line = br#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access",
            "request":{"method":"GET","host":"localhost","uri":"/a?b"},"duration":0.000929675,
            "size":10900,"status":200}"#;
        let mut scratch = Scratch::default();
        let values = SECONDS.json(line, &mut scratch).expect("values");
        assert_eq!((values.total_us, values.status), (Some(930), Some(200)));
        assert_eq!((values.method, values.path), (Some(&b"GET"[..]), Some(&b"/a?b"[..])));
        assert_eq!(undecided(line), Some(true));
    }

    #[test]
    fn envoys_milliseconds_are_known() {
        let line = br#"{"start_time":"2026-11-26T12:00:00.123Z","method":"GET","path":"/a",
            "response_code":200,"duration":17,"upstream_service_time":"15",
            "upstream_cluster":"outbound|80||a"}"#;
        let mut scratch = Scratch::default();
        let values = SECONDS.json(line, &mut scratch).expect("values");
        assert_eq!((values.total_us, values.upstream_us), (Some(17_000), Some(15_000)));
    }

    #[test]
    fn pairs_may_hold_blanks_and_lists() {
        let line =
            br#"time="2026-11-26T12:00:00Z" msg="a=b \" c" status=200 rt=0.310 uct="0.001, -"
            urt=0.100, 0.200 : 0.010 path=/a"#;
        let all: Vec<_> = Pairs(line).map(|(name, _)| String::from_utf8_lossy(name)).collect();
        assert_eq!(all, ["time", "msg", "status", "rt", "uct", "urt", "path"]);
        let mut scratch = Scratch::default();
        let values = SECONDS.pairs(line, &mut scratch).expect("values");
        assert_eq!(values.total_us, Some(310_000));
        assert_eq!(values.tries_response.map(|tries| tries.count), Some(3));
        assert!(is_pairs(line) && !is_pairs(b"a=1 b=2 c=3"));
    }
}
