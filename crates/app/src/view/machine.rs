//! The machine's section of `status`.

use crate::view::fields::{self, Good};
use crate::view::paint::Paint;
use crate::view::text::{self, printable};
use hugewise_core::snapshot::ThpMode;
use hugewise_core::units::{Bytes, Ns};
use serde::Serialize;

/// The files that make the THP mode, and what is known about who set them.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ThpSettings {
    /// Path and raw value of each file that could be read.
    pub(crate) files: Vec<(String, String)>,
    /// Places that set them, as far as visible.
    pub(crate) who: Vec<String>,
}

/// Free memory of one zone.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Zone {
    /// NUMA node.
    pub(crate) node: u32,
    /// `DMA32`, `Normal`, ...
    pub(crate) zone: String,
    /// FMFI at huge-page order; `None` when nothing is free.
    pub(crate) fmfi: Option<f64>,
    /// Free blocks, counted in huge pages.
    pub(crate) free_huge: u64,
}

/// A kernel counter.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Counter {
    /// Its name in `/proc/vmstat`.
    pub(crate) name: &'static str,
    /// Since boot.
    pub(crate) total: Option<u64>,
    /// While `status` watched.
    pub(crate) delta: Option<u64>,
}

/// What the machine's section shows.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Machine {
    /// Effective THP mode.
    pub(crate) thp: Option<ThpMode>,
    /// Where it comes from.
    pub(crate) settings: ThpSettings,
    /// `MemTotal`.
    pub(crate) mem_total: Option<Bytes>,
    /// `MemAvailable`.
    pub(crate) mem_available: Option<Bytes>,
    /// `AnonPages`; on Linux it includes the huge ones.
    pub(crate) anon: Option<Bytes>,
    /// `AnonHugePages`.
    pub(crate) anon_huge: Option<Bytes>,
    /// FMFI over all zones but DMA.
    pub(crate) fmfi: Option<f64>,
    /// Free blocks of huge-page order over all zones but DMA.
    pub(crate) free_huge: Option<u64>,
    /// PSI `some avg10`.
    pub(crate) psi_some_avg10: Option<f64>,
    /// Per zone; `None` where `/proc/buddyinfo` cannot be read.
    pub(crate) zones: Option<Vec<Zone>>,
    /// See [`COUNTERS`].
    pub(crate) counters: Vec<Counter>,
    /// Time between the two looks at the counters.
    pub(crate) watched: Option<Ns>,
}

impl Machine {
    /// Share of anonymous memory in huge pages.
    pub(crate) fn huge_percent(&self) -> Option<f64> {
        let (all, huge) = (self.anon?, self.anon_huge?);
        (all.0 > 0).then(|| (100.0 * huge.0 as f64 / all.0 as f64).min(100.0))
    }
}

/// Counters worth a look, which way is good, and what they count.
pub(crate) const COUNTERS: &[(&str, Good, &str)] = &[
    ("thp_fault_alloc", Good::Neither, "huge pages at a fault"),
    ("thp_fault_fallback", Good::Low, "... none free"),
    ("thp_collapse_alloc", Good::Neither, "huge pages made later"),
    ("thp_collapse_alloc_failed", Good::Low, "... none free"),
    ("thp_split_page", Good::Neither, "huge pages split"),
    ("thp_underused_split_page", Good::Neither, "... for being mostly zeros"),
    ("compact_stall", Good::Low, "times programs waited"),
    ("compact_fail", Good::Low, "... in vain"),
    ("compact_daemon_wake", Good::Neither, "times kcompactd woke up"),
];

/// The section as text.
pub(crate) fn render(machine: &Machine, paint: Paint) -> String {
    let mut out = format!("{}\n", paint.bold("MACHINE"));
    for field in fields::MACHINE {
        let value = text::right(&field.long(machine), field.columns);
        let value = match field.key {
            "fmfi" => fmfi_painted(machine.fmfi, &value, paint),
            "free_huge" if machine.free_huge == Some(0) => paint.bad(&value),
            _ => value,
        };
        let help = paint.dim(field.help);
        out.push_str(&format!("  {} {value}  {help}\n", text::left(field.heading, 17)));
        match field.key {
            "thp" => out.push_str(&settings(&machine.settings)),
            "free_huge" => out.push_str(&zones(machine, paint)),
            _ => {}
        }
    }
    out.push_str(&counters(machine, paint));
    out
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
        let help = paint.dim(&text::fit(help, 26));
        out.push_str(&format!("    {:<25} {total} {delta}  {help}\n", counter.name));
    }
    out
}
