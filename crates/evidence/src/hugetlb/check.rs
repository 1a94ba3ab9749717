//! Finds out what a plan has to warn of.

use hugewise_base::count::counted;
use std::collections::BTreeMap;

use super::demand::{Origin, pages, sum};
use super::facts::{Facts, Kubelet, Object, ObjectKind, Pool, Process};
use super::input::Inputs;
use super::planned::{HugetlbPlan, Memlock, PoolPlan};
use super::product::Product;
use super::warning::{Warning, WarningKind as W};
use hugewise_base::parse::decimal;
use hugewise_base::size::{self, Size};
use hugewise_base::units::Bytes;

/// One GiB: pages of this size and above need memory that is contiguous beyond what the kernel's
/// page allocator keeps.
const GIANT: Bytes = Bytes(1 << 30);

/// All warnings, those first that forbid the plan.
pub(super) fn warnings(facts: &Facts, inputs: &Inputs, plan: &HugetlbPlan) -> Vec<Warning> {
    let mut all = Found(Vec::new());
    memory(plan, &mut all);
    for pool in &plan.pools {
        of_pool(facts, inputs, pool, &mut all);
    }
    rights(facts, inputs, plan, &mut all);
    neighbours(facts, plan, &mut all);
    configuration(facts, plan, &mut all);
    if plan.demands().next().is_none() && plan.pools.iter().all(|pool| pool.headroom_pages == 0) {
        all.add(W::NothingToPlan, String::new());
    }
    all.0.sort_by_key(|warning| (!warning.kind.refuses(), warning.kind));
    all.0
}

struct Found(Vec<Warning>);

impl Found {
    fn add(&mut self, kind: W, about: impl Into<String>) {
        let warning = Warning { kind, about: about.into() };
        // Hundreds of processes of one program have the same to say.
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }
}

fn memory(plan: &HugetlbPlan, all: &mut Found) {
    let memory = &plan.memory;
    let (Some(total), Some(remains)) = (memory.total_bytes, memory.remains_bytes) else { return };
    // A pool that is not grown harms nobody more than it did.
    if memory.pools_bytes <= memory.pools_now_bytes {
        return;
    }
    let pools = memory.pools_bytes;
    if pools > total {
        all.add(W::MoreThanMemory, format!("{pools} of pools, {total} of memory"));
    } else if let Some(leave) = memory.leave_bytes.filter(|leave| remains < *leave) {
        let sum = format!("{total} - {pools} = {remains}");
        all.add(W::LeavesTooLittle, format!("{sum}, and {leave} must remain"));
    }
}

fn of_pool(facts: &Facts, inputs: &Inputs, pool: &PoolPlan, all: &mut Found) {
    let size = Size(pool.page_bytes.0);
    let Some(now) = &pool.now else {
        if pool.needed_pages > 0 && !facts.pools.is_empty() {
            all.add(W::NoPoolOfThisSize, format!("{size}"));
        }
        return;
    };
    let grows = pool.bytes_of(pool.target_pages.saturating_sub(now.total));
    let small = pool.demands.iter().filter(|demand| demand.origin == Origin::Small);
    let twice: Bytes = small.map(super::demand::Demand::bytes).sum();
    if let Some(free) = facts.memory.available.filter(|free| twice.0 > 0 && *free < grows) {
        all.add(W::NeededTwice, format!("the pool grows by {grows}, and {free} are available"));
    }
    others(facts, pool, now, all);
    let idle = now.total.saturating_sub(pool.needed_pages.max(now.held()));
    if idle > 0 && !inputs.shrink {
        let pages = counted(idle, "page", "pages");
        all.add(W::ReservedUnused, format!("{pages} of {size}: {}", pool.bytes_of(idle)));
    }
    pool_numbers(now, all);
    nodes(pool, now, all);
    if pool.page_bytes >= GIANT && pool.target_pages > now.total {
        let more = counted(pool.target_pages - now.total, "more page", "more pages");
        all.add(W::KernelCommandLine, format!("{more} of {size}"));
    }
}

/// Who has pages beside the plan: programs that were found, and others.
fn others(facts: &Facts, pool: &PoolPlan, now: &Pool, all: &mut Found) {
    let (held, size) = (now.held(), Size(pool.page_bytes.0));
    let planned = |pid: &u32| pool.demands.iter().any(|demand| demand.pids.contains(pid));
    let beside =
        |object: &&Object| object.page == Some(pool.page_bytes) && !object.pids.iter().any(planned);
    let found = || facts.objects.iter().filter(beside);
    let pages = sum(found().map(|object| pages(object.bytes, pool.page_bytes)));
    let theirs = pages.min(pool.others_pages);
    if let Some(largest) = found().max_by_key(|object| object.bytes).filter(|_| theirs > 0) {
        let (name, bytes) = (name_of(facts, largest), largest.bytes);
        let text =
            format!("{theirs} of {held} held pages of {size}; the largest is {name}: {bytes}");
        all.add(W::UsedByOthers, text);
    }
    if pool.others_pages > theirs {
        let text = format!("{} of {held} held pages of {size}", pool.others_pages - theirs);
        all.add(W::UnattributedUse, text);
    }
}

fn name_of(facts: &Facts, object: &Object) -> String {
    let what = object.kind.name(&object.name);
    let first = object.pids.iter().find_map(|pid| Some((pid, facts.processes.get(pid)?)));
    match first {
        Some((pid, process)) => format!("{what} of {} (pid {pid})", process.name),
        None => what,
    }
}

fn pool_numbers(now: &Pool, all: &mut Found) {
    if let Some(reserved) = now.reserved.filter(|reserved| *reserved > 0) {
        let (free, left) = (now.free, now.available());
        let text =
            format!("{free} free - {reserved} reserved = {left} pages of {}", Size(now.page.0));
        all.add(W::PromisedPages, text);
    }
    if let Some(surplus) = now.surplus.filter(|surplus| *surplus > 0) {
        all.add(W::SurplusPages, format!("{surplus} of {}", counted(now.total, "page", "pages")));
    }
}

fn nodes(pool: &PoolPlan, now: &Pool, all: &mut Found) {
    for share in &pool.nodes {
        let node = now.nodes.iter().find(|node| node.node == share.node);
        let free = node.and_then(|node| node.memory_free);
        let wanted = pool.bytes_of(share.target_pages.saturating_sub(share.now_pages));
        if let Some(free) = free.filter(|free| *free < wanted) {
            let text = format!("node {}: {wanted} wanted, {free} free", share.node);
            all.add(W::NodeTooSmall, text);
        }
    }
}

fn rights(facts: &Facts, inputs: &Inputs, plan: &HugetlbPlan, all: &mut Found) {
    let group = inputs.shm_group.or(facts.limits.shm_group);
    let group_text = group.map_or_else(|| "unknown".to_owned(), |group| group.to_string());
    let mut users: Vec<&str> = Vec::new();
    for process in needy(facts, plan) {
        let user = user_of(process);
        let member = group.is_some_and(|group| process.groups.contains(&group));
        if process.uid != Some(0) && !member && !users.contains(&user) {
            users.push(user);
            all.add(W::RightToUse, format!("{user}; vm.hugetlb_shm_group is {group_text}"));
        }
    }
    if let Some((now, new)) = facts.limits.shm_group.zip(inputs.shm_group)
        && now > 0
        && now != new
    {
        all.add(W::GroupReplaced, format!("{now} now, {new} planned"));
    }
    let Some(memlock) = &plan.memlock else { return };
    limits(facts, plan, memlock, all);
    // Whether somebody who runs nothing yet is a member of a group is not known.
    let nobody = group.is_none_or(|group| group == 0);
    if let Some(user) = inputs.user.as_deref().filter(|user| *user != "root")
        && nobody
        && users.is_empty()
    {
        all.add(W::RightToUse, format!("{user}; vm.hugetlb_shm_group is {group_text}"));
    }
}

fn limits(facts: &Facts, plan: &HugetlbPlan, memlock: &Memlock, all: &mut Found) {
    let demands = || plan.demands().filter(|demand| demand.needs_right);
    if memlock.users.is_empty() && demands().all(|demand| demand.users.is_empty()) {
        all.add(W::UserUnknown, String::new());
    }
    let limit = Bytes(memlock.limit_kb.saturating_mul(1024));
    // A database has hundreds of processes, each with a name of its own.
    let mut low: BTreeMap<(&str, Bytes), BTreeMap<u32, &Process>> = BTreeMap::new();
    for (pid, process) in
        demands().flat_map(|d| &d.pids).filter_map(|p| facts.processes.get_key_value(p))
    {
        if let Some(now) = process.memlock.filter(|now| *now < limit && process.uid != Some(0)) {
            low.entry((user_of(process), now)).or_default().insert(*pid, process);
        }
    }
    for ((user, now), processes) in low {
        let Some((pid, first)) = processes.first_key_value() else { continue };
        let count = match processes.len() {
            1 => format!("{} (pid {pid})", first.name),
            many => format!("{many} processes, such as {} (pid {pid}),", first.name),
        };
        all.add(W::MemlockTooLow, format!("{count} of {user}: {now}, wanted {limit}"));
    }
    let known = demands().any(|demand| !demand.units.is_empty());
    if memlock.units.is_empty() && !memlock.users.is_empty() && !known {
        all.add(W::ServiceLimit, memlock.users.join(", "));
    }
}

/// Processes that use memory for which the kernel wants a right.
fn needy<'a>(facts: &'a Facts, plan: &'a HugetlbPlan) -> impl Iterator<Item = &'a Process> {
    let demands = plan.demands().filter(|demand| demand.needs_right);
    demands.flat_map(|demand| &demand.pids).filter_map(|pid| facts.processes.get(pid))
}

fn user_of(process: &Process) -> &str {
    process.user.as_deref().unwrap_or("its user")
}

fn neighbours(facts: &Facts, plan: &HugetlbPlan, all: &mut Found) {
    let grows = plan.memory.pools_bytes > plan.memory.pools_now_bytes;
    match facts.kubelet {
        Some(Kubelet::Running) => {
            all.add(W::KubeletRestart, String::new());
            all.add(W::SigbusInPods, String::new());
        }
        Some(Kubelet::Installed) => all.add(W::SigbusInPods, "the kubelet does not run now"),
        None => {}
    }
    let of_oracle = |pids: &[u32]| {
        let known = pids.iter().filter_map(|pid| facts.processes.get(pid));
        known.into_iter().any(|process| Product::of(process) == Some(Product::Oracle))
    };
    let amm = facts.objects.iter().filter(|object| {
        object.kind == ObjectKind::Posix
            && (object.name.starts_with("/dev/shm/ora_") || of_oracle(&object.pids))
    });
    let bytes: Bytes = amm.map(|object| object.bytes).sum();
    if bytes.0 > 0 {
        all.add(W::AutomaticMemory, format!("{bytes} in /dev/shm"));
    }
    let more = plan.memory.pools_bytes.saturating_sub(plan.memory.pools_now_bytes);
    if facts.limits.overcommit_memory == Some(2) && more.0 > 0 {
        all.add(W::CommitLimit, format!("the pools grow by {more}"));
    }
    let memory = &facts.memory;
    if let (Some(total), Some(free)) = (memory.swap_total, memory.swap_free) {
        let used = total.saturating_sub(free);
        if used.0 > 0 && grows {
            all.add(W::SwapInUse, format!("{used} of {total} swap"));
        }
    }
}

/// Lines of other files that set what the plan sets.
fn configuration(facts: &Facts, plan: &HugetlbPlan, all: &mut Found) {
    // `hugepages` is of the size that was named last before it, else of the default one
    // (Documentation/admin-guide/kernel-parameters.txt).
    let mut named = facts.default_page;
    for line in &facts.configured {
        let pages = |size: Option<Bytes>| {
            let pool = plan.pools.iter().find(|pool| Some(pool.page_bytes) == size);
            pool.map(|pool| pool.target_pages.to_string())
        };
        let wanted = match line.key.as_str() {
            "hugepagesz" | "default_hugepagesz" => {
                named = size::parse(&line.value).ok().map(|size| Bytes(size.0));
                None
            }
            "hugepages" => pages(named),
            "vm.nr_hugepages" => pages(facts.default_page),
            key => plan.settings.iter().find(|s| s.key == key).map(|s| s.value.clone()),
        };
        let value = match line.key.as_str() {
            "hugepages" => sum_of_nodes(&line.value).map(|pages| pages.to_string()),
            _ => None,
        };
        let value = value.as_ref().unwrap_or(&line.value);
        if wanted.is_some_and(|wanted| wanted != *value) && !super::files::is_own(&line.file) {
            let (file, number) = (&line.file, line.line);
            let text = format!("{file}, line {number}: {} = {}", line.key, line.value);
            all.add(W::ConfiguredElsewhere, text);
        }
    }
}

/// Pages in a parameter `hugepages`: a number, or one for each node (`0:512,1:512`).
fn sum_of_nodes(value: &str) -> Option<u64> {
    let pages = |part: &str| part.rsplit(':').next().and_then(decimal::<u64>);
    value.split(',').map(pages).try_fold(0_u64, |sum, pages| sum.checked_add(pages?))
}
