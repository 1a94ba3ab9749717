//! What `try` and its workload tell each other: words in, JSON lines out.

use hugewise_core::stats::Histogram;
use hugewise_core::units::Bytes;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Where huge pages come from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Variant {
    /// Nowhere: the program switched them off for itself.
    Never,
    /// The kernel, at the first touch of each region.
    Always,
    /// `hugewise manage`, later.
    Hugewise,
}

impl Variant {
    /// In the order of the tables.
    pub(crate) const ALL: [Self; 3] = [Self::Never, Self::Always, Self::Hugewise];

    /// The word in commands, tables and plots.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Always => "always",
            Self::Hugewise => "hugewise",
        }
    }
}

/// The parts of the workload's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parts<T> {
    /// Every page in use, read at random and rewritten now and then.
    pub(crate) dense: T,
    /// One base page in sixteen in use.
    pub(crate) sparse: T,
    /// Every page written once and left alone.
    pub(crate) idle: T,
}

/// One base page in so many is used in the sparse part.
pub(crate) const SPARSE_STEP: usize = 16;

/// How a size is divided: 60 % dense, 20 % sparse, 20 % idle, whole regions, one at least.
pub(crate) fn layout(size: Bytes, huge: u64) -> Parts<u64> {
    let regions = size.0 / huge.max(1);
    let fifth = (regions / 5).max(1);
    let dense = regions.saturating_sub(2 * fifth).max(1);
    Parts { dense: dense * huge, sparse: fifth * huge, idle: fifth * huge }
}

/// Reads in a timed batch.
pub(crate) const BATCH: usize = 16;
/// Size of the pieces that `faults` maps.
pub(crate) const PIECE: usize = 64 << 10;

/// Size of the pieces that `free` gives back: four base pages, as an allocator's small extents.
pub(crate) const FREED_PIECE: usize = 16 << 10;

/// What the workload is asked to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Request {
    /// Write everything for the first time.
    Fill,
    /// Random dependent reads for so many seconds.
    Access(f64),
    /// Map, touch and unmap small pieces for so many seconds.
    Faults(f64),
    /// Compare everything with what was written.
    Verify,
    /// Give back so many percent of all memory, in random pieces; no reads after that.
    Free(u8),
    /// Flip one bit, so that a test sees `Verify` find it.
    Corrupt,
    /// End.
    Exit,
}

impl Request {
    /// As a line.
    pub(crate) fn line(self) -> String {
        match self {
            Self::Fill => "fill".into(),
            Self::Access(seconds) => format!("access {seconds}"),
            Self::Faults(seconds) => format!("faults {seconds}"),
            Self::Verify => "verify".into(),
            Self::Free(percent) => format!("free {percent}"),
            Self::Corrupt => "corrupt".into(),
            Self::Exit => "exit".into(),
        }
    }

    /// From a line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (verb, argument) = (words.next()?, words.next());
        let seconds = argument.and_then(|word| word.parse().ok());
        match (verb, argument) {
            ("fill", None) => Some(Self::Fill),
            ("access", Some(_)) => seconds.map(Self::Access),
            ("faults", Some(_)) => seconds.map(Self::Faults),
            ("verify", None) => Some(Self::Verify),
            ("free", Some(word)) => word.parse().ok().map(Self::Free),
            ("corrupt", None) => Some(Self::Corrupt),
            ("exit", None) => Some(Self::Exit),
            _ => None,
        }
    }
}

/// What the workload answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reply")]
pub(crate) enum Reply {
    /// The memory is mapped, nothing of it touched.
    Ready {
        /// Where each part is.
        parts: Parts<Range<u64>>,
    },
    /// `fill` is done.
    Filled {
        /// Time for all of it, contents included.
        seconds: f64,
        /// First touch of each base page.
        first_touch: Histogram,
    },
    /// `access` is done.
    Accessed {
        /// Mean time of one read.
        ns: f64,
        /// Time of one read, as the mean of each batch.
        batches: Histogram,
    },
    /// `faults` is done.
    Faulted {
        /// First touch of each base page of the pieces.
        fault: Histogram,
        /// Each `mmap` of a piece.
        map: Histogram,
    },
    /// `verify` is done and everything is right.
    Verified {
        /// Words compared.
        words: u64,
    },
    /// `free` is done.
    Freed {
        /// Memory given back that had been written.
        bytes: Bytes,
    },
    /// Memory is not what was written. The workload ends after this.
    Mismatch {
        /// Words that are wrong, at least.
        words: u64,
        /// Where it showed.
        during: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_line() {
        let all = [
            Request::Fill,
            Request::Access(0.25),
            Request::Faults(1.0),
            Request::Verify,
            Request::Free(70),
            Request::Corrupt,
            Request::Exit,
        ];
        for request in all {
            assert_eq!(Request::parse(&request.line()), Some(request));
        }
        assert_eq!(Request::parse("access"), None);
        assert_eq!(Request::parse("dance"), None);
    }

    #[test]
    fn a_layout_is_made_of_whole_regions() {
        let huge = 2 << 20;
        let parts = layout(Bytes::mib(512), huge);
        assert_eq!(parts.dense + parts.sparse + parts.idle, 512 << 20);
        assert!((0.59..0.62).contains(&(parts.dense as f64 / (512 << 20) as f64)));
        let tiny = layout(Bytes::mib(2), huge);
        assert_eq!((tiny.dense, tiny.sparse, tiny.idle), (huge, huge, huge));
    }
}
