//! The latest samples in memory, so that what came before an event can still be looked at.

use super::manifest::{Manifest, Taken};
use super::write::Directory;
use anyhow::Context;
use hugewise_collect::capture::Sampler;
use hugewise_linux::root::Root;
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

/// Most memory that packed samples take: of 10,000 processes one has about 1 MiB.
const BYTES_MAX: usize = 64 << 20;

#[derive(Debug)]
struct Frame {
    at: Instant,
    text: Text,
    text_bytes: usize,
}

/// The text of a sample.
#[derive(Debug)]
enum Text {
    Packed(Vec<u8>),
    Plain(Vec<u8>),
}

impl Text {
    /// The memory that it takes.
    fn bytes(&self) -> usize {
        let (Self::Packed(bytes) | Self::Plain(bytes)) = self;
        bytes.len()
    }
}

/// Samples of the last minutes, packed.
#[derive(Debug)]
pub(crate) struct Ring {
    frames: VecDeque<Frame>,
    kept: Duration,
    bytes: usize,
    bytes_max: usize,
}

impl Ring {
    /// Holds what is not older than `keep`, within 64 MiB.
    pub(crate) fn new(keep: Duration) -> Self {
        Self { frames: VecDeque::new(), kept: keep, bytes: 0, bytes_max: BYTES_MAX }
    }

    /// Takes a sample, packed; the oldest make room.
    pub(crate) fn push(&mut self, at: Instant, text: &[u8]) -> anyhow::Result<()> {
        let packed = super::write::pack(text)?;
        self.keep(at, Text::Packed(packed), text.len());
        Ok(())
    }

    /// Takes a sample as it is: packing a small one costs more than the memory that it saves.
    pub(crate) fn push_text(&mut self, at: Instant, text: Vec<u8>) {
        let text_bytes = text.len();
        self.keep(at, Text::Plain(text), text_bytes);
    }

    fn keep(&mut self, at: Instant, text: Text, text_bytes: usize) {
        self.bytes += text.bytes();
        self.frames.push_back(Frame { at, text, text_bytes });
        let old = |frame: &Frame| at.saturating_duration_since(frame.at) > self.kept;
        while self.frames.len() > 1
            && (self.bytes > self.bytes_max || self.frames.front().is_some_and(old))
        {
            self.bytes -= self.frames.pop_front().map_or(0, |frame| frame.text.bytes());
        }
    }

    /// Each sample's text, the oldest first.
    pub(crate) fn each(&self, mut take: impl FnMut(&[u8])) -> anyhow::Result<()> {
        for frame in &self.frames {
            match &frame.text {
                Text::Plain(text) => take(text),
                Text::Packed(packed) => {
                    let text = zstd::bulk::decompress(packed, frame.text_bytes);
                    take(&text.context("cannot unpack a sample")?);
                }
            }
        }
        Ok(())
    }

    /// Writes all samples down as a capture; `every` is the time between them.
    pub(crate) fn capture(
        &self,
        path: &Path,
        root: &Root,
        every: Duration,
        sampler: &Sampler,
    ) -> anyhow::Result<()> {
        let mut directory = Directory::create(path)?;
        let mut manifest = Manifest::new(root, every, false);
        for frame in &self.frames {
            manifest.bytes += match &frame.text {
                Text::Packed(packed) => directory.packed(packed)?,
                Text::Plain(text) => directory.sample(text)?,
            };
            manifest.text_bytes += frame.text_bytes as u64;
            manifest.samples += 1;
        }
        manifest.end(Taken::of(sampler), None);
        directory.manifest(&manifest)
    }

    /// Forgets all but the latest sample, with which the next gives rates.
    pub(crate) fn clear(&mut self) {
        let last = self.frames.pop_back();
        self.frames.clear();
        self.bytes = last.as_ref().map_or(0, |frame| frame.text.bytes());
        self.frames.extend(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ring: &Ring) -> Vec<String> {
        let mut all = Vec::new();
        ring.each(|text| all.push(String::from_utf8_lossy(text).into_owned())).expect("unpacks");
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
