//! A machine's history in a directory: `hugewise record` writes it, other commands go back in it.
//!
//! [`write::Book`] appends samples to day files and keeps them within their limits, [`Past`] reads
//! them again: any moment, also of what `hugewise capture` wrote. The format of a frame is in
//! `hugewise_evidence::history`.

mod pack;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use read::{Moment, Past};
pub(crate) use write::{Book, Limits};

use hugewise_base::calendar::{DAY_S, date};

/// How the name of a day file ends.
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
