//! All kinds of workloads.

mod builtin;
mod external;
mod fragment;
mod http;
mod manager;
mod needs;
mod stress;

use super::kind::{Kind, Params};
use super::spec::{HugePages, Variant};

pub use builtin::{AFTER, PARENT_METRICS, WITH_CHANGE};
pub use external::STRESS_NG;
pub use fragment::WITH_RELEASE;
pub use needs::{needs_mib, run_seconds};

/// The kind with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Kind> {
    all().find(|kind| kind.name == name)
}

/// Whether a kind is part of hugewise, and needs nothing else.
#[must_use]
pub fn is_builtin(name: &str) -> bool {
    builtin().any(|kind| kind.name == name)
}

/// What a workload needs of its experiment and has not got: which has the limit of memory that is
/// given here.
#[must_use]
pub fn fault(kind: &str, params: &Params, memory_limit_mib: Option<u64>) -> Option<String> {
    match kind {
        http::NAME => http::fault(params),
        _ => external::fault(kind, params, memory_limit_mib),
    }
}

/// Whether a workload with these parameters is a server that gets the load of its experiment.
#[must_use]
pub fn takes_load(kind: &str, params: &Params) -> bool {
    kind == http::NAME || (kind == "redis" && params.text("scenario") == "load")
}

/// Whether a workload is any program, which its parameter `program` names.
#[must_use]
pub fn names_program(kind: &str) -> bool {
    matches!(kind, "command" | http::NAME)
}

/// Whether a workload gets its huge pages as its variant says (`huge_pages`); the others decide it
/// by parameters of their own, or have none.
#[must_use]
pub fn takes_huge_pages(kind: &str) -> bool {
    !manager::WITH_OWN_PAGES.contains(&kind) && kind != STRESS_NG
}

/// Whether a workload can have no huge pages from faults and yet from a manager
/// ([`HugePages::Later`]): only one that switches them on itself, after its fill.
#[must_use]
pub fn knows_later(kind: &str) -> bool {
    is_builtin(kind) || manager::WITH_LATER.contains(&kind)
}

/// Why a variant cannot have [`HugePages::Later`] of this kind, which would otherwise run as
/// [`HugePages::Inherit`] without a word.
#[must_use]
pub fn later_fault(kind: &str, variant: &Variant) -> Option<String> {
    let is_wrong = find(kind).is_some() && !knows_later(kind);
    (variant.huge_pages == HugePages::Later && is_wrong).then(|| {
        format!(
            "variant '{}': huge_pages = 'later' cannot be had for '{kind}': nobody but a program \
             itself can switch its huge pages on after its fill; {} and the built-in kinds do",
            variant.name,
            manager::WITH_LATER.join(", ")
        )
    })
}

/// All kinds, in the order in which they are listed.
pub fn all() -> impl Iterator<Item = &'static Kind> {
    builtin().chain(external::KINDS).chain(&[http::HTTP]).chain(manager::KINDS)
}

/// The kinds that are part of hugewise, which run as `hugewise workload lab`.
pub fn builtin() -> impl Iterator<Item = &'static Kind> {
    builtin::KINDS.iter().chain(stress::KINDS).chain(fragment::KINDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::metric;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn lists_of_kinds_and_metrics_name_what_there_is() {
        let lists = [WITH_CHANGE, WITH_RELEASE, manager::WITH_LATER, manager::WITH_OWN_PAGES];
        for name in lists.into_iter().flatten() {
            assert!(find(name).is_some(), "{name}");
        }
        for key in PARENT_METRICS {
            assert!(metric::find(key).is_some(), "{key}");
        }
    }

    #[test]
    fn later_is_refused_where_nobody_can_do_it() {
        let variant = |huge_pages| Variant { name: "b".into(), huge_pages, ..Variant::default() };
        for kind in ["gups", "demo", "bloat"] {
            assert_eq!(later_fault(kind, &variant(HugePages::Later)), None, "{kind}");
        }
        for kind in ["redis", "java", "command", "numpy", "promote"] {
            let said = later_fault(kind, &variant(HugePages::Later)).expect(kind);
            assert!(said.starts_with("variant 'b': huge_pages = 'later' cannot"), "{said}");
            assert_eq!(later_fault(kind, &variant(HugePages::Always)), None, "{kind}");
        }
        assert!(takes_huge_pages("redis") && !takes_huge_pages("promote"));
    }

    #[test]
    fn names_are_unique_and_metrics_and_defaults_are_known() {
        let names: BTreeSet<_> = all().map(|kind| kind.name).collect();
        assert_eq!(names.len(), all().count());
        for kind in all() {
            for key in kind.metrics {
                assert!(metric::find(key).is_some(), "{}: {key}", kind.name);
            }
            let params = kind.params(&BTreeMap::new()).expect("defaults");
            // A default must be a value that could be given, too.
            let given = params.iter().map(|(name, value)| (name.to_owned(), value.clone()));
            assert_eq!(kind.params(&given.collect()), Ok(params), "{}", kind.name);
        }
    }
}
