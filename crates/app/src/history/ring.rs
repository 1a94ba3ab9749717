//! The latest samples in memory, so that what came before an event can be written down with it.

use super::pack::{pack, unpack};
use super::{FrameFile, SUFFIX};
use anyhow::Context;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Most memory that samples take: of 10,000 processes one has about 1 MiB, packed.
const BYTES_MAX: usize = 64 << 20;

#[derive(Debug)]
struct Frame {
    at: Instant,
    bytes: Vec<u8>,
    /// Length of the text where `bytes` are packed.
    packed_from: Option<usize>,
}

/// Samples of the last minutes.
#[derive(Debug)]
pub(crate) struct Ring {
    frames: VecDeque<Frame>,
    length: Duration,
    bytes: usize,
    bytes_max: usize,
}

impl Ring {
    /// Holds what is not older than `length`, within 64 MiB.
    pub(crate) fn new(length: Duration) -> Self {
        Self { frames: VecDeque::new(), length, bytes: 0, bytes_max: BYTES_MAX }
    }

    /// Takes a sample, packed; the oldest make room.
    pub(crate) fn push(&mut self, at: Instant, text: &[u8]) -> anyhow::Result<()> {
        self.add(Frame { at, bytes: pack(text, &[])?, packed_from: Some(text.len()) });
        Ok(())
    }

    /// Takes a sample as it is: packing a small one costs more than the memory that it saves.
    pub(crate) fn push_text(&mut self, at: Instant, text: Vec<u8>) {
        self.add(Frame { at, bytes: text, packed_from: None });
    }

    fn add(&mut self, frame: Frame) {
        let at = frame.at;
        self.bytes += frame.bytes.len();
        self.frames.push_back(frame);
        let old = |frame: &Frame| at.saturating_duration_since(frame.at) > self.length;
        while self.frames.len() > 1
            && (self.bytes > self.bytes_max || self.frames.front().is_some_and(old))
        {
            self.bytes -= self.frames.pop_front().map_or(0, |frame| frame.bytes.len());
        }
    }

    /// Each sample's text, the oldest first.
    pub(crate) fn each(
        &self,
        mut take: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        for frame in &self.frames {
            match frame.packed_from {
                None => take(&frame.bytes)?,
                Some(length) => {
                    let text = unpack(&frame.bytes, &[], length);
                    take(&text.context("cannot unpack a sample")?)?;
                }
            }
        }
        Ok(())
    }

    /// Writes all samples to a file in this directory, named by time and event.
    pub(crate) fn save(
        &self,
        folder: &Path,
        at: SystemTime,
        event: &str,
    ) -> anyhow::Result<PathBuf> {
        let time = crate::journal::rfc3339(at).replace(':', "");
        let time = time.split('.').next().unwrap_or_default();
        let path = folder.join(format!("{time}Z-{event}{SUFFIX}"));
        let mut file = FrameFile::create(&path)?;
        self.each(|text| file.append(text).map(|_| ()))?;
        Ok(path)
    }

    /// Forgets all but the latest sample, with which the next gives rates.
    pub(crate) fn clear(&mut self) {
        let last = self.frames.pop_back();
        self.frames.clear();
        self.bytes = last.as_ref().map_or(0, |frame| frame.bytes.len());
        self.frames.extend(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ring: &Ring) -> Vec<String> {
        let mut all = Vec::new();
        let result = ring.each(|text| {
            all.push(String::from_utf8_lossy(text).into_owned());
            Ok(())
        });
        result.expect("unpacks");
        all
    }

    #[test]
    fn it_holds_the_last_minutes_and_no_more_than_its_bytes() {
        let mut ring = Ring::new(Duration::from_secs(10));
        let began = Instant::now();
        for second in 0..30 {
            let at = began + Duration::from_secs(second);
            ring.push(at, format!("sample {second}").as_bytes()).expect("packs");
        }
        assert_eq!(texts(&ring).first().map(String::as_str), Some("sample 19"));
        let bytes: usize = texts(&ring).iter().map(String::len).sum();
        assert_eq!((texts(&ring).len(), bytes), (11, 99));
        ring.bytes_max = 40;
        ring.push(began + Duration::from_secs(30), b"sample 30").expect("packs");
        assert!(ring.bytes <= 40 && !texts(&ring).is_empty(), "{ring:?}");
        assert_eq!(texts(&ring).last().map(String::as_str), Some("sample 30"));
        ring.clear();
        assert_eq!(texts(&ring), ["sample 30"]);
    }
}
