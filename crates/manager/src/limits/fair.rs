//! Who is served next: the metric M (`docs/glossary.md#limits`), here and nowhere else.

/// Metric M = S / (H x (f + tau x (1 - f))). The process with the largest M is served next.
///
/// * `share` S: the process's or cgroup's weight, > 0
/// * `huge` H: huge pages it holds, or was given lately; at least 1 is counted
/// * `idle` f: the fraction of them that is idle, 0 to 1; unknown is 0, no penalty
/// * `tau`, 0 < tau <= 1: smaller means that idleness costs more
pub fn metric(share: f64, huge: u64, idle: f64, tau: f64) -> f64 {
    let idle = idle.clamp(0.0, 1.0);
    let held = huge.max(1) as f64;
    share / (held * (idle + tau.clamp(1e-3, 1.0) * (1.0 - idle)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn more_idle_is_never_a_larger_claim(
            share in 0.001..1000.0f64, huge in 0..1_000_000u64,
            a in 0.0..1.0f64, b in 0.0..1.0f64, tau in 0.01..1.0f64,
        ) {
            let (busy, idle) = if a < b { (a, b) } else { (b, a) };
            prop_assert!(metric(share, huge, idle, tau) <= metric(share, huge, busy, tau));
        }

        #[test]
        fn more_held_is_never_a_larger_claim(
            share in 0.001..1000.0f64, huge in 0..1_000_000u64, idle in 0.0..1.0f64,
        ) {
            prop_assert!(metric(share, huge + 1, idle, 0.5) <= metric(share, huge, idle, 0.5));
        }
    }
}
