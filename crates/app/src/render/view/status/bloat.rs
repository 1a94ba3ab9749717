//! Waste by process and by cgroup, as `hugewise status` shows it.

use crate::render::colour::Paint;
use crate::render::view::status::fields::{self, BLOAT, Field, TARGET};
use crate::render::view::status::parts::{cell, heading};
use crate::render::view::status::values::View;
use crate::render::{number, text};
use hugewise_base::escape::printable;
use hugewise_base::units::Bytes;
use hugewise_manager::status::{CgroupStatus, TargetStatus};

/// Said where page frames are hidden, so that partially mapped blocks cannot be found.
pub(crate) const NOT_LOOKED_FOR: &str =
    "not known whether there are partially mapped blocks: needs CAP_SYS_ADMIN to see page frames";

/// Processes that waste something, or may: where it comes from, and what was given back.
pub(super) fn processes(view: &View, paint: Paint) -> String {
    let concerned =
        |target: &&TargetStatus| target.scanned && (!target.bloat.is_empty() || target.demoted > 0);
    let concerned: Vec<_> = view.processes.iter().filter(concerned).collect();
    let blind =
        |target: &TargetStatus| target.scanned && fields::partially_mapped(target).is_none();
    let note = match view.processes.iter().any(blind) {
        true => text::wrap("  ", NOT_LOOKED_FOR),
        false => String::new(),
    };
    if concerned.is_empty() && note.is_empty() {
        return String::new();
    }
    let mut out = heading("BLOAT", "memory that huge pages hold and nobody uses", paint);
    out.push_str(&note);
    if concerned.is_empty() {
        return out;
    }
    let (mut fields, mut shown): (Vec<_>, _) =
        (TARGET.iter().take(2).chain(BLOAT).collect(), BLOAT);
    let named = |fields: &[&Field<TargetStatus>]| {
        let cells: Vec<_> = fields.iter().map(|field| cell(field, field.heading)).collect();
        cells.join(" ")
    };
    // A narrow terminal goes without the last ones: what was split, and what that freed.
    while text::width(&named(&fields)) > text::columns() && shown.len() > 1 {
        fields.pop();
        shown = &shown[..shown.len() - 1];
    }
    out.push_str(&format!("{}\n", named(&fields)));
    for target in concerned {
        let cells: Vec<_> = fields.iter().map(|field| cell(field, &field.short(target))).collect();
        out.push_str(&format!("{}\n", cells.join(" ")));
    }
    for field in shown {
        let what = text::wrap(&format!("  {}: ", field.heading), field.help);
        out.push_str(&format!("{}\n", paint.dim(what.trim_end())));
    }
    out
}

/// cgroups of managed processes, those with a memory limit or with waste.
pub(super) fn cgroups(view: &View, paint: Paint) -> String {
    let all = view.manager.status().map(|manager| &manager.cgroups[..]).unwrap_or_default();
    let concerned = |cgroup: &&CgroupStatus| {
        cgroup.memory.is_some() || !cgroup.bloat.is_empty() || cgroup.pressure.is_some()
    };
    let concerned: Vec<_> = all.iter().filter(concerned).collect();
    if concerned.is_empty() {
        return String::new();
    }
    let mut out = heading("CGROUPS", "of managed processes, with a limit or bloat", paint);
    out.push_str(&row(["CGROUP", "PROCS", "HUGE", "BLOAT", "UNKNOWN", "USAGE", "LIMIT", "SHORT"]));
    for cgroup in concerned {
        let short = |bytes: Bytes| number::short(bytes);
        let limited = |bytes: Option<Bytes>| bytes.map_or_else(|| "-".to_owned(), short);
        let line = row([
            &tail(&printable(cgroup.belongs_to.as_ref().unwrap_or(&cgroup.cgroup)), name_columns()),
            &cgroup.processes.to_string(),
            &short(cgroup.huge),
            &short(cgroup.bloat.known()),
            &short(cgroup.bloat.unknown),
            &limited(cgroup.memory.map(|memory| memory.usage)),
            &limited(cgroup.memory.map(|memory| memory.limit)),
            cgroup.pressure.map_or("", |source| source.key()),
        ]);
        out.push_str(&if cgroup.pressure.is_some() { paint.warn(&line) } else { line });
    }
    let what = "USAGE, LIMIT: of memory, of the cgroup or of the parent closest to its limit";
    out.push_str(&format!("{}\n", paint.dim(text::wrap("  ", what).trim_end())));
    out
}

/// Columns of a cgroup's name on a terminal of 80.
const NAME: usize = 28;

/// The same on this terminal; what differs in a name stands at its end.
fn name_columns() -> usize {
    NAME.saturating_sub(80_usize.saturating_sub(text::columns())).max(8)
}

fn row([name, cells @ .., last]: [&str; 8]) -> String {
    let wide = [5, 5, 5, 7, 5, 5];
    let cells: Vec<_> = cells.iter().zip(wide).map(|(c, wide)| text::right(c, wide)).collect();
    let line = format!("{} {} {last}", text::left(name, name_columns()), cells.join(" "));
    format!("{}\n", line.trim_end())
}

/// The end of a path in at most `wide` columns: what differs stands there.
fn tail(path: &str, wide: usize) -> String {
    if text::width(path) <= wide {
        return path.to_owned();
    }
    let mut cut = path;
    while text::width(cut) >= wide {
        let mut chars = cut.chars();
        chars.next();
        cut = chars.as_str();
    }
    format!("~{cut}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_keeps_its_end() {
        assert_eq!(tail("/short", 10), "/short");
        assert_eq!(tail("/system.slice/a.service", 10), "~a.service");
        assert_eq!(text::width(&tail("/漢字漢字漢字漢字", 8)), 7);
    }

    #[test]
    fn tables_fit_eighty_columns() {
        let fields = TARGET.iter().take(2).chain(BLOAT);
        assert!(fields.map(|field| field.columns + 1).sum::<usize>() - 1 <= text::WIDTH);
        let wide = row(["x", "1", "1", "1", "1", "1", "1", "mem_available"]);
        assert!(text::width(wide.trim_end()) <= text::WIDTH, "{wide}");
    }
}
