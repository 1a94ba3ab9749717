//! How long requests took, in a few numbers.

use serde::Serialize;

use super::sketch::Sketch;

/// Requests from which on the 99th percentile is reported: with fewer it is the longest one.
pub(super) const REQUESTS_P99: u64 = 100;

/// Requests from which on the 99.9th percentile is reported: of 10,000, ten lie above it.
const REQUESTS_P999: u64 = 10_000;

/// How long requests took, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// Requests with a response time.
    pub requests: u64,
    /// The mean; `None`: no request.
    pub mean_us: Option<f64>,
    /// A twentieth took no longer.
    pub p5_us: Option<u64>,
    /// Half of them took no longer.
    pub median_us: Option<u64>,
    /// Nine of ten took no longer.
    pub p90_us: Option<u64>,
    /// 99 of 100 took no longer; `None` with fewer than 100 requests.
    pub p99_us: Option<u64>,
    /// 999 of 1000 took no longer; `None` with fewer than 10,000 requests.
    pub p999_us: Option<u64>,
    /// The longest.
    pub max_us: Option<u64>,
}

impl Times {
    pub(super) fn of(times: &Sketch) -> Self {
        let from =
            |least: u64, q: f64| (times.count() >= least).then(|| times.quantile(q)).flatten();
        Self {
            requests: times.count(),
            mean_us: times.mean(),
            p5_us: times.quantile(0.05),
            median_us: times.quantile(0.5),
            p90_us: times.quantile(0.9),
            p99_us: from(REQUESTS_P99, 0.99),
            p999_us: from(REQUESTS_P999, 0.999),
            max_us: times.max(),
        }
    }
}
