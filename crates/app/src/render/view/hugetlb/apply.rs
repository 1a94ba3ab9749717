//! What `apply` did, or would do.

use super::page;
use crate::hugetlb::done::{Done, PoolDone};
use crate::render::colour::Paint;
use crate::render::text::{trimmed, wrap};
use crate::render::view::hugetlb::plan::warning;
use hugewise_base::count::counted;
use hugewise_evidence::hugetlb::grow::Outcome;
use std::fmt::Write;

/// A line for each action, and what is left to do by hand.
pub(crate) fn render(done: &Done, persist: bool, paint: Paint) -> String {
    let mut out = String::new();
    let would = if done.dry_run { "would write" } else { "wrote" };
    for setting in &done.settings {
        let now = setting.now.as_deref().unwrap_or("unknown");
        let text = format!("{} = {} (was {now})", setting.key, setting.value);
        out.push_str(&wrap(&format!("{would} "), &text));
    }
    done.pools.iter().for_each(|pool| push_pool(&mut out, pool, paint));
    for file in &done.files {
        if !file.changed {
            let _ = writeln!(out, "/{} is there already", file.path);
            continue;
        }
        let _ = writeln!(out, "{would} /{}", file.path);
        for line in file.text.lines().filter(|line| done.dry_run && !line.starts_with('#')) {
            let _ = writeln!(out, "    {line}");
        }
    }
    for file in &done.stale_files {
        let text = match persist {
            true if done.dry_run => {
                format!("/{file}: would be as it was before: not wanted any more")
            }
            true => format!("/{file}: not wanted any more, as it was before"),
            false => format!(
                "/{file} of an earlier --persist says something else, and counts at the next \
                 boot: --persist brings it up to date"
            ),
        };
        out.push_str(&wrap("", &text));
    }
    if done.pools.is_empty() && done.settings.is_empty() && done.files.is_empty() {
        out.push_str("Nothing to do: the pools have their planned size.\n");
    }
    for found in &done.plan.warnings {
        out.push_str(&paint.warn(&wrap("Note: ", &warning(found))));
    }
    push_next(&mut out, done, persist);
    trimmed(&out)
}

fn push_pool(out: &mut String, pool: &PoolDone, paint: Paint) {
    let node = pool.node.map_or_else(String::new, |node| format!(" of NUMA node {node}"));
    let name = format!("pool of {} pages{node}", page(pool.page_bytes));
    let (before, wanted) = (pool.before_pages, pool.wanted_pages);
    let pages = |count| counted(count, "page", "pages");
    let Some((granted, outcome)) = pool.granted_pages.zip(pool.outcome) else {
        let _ = writeln!(out, "would bring the {name} from {before} to {}", pages(wanted));
        return;
    };
    let compacted = match pool.compactions {
        0 => String::new(),
        1 => ", memory was compacted once".to_owned(),
        n => format!(", memory was compacted {n} times"),
    };
    if outcome == Outcome::Granted {
        let text = format!("{name}: {before} -> {}{compacted}", pages(granted));
        let _ = writeln!(out, "{}", paint.good(&text));
        return;
    }
    let (means, remedy) = outcome.text();
    let wanted = pages(wanted);
    let text = format!("{name}: {before} -> {granted} of {wanted}: {means}{compacted}");
    out.push_str(&paint.bad(&wrap("PARTIAL: ", &text)));
    if !remedy.is_empty() {
        out.push_str(&wrap("  do: ", remedy));
    }
}

fn push_next(out: &mut String, done: &Done, persist: bool) {
    if done.dry_run {
        out.push_str("Nothing was changed (--dry-run).\n");
        return;
    }
    if done.files.iter().any(|file| file.changed && file.path.contains("systemd")) {
        out.push_str("Next: systemctl daemon-reload, then restart the service.\n");
    }
    if !persist && !done.pools.is_empty() {
        out.push_str("This lasts until the next boot: --persist writes it to files.\n");
    }
    out.push_str("Check with 'hugewise hugetlb verify', undo with 'hugewise hugetlb revert'.\n");
}
