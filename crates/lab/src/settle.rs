//! Waits until a machine stands still, and for a moment in which others leave it alone.

use crate::session::Session;
use hugewise_base::exit::{self, Coded};
use hugewise_base::parse;
use hugewise_base::parse::proc_stat::CpuTimes;
use hugewise_base::units::{Bytes, Ns};
use hugewise_experiment::quiet::{MachineSample, Quiet, State, refusals};
use hugewise_experiment::record::Conditions;
use hugewise_experiment::spec::{Noise, Settle};
use hugewise_linux::root::Root;
use std::time::{Duration, Instant};

/// How often a settling machine is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Order of a huge page of x86-64, for the index of fragmentation.
const ORDER: usize = 9;

/// Waits until the machine stands still, and for a quieter moment where others are too busy.
///
/// # Errors
/// Exit code 6 where they still are when patience is over, unless `noisy` says that this may be;
/// after Ctrl-C.
pub fn settle(
    root: &Root,
    session: &Session,
    rules: (&Settle, &Noise),
    noisy: bool,
) -> anyhow::Result<Conditions> {
    let (_, noise) = rules;
    let patience = Instant::now() + Duration::from_secs(noise.patience_s);
    loop {
        let conditions = wait(root, session, rules)?;
        let refusals = refusals(&conditions, noise);
        if refusals.is_empty() || noisy {
            return Ok(conditions);
        }
        if Instant::now() >= patience {
            let why = format!(
                "this machine is too busy to measure: {}. Stop what else runs, or give --noisy \
                 and distrust the result",
                refusals.join("; ")
            );
            return Err(Coded::new(exit::REFUSED, why).into());
        }
    }
}

fn wait(
    root: &Root,
    session: &Session,
    (settle, noise): (&Settle, &Noise),
) -> anyhow::Result<Conditions> {
    let meminfo = root.read_text("proc/meminfo").unwrap_or_default();
    let total = parse::meminfo::parse(&meminfo).value.mem_total_bytes.map(Bytes);
    let mut quiet = Quiet::new(settle, total);
    let began = Instant::now();
    let state = loop {
        match quiet.look(look(root, began)) {
            State::Moving => session.sleep(LOOK)?,
            state => break state,
        }
    };
    let mut conditions = quiet.conditions(state, noise);
    let zones = root.read_text("proc/buddyinfo").ok();
    let zones = zones.map(|text| parse::buddyinfo::parse(&text).value);
    conditions.fmfi = zones.and_then(|zones| parse::buddyinfo::fmfi_total(&zones, ORDER));
    Ok(conditions)
}

fn look(root: &Root, began: Instant) -> MachineSample {
    let text = |path| root.read_text(path).unwrap_or_default();
    let memory = parse::meminfo::parse(&text("proc/meminfo")).value;
    let vmstat = parse::vmstat::parse(&text("proc/vmstat")).value;
    MachineSample {
        at: Ns(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)),
        mem_available: memory.mem_available_bytes.map(Bytes),
        collapsed: vmstat.get("thp_collapse_alloc"),
        cpu: cpu(root),
    }
}

/// CPU time of the whole machine.
pub(crate) fn cpu(root: &Root) -> Option<CpuTimes> {
    let text = root.read_text("proc/stat").ok()?;
    parse::proc_stat::parse(&text).value.all
}
