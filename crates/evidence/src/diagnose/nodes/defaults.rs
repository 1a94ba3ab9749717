//! Settings that are known to hurt.

use super::prelude::*;
use hugewise_base::parse::thp_choice;

const THP: &str = "/sys/kernel/mm/transparent_hugepage/";

/// The chosen word of `[always] madvise never`, quoted.
fn choice(look: &Look<'_>, file: &str) -> Option<(String, Evidence)> {
    let path = format!("{THP}{file}");
    let quote = look.setting(&path)?;
    let chosen = thp_choice::parse(&quote.text).ok()?.selected;
    let evidence = look.cite(quote, &format!("{path}: {}", quote.text));
    Some((chosen, evidence))
}

fn number(look: &Look<'_>, path: &str) -> Option<(f64, Evidence)> {
    let quote = look.setting(path)?;
    let value = quote.text.parse().ok()?;
    let evidence = look.cite(quote, &format!("{path}: {}", quote.text));
    Some((value, evidence))
}

/// What a setting says: whether it is of this kind.
fn decided<V>(
    found: Option<(V, Evidence)>,
    is_so: impl Fn(&V) -> bool,
    weight: f64,
    missing: Missing,
) -> Answer {
    let Some((value, evidence)) = found else { return Answer::unknown(&[missing]) };
    Answer::when(is_so(&value), weight, vec![evidence])
}

/// Do all programs get huge pages in their page faults?
pub(super) fn thp_always(look: &Look<'_>) -> Answer {
    decided(choice(look, "enabled"), |chosen| chosen == "always", 0.1, THP_SETTINGS)
}

/// Do page faults reclaim and compact memory to get a huge page?
pub(super) fn defrag_always(look: &Look<'_>) -> Answer {
    decided(choice(look, "defrag"), |chosen| chosen == "always", 0.2, THP_SETTINGS)
}

/// Does khugepaged fill holes with memory that no program asked for?
pub(super) fn max_ptes_none(look: &Look<'_>) -> Answer {
    let path = format!("{THP}khugepaged/max_ptes_none");
    let pages = f64::from(look.host.geometry().pages_per_huge());
    match number(look, &path) {
        None => Answer::unknown(&[THP_SETTINGS]),
        // 511 of 512: one page in use makes a huge one (HPAGE_PMD_NR - 1, the kernel's default).
        Some((value, evidence)) if value + 1.0 >= pages => Answer::yes(0.1, vec![evidence]),
        Some((_, evidence)) => Answer::no(vec![evidence]),
    }
}

/// Does a setting keep much of the memory free?
pub(super) fn min_free(look: &Look<'_>) -> Answer {
    let kept = number(look, "/proc/sys/vm/min_free_kbytes");
    let (Some((kib, evidence)), Some(total)) = (kept, look.memory_bytes()) else {
        return Answer::unknown(&[SYSCTL, MEMINFO]);
    };
    let bytes = kib * 1024.0;
    let percent = bytes / total * 100.0;
    let text = format!(
        "{}: {} of {} ({percent:.1} %) stay free, however short memory is",
        evidence.text,
        write::bytes(bytes),
        write::bytes(total)
    );
    let evidence = vec![Evidence { text, ..evidence }];
    let limit = look.limit(T::MinFreeHigh);
    Answer::when(percent >= limit, (percent / 100.0).min(1.0), evidence)
        .or_close(look.is_close(percent, limit))
}

/// Does the kernel reclaim on one NUMA node while others have memory?
pub(super) fn zone_reclaim(look: &Look<'_>) -> Answer {
    decided(number(look, "/proc/sys/vm/zone_reclaim_mode"), |value| *value > 0.0, 0.2, SYSCTL)
}

/// Is the limit of accept queues what kernels before 5.4 had?
pub(super) fn somaxconn(look: &Look<'_>) -> Answer {
    match number(look, "/proc/sys/net/core/somaxconn") {
        None => Answer::unknown(&[SYSCTL]),
        // Nearly as much as the overflow that leads here, which this finding tells as well.
        Some((value, evidence)) if value <= 128.0 => Answer::yes(0.45, vec![evidence]),
        Some((_, evidence)) => Answer::no(vec![evidence]),
    }
}
