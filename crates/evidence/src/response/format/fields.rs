//! Lines that name their fields: JSON, and `key=value`.

use serde_json::Value;

use super::names;
use super::slot::{Slot, What, is_address, rank};
use crate::response::values::{Unit, Values};
use crate::response::when::moment;

/// Most fields of a line that are looked at.
const FIELDS_MAX: usize = 200;
/// How deep objects within objects are looked into: Caddy has `request.uri`.
const DEPTH_MAX: usize = 3;

/// The text of fields that mean something: what values of a line point into.
#[derive(Debug, Default)]
pub(in crate::response) struct Scratch {
    known: Vec<(What, Option<Unit>, String)>,
    /// The unit of times, where a name is one that a single program has.
    program: Option<Unit>,
    /// Dates under names that nobody knows: one of them is the time of a line that has no other.
    dates: Vec<String>,
}

impl Scratch {
    fn clear(&mut self) {
        self.known.clear();
        self.program = None;
        self.dates.clear();
    }

    /// A field, if it means something and nothing further out means the same.
    fn put(&mut self, name: &[u8], last: &[u8], text: &str, inner: bool) {
        let meaning = names::meaning(name).or_else(|| names::meaning(last));
        self.program = self.program.or_else(|| names::unit_of_program(name));
        match meaning {
            Some((what, _)) if inner && self.known.iter().any(|(own, ..)| *own == what) => {}
            Some((what, unit)) => self.known.push((what, unit, text.to_owned())),
            // nginx's log has the address of the upstream under this name as its makers write it;
            // others have the client's program there.
            None if name == b"ua" && is_address(text.as_bytes()) => {
                self.known.push((What::Service(rank::ADDRESS), None, text.to_owned()));
            }
            None if is_date(text) => self.dates.push(text.to_owned()),
            None => {}
        }
    }
}

/// Whether a text is a date with a time of day.
fn is_date(text: &str) -> bool {
    text.len() >= 19 && text.contains(':') && moment(text.as_bytes()).is_some()
}

/// How fields without a unit are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::response) struct Fields {
    /// The unit of the whole time where neither its name nor its program says one.
    pub(in crate::response) otherwise: Unit,
}

impl Fields {
    /// The values of a JSON object; `None`: it is none, or nothing in it means anything.
    pub(super) fn json<'a>(self, line: &[u8], scratch: &'a mut Scratch) -> Option<Values<'a>> {
        scratch.read_json(line)?;
        self.values(scratch)
    }

    /// The values of a line of `key=value`.
    pub(super) fn pairs<'a>(self, line: &[u8], scratch: &'a mut Scratch) -> Option<Values<'a>> {
        scratch.read_pairs(line);
        self.values(scratch)
    }

    fn values<'a>(self, scratch: &'a Scratch) -> Option<Values<'a>> {
        let mut values = Values::default();
        // Traefik and Envoy say the unit of the upstream's time by its name, and write both alike.
        let upstream = scratch.known.iter().find(|(what, _, _)| *what == What::Upstream);
        let otherwise = upstream.and_then(|(_, unit, _)| *unit).or(scratch.program);
        let otherwise = otherwise.unwrap_or(self.otherwise);
        for (what, unit, text) in &scratch.known {
            // A field of this name with something else in it is another one.
            let _ = Slot::time(*what, unit.unwrap_or(otherwise)).take(text.as_bytes(), &mut values);
        }
        // Envoy's connections of TCP: in a line of text they stand as `"- - -" 0`.
        let unsaid = |what: &What| !scratch.known.iter().any(|(own, ..)| own == what);
        if scratch.known.iter().any(|(what, _, text)| *what == What::Status && text == "0")
            && [What::Method, What::Path, What::Request].iter().all(unsaid)
        {
            (values.method, values.path) = (Some(&b"-"[..]), Some(&b"-"[..]));
        }
        if values.start.is_none() && values.end.is_none() {
            values.end = scratch.dates.first().and_then(|date| moment(date.as_bytes()));
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

/// Whether the whole time of a line has decimals, where its name says no unit.
pub(super) fn undecided(line: &[u8]) -> Option<bool> {
    let mut scratch = Scratch::default();
    match is_json(line) {
        true => scratch.read_json(line)?,
        false => scratch.read_pairs(line),
    }
    let found = &scratch.known;
    let upstream = found.iter().any(|(what, unit, _)| *what == What::Upstream && unit.is_some());
    if upstream || scratch.program.is_some() {
        return None;
    }
    let total = found.iter().find(|(what, unit, _)| *what == What::Total && unit.is_none())?;
    let text = total.2.trim();
    let bare = text.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'e' | b'-'));
    // Where a number has an exponent, it is a small one.
    bare.then(|| text.contains(['.', 'e']))
}

impl Scratch {
    fn read_json(&mut self, line: &[u8]) -> Option<()> {
        self.clear();
        let object: Value = serde_json::from_slice(line).ok()?;
        self.flat(&object, &mut String::new(), 0);
        Some(())
    }

    fn read_pairs(&mut self, line: &[u8]) {
        self.clear();
        for (name, value) in Pairs(line).take(FIELDS_MAX) {
            self.put(name, name, &String::from_utf8_lossy(value), false);
        }
    }

    /// The fields of an object, and then those within others as `outer.inner`.
    fn flat(&mut self, value: &Value, name: &mut String, depth: usize) {
        let Value::Object(fields) = value else { return };
        for inner in [false, true] {
            for (own, value) in fields.iter().take(FIELDS_MAX) {
                if value.is_object() != inner || depth >= DEPTH_MAX {
                    continue;
                }
                let before = name.len();
                if depth > 0 {
                    name.push('.');
                }
                name.push_str(own);
                let last = own.rsplit('.').next().unwrap_or(own).as_bytes();
                match value {
                    Value::String(text) => self.put(name.as_bytes(), last, text, depth > 0),
                    Value::Number(number) => {
                        self.put(name.as_bytes(), last, &number.to_string(), depth > 0);
                    }
                    _ => self.flat(value, name, depth + 1),
                }
                name.truncate(before);
            }
        }
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
                self.0 = rest.get(quote_end(rest) + 1..)?;
                continue;
            }
            let start = before.iter().rposition(|c| !is_name(*c)).map_or(0, |at| at + 1);
            let name = before.get(start..)?;
            let value = match rest.strip_prefix(b"\"") {
                Some(inner) => {
                    let end = quote_end(inner);
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

/// Where a quoted text ends that may hold quotes behind a backslash.
pub(super) fn quote_end(text: &[u8]) -> usize {
    let mut escaped = false;
    let ends = |c: &u8| {
        let ends = *c == b'"' && !escaped;
        escaped = *c == b'\\' && !escaped;
        ends
    };
    text.iter().position(ends).unwrap_or(text.len())
}

/// Where a value without quotes ends: at a blank behind which no list continues.
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

/// A line's fields with the slots that they fill, for callers with text before them.
pub(super) fn named_slots(text: &[u8], otherwise: Unit) -> impl Iterator<Item = (Slot, &[u8])> {
    let known = Pairs(text).take(FIELDS_MAX);
    known.filter_map(move |(name, value)| {
        if name == b"ua" && is_address(value) {
            return Some((Slot::of(What::Service(rank::ADDRESS)), value));
        }
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
    fn traefiks_nanoseconds_are_known_where_nobody_was_asked() {
        let line = br#"{"DownstreamStatus":404,"Duration":204055,"Overhead":204055,
            "RequestMethod":"GET","RequestPath":"/","StartUTC":"2021-06-05T04:03:22.74Z",
            "level":"info","msg":"","time":"2021-06-05T04:03:22Z"}"#;
        let mut scratch = Scratch::default();
        let values = SECONDS.json(line, &mut scratch).expect("values");
        assert_eq!((values.total_us, values.status), (Some(204), Some(404)));
        assert!(undecided(line).is_none());
        let elastic = br#"{"event":{"duration":48321000},"http.response.status_code":200}"#;
        let values = SECONDS.json(elastic, &mut scratch).expect("values");
        assert_eq!(values.total_us, Some(48_321));
    }

    #[test]
    fn small_times_have_exponents() {
        let line = br#"{"ts":1646861401.52,"request":{"method":"GET","uri":"/"},
            "duration":0.000005551,"status":308}"#;
        let mut scratch = Scratch::default();
        let values = SECONDS.json(line, &mut scratch).expect("values");
        assert_eq!((values.total_us, undecided(line)), (Some(6), Some(true)));
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
    fn a_date_under_any_name_is_the_time_of_a_line_without_another() {
        let line = br#"{"t":"2026-11-26T08:53:28+00:00","status":"ok","status_code":200,
            "details":{"status":7},"request_time":0.026}"#;
        let mut scratch = Scratch::default();
        let values = SECONDS.json(line, &mut scratch).expect("values");
        assert_eq!((values.end.is_some(), values.status), (true, Some(200)));
        let both = br#"{"at":"2026-11-26T08:53:28Z","time":"2026-11-26T08:53:29Z","status":200}"#;
        let values = SECONDS.json(both, &mut scratch).expect("values");
        assert_eq!(values.end.map(|end| end.ms % 10_000), Some(9000));
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
