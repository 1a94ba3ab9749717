//! `perf script`: a line a sample, with the chain of calls below it, the innermost function first.

use std::collections::BTreeMap;

use super::model::{FRAMES_MAX, Frame, Profile, lost};
use crate::recording::readers::prelude::*;

/// Most events of one recording.
const EVENTS_MAX: usize = 16;

/// Longest name of a program.
const PROGRAM_CHARS_MAX: usize = 64;

/// Most words of a head: of longer ones the rest is what a tracepoint says.
const HEAD_WORDS_MAX: usize = 24;

/// Digits of an address that is one even without an object behind the function.
const ADDRESS_DIGITS: usize = 12;

/// What is in brackets and no part of the kernel.
const NO_MODULES: [&str; 6] = ["[vdso", "[vsyscall", "[unknown", "[heap", "[stack", "[anon"];

/// The function of a sample that has none.
const UNKNOWN: &str = "[unknown]";

/// The head of a sample.
#[derive(Debug, PartialEq)]
struct Head<'a> {
    program: &'a str,
    event: &'a str,
    /// How many events the sample stands for; 1 where that is not printed.
    period: f64,
    /// What follows the event: a function where there is no chain.
    rest: &'a str,
}

fn hexadecimal(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `2211`, `4121/4188`, `-1`: a process, or one and its thread.
fn ids(word: &str) -> bool {
    word.split('/').all(|part| count(part.trim_start_matches('-')).is_some())
}

/// `cached 2211 [000] 5012.110101: 10101010 cpu-clock:`: the program, its id, then CPU, time,
/// period and event, as far as they were asked for.
fn head(line: &str) -> Option<Head<'_>> {
    let line = line.trim();
    let mut at = 0;
    let mut words = line.split_whitespace().take(HEAD_WORDS_MAX).map(|word| {
        let rest = line.get(at..).unwrap_or_default();
        let begins = at + rest.len() - rest.trim_start().len();
        at = begins + word.len();
        (begins, word)
    });
    // A program's name may have numbers in it: the last one before the time is its id.
    let (mut id, mut behind) = (None, Vec::new());
    let mut first = true;
    loop {
        let (begins, word) = words.next()?;
        if !first && ids(word) {
            id = Some(begins);
            behind.clear();
        } else if id.is_some() {
            behind.push((begins, word));
        }
        if word.starts_with('[') || word.ends_with(':') {
            break;
        }
        first = false;
    }
    let program = line.get(..id?)?.trim_end();
    let (mut event, mut end, mut period) = ("", 0, 1.0);
    for (begins, word) in behind.into_iter().chain(words) {
        end = begins + word.len();
        let flags = word.bytes().all(|byte| byte == b'.' || byte.is_ascii_alphanumeric());
        match word.strip_suffix(':') {
            Some(time) if number(time).is_some() => {}
            Some(name) => {
                event = name;
                break;
            }
            None if word.starts_with('[') || flags => period = number(word).unwrap_or(period),
            None => return None,
        }
    }
    let rest = line.get(end..)?.trim();
    Some(Head { program, event, period, rest })
}

/// `ffffffff8127aa11 compact_zone+0x6b0 ([kernel.kallsyms])`: a function, and whether it is the
/// kernel's, as its object or else its address says.
pub(super) fn frame(line: &str) -> Option<Frame<'_>> {
    let (address, rest) = line.trim().split_once(' ')?;
    if !hexadecimal(address) {
        return None;
    }
    let (name, object) = match rest.trim().rsplit_once(" (") {
        Some((name, object)) => (name.trim(), object.strip_suffix(')')?),
        None => (rest.trim(), ""),
    };
    if object.is_empty() && address.len() < ADDRESS_DIGITS {
        return None;
    }
    let name = name.rsplit_once("+0x").map_or(name, |(name, _)| name);
    let upper = address.len() == 16 && address.starts_with("ffff");
    Some(Frame { name, kernel: upper || is_kernels(object) })
}

/// Whether what a function is part of is the kernel, or a module of it.
pub(super) fn is_kernels(object: &str) -> bool {
    let module = object.starts_with('[') && !NO_MODULES.iter().any(|no| object.starts_with(no));
    let file = [".ko", ".ko.xz", ".ko.gz", ".ko.zst"].iter().any(|end| object.ends_with(end));
    module || file || object.contains("vmlinux")
}

/// CPUs of the machine, as the notes before the samples say it: `# nrcpus online : 8`.
fn cpus(line: &str) -> Option<f64> {
    let (name, count) = line.strip_prefix("# ")?.split_once(" : ")?;
    number(count.trim()).filter(|cpus| name == "nrcpus online" && *cpus > 0.0)
}

/// Begins at a sample with a function below it or on its line, or at the notes before all of them.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let notes = line.starts_with("# ====") && lines.ahead(1).starts_with("# captured on");
    let chained = |head: Head<'_>| frame(head.rest).or_else(|| frame(lines.ahead(1))).is_some();
    let ours = notes || head(line).is_some_and(chained);
    ours.then(|| lines.begin(SourceKind::Stacks, Script::default(), out))
}

#[derive(Default)]
struct Script {
    /// By event.
    profiles: BTreeMap<String, Profile>,
    program: String,
    event: String,
    period: f64,
    /// The chain so far, the innermost first.
    chain: Vec<(String, bool)>,
    /// Whether a sample's head was read, and not yet its end.
    open: bool,
    /// Whether an empty line ends a sample, as it does where chains were recorded.
    ended_by_blank: bool,
    /// Samples that were lost, of whatever event.
    lost: f64,
    left_out: usize,
}

impl Script {
    fn sample_ends(&mut self) {
        let mut chain = std::mem::take(&mut self.chain);
        if !std::mem::take(&mut self.open) {
            return;
        }
        if chain.is_empty() {
            chain.push((UNKNOWN.to_owned(), false));
        }
        let room = self.profiles.len() < EVENTS_MAX || self.profiles.contains_key(&self.event);
        if !room {
            self.left_out += 1;
            return;
        }
        let frames = chain.iter().rev().map(|(name, kernel)| Frame { name, kernel: *kernel });
        let frames: Vec<_> = frames.collect();
        let new = || Profile::of_event(&self.event);
        let profile = self.profiles.entry(self.event.clone()).or_insert_with(new);
        profile.sampled(1.0);
        profile.chain(&self.program, &frames, self.period);
    }

    fn call(&mut self, frame: &Frame<'_>) {
        if self.chain.len() < FRAMES_MAX {
            self.chain.push((frame.name.to_owned(), frame.kernel));
        }
    }
}

impl Reader for Script {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some(lost) = lost(line) {
            self.lost += lost;
            return Taken::Yes;
        }
        out.put_known(Field::CpuCount, &Subject::Machine, None, cpus(line));
        let below = line.starts_with(char::is_whitespace) && !self.program.is_empty();
        if let Some(frame) = frame(line).filter(|_| !self.program.is_empty()) {
            self.call(&frame);
        } else if let Some(head) = head(line) {
            self.sample_ends();
            self.open = true;
            self.program = head.program.chars().take(PROGRAM_CHARS_MAX).collect();
            head.event.clone_into(&mut self.event);
            self.period = head.period;
            frame(head.rest).iter().for_each(|frame| self.call(frame));
        } else if line.trim().is_empty() {
            self.ended_by_blank |= self.open;
            self.sample_ends();
        } else if !(line.starts_with('#') || below && !self.chain.is_empty()) {
            // What is set in below a function is its line of the source.
            return Taken::No;
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        // Without the empty line that ends the others, the text was cut off within its chain.
        if !self.ended_by_blank {
            self.sample_ends();
        }
        if self.left_out > 0 {
            out.cut(format!("samples of more than {EVENTS_MAX} events: the others are left out"));
        }
        let mut all: Vec<_> = std::mem::take(&mut self.profiles).into_values().collect();
        all.sort_by(|a, b| b.size().total_cmp(&a.size()));
        // Of several that count time, the largest: one of them says what ran.
        let largest = all.iter().position(Profile::counts_time);
        for (at, mut profile) in all.into_iter().enumerate() {
            profile.lost(self.lost);
            if !profile.counts_time() || Some(at) == largest {
                profile.put(out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::readers::check::{all_understood, read, values};

    fn sample(head: &str, chain: &[&str]) -> String {
        let frames = chain.iter().map(|frame| format!("\t{frame}\n"));
        format!("{head}\n{}\n", frames.collect::<String>())
    }

    #[test]
    fn heads_have_what_was_asked_for() {
        for (line, program, event) in [
            ("web 1 31/12 77.000123: 250000 cycles:ppp: ", "web 1", "cycles:ppp"),
            (
                "       swapper     0 [012] 9.1:  sched:sched_switch: prev_comm=x",
                "swapper",
                "sched:sched_switch",
            ),
            ("perl 9 cpu-clock:", "perl", "cpu-clock"),
            ("a b 12 [001] 3.5: ", "a b", ""),
        ] {
            let found = head(line).map(|head| (head.program, head.event));
            assert_eq!(found, Some((program, event)), "{line}");
        }
        for no in ["at 12 o'clock it stopped:", "Mem: 5 7 9", "x 12", "12 [000] 5.1: cycles:"] {
            assert_eq!(head(no), None, "{no}");
        }
    }

    #[test]
    fn samples_are_counted_by_function_and_by_what_called_it() {
        let fault = [
            "ffffffff9a0011aa clear_page_erms+0x7 ([kernel.kallsyms])",
            "ffffffff9a0022bb do_anonymous_page+0x1f ([kernel.kallsyms])",
            "ffffffff9a0033cc asm_exc_page_fault+0x22 ([kernel.kallsyms])",
            "    5581aa01 Map<K, V (*)(int)>::grow+0x9 (/opt/x (deleted))",
            "  map.cpp:31",
        ];
        let own = ["    5581aa77 main+0x1 (/opt/x)"];
        let idle = ["ffffffff9a00ffff intel_idle+0x5 ([kernel.kallsyms])"];
        let text = "# ========\n# captured on: Monday\n# nrcpus online : 6\n#\n".to_owned()
            + &sample("x 7/8 [003] 1.000001: 50 cycles: ", &fault).repeat(2)
            + &sample("x 7/8 [003] 1.000001: 200 cycles: ", &fault)
            + &sample("x 7/9 [004] 1.000002: 100 cycles: ", &own)
            + &sample("swapper 0 [005] 1.000003: 1 cycles: ", &idle).repeat(9);
        let recording = read(&text);
        all_understood(&recording);
        let of = |field, name: &str| values(&recording, field, &Subject::Symbol(name.to_owned()));
        assert_eq!(of(Field::SymbolPercent, "clear_page_erms"), [75.0]);
        assert_eq!(of(Field::WithinPercent, "do_anonymous_page"), [75.0]);
        assert_eq!(values(&recording, Field::CpuCount, &Subject::Machine), [6.0]);
        let ran = values(&recording, Field::ProfileSamples, &Subject::Machine);
        assert!((ran[0] - 13.0 * 400.0 / 409.0).abs() < 1e-9, "{ran:?}");
        let calls = Subject::Calls {
            program: "x".to_owned(),
            path: "page fault > do_anonymous_page > clear_page_erms".to_owned(),
        };
        assert_eq!(values(&recording, Field::PathPercent, &calls), [75.0]);
    }

    #[test]
    fn every_whole_sample_counts_and_lost_ones_are_told() {
        let text = sample("x 7 1.0: 30 cycles: ", &["ffffffff9a0011aa clear_page+0x7 ([k])"])
            + &sample("x 7 1.1: 50 cycles: ", &["    5581aa01 [unknown] (/opt/x)"])
            + &sample("x 7 1.2: 20 cycles: ", &[])
            + "x 7 [001] 1.3: PERF_RECORD_LOST lost 1\n\n"
            + "x 7 1.4: 900 cycles: \n\tffffffff9a0011aa clear_page+0x7 ([k])\n";
        let recording = read(&text);
        all_understood(&recording);
        let of = |field| values(&recording, field, &Subject::Machine);
        assert_eq!(of(Field::ProfileWeight), [100.0], "the last one is cut off");
        assert_eq!(of(Field::ProfileSamples), [3.0]);
        assert_eq!(of(Field::ProfileBroken), [70.0]);
        assert_eq!(of(Field::ProfileLost), [25.0]);
    }

    #[test]
    fn another_event_is_no_cpu_time() {
        let text = sample("db 4 [0] 2.5: 1 cache-misses: ", &["ffffffff9a0011aa copy+0x7 ([k])"]);
        let recording = read(&text.repeat(70));
        all_understood(&recording);
        assert!(recording.hosts[0].subjects(Field::SymbolPercent).next().is_none());
        let part = Subject::part("cache-misses", "db: copy");
        assert_eq!(values(&recording, Field::EventPercent, &part), [100.0]);
    }
}
