//! What many kinds have in common: how they are started, and metrics that go together.

use crate::kind::{Kind, More, Source, Start};

/// Keys of several groups as one list.
macro_rules! joined {
    ($($group:expr),* $(,)?) => {{
        const GROUPS: &[&[&str]] = &[$($group),*];
        const COUNT: usize = $crate::kinds::groups::total(GROUPS);
        const ALL: [&str; COUNT] = $crate::kinds::groups::join(GROUPS);
        &ALL
    }};
}
pub(super) use joined;

/// How many keys groups have.
pub(super) const fn total(groups: &[&[&str]]) -> usize {
    let (mut all, mut at) = (0, 0);
    while at < groups.len() {
        all += groups[at].len();
        at += 1;
    }
    all
}

/// The keys of groups in their order.
pub(super) const fn join<const N: usize>(groups: &[&'static [&'static str]]) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut group, mut at, mut next) = (0, 0, 0);
    while next < N {
        if at == groups[group].len() {
            (group, at) = (group + 1, 0);
        } else {
            all[next] = groups[group][at];
            (at, next) = (at + 1, next + 1);
        }
    }
    all
}

const fn base(start: Start, huge_pages: Source) -> Kind {
    let (name, about) = ("", "");
    let (params, metrics, programs) = (&[], &[], &[]);
    Kind { name, about, start, huge_pages, more: More::Nothing, params, metrics, programs }
}

/// A part of hugewise.
pub(super) const BUILT_IN: Kind = base(Start::BuiltIn, Source::VariantOrLater);
/// A server of others.
pub(super) const SERVER: Kind = base(Start::Server, Source::Variant);
/// A program that can switch its huge pages on after its fill.
pub(super) const EXECUTABLE: Kind = base(Start::Executable, Source::VariantOrLater);
/// A measurement of what hugewise itself costs and gains.
pub(super) const MEASUREMENT: Kind = base(Start::Measurement, Source::Kind);

/// Keys of a group, in a phase of the run: its name with a point, or nothing.
macro_rules! in_phase {
    ($phase:literal: $($key:literal)*) => { &[$(concat!($phase, $key)),*] };
}
pub(super) use in_phase;

/// Memory of the workload.
macro_rules! memory {
    ($phase:literal) => {
        $crate::kinds::groups::in_phase!($phase: "rss_mib" "cgroup_mib" "huge_mib")
    };
}
pub(super) use memory;

/// Memory of the workload, and what the machine has less.
macro_rules! holds {
    ($phase:literal) => {
        $crate::kinds::groups::in_phase!(
            $phase: "rss_mib" "cgroup_mib" "mem_available_less_mib" "huge_mib"
        )
    };
}
pub(super) use holds;

/// Requests of one client.
macro_rules! serves {
    ($phase:literal) => {
        $crate::kinds::groups::in_phase!($phase: "ops_per_s" "p50_us" "p99_us" "p999_us")
    };
}
pub(super) use serves;

/// Latencies.
macro_rules! latencies {
    ($phase:literal) => {
        $crate::kinds::groups::in_phase!($phase: "p50_us" "p99_us" "p999_us" "worst_us")
    };
}
pub(super) use latencies;

/// Memory of the workload that is filled first.
pub(super) const FILLED: &[&str] = &["fill_s", "rss_mib", "cgroup_mib", "huge_mib"];
/// How soon the gain of huge pages was there.
pub(super) const REACH: &[&str] = &["reach_s", "reach_huge_percent"];
/// CPU time of the workload.
pub(super) const CPU: &[&str] = &["user_cpu_s", "kernel_cpu_s"];
/// What a workload waited for, where the kernel counts it (`kernel.task_delayacct`).
pub(super) const WAITS: &[&str] = &["compactions", "compacting_ms", "reclaims", "reclaiming_ms"];
/// What a manager used and did.
pub(super) const MANAGER: &[&str] = &["manager_cpu_s", "promoted", "demoted", "failed"];
/// The requests of `[load]`.
pub(super) const LOAD: &[&str] = joined![
    latencies!(""),
    &["offered_per_s", "achieved_per_s", "failed_share_percent"],
    &["service.p50_us", "service.p99_us", "knee_per_s", "bend_per_s"],
];
