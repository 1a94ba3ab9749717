//! `hugewise advise --estimate`: what each way to have huge pages would cost and give, and how
//! far off that was.

use super::diagnose::{self, OneHost};
use crate::cli::{BillArgs, Global};
use crate::exit::{self, coded};
use crate::output::{Output, paint};
use crate::render::view::bill::{self, Answer};
use hugewise_base::units::{Bytes, Geometry};
use hugewise_evidence::bill::{Bill, Check, Facts, Pools, Way, Worth, way_of};
use hugewise_evidence::hugetlb::input::Inputs;
use hugewise_evidence::hugetlb::plan::{HugetlbPlan, plan};
use hugewise_evidence::hugetlb::recorded;
use hugewise_evidence::recording::Host;
use hugewise_manager::config::Config;
use std::path::PathBuf;

/// More would leave a program no cycle of its own.
const WALKS: std::ops::RangeInclusive<f64> = 0.0..=95.0;

/// Runs the command.
pub(crate) fn run(
    global: &Global,
    recordings: &[PathBuf],
    args: &BillArgs,
) -> anyhow::Result<Output> {
    let (answer, code) = estimate(global, recordings, args)?;
    match global.json {
        true => Output::pretty_json(&answer.json()?, code),
        false => Ok(Output::text(bill::text(&answer, paint(global)), code)),
    }
}

/// The estimate with the exit code that it stands for.
///
/// # Errors
/// Recordings that cannot be read, or say nothing of memory; a share that cannot be.
pub(crate) fn estimate(
    global: &Global,
    recordings: &[PathBuf],
    args: &BillArgs,
) -> anyhow::Result<(Answer, u8)> {
    let walks = args.walk_percent;
    if let Some(percent) = walks.filter(|percent| !WALKS.contains(percent)) {
        let text = format!("--walk-percent {percent}: wanted a share from 0 to 95");
        return Err(coded(exit::USAGE, text));
    }
    let chosen = args.r#as.as_deref().and_then(Way::named);
    let OneHost { host, name, problems } = match recordings {
        [] => diagnose::this_host(global)?,
        files => diagnose::one_host(files)?,
    };
    let (facts, bill) = of_host(&host, &name, walks);
    if bill.is_empty() {
        let wanted = "wanted /proc/meminfo and /proc/vmstat, or a file of 'hugewise record'";
        let lacks = match (facts.total, facts.anon) {
            (Some(_), None) => "it has no AnonPages, which huge pages would change",
            _ => "it says nothing of memory",
        };
        return Err(coded(exit::ERROR, format!("{name}: {lacks}: {wanted}")));
    }
    let check = match args.check.as_slice() {
        [] => None,
        files => Some(check(&facts, &bill, &diagnose::one_host(files)?, chosen)?),
    };
    let code = match &check {
        Some(check) if check.is_off() => exit::WARNING,
        _ if !problems.is_empty() || bill.is_partial() => exit::PARTIAL,
        _ => exit::OK,
    };
    Ok((Answer { bill, check, problems }, code))
}

fn of_host(host: &Host, name: &str, walk_percent: Option<f64>) -> (Facts, Bill) {
    let facts = Facts::of(host);
    let pools = pools(&plan(&recorded::from_recording(host, name), &Inputs::default()));
    let config = Config::default();
    let worth = Worth {
        bloat_budget_percent: config.promote.bloat_budget_percent,
        min_utilization_percent: config.promote.min_utilization_percent,
        promotions_per_s: config.quota.bytes_per_s.0 as f64 / Geometry::X86_64.huge.0 as f64,
    };
    let bill = Bill::of(&facts, worth, pools, walk_percent);
    (facts, bill)
}

/// What a plan of pools moves and saves.
fn pools(plan: &HugetlbPlan) -> Pools {
    let demands = plan.pools.iter().flat_map(|pool| &pool.demands);
    let moved = demands.map(|demand| {
        demand.page_bytes.0.saturating_mul(demand.pages.saturating_sub(demand.held_pages))
    });
    let tables = plan.tables.small_bytes.zip(plan.tables.huge_bytes);
    Pools {
        planned: plan.memory.pools_bytes,
        now: plan.memory.pools_now_bytes,
        moved: Bytes(moved.fold(0, u64::saturating_add)),
        tables_saved: tables
            .map_or(Bytes(0), |(small, huge)| Bytes(small.0.saturating_sub(huge.0))),
    }
}

fn check(
    before: &Facts,
    bill: &Bill,
    after: &OneHost,
    chosen: Option<Way>,
) -> anyhow::Result<Check> {
    let (facts, came) = of_host(&after.host, &after.name, None);
    let Some(way) = chosen.or_else(|| way_of(before, &facts)) else {
        let text = format!(
            "{}: its settings do not say what was chosen: add --as with never, always, hugetlb or \
             worth",
            after.name
        );
        return Err(coded(exit::USAGE, text));
    };
    Ok(Check::of(bill, before, &facts, &came, way))
}
