//! What a program's file says about itself (elf(5)): its loader, the libraries that it names, and
//! whether the Go linker made it. Nothing is mapped or run; what is asked for is bounded.

use std::ops::Range;

/// The first bytes of every such file.
pub const MAGIC: &[u8; 4] = b"\x7fELF";

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;

/// The Go linker's own section (`cmd/link`, since Go 1.13; it stays in stripped programs).
const GO_SECTION: &[u8] = b".go.buildinfo";

/// Places of the table of sections in the head: where it begins, size and number of entries.
const SECTIONS: [(usize, usize); 3] = [(32, 40), (46, 58), (48, 60)];

/// More of one kind is not read: programs have a dozen program headers and some forty sections.
const ENTRIES_MAX: u64 = 4096;
/// The longest path (`PATH_MAX`), and the longest name of a library that is read.
const NAME_BYTES: u64 = 4096;
/// Most libraries that are named.
const LIBRARIES_MAX: usize = 256;
/// The longest table that is read.
const TABLE_BYTES: u64 = 1 << 20;

/// What is of interest of a program's file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Elf {
    /// The loader; `None`: linked statically.
    pub loader: Option<String>,
    /// Libraries that it names itself (`DT_NEEDED`), in its order.
    pub libraries: Vec<String>,
    /// Made by the Go linker.
    pub go: bool,
    /// Which Go made it, such as `go1.22.3`; `None` also of one before 1.18, which only points to
    /// it.
    pub go_version: Option<String>,
}

/// Bytes of the file; fewer, or none, where it ends.
pub type Read<'a> = &'a mut dyn FnMut(Range<u64>) -> Vec<u8>;

/// Reads the file; `None` where it is no ELF file. What lies outside of it, or makes no sense, is
/// left out.
pub fn parse(read: Read<'_>) -> Option<Elf> {
    let head = read(0..64);
    if !head.starts_with(MAGIC) {
        return None;
    }
    let wide = *head.get(4)? == 2;
    let form = Form { wide, big: *head.get(5)? == 2 };
    let segments = segments(form, &head, read);
    let text = |range: Range<u64>, read: Read<'_>| name(&read(range));
    let mut elf = Elf { go: is_go(form, &head, read), ..Elf::default() };
    if elf.go {
        elf.go_version = go_version(form, &head, read);
    }
    if let Some(segment) = segments.iter().find(|segment| segment.kind == PT_INTERP) {
        let end = segment.offset.saturating_add(segment.bytes.min(NAME_BYTES));
        elf.loader = Some(text(segment.offset..end, read)).filter(|loader| !loader.is_empty());
    }
    let Some(dynamic) = segments.iter().find(|segment| segment.kind == PT_DYNAMIC) else {
        return Some(elf);
    };
    let (names, strings) = dynamic_entries(form, dynamic, read);
    let Some(strings) = strings.and_then(|address| offset_of(&segments, address)) else {
        return Some(elf);
    };
    for at in names.into_iter().take(LIBRARIES_MAX) {
        let Some(start) = strings.checked_add(at) else { continue };
        let library = text(start..start.saturating_add(NAME_BYTES), read);
        if !library.is_empty() {
            elf.libraries.push(library);
        }
    }
    Some(elf)
}

/// Width and order of the numbers in a file.
#[derive(Debug, Clone, Copy)]
struct Form {
    wide: bool,
    big: bool,
}

impl Form {
    /// A number of so many bytes.
    fn number(self, bytes: &[u8], at: usize, width: usize) -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(width)?)?;
        let digits = bytes.iter().map(|byte| u64::from(*byte));
        let join = |number: u64, byte: u64| number << 8 | byte;
        Some(if self.big { digits.fold(0, join) } else { digits.rev().fold(0, join) })
    }

    /// One of two places, and a number of the width of an address there.
    fn address(self, bytes: &[u8], narrow_at: usize, wide_at: usize) -> Option<u64> {
        match self.wide {
            true => self.number(bytes, wide_at, 8),
            false => self.number(bytes, narrow_at, 4),
        }
    }

    /// A table as the head describes it: where it begins, size of an entry, number of entries.
    fn table(self, head: &[u8], places: [(usize, usize); 3]) -> Option<(u64, u64, u64)> {
        let [start, size, count] = places;
        let place = |(narrow, wide): (usize, usize)| if self.wide { wide } else { narrow };
        let start = self.address(head, start.0, start.1)?;
        let size = self.number(head, place(size), 2)?;
        let count = self.number(head, place(count), 2)?.min(ENTRIES_MAX);
        Some((start, size, count))
    }
}

/// A part of the file that is loaded, or describes what is.
#[derive(Debug)]
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
}

fn segments(form: Form, head: &[u8], read: Read<'_>) -> Vec<Segment> {
    let Some((start, size, count)) = form.table(head, [(28, 32), (42, 54), (44, 56)]) else {
        return Vec::new();
    };
    let whole = size.saturating_mul(count).min(TABLE_BYTES);
    let bytes = read(start..start.saturating_add(whole));
    let of = |entry: &[u8]| {
        Some(Segment {
            kind: u32::try_from(form.number(entry, 0, 4)?).ok()?,
            offset: form.address(entry, 4, 8)?,
            address: form.address(entry, 8, 16)?,
            bytes: form.address(entry, 16, 32)?,
        })
    };
    bytes.chunks(usize::try_from(size).unwrap_or(1).max(1)).filter_map(of).collect()
}

/// Where the names of libraries stand in the table of strings, and the table's address.
fn dynamic_entries(form: Form, part: &Segment, read: Read<'_>) -> (Vec<u64>, Option<u64>) {
    let width = if form.wide { 8 } else { 4 };
    let bytes = part.bytes.min(ENTRIES_MAX * 16);
    let bytes = read(part.offset..part.offset.saturating_add(bytes));
    let (mut names, mut strings) = (Vec::new(), None);
    for entry in bytes.chunks_exact(2 * width) {
        match (form.number(entry, 0, width), form.number(entry, width, width)) {
            (Some(0), _) => break,
            (Some(DT_NEEDED), Some(at)) => names.push(at),
            (Some(DT_STRTAB), address) => strings = address,
            _ => {}
        }
    }
    (names, strings)
}

/// Where an address lies in the file.
fn offset_of(segments: &[Segment], address: u64) -> Option<u64> {
    let holds = |segment: &&Segment| {
        let inside = address.checked_sub(segment.address);
        segment.kind == PT_LOAD && inside.is_some_and(|inside| inside < segment.bytes)
    };
    let segment = segments.iter().find(holds)?;
    segment.offset.checked_add(address - segment.address)
}

/// The names of all sections.
fn section_names(form: Form, head: &[u8], read: Read<'_>) -> Option<Vec<u8>> {
    let (start, size, _) = form.table(head, SECTIONS)?;
    let index = form.number(head, if form.wide { 62 } else { 50 }, 2)?;
    let at = start.checked_add(index.checked_mul(size)?)?;
    let entry = read(at..at.checked_add(size)?);
    let (offset, bytes) = (form.address(&entry, 16, 24)?, form.address(&entry, 20, 32)?);
    Some(read(offset..offset.saturating_add(bytes.min(TABLE_BYTES))))
}

/// Whether a section has the name that only the Go linker gives.
fn is_go(form: Form, head: &[u8], read: Read<'_>) -> bool {
    let names = section_names(form, head, read).unwrap_or_default();
    names.split(|byte| *byte == 0).any(|name| name == GO_SECTION)
}

/// What that section says of the version: after a head of 32 bytes, its length and text
/// (`debug/buildinfo`, since Go 1.18).
fn go_version(form: Form, head: &[u8], read: Read<'_>) -> Option<String> {
    const HEAD: &[u8] = b"\xff Go buildinf:";
    const INLINE: u8 = 2;
    let names = section_names(form, head, read)?;
    let at = names.windows(GO_SECTION.len()).position(|name| name == GO_SECTION)?;
    let (start, size, count) = form.table(head, SECTIONS)?;
    let whole = size.saturating_mul(count).min(TABLE_BYTES);
    let entries = read(start..start.saturating_add(whole));
    let mut entries = entries.chunks(usize::try_from(size).ok()?.max(1));
    let entry = entries.find(|entry| form.number(entry, 0, 4) == Some(at as u64))?;
    let offset = form.address(entry, 16, 24)?;
    let info = read(offset..offset.saturating_add(128));
    let flags = *info.get(15)?;
    let length = usize::from(*info.get(32)?);
    let text = info.get(33..33_usize.checked_add(length)?)?;
    // A length of two bytes is no version.
    let is_plain = info.starts_with(HEAD) && flags & INLINE != 0 && length < 0x80;
    let text = std::str::from_utf8(text).ok().filter(|text| is_plain && text.starts_with("go"))?;
    Some(text.to_owned())
}

/// The bytes up to the first zero.
fn name(bytes: &[u8]) -> String {
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Option<Elf> {
        parse(&mut |range| {
            let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(bytes.len());
            bytes.get(at(range.start)..at(range.end)).unwrap_or_default().to_vec()
        })
    }

    /// A 64-bit file of three segments and one section; numbers in the given order.
    fn sample(big: bool) -> Vec<u8> {
        let put = |bytes: &mut Vec<u8>, at: usize, width: usize, number: u64| {
            let wide = if big { number.to_be_bytes() } else { number.to_le_bytes() };
            let part = if big { &wide[8 - width..] } else { &wide[..width] };
            bytes[at..at + width].copy_from_slice(part);
        };
        let mut bytes = vec![0; 1024];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1 + u8::from(big)]);
        for (at, width, number) in
            [(32, 8, 64), (40, 8, 512), (54, 2, 56), (56, 2, 3), (58, 2, 64), (60, 2, 1)]
        {
            put(&mut bytes, at, width, number);
        }
        let segments = [(1, 0, 0x1000, 1024), (3, 300, 0, 18), (2, 340, 0, 64)];
        for (index, (kind, offset, address, size)) in segments.into_iter().enumerate() {
            let at = 64 + 56 * index;
            put(&mut bytes, at, 4, kind);
            put(&mut bytes, at + 8, 8, offset);
            put(&mut bytes, at + 16, 8, address);
            put(&mut bytes, at + 32, 8, size);
        }
        bytes[300..317].copy_from_slice(b"/lib/ld-musl.so.1");
        for (at, number) in [(340, 1), (348, 1), (356, 5), (364, 0x1000 + 420), (372, 1), (380, 9)]
        {
            put(&mut bytes, at, 8, number);
        }
        bytes[420..441].copy_from_slice(b"\0libone\0\0libtwo.so.2\0");
        put(&mut bytes, 512 + 24, 8, 700);
        put(&mut bytes, 512 + 32, 8, 32);
        bytes[700..720].copy_from_slice(b"\0.text\0.go.buildinfo");
        bytes
    }

    #[test]
    fn loader_libraries_and_linker_are_read_in_either_order() {
        for big in [false, true] {
            let elf = of(&sample(big)).expect("a program");
            assert_eq!(elf.loader.as_deref(), Some("/lib/ld-musl.so.1"));
            assert_eq!(elf.libraries, ["libone", "libtwo.so.2"]);
            assert!(elf.go);
        }
    }

    #[test]
    fn what_is_torn_or_lies_is_left_out() {
        let whole = sample(false);
        for end in 0..whole.len() {
            let _ = of(&whole[..end]);
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut lying = whole.clone();
                lying[at] = byte;
                let _ = of(&lying);
            }
        }
        assert_eq!(of(b"#!/bin/sh\n"), None);
        assert_eq!(of(b""), None);
    }
}
