//! Expected against actual: the pools, who is on them, the files, and what page tables cost now.

use serde::{Deserialize, Serialize};

use super::attribute;
use super::demand::{self, Demand, Origin};
use super::facts::{Facts, Missing, Pool};
use super::files::WantedFile;
use super::input::Inputs;
use super::planned::{HugetlbPlan, PoolPlan};
use super::product::Product;
use hugewise_base::size::Size;
use hugewise_base::units::Bytes;

/// What is in the files of a plan now: path and text; `None`: not there.
pub type FoundFile = (WantedFile, Option<String>);

/// A row of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What is compared.
    pub what: String,
    /// What the plan says.
    pub expected: String,
    /// What is.
    pub actual: String,
    /// Whether that is enough; `None`: unknown.
    pub ok: Option<bool>,
    /// What follows, and what to do; empty where nothing does.
    pub advice: String,
}

/// Page tables then and now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TablesChange {
    /// Of the planned programs' processes when the plan was made.
    pub before_bytes: Bytes,
    /// Of how many processes.
    pub before_processes: u64,
    /// Now.
    pub now_bytes: Bytes,
    /// Of how many.
    pub now_processes: u64,
    /// How many times smaller they are, by process.
    pub times_smaller: f64,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verified {
    /// Rows, in the order in which they matter.
    pub checks: Vec<Check>,
    /// Page tables of the planned programs, where both are known.
    pub tables: Option<TablesChange>,
    /// What could not be read now.
    pub missing: Vec<Missing>,
    /// `PageTables` of the whole machine: when planned, and now.
    pub machine_tables: (Option<Bytes>, Option<Bytes>),
}

impl Verified {
    /// `Some(true)` when every row is as planned, `Some(false)` when one is not.
    pub fn ok(&self) -> Option<bool> {
        let all = || self.checks.iter().map(|check| check.ok);
        if all().any(|ok| ok == Some(false)) {
            return Some(false);
        }
        all().all(|ok| ok == Some(true)).then_some(true)
    }
}

/// Compares a plan with what is now.
pub fn verify(plan: &HugetlbPlan, facts: &Facts, files: &[FoundFile]) -> Verified {
    let now = attribute::of_plan(facts, plan);
    let mut checks = Vec::new();
    let is_checked = |pool: &&PoolPlan| pool.target_pages > 0 || plan.inputs.shrink;
    for pool in plan.pools.iter().filter(is_checked) {
        let found = facts.pools.iter().find(|found| found.page == pool.page_bytes);
        of_pool(pool, found, plan.inputs.shrink, &mut checks);
        let own: Vec<&Demand> =
            now.iter().filter(|demand| demand.page_bytes == pool.page_bytes).collect();
        of_programs(pool, found, &own, &mut checks);
    }
    of_small(plan, facts, &mut checks);
    of_rights(plan, facts, &now, &mut checks);
    of_settings(plan, facts, &mut checks);
    checks.extend(files.iter().map(of_file));
    Verified {
        checks,
        tables: change(plan, facts, &now),
        missing: facts.missing.clone(),
        machine_tables: (plan.tables.machine_bytes, facts.memory.page_tables),
    }
}

fn of_pool(pool: &PoolPlan, found: Option<&Pool>, shrink: bool, checks: &mut Vec<Check>) {
    let size = Size(pool.page_bytes.0);
    let Some(found) = found else {
        checks.push(Check {
            what: format!("pool of {size} pages"),
            expected: pool.target_pages.to_string(),
            actual: "unknown".into(),
            ok: None,
            advice: "this kernel has no such pool, or /sys cannot be read".into(),
        });
        return;
    };
    // Surplus pages are not the pool's: they go when their program ends.
    let short = pool.target_pages.saturating_sub(found.own());
    let over = found.own().saturating_sub(pool.target_pages);
    let surplus = found.surplus.filter(|surplus| *surplus > 0);
    checks.push(Check {
        what: format!("pool of {size} pages"),
        expected: pool.target_pages.to_string(),
        actual: match surplus {
            Some(surplus) => format!("{} + {surplus} surplus", found.own()),
            None => found.own().to_string(),
        },
        ok: Some(short == 0 && (over == 0 || !shrink)),
        advice: match (short, over) {
            (0, over) if over > 0 && shrink => {
                format!("{over} more than planned: hugewise hugetlb apply --shrink")
            }
            (0, _) => String::new(),
            (short, _) => format!(
                "{short} short: hugewise hugetlb apply; --persist and reboot if memory is \
                 fragmented"
            ),
        },
    });
    if pool.nodes.iter().any(|share| share.target_pages != share.now_pages) {
        let chosen = pool.nodes.iter().filter(|share| share.target_pages > share.now_pages);
        checks.extend(chosen.filter_map(|share| {
            let actual = found.nodes.iter().find(|node| node.node == share.node)?.total;
            Some(Check {
                what: format!("  on NUMA node {}", share.node),
                expected: share.target_pages.to_string(),
                actual: actual.to_string(),
                ok: Some(actual >= share.target_pages),
                advice: String::new(),
            })
        }));
    }
}

/// Whether programs have their pages, or could get them.
fn of_programs(pool: &PoolPlan, found: Option<&Pool>, now: &[&Demand], checks: &mut Vec<Check>) {
    let planned = demand::sum(pool.demands.iter().map(|demand| demand.pages));
    let Some(found) = found.filter(|_| planned > 0) else { return };
    for demand in now {
        let on_huge = demand.held_pages >= demand.pages;
        let waits = demand.origin == Origin::Input && demand.held_pages == 0;
        if waits {
            continue;
        }
        let product = demand.product.map(Product::about);
        let switch = product.map_or("its own switch", |about| about.switch);
        checks.push(Check {
            what: demand.name.clone(),
            expected: format!("{} huge", demand.pages),
            actual: format!("{} huge", demand.held_pages),
            ok: Some(on_huge),
            advice: match (on_huge, demand.held_pages) {
                (true, _) => String::new(),
                (false, 0) => format!("it is on base pages: restart it with {switch}"),
                (false, _) => "only a part of it is on huge pages: restart it".into(),
            },
        });
    }
    // Programs that do not have their pages get them from what is available.
    let own = demand::sum(now.iter().map(|demand| demand.held_pages));
    let missing = planned.saturating_sub(own);
    let short = missing.saturating_sub(found.available());
    let shorts = pool.demands.iter().filter_map(|demand| demand.product);
    let mut follows: Vec<String> = shorts
        .map(|product| format!("{}: {}", product.about().name, product.about().short))
        .collect();
    follows.dedup();
    checks.push(Check {
        what: "  available (free - reserved)".into(),
        expected: missing.to_string(),
        actual: {
            let reserved = found.reserved.unwrap_or(0);
            format!("{} ({} - {reserved})", found.available(), found.free)
        },
        ok: Some(short == 0),
        advice: match short {
            0 => String::new(),
            short => format!("{short} short for what is to start. {}", follows.join("; ")),
        },
    });
    checks.push(held(planned, found, now));
}

/// Pages that the planned programs have, of those that any program has.
fn held(planned: u64, found: &Pool, now: &[&Demand]) -> Check {
    let own = demand::sum(now.iter().map(|demand| demand.held_pages));
    let all = own >= planned;
    Check {
        what: "  held of total - free + reserved".into(),
        expected: planned.to_string(),
        actual: format!("{own} of {}", found.held()),
        ok: all.then_some(true),
        advice: if all {
            String::new()
        } else {
            "not everything that is planned for runs on it (yet)".into()
        },
    }
}

/// Programs of known products that still sit on base pages, where the plan was described and not
/// found: the reader wants to know that a restart was without the switch.
fn of_small(plan: &HugetlbPlan, facts: &Facts, checks: &mut Vec<Check>) {
    // Where all that was planned for is on its pages, others of the same kind are no concern.
    let planned = attribute::of_plan(facts, plan);
    let is_met = planned.iter().all(|demand| demand.held_pages >= demand.pages);
    if is_met || !plan.inputs.describe_programs() {
        return;
    }
    // Only those that could be meant: an unrelated database is no concern of this plan.
    let is_meant = |product: Option<Product>| {
        let open = planned.iter().filter(|demand| demand.held_pages < demand.pages);
        product.is_some()
            && open.into_iter().any(|demand| demand.product.or(Some(Product::Oracle)) == product)
    };
    let running = demand::demands(facts, &Inputs::default()).all;
    let small = running.iter().filter(|d| d.origin == Origin::Small && is_meant(d.product));
    checks.extend(small.map(|demand| {
        let switch = demand.product.map_or("", |product| product.about().switch);
        Check {
            what: demand.name.clone(),
            expected: "huge pages".into(),
            actual: format!("base pages: {}", demand.bytes()),
            ok: Some(false),
            advice: format!("it is on base pages: restart it with {switch}"),
        }
    }));
}

/// Locked-memory limits of programs that are not on huge pages: who is needs no more.
fn of_rights(plan: &HugetlbPlan, facts: &Facts, now: &[Demand], checks: &mut Vec<Check>) {
    let Some(memlock) = &plan.memlock else { return };
    let small = now.iter().filter(|demand| demand.needs_right && demand.held_pages < demand.pages);
    let mut said: Vec<(&str, Bytes)> = Vec::new();
    for process in small.flat_map(|d| &d.pids).filter_map(|pid| facts.processes.get(pid)) {
        let Some(limit) = process.memlock.filter(|_| process.uid != Some(0)) else { continue };
        if said.contains(&(process.name.as_str(), limit)) {
            continue;
        }
        said.push((&process.name, limit));
        let kb = limit.0 / 1024;
        let ok = kb >= memlock.limit_kb;
        checks.push(Check {
            what: format!("memlock of {}, kB", process.name),
            expected: memlock.limit_kb.to_string(),
            actual: if limit.0 == u64::MAX { "unlimited".into() } else { kb.to_string() },
            ok: Some(ok),
            advice: match ok {
                true => String::new(),
                false => "limits apply to what starts later: restart it".into(),
            },
        });
    }
}

fn of_settings(plan: &HugetlbPlan, facts: &Facts, checks: &mut Vec<Check>) {
    let limits = &facts.limits;
    for setting in &plan.settings {
        let now = match setting.key.as_str() {
            "vm.hugetlb_shm_group" => limits.shm_group.map(u64::from),
            "kernel.shmmax" => limits.shmmax.map(|max| max.0),
            "kernel.shmall" => limits.shmall_pages,
            _ => None,
        };
        let wanted: Option<u64> = setting.value.parse().ok();
        let exact = setting.key == "vm.hugetlb_shm_group";
        let enough = now.zip(wanted).map(|(now, wanted)| now == wanted || !exact && now > wanted);
        checks.push(Check {
            what: setting.key.clone(),
            expected: setting.value.clone(),
            actual: now.map_or_else(|| "unknown".to_owned(), |now| now.to_string()),
            ok: enough,
            advice: String::new(),
        });
    }
}

fn of_file((wanted, found): &FoundFile) -> Check {
    let (actual, advice) = match found {
        Some(text) if *text == wanted.text => ("as written", ""),
        Some(_) => ("changed", "somebody edited it: apply --persist writes it anew"),
        None => ("not there", "apply --persist writes it"),
    };
    Check {
        what: format!("/{}", wanted.path),
        expected: "as written".into(),
        actual: actual.into(),
        ok: Some(found.as_ref() == Some(&wanted.text)),
        advice: advice.into(),
    }
}

/// Page tables by process: a restart may have changed how many there are.
fn change(plan: &HugetlbPlan, facts: &Facts, now: &[Demand]) -> Option<TablesChange> {
    let before_bytes = plan.tables.processes_bytes?;
    let before_processes = plan.processes;
    let pids = demand::pids(now.iter());
    let now_bytes = demand::page_tables(facts, &pids)?;
    let now_processes = pids.len() as u64;
    let each = |bytes: Bytes, count: u64| bytes.0 as f64 / count as f64;
    let (then, today) = (each(before_bytes, before_processes), each(now_bytes, now_processes));
    (today > 0.0 && then.is_finite()).then(|| TablesChange {
        before_bytes,
        before_processes,
        now_bytes,
        now_processes,
        times_smaller: then / today,
    })
}
