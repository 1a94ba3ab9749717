//! The manager's journal, searched from its end.

use hugewise_linux::save::{self, SaveError};
use hugewise_serve::Search;
use rustix::fs::OFlags;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// How much of the file's end is searched: some ten thousand records.
const TAIL_BYTES: u64 = 4 << 20;
/// Records that are told, the newest ones.
const RECORDS_MAX: usize = 100;

/// The end of a journal, from the beginning of a line on.
///
/// # Errors
/// There is none, or it is no file of this user's choice: a link, or a device.
pub(in crate::cmd) fn tail(path: &Path) -> anyhow::Result<String> {
    let opened = save::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, 0);
    let mut file = opened.map_err(|error| match error {
        // It would speak of writing.
        SaveError::Io { error, .. } => anyhow::anyhow!("{}: {error}", path.display()),
        other => other.into(),
    })?;
    Ok(end_of(&mut file, TAIL_BYTES)?)
}

fn end_of(file: &mut File, most: u64) -> io::Result<String> {
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let from = meta.len().saturating_sub(most);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    if from > 0 {
        let line = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes.drain(..line);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The newest records that are searched for, the newest first; `until` is a time as the journal
/// writes it.
pub(super) fn found(text: &str, search: &Search, until: Option<&str>) -> Value {
    let wanted = search.text.as_deref().unwrap_or_default().to_lowercase();
    let mut records: Vec<Value> = Vec::new();
    let mut more = 0_u64;
    for line in text.lines().rev() {
        // What is not JSON is the end of a line that was cut off when its writer ended.
        let Ok(record) = serde_json::from_str::<Value>(line) else { continue };
        let is_wanted = search.pid.is_none_or(|pid| record["target"]["pid"] == pid)
            && is_before(&record, until)
            && (wanted.is_empty() || line.to_lowercase().contains(&wanted));
        match is_wanted {
            true if records.len() < RECORDS_MAX => records.push(record),
            true => more += 1,
            false => {}
        }
    }
    json!({ "records": records, "records_not_shown": more })
}

/// Both are in UTC and equally long: their order is that of their letters.
fn is_before(record: &Value, until: Option<&str>) -> bool {
    until.is_none_or(|until| record["time"].as_str().is_some_and(|time| time <= until))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use proptest::prelude::*;

    const JOURNAL: &str = concat!(
        r#"{"time":"2026-01-01T00:00:00.000Z","record":"start","mode":"ingens"}"#,
        "\n",
        r#"{"time":"2026-01-01T00:00:01.000Z","record":"skips","target":{"pid":7},"name":"Redis"}"#,
        "\n",
        r#"{"time":"2026-01-01T00:00:02.000Z","record":"action","target":{"pid":8}}"#,
        "\n{\"time\":\"2026-01-0",
    );

    fn times(search: &Search, until: Option<&str>) -> Vec<String> {
        let found = found(JOURNAL, search, until);
        let records = found["records"].as_array().expect("a list").iter();
        records.map(|one| one["time"].as_str().expect("a time")[17..19].to_owned()).collect()
    }

    #[test]
    fn the_newest_record_that_is_searched_for_comes_first() {
        assert_eq!(times(&Search::default(), None), ["02", "01", "00"]);
        let of = |pid| Search { pid: Some(pid), ..Search::default() };
        assert_eq!(times(&of(7), None), ["01"]);
        assert_eq!(times(&of(9), None), [""; 0]);
        let text = Search { text: Some("redIS".into()), ..Search::default() };
        assert_eq!(times(&text, None), ["01"]);
        let until = Some("2026-01-01T00:00:01.000Z");
        assert_eq!(times(&Search::default(), until), ["01", "00"]);
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let text = "{\"record\":\"x\"}\n".repeat(RECORDS_MAX + 3);
        let found = found(&text, &Search::default(), None);
        assert_eq!(found["records"].as_array().map(Vec::len), Some(RECORDS_MAX));
        assert_eq!(found["records_not_shown"], 3);
    }

    #[test]
    fn a_long_journal_is_read_from_the_beginning_of_a_line() {
        let dir = Scratch::new();
        let path = dir.join("journal");
        std::fs::write(&path, "{\"a\":1}\n{\"b\":2}\n").expect("written");
        let end = |most| end_of(&mut File::open(&path).expect("there"), most).expect("read");
        assert_eq!(end(100), "{\"a\":1}\n{\"b\":2}\n");
        assert_eq!(end(10), "{\"b\":2}\n");
        assert_eq!(end(3), "");
        assert!(end_of(&mut File::open(dir.path()).expect("there"), 9).is_err());
        std::os::unix::fs::symlink(&path, dir.join("link")).expect("made");
        assert!(tail(&dir.join("link")).is_err() && tail(&dir.join("none")).is_err());
    }

    proptest! {
        #[test]
        fn whatever_stands_in_the_file_is_read(text in ".*", wanted in ".*") {
            let _ = found(&text, &Search { text: Some(wanted), ..Search::default() }, None);
        }
    }
}
