//! Settings that are known to hurt.

use super::prelude::*;
use hugewise_base::parse::thp_choice;

const THP: &str = "/sys/kernel/mm/transparent_hugepage/";

/// The chosen word of `[always] madvise never`, quoted.
fn choice(cx: &Context<'_>, file: &str) -> Option<(String, Evidence)> {
    let path = format!("{THP}{file}");
    let quote = cx.setting(&path)?;
    let chosen = thp_choice::parse(&quote.text).ok()?.selected;
    let evidence = cx.cite(quote, &format!("{path}: {}", quote.text));
    Some((chosen, evidence))
}

fn number(cx: &Context<'_>, path: &str) -> Option<(f64, Evidence)> {
    let quote = cx.setting(path)?;
    let value = quote.text.parse().ok()?;
    let evidence = cx.cite(quote, &format!("{path}: {}", quote.text));
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
pub(super) fn thp_always(cx: &Context<'_>) -> Answer {
    decided(choice(cx, "enabled"), |chosen| chosen == "always", 0.1, THP_SETTINGS)
}

/// Do page faults reclaim and compact memory to get a huge page?
pub(super) fn defrag_always(cx: &Context<'_>) -> Answer {
    decided(choice(cx, "defrag"), |chosen| chosen == "always", 0.2, THP_SETTINGS)
}

/// Does khugepaged fill holes with memory that no program asked for?
pub(super) fn max_ptes_none(cx: &Context<'_>) -> Answer {
    let path = format!("{THP}khugepaged/max_ptes_none");
    let pages = f64::from(cx.host.geometry().pages_per_huge());
    match number(cx, &path) {
        None => Answer::unknown(&[THP_SETTINGS]),
        // 511 of 512: one page in use makes a huge one (HPAGE_PMD_NR - 1, the kernel's default).
        Some((value, evidence)) if value + 1.0 >= pages => Answer::yes(0.1, vec![evidence]),
        Some((_, evidence)) => Answer::no(vec![evidence]),
    }
}

/// Does a setting keep much of the memory free?
pub(super) fn min_free(cx: &Context<'_>) -> Answer {
    let kept = number(cx, "/proc/sys/vm/min_free_kbytes");
    let (Some((kib, evidence)), Some(total)) = (kept, cx.memory_bytes()) else {
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
    let limit = cx.limit(T::MinFreeHigh);
    Answer::when(percent >= limit, (percent / 100.0).min(1.0), evidence)
        .or_close(cx.is_close(percent, limit))
}

/// Does the kernel reclaim on one NUMA node while others have memory?
pub(super) fn zone_reclaim(cx: &Context<'_>) -> Answer {
    decided(number(cx, "/proc/sys/vm/zone_reclaim_mode"), |value| *value > 0.0, 0.2, SYSCTL)
}

/// Is the limit of accept queues what kernels before 5.4 had?
pub(super) fn somaxconn(cx: &Context<'_>) -> Answer {
    match number(cx, "/proc/sys/net/core/somaxconn") {
        None => Answer::unknown(&[SYSCTL]),
        // Nearly as much as the overflow that leads here, which this finding tells as well.
        Some((value, evidence)) if value <= 128.0 => Answer::yes(0.45, vec![evidence]),
        Some((_, evidence)) => Answer::no(vec![evidence]),
    }
}
