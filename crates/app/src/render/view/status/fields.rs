//! Each field of a view, defined once: text tables, JSON help and metrics render from here.

pub(crate) use crate::render::view::status::field::{Field, Good, Kind, Value};
use crate::render::view::status::values::Machine;
use hugewise_base::escape::printable;
use hugewise_base::units::Bytes;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::status::TargetStatus;
use serde_json::{Value as Json, json};

/// What the fields mean, for programs.
pub(crate) fn help<T: 'static>(fields: impl Iterator<Item = &'static Field<T>>) -> Json {
    let one = |field: &Field<T>| {
        let good = match field.good {
            Good::High => Some("high"),
            Good::Low => Some("low"),
            Good::Neither => None,
        };
        let entry = json!({ "unit": field.unit(), "good": good, "help": field.help });
        (field.key.to_owned(), entry)
    };
    Json::Object(fields.map(one).collect())
}

fn count(n: u64) -> Value {
    Value::Number(Some(n))
}

fn bytes(amount: Option<Bytes>) -> Value {
    Value::Number(amount.map(|b| b.0))
}

/// Share of its anonymous and shared memory that is in huge pages, percent; `None` before a scan.
pub(crate) fn huge_percent(target: &TargetStatus) -> Option<f64> {
    let all = target.anon + target.shmem.unwrap_or_default();
    let known = target.scanned && all.0 > 0;
    known.then(|| (100.0 * target.huge.0 as f64 / all.0 as f64).min(100.0))
}

/// A value that only a scan gives.
fn of_scan(target: &TargetStatus, value: u64) -> Value {
    Value::Number(target.scanned.then_some(value))
}

/// Memory that partially mapped blocks hold; `None` where small regions have pages missing and
/// nothing tells whether their blocks are still held.
pub(crate) fn partially_mapped(target: &TargetStatus) -> Option<Bytes> {
    let held = target.bloat.partially_mapped;
    let told = target.partially_mapped.is_some() || held > Bytes(0);
    (target.scanned && (told || target.populated <= target.huge)).then_some(held)
}

/// Waste that is known; `None` where nothing is.
pub(crate) fn known_bloat(target: &TargetStatus) -> Option<Bytes> {
    let known = target.known_bloat.filter(|_| target.scanned)?;
    (known > Bytes(0) || partially_mapped(target).is_some()).then_some(known)
}

/// The reason for which most of its waste stays, where some does.
pub(crate) fn main_kept(target: &TargetStatus) -> Option<SkipReason> {
    let kept = target.not_split.iter().filter(|(_, n)| **n > 0 && target.scanned);
    let most = kept.max_by_key(|(reason, n)| (**n, std::cmp::Reverse(**reason)));
    most.map(|(reason, _)| *reason)
}

/// The reason that keeps most of its regions small, mappings that are no candidates left out.
pub(crate) fn main_reason(target: &TargetStatus) -> Option<SkipReason> {
    let skips = target.not_promoted.iter().filter(|(reason, n)| **n > 0 && !is_plain(**reason));
    let most = skips.max_by_key(|(reason, n)| (**n, std::cmp::Reverse(**reason)));
    target.refused.or(most.map(|(reason, _)| *reason))
}

/// Reasons that lie in the nature of a mapping and call for no explanation.
pub(crate) const fn is_plain(reason: SkipReason) -> bool {
    use SkipReason as R;
    matches!(
        reason,
        R::SharedMapping | R::FileMapping | R::NotWritable | R::SpecialMapping | R::Empty
    )
}

fn why(target: &TargetStatus) -> Value {
    let limit = target.limit.map(|limit| {
        let key = limit.config_key();
        key.rsplit('.').next().unwrap_or(key).to_owned()
    });
    let reason = || main_reason(target).or_else(|| main_kept(target));
    let reason = || reason().map(|reason| reason.key().to_owned());
    let nothing = if target.scanned { "" } else { "?" };
    Value::Text(limit.or_else(reason).or_else(|| Some(nothing.to_owned())))
}

macro_rules! field {
    ($key:literal, $heading:literal, $columns:literal, $kind:ident, $good:ident, $help:literal,
     $get:expr) => {
        Field {
            key: $key,
            heading: $heading,
            columns: $columns,
            kind: Kind::$kind,
            good: Good::$good,
            help: $help,
            get: $get,
        }
    };
}

/// Fields of a process, in the order of the text table.
pub(crate) const TARGET: &[Field<TargetStatus>] = &[
    field!("pid", "PID", 7, Count, Neither, "process id", |t| count(u64::from(t.pid))),
    field!("name", "NAME", 15, Text, Neither, "command name", |t| {
        Value::Text(Some(printable(&t.name)))
    }),
    field!("rss", "RSS", 0, Bytes, Neither, "resident memory", |t| bytes(Some(t.rss))),
    field!("anon", "ANON", 5, Bytes, Neither, "resident anonymous memory", |t| {
        bytes(Some(t.anon))
    }),
    field!("huge_percent", "HUGE", 4, Percent, High, "of ANON, in huge pages", |t| {
        Value::Float(huge_percent(t))
    }),
    field!("huge", "IN HUGE", 0, Bytes, High, "memory in huge pages", |t| of_scan(t, t.huge.0)),
    field!(
        "eligible",
        "ELIGIBLE",
        8,
        Bytes,
        Neither,
        "regions that are huge, or full enough to become so",
        |t| of_scan(t, t.eligible.0)
    ),
    field!("coverage_percent", "COVERAGE", 0, Percent, High, "of ELIGIBLE, in huge pages", |t| {
        Value::Float(t.coverage_percent())
    }),
    field!(
        "utilization_percent",
        "UTIL",
        4,
        Percent,
        High,
        "base pages populated in regions that are not huge",
        |t| { Value::Float(t.utilization_percent) }
    ),
    field!(
        "known_bloat",
        "BLOAT",
        5,
        Bytes,
        Low,
        "memory that huge pages hold and nobody uses, as far as known",
        |t| { bytes(known_bloat(t)) }
    ),
    field!(
        "partially_mapped",
        "PARTIAL",
        0,
        Bytes,
        Low,
        "pieces of huge pages still held as blocks",
        |t| bytes(t.partially_mapped)
    ),
    field!("populated", "POPULATED", 0, Bytes, Neither, "populated memory in regions", |t| {
        of_scan(t, t.populated.0)
    }),
    field!("regions", "REGIONS", 0, Count, Neither, "regions with a populated page", |t| {
        of_scan(t, t.regions)
    }),
    field!("promoted", "PROMOTED", 0, Count, Neither, "regions that the manager made huge", |t| {
        count(t.promoted)
    }),
    field!(
        "why",
        "WHY NOT MORE",
        25,
        Text,
        Neither,
        "main reason why regions are not huge, or why bloat is not given back",
        why
    ),
];

/// Fields that say where a process's waste comes from, in the order of their text table.
pub(crate) const BLOAT: &[Field<TargetStatus>] = &[
    field!(
        "bloat.partially_mapped",
        "HELD",
        7,
        Bytes,
        Low,
        "partially mapped blocks, still allocated as a whole",
        |t| bytes(partially_mapped(t))
    ),
    field!(
        "bloat.remembered",
        "EMPTY",
        7,
        Bytes,
        Low,
        "not populated when last seen before it became huge; the program may have filled it since",
        |t| of_scan(t, t.bloat.remembered.0)
    ),
    field!(
        "bloat.sampled",
        "ZEROS",
        7,
        Bytes,
        Low,
        "zeros in huge pages, estimated from samples of the memory",
        |t| of_scan(t, t.bloat.sampled.0)
    ),
    field!(
        "bloat.unknown",
        "UNKNOWN",
        7,
        Bytes,
        Neither,
        "in huge pages whose use is not known",
        |t| of_scan(t, t.bloat.unknown.0)
    ),
    field!("demoted", "SPLIT", 7, Count, Neither, "huge pages that the manager split", |t| {
        count(t.demoted)
    }),
    field!("freed", "FREED", 7, Bytes, High, "memory that these splits gave back", |t| {
        bytes(Some(t.freed))
    }),
];

/// Fields of the machine, in the order of the text.
pub(crate) const MACHINE: &[Field<Machine>] = &[
    field!("thp", "THP mode", 10, Text, Neither, "effective setting of 'enabled'", |m| {
        Value::Text(m.thp.map(|mode| mode.name().to_owned()))
    }),
    field!("mem_total", "Memory", 10, Bytes, Neither, "MemTotal", |m| bytes(m.mem_total)),
    field!("mem_available", "available", 10, Bytes, High, "MemAvailable", |m| {
        bytes(m.mem_available)
    }),
    field!("anon", "Anonymous", 10, Bytes, Neither, "AnonPages", |m| bytes(m.anon)),
    field!("anon_huge", "in huge pages", 10, Bytes, High, "AnonHugePages", |m| {
        bytes(m.anon_huge)
    }),
    field!("huge_percent", "coverage", 10, Percent, High, "AnonHugePages of AnonPages", |m| {
        Value::Float(m.huge_percent())
    }),
    field!(
        "hugetlb",
        "HugeTLB pools",
        10,
        Bytes,
        Neither,
        "memory in HugeTLB pools of all sizes",
        |m| { bytes(m.hugetlb) }
    ),
    field!(
        "hugetlb_available",
        "idle in pools",
        10,
        Bytes,
        Low,
        "in the default pool, promised to nobody",
        |m| bytes(m.hugetlb_available)
    ),
    field!(
        "fmfi",
        "Fragmentation",
        10,
        Index,
        Low,
        "FMFI: share of free memory in too small blocks",
        |m| Value::Float(m.fmfi)
    ),
    field!("free_huge", "free huge blocks", 10, Count, High, "huge pages available at once", |m| {
        Value::Number(m.free_huge)
    }),
    field!("psi_some_avg10", "Memory stalls", 10, Percent, Low, "PSI 'some', last 10 s", |m| {
        Value::Float(m.psi_some_avg10)
    }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_eighty_columns() {
        let shown = TARGET.iter().filter(|f| f.columns > 0);
        let wide: usize = shown.map(|f| f.columns + 1).sum();
        assert!(wide - 1 <= crate::render::text::WIDTH, "{wide}");
    }

    #[test]
    fn keys_are_unique() {
        let mut keys: Vec<_> = TARGET.iter().chain(BLOAT).map(|f| f.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), TARGET.len() + BLOAT.len());
    }
}
