//! The text of one sample: written and taken apart.
//!
//! ```text
//! hugewise-capture 1 at_ms=1795305600123 utc_offset_s=3600 monotonic_ns=12345 host=vm files=2
//! @@ 5 /proc/loadavg
//! 0.00
//!
//! @@ 3 /proc/version
//! xyz
//! ```
//!
//! A line of words, then for each file a line with its length in bytes and its path, the bytes,
//! and a line end. Lengths separate the files, whatever is in them; a whole sample is still text
//! that
//! `grep` reads. Unknown words of the first line are passed over.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::recording::Stamp;
use hugewise_base::format::Format;
use hugewise_base::parse::decimal;

/// How every sample begins.
pub const MAGIC: &str = "hugewise-capture ";
/// The format of a sample, of which the first line names the version.
const FORMAT: Format = Format { what: "the capture", version: 1 };
/// Largest number of files in a sample: four of each of 4,096 processes, and room for the rest.
pub const FILES_MAX: usize = 65_536;
/// Largest file that is taken, in bytes. `/proc/interrupts` of 512 CPUs has about 3 MiB.
pub const FILE_BYTES_MAX: usize = 16 << 20;
/// The tables of sockets, of which only the rows are taken that say something.
pub const SOCKETS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// File systems, of which only those of other machines are taken, and the root.
pub const MOUNTS: &str = "/proc/self/mounts";
/// Largest table of sockets that is read, in bytes: 150 each, of 400,000.
pub const SOCKETS_BYTES_MAX: usize = 64 << 20;
/// Longest first line, in bytes; a machine's name has at most 64 (`HOST_NAME_MAX`).
const HEADER_BYTES_MAX: usize = 4096;
/// Offsets from UTC lie within 26 hours (RFC 9557 allows less than 24).
const OFFSET_MAX_S: i64 = 26 * 3600;

/// The first line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// When: milliseconds since 1970-01-01 UTC.
    pub at_ms: i64,
    /// The machine's local time less UTC, in seconds.
    pub utc_offset_s: Option<i64>,
    /// The monotonic clock of the machine, in nanoseconds.
    pub monotonic_ns: u64,
    /// The machine's name.
    pub host: Option<String>,
    /// Identity of the boot.
    pub boot: Option<String>,
    /// Clock ticks in a second, the unit of CPU times.
    pub ticks_per_s: Option<u64>,
    /// Size of a base page.
    pub page_bytes: Option<u64>,
}

impl Header {
    /// Local time of the sample; `None` without an offset, or at a time no machine has.
    pub fn stamp(&self) -> Option<Stamp> {
        let offset = self.utc_offset_s.filter(|offset| offset.abs() <= OFFSET_MAX_S)?;
        let stamp = Stamp(self.at_ms.div_euclid(1000).checked_add(offset)?);
        let last = Stamp::midnight(9999, 12, 31)?;
        (stamp.has_date() && stamp < last).then_some(stamp)
    }

    fn write(&self, files: usize) -> String {
        let mut text = format!("{MAGIC}{} at_ms={}", FORMAT.version, self.at_ms);
        let numbers = [
            ("utc_offset_s", self.utc_offset_s.map(|n| n.to_string())),
            ("monotonic_ns", Some(self.monotonic_ns.to_string())),
            ("ticks_per_s", self.ticks_per_s.map(|n| n.to_string())),
            ("page_bytes", self.page_bytes.map(|n| n.to_string())),
            ("boot", self.boot.as_deref().map(escape)),
            ("host", self.host.as_deref().map(escape)),
            ("files", Some(files.to_string())),
        ];
        for (key, value) in numbers {
            if let Some(value) = value {
                let _ = write!(text, " {key}={value}");
            }
        }
        text.push('\n');
        text
    }
}

/// Writes a sample.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    body: Vec<u8>,
    files: usize,
}

impl Writer {
    /// Adds a file; `false` when its path cannot stand on a line, or there are too many already.
    pub fn file(&mut self, path: &str, bytes: &[u8]) -> bool {
        if path.is_empty() || path.chars().any(char::is_control) || self.files >= FILES_MAX {
            return false;
        }
        self.body.extend_from_slice(format!("@@ {} {path}\n", bytes.len()).as_bytes());
        self.body.extend_from_slice(bytes);
        self.body.push(b'\n');
        self.files += 1;
        true
    }

    /// The whole text, with its first line.
    pub fn finish(self, header: &Header) -> Vec<u8> {
        let mut text = header.write(self.files).into_bytes();
        text.extend_from_slice(&self.body);
        text
    }
}

/// A sample taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Its first line.
    pub header: Header,
    /// Complete files by path.
    pub files: BTreeMap<&'a str, &'a [u8]>,
    /// What is wrong with its end; the files that are complete are there all the same.
    pub torn: Option<String>,
}

/// The first line of a text, of which the rest may be missing.
///
/// # Errors
/// When it makes no sense.
pub fn header_of(text: &[u8]) -> Result<Header, String> {
    let (line, _) = line(text, HEADER_BYTES_MAX).ok_or("its first line has no end")?;
    header(&String::from_utf8_lossy(line)).map(|(header, _)| header)
}

/// Takes the first sample of a text apart; gives what follows it, too.
///
/// # Errors
/// When the text does not begin with a first line that makes sense.
pub fn split(text: &[u8]) -> Result<(Sample<'_>, &[u8]), String> {
    let (line, mut rest) = line(text, HEADER_BYTES_MAX).ok_or("its first line has no end")?;
    let (header, promised) = header(&String::from_utf8_lossy(line))?;
    let mut files = BTreeMap::new();
    let mut torn = None;
    let mut count = 0_usize;
    while !rest.is_empty() && !rest.starts_with(MAGIC.as_bytes()) {
        match file(rest) {
            Ok((path, bytes, after)) if count < FILES_MAX => {
                files.insert(path, bytes);
                count += 1;
                rest = after;
            }
            Ok(_) => {
                torn = Some(format!("more than {FILES_MAX} files"));
                rest = next_sample(rest);
            }
            Err(what) => {
                torn = Some(format!("after {count} files: {what}"));
                rest = next_sample(rest);
            }
        }
    }
    if let (None, Some(promised)) = (&torn, promised)
        && promised != count
    {
        torn = Some(format!("it has {count} of {promised} files"));
    }
    Ok((Sample { header, files, torn }, rest))
}

/// From the next place on at which a sample begins; empty where none does.
pub(crate) fn next_sample(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        rest = rest.get(end + 1..).unwrap_or_default();
        if rest.starts_with(MAGIC.as_bytes()) {
            return rest;
        }
    }
    &[]
}

/// The first line, and what follows it.
fn line(text: &[u8], longest: usize) -> Option<(&[u8], &[u8])> {
    let end = text.iter().take(longest).position(|byte| *byte == b'\n')?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

fn header(line: &str) -> Result<(Header, Option<usize>), String> {
    let mut words = line.trim_end_matches('\r').split(' ');
    if words.next() != Some(MAGIC.trim_end()) {
        return Err("it does not begin with 'hugewise-capture'".to_owned());
    }
    let version = words.next().unwrap_or_default();
    let Some(found @ 1..) = decimal::<u32>(version) else {
        return Err(format!("its version is '{}', and no number", version.escape_debug()));
    };
    FORMAT.check(found).map_err(|later| later.to_string())?;
    let mut header = Header::default();
    let (mut at, mut monotonic, mut promised) = (None, None, None);
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        match key {
            "at_ms" => at = value.parse::<i64>().ok(),
            "utc_offset_s" => header.utc_offset_s = value.parse().ok(),
            "monotonic_ns" => monotonic = decimal(value),
            "ticks_per_s" => header.ticks_per_s = decimal(value).filter(|n| *n > 0),
            "page_bytes" => header.page_bytes = decimal(value).filter(|n: &u64| is_page(*n)),
            "boot" => header.boot = unescape(value),
            "host" => header.host = unescape(value),
            "files" => promised = decimal(value),
            _ => {}
        }
    }
    let (Some(at), Some(monotonic)) = (at, monotonic) else {
        return Err("its first line has no at_ms and monotonic_ns".to_owned());
    };
    (header.at_ms, header.monotonic_ns) = (at, monotonic);
    Ok((header, promised))
}

/// Linux has base pages from 4 to 256 KiB.
fn is_page(bytes: u64) -> bool {
    bytes.is_power_of_two() && (4 << 10..=256 << 10).contains(&bytes)
}

/// Path and bytes of the file that begins here, and what follows it.
fn file(text: &[u8]) -> Result<(&str, &[u8], &[u8]), String> {
    // The kernel's longest path has 4,096 bytes.
    let (head, rest) = line(text, 2 * HEADER_BYTES_MAX).ok_or("a file's line has no end")?;
    let head = std::str::from_utf8(head).map_err(|_| "a file's line is no UTF-8")?;
    let words = head.strip_prefix("@@ ").and_then(|words| words.split_once(' '));
    let parts = words.and_then(|(length, path)| Some((decimal::<usize>(length)?, path)));
    let Some((length, path)) = parts else {
        return Err(format!("'@@ LENGTH PATH' should stand here, not '{}'", short(head)));
    };
    let bytes = rest.get(..length).ok_or_else(|| format!("{} is cut off", short(path)))?;
    let after = rest.get(length..).unwrap_or_default();
    match after.split_first() {
        Some((b'\n', after)) => Ok((path, bytes, after)),
        None => Err(format!("{} is cut off", short(path))),
        Some(_) => Err(format!("{} is longer than its line says", short(path))),
    }
}

fn short(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

/// A word without blanks: `%` and two hexadecimal digits for what is no plain ASCII.
fn escape(text: &str) -> String {
    let mut word = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            word.push(char::from(byte));
        } else {
            let _ = write!(word, "%{byte:02x}");
        }
    }
    word
}

fn unescape(word: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_of_vm() -> Header {
        Header {
            at_ms: 1_795_305_600_123,
            utc_offset_s: Some(3600),
            monotonic_ns: 7,
            host: Some("a b%\u{e9}".to_owned()),
            boot: Some("b-1".to_owned()),
            ticks_per_s: Some(100),
            page_bytes: Some(4096),
        }
    }

    fn text() -> Vec<u8> {
        let mut writer = Writer::default();
        assert!(writer.file("/proc/loadavg", b"0.00\n"));
        assert!(writer.file("/sys/a b", b"no\0text\n@@ 1 x"));
        assert!(!writer.file("/sys/a\nb", b""));
        writer.finish(&header_of_vm())
    }

    #[test]
    fn what_is_written_reads_back() {
        let text = text();
        let (sample, rest) = split(&text).expect("a sample");
        assert_eq!(rest, b"");
        assert_eq!(sample.header, header_of_vm());
        assert_eq!(sample.torn, None);
        assert_eq!(sample.files.len(), 2);
        assert_eq!(sample.files.get("/sys/a b"), Some(&b"no\0text\n@@ 1 x".as_slice()));
        let stamp = sample.header.stamp().expect("a time");
        assert_eq!(stamp.to_string(), "2026-11-22 01:00:00");
    }

    #[test]
    fn a_cut_sample_keeps_its_complete_files() {
        let text = text();
        let header = text.iter().position(|byte| *byte == b'\n').expect("a first line");
        for end in 0..text.len() {
            match split(&text[..end]) {
                Err(_) => assert!(end <= header, "{end}"),
                Ok((sample, _)) => {
                    assert!(sample.torn.is_some(), "{end}");
                    assert!(sample.files.len() < 2);
                }
            }
        }
    }

    #[test]
    fn samples_follow_each_other_even_after_a_torn_one() {
        let whole = text();
        let two = [&whole[..whole.len() - 3], b"\n", &whole[..]].concat();
        let (first, rest) = split(&two).expect("a sample");
        assert!(first.torn.is_some());
        let (second, rest) = split(rest).expect("another one");
        assert_eq!((second.files.len(), second.torn, rest), (2, None, b"".as_slice()));
    }

    #[test]
    fn a_header_without_sense_is_refused() {
        for wrong in [
            "",
            "hugewise-capture 1",
            "hugewise-capture 2 at_ms=1 monotonic_ns=1\n",
            "hugewise-capture 1 at_ms=x monotonic_ns=1\n",
            "hugewise-capture 1 at_ms=1\n",
            "other 1 at_ms=1 monotonic_ns=1\n",
        ] {
            assert!(split(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        let odd = "hugewise-capture 1 at_ms=-9223372036854775808 monotonic_ns=0 utc_offset_s=9 \
                   host=%zz page_bytes=5 ticks_per_s=0\n";
        let (sample, _) = split(odd.as_bytes()).expect("a sample");
        let header = sample.header;
        assert_eq!((header.stamp(), header.host, header.page_bytes), (None, None, None));
        assert_eq!(header.ticks_per_s, None);
    }
}
