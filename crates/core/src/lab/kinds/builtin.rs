//! Workloads that are part of hugewise: small, and they verify their data.

use crate::lab::kind::{Default, Kind, Param};

const MIB: Param =
    Param { name: "mib", default: Default::Count(256, 4, 1 << 20), help: "Memory, MiB." };

/// See the module's text.
pub(super) const KINDS: &[Kind] = &[Kind {
    name: "gups",
    about: "Updates random words of one large table.",
    params: &[MIB],
    metrics: &["ops_per_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
}];
