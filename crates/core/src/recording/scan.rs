//! Finds out what a text is and hands its lines to the reader that knows them.

use super::build::Builder;
use super::readers::{self, Lines, Reader, Taken, capture};

/// An input that is no text this program can read as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Nothing, or only blanks.
    Empty,
    /// A binary file of sysstat, which `sadf` of the same version reads.
    SysstatBinary,
    /// A binary log of atop.
    AtopBinary,
    /// Compressed: with `gzip`, `xz`, `bzip2` or `zstd`.
    Compressed(&'static str),
    /// An archive, `tar` or `zip`.
    Archive(&'static str),
    /// Some other binary file.
    Binary(&'static str),
}

/// sysstat: `SYSSTAT_MAGIC` in sa.h, the same from 8.1 to 12.7, in either byte order.
const SYSSTAT_MAGIC: [[u8; 2]; 2] = [[0x96, 0xd5], [0xd5, 0x96]];
/// atop: `MYMAGIC` in rawlog.c, 0xfeedbeef.
const ATOP_MAGIC: [[u8; 4]; 2] = [[0xef, 0xbe, 0xed, 0xfe], [0xfe, 0xed, 0xbe, 0xef]];

/// What the bytes are, when they are no text.
#[must_use]
pub fn foreign(bytes: &[u8]) -> Option<Foreign> {
    const KNOWN: [(&[u8], Foreign); 7] = [
        (b"\x1f\x8b", Foreign::Compressed("gzip")),
        (b"\xfd7zXZ\0", Foreign::Compressed("xz")),
        (b"BZh", Foreign::Compressed("bzip2")),
        (b"\x28\xb5\x2f\xfd", Foreign::Compressed("zstd")),
        (b"PK\x03\x04", Foreign::Archive("zip")),
        (b"\x7fELF", Foreign::Binary("a program (ELF)")),
        (b"%PDF", Foreign::Binary("a PDF document")),
    ];
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Some(Foreign::Empty);
    }
    if SYSSTAT_MAGIC.iter().any(|magic| bytes.starts_with(magic)) {
        return Some(Foreign::SysstatBinary);
    }
    if ATOP_MAGIC.iter().any(|magic| bytes.starts_with(magic)) {
        return Some(Foreign::AtopBinary);
    }
    if let Some((_, known)) = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(*known);
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Some(Foreign::Archive("tar"));
    }
    // No text of any tool holds a zero byte.
    let start = &bytes[..bytes.len().min(64 << 10)];
    start.contains(&0).then_some(Foreign::Binary("a binary file"))
}

impl Builder {
    /// Reads a whole text, which may hold listings of several tools one after the other, or
    /// samples of `hugewise capture`. What nobody understands is noted.
    ///
    /// # Errors
    /// When it is no text.
    pub fn read(&mut self, input: &str, bytes: &[u8]) -> Result<(), Foreign> {
        if capture::is_capture(bytes) {
            let mut samples = capture::Capture::new(input);
            samples.take(bytes, self);
            samples.end(self);
            return Ok(());
        }
        if let Some(foreign) = foreign(bytes) {
            return Err(foreign);
        }
        self.input(input);
        if readers::read_json(bytes, self) {
            return Ok(());
        }
        self.read_lines(&String::from_utf8_lossy(bytes));
        Ok(())
    }

    fn read_lines(&mut self, text: &str) {
        let mut current: Option<Box<dyn Reader>> = None;
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let number = index + 1;
            self.at_line(number);
            if let Some(reader) = &mut current {
                if reader.take(line, self) == Taken::Yes {
                    continue;
                }
                reader.end(self);
                current = None;
            }
            if line.trim().is_empty() {
                continue;
            }
            current = readers::find(&Lines { all: &lines, at: index }, self);
            // The reader's first line may already hold data.
            let taken =
                current.as_mut().is_some_and(|reader| reader.take(line, self) == Taken::Yes);
            if !taken {
                current = None;
                self.unrecognised(number, line);
            }
        }
        if let Some(mut reader) = current {
            reader.end(self);
        }
    }
}
