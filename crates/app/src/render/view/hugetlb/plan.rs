//! The plan: sums with all their terms, and what to know before it is applied.

use super::page;
use crate::render::colour::Paint;
use crate::render::text::{self, left, right, trimmed, wrap};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_base::size::Size;
use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::demand::{Demand, Origin};
use hugewise_evidence::hugetlb::facts::{Facts, Mount, Pool};
use hugewise_evidence::hugetlb::plan::{HugetlbPlan, PoolPlan, Setting, TablesPlan};
use hugewise_evidence::hugetlb::tables::Segment;
use hugewise_evidence::hugetlb::warning::Warning;
use std::fmt::Write;

/// Width of the column of terms.
const TERM: usize = 44;
/// Left-out memory is listed up to so many rows; the rest is counted.
const LEFT_OUT_MAX: usize = 8;

/// The whole plan; `again`: the options, for the command that applies it.
pub(crate) fn render(
    facts: &Facts,
    plan: &HugetlbPlan,
    again: Option<&str>,
    paint: Paint,
) -> String {
    let mut out = String::new();
    let memory = plan.memory.total_bytes.map_or_else(String::new, |b| format!(", {b} of memory"));
    let title = format!("HugeTLB plan for {}{memory}", printable(&plan.source));
    let _ = writeln!(out, "{}\n", paint.bold(wrap("", &title).trim_end()));
    for pool in plan.pools.iter().filter(|pool| is_shown(pool)) {
        push_pool(&mut out, pool, paint);
    }
    push_mounts(&mut out, facts, plan);
    push_memlock(&mut out, plan);
    push_settings(&mut out, plan);
    push_tables(&mut out, plan);
    push_memory(&mut out, plan);
    push_left_out(&mut out, plan, paint);
    push_warnings(&mut out, plan, paint);
    for missing in &facts.missing {
        let text = format!("{}: {}", printable(&missing.what), printable(&missing.why));
        out.push_str(&paint.dim(&wrap("Not seen: ", &text)));
    }
    if let Some(options) = again {
        push_next(&mut out, plan, options, paint);
    }
    trimmed(&out)
}

/// Columns of what is counted: a sum and a number of pages stand behind it.
fn term_columns() -> usize {
    TERM.saturating_sub(text::WIDTH.saturating_sub(text::columns()))
}

fn is_shown(pool: &PoolPlan) -> bool {
    pool.needed_pages > 0 || pool.target_pages > 0 || pool.now_pages() > 0
}

fn push_pool(out: &mut String, pool: &PoolPlan, paint: Paint) {
    let size = page(pool.page_bytes);
    let _ = writeln!(out, "{}", paint.bold(&format!("Pages of {size}")));
    for demand in &pool.demands {
        push_demand(out, demand, &size);
    }
    let mut term = |name: &str, sum: String, pages: u64| {
        let _ = writeln!(
            out,
            "  {} {} {}",
            left(name, term_columns()),
            right(&sum, 20),
            right(&pages.to_string(), 10)
        );
    };
    if pool.headroom_pages > 0 {
        let bytes = pool.bytes_of(pool.headroom_pages);
        term("headroom (--headroom)", format!("{bytes} / {size}"), pool.headroom_pages);
    }
    if pool.others_pages > 0 {
        term("held by others", String::new(), pool.others_pages);
    }
    let kept = pool.target_pages.saturating_sub(pool.needed_pages);
    if kept > 0 {
        term("there already, and kept", String::new(), kept);
    }
    term("pool", pool.bytes_of(pool.target_pages).to_string(), pool.target_pages);
    let now = pool.now.as_ref().map_or_else(|| "not known".to_owned(), numbers);
    out.push_str(&wrap("  now: ", &now));
    for share in &pool.nodes {
        let (node, now, then) = (share.node, share.now_pages, share.target_pages);
        let _ = writeln!(out, "  NUMA node {node}: {now} -> {then}");
    }
    out.push('\n');
}

fn numbers(pool: &Pool) -> String {
    let (total, free) = (pool.total, pool.free);
    let (Some(reserved), Some(surplus)) = (pool.reserved, pool.surplus) else {
        let all = counted(total, "page", "pages");
        return format!("{all}: {free} free; how many are reserved is not known");
    };
    let overcommit = pool.overcommit.filter(|pages| *pages > 0);
    let overcommit = overcommit.map_or_else(String::new, |n| format!(", overcommit {n}"));
    format!(
        "{}: {free} free, {reserved} reserved, {surplus} surplus{overcommit}; available: free - \
         reserved = {}",
        counted(total, "page", "pages"),
        pool.available()
    )
}

fn push_demand(out: &mut String, demand: &Demand, size: &str) {
    let mut name = printable(&demand.name);
    match (demand.origin, demand.attached) {
        (Origin::Huge, _) => name.push_str(", on huge pages now"),
        (Origin::Small, Some(n)) if n > 1 => {
            let _ = write!(name, ", {n} processes");
        }
        _ => {}
    }
    let mut indent = "  ";
    let rows: Vec<(String, Bytes, u64)> = match demand.parts.as_slice() {
        [part] => vec![(name, part.bytes, part.pages)],
        parts => {
            out.push_str(&wrap("  ", &name));
            indent = "    ";
            parts.iter().map(|part| (part.what.clone(), part.bytes, part.pages)).collect()
        }
    };
    for (name, bytes, pages) in rows {
        // Rounding up happens here, and shows.
        let exact = bytes.0 % demand.page_bytes.0.max(1) == 0;
        let about = if exact { "" } else { ", rounded up" };
        let sum = format!("{} / {size}{about}", short(bytes));
        let wide = sum.chars().count();
        let term = (term_columns() + 22).saturating_sub(wide + indent.len());
        let lines = wrapped(&name, term);
        let (last, first) = lines.split_last().map_or(("", &[][..]), |(l, f)| (l.as_str(), f));
        first.iter().for_each(|line| {
            let _ = writeln!(out, "{indent}{line}");
        });
        let _ =
            writeln!(out, "{indent}{} {sum} {}", left(last, term), right(&pages.to_string(), 10));
    }
    if demand.held_pages > 0 && demand.held_pages < demand.pages {
        let _ = writeln!(out, "    holds {} of them now", demand.held_pages);
    }
}

/// Exact where that is short, else rounded.
fn short(bytes: Bytes) -> String {
    let exact = Size(bytes.0).to_string();
    if exact.len() <= 9 { exact } else { bytes.to_string() }
}

fn wrapped(name: &str, wide: usize) -> Vec<String> {
    crate::render::text::wrap_at("", name, wide).lines().map(str::to_owned).collect()
}

/// Where programs find pages as files (QEMU, DPDK): only those of page sizes that have a pool.
fn push_mounts(out: &mut String, facts: &Facts, plan: &HugetlbPlan) {
    let has_pool = |size: Bytes| {
        plan.pools.iter().any(|pool| pool.page_bytes == size && pool.target_pages > 0)
    };
    let of_pool = |mount: &&Mount| mount.page.is_some_and(has_pool);
    for mount in facts.mounts.iter().filter(of_pool) {
        let size = mount.page.map_or_else(String::new, page);
        let limit =
            mount.limit.map_or_else(|| "no limit".into(), |bytes| format!("{bytes} at most"));
        let text = format!("{} ({size} pages, {limit})", printable(&mount.path));
        out.push_str(&wrap("hugetlbfs    ", &text));
    }
}

fn push_memlock(out: &mut String, plan: &HugetlbPlan) {
    let Some(memlock) = &plan.memlock else { return };
    let pools = plan.pools.iter().filter(|pool| pool.demands.iter().any(|d| d.needs_right));
    let sums: Vec<String> = pools
        .map(|pool| format!("{} pages x {} kB", pool.target_pages, pool.page_bytes.0 >> 10))
        .collect();
    let who = [memlock.users.as_slice(), memlock.units.as_slice()].concat().join(", ");
    let who = if who.is_empty() { "its user (--user, --unit)".to_owned() } else { printable(&who) };
    let text = format!("{} = {} kB for {who}", sums.join(" + "), memlock.limit_kb);
    out.push_str(&wrap("memlock      ", &text));
}

fn push_settings(out: &mut String, plan: &HugetlbPlan) {
    for setting in plan.settings.iter().filter(|setting| setting.differs()) {
        let now = setting.now.as_deref().unwrap_or("unknown");
        let text = format!("{} = {} (now {now}): {}", setting.key, setting.value, setting.why);
        out.push_str(&wrap("setting      ", &text));
    }
}

fn push_tables(out: &mut String, plan: &HugetlbPlan) {
    let tables = &plan.tables;
    let mut first = "page tables  ";
    let mut say = |text: String| {
        out.push_str(&wrap(first, &text));
        first = "             ";
    };
    if let Some(machine) = tables.machine_bytes {
        let percent = tables
            .machine_percent
            .map_or_else(String::new, |percent| format!(", {percent:.1} % of the memory"));
        let times = tables.machine_times_memory.filter(|times| *times >= 1.0);
        let times = times.map_or_else(String::new, |times| {
            format!(": entries for {times:.0} times the memory, as many processes map the same")
        });
        say(format!("now {machine} on the whole machine{percent}{times}"));
    }
    if let Some(own) = tables.processes_bytes {
        say(format!(
            "now {own} of the {} planned for (VmPTE)",
            counted(plan.processes, "process", "processes")
        ));
    }
    if let Some(segment) = tables.costliest.as_ref().filter(|s| is_worth_telling(tables, s)) {
        let (name, bytes) = (printable(&segment.name), segment.bytes);
        let (attached, all) = (counted(segment.attached, "time", "times"), segment.tables());
        say(format!("{name} of {bytes}, attached {attached}, explains {all} if each touches all"));
    }
    let sharers = tables.sharers.filter(|_| matter(tables));
    if let Some((sharers, huge)) = sharers.zip(tables.sharers_huge_bytes) {
        say(format!(
            "as much as {sharers:.0} processes have for the planned memory if each touches all of \
             it in 4 KiB pages; on huge pages they would have {huge}"
        ));
    }
    if let (Some(small), Some(huge)) = (tables.small_bytes, tables.huge_bytes) {
        say(format!(
            "of the planned memory alone, if each process touches all of it: {small} on 4 KiB \
             pages, {huge} on huge ones"
        ));
    } else if sharers.is_none() && plan.demands().any(|d| d.origin == Origin::Input) {
        say("--processes N says what N processes cost".into());
    }
}

/// Where page tables take a hundredth of the memory, whose they are matters.
fn matter(tables: &TablesPlan) -> bool {
    tables.machine_percent.is_some_and(|percent| percent >= 1.0)
}

/// A tenth of what there is.
fn is_worth_telling(tables: &TablesPlan, segment: &Segment) -> bool {
    matter(tables)
        && tables.machine_bytes.is_some_and(|machine| segment.tables().0 >= machine.0 / 10)
}

fn push_memory(out: &mut String, plan: &HugetlbPlan) {
    let memory = &plan.memory;
    let (Some(total), Some(remains)) = (memory.total_bytes, memory.remains_bytes) else { return };
    let leave =
        memory.leave_bytes.map_or_else(String::new, |b| format!("; at least {b} must remain"));
    let pools = memory.pools_bytes;
    let text = match pools > total {
        true => format!("{total} of memory, and {pools} of pools: more than there is{leave}"),
        false => format!("{total} - {pools} = {remains} remain for everybody else{leave}"),
    };
    out.push_str(&wrap("memory       ", &text));
}

fn push_left_out(out: &mut String, plan: &HugetlbPlan, paint: Paint) {
    if plan.left_out.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", paint.bold("Not planned for"));
    for memory in plan.left_out.iter().take(LEFT_OUT_MAX) {
        let bytes = memory.bytes.map_or_else(|| "size unknown".to_owned(), |b| b.to_string());
        let (why, remedy) = memory.reason.text();
        let remedy = if remedy.is_empty() { String::new() } else { format!(" ({remedy})") };
        let text = format!("{}, {bytes}: {why}{remedy}", printable(&memory.name));
        out.push_str(&wrap("  ", &text));
    }
    if let Some(more) = plan.left_out.len().checked_sub(LEFT_OUT_MAX).filter(|more| *more > 0) {
        let _ = writeln!(out, "  and {more} more (--json lists them)");
    }
}

fn push_warnings(out: &mut String, plan: &HugetlbPlan, paint: Paint) {
    if plan.warnings.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", paint.bold("Before you apply it"));
    for warning in &plan.warnings {
        let (_, remedy) = warning.kind.text();
        let text = self::warning(warning);
        let line = if warning.kind.refuses() {
            paint.bad(&wrap("  REFUSED: ", &text))
        } else {
            paint.warn(&wrap("  - ", &text))
        };
        out.push_str(&line);
        if !remedy.is_empty() {
            out.push_str(&wrap("      do: ", remedy));
        }
    }
}

/// A warning in a line: what it is about, and what that means.
pub(crate) fn warning(warning: &Warning) -> String {
    let (means, _) = warning.kind.text();
    if warning.about.is_empty() {
        return means.to_owned();
    }
    format!("{means}: {}", printable(&warning.about))
}

fn push_next(out: &mut String, plan: &HugetlbPlan, options: &str, paint: Paint) {
    let grows = plan.pools.iter().any(|pool| pool.target_pages != pool.own_pages());
    if plan.refusals().next().is_some() || (!grows && !plan.settings.iter().any(Setting::differs)) {
        return;
    }
    let here = plan.source == "this machine";
    let title = if here { "Next" } else { "Next, on that machine" };
    let _ = writeln!(out, "\n{}", paint.bold(title));
    // Never broken: it is there to be copied.
    let _ = writeln!(out, "  hugewise hugetlb apply{options} --dry-run");
    let switches: Vec<String> = plan
        .demands()
        .filter(|demand| demand.origin != Origin::Huge)
        .filter_map(|demand| demand.product)
        .map(|product| {
            let about = product.about();
            let rules = product.rules().map(|id| format!(" (see 'hugewise advise show {id}')"));
            format!("{}: {}{}", about.name, about.switch, rules.unwrap_or_default())
        })
        .collect();
    let mut said: Vec<&String> = Vec::new();
    for switch in &switches {
        if !said.contains(&switch) {
            said.push(switch);
            out.push_str(&wrap("  then the program's own switch. ", switch));
        }
    }
}
