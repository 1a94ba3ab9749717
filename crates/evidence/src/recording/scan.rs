//! Finds out what a text is and hands its lines to the reader that knows them.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};

use super::build::Builder;
use super::log::{self, Log};
use super::normalise::{self, FromUtf16, Places, TICKET_BYTES_MAX, decoded, normalise, utf16};
use super::readers::{self, LINES_AROUND, Lines, Reader, Taken, capture};
use super::refused::Refused;

/// Longest line that is read, in bytes: `/proc/interrupts` of 8,192 CPUs has lines of 90 KiB.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Most lines that are held at a time, and about as many bytes unless lines are that long.
const WINDOW_LINES: usize = 1024;
const WINDOW_BYTES: usize = 8 << 20;

/// Longest line whose memory is used for another one.
const SPARE_BYTES_MAX: usize = 4096;

/// An input that is no text this program can read as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Nothing, or only blanks.
    Empty,
    /// A binary file of sysstat, which `sadf` of the same version reads.
    SysstatBinary,
    /// A binary log of atop.
    AtopBinary,
    /// A recording of perf, `perf.data`.
    PerfData,
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

/// What may be a profile of pprof, too.
const GZIP: Foreign = Foreign::Compressed("gzip");

/// What the bytes are, when they are no text.
pub fn foreign(bytes: &[u8]) -> Option<Foreign> {
    const KNOWN: [(&[u8], Foreign); 9] = [
        // `PERF_MAGIC2` of tools/perf/util/header.c, in either byte order.
        (b"PERFILE2", Foreign::PerfData),
        (b"2ELIFREP", Foreign::PerfData),
        (b"\x1f\x8b", GZIP),
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
    // No text of any tool contains a zero byte, unless its letters have two.
    if utf16(bytes).is_some() {
        return None;
    }
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
            let read = foreign == GZIP && readers::read_pprof(input, bytes, self);
            return if read { Ok(()) } else { Err(foreign) };
        }
        self.input(input);
        let bytes = decoded(bytes);
        if readers::read_json(&bytes, self) {
            return Ok(());
        }
        if bytes.len() > TICKET_BYTES_MAX {
            self.read_lines(&mut bytes.as_ref(), Places::default(), Some(Log::default()));
        } else {
            let (text, places) = plain(&bytes);
            // JSON of a tool may have stood behind something, or within other JSON.
            if readers::read_json(text.as_bytes(), self) {
                return Ok(());
            }
            self.read_lines(&mut text.as_bytes(), places, Some(Log::default()));
        }
        Ok(())
    }

    /// Reads a long text line by line, without the whole of it in memory. That it is no text that
    /// is read as a whole, the caller knows from its start ([`is_whole`]).
    ///
    /// Of what stands around its lines only that is taken away which shows without reading the
    /// others: how letters are encoded, line ends, escape sequences.
    pub fn read_long(&mut self, input: &str, text: &mut dyn BufRead) {
        self.input(input);
        let order = text.fill_buf().ok().and_then(utf16);
        let (places, log) = (Places::default(), Some(Log::default()));
        match order {
            Some(order) => {
                self.read_lines(&mut BufReader::new(FromUtf16::new(text, order)), places, log)
            }
            None => self.read_lines(text, places, log),
        };
    }

    /// A line at which no format begins.
    fn unclaimed(&mut self, number: usize, line: &str, log: Option<&mut Log>) {
        if log.is_some_and(|log| log.take(number, line)) {
            self.between(line);
        } else {
            self.unrecognised(number, line);
        }
    }

    /// Returns how many lines were understood. Lines of other logs are put together in `log`.
    fn read_lines(
        &mut self,
        text: &mut dyn BufRead,
        mut places: Places,
        mut log: Option<Log>,
    ) -> usize {
        let mut hosts = std::mem::take(&mut places.hosts).into_iter().peekable();
        let mut current: Option<Box<dyn Reader>> = None;
        let mut window = Window::new(text, places);
        let mut refused = Refused::default();
        let mut understood = 0;
        while let Some(lines) = window.next() {
            let (number, line) = (lines.number(), lines.ahead(0));
            self.at_line(number);
            while let Some((_, host)) = hosts.next_if(|(first, _)| *first <= number) {
                if let Some(mut reader) = current.take() {
                    reader.end(self);
                }
                self.forget_command();
                self.host(&host);
            }
            if let Some(reader) = &mut current {
                if reader.take(line, self) == Taken::Yes {
                    understood += usize::from(!line.trim().is_empty());
                    continue;
                }
                reader.end(self);
                current = None;
            }
            if line.trim().is_empty() {
                self.blank();
                continue;
            }
            if refused.knows(line) && !self.awaits() {
                self.unclaimed(number, line, log.as_mut());
                continue;
            }
            current = readers::find(&lines, self);
            // The reader's first line may already hold data.
            let taken =
                current.as_mut().is_some_and(|reader| reader.take(line, self) == Taken::Yes);
            understood += usize::from(taken);
            if !taken {
                current = None;
                refused.count();
                self.unclaimed(number, line, log.as_mut());
            }
        }
        if let Some(mut reader) = current {
            reader.end(self);
        }
        if let Some(log) = log {
            log::end(&log, self);
        }
        if let Some((first, lines)) = window.too_long {
            self.cut(format!(
                "{lines} lines longer than {} KiB, the first of them line {first}: they are \
                 passed over, no tool prints such lines",
                LINE_BYTES_MAX >> 10
            ));
        }
        if let Some(error) = window.failed {
            self.cut(format!("it cannot be read further: {error}: the rest is left out"));
        }
        understood
    }
}

/// How many lines of a text are understood, those that make no sense left out.
fn understood(text: &str) -> usize {
    let mut builder = Builder::new();
    builder.input("");
    if readers::read_json(text.as_bytes(), &mut builder) {
        return text.lines().count();
    }
    let understood = builder.read_lines(&mut text.as_bytes(), Places::default(), None);
    understood.saturating_sub(builder.finish().problems.len())
}

/// Most looks at parts of a text: what it takes to make plain lines of it is bounded, of the most
/// hostile one too. A ticket has some dozens.
const LOOKS_MAX: usize = 50_000;

/// A text as plain lines. What is too much to look at stays as it is.
fn plain(decoded: &[u8]) -> (String, Places) {
    let looks = Cell::new(0);
    normalise(decoded, &|text| {
        looks.set(looks.get() + 1);
        if looks.get() > LOOKS_MAX { 0 } else { understood(text) }
    })
}

/// A whole text as its readers see it: plain lines in UTF-8, without what mails, trackers,
/// terminals, logs and tools for many machines put around listings.
pub fn normalised(text: &[u8]) -> String {
    plain(&decoded(text)).0
}

/// Bytes of a text from which on it may be read with [`Builder::read_long`].
pub const LONG_BYTES: usize = TICKET_BYTES_MAX + 1;

/// Whether what begins so is read as a whole: samples of `hugewise record`, JSON, and what may be a
/// profile of pprof.
pub fn is_whole(start: &[u8]) -> bool {
    foreign(start) == Some(GZIP)
        || capture::is_capture(start)
        || start.trim_ascii_start().starts_with(b"{")
}

/// A few lines of a text at a time: a list of all of them would be many times as large as a text
/// of short ones.
struct Window<'a> {
    rest: &'a mut dyn BufRead,
    lines: Vec<String>,
    /// Lines that were passed, for their memory.
    spare: Vec<String>,
    /// Place of the next line, there and in the text.
    at: usize,
    passed: usize,
    places: Places,
    /// The number of the first line that is too long, and how many there are.
    too_long: Option<(usize, usize)>,
    /// Why nothing more of the text can be read.
    failed: Option<io::Error>,
}

impl<'a> Window<'a> {
    fn new(text: &'a mut dyn BufRead, places: Places) -> Self {
        let (lines, spare) = (Vec::new(), Vec::new());
        let (at, passed) = (0, 0);
        Self { rest: text, lines, spare, at, passed, places, too_long: None, failed: None }
    }

    /// The next line, as `str::lines` has them.
    fn next(&mut self) -> Option<Lines<'_>> {
        if self.at + LINES_AROUND >= self.lines.len() {
            self.refill();
        }
        let (at, number) = (self.at, self.places.number(self.passed));
        if at >= self.lines.len() {
            return None;
        }
        (self.at, self.passed) = (at + 1, self.passed + 1);
        Some(Lines { around: &self.lines, at, number })
    }

    fn refill(&mut self) {
        let passed = self.at.saturating_sub(LINES_AROUND);
        let small = |line: &String| line.capacity() <= SPARE_BYTES_MAX;
        self.spare.extend(self.lines.drain(..passed).filter(small));
        self.at -= passed;
        let mut bytes: usize = self.lines.iter().map(String::len).sum();
        let enough = self.at + 2 * LINES_AROUND;
        while self.lines.len() < WINDOW_LINES && (bytes < WINDOW_BYTES || self.lines.len() < enough)
        {
            match self.line() {
                Ok(Some(line)) => {
                    bytes += line.len();
                    self.lines.push(line);
                }
                Ok(None) => break,
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
    }

    /// Reads a line; of one that is too long nothing is left but its place.
    fn line(&mut self) -> io::Result<Option<String>> {
        if self.failed.is_some() {
            return Ok(None);
        }
        let mut line = self.spare.pop().unwrap_or_default().into_bytes();
        line.clear();
        // With its end, which may be two bytes.
        let most = LINE_BYTES_MAX + 2;
        let read = (&mut *self.rest).take(most as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        let ended = line.pop_if(|last| *last == b'\n').is_some();
        line.pop_if(|last| *last == b'\r');
        if line.len() > LINE_BYTES_MAX {
            if !ended {
                self.rest.skip_until(b'\n')?;
            }
            let number = self.places.number(self.passed - self.at + self.lines.len());
            let (first, so_far) = self.too_long.unwrap_or((number, 0));
            self.too_long = Some((first, so_far + 1));
            return Ok(Some(String::new()));
        }
        // Nearly all lines are plain as they are: their memory is used.
        let seen = match normalise::line(&line) {
            Cow::Borrowed(text) if text.len() == line.len() => None,
            other => Some(other.into_owned()),
        };
        Ok(Some(seen.unwrap_or_else(|| String::from_utf8(line).unwrap_or_default())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: [&str; 3] = [
        "              total        used        free      shared  buff/cache   available",
        "Mem:       24684092      912700    23281700       11104       81700    23192900",
        "Swap:             0           0           0",
    ];

    #[test]
    fn machines_before_lines_are_never_made_one() {
        for before in [
            ["Nov 28 05:00:01 db7 run[41]: ", "Nov 28 05:00:02 db8 run[55]: "],
            ["db7: ", "db8: "],
            ["[pod/db7/x] ", "[pod/db8/x] "],
        ] {
            let lines =
                before.iter().flat_map(|before| FREE.map(|line| format!("{before}{line}\n")));
            let mut builder = Builder::new();
            builder.read("x", lines.collect::<String>().as_bytes()).expect("a text");
            let recording = builder.finish();
            assert_eq!(recording.unrecognised, []);
            let names: Vec<_> =
                recording.hosts.iter().filter_map(|host| host.name.as_deref()).collect();
            assert_eq!(names.len(), 2, "{before:?}: {names:?}");
            assert!(names[0].starts_with("db7") && names[1].starts_with("db8"), "{names:?}");
            assert_eq!(recording.sources[1].line, 4);
        }
    }

    #[test]
    fn one_machine_before_lines_is_not_named() {
        let lines = FREE.map(|line| format!("web_1  | {line}\n")).concat();
        let mut builder = Builder::new();
        builder.read("x", lines.as_bytes()).expect("a text");
        assert_eq!(builder.finish().hosts[0].name, None);
    }

    #[test]
    fn long_texts_are_decoded_too() {
        let text = format!("\u{feff}{}\r\n", FREE.join("\r\n"));
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let coloured = FREE.map(|line| format!("\x1b[1m{line}\x1b[0m\r\n")).concat();
        for bytes in [bytes.as_slice(), coloured.as_bytes()] {
            assert_eq!(foreign(bytes), None);
            let mut builder = Builder::new();
            builder.read_long("x", &mut io::BufReader::with_capacity(7, bytes));
            let recording = builder.finish();
            assert_eq!((recording.unrecognised.len(), recording.sources.len()), (0, 1));
        }
    }

    #[test]
    fn a_command_is_forgotten_after_many_lines_that_nobody_knows() {
        for (lines, awaits) in [(100, true), (20_000, false)] {
            let mut builder = Builder::new();
            let text = format!("root@db1:~# uname -r\n{}", "nobody knows this\n".repeat(lines));
            builder.read("ticket", text.as_bytes()).expect("text");
            assert_eq!(builder.awaits(), awaits, "{lines} lines");
        }
    }

    fn all(mut text: &[u8]) -> Vec<String> {
        let mut window = Window::new(&mut text, Places::default());
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
        assert_eq!(all(b"a\xff\nb"), ["a\u{ff}", "b"]);
    }

    #[test]
    fn a_window_looks_ahead_and_stays_small() {
        let text = "x\n".repeat(100_000);
        let mut text = text.as_bytes();
        let mut window = Window::new(&mut text, Places::default());
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

    #[test]
    fn a_window_of_the_longest_lines_has_fewer_of_them() {
        let long = "x".repeat(LINE_BYTES_MAX);
        let text = format!("{long}\r\n{long}y\nMemTotal: 5 kB\n").repeat(100);
        let mut text = io::BufReader::with_capacity(100, text.as_bytes());
        let mut window = Window::new(&mut text, Places::default());
        let (mut most, mut lines_read) = (0, 0);
        while let Some(lines) = window.next() {
            most = most.max(lines.around.iter().map(String::len).sum::<usize>());
            lines_read += 1;
        }
        assert!(most <= 130 * LINE_BYTES_MAX, "{most}");
        assert_eq!((lines_read, window.too_long), (300, Some((2, 100))));
    }

    #[test]
    fn a_text_that_cannot_be_read_to_its_end_is_told() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let mut builder = Builder::new();
        let start: &[u8] = b"MemTotal: 5 kB\n";
        builder.read_long("x", &mut io::BufReader::new(start.chain(Broken)));
        let recording = builder.finish();
        assert_eq!(recording.sources.len(), 1);
        assert!(recording.problems[0].text.contains("the disk is gone: the rest is left out"));
        assert!(is_whole(b" {\"sysstat\"") && !is_whole(b"x {"));
    }
}
