//! When a workload is as fast as it gets, and how much of its memory is huge then.

use crate::run::{Run, key};
use hugewise_base::stats::reach::{Reached, reached};
use hugewise_workloads::protocol::Report;

/// Notes the rate over time, and memory in huge pages beside it; from both, what it took until most
/// of the gain was there.
pub(super) fn note(run: &mut Run<'_>, phase: &str, report: &Report, huge_mib: Vec<(f64, f64)>) {
    for (name, points) in &report.series {
        if let Some(Reached { seconds, huge_percent }) = reached(points, &huge_mib) {
            run.value(&key(phase, "reach_s"), seconds);
            run.value(&key(phase, "reach_huge_percent"), huge_percent);
        }
        run.series(&key(phase, name), points.clone());
    }
    if !report.series.is_empty() && !huge_mib.is_empty() {
        run.series(&key(phase, "huge_mib"), huge_mib);
    }
}
