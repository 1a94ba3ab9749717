//! A process's mappings: read one by one for the manager, all at once for views.
//!
//! Whoever runs a program decides how many mappings it has (65,530 by default) and how long their
//! paths are (4 KiB): the manager keeps none of them, and reads on only while its budget lasts.

use crate::address_space::{self, SpaceFile};
use crate::bounded::BoundedLines;
use crate::root::Root;
use hugewise_base::parse::maps::{self, MapKind, MapName, MapRange, Part, Perms};
use hugewise_base::units::{Addr, Geometry};
use hugewise_manager::reason::SkipReason;
use std::io;

/// Where a mapping lies and whether it is a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First address.
    pub start: Addr,
    /// Address after the last byte.
    pub end: Addr,
    /// Why it is no candidate, if it is none.
    pub excluded: Option<SkipReason>,
    /// What it shows.
    pub part: Part,
    /// Program text: executable, of a file.
    pub text: bool,
}

impl Span {
    /// The aligned addresses in it that whole regions can lie in; empty when none fits.
    pub fn aligned(&self, geometry: Geometry) -> std::ops::Range<u64> {
        let huge = geometry.huge.0;
        let start = self.start.0.div_ceil(huge).saturating_mul(huge);
        let end = self.end.0 / huge * huge;
        start..end.max(start)
    }

    /// Whole regions in it.
    pub fn regions(&self, geometry: Geometry) -> u64 {
        let range = self.aligned(geometry);
        (range.end - range.start) / geometry.huge.0
    }

    pub(crate) fn of(range: MapRange) -> Self {
        let excluded = match range.kind {
            _ if range.perms.shared && !range.perms.write => Some(SkipReason::NotWritable),
            _ if range.perms.shared => Some(SkipReason::SharedMapping),
            MapKind::AnonShmem => Some(SkipReason::SharedMapping),
            MapKind::File => Some(SkipReason::FileMapping),
            MapKind::Special => Some(SkipReason::SpecialMapping),
            MapKind::Anonymous if !range.perms.write => Some(SkipReason::NotWritable),
            MapKind::Anonymous => None,
        };
        let perms = range.perms;
        let text = perms.execute && !perms.write && !perms.shared && range.kind == MapKind::File;
        Self { start: Addr(range.start), end: Addr(range.end), excluded, part: range.part, text }
    }
}

/// Whether anything may be done with it: address space that was only reserved is left out.
const fn used(perms: Perms) -> bool {
    perms.read || perms.write || perms.execute
}

/// Reads `/proc/PID/maps` line by line, in ascending order, with a buffer of one page. Between two
/// reads the kernel goes on behind the last address that it gave, whatever was mapped meanwhile.
#[derive(Debug)]
pub(crate) struct MapsReader(BoundedLines);

impl MapsReader {
    /// Starts at the lowest address.
    ///
    /// # Errors
    /// As the system says: `NotFound` when the process ended, `PermissionDenied`.
    pub(crate) fn open(root: &Root, pid: u32) -> io::Result<Self> {
        let file = address_space::open(root, pid, SpaceFile::Maps)?;
        Ok(Self(BoundedLines::new(file)))
    }

    /// The next mapping that may be used at all; `None` after the last one. Lines that make no
    /// sense are passed over.
    ///
    /// # Errors
    /// As the system says.
    pub(crate) fn next(&mut self) -> io::Result<Option<Span>> {
        while let Some(line) = self.0.next()? {
            if let Ok(range) = maps::range(line)
                && used(range.perms)
            {
                return Ok(Some(Span::of(range)));
            }
        }
        Ok(None)
    }
}

/// One mapping of a process, for views.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Where it lies.
    pub span: Span,
    /// Its name; untrusted text.
    pub label: String,
}

/// The mappings of this text of `maps`, ascending. Address space that was only reserved (no access
/// at all) is left out.
pub(crate) fn of_text(text: &[u8]) -> Vec<Mapping> {
    let entries = maps::parse(text).value.into_iter().filter(|entry| used(entry.perms));
    let one = |entry: maps::MapEntry| {
        let maps::MapEntry { start, end, perms, name, offset, inode, .. } = entry;
        let part = Part { offset, device: (entry.dev_major, entry.dev_minor), inode };
        let span = Span::of(MapRange { start, end, perms, kind: name.kind(), part });
        Mapping { span, label: label(name) }
    };
    let mut mappings: Vec<_> = entries.map(one).collect();
    mappings.sort_by_key(|mapping| mapping.span.start);
    mappings
}

fn label(name: MapName) -> String {
    match name {
        MapName::Anonymous => "anonymous".to_owned(),
        MapName::Heap => "[heap]".to_owned(),
        MapName::Stack => "[stack]".to_owned(),
        MapName::AnonNamed(name) => format!("[anon:{name}]"),
        MapName::AnonShmem(name) => format!("[anon_shmem:{name}]"),
        MapName::Special(name) | MapName::File(name) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;

    /// A root in which process 7 has these mappings.
    fn root_with(maps: &[u8]) -> (Scratch, Root) {
        let scratch = Scratch::new();
        fs::create_dir_all(scratch.join("proc/7")).expect("mkdir");
        fs::write(scratch.join("proc/7/maps"), maps).expect("write");
        let root = Root::at(&scratch);
        (scratch, root)
    }

    fn all(root: &Root) -> Vec<Span> {
        let mut reader = MapsReader::open(root, 7).expect("readable");
        std::iter::from_fn(|| reader.next().expect("readable")).collect()
    }

    /// Paths of 1,000 bytes were kept for each mapping: 73 MiB for one process of 62,000.
    #[test]
    fn long_paths_are_not_kept_and_read_as_others_are() {
        let path = "x".repeat(3_000);
        let mut text = String::new();
        for n in 0..500u64 {
            let start = (n + 1) << 24;
            text += &format!("{start:x}-{:x} rw-p 00000000 fe:00 9 /{path}\n", start + 0x1000);
        }
        text += "f0000000000-f0000400000 rw-p 00000000 00:00 0 \n";
        let (_scratch, root) = root_with(text.as_bytes());
        let mut reader = MapsReader::open(&root, 7).expect("readable");
        let mut count = 0;
        while let Some(span) = reader.next().expect("readable") {
            count += 1;
            assert_eq!(span.excluded.is_none(), count == 501, "{span:?}");
        }
        assert_eq!(count, 501);
    }

    #[test]
    fn the_streamed_spans_are_those_of_the_whole_text() {
        let text = b"1000-2000 r--p 00002000 fe:00 247278     /usr/bin/a b (deleted)\n\
            2000-3000 rw-p 00000000 00:00 0              [heap]\n\
            3000-4000 ---p 00000000 00:00 0 \n\
            4000-5000 rw-p 00000000 00:00 0 \n\
            nonsense\n\
            5000-6000 rw-s 00000000 00:01 3072           [anon_shmem:pool]\n\
            6000-7000 rw-p 00000000 00:00 0              [anon:arena: 1]\n\
            7000-8000 r--p 00000000 00:00 0 \n\
            8000-9000 rw-p 00000000 00:00 0              [stack]\n\
            9000-a000 rw-p 00000000 00:01 9              /[x]";
        let (_scratch, root) = root_with(text);
        let whole: Vec<_> = of_text(text).into_iter().map(|mapping| mapping.span).collect();
        assert_eq!(all(&root), whole);
        assert_eq!(whole.iter().filter(|span| span.excluded.is_none()).count(), 3);
    }
}
