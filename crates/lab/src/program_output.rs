//! What a program has said. It decides how much that is, and it holds the file in which it said it:
//! `ftruncate` makes that as long as it likes. So no more than a bounded part is ever read.

use anyhow::{Context, bail};
use hugewise_linux::regular;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

/// How much is read of the end of a file.
const END_BYTES: u64 = 1 << 20;
/// Most of a file that is read whole: hours of `pgbench --progress 1` have less than a tenth.
const WHOLE_BYTES: u64 = 16 << 20;
/// Most of a line; what comes behind is the next one.
const LINE_BYTES: u64 = 1 << 20;
/// Lines that wait for their reader. Their writer waits as soon as there are more.
const LINES_AHEAD: usize = 64;

/// The end of a file, as text; empty where there is none.
pub(crate) fn end(path: &Path) -> String {
    regular::open(path).map(end_of).unwrap_or_default()
}

/// The end of an open file, as text.
pub(crate) fn end_of(mut file: File) -> String {
    let length = file.metadata().map_or(0, |meta| meta.len());
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES))).is_ok() {
        // What was read until an error came is better than nothing.
        let _ = file.take(END_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last lines of a text that say something, at most `most` of them, in one line.
pub(crate) fn last_lines(text: &str, most: usize) -> String {
    let lines = text.lines().map(|line| line.trim_matches(['\0', ' ', '\t', '\r']));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(most)..].join(" / ")
}

/// All of a file.
pub(crate) fn whole(path: &Path) -> anyhow::Result<String> {
    let what = || format!("cannot read {}", path.display());
    let file = regular::open(path).with_context(what)?;
    let mut text = String::new();
    let read = file.take(WHOLE_BYTES + 1).read_to_string(&mut text);
    if read.with_context(what)? as u64 > WHOLE_BYTES {
        bail!("{} is longer than {} MiB", path.display(), WHOLE_BYTES >> 20);
    }
    Ok(text)
}

/// Lines of a stream, read by a thread, so that waiting for one can be interrupted.
pub(crate) fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = sync_channel(LINES_AHEAD);
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        loop {
            let mut line = Vec::new();
            let read = stream.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line);
            if !read.is_ok_and(|length| length > 0) {
                break;
            }
            let line = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    #[test]
    fn a_file_without_end_is_read_to_a_bound() -> anyhow::Result<()> {
        let scratch = Scratch::new();
        let path = scratch.join("said");
        std::fs::write(&path, "first\n\nsecond\nthird\n")?;
        assert_eq!(last_lines(&end(&path), 2), "second / third");
        assert_eq!(whole(&path)?.lines().count(), 4);
        // A hole takes no disk.
        File::options().write(true).open(&path)?.set_len(6 << 30)?;
        assert!(whole(&path).is_err());
        let end = end(&path);
        assert_eq!((end.len() as u64, last_lines(&end, 3)), (END_BYTES, String::new()));
        assert_eq!(last_lines(&super::end(&scratch.join("none")), 3), "");
        Ok(())
    }

    #[test]
    fn a_line_without_end_comes_in_pieces() {
        let stream = std::io::repeat(b'x').take(3 * LINE_BYTES).chain(&b"\nend"[..]);
        let lengths: Vec<usize> = lines(stream).iter().map(|line| line.len()).collect();
        assert_eq!(lengths, [1 << 20, 1 << 20, 1 << 20, 0, 3]);
    }
}
