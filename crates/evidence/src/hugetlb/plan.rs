//! Makes the plan.

pub use super::planned::{
    HugetlbPlan, Memlock, MemoryPlan, NodeShare, PoolPlan, SCHEMA, Setting, TablesPlan,
};

use super::attribute;
use super::check;
use super::demand::{self, Demand, Demands, Origin};
use super::facts::{Facts, Object, ObjectKind, Pool, Process};
use super::input::Inputs;
use super::product::Product;
use super::tables::{self, Segment};
use crate::recording::ASSUMED;
use hugewise_base::units::Bytes;

/// Memory that must remain outside of the pools, in percent of all, unless `--leave` says
/// otherwise. hugewise's own choice: kernel, page cache and logins of a dedicated database host.
const LEAVE_PERCENT: f64 = 10.0;
/// The same at least, for small machines.
const LEAVE_MIN: Bytes = Bytes::mib(256);

/// Makes the plan. Pages in use now belong to others than the programs that inputs describe:
/// they will be started.
pub fn plan(facts: &Facts, inputs: &Inputs) -> HugetlbPlan {
    make(facts, inputs, demand::demands(facts, inputs))
}

/// The plan again, after it was applied: the programs that inputs describe may run, and what is
/// likely theirs is taken for theirs.
pub fn plan_again(facts: &Facts, inputs: &Inputs) -> HugetlbPlan {
    let mut demands = demand::demands(facts, inputs);
    if inputs.describe_programs() {
        attribute::held(facts, inputs, &mut demands.all);
    }
    make(facts, inputs, demands)
}

fn make(facts: &Facts, inputs: &Inputs, demands: Demands) -> HugetlbPlan {
    let Demands { all, left_out } = demands;
    let pools = pools(facts, inputs, all);
    let mut plan = HugetlbPlan {
        schema: SCHEMA,
        source: facts.source.clone(),
        memory: memory(facts, inputs, &pools),
        tables: tables_of(facts, &pools),
        memlock: memlock(facts, &pools, inputs),
        settings: settings(facts, inputs, &pools),
        warnings: Vec::new(),
        inputs: inputs.clone(),
        processes: demand::pids(pools.iter().flat_map(|pool| &pool.demands)).len() as u64,
        mounts: facts.mounts.clone(),
        missing: facts.missing.clone(),
        pools,
        left_out,
    };
    plan.warnings = check::warnings(facts, inputs, &plan);
    plan
}

fn pools(facts: &Facts, inputs: &Inputs, mut demands: Vec<Demand>) -> Vec<PoolPlan> {
    let default = demand::page_size(facts, inputs);
    let mut sizes: Vec<Bytes> = facts.pools.iter().map(|pool| pool.page).collect();
    sizes.extend(demands.iter().map(|demand| demand.page_bytes));
    sizes.push(default);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
        .into_iter()
        .map(|page| {
            let (own, rest) = demands.drain(..).partition(|demand| demand.page_bytes == page);
            demands = rest;
            let headroom = if page == default { inputs.headroom } else { Bytes(0) };
            pool(facts, inputs, page, own, demand::pages(headroom, page))
        })
        .collect()
}

fn pool(facts: &Facts, inputs: &Inputs, page: Bytes, own: Vec<Demand>, headroom: u64) -> PoolPlan {
    let now = facts.pools.iter().find(|pool| pool.page == page).cloned();
    let held = now.as_ref().map_or(0, Pool::held);
    let own_held = demand::sum(own.iter().map(|demand| demand.held_pages));
    let others = held.saturating_sub(own_held);
    let pages = demand::sum(own.iter().map(|demand| demand.pages));
    let needed = pages.saturating_add(headroom).saturating_add(others);
    let persistent = now.as_ref().map_or(0, Pool::own);
    let floor = if inputs.shrink { held } else { persistent };
    let target = needed.max(floor);
    PoolPlan {
        page_bytes: page,
        demands: own,
        headroom_pages: headroom,
        others_pages: others,
        needed_pages: needed,
        target_pages: target,
        nodes: now.as_ref().map_or_else(Vec::new, |pool| shares(pool, inputs, target)),
        now,
    }
}

/// New pages are spread evenly over the chosen nodes, the first ones getting what is left over, as
/// the kernel does it (Linux 6.18 mm/hugetlb.c: it goes round the allowed nodes, page by page).
fn shares(pool: &Pool, inputs: &Inputs, target: u64) -> Vec<NodeShare> {
    let chosen = |node: u32| inputs.nodes.is_empty() || inputs.nodes.contains(&node);
    let count = pool.nodes.iter().filter(|node| chosen(node.node)).count() as u64;
    if pool.nodes.len() < 2 && inputs.nodes.is_empty() || count == 0 {
        return Vec::new();
    }
    let more = target.saturating_sub(pool.own());
    let (each, mut over) = (more / count, more % count);
    let share = |node: &super::facts::NodePool| {
        let extra = if over > 0 && chosen(node.node) { 1 } else { 0 };
        over -= extra;
        let new = if chosen(node.node) { each + extra } else { 0 };
        NodeShare {
            node: node.node,
            now_pages: node.total,
            target_pages: node.total.saturating_add(new),
        }
    };
    pool.nodes.iter().map(share).collect()
}

fn memory(facts: &Facts, inputs: &Inputs, pools: &[PoolPlan]) -> MemoryPlan {
    let total = facts.memory.total;
    let sum = |pages: fn(&PoolPlan) -> u64| pools.iter().map(|p| p.bytes_of(pages(p))).sum();
    let planned: Bytes = sum(|pool| pool.target_pages);
    let leave = || total.map(|total| total.percent(LEAVE_PERCENT).max(LEAVE_MIN));
    MemoryPlan {
        total_bytes: total,
        available_bytes: facts.memory.available,
        pools_now_bytes: sum(PoolPlan::now_pages),
        pools_bytes: planned,
        remains_bytes: total.map(|total| total.saturating_sub(planned)),
        leave_bytes: inputs.leave.or_else(leave),
    }
}

fn tables_of(facts: &Facts, pools: &[PoolPlan]) -> TablesPlan {
    let segments = segments(facts);
    let said = facts.memory.page_tables;
    let said =
        said.map(|tables| tables::attribute(tables, facts.memory.total, &segments, ASSUMED.base));
    let demands = || pools.iter().flat_map(|pool| &pool.demands);
    let sum = |of: fn(&Demand) -> Option<Bytes>| {
        let all: Option<Vec<Bytes>> = demands().map(of).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.into_iter().sum())
    };
    let on_small = || demands().filter(|demand| demand.origin != Origin::Huge);
    let small: Bytes = on_small().map(Demand::bytes).sum();
    let pids = demand::pids(demands());
    let sharers =
        facts.memory.page_tables.and_then(|tables| tables::sharers(tables, small, ASSUMED.base));
    let sharers = sharers.filter(|sharers| *sharers >= 2.0);
    let one: Bytes = on_small().map(Demand::tables_huge_each).sum();
    TablesPlan {
        machine_bytes: facts.memory.page_tables,
        machine_percent: said.as_ref().and_then(|said| said.percent_of_memory),
        machine_times_memory: said.as_ref().and_then(|said| said.times_memory),
        sharers,
        sharers_huge_bytes: sharers.map(|count| one.percent(count * 100.0)),
        costliest: said.and_then(|said| said.costliest),
        processes_bytes: demand::page_tables(facts, &pids),
        small_bytes: sum(|demand| demand.tables_small_bytes),
        huge_bytes: sum(|demand| demand.tables_huge_bytes),
    }
}

/// Shared memory on base pages, with how many processes map it.
fn segments(facts: &Facts) -> Vec<Segment> {
    let small = |object: &&Object| object.page.is_none_or(|page| page < Bytes::mib(2));
    let shared = facts.objects.iter().filter(small);
    shared
        .map(|object| Segment {
            name: object.kind.name(&object.name),
            bytes: object.bytes,
            attached: object.attached,
        })
        .collect()
}

/// The limit covers the whole pool with its headroom: what one user can have at most. Whose
/// processes all have more already is left out: the plan must not lower it.
fn memlock(facts: &Facts, pools: &[PoolPlan], inputs: &Inputs) -> Option<Memlock> {
    let locks = |pool: &&PoolPlan| pool.demands.iter().any(|demand| demand.needs_right);
    let limit: Bytes = pools.iter().filter(locks).map(|p| p.bytes_of(p.target_pages)).sum();
    let needy = || pools.iter().flat_map(|pool| &pool.demands).filter(|d| d.needs_right);
    let of = |names: fn(&Demand) -> &[String],
              own: fn(&Process) -> Option<&String>,
              given: &[String]| {
        let has_more = |name: &String| {
            let all = needy().flat_map(|d| &d.pids).filter_map(|pid| facts.processes.get(pid));
            let mut its = all.filter(|process| own(process) == Some(name)).peekable();
            its.peek().is_some() && its.all(|p| p.memlock.is_some_and(|now| now > limit))
        };
        let found = needy().flat_map(names).filter(|name| !has_more(name));
        let mut all: Vec<String> = found.cloned().collect();
        all.extend_from_slice(given);
        all.sort_unstable();
        all.dedup();
        all
    };
    let mut users = of(|d| &d.users, |p| p.user.as_ref(), inputs.user.as_slice());
    // root may lock what it likes.
    users.retain(|user| user != "root");
    let units = of(|d| &d.units, |p| p.unit.as_ref(), &inputs.units);
    let known = inputs.user.is_some() || needy().any(|d| !d.users.is_empty());
    let nobody = known && users.is_empty() && units.is_empty();
    let memlock = Memlock { limit_kb: limit.0 / 1024, users, units };
    (limit.0 > 0 && !nobody).then_some(memlock)
}

/// Base pages of all System V segments: those that are there, and what is still to come.
fn shmall(facts: &Facts, pools: &[PoolPlan]) -> u64 {
    let of_pool = |page: Bytes| facts.pools.iter().any(|pool| pool.page == page);
    let small = facts.objects.iter().filter_map(|object| object.page).filter(|p| !of_pool(*p));
    let base = small.filter(|page| *page >= ASSUMED.base).min().unwrap_or(ASSUMED.base);
    let there = facts.objects.iter().filter(|o| matches!(o.kind, ObjectKind::SysV(_)));
    let there = there.map(|object| demand::pages(object.bytes, base));
    let sysv = pools.iter().flat_map(|pool| &pool.demands).filter(|d| d.needs_right);
    // Java that runs on base pages has no segments yet.
    let new = sysv.filter(|d| d.origin == Origin::Input || d.product == Some(Product::Java));
    let new = new.map(|d| {
        let held = Bytes(d.page_bytes.0.saturating_mul(d.held_pages));
        demand::pages(d.bytes().saturating_sub(held), base)
    });
    demand::sum(there.chain(new))
}

/// Settings beside the pools, which a file keeps over a reboot.
const KEPT: [&str; 3] = ["vm.hugetlb_shm_group", "kernel.shmmax", "kernel.shmall"];

fn settings(facts: &Facts, inputs: &Inputs, pools: &[PoolPlan]) -> Vec<Setting> {
    let mut all = Vec::new();
    let mut set = |key: &str, value: String, now: Option<String>, why: String| {
        let file = format!("proc/sys/{}", key.replace('.', "/"));
        all.push(Setting { file, key: key.to_owned(), value, now, why });
    };
    if let Some(group) = inputs.shm_group {
        let why = "its members may use System V segments of HugeTLB pages".to_owned();
        let now = facts.limits.shm_group.map(|now| now.to_string());
        set("vm.hugetlb_shm_group", group.to_string(), now, why);
    }
    let sysv = pools.iter().flat_map(|pool| &pool.demands).filter(|d| d.needs_right);
    let sizes: Vec<Bytes> = sysv.map(Demand::bytes).collect();
    let largest = sizes.iter().copied().max().unwrap_or_default();
    if let Some(max) = facts.limits.shmmax.filter(|max| *max < largest) {
        let why = format!("the largest segment has {}", hugewise_base::size::Size(largest.0));
        set("kernel.shmmax", largest.0.to_string(), Some(max.0.to_string()), why);
    }
    // shmall counts base pages, also of HugeTLB segments (docs/measurements.md#hugetlb-accounting).
    let all_pages = shmall(facts, pools);
    let low = |max: &u64| largest.0 > 0 && *max < all_pages;
    if let Some(max) = facts.limits.shmall_pages.filter(low) {
        let why = format!("all segments of the machine have {all_pages} base pages");
        set("kernel.shmall", all_pages.to_string(), Some(max.to_string()), why);
    }
    // What an earlier plan persisted is still needed by the program that it was for.
    let own = facts.configured.iter().filter(|line| super::files::is_own(&line.file));
    for line in own.filter(|line| KEPT.contains(&line.key.as_str())) {
        let now = match line.key.as_str() {
            "vm.hugetlb_shm_group" => facts.limits.shm_group.map(u64::from),
            "kernel.shmmax" => facts.limits.shmmax.map(|max| max.0),
            _ => facts.limits.shmall_pages,
        };
        if !all.iter().any(|setting| setting.key == line.key) {
            let file = format!("proc/sys/{}", line.key.replace('.', "/"));
            let (key, value) = (line.key.clone(), line.value.clone());
            let (now, why) = (now.map(|now| now.to_string()), "as applied before".to_owned());
            all.push(Setting { file, key, value, now, why });
        }
    }
    all
}
