//! Disks with the columns of their rows, and what follows where these contradict each other.

use super::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What is looked up in the rows of a disk.
const COLUMNS: [Field; 13] = [
    Field::DiskBusy,
    Field::DiskTransfers,
    Field::DiskQueue,
    Field::DiskAwait,
    Field::DiskReadAwait,
    Field::DiskWriteAwait,
    Field::DiskReads,
    Field::DiskWrites,
    Field::DiskReadBytes,
    Field::DiskWriteBytes,
    Field::DiskRequestBytes,
    Field::DiskFlushes,
    Field::DiskFlushAwait,
];

/// How busy a disk was, with the other columns of the same rows.
pub(super) struct Disk<'a> {
    pub(super) line: Line,
    columns: BTreeMap<Field, &'a Series>,
    /// Whether its own columns contradict how busy it is said to be: that follows from them then.
    pub(super) suspect: bool,
}

impl<'a> Disk<'a> {
    fn new(cx: &Context<'a>, line: Line) -> Self {
        let later = line.later.iter().map(|(_, id)| *id);
        let sources: BTreeSet<SourceId> = later.chain([line.source]).collect();
        let column = |field: Field| {
            let all = cx.host.series.get(&field)?.get(&line.subject)?;
            Some((field, all.iter().find(|series| series.is_of(&sources))?))
        };
        let columns = COLUMNS.into_iter().filter_map(column).collect();
        let mut disk = Self { line, columns, suspect: false };
        disk.contradict();
        disk
    }

    /// The value of `field` in the row of a sample.
    pub(super) fn get(&self, field: Field, index: usize) -> Option<f64> {
        let point = self.line.points.get(index)?;
        match field {
            Field::DiskBusy => Some(point.value),
            _ => self.columns.get(&field)?.beside(index, point.at),
        }
    }

    /// Requests that are in flight at a time, by Little's law: their rate times their time.
    fn in_flight(&self, index: usize) -> Option<f64> {
        const PARTS: [(Field, Field); 3] = [
            (Field::DiskReads, Field::DiskReadAwait),
            (Field::DiskWrites, Field::DiskWriteAwait),
            (Field::DiskTransfers, Field::DiskAwait),
        ];
        let part = |(rate, wait)| Some(self.get(rate, index)? * self.get(wait, index)? / 1000.0);
        PARTS.into_iter().filter_map(part).reduce(f64::max)
    }

    /// Some kernels and drivers keep no time of a disk's use (`io_ticks` in block/genhd.c): a disk
    /// that serves requests and was never busy was busy as long as they took.
    fn contradict(&mut self) {
        for index in 0..self.line.points.len() {
            let Some(in_flight) = self.in_flight(index) else { continue };
            let bytes = [Field::DiskReadBytes, Field::DiskWriteBytes];
            let bytes = bytes.map(|field| self.get(field, index));
            // Requests without a byte are counters that began anew, not requests.
            if bytes == [Some(0.0), Some(0.0)] {
                continue;
            }
            let point = &mut self.line.points[index];
            if point.value < IDLE_PERCENT && in_flight >= IN_FLIGHT_MIN {
                point.value = (in_flight * 100.0).min(100.0);
                self.line.ground = Ground::Derived;
                self.suspect = true;
            }
        }
    }
}

/// A disk that is said to be less busy, with as many requests in flight or more, is not.
const IDLE_PERCENT: f64 = 1.0;
const IN_FLIGHT_MIN: f64 = 0.3;

/// The disks that are hardware, each with its columns.
pub(super) fn disks<'a>(cx: &Context<'a>) -> impl Iterator<Item = Disk<'a>> {
    let of_disks = cx.lines(Field::DiskBusy, |subject| matches!(subject, Subject::Disk(_)));
    super::pick::hardware(of_disks).into_iter().map(|line| Disk::new(cx, line))
}
