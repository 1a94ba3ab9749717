//! Lines of a file of which only the beginning is kept: whoever runs a program decides how long
//! its paths are (4 KiB), and how many there are.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

/// What is kept of a line: all that comes before a path, and the whole of every name in brackets
/// (names given with `PR_SET_VMA_ANON_NAME` have at most 80 bytes, prctl(2)).
pub(crate) const LINE_BYTES: usize = 256;
/// One read: the kernel fills a page at a time.
const BUFFER_BYTES: usize = 4096;

/// A file, line by line, with a buffer of one page.
#[derive(Debug)]
pub(crate) struct BoundedLines {
    file: BufReader<File>,
    line: Vec<u8>,
}

impl BoundedLines {
    /// From where the file stands.
    pub(crate) fn new(file: File) -> Self {
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Self { file, line: Vec::with_capacity(LINE_BYTES) }
    }

    /// The beginning of the next line, without its end; `None` after the last one.
    ///
    /// # Errors
    /// As the system says.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let mut any = false;
        loop {
            let bytes = self.file.fill_buf()?;
            if bytes.is_empty() {
                return Ok(any.then_some(&self.line));
            }
            any = true;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let text = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            let room = LINE_BYTES.saturating_sub(self.line.len()).min(text.len());
            self.line.extend_from_slice(text.get(..room).unwrap_or_default());
            let taken = text.len() + usize::from(end.is_some());
            self.file.consume(taken);
            if end.is_some() {
                return Ok(Some(&self.line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;

    #[test]
    fn the_beginning_of_each_line_is_kept() {
        let scratch = Scratch::new();
        let path = scratch.join("lines");
        let long = "x".repeat(9_000);
        fs::write(&path, format!("a\n\n{long}\nend")).expect("write");
        let mut lines = BoundedLines::new(File::open(&path).expect("opens"));
        let mut found = Vec::new();
        while let Some(line) = lines.next().expect("readable") {
            found.push(line.len());
        }
        assert_eq!(found, [1, 0, LINE_BYTES, 3]);
        assert!(lines.line.capacity() <= LINE_BYTES, "{} bytes", lines.line.capacity());
    }
}
