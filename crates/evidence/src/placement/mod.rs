//! Which of several hosts is out of line, which of its programs makes it so, and what moving one of
//! them would give: `002_e950a442f470f4d6.txt` did that with `top` on two workers.
//!
//! Hosts are compared by the CPU that they use on average over their recordings. One is out of line
//! where it differs from the middle of all by a few times what hosts usually differ by.

mod load;
mod moving;

pub use load::{HostLoad, LeftOut, Program};
pub use moving::Move;

use super::recording::Recording;
use hugewise_base::stats::median;
use load::loads;
use serde::Serialize;

/// Version of [`Placement`] as JSON.
const SCHEMA: u32 = 1;
/// Of fewer hosts none is out of line: there is no middle.
pub const HOSTS_MIN: usize = 3;
/// Modified z-scores beyond this are outliers (B. Iglewicz, D. Hoaglin, How to Detect and Handle
/// Outliers, 1993).
const SCORE_MAX: f64 = 3.5;
/// The median deviation of a normal distribution, in standard deviations.
const MEDIAN_DEVIATION: f64 = 0.6745;
/// Hosts that share their load well still differ by some points of CPU: a smaller median deviation
/// would make an outlier of a host that is a little busier. A judgement.
const DEVIATION_MIN: f64 = 2.0;
/// Points of CPU that the other one of two hosts is less busy by, so that work is worth moving. A
/// judgement.
const ROOM_MIN: f64 = 30.0;

/// What several recordings say of where work is placed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Placement {
    /// Version of this form.
    pub schema: u32,
    /// The middle of the CPU that hosts use, percent of all CPUs of a host.
    pub middle_percent: Option<f64>,
    /// The median of how far hosts are from the middle, points.
    pub deviation_points: Option<f64>,
    /// All hosts, the busiest first.
    pub hosts: Vec<HostLoad>,
    /// What would help hosts that are out of line upwards, those that gain most first.
    pub moves: Vec<Move>,
    /// Hosts that cannot be compared, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// Whether the recordings are of one time: loads of different times may differ for that alone.
    /// `None` where they do not say when they were made.
    pub same_time: Option<bool>,
}

impl Placement {
    /// Compares the hosts of a recording.
    pub fn of(recording: &Recording) -> Self {
        let (mut hosts, mut left_out) = loads(recording);
        let same_time = load::same_time(&hosts);
        let busy: Vec<f64> = hosts.iter().map(|host| host.busy_percent).collect();
        let middle = median(&busy).filter(|_| hosts.len() >= HOSTS_MIN);
        let deviation = middle.and_then(|middle| {
            let apart: Vec<f64> = busy.iter().map(|busy| (busy - middle).abs()).collect();
            median(&apart)
        });
        if let Some((middle, deviation)) = middle.zip(deviation) {
            for host in &mut hosts {
                let apart = host.busy_percent - middle;
                let score = MEDIAN_DEVIATION * apart / deviation.max(DEVIATION_MIN);
                host.score = Some(score);
                host.out_of_line = score.abs() > SCORE_MAX;
            }
            load::explain(&mut hosts, middle);
        } else if let Some(room) = full_beside_room(&mut hosts) {
            load::explain(&mut hosts, room);
        }
        hosts.sort_by(|a, b| b.busy_percent.total_cmp(&a.busy_percent));
        left_out.sort_by(|a, b| a.host.cmp(&b.host));
        let moves = moving::moves(&hosts);
        Self {
            schema: SCHEMA,
            middle_percent: middle,
            deviation_points: deviation,
            hosts,
            moves,
            left_out,
            same_time,
        }
    }

    /// Hosts that are busier than the others.
    pub fn too_busy(&self) -> impl Iterator<Item = &HostLoad> {
        self.hosts.iter().filter(|host| host.is_too_busy())
    }
}

/// Of two hosts there is no middle; one that is full is out of line all the same where the other
/// one has room for a good part of it. Gives what the other one uses.
fn full_beside_room(hosts: &mut [HostLoad]) -> Option<f64> {
    let [a, b] = hosts else { return None };
    let (full, other) = if a.busy_percent > b.busy_percent { (a, b) } else { (b, a) };
    let room = full.busy_percent - other.busy_percent >= ROOM_MIN;
    full.out_of_line = full.busy_percent >= moving::BUSY_MAX && room;
    full.out_of_line.then_some(other.busy_percent)
}

#[cfg(test)]
mod tests;
