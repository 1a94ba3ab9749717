//! The machine's section of `status`.

use crate::render::colour::Paint;
use crate::render::text;
use crate::render::view::status::fields::{self, Good};
use crate::render::view::status::values::{Machine, ThpSettings};
use hugewise_base::escape::printable;

/// Counters worth a look, which way is good, and what they count.
pub(crate) const COUNTERS: &[(&str, Good, &str)] = &[
    ("thp_fault_alloc", Good::Neither, "huge pages at a fault"),
    ("thp_fault_fallback", Good::Low, "... none free"),
    ("thp_collapse_alloc", Good::Neither, "huge pages made later"),
    ("thp_collapse_alloc_failed", Good::Low, "... none free"),
    ("thp_split_page", Good::Neither, "huge pages split"),
    ("thp_underused_split_page", Good::Neither, "... for being mostly zeros"),
    ("compact_stall", Good::Low, "times programs waited"),
    ("compact_fail", Good::Low, "... that failed"),
    ("compact_daemon_wake", Good::Neither, "times kcompactd woke up"),
];

/// The section as text.
pub(crate) fn render(machine: &Machine, paint: Paint) -> String {
    let mut out = format!("{}\n", paint.bold("MACHINE"));
    let has_pools = machine.hugetlb.is_none_or(|pools| pools.0 > 0);
    for field in fields::MACHINE.iter().filter(|f| has_pools || f.key != "hugetlb_available") {
        let value = text::right(&field.long(machine), field.columns);
        let value = match field.key {
            "fmfi" => fmfi_painted(machine.fmfi, &value, paint),
            "free_huge" if machine.free_huge == Some(0) => paint.bad(&value),
            _ => value,
        };
        let help = beside(22 + field.columns, field.help, paint);
        out.push_str(&format!("  {} {value}{help}\n", text::left(field.heading, 17)));
        match field.key {
            "thp" => out.push_str(&settings(&machine.settings)),
            "free_huge" => out.push_str(&zones(machine, paint)),
            _ => {}
        }
    }
    out.push_str(&counters(machine, paint));
    out
}

/// An explanation behind so many columns; nothing where the line is too short for it.
fn beside(column: usize, help: &str, paint: Paint) -> String {
    match help {
        "" => String::new(),
        help if column + text::width(help) > text::columns() => String::new(),
        help => format!("  {}", paint.dim(help)),
    }
}

/// Above a half, most free memory is of no use for huge pages.
fn fmfi_painted(fmfi: Option<f64>, shown: &str, paint: Paint) -> String {
    match fmfi {
        Some(f) if f >= 0.9 => paint.bad(shown),
        Some(f) if f >= 0.5 => paint.warn(shown),
        _ => shown.to_owned(),
    }
}

fn settings(settings: &ThpSettings) -> String {
    const PREFIX: &str = "sys/kernel/mm/transparent_hugepage/";
    let mut out = String::new();
    let files = settings.files.iter().map(|(path, value)| {
        let path = path.trim_start_matches('/');
        format!("{}={}", path.strip_prefix(PREFIX).unwrap_or(path), printable(value))
    });
    let files: Vec<_> = files.collect();
    if !files.is_empty() {
        out.push_str(&text::wrap("    ", &files.join(", ")));
    }
    for who in &settings.who {
        out.push_str(&text::wrap("    ", &format!("set by {}", printable(who))));
    }
    out
}

fn zones(machine: &Machine, paint: Paint) -> String {
    let Some(zones) = &machine.zones else {
        return "    zones: unknown, /proc/buddyinfo cannot be read\n".to_owned();
    };
    let mut out = String::new();
    for zone in zones {
        let fmfi = zone.fmfi.map_or_else(|| "?".to_owned(), |f| format!("{f:.2}"));
        let fmfi = fmfi_painted(zone.fmfi, &text::right(&fmfi, 5), paint);
        let name = text::left(&format!("node {} {}", zone.node, printable(&zone.zone)), 18);
        out.push_str(&format!("    {name} FMFI {fmfi}, {} free huge blocks\n", zone.free_huge));
    }
    out
}

fn counters(machine: &Machine, paint: Paint) -> String {
    let watched = machine.watched.map_or_else(String::new, |ns| format!("in {:.1} s", ns.as_s()));
    let heading = format!("  {:<27} {:>12} {watched:>9}", "Kernel counters", "since boot");
    let mut out = format!("{heading}\n");
    for counter in &machine.counters {
        let known = COUNTERS.iter().find(|(name, ..)| *name == counter.name);
        let (good, help) = known.map_or((Good::Neither, ""), |(_, good, help)| (*good, *help));
        let number = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let delta = match counter.delta {
            Some(0) => "0".to_owned(),
            other => other.map_or_else(|| "?".to_owned(), |n| format!("+{n}")),
        };
        let delta = text::right(&delta, 9);
        let delta = match (good, counter.delta) {
            (Good::Low, Some(1..)) => paint.warn(&delta),
            _ => delta,
        };
        let total = text::right(&number(counter.total), 12);
        let help = beside(54, &text::fit(help, 26), paint);
        out.push_str(&format!("    {:<25} {total} {delta}{help}\n", counter.name));
    }
    out
}
