//! The Common Log Format and what people put behind it.
//!
//! nginx's `combined` and Apache's `combined` are the same text; where a response time is logged,
//! it stands behind them. Which column is which follows from how it is written and from what must
//! be so: the whole time is the longest, and of one try of an upstream connecting ends before the
//! first byte comes, and that before the end.

use super::fields::{Pairs, named_slots, quote_end};
use super::names;
use super::slot::{Slot, What, is_address, is_whole, rank};
use crate::response::values::{Unit, Values, time_us};

/// Most columns behind the format that are looked at.
const COLUMNS_MAX: usize = 64;

/// What stands behind the Common Log Format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::response) struct Common {
    /// The meaning of each column, in order.
    columns: Vec<Slot>,
    /// The time of the line is when the request came, as Apache logs it.
    started: bool,
    /// A time that is not certain to be what it is taken for.
    pub(in crate::response) assumed: Option<&'static str>,
}

/// A line, taken apart.
struct AccessLine<'a> {
    vhost: Option<&'a [u8]>,
    time: &'a [u8],
    request: &'a [u8],
    status: &'a [u8],
    tail: &'a [u8],
}

impl<'a> AccessLine<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        let bracket = line.windows(2).position(|pair| pair == b" [")?;
        let (who, rest) = line.split_at_checked(bracket)?;
        let mut names = who.split(|c| *c == b' ').filter(|name| !name.is_empty());
        let (first, count) = (names.next()?, names.count() + 1);
        let rest = rest.get(2..)?;
        let end = rest.iter().position(|c| *c == b']')?;
        let (time, rest) = rest.split_at_checked(end)?;
        let rest = rest.strip_prefix(b"] \"")?;
        let end = quote_end(rest);
        let (request, rest) = rest.split_at_checked(end)?;
        let rest = rest.strip_prefix(b"\" ")?;
        let (status, rest) = rest.split_at_checked(3)?;
        let rest = rest.strip_prefix(b" ").or(rest.is_empty().then_some(rest))?;
        let bytes = rest.iter().position(|c| *c == b' ').unwrap_or(rest.len());
        let (bytes, tail) = rest.split_at_checked(bytes)?;
        let is_size = bytes == b"-" || bytes.iter().all(u8::is_ascii_digit);
        let vhost = (count > 3).then_some(first);
        is_size.then_some(Self { vhost, time, request, status, tail })
    }
}

/// The columns of a tail: quoted, in brackets, or up to a blank behind which no list continues.
struct Columns<'a>(&'a [u8]);

impl<'a> Iterator for Columns<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.0.trim_ascii_start();
        let (first, rest) = text.split_first()?;
        let end = match first {
            b'"' => quote_end(rest),
            b'[' => rest.iter().position(|c| *c == b']').unwrap_or(rest.len()),
            _ => {
                let end = list_end(text);
                self.0 = text.get(end..)?;
                return text.get(..end);
            }
        };
        self.0 = rest.get(end + 1..).unwrap_or_default();
        rest.get(..end)
    }
}

/// Where a column without quotes ends: `0.1, 0.2 : 0.3` is one.
fn list_end(text: &[u8]) -> usize {
    let mut inside = false;
    let mut last = b' ';
    for (at, c) in text.iter().enumerate() {
        match c {
            b'"' => inside = !inside,
            b' ' if !inside => {
                let behind = text.get(at + 1..).unwrap_or_default();
                let goes_on = matches!(last, b',' | b':') || behind.starts_with(b": ");
                if !goes_on {
                    return at;
                }
            }
            _ => {}
        }
        last = *c;
    }
    text.len()
}

/// How a column of some lines is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// Seconds with decimals, or a list of them.
    Seconds,
    /// Whole numbers.
    Whole,
    /// `10.0.0.1:8080`, or a list of them.
    Address,
    /// Anything else.
    Other,
}

fn written(cells: &[&[u8]]) -> Written {
    let real: Vec<&&[u8]> = cells.iter().filter(|cell| !matches!(**cell, b"-" | b"")).collect();
    let each = |is: fn(&[u8]) -> bool| {
        move |cell: &[u8]| {
            let parts = cell
                .split(|c| matches!(c, b',' | b' '))
                .filter(|part| !matches!(*part, b"" | b":" | b"-"));
            parts.clone().next().is_some() && parts.clone().all(is)
        }
    };
    let (seconds, addresses) = (each(is_seconds), each(is_address));
    if real.is_empty() {
        Written::Other
    } else if real.iter().all(|cell| seconds(cell)) {
        Written::Seconds
    } else if real.iter().all(|cell| is_whole(cell)) {
        Written::Whole
    } else if real.iter().all(|cell| addresses(cell)) {
        Written::Address
    } else {
        Written::Other
    }
}

/// `0.120`: nginx writes three decimals, others more.
fn is_seconds(cell: &[u8]) -> bool {
    let mut parts = cell.split(|c| *c == b'.');
    let (whole, decimals) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    is_whole(whole) && is_whole(decimals) && decimals.len() >= 3 && parts.next().is_none()
}

/// The time of a cell that is one time and no list.
fn seconds(cell: &[u8]) -> Option<u64> {
    time_us(cell, Unit::Seconds).filter(|_| is_seconds(cell))
}

impl Common {
    /// What the columns behind some lines mean; `None`: the lines are not of this format.
    pub(super) fn of(lines: &[&[u8]], otherwise: Option<Unit>) -> Option<Self> {
        let read: Vec<AccessLine<'_>> =
            lines.iter().filter_map(|line| AccessLine::read(line)).collect();
        if read.is_empty() {
            return None;
        }
        let rows: Vec<Vec<&[u8]>> =
            read.iter().map(|line| Columns(line.tail).take(COLUMNS_MAX).collect()).collect();
        // Of lines with another number of columns it is not known which is which.
        let mut widths: Vec<usize> = rows.iter().map(Vec::len).collect();
        widths.sort_unstable();
        let width = *widths.get(widths.len() / 2)?;
        let rows: Vec<&Vec<&[u8]>> = rows.iter().filter(|row| row.len() == width).collect();
        let cells = |column: usize| -> Vec<&[u8]> {
            rows.iter().filter_map(|row| row.get(column).copied()).collect()
        };
        let mut common = Self { columns: vec![Slot::of(What::Skip); width], ..Self::default() };
        let kinds: Vec<Written> = (0..width).map(|column| written(&cells(column))).collect();
        let of = |kind| (0..width).filter(|at| kinds.get(*at) == Some(&kind)).collect::<Vec<_>>();
        let named = read.iter().any(|line| has_named_time(line.tail));
        let (times, whole) = (of(Written::Seconds), of(Written::Whole));
        if !named && !times.is_empty() {
            common.set_seconds(&times, &rows);
        } else if let ([column], false) = (whole.as_slice(), named) {
            let unit = otherwise.unwrap_or(Unit::Microseconds);
            common.set(*column, Slot::time(What::Total, unit));
            common.started = true;
            common.assumed = otherwise.is_none().then_some(
                "the number behind the Common Log Format is taken for Apache's %D, in \
                 microseconds; '--format' or '--unit' say otherwise",
            );
        }
        if let Some(column) = of(Written::Address).first() {
            common.set(*column, Slot::of(What::Service(rank::ADDRESS)));
        }
        Some(common)
    }

    fn set(&mut self, column: usize, slot: Slot) {
        if let Some(own) = self.columns.get_mut(column) {
            *own = slot;
        }
    }

    /// The whole time is in the column that is never shorter than the others; of the others the
    /// longest is the whole try of an upstream.
    fn set_seconds(&mut self, times: &[usize], rows: &[&Vec<&[u8]>]) {
        let sum = |column: usize| -> u64 {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.filter_map(|cell| seconds(cell)).fold(0, u64::saturating_add)
        };
        let whole = |column: usize| {
            rows.iter().all(|row| row.get(column).is_some_and(|cell| seconds(cell).is_some()))
        };
        let total = times.iter().copied().filter(|column| whole(*column));
        // Of equal ones the first: `$request_time $upstream_response_time` is the usual order.
        let Some(total) = total.rev().max_by_key(|column| sum(*column)) else { return };
        self.set(total, Slot::time(What::Total, Unit::Seconds));
        let mut others: Vec<usize> = times.iter().copied().filter(|at| *at != total).collect();
        others.sort_by_key(|column| sum(*column));
        let slots: &[What] = match others.len() {
            3 => &[What::TriesConnect, What::TriesHeader, What::TriesResponse],
            _ => &[What::TriesResponse],
        };
        if others.len() == 2 || others.len() > 3 {
            self.assumed = Some(
                "not all times behind the Common Log Format are known: '--format' with your \
                 log_format says which they are",
            );
        }
        let places = others.iter().rev().zip(slots.iter().rev());
        places.for_each(|(column, what)| self.set(*column, Slot::time(*what, Unit::Seconds)));
    }

    /// The values of a line; `None`: it is not of this format.
    pub(super) fn read<'a>(&self, line: &'a [u8]) -> Option<Values<'a>> {
        let line = AccessLine::read(line)?;
        let mut values = Values::default();
        let when = if self.started { What::Start } else { What::End };
        let first = [
            (when, line.time),
            (What::Status, line.status),
            (What::Request, line.request),
            (What::Service(rank::HOST), line.vhost.unwrap_or(b"-")),
        ];
        for (what, text) in first {
            if !Slot::of(what).take(text, &mut values) {
                return None;
            }
        }
        if !line.tail.is_empty() {
            self.read_tail(line.tail, &mut values)?;
        }
        Some(values)
    }

    fn read_tail<'a>(&self, tail: &'a [u8], values: &mut Values<'a>) -> Option<()> {
        let useful = self.columns.iter().any(|slot| slot.what != What::Skip);
        if useful {
            let mut columns = Columns(tail);
            for slot in &self.columns {
                let cell = columns.next()?;
                if !slot.take(cell, values) {
                    return None;
                }
            }
            columns.next().is_none().then_some(())?;
        }
        if tail.contains(&b'=') {
            for (slot, text) in named_slots(tail, Unit::Seconds) {
                if slot.what != What::Start && slot.what != What::End {
                    slot.take(text, values);
                }
            }
        }
        Some(())
    }
}

/// Whether a time has its name before it: `rt=0.120`.
fn has_named_time(tail: &[u8]) -> bool {
    let mut named = Pairs(tail).filter_map(|(name, _)| names::meaning(name));
    named.any(|(what, _)| matches!(what, What::Total | What::TriesResponse))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "10.0.0.9 - frank [10/Oct/2000:13:55:36 -0700] \"GET /a\\\"b HTTP/1.0\" 200 \
                        2326 \"-\" \"Mozilla/4.08 [en] (Win98; I ;Nav)\"";

    fn of<'a>(tails: &[&str], lines: &'a mut Vec<String>) -> (Common, Values<'a>) {
        *lines = tails.iter().map(|tail| format!("{HEAD}{tail}")).collect();
        let lines: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        let common = Common::of(&lines, None).expect("such lines");
        let values = common.read(lines[0]).expect("matches");
        (common, values)
    }

    #[test]
    fn without_a_time_there_is_none() {
        let mut lines = Vec::new();
        let (_, values) = of(&[""], &mut lines);
        assert_eq!((values.status, values.timed()), (Some(200), None));
        assert_eq!(values.request, Some(&b"GET /a\\\"b HTTP/1.0"[..]));
        let common = Common::of(&[b"10.0.0.9 - - [x] \"GET /\" 404 -"], None).expect("such lines");
        assert!(common.read(b"10.0.0.9 - - [x] \"GET /\" 404 -").is_some());
        assert!(common.read(b"10.0.0.9 - - [x] GET / 404 -").is_none());
    }

    #[test]
    fn the_longer_time_is_the_whole() {
        for tails in [[" 0.300 0.200", " 0.100 0.100"], [" \"0.200\" \"0.300\"", " 0.1 0.1"]] {
            let mut lines = Vec::new();
            let (_, values) = of(&tails[..1], &mut lines);
            assert_eq!(values.total_us, Some(300_000), "{tails:?}");
            let tries = values.tries_response.expect("tries");
            assert_eq!(tries.last_us, Some(200_000));
            assert!(values.end.is_some());
        }
        let mut lines = Vec::new();
        let tails = [" 0.300 0.001, 0.002 0.100, 0.110 0.100, 0.190", " 0.200 - - -"];
        let (common, values) = of(&tails, &mut lines);
        assert_eq!(values.tries_connect.and_then(|tries| tries.last_us), Some(2000));
        assert_eq!(values.tries_response.map(|tries| tries.earlier_us), Some(100_000));
        assert_eq!(common.assumed, None);
    }

    #[test]
    fn a_whole_number_is_taken_for_apaches() {
        let mut lines = Vec::new();
        let (common, values) = of(&[" 41234"], &mut lines);
        assert_eq!((values.total_us, values.start.is_some()), (Some(41_234), true));
        assert!(common.assumed.is_some());
        let (common, values) = of(&[" 412 345"], &mut lines);
        assert_eq!((values.total_us, common.assumed), (None, None));
    }

    #[test]
    fn names_and_addresses_behind_it_are_known() {
        let mut lines = Vec::new();
        let tail =
            " \"-\" \"shop\" sn=\"shop\" rt=0.310 ua=\"10.1.1.1:80\" us=\"200\" ut=\"0.300\" cs=-";
        let (_, values) = of(&[tail], &mut lines);
        assert_eq!(values.total_us, Some(310_000));
        assert_eq!(values.tries_response.and_then(|tries| tries.last_us), Some(300_000));
        assert_eq!(values.service.map(|(_, name)| name), Some(&b"10.1.1.1:80"[..]));
        let (_, values) = of(&[" 0.310 10.1.1.1:80, 10.1.1.2:80 0.1, 0.2"], &mut lines);
        assert_eq!(values.service.map(|(_, name)| name), Some(&b"10.1.1.1:80, 10.1.1.2:80"[..]));
        let vhost = b"shop:443 10.0.0.9 - - [10/Oct/2000:13:55:36 -0700] \"GET / x\" 200 1";
        let values = Common::of(&[vhost], None).and_then(|common| common.read(vhost));
        assert_eq!(values.and_then(|values| values.service), Some((rank::HOST, &b"shop:443"[..])));
    }
}
