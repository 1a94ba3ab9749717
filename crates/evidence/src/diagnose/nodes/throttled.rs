//! Disks that something other than the disk holds back: a limit of a cloud volume or cgroup, a
//! controller without its write cache.

use super::disk::{Disk, disks};
use super::io;
use super::log;
use super::prelude::*;
use crate::recording::readers::controller::WRITE_CACHE;

/// Fewer samples alike may be chance.
const SAMPLES_MIN: usize = 3;

/// Limits of cloud volumes by default are 300 to 16,000 requests a second; flash itself ends above.
const EVEN_MAX: f64 = 20_000.0;

/// Whether a rate is a multiple of a hundred, as near as it is measured.
fn is_round(rate: f64) -> bool {
    let round = (rate / 100.0).round() * 100.0;
    round > 0.0 && (rate - round).abs() <= rate * 0.005
}

/// A disk's totals in the samples in which requests wait for it, and those in which they do not.
struct Totals {
    held: Vec<(f64, f64)>,
    free: Vec<(f64, f64)>,
}

/// Requests a second and their wait, of each sample.
fn totals(cx: &Context<'_>, disk: &Disk<'_>, rate: &[Field]) -> Totals {
    let mut totals = Totals { held: Vec::new(), free: Vec::new() };
    for index in 0..disk.line.points.len() {
        let parts: Option<Vec<f64>> = rate.iter().map(|field| disk.get(*field, index)).collect();
        let wait = io::wait(&|field| disk.get(field, index));
        let (Some(parts), Some(wait)) = (parts, wait) else { continue };
        let busy = disk.line.points[index].value >= cx.limit(T::DiskBusy);
        let slow = busy && wait >= cx.limit(T::DiskAwait);
        let sample = (parts.iter().sum(), wait);
        if slow { totals.held.push(sample) } else { totals.free.push(sample) }
    }
    totals
}

/// Is a disk held at one rate, whatever waits for it?
pub(super) fn capped(cx: &Context<'_>) -> Answer {
    let requests = [Field::DiskReads, Field::DiskWrites];
    let bytes = [Field::DiskReadBytes, Field::DiskWriteBytes];
    let mut seen = false;
    for disk in disks(cx) {
        for (rate, in_bytes) in [(&requests, false), (&bytes, true)] {
            let totals = totals(cx, &disk, rate);
            seen |= !totals.held.is_empty() || !totals.free.is_empty();
            if let Some(evidence) = level(cx, &disk, &totals, in_bytes) {
                return Answer::yes(0.9, evidence);
            }
        }
    }
    if seen { Answer::no(busiest(cx)) } else { Answer::unknown(&[DISKS]) }
}

fn busiest(cx: &Context<'_>) -> Vec<Evidence> {
    let most = most(disks(cx).filter_map(|disk| cx.highest(&disk.line)));
    most.iter().map(|seen| cx.quote(seen)).collect()
}

/// The sentences that say so, where a disk stays at one rate.
fn level(
    cx: &Context<'_>,
    disk: &Disk<'_>,
    totals: &Totals,
    in_bytes: bool,
) -> Option<Vec<Evidence>> {
    let rates = || totals.held.iter().map(|(rate, _)| *rate);
    let (least, most) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
    let spread = (most - least) / most.max(f64::MIN_POSITIVE) * 100.0;
    let wait = totals.held.iter().map(|(_, wait)| *wait).fold(0.0, f64::max);
    if totals.held.len() < SAMPLES_MIN || spread > cx.limit(T::LevelSpread) {
        return None;
    }
    let amount = |rate: f64| match in_bytes {
        true => format!("{}/s", write::bytes(rate)),
        false => format!("{} requests a second", write::number(rate)),
    };
    let text = format!(
        "{}: {} in each of {} samples, while they wait up to {}",
        disk.line.subject,
        amount((least + most) / 2.0),
        totals.held.len(),
        write::milliseconds(wait)
    );
    let seen = cx.highest(&disk.line)?;
    // A disk that serves the same load at its own pace is level as well: what tells them apart is
    // that it could do more, or that no disk ends so evenly.
    let better = totals
        .free
        .iter()
        .filter(|(rate, wait_then)| *rate >= 2.0 * most && *wait_then * 5.0 <= wait);
    let better = better.map(|(rate, _)| *rate).reduce(f64::max);
    let better = better.map(|rate| {
        Evidence::derived(format!("at another time it served {} without a wait", amount(rate)))
    });
    // A disk that streams, a fast one, and in long samples a slow one are as even at their own
    // limit; what somebody set is a round number besides.
    let even = spread <= cx.limit(T::LevelSpread) / 3.0;
    let even = even && !in_bytes && most <= EVEN_MAX && is_round((least + most) / 2.0);
    (better.is_some() || even).then(|| {
        let why = "no disk ends so evenly by itself: a limit holds it there";
        let mut evidence = vec![cx.say(&seen, &text)];
        evidence.extend(better);
        evidence.push(Evidence::derived(why));
        evidence
    })
}

/// Is the write cache of a controller off?
pub(super) fn write_cache(cx: &Context<'_>) -> Answer {
    let logged = log::write_cache(cx);
    let setting = cx.setting(WRITE_CACHE).map(|quote| cx.cite(quote, &quote.text));
    match (logged.is_yes(), setting) {
        (true, setting) => {
            let mild = logged.mild && setting.is_none();
            logged.and(setting).mild(mild)
        }
        (false, Some(setting)) => Answer::yes(0.7, vec![setting]),
        (false, None) => logged.lacking(&[CONTROLLER]),
    }
}
