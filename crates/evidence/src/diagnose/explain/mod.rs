//! Explanations: one file each, with the question, what judges it, what a yes means and what to do.
//!
//! A new one is its file, its line in [`ALL`] and its variant of [`Cause`](super::cause::Cause).

mod compaction_since_boot;
mod hugetlb_other_sizes;
mod kswapd_spins;
mod memory_unlisted;
mod prelude;
mod process_grows;
mod serial_requests;
mod thrashing;

use super::explanation::Explanation;

/// All explanations, in the order in which they are asked.
pub(super) const ALL: &[&Explanation] = &[
    &memory_unlisted::EXPLANATION,
    &hugetlb_other_sizes::EXPLANATION,
    &process_grows::EXPLANATION,
    &thrashing::EXPLANATION,
    &kswapd_spins::EXPLANATION,
    &compaction_since_boot::EXPLANATION,
    &serial_requests::EXPLANATION,
];
