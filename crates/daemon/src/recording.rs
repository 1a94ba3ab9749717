//! The file of `manage --record`.

use anyhow::Context;
use hugewise_console::exit;
use hugewise_linux::save;
use hugewise_manager::replay::Event;
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::rc::Rc;

/// Where a recording stops growing.
const RECORDING_BYTES: usize = 1 << 30;

#[derive(Debug)]
struct Inner {
    file: BufWriter<File>,
    written: usize,
    /// Why the rest is missing.
    cut: Option<String>,
}

/// A recording in the making. It contains addresses: only its owner may read it.
#[derive(Clone, Debug)]
pub struct RecordFile(Rc<RefCell<Inner>>);

impl RecordFile {
    /// Begins a new file.
    pub fn begin(path: &Path) -> anyhow::Result<Self> {
        let file = save::begin_anew(path).map_err(exit::refused).context("'--record'")?;
        let inner = Inner { file: BufWriter::new(file), written: 0, cut: None };
        Ok(Self(Rc::new(RefCell::new(inner))))
    }

    /// Writes events. One that cannot be written, or is too much, stops no manager.
    pub fn writer(&self) -> impl FnMut(&Event) + use<> {
        let inner = Rc::clone(&self.0);
        move |event| {
            let mut inner = inner.borrow_mut();
            let Ok(mut line) = serde_json::to_vec(event) else { return };
            if inner.cut.is_some() {
                return;
            }
            line.push(b'\n');
            inner.written += line.len();
            if inner.written > RECORDING_BYTES {
                inner.cut = Some(format!("it reached {} MiB", RECORDING_BYTES >> 20));
            } else if let Err(error) = inner.file.write_all(&line) {
                inner.cut = Some(error.to_string());
            }
        }
    }

    /// Ends it; why its end is missing.
    pub fn end(&self) -> Option<String> {
        let mut inner = self.0.borrow_mut();
        let flushed = inner.file.flush();
        inner.cut.take().or_else(|| flushed.err().map(|error| error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said() {
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let inner = Inner { file: BufWriter::new(full), written: 0, cut: None };
        let record = RecordFile(Rc::new(RefCell::new(inner)));
        assert_eq!(record.end(), None, "nothing was to be written");
        record.0.borrow_mut().file.write_all(b"x").expect("buffered");
        assert!(record.end().is_some_and(|why| why.contains("No space left")));
    }
}
