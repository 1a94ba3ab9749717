//! A trial: read while a manager promotes, at rest, and freed in pieces.

use super::super::common;
use super::filled::{Filled, Timed};
use crate::manager::ManagerProcess;
use crate::run::Run;
use anyhow::Context;
use hugewise_experiment::kinds::Demo;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Seconds of reads and of small mappings in turn, while a manager promotes.
const TURN_ACCESS_S: f64 = 0.4;
const TURN_FAULTS_S: f64 = 0.3;
/// A part counts as huge above this, percent.
const ALL_PERCENT: f64 = 99.9;
/// Promotion counts as over when nothing became huge for so long, seconds: a manager tries a region
/// again that failed, and waits for that.
const PROMOTED_STILL_S: f64 = 4.0;
/// Windows of random reads at rest, which share two thirds of the measurement.
const WINDOWS: u32 = 6;
/// Freed memory counts as settled when it stood still for so long after it moved, seconds ...
const FREED_STILL_S: f64 = 2.0;
/// ... within this, MiB, and is waited for no longer than ...
const FREED_WITHIN_MIB: f64 = 1.0;
/// ... so.
const SETTLE: Duration = Duration::from_secs(20);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Where nobody gives anything back, one look a moment later shows that.
const UNMANAGED: Duration = Duration::from_secs(1);

/// Runs it once.
pub(super) fn drive(params: &Demo, run: &mut Run<'_>, mut demo: Filled) -> anyhow::Result<()> {
    let mut manager = run.manage(&[demo.pid()])?;
    if let Some(manager) = &mut manager {
        promote(run, &mut demo, manager)?;
    }
    rest(run, &mut demo)?;
    common::check(&mut manager)?;
    demo.memory(run, "")?;
    let shares = demo.huge_percent()?;
    let is_complete = ["dense", "idle"].iter().all(|part| shares[part] >= ALL_PERCENT);
    for (part, share) in shares {
        run.value(&format!("{part}.huge_percent"), share);
    }
    let words = demo.verify(run)?;
    run.value("verified_words", words as f64);
    free(params, run, &mut demo, &mut manager)?;
    if let Some(done) = run.stop(manager)? {
        let [promoted, demoted] = done.cpu.map(|cpu| cpu.as_s());
        run.value("promoted.manager_cpu_s", promoted);
        run.value("demoted.manager_cpu_s", demoted);
        run.histogram("promoted.call", done.promoted);
        if !is_complete {
            run.note(match done.limit {
                Some(limit) => format!("{} held promotion down until the end", limit.config_key()),
                None => "time or free blocks ran out before all was promoted".into(),
            });
        }
    }
    demo.talk.finish()
}

/// Lets the manager work, with the program working meanwhile.
fn promote(
    run: &mut Run<'_>,
    demo: &mut Filled,
    manager: &mut ManagerProcess,
) -> anyhow::Result<()> {
    let (began, limit) = (Instant::now(), common::settling(run).as_secs_f64());
    let (mut timed, mut motion) = (Timed::default(), Motion::new(0.0, 0.0));
    let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    loop {
        let (at, shares) = (began.elapsed().as_secs_f64(), demo.huge_percent()?);
        motion.look(at, shares.values().sum());
        let is_all = ["dense", "idle"].iter().all(|part| shares[part] >= ALL_PERCENT);
        let dense = shares["dense"];
        for (part, share) in shares {
            series.entry(part.to_owned()).or_default().push((at, share));
        }
        if is_all || motion.stands_since(at) >= PROMOTED_STILL_S || at >= limit {
            break;
        }
        manager.check()?;
        run.step(&format!("promoting, {dense:.0} % of the dense part is huge"))?;
        demo.access(run, TURN_ACCESS_S, &mut timed)?;
        demo.faults(run, TURN_FAULTS_S, &mut timed)?;
    }
    timed.note(run, "promoting");
    for (part, points) in series {
        run.series(&format!("{part}.huge_percent"), points);
    }
    motion.moved_at.into_iter().for_each(|at| run.value("promoting_s", at));
    Ok(())
}

/// Measures with nobody promoting.
fn rest(run: &mut Run<'_>, demo: &mut Filled) -> anyhow::Result<()> {
    run.step("measuring")?;
    let (mut timed, third) = (Timed::default(), run.measure().as_secs_f64() / 3.0);
    for _ in 0..WINDOWS {
        demo.access(run, 2.0 * third / f64::from(WINDOWS), &mut timed)?;
    }
    demo.faults(run, third, &mut timed)?;
    timed.note(run, "");
    Ok(())
}

/// Has most of the memory freed, and lets the manager give back what is still held.
fn free(
    params: &Demo,
    run: &mut Run<'_>,
    demo: &mut Filled,
    manager: &mut Option<ManagerProcess>,
) -> anyhow::Result<()> {
    let percent = u8::try_from(params.free_percent)?;
    run.step(&format!("freeing {percent} %"))?;
    demo.watch(run)?;
    demo.free(run, percent)?;
    let freed = demo.memory(run, "freed")?;
    match manager {
        None => run.sleep(UNMANAGED)?,
        Some(manager) => {
            let mut motion = Motion::new(freed, FREED_WITHIN_MIB);
            let began = Instant::now();
            while began.elapsed() < SETTLE {
                run.sleep(LOOK)?;
                manager.check().context("while memory was given back")?;
                let (at, mib) = (began.elapsed().as_secs_f64(), demo.memory(run, "settled")?);
                motion.look(at, mib);
                if motion.stands_since(at) >= FREED_STILL_S {
                    motion.moved_at.into_iter().for_each(|at| run.value("settle_s", at));
                    break;
                }
                run.step(&format!("giving back, {mib:.0} MiB are in use"))?;
            }
        }
    }
    demo.memory(run, "settled")?;
    demo.note_held(run);
    let words = demo.verify(run)?;
    run.value("settled.verified_words", words as f64);
    Ok(())
}

/// Something that is looked at now and then: when it last moved.
#[derive(Debug)]
struct Motion {
    last: f64,
    within: f64,
    /// When it was first seen where it is; `None` while it has not moved at all.
    moved_at: Option<f64>,
}

impl Motion {
    /// Up to `within` away from where it was it has not moved.
    fn new(first: f64, within: f64) -> Self {
        Self { last: first, within, moved_at: None }
    }

    fn look(&mut self, at: f64, value: f64) {
        if (value - self.last).abs() > self.within {
            (self.last, self.moved_at) = (value, Some(at));
        }
    }

    /// How long it stands still after it has moved; 0 before that.
    fn stands_since(&self, at: f64) -> f64 {
        self.moved_at.map_or(0.0, |moved| at - moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_moved_yet_does_not_stand_still() {
        let mut motion = Motion::new(400.0, 1.0);
        motion.look(5.0, 400.9);
        assert_eq!((motion.stands_since(5.0), motion.moved_at), (0.0, None));
        motion.look(6.0, 300.0);
        motion.look(7.0, 299.5);
        assert_eq!((motion.stands_since(7.5), motion.moved_at), (1.5, Some(6.0)));
        // Slow motion is motion.
        motion.look(8.0, 298.9);
        assert_eq!(motion.moved_at, Some(8.0));
    }
}
