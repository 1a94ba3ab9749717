//! Samples of the machine on disk: `hugewise record` writes them, other commands read them back.
//!
//! [`FrameFile`] appends samples to a file, [`Book`] to the day files of a history, which it keeps
//! within limits, and [`Ring`] holds the latest ones in memory until an event is written down.
//! [`History`] reads all of these again, any moment of them, and captures of earlier builds. The
//! format of a frame is in `hugewise_evidence::history`.

mod captured;
mod pack;
mod read;
mod ring;
mod write;

#[cfg(test)]
mod captured_tests;
#[cfg(test)]
mod tests;

pub(crate) use read::{History, SampleRef};
pub(crate) use ring::Ring;
pub(crate) use write::{Book, FrameFile, Limits};

use hugewise_base::calendar::{DAY_S, date};

/// How the names of files of samples end.
const SUFFIX: &str = ".history";

/// A day file, by its name: the day, and its piece where a day has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DayFile {
    /// Days since 1970-01-01, in UTC.
    day: i64,
    /// From 1.
    piece: u32,
}

impl DayFile {
    /// The first file of the day of this time.
    fn of_time(at_ms: i64) -> Self {
        Self { day: at_ms.div_euclid(DAY_S * 1000), piece: 1 }
    }

    fn name(self) -> String {
        let (year, month, day) = date(self.day);
        format!("{year:04}-{month:02}-{day:02}.{}{SUFFIX}", self.piece)
    }

    fn parse(name: &str) -> Option<Self> {
        let (day, piece) = name.strip_suffix(SUFFIX)?.split_once('.')?;
        let mut parts = day.splitn(3, '-').map(|part| part.parse::<i64>().ok());
        let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
        let day = hugewise_base::calendar::days(year, month, day);
        let file = Self { day, piece: piece.parse().ok()? };
        // Only names as they are written: no other one of the same day.
        (file.name() == name).then_some(file)
    }
}
