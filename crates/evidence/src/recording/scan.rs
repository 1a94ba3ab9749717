//! Finds out what a text is and hands its lines to the reader that knows them.

use std::borrow::Cow;

use super::build::Builder;
use super::line_end::line_end;
use super::quoted::unquoted;
use super::readers::{self, LINES_AROUND, Lines, Reader, Taken, capture};

/// Longest line that is read, in bytes: `/proc/interrupts` of 8,192 CPUs has lines of 90 KiB.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Most lines that are held at a time.
const WINDOW_LINES: usize = 1024;

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
    // No text of any tool contains a zero byte.
    let start = &bytes[..bytes.len().min(64 << 10)];
    start.contains(&0).then_some(Foreign::Binary("a binary file"))
}

impl Builder {
    /// Reads a whole text, which may contain listings of several tools one after the other, or
    /// samples of `hugewise record`. What nobody understands is noted.
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
        self.read_lines(&unquoted(bytes));
        Ok(())
    }

    fn read_lines(&mut self, bytes: &[u8]) {
        let mut current: Option<Box<dyn Reader>> = None;
        let mut window = Window::new(bytes);
        while let Some(lines) = window.next() {
            let (number, line) = (lines.number(), lines.ahead(0));
            self.at_line(number);
            if let Some(reader) = &mut current {
                if reader.take(line, self) == Taken::Yes {
                    continue;
                }
                reader.end(self);
                current = None;
            }
            if line.trim().is_empty() {
                self.blank();
                continue;
            }
            current = readers::find(&lines, self);
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
        if let Some((first, lines)) = window.too_long {
            self.cut(format!(
                "{lines} lines longer than {} KiB, the first of them line {first}: they are \
                 passed over, no tool prints such lines",
                LINE_BYTES_MAX >> 10
            ));
        }
    }
}

/// A few lines of a text at a time: a list of all of them would be many times as large as a text
/// of short ones.
struct Window<'a> {
    rest: &'a [u8],
    lines: Vec<Cow<'a, str>>,
    /// Place and number of the next line.
    at: usize,
    number: usize,
    /// The number of the first line that is too long, and how many there are.
    too_long: Option<(usize, usize)>,
}

impl<'a> Window<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, lines: Vec::new(), at: 0, number: 1, too_long: None }
    }

    /// The next line, as `str::lines` has them.
    fn next(&mut self) -> Option<Lines<'_>> {
        if self.at + LINES_AROUND >= self.lines.len() {
            self.refill();
        }
        let (at, number) = (self.at, self.number);
        if at >= self.lines.len() {
            return None;
        }
        (self.at, self.number) = (at + 1, number + 1);
        Some(Lines { around: &self.lines, at, number })
    }

    fn refill(&mut self) {
        let passed = self.at.saturating_sub(LINES_AROUND);
        self.lines.drain(..passed);
        self.at -= passed;
        let first = self.number - self.at;
        while self.lines.len() < WINDOW_LINES && !self.rest.is_empty() {
            let end = line_end(self.rest);
            let (line, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = rest.get(1..).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.len() > LINE_BYTES_MAX {
                let number = first + self.lines.len();
                let (first, so_far) = self.too_long.unwrap_or((number, 0));
                self.too_long = Some((first, so_far + 1));
                self.lines.push(Cow::Borrowed(""));
            } else {
                // Nearly all lines are whole: finding where to mend one takes far longer.
                let whole = std::str::from_utf8(line).map(Cow::Borrowed);
                self.lines.push(whole.unwrap_or_else(|_| String::from_utf8_lossy(line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<String> {
        let mut window = Window::new(text);
        let mut found = Vec::new();
        while let Some(lines) = window.next() {
            assert_eq!(lines.number(), found.len() + 1);
            if let Some(above) = lines.above(1) {
                assert_eq!(Some(above), found.last().map(String::as_str));
            }
            found.push(lines.ahead(0).to_owned());
        }
        found
    }

    #[test]
    fn a_window_gives_the_lines_of_the_whole_text() {
        let many: String = (0..20_000).map(|number| format!("line {number}\r\n")).collect();
        for text in ["", "\n", "a", "a\n", "a\n\nb", "\n\n", "a\r\nb\r", &many] {
            let lines: Vec<&str> = text.lines().map(|l| l.trim_end_matches('\r')).collect();
            assert_eq!(all(text.as_bytes()), lines, "{:?}", text.get(..20));
        }
        assert_eq!(all(b"a\xff\nb"), ["a\u{fffd}", "b"]);
    }

    #[test]
    fn a_window_looks_ahead_and_stays_small() {
        let text = "x\n".repeat(100_000);
        let mut window = Window::new(text.as_bytes());
        let mut seen = 0;
        while let Some(lines) = window.next() {
            seen += 1;
            let more = (1..=LINES_AROUND).filter(|by| lines.ahead(*by) == "x").count();
            assert_eq!(more, LINES_AROUND.min(100_000 - seen));
            assert!(lines.around.len() <= WINDOW_LINES);
        }
        assert_eq!(seen, 100_000);
    }

    #[test]
    fn lines_that_no_tool_prints_are_passed_over_and_told() {
        let long = "CPU0 ".repeat(LINE_BYTES_MAX / 5 + 1);
        let mut builder = Builder::new();
        let text = format!("{long}\nMemTotal: 5 kB\n{long}\n");
        builder.read("x", text.as_bytes()).expect("text");
        let recording = builder.finish();
        assert_eq!(recording.sources.len(), 1);
        let [problem] = &recording.problems[..] else { panic!("{:?}", recording.problems) };
        assert!(problem.text.starts_with("2 lines longer than 1024 KiB, the first of them line 1"));
    }
}
