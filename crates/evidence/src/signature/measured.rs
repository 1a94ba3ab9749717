//! A vector with what is needed to trust it.

use super::file::CPUS_MAX;
use super::vector::Vector;
use crate::diagnose::{Context, Interval, Thresholds};
use crate::recording::{Recording, Stamp, Subject};

/// What a machine was seen to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// All of the time.
    pub all: Vector,
    /// Its first and its second half; `None` where there are too few samples for that.
    pub halves: Option<[Vector; 2]>,
    /// CPUs of the machine.
    pub cpus: u32,
}

impl Measured {
    /// Of the machine of a recording; `None` where its CPU time is not known.
    pub fn of(recording: &Recording, thresholds: &Thresholds) -> Option<Self> {
        let host = recording.hosts.iter().find(|host| !host.is_empty())?;
        let cx = Context::alone(recording, host, thresholds);
        let (cpus, line) = (cx.cpus()?, cx.user(&Subject::Machine)?);
        let stamps: Vec<Stamp> = line.points.iter().filter_map(|point| point.at).collect();
        let half = stamps.len() / 2;
        let middle = half.checked_sub(1).and_then(|last| stamps.get(last)).copied();
        let halves = middle.map(|middle| {
            let first = Interval { from: None, to: Some(middle) };
            let second = Interval { from: Some(middle), to: None };
            [first, second].map(|half| Vector::of(&cx.during(&[half]), cpus))
        });
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let whole = cpus.clamp(1.0, f64::from(CPUS_MAX)) as u32;
        Some(Self { all: Vector::of(&cx, cpus), halves, cpus: whole })
    }
}
