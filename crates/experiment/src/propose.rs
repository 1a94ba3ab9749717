//! A ledger to begin with: hypotheses from what a diagnosis found.
//!
//! Where a setting that can be put back tells whether a cause is the one, the hypothesis stands
//! ready; where only the operator knows what to change, it stands there to be filled in.

use super::ledger::HYPOTHESES_MAX;
use hugewise_evidence::diagnose::{Cause, Diagnosis, Finding};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A change that shows whether a cause is the one: the setting, and what else it must move.
struct Test {
    set: (&'static str, &'static str),
    moves: (&'static str, &'static str),
}

const fn test(
    set: (&'static str, &'static str),
    moves: (&'static str, &'static str),
) -> Option<Test> {
    Some(Test { set, moves })
}

/// The test of a cause, where there is one that needs no knowledge of the service.
///
/// How far a counter must move at least is ours: a cause that is switched off leaves no more than
/// a fifth, one that is only eased half.
const fn test_of(cause: Cause) -> Option<Test> {
    match cause {
        Cause::Compaction | Cause::DefragAlways | Cause::HighOrder => {
            test(("defrag", "defer"), ("compaction.stalls_per_s", "-80%"))
        }
        Cause::HugeFaults | Cause::ThpAlways | Cause::Bloat | Cause::RedisCow => {
            test(("enabled", "madvise"), ("thp.fault_alloc_per_s", "-80%"))
        }
        Cause::Khugepaged => {
            test(("khugepaged/scan_sleep_millisecs", "60000"), ("thp.collapse_per_s", "-50%"))
        }
        Cause::Reclaim | Cause::MemoryPressure => {
            test(("vm.watermark_scale_factor", "100"), ("reclaim.direct_scan_per_s", "-50%"))
        }
        Cause::Swapping => test(("vm.swappiness", "1"), ("swap.out_bytes_per_s", "-50%")),
        _ => None,
    }
}

/// The text of a ledger; `target` is where the service answers.
pub fn ledger(found: &Diagnosis, target: Option<&str>) -> String {
    let mut out = String::from(
        "# Hypotheses to put to the test: 'hugewise investigate run FILE'. Read each one first.\n\
         name = \"service\"\n\
         question = \"Why is it slow?\"\n\n[service]\n",
    );
    // Writing into a string cannot fail.
    let _ = match target {
        Some(target) => writeln!(out, "target = {}\nper_s = 50", quoted(target)),
        None => writeln!(out, "# target = \"http://127.0.0.1:8080/\"\n# per_s = 50"),
    };
    let goal = if target.is_some() { "p99_us" } else { "kernel_cpu_percent" };
    let _ = write!(
        out,
        "\n# What is to become better.\n[goal]\nmetric = \"{goal}\"\n\n[trials]\nlength_s = 10\n\
         settle_ms = 2000\n\n# What ends a trial at once.\n[guard]\n"
    );
    let hash = if target.is_some() { "" } else { "# " };
    let _ = writeln!(out, "{hash}p99_ms = 5000\n{hash}failed_percent = 10");
    push_hypotheses(&mut out, &found.findings);
    out
}

fn push_hypotheses(out: &mut String, findings: &[Finding]) {
    let (mut said, mut set) = (BTreeSet::new(), BTreeSet::new());
    for finding in findings.iter().filter(|finding| said.insert(finding.cause)) {
        let (key, title) = (finding.cause.about().key.replace('_', "-"), finding.title);
        match test_of(finding.cause) {
            // Two causes may have the same test: it tells of both.
            Some(test) if set.len() < HYPOTHESES_MAX && set.insert(test.set) => {
                let ((file, value), (counter, by)) = (test.set, test.moves);
                let _ = write!(
                    out,
                    "\n[[hypothesis]]\nname = \"{key}\"\nbecause = {}\ngain_percent = 30\n\
                     set = {{ \"{file}\" = \"{value}\" }}\n\
                     moves = {{ \"{counter}\" = \"{by}\" }}\n",
                    quoted(title)
                );
            }
            Some(_) => {
                let _ = writeln!(out, "\n# {key} ({title}): told by the same change as above.");
            }
            None => push_open(out, &key, finding),
        }
    }
    if findings.is_empty() {
        let _ = write!(
            out,
            "\n# Nothing was found that could be tried. 'hugewise lab limit URL' loads the service \
             until something is full.\n# What you suspect yourself goes here:\n"
        );
        push_blank(out, "my-guess", "what the cause may be");
    }
}

/// A hypothesis that needs to be filled in, with what could be done about its cause.
fn push_open(out: &mut String, key: &str, finding: &Finding) {
    let _ = write!(out, "\n# What to change is for you to say.");
    for remedy in finding.remedies.iter().take(3) {
        let _ = write!(out, " Perhaps: {}.", remedy.what);
    }
    out.push('\n');
    // Which program, pool or queue it is.
    for seen in finding.values().iter().take(2) {
        let _ = writeln!(out, "# Seen: {}", seen.text.replace(char::is_control, "?"));
    }
    push_blank(out, key, finding.title);
}

fn push_blank(out: &mut String, key: &str, because: &str) {
    let _ = write!(
        out,
        "# [[hypothesis]]\n# name = \"{key}\"\n# because = {}\n# gain_percent = 30\n\
         # apply = [\"PROGRAM\", \"ARGUMENT\"]\n# undo = [\"PROGRAM\", \"ARGUMENT\"]\n",
        quoted(because)
    );
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{counters, settings};
    use hugewise_evidence::diagnose::{Thresholds, diagnose};
    use hugewise_evidence::recording::Builder;

    fn found(text: &str) -> Diagnosis {
        let mut builder = Builder::new();
        builder.read("input", text.as_bytes()).expect("a text");
        diagnose(&builder.finish(), &Thresholds::default())
    }

    #[test]
    fn every_test_changes_a_known_setting_and_moves_a_known_counter() {
        for test in Cause::ALL.iter().filter_map(|cause| test_of(*cause)) {
            assert!(settings::file(test.set.0).is_some(), "{}", test.set.0);
            assert!(counters::find(test.moves.0).is_some(), "{}", test.moves.0);
        }
    }

    #[test]
    fn a_finding_with_a_known_test_stands_ready_and_others_are_to_be_filled_in() {
        let line = "1  9 901234  91234   1234  91234 9000 9000  9000 19000 9000 9000  5 15 0 80 0";
        let vmstat = format!(
            "procs ---memory--- ---swap-- -----io---- -system-- ------cpu-----\n\
             r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
             {line}\n{line}\n"
        );
        let text = ledger(&found(&vmstat), Some("http://127.0.0.1:80/\"x\\"));
        assert!(text.contains("target = \"http://127.0.0.1:80/\\\"x\\\\\""), "{text}");
        assert!(text.contains("\n[[hypothesis]]\nname = \"swapping\""), "{text}");
        assert!(text.contains("metric = \"p99_us\""), "{text}");
        let pool = "pool: www\nlisten queue: 7\nlisten queue len: 511\nidle processes: 0\n\
                    active processes: 4\ntotal processes: 4\n";
        let open = ledger(&found(pool), None);
        assert!(open.contains("# name = \"php-fpm-full\""), "{open}");
        assert!(open.contains("# Seen: php-fpm www: 7 requests wait for a worker"), "{open}");
        let nothing = ledger(&found("nothing known\n"), None);
        assert!(nothing.contains("# name = \"my-guess\""), "{nothing}");
        assert!(nothing.contains("hugewise lab limit"), "{nothing}");
        assert!(!nothing.contains("\n[[hypothesis]]"), "{nothing}");
    }
}
