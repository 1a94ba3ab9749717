//! pprof: profiles of Go, and of what took its format over, as compressed messages
//! (`proto/profile.proto` of github.com/google/pprof).

use std::borrow::Cow;
use std::collections::BTreeMap;

use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::model::{FRAMES_MAX, Frame, Profile};
use super::script::is_kernels;
use crate::recording::{Builder, SourceKind};

/// Most bytes of a profile without its compression: an hour of a service with 1,000 goroutines has
/// fewer than 10 MB.
const BYTES_MAX: usize = 64 << 20;

/// Most strings, samples, locations and functions together: 16 to 64 bytes each.
const ITEMS_MAX: usize = 1 << 20;

/// Most fields of one of them, and most numbers of a field: a chain of calls has as many.
const FIELDS_MAX: usize = 1 << 16;

/// How gzip begins, and how many bytes its head has at least (RFC 1952).
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
const HEAD_BYTES: usize = 10;

/// The value of a field: a number, or bytes.
#[derive(Clone, Copy)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Seven bits a byte, the lowest first.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut all = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        all |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(all);
        }
    }
    None
}

fn bytes<'a>(rest: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(taken)
}

/// The next field of a message, by its number.
fn field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Value<'a>)> {
    let key = varint(rest)?;
    let value = match key & 7 {
        0 => Value::Number(varint(rest)?),
        1 => Value::Bytes(bytes(rest, 8)?),
        2 => {
            let length = varint(rest)?;
            Value::Bytes(bytes(rest, length)?)
        }
        5 => Value::Bytes(bytes(rest, 4)?),
        _ => return None,
    };
    Some((key >> 3, value))
}

/// All fields of a part of a profile. `None`: it is none, or has too many.
fn fields(mut rest: &[u8]) -> Option<Vec<(u64, Value<'_>)>> {
    let mut all = Vec::new();
    while !rest.is_empty() {
        all.push(field(&mut rest).filter(|_| all.len() < FIELDS_MAX)?);
    }
    Some(all)
}

/// The numbers of a field that is repeated: one by one, or packed together.
fn numbers(fields: &[(u64, Value<'_>)], wanted: u64) -> Option<Vec<u64>> {
    let mut all = Vec::new();
    for (number, value) in fields.iter().filter(|(number, _)| *number == wanted) {
        match (number, *value) {
            (_, Value::Number(value)) => all.push(value),
            (_, Value::Bytes(mut packed)) => {
                while !packed.is_empty() {
                    all.push(varint(&mut packed).filter(|_| all.len() < FIELDS_MAX)?);
                }
            }
        }
    }
    Some(all)
}

/// The last number of a field; 0 where it is left out, as its makers have it.
fn number(fields: &[(u64, Value<'_>)], wanted: u64) -> u64 {
    let found = fields.iter().rev().find(|(number, _)| *number == wanted);
    found.map_or(0, |(_, value)| if let Value::Number(value) = value { *value } else { 0 })
}

/// A profile whose messages refer to each other by number.
#[derive(Default)]
struct Messages<'a> {
    strings: Vec<&'a [u8]>,
    /// Type and unit of each value of a sample.
    types: Vec<(u64, u64)>,
    samples: Vec<&'a [u8]>,
    /// File names, by mapping.
    mappings: BTreeMap<u64, u64>,
    /// Mapping and functions, the innermost first, by location.
    locations: BTreeMap<u64, (u64, Vec<u64>)>,
    /// Names, by function.
    functions: BTreeMap<u64, u64>,
}

impl<'a> Messages<'a> {
    fn of(text: &'a [u8]) -> Option<Self> {
        let (mut all, mut rest, mut items) = (Self::default(), text, 0);
        while !rest.is_empty() {
            let (about, value) = field(&mut rest)?;
            let Value::Bytes(part) = value else { continue };
            items += 1;
            if items > ITEMS_MAX {
                return None;
            }
            if about == 6 {
                all.strings.push(part);
                continue;
            }
            if about == 2 {
                all.samples.push(part);
                continue;
            }
            let message = if matches!(about, 1 | 3..=5) { fields(part)? } else { continue };
            let id = number(&message, 1);
            match about {
                1 => all.types.push((id, number(&message, 2))),
                3 => drop(all.mappings.insert(id, number(&message, 5))),
                4 => {
                    let lines = message.iter().filter(|(number, _)| *number == 4);
                    let mut functions = Vec::new();
                    for (_, line) in lines {
                        let Value::Bytes(line) = line else { return None };
                        functions.push(number(&fields(line)?, 1));
                    }
                    all.locations.insert(id, (number(&message, 2), functions));
                }
                _ => drop(all.functions.insert(id, number(&message, 2))),
            }
        }
        Some(all)
    }

    fn string(&self, index: u64) -> Cow<'a, str> {
        let found = usize::try_from(index).ok().and_then(|index| self.strings.get(index));
        let text = String::from_utf8_lossy(found.copied().unwrap_or_default());
        match text.contains(char::is_control) {
            true => Cow::Owned(text.replace(char::is_control, "?")),
            false => text,
        }
    }

    /// Which of a sample's values counts, and what it is of: the last, as its own tool has it.
    fn event(&self) -> Option<(usize, String)> {
        let (kind, unit) = self.types.last()?;
        let name = self.string(*kind);
        // Go and others: `cpu`, in nanoseconds; or only `samples`.
        let time = name == "cpu" || name == "samples" && self.string(*unit) == "count";
        Some((self.types.len() - 1, if time { String::new() } else { name.into_owned() }))
    }

    fn profile(&self) -> Option<Profile> {
        let (at, event) = self.event()?;
        let counts = self.types.iter().position(|(kind, _)| self.string(*kind) == "samples");
        let mapped = self.mappings.values().next().map(|name| self.string(*name));
        let program = mapped.as_deref().and_then(|path| path.rsplit('/').next());
        let program = program.filter(|name| !name.is_empty()).unwrap_or("the program");
        let mut profile = Profile::of_event(&event);
        for sample in &self.samples {
            let sample = fields(sample)?;
            let values = numbers(&sample, 2)?;
            let mut names = Vec::new();
            for location in numbers(&sample, 1)? {
                let Some((mapping, functions)) = self.locations.get(&location) else { continue };
                let object = self.mappings.get(mapping).map(|name| self.string(*name));
                let kernel = object.is_some_and(|object| is_kernels(&object));
                for function in functions {
                    let name = self.functions.get(function).map(|name| self.string(*name));
                    names.push((name.unwrap_or(Cow::Borrowed("[unknown]")), kernel));
                }
                if names.len() >= FRAMES_MAX {
                    break;
                }
            }
            let frames = names.iter().rev();
            let frames = frames.map(|(name, kernel)| Frame { name, kernel: *kernel });
            let value = |at: usize| values.get(at).map_or(0.0, |value| *value as f64);
            profile.sampled(counts.map_or(1.0, value));
            profile.chain(program, &frames.collect::<Vec<_>>(), value(at));
        }
        (!self.samples.is_empty()).then_some(profile)
    }
}

/// What a gzip file holds, if that is at most this number of bytes.
fn unpacked(bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    decompress_to_vec_with_limit(deflated(bytes)?, most).ok()
}

/// What is behind the head of a gzip file.
fn deflated(bytes: &[u8]) -> Option<&[u8]> {
    if !bytes.starts_with(&GZIP) {
        return None;
    }
    let flags = *bytes.get(3)?;
    let mut rest = bytes.get(HEAD_BYTES..)?;
    if flags & 4 != 0 {
        let (length, after) = rest.split_first_chunk::<2>()?;
        rest = after.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    // A name, a comment, each up to a zero byte; then a checksum of the head.
    for flag in [8, 16] {
        if flags & flag != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = rest.get(end + 1..)?;
        }
    }
    rest.get(if flags & 2 == 0 { 0 } else { 2 }..)
}

/// Reads a profile of pprof; whether it is one.
pub(in crate::recording) fn read(input: &str, bytes: &[u8], out: &mut Builder) -> bool {
    let Some(text) = unpacked(bytes, BYTES_MAX) else { return false };
    let Some(profile) = Messages::of(&text).and_then(|messages| messages.profile()) else {
        return false;
    };
    out.input(input);
    out.begin(SourceKind::Stacks, 1);
    profile.put(out);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Field, Subject};

    fn message(number: u8, parts: &[&[u8]]) -> Vec<u8> {
        let all = parts.concat();
        let length = u8::try_from(all.len()).expect("short");
        [&[number << 3 | 2, length][..], &all].concat()
    }

    /// Strings, three samples of two functions, of which one is the kernel's.
    fn profile() -> Vec<u8> {
        let strings =
            ["", "cpu", "nanoseconds", "/opt/web", "main.run", "copy\n_page", "[kernel.kallsyms]"];
        let mut all = message(1, &[&[8, 1, 16, 2]]);
        for (chain, value) in [([2, 1], 30), ([1, 1], 60)] {
            all.extend(message(2, &[&message(1, &[&chain]), &message(2, &[&[value]])]));
        }
        all.extend(message(2, &[&[8, 2, 16, 10]]));
        all.extend(message(3, &[&[8, 1, 40, 3]]));
        all.extend(message(3, &[&[8, 2, 40, 6]]));
        for (id, name) in [(1, 4), (2, 5)] {
            all.extend(message(4, &[&[8, id, 16, id], &message(4, &[&[8, id, 16, 77]])]));
            all.extend(message(5, &[&[8, id, 16, name]]));
        }
        strings.iter().for_each(|text| all.extend(message(6, &[text.as_bytes()])));
        all
    }

    fn zipped(text: &[u8]) -> Vec<u8> {
        let deflated = miniz_oxide::deflate::compress_to_vec(text, 6);
        [&[0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3][..], b"name\0", &deflated, &[0; 8]].concat()
    }

    #[test]
    fn samples_by_function() {
        let mut builder = Builder::new();
        builder.read("cpu.pb.gz", &zipped(&profile())).expect("a profile");
        let recording = builder.finish();
        let value = |field, subject: &Subject| {
            recording.hosts[0].series[&field][subject][0].points[0].value
        };
        assert_eq!(value(Field::ProfileKernel, &Subject::Machine), 40.0);
        assert_eq!(value(Field::ProfileWeight, &Subject::Machine), 100.0);
        assert_eq!(value(Field::ProfileSamples, &Subject::Machine), 3.0);
        assert_eq!(value(Field::SymbolPercent, &Subject::Symbol("copy?_page".into())), 40.0);
    }

    #[test]
    fn what_is_no_profile_is_refused_without_a_panic() {
        let whole = profile();
        for end in 0..whole.len() {
            let _ = Messages::of(&whole[..end]).and_then(|messages| messages.profile());
        }
        let bytes = zipped(&whole);
        for end in 0..bytes.len() {
            read("x", &bytes[..end], &mut Builder::new());
        }
        for other in [&b"Mem: 1 2 3\n"[..], &[0xff; 40], &[]] {
            assert!(!read("x", &zipped(other), &mut Builder::new()));
        }
        let many = [2 << 3 | 2, 0].repeat(ITEMS_MAX + 1);
        assert!(Messages::of(&many).is_none() && Messages::of(&many[2..]).is_some());
        let bomb = zipped(&[0; 10_001]);
        assert!(unpacked(&bomb, 10_001).is_some() && unpacked(&bomb, 10_000).is_none());
    }
}
