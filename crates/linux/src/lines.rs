//! Files of one JSON value a line, to which a line is added before each change.

use hugewise_base::format::{FIRST, Format};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// Reads all lines. A torn last one (no line feed at its end: a crash while it was written, so
/// that what it announces was not done yet) is left out.
///
/// # Errors
/// When another line makes no sense: what it noted is not to be lost unseen.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<Vec<T>> {
    let mut entries = Vec::new();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let whole = line.ends_with(b"\n");
        match serde_json::from_slice(line) {
            Ok(entry) => entries.push(entry),
            Err(_) if !whole || line.trim_ascii().is_empty() => {}
            Err(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "line {} is damaged: nothing was changed; take the line out, and put what \
                         it names back to its 'old' value by hand",
                        index.saturating_add(1)
                    ),
                ));
            }
        }
    }
    Ok(entries)
}

/// A value with the version of its format, as one object.
#[derive(Debug, Serialize)]
pub struct Versioned<'a, T> {
    schema: u32,
    #[serde(flatten)]
    value: &'a T,
}

impl<'a, T> Versioned<'a, T> {
    /// Of the version that this program writes.
    pub const fn new(format: Format, value: &'a T) -> Self {
        Self { schema: format.version, value }
    }
}

/// The version of a line.
#[derive(Debug, Deserialize)]
struct Version {
    #[serde(default = "first")]
    schema: u32,
}

const fn first() -> u32 {
    FIRST
}

/// As [`parse`], of lines that name their version.
///
/// # Errors
/// As [`parse`], and where a line is of a later version.
pub fn parse_versioned<T: DeserializeOwned>(bytes: &[u8], format: Format) -> io::Result<Vec<T>> {
    for line in parse::<Version>(bytes)? {
        format.check(line.schema).map_err(io::Error::other)?;
    }
    parse(bytes)
}

/// Takes a torn last line away, and ends one that lacks its line feed only: the next one would be
/// lost with it. The file is open for reading and appending.
pub fn mend_end(mut file: &File) -> io::Result<()> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    let last = bytes.split_inclusive(|byte| *byte == b'\n').next_back().unwrap_or_default();
    if last.is_empty() || last.ends_with(b"\n") {
        return Ok(());
    }
    if serde_json::from_slice::<serde_json::Value>(last).is_ok() {
        return file.write_all(b"\n");
    }
    let whole = bytes.len().saturating_sub(last.len());
    file.set_len(u64::try_from(whole).map_err(io::Error::other)?)
}

/// Adds a line and syncs it; nothing of it stays when that fails.
pub fn append(mut file: &File, line: &[u8]) -> io::Result<()> {
    let before = file.metadata()?.len();
    let added = file.write_all(line).and_then(|()| file.sync_all());
    if added.is_err() {
        let _ = file.set_len(before);
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs::{self, OpenOptions};

    #[test]
    fn only_a_torn_last_line_is_left_out() {
        assert_eq!(parse::<u32>(b"1\n2\n").expect("whole"), [1, 2]);
        assert_eq!(parse::<u32>(b"1\n2").expect("no line feed"), [1, 2]);
        assert_eq!(parse::<u32>(b"1\n{\"a").expect("torn"), [1]);
        assert_eq!(parse::<u32>(b"1\n\xff\0").expect("torn"), [1]);
        assert_eq!(parse::<u32>(b"").expect("empty"), [0; 0]);
        for bad in [&b"1\nx\n3\n"[..], b"1\nx\n", b"x\n3"] {
            let error = parse::<u32>(bad).expect_err("damaged").to_string();
            assert!(error.contains("is damaged"), "{error}");
        }
    }

    #[test]
    fn lines_of_a_later_version_are_refused_whole() {
        const FORMAT: Format = Format { what: "a list", version: 2 };
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Item {
            a: u32,
        }
        let mut written =
            serde_json::to_vec(&Versioned::new(FORMAT, &Item { a: 7 })).expect("JSON");
        written.push(b'\n');
        let read = |bytes: &[u8]| parse_versioned::<Item>(bytes, FORMAT);
        assert_eq!(read(&written).expect("its own"), [Item { a: 7 }]);
        let first = read(b"{\"a\":1}\n{\"schema\":1,\"a\":2,\"b\":3}\n").expect("earlier ones");
        assert_eq!(first, [Item { a: 1 }, Item { a: 2 }]);
        // Its other keys may mean anything, or be missing.
        let error = read(b"{\"a\":1}\n{\"schema\":3,\"c\":2}\n").expect_err("later").to_string();
        assert!(error.contains("a list has version 3"), "{error}");
    }

    #[test]
    fn a_line_after_a_torn_one_is_whole() {
        let scratch = Scratch::new();
        let path = scratch.join("lines");
        for (found, then) in [("1\n{\"a", "1\n5\n"), ("1\n2", "1\n2\n5\n"), ("{\"a", "5\n")] {
            fs::write(&path, found).expect("write");
            let file = OpenOptions::new().read(true).append(true).open(&path).expect("opens");
            mend_end(&file).expect("mends");
            append(&file, b"5\n").expect("appends");
            assert_eq!(fs::read_to_string(&path).expect("reads"), then);
        }
    }
}
