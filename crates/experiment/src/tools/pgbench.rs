//! What pgbench prints at its end, and what it logs of every transaction (`-l`).
//!
//! With `--rate` the time of a transaction counts from when it was scheduled, so one that had to
//! wait for an earlier one is slow (PostgreSQL's manual, "pgbench", "Per-Transaction Logging").

use hugewise_base::stats::Histogram;

/// What it prints at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Report {
    /// Transactions that were processed.
    pub transactions: Option<u64>,
    /// Transactions that failed.
    pub failed: Option<u64>,
    /// Mean latency, milliseconds.
    pub latency_ms: Option<f64>,
    /// Transactions a second, without the time to connect.
    pub tps: Option<f64>,
}

impl Report {
    /// Reads it; lines that say something else are passed over.
    pub fn parse(text: &str) -> Self {
        let mut report = Self::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once([':', '=']) else { continue };
            // "998/1000" where a number was wanted, "0 (0.000%)", "0.12 ms".
            let value = value.trim().split([' ', '/']).next().unwrap_or_default();
            match name.trim() {
                "number of transactions actually processed" => {
                    report.transactions = value.parse().ok();
                }
                "number of failed transactions" => report.failed = value.parse().ok(),
                "latency average" => report.latency_ms = number(value),
                "tps" => report.tps = number(value),
                _ => {}
            }
        }
        report
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// What it logged of its transactions. There is a file for each of its threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// Latencies, nanoseconds; pgbench logs whole microseconds.
    pub latencies: Histogram,
    /// Transactions that were late from the start and left out.
    pub skipped: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Lines that are none of these.
    pub unknown: u64,
}

impl Log {
    /// Adds a file: client, number of the transaction, microseconds, and more on each line.
    pub fn add(&mut self, text: &str) {
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let head = [words.next(), words.next()];
            let is_line = head.iter().all(|word| word.is_some_and(|w| w.parse::<u64>().is_ok()));
            match words.next().filter(|_| is_line) {
                Some("skipped") => self.skipped += 1,
                Some("failed" | "serialization" | "deadlock") => self.failed += 1,
                Some(us) => match us.parse::<u64>() {
                    Ok(us) => self.latencies.record(us.saturating_mul(1000)),
                    Err(_) => self.unknown += 1,
                },
                None => self.unknown += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of pgbench 15.
    const PRINTED: &str = "\
transaction type: <builtin: select only>
scaling factor: 2
number of clients: 4
number of transactions actually processed: 48211
number of failed transactions: 3 (0.006%)
latency average = 0.164 ms
initial connection time = 6.214 ms
tps = 24130.618012 (without initial connection time)
";

    #[test]
    fn the_report_is_read() {
        let report = Report::parse(PRINTED);
        assert_eq!((report.transactions, report.failed), (Some(48_211), Some(3)));
        assert_eq!((report.latency_ms, report.tps), (Some(0.164), Some(24_130.618_012)));
        let short = Report::parse("number of transactions actually processed: 998/1000\ntps = inf");
        assert_eq!((short.transactions, short.tps), (Some(998), None));
        assert_eq!(Report::parse(""), Report::default());
    }

    #[test]
    fn the_log_is_read() {
        let mut log = Log::default();
        log.add("0 199 2241 0 1175850568 995598\n1 1 1000 0 1 2 17 0\n");
        log.add("0 81 skipped 0 1175850569 608354\n3 0 failed 0 1499414498 84905 9\nnoise\n0 1\n");
        assert_eq!((log.latencies.count(), log.latencies.max()), (2, Some(2_241_000)));
        assert_eq!((log.skipped, log.failed, log.unknown), (1, 1, 2));
    }

    proptest! {
        #[test]
        fn nothing_makes_them_panic(text in "(?s).{0,120}") {
            let _ = Report::parse(&text);
            Log::default().add(&text);
        }

        #[test]
        fn every_line_is_counted_once(
            lines in prop::collection::vec("([0-9]{1,22} ){0,4}(skipped|failed|x)?", 0..20),
        ) {
            let text = lines.join("\n");
            let mut log = Log::default();
            log.add(&text);
            let sum = log.latencies.count() + log.skipped + log.failed + log.unknown;
            prop_assert_eq!(sum, text.lines().count() as u64);
        }
    }
}
