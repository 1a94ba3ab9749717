//! `/proc/PID/maps` (proc_pid_maps(5)) and the header lines of smaps.

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, numbered_lines};

/// What a mapping may be used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Perms {
    /// `r`.
    pub read: bool,
    /// `w`.
    pub write: bool,
    /// `x`.
    pub execute: bool,
    /// `s`: changes are seen by everyone who maps the same object; `p` (false) copies on write.
    pub shared: bool,
}

/// What a mapping is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MapName {
    /// No name: private anonymous memory.
    Anonymous,
    /// `[heap]`.
    Heap,
    /// `[stack]`, of the main thread.
    Stack,
    /// `[anon:NAME]`: private memory named through `PR_SET_VMA_ANON_NAME` (Linux 5.17).
    AnonNamed(String),
    /// `[anon_shmem:NAME]`: shared anonymous memory named the same way (Linux 6.2).
    AnonShmem(String),
    /// Another name in brackets, with them: `[vdso]`, `[vvar]`, `[rollup]`.
    Special(String),
    /// A path, with the kernel's marks (` (deleted)`, `\012` for a line end); invalid UTF-8
    /// replaced.
    File(String),
}

/// What a mapping's name says about its memory, without the name: [`MapName`] for readers of many
/// lines that keep none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// No name, `[heap]` or `[anon:NAME]`: private anonymous memory.
    Anonymous,
    /// `[anon_shmem:NAME]`.
    AnonShmem,
    /// `[stack]`, or another name in brackets.
    Special,
    /// A path.
    File,
}

impl MapKind {
    fn from_bytes(name: &[u8]) -> Self {
        let bracketed = name.starts_with(b"[") && name.ends_with(b"]");
        match name {
            b"" | b"[heap]" => Self::Anonymous,
            _ if !bracketed => Self::File,
            _ if name.starts_with(b"[anon:") => Self::Anonymous,
            _ if name.starts_with(b"[anon_shmem:") => Self::AnonShmem,
            _ => Self::Special,
        }
    }
}

/// A mapping without its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapRange {
    /// First address, in bytes.
    pub start: u64,
    /// Address after the last byte; always above `start`.
    pub end: u64,
    /// What it may be used for.
    pub perms: Perms,
    /// What its name says.
    pub kind: MapKind,
    /// What it shows.
    pub part: Part,
}

/// The part of an object that a mapping shows from its first address on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Offset in the object, in bytes.
    pub offset: u64,
    /// Device of its file system: major and minor number; zeros for private anonymous memory.
    pub device: (u32, u32),
    /// Inode number; 0 for private anonymous memory.
    pub inode: u64,
}

impl MapName {
    /// What the name says about the memory.
    pub const fn kind(&self) -> MapKind {
        match self {
            Self::Anonymous | Self::Heap | Self::AnonNamed(_) => MapKind::Anonymous,
            Self::AnonShmem(_) => MapKind::AnonShmem,
            Self::Stack | Self::Special(_) => MapKind::Special,
            Self::File(_) => MapKind::File,
        }
    }

    fn from_bytes(name: &[u8]) -> Self {
        let name = String::from_utf8_lossy(name);
        let inside = |prefix: &str| {
            let rest = name.strip_prefix(prefix)?.strip_suffix(']')?;
            Some(rest.to_owned())
        };
        match name.as_ref() {
            "" => Self::Anonymous,
            "[heap]" => Self::Heap,
            "[stack]" => Self::Stack,
            _ => {
                if let Some(given) = inside("[anon:") {
                    Self::AnonNamed(given)
                } else if let Some(given) = inside("[anon_shmem:") {
                    Self::AnonShmem(given)
                } else if inside("[").is_some() {
                    Self::Special(name.into_owned())
                } else {
                    Self::File(name.into_owned())
                }
            }
        }
    }
}

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapEntry {
    /// First address, in bytes.
    pub start: u64,
    /// Address after the last byte; always above `start`.
    pub end: u64,
    /// What it may be used for.
    pub perms: Perms,
    /// Offset of `start` in the mapped object, in bytes.
    pub offset: u64,
    /// Major device number of the object's file system; 0 for anonymous memory.
    pub dev_major: u32,
    /// Minor device number.
    pub dev_minor: u32,
    /// Inode number; 0 for private anonymous memory.
    pub inode: u64,
    /// Its name.
    pub name: MapName,
}

impl MapEntry {
    /// Length in bytes.
    pub fn len_bytes(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// Reads the file: bytes, because a path may contain any.
pub fn parse(text: &[u8]) -> Parsed<Vec<MapEntry>> {
    let mut parsed = Parsed::<Vec<MapEntry>>::empty();
    for (number, line) in numbered_lines(text) {
        match map_line(line) {
            Ok(entry) => parsed.value.push(entry),
            Err(wanted) => parsed.note(ParseError::new("maps", number, line, wanted)),
        }
    }
    parsed
}

/// One line without its name; `line` may end anywhere in a name, a path can be 4 KiB long.
///
/// # Errors
/// What was wanted where it went wrong.
pub fn range(line: &[u8]) -> Result<MapRange, &'static str> {
    let mut rest = line;
    let (start, end, perms) = range_and_perms(&mut rest)?;
    let part = part(&mut rest)?;
    Ok(MapRange { start, end, perms, kind: MapKind::from_bytes(rest.trim_ascii()), part })
}

fn part(rest: &mut &[u8]) -> Result<Part, &'static str> {
    let offset = hex(next_word(rest)).ok_or("an offset in hexadecimal")?;
    let device = next_word(rest)
        .split_once(':')
        .and_then(|(major, minor)| Some((hex32(major)?, hex32(minor)?)));
    let device = device.ok_or("a device such as 'fe:00'")?;
    let inode = decimal(next_word(rest)).ok_or("an inode number")?;
    Ok(Part { offset, device, inode })
}

fn range_and_perms(rest: &mut &[u8]) -> Result<(u64, u64, Perms), &'static str> {
    let range = next_word(rest).split_once('-').and_then(|(start, end)| {
        let (start, end) = (hex(start)?, hex(end)?);
        (start < end).then_some((start, end))
    });
    let (start, end) = range.ok_or("an address range")?;
    let perms = perms(next_word(rest)).ok_or("permissions such as 'rw-p'")?;
    Ok((start, end, perms))
}

/// One line, or what was wanted where it went wrong.
pub(super) fn map_line(line: &[u8]) -> Result<MapEntry, &'static str> {
    let mut rest = line;
    let (start, end, perms) = range_and_perms(&mut rest)?;
    let Part { offset, device: (dev_major, dev_minor), inode } = part(&mut rest)?;
    // The kernel pads the name to a column; names never start with a blank.
    let name = MapName::from_bytes(rest.trim_ascii_start());
    Ok(MapEntry { start, end, perms, offset, dev_major, dev_minor, inode, name })
}

/// Takes the bytes up to the next blank; empty when they are no text or none are left.
fn next_word<'a>(rest: &mut &'a [u8]) -> &'a str {
    let text: &'a [u8] = rest;
    let end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
    *rest = text.get(end + 1..).unwrap_or_default();
    std::str::from_utf8(&text[..end]).unwrap_or_default()
}

fn hex(word: &str) -> Option<u64> {
    let digits_only = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digits_only { u64::from_str_radix(word, 16).ok() } else { None }
}

fn hex32(word: &str) -> Option<u32> {
    u32::try_from(hex(word)?).ok()
}

fn perms(word: &str) -> Option<Perms> {
    let &[read, write, execute, shared] = word.as_bytes() else {
        return None;
    };
    let is = |found: u8, set: u8, unset: u8| match found {
        _ if found == set => Some(true),
        _ if found == unset => Some(false),
        _ => None,
    };
    Some(Perms {
        read: is(read, b'r', b'-')?,
        write: is(write, b'w', b'-')?,
        execute: is(execute, b'x', b'-')?,
        shared: is(shared, b's', b'p')?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
56015add5000-56015add7000 r--p 00002000 fe:00 247278                     /usr/bin/a b (deleted)
56015b000000-56015b021000 rw-p 00000000 00:00 0                          [heap]
7f04d8000000-7f04da000000 rw-p 00000000 00:00 0 
7f04da000000-7f04da200000 rw-s 00000000 00:01 3072                       [anon_shmem:pool]
7f04da200000-7f04da400000 rw-p 00000000 00:00 0                          [anon:arena: 1]
7ffe188ab000-7ffe188cc000 rw-p 00000000 00:00 0                          [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    #[test]
    fn reads_ranges_and_names() {
        let parsed = parse(TEXT.as_bytes());
        assert_eq!(parsed.problems, []);
        let names: Vec<MapName> = parsed.value.iter().map(|entry| entry.name.clone()).collect();
        let expected = [
            MapName::File("/usr/bin/a b (deleted)".into()),
            MapName::Heap,
            MapName::Anonymous,
            MapName::AnonShmem("pool".into()),
            MapName::AnonNamed("arena: 1".into()),
            MapName::Stack,
            MapName::Special("[vsyscall]".into()),
        ];
        assert_eq!(names, expected);
        let first = &parsed.value[0];
        assert_eq!((first.offset, first.dev_major, first.inode), (0x2000, 0xfe, 247_278));
        assert_eq!(parsed.value[2].len_bytes(), 32 << 20);
        assert!(parsed.value[3].perms.shared && parsed.value[3].perms.write);
        assert!(parsed.value[6].perms.execute && !parsed.value[6].perms.read);
    }

    #[test]
    fn paths_need_not_be_text() {
        let line = b"1000-2000 r--p 00000000 fe:00 1    /tmp/\xff]";
        let name = map_line(line).map(|entry| entry.name);
        assert_eq!(name, Ok(MapName::File("/tmp/\u{fffd}]".into())));
    }

    #[test]
    fn says_which_part_is_wrong() {
        let cases = [
            ("2000-1000 r--p 0 0:0 0", "an address range"),
            ("+1000-2000 r--p 0 0:0 0", "an address range"),
            ("1000-2000 r--q 0 0:0 0", "permissions such as 'rw-p'"),
            ("1000-2000 r--p x 0:0 0", "an offset in hexadecimal"),
            ("1000-2000 r--p 0 0 0", "a device such as 'fe:00'"),
            ("1000-2000 r--p 0 0:0", "an inode number"),
            ("10000000000000000-2 r--p 0 0:0 0", "an address range"),
        ];
        for (line, wanted) in cases {
            assert_eq!(map_line(line.as_bytes()), Err(wanted), "{line}");
        }
    }
}
