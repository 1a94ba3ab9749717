//! All kinds of workloads.

mod builtin;
mod external;
mod fragment;
mod manager;
mod needs;
mod stress;

use super::kind::{Kind, Params};

pub use builtin::{PARENT_METRICS, WITH_CHANGE};
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
    external::fault(kind, params, memory_limit_mib)
}

/// All kinds, in the order in which they are listed.
pub fn all() -> impl Iterator<Item = &'static Kind> {
    builtin().chain(external::KINDS).chain(manager::KINDS)
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
        for name in WITH_CHANGE.iter().chain(WITH_RELEASE) {
            assert!(find(name).is_some(), "{name}");
        }
        for key in PARENT_METRICS {
            assert!(metric::find(key).is_some(), "{key}");
        }
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
