//! Whether a pool is used by what it was made for, from a recording or a pasted text: there it is
//! not known who holds which page, only how many are held and how large the segments are.

use super::demand::{self, Demand};
use super::facts::{Facts, Pool};
use super::input::Inputs;
use super::verify::{Check, Verified};
use hugewise_base::size::Size;
use hugewise_base::units::Bytes;

/// Compares the pools of a recording with the shared memory that it lists, or that was described.
pub fn verify_recorded(facts: &Facts, inputs: &Inputs) -> Verified {
    let demands = demand::demands(facts, inputs).all;
    let mut checks = Vec::new();
    for pool in &facts.pools {
        let own: Vec<&Demand> = demands.iter().filter(|d| d.page_bytes == pool.page).collect();
        if pool.total > 0 || !own.is_empty() {
            checks.push(of_segments(pool, &own));
            checks.extend(idle(pool));
        }
    }
    Verified {
        checks,
        tables: None,
        missing: facts.missing.clone(),
        machine_tables: (None, facts.memory.page_tables),
    }
}

/// Pages that are held, against those that the segments need. Pages that nobody has touched are
/// held only by their reservation, which old texts do not show.
fn of_segments(pool: &Pool, own: &[&Demand]) -> Check {
    let needed = demand::sum(own.iter().map(|demand| demand.pages));
    let held = pool.held();
    let size = |pages: u64| Bytes(pages.saturating_mul(pool.page.0));
    let (ok, advice) = match (needed, held) {
        (0, 0) => (None, "no shared memory is listed, and nobody has a page".to_owned()),
        (0, _) => {
            let size = size(held);
            (
                None,
                format!(
                    "as large as the segment that should be on it? It is {size}; add 'ipcs -m'"
                ),
            )
        }
        (_, 0) => (
            Some(false),
            "the segments are on base pages: restart their program with its \
                                 own switch for large pages"
                .to_owned(),
        ),
        _ if held >= needed => (Some(true), String::new()),
        _ if pool.total < needed => {
            let short = needed - pool.total;
            (Some(false), format!("the pool is {short} pages short: hugewise hugetlb apply"))
        }
        _ if pool.reserved.is_none() => (
            None,
            "the rest may be promised and not touched yet: HugePages_Rsvd says it".to_owned(),
        ),
        _ => (Some(false), "a part of the segments is on base pages".to_owned()),
    };
    let what = match own {
        [] => format!("pool of {} pages: held", Size(pool.page.0)),
        [one] => format!("{} in the pool of {} pages", one.name, Size(pool.page.0)),
        many => format!("{} segments in the pool of {} pages", many.len(), Size(pool.page.0)),
    };
    let expected = if own.is_empty() { "-".to_owned() } else { needed.to_string() };
    let reserved = pool.reserved.map_or_else(String::new, |reserved| format!(" + {reserved}"));
    let actual = format!("{held} ({} - {}{reserved})", pool.total, pool.free);
    Check { what, expected, actual, ok, advice }
}

/// Pages that nobody has and nobody is promised, as far as that is known.
fn idle(pool: &Pool) -> Option<Check> {
    let idle = pool.available();
    let bytes = Bytes(idle.saturating_mul(pool.page.0));
    let most = if pool.reserved.is_some() { "" } else { "at most " };
    (idle > 0).then(|| Check {
        what: "  idle (free - reserved)".to_owned(),
        expected: "0".to_owned(),
        actual: format!("{idle} of {}", pool.total),
        ok: None,
        advice: format!(
            "{most}{bytes} that nobody else can use: for what is still to start, or hugewise \
             hugetlb apply --shrink"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::recorded::from_recording;
    use super::*;
    use crate::recording::Builder;

    fn checks(text: &str) -> Vec<Check> {
        let mut out = Builder::new();
        out.read("x", text.as_bytes()).expect("a text");
        let facts = from_recording(&out.finish().hosts[0], "x");
        verify_recorded(&facts, &Inputs::default()).checks
    }

    fn text(bytes: &str, rest: &str) -> String {
        format!(
            "------ Shared Memory Segments --------\n\
             key        shmid      owner      perms      bytes      nattch     status\n\
             0x00000000 131073     oracle     600        {bytes} 251\n\n\
             $ cat /proc/meminfo\nMemTotal: 20549012 kB\n{rest}Hugepagesize: 2048 kB\n"
        )
    }

    #[test]
    fn pages_that_are_held_are_compared_with_the_segments() {
        let pool = "HugePages_Total: 6144\nHugePages_Free: 1655\n";
        for (bytes, more, ok) in [
            ("9414115328", "", Some(true)),
            ("10720641024", "", None),
            ("10720641024", "HugePages_Rsvd: 623\n", Some(true)),
            ("10720641024", "HugePages_Rsvd: 0\n", Some(false)),
            ("20720641024", "", Some(false)),
        ] {
            let found = checks(&text(bytes, &format!("{pool}{more}")));
            assert_eq!(found[0].ok, ok, "{bytes} {more}: {found:?}");
            assert!(found[0].actual.starts_with("4489") || more.contains("623"), "{found:?}");
            let idle = if more.contains("623") { "1032 of 6144" } else { "1655 of 6144" };
            assert_eq!(found[1].actual, idle);
        }
        let unused = "HugePages_Total: 6144\nHugePages_Free: 6144\nHugePages_Rsvd: 0\n";
        assert_eq!(checks(&text("9414115328", unused))[0].ok, Some(false));
        let alone = checks("HugePages_Total: 8\nHugePages_Free: 1\nHugepagesize: 2048 kB\n");
        assert_eq!((alone[0].ok, alone[0].expected.as_str()), (None, "-"));
        assert!(alone[0].advice.contains("14.0 MiB"), "{alone:?}");
    }
}
