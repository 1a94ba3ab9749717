//! A load that is a command of the user's: the team's own Gatling, JMeter, k6 or ab, with its own
//! scenarios. What it has done is in its results, as `hugewise response` reads them.

use super::outcome::{Done, LoadResult, Recorder};
use super::profile::Profile;
use super::sent::Sent;
use super::spec::Tool;
use super::target::Target;
use hugewise_base::stats::Histogram;
use hugewise_base::units::Ns;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How much longer than the command ran its requests may seem to take: `ab` writes when one began
/// in whole seconds. Ours.
const SLACK: Ns = Ns::s(10);
/// Names that are told, the most frequent first. Ours.
const MOST_NAMES: usize = 6;
/// Names that are counted: an address with an id in it is a name for each request. Ours.
const NAMES_COUNTED: usize = 500;
/// Characters of a name that are told. Ours.
const NAME_CHARS: usize = 60;

/// Why results are none of this run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultError {
    /// No request at all.
    #[error("no request is in them")]
    Empty,
    /// They tell of a longer time.
    #[error(
        "their requests lie within {} s, and the command ran for {} s: they are of other runs, too",
        .0.0 / 1_000_000_000, .1.0 / 1_000_000_000
    )]
    Longer(Ns, Ns),
}

/// A text with the server in place of its placeholders; `{dir}` is a directory of the run alone.
pub fn filled_in(text: &str, target: &Target, seed: u64, dir: &str) -> String {
    let (host, port) = match target {
        Target::Redis(address) | Target::Http(address, _) => {
            (address.ip().to_string(), address.port().to_string())
        }
        Target::RedisUnix(path) => (path.clone(), String::new()),
    };
    text.replace("{url}", &target.to_string())
        .replace("{host}", &host)
        .replace("{port}", &port)
        .replace("{seed}", &seed.to_string())
        .replace("{dir}", dir)
}

/// Whether a name fits a pattern, in which `*` stands for anything.
pub fn fits(name: &str, pattern: &str) -> bool {
    let Some((before, behind)) = pattern.split_once('*') else { return name == pattern };
    let Some(rest) = name.strip_prefix(before) else { return false };
    let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    starts.into_iter().any(|at| fits(&rest[at..], behind))
}

/// What the requests of a command that ran for `ran` say of its load.
///
/// # Errors
/// There are none, or they are of other runs.
pub fn result(sent: Vec<Sent>, ran: Ns) -> Result<LoadResult, ResultError> {
    let mut all: Vec<(i64, Sent)> = sent.into_iter().map(|one| (start_ns(&one), one)).collect();
    all.sort_by_key(|(start, _)| *start);
    let begin = all.first().ok_or(ResultError::Empty)?.0;
    let since = |at: i64| Ns(at.saturating_sub(begin).max(0).unsigned_abs());
    let end = all.iter().fold(Ns(0), |end, (at, one)| end.max(since(*at) + one.length));
    if end > ran + SLACK {
        return Err(ResultError::Longer(end, ran));
    }
    let longest = all.iter().fold(Ns(0), |most, (_, one)| most.max(one.length));
    // A rate needs a time.
    let profile = Profile::untold(end.max(Ns::ms(1)));
    let mut recorder = Recorder::new(&profile, longest);
    let mut names = Names::default();
    for (at, one) in &all {
        let (sent, answered) = (since(*at), since(*at) + one.length);
        recorder.handed_over(sent, sent);
        match &one.failed {
            None => recorder.completed(Done { intended: sent, sent, answered }),
            Some((kind, said)) => {
                let said = Some(said.as_str()).filter(|said| !said.is_empty());
                recorder.failed(*kind, answered, said);
            }
        }
        names.add(one);
    }
    let whole_ms = all.iter().all(|(_, one)| one.length.0.is_multiple_of(1_000_000));
    let mut result = LoadResult {
        tool: Tool::Command,
        from_intended_start: false,
        // Only the real sending is in its results.
        intended: None,
        offered_per_s: None,
        late_start: None,
        service: None,
        ..recorder.finish()
    };
    result.notes.extend(names.told());
    result.notes.extend(whole_ms.then(|| "the command measures whole milliseconds".to_owned()));
    Ok(result)
}

/// When it was sent, nanoseconds since 1970.
fn start_ns(one: &Sent) -> i64 {
    let length = i64::try_from(one.length.0).unwrap_or(i64::MAX);
    one.end_ms.saturating_mul(1_000_000).saturating_sub(length)
}

/// Requests by their names.
#[derive(Debug, Default)]
struct Names(BTreeMap<String, (u64, Histogram)>);

impl Names {
    fn add(&mut self, one: &Sent) {
        let room = self.0.len() < NAMES_COUNTED;
        // What stands behind the path differs from request to request.
        let name = one.name.split(['?', '#']).next().unwrap_or_default();
        let name = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect::<String>();
        if room || self.0.contains_key(&name) {
            let (count, answered) = self.0.entry(name).or_default();
            *count += 1;
            if one.failed.is_none() {
                answered.record(one.length.0);
            }
        }
    }

    /// The most frequent ones with their slowest answers; `None` where there is only one.
    fn told(&self) -> Option<String> {
        let mut names: Vec<_> = self.0.iter().collect();
        names.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let mut text = String::from("by request:");
        for (at, (name, (count, answered))) in names.iter().take(MOST_NAMES).enumerate() {
            let _ = write!(text, "{} '{name}' {count}", if at == 0 { "" } else { ";" });
            if let Some(p99) = answered.quantile(0.99) {
                let _ = write!(text, ", p99 {:.1} ms", Ns(p99).as_ms());
            }
        }
        if names.len() > MOST_NAMES {
            let _ = write!(text, "; and {} more names", names.len() - MOST_NAMES);
        }
        (names.len() > 1).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Failure;

    fn sent(name: &str, end_ms: i64, ms: u64) -> Sent {
        Sent { name: name.into(), end_ms, length: Ns::ms(ms), failed: None }
    }

    #[test]
    fn a_load_is_what_its_requests_say() {
        let begin = 1_700_000_000_000;
        // Ten a second for ten seconds; in the last, the late ones come, and each is slow.
        let mut all: Vec<Sent> =
            (0..100).map(|at| sent("/page?id=7", begin + at * 100 + 20, 20)).collect();
        all.extend((0..4).map(|at| sent("heavy", begin + 9_500 + at, 400)));
        let lost = (Failure::Status, "status 503".to_owned());
        all.push(Sent { failed: Some(lost), ..sent("heavy", begin + 10_000, 10) });
        all.reverse();
        let result = result(all, Ns::s(10)).expect("of this run");
        assert_eq!((result.tool, result.completed, result.failures()), (Tool::Command, 104, 1));
        assert_eq!((result.intended, result.offered_per_s), (None, None));
        assert_eq!((result.sent, result.time), (Some(105), Ns::s(10)));
        let rate = result.achieved_per_s.expect("a rate");
        assert!((10.3..10.5).contains(&rate), "{rate}");
        let ms = |q| result.quantile(q).map(|at| at.as_ms().round());
        assert_eq!((ms(0.5), ms(0.98)), (Some(20.0), Some(400.0)));
        assert_eq!(result.quantile(1.0), None, "one was never answered");
        assert_eq!(result.seconds.iter().map(|second| second.offered).sum::<u64>(), 105);
        let notes = result.notes.join("\n");
        for said in ["by request: '/page' 100, p99 20", "; 'heavy' 5, p99 4", "whole milliseconds"]
        {
            assert!(notes.contains(said), "{said}: {notes}");
        }
    }

    #[test]
    fn results_of_another_run_are_none_of_this_one() {
        assert_eq!(result(Vec::new(), Ns::s(1)), Err(ResultError::Empty));
        let all = vec![sent("a", 1_000, 1), sent("a", 1_700_000_000_000, 1)];
        let error = result(all, Ns::s(5)).expect_err("54 years").to_string();
        assert!(error.contains("the command ran for 5 s"), "{error}");
        for end_ms in [i64::MIN, i64::MAX] {
            assert!(result(vec![sent("a", end_ms, 1)], Ns::s(1)).is_ok());
        }
    }

    #[test]
    fn placeholders_name_the_server_and_the_run() {
        let fill = |text: &str, target: &str| {
            filled_in(text, &target.parse().expect("a target"), 7, "/tmp/run")
        };
        let all = "{url} {host} {port} {seed} {dir}";
        assert_eq!(
            fill(all, "http://localhost:8080/a"),
            "http://127.0.0.1:8080/a 127.0.0.1 8080 7 /tmp/run"
        );
        assert_eq!(fill("{host}", "redis+unix:///run/r.sock"), "/run/r.sock");
    }

    #[test]
    fn names_fit_patterns() {
        for (name, pattern, is) in [
            ("out.json", "out.json", true),
            ("out.json", "*.json", true),
            ("shop-20261201", "shop-*", true),
            ("a-b-c", "a*b*c", true),
            ("out.json", "out", false),
            ("\u{fc}x", "*x", true),
            ("", "*", true),
            ("abc", "a*d", false),
        ] {
            assert_eq!(fits(name, pattern), is, "{name} {pattern}");
        }
    }
}
