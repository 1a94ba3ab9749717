//! `iftop`: pasted screens and the text mode (`-t`). iftop(8).

use super::prelude::*;

/// A rate in bytes a second. iftop divides by 1024; `b` are bits, `B` bytes.
fn rate(word: &str) -> Option<f64> {
    let (value, unit) = number_and_unit(word)?;
    let (prefix, size) = match (unit.strip_suffix('b'), unit.strip_suffix('B')) {
        (Some(prefix), _) => (prefix, 8.0),
        (_, Some(prefix)) => (prefix, 1.0),
        _ => return None,
    };
    Some(value * binary_factor(prefix)? / size)
}

/// One half of a flow: the end before the arrow and the one behind it, where they are named, and
/// the rate over 10 seconds.
struct Half<'a> {
    before: Option<&'a str>,
    behind: Option<&'a str>,
    rate: f64,
}

/// `local => [remote] 2s 10s 40s [sum]`, or the same with `<=`.
fn half<'a>(words: &[&'a str], arrow: &str) -> Option<Half<'a>> {
    let at = words.iter().position(|word| *word == arrow)?;
    let (before, behind) = (words.get(..at)?, words.get(at + 1..)?);
    // The text mode numbers its flows.
    let before = match before {
        [] => None,
        [end] | [_, end] => Some(*end),
        _ => return None,
    };
    let (end, rates) = match behind {
        [first, rest @ ..] if rate(first).is_none() => (Some(*first), rest),
        rates => (None, rates),
    };
    if !(3..=4).contains(&rates.len()) {
        return None;
    }
    let all: Option<Vec<f64>> = rates.iter().map(|word| rate(word)).collect();
    Some(Half { before, behind: end, rate: *all?.get(1)? })
}

/// Begins at a pair of lines, at the scale above them, or at the text mode's head.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let (this, next) = (words(lines.ahead(0)), words(lines.ahead(1)));
    let pair = half(&this, "=>").is_some() && half(&next, "<=").is_some();
    let scale = this.len() >= 3 && this.iter().all(|word| rate(word).is_some());
    let screen = scale && is_rule(lines.ahead(1));
    (pair || screen || is_text_head(&this))
        .then(|| lines.begin(SourceKind::Iftop, Iftop::default(), out))
}

fn is_text_head(words: &[&str]) -> bool {
    words.starts_with(&["#", "Host", "name"]) && words.contains(&"cumulative")
}

/// A horizontal rule: line drawing characters, also as shown without their font.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let drawn = |c: char| matches!(c, 'q' | 'm' | 'v' | '-' | '=' | '\u{2500}'..='\u{257f}');
    line.len() >= 8 && line.chars().all(drawn)
}

fn is_total(words: &[&str]) -> bool {
    let screen = matches!(words.first(), Some(&("TX:" | "RX:" | "TOTAL:")));
    let text = matches!(words, ["Total", "send" | "receive", ..])
        || words.starts_with(&["Total", "send", "and"]);
    let sums = matches!(words, ["Peak", "rate", ..] | ["Cumulative", "(sent/received/total):", ..]);
    screen || text || sums
}

#[derive(Default)]
struct Iftop {
    /// The first half of a flow: both ends where known, and what was sent.
    sent: Option<(String, Option<String>, f64)>,
}

impl Iftop {
    fn first(&mut self, half: &Half<'_>) -> bool {
        let Some(local) = half.before else { return false };
        self.sent = Some((local.to_owned(), half.behind.map(str::to_owned), half.rate));
        true
    }

    fn second(&mut self, half: &Half<'_>, out: &mut Builder) {
        let Some((local, remote, sent)) = self.sent.take() else {
            out.problem("rates received without the line of rates sent above them: left out");
            return;
        };
        // The text mode names the other end here.
        let Some(remote) = remote.or_else(|| half.before.map(str::to_owned)) else {
            out.problem("a flow without its other end: left out");
            return;
        };
        let subject = Subject::Flow { local, remote };
        out.put(Field::FlowSent, &subject, None, sent);
        out.put(Field::FlowReceived, &subject, None, half.rate);
    }
}

impl Reader for Iftop {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let words = words(line);
        if let Some(half) = half(&words, "=>") {
            if !self.first(&half) {
                return Taken::No;
            }
        } else if let Some(half) = half(&words, "<=") {
            self.second(&half, out);
        } else if words.contains(&"=>") || (words.first() == Some(&"<=")) {
            self.sent = None;
            out.problem("a flow without three rates such as '26.2Mb': left out");
        } else {
            let scale = !words.is_empty() && words.iter().all(|word| rate(word).is_some());
            let other = words.is_empty() || elided(line) || is_rule(line) || is_total(&words);
            if !scale && !other && !is_text_head(&words) {
                return Taken::No;
            }
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    const SCREEN: &str = "\
                 191Mb               381Mb               572Mb               763Mb          954Mb
mqqqqqqqqqqqqqqqqqqqvqqqqqqqqqqqqqqqqqqqvqqqqqqqqqqqqqqqqqqqvqqqqqqqqqqqqqqqqqqqvqqqqqqqqqqqqqqq
172.16.106.119:nfs                   => 172.16.106.130:multiling-http        1.64Mb  2.04Mb  3.06Mb
                                     <=                                      26.2Mb  14.5Mb  19.8Mb
169.254.6.2:60172                    => 225.4.0.2:59004                      2.25Kb  2.40Kb  2.34Kb
                                     <=                                         0b\t0b\t0b


qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq
TX:             cum:   37.0MB   peak:   31.9Mb                      rates:   3.44Mb  5.50Mb  8.22Mb
RX:                     188MB            106Mb                               61.8Mb  36.2Mb  41.8Mb
TOTAL:                  225MB            111Mb                               65.2Mb  41.7Mb  50.1Mb
";

    fn flow(local: &str, remote: &str) -> Subject {
        Subject::Flow { local: local.to_owned(), remote: remote.to_owned() }
    }

    #[test]
    fn a_screen_gives_rates_over_ten_seconds_in_bytes() {
        let recording = read(SCREEN);
        all_understood(&recording);
        let nfs = flow("172.16.106.119:nfs", "172.16.106.130:multiling-http");
        assert_eq!(values(&recording, Field::FlowSent, &nfs), [2.04 * 1_048_576.0 / 8.0]);
        assert_eq!(values(&recording, Field::FlowReceived, &nfs), [14.5 * 1_048_576.0 / 8.0]);
        let group = flow("169.254.6.2:60172", "225.4.0.2:59004");
        assert_eq!(values(&recording, Field::FlowReceived, &group), [0.0]);
    }

    #[test]
    fn the_text_mode_names_the_other_end_below() {
        let recording = read(
            "   # Host name (port/service if enabled)  last 2s   last 10s   last 40s cumulative\n\
             --------------------------------------------------------------------------------\n   \
                1 host-a                         =>     1.00Kb     2.00Kb     3.00Kb     \
                4.00KB\n     \
                  host-b                         <=     5.00KB     6.00KB     7.00KB     8.00KB\n\
             --------------------------------------------------------------------------------\n\
             Total send rate:                         1.00Kb     2.00Kb     3.00Kb\n\
             Total receive rate:                      1.00Kb     2.00Kb     3.00Kb\n\
             Total send and receive rate:             1.00Kb     2.00Kb     3.00Kb\n\
             Peak rate (sent/received/total):         1.00Kb     2.00Kb     3.00Kb\n\
             Cumulative (sent/received/total):        1.00KB     2.00KB     3.00KB\n\
             ================================================================================\n",
        );
        all_understood(&recording);
        let flow = flow("host-a", "host-b");
        assert_eq!(values(&recording, Field::FlowSent, &flow), [256.0]);
        assert_eq!(values(&recording, Field::FlowReceived, &flow), [6144.0]);
    }

    #[test]
    fn a_torn_flow_is_told() {
        let recording =
            read("a:1 => b:2 1Kb 2Kb 3Kb\n <= 1Kb 2Kb 3Kb\na:1 => c:2 1Kb\n <= 1Kb 2Kb 3Kb\n");
        assert_eq!(recording.problems.len(), 2);
        assert_eq!(values(&recording, Field::FlowSent, &flow("a:1", "b:2")).len(), 1);
    }
}
