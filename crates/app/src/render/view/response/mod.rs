//! What `hugewise response` says.

mod episode;
mod tables;
mod words;

use crate::render::colour::Paint;
use crate::render::text::wrap;
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_evidence::response::{Account, Goal, Joined, Untold};
use serde_json::{Value, json};
use words::{clock, day, few, shown, time};

/// The answer of logs, and of recordings beside them.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What the logs say.
    pub(crate) account: Account,
    /// What the machine did meanwhile; `None`: nobody asked.
    pub(crate) joined: Option<Joined>,
    /// Inputs that could not be read.
    pub(crate) problems: Vec<String>,
}

impl Answer {
    /// As one JSON object.
    pub(crate) fn json(&self) -> serde_json::Result<Value> {
        let mut value = serde_json::to_value(&self.account)?;
        value["machine"] = serde_json::to_value(&self.joined)?;
        value["problems"] = json!(self.problems);
        Ok(value)
    }
}

/// The answer in words: first when it was slow and where, then the tables.
pub(crate) fn text(answer: &Answer, paint: Paint) -> String {
    let account = &answer.account;
    let mut text = head(account, paint);
    text.push('\n');
    if let Some(goal) = &account.goal {
        text.push_str(&of_goal(goal, account.times.requests, paint));
    }
    text.push_str(&verdict(account, paint));
    for (at, episode) in account.episodes.iter().enumerate() {
        let beside = answer.joined.as_ref().and_then(|joined| joined.episodes.get(at));
        text.push_str(&episode::text(episode, account.calm.as_ref(), beside, paint));
    }
    if let Some(joined) = &answer.joined {
        text.push_str(&episode::machine(joined, paint));
    }
    text.push_str(&tables::text(account, paint));
    text.push_str(&said_not(answer, paint));
    if account.untold != Some(Untold::NoTimes) {
        text.push_str(&next(answer));
    }
    text
}

/// What tells more.
fn next(answer: &Answer) -> String {
    let line = match (answer.account.episodes.is_empty(), &answer.joined) {
        (true, _) => {
            "a service that is slow all the time has no calm window to be compared with: \
             'hugewise diagnose' while it is under load says what is full or waits, 'hugewise \
             lab limit URL' at which rate"
        }
        (false, None) => {
            "'hugewise diagnose' while it is slow says what the machine does then, and --with \
             joins what was recorded"
        }
        (false, Some(_)) => {
            "'hugewise investigate plan' makes of what the machine did hypotheses that can be tried"
        }
    };
    format!("\n{}", wrap("Next: ", line))
}

/// What was read, and how long requests took.
fn head(account: &Account, paint: Paint) -> String {
    let requests = counted(account.counts.requests, "request", "requests");
    let span = account.from.as_deref().zip(account.to.as_deref());
    let span = span.map_or_else(String::new, |(from, to)| {
        format!(
            " from {} to {}",
            shown(from),
            if day(from) == day(to) { clock(to) } else { shown(to) }
        )
    });
    let zone = account.from.as_deref().and_then(|from| from.get(19..)).unwrap_or_default();
    let zone = if zone.is_empty() { String::new() } else { format!(" ({zone})") };
    let mut text = paint.bold(&wrap("", &format!("{requests}{span}{zone}")));
    let times = &account.times;
    if let Some(mean) = times.mean_us {
        let of = |us: Option<u64>| us.map_or("-".to_owned(), |us| time(us as f64));
        let mut line = format!(
            "response time: median {}, p90 {}, p99 {}",
            of(times.median_us),
            of(times.p90_us),
            of(times.p99_us)
        );
        if times.p999_us.is_some() {
            line += &format!(", p99.9 {}", of(times.p999_us));
        }
        line += &format!(", max {}, mean {}", of(times.max_us), time(mean));
        text.push_str(&wrap("", &line));
    }
    let counts = &account.counts;
    let rate =
        account.rate_per_s.map_or_else(String::new, |rate| format!("{} requests/s, ", few(rate)));
    let failed = match counts.failed {
        0 => String::new(),
        failed => format!(", {failed} failed by who asked"),
    };
    let line = format!(
        "{rate}{} (5xx){failed}, {} given up by the client",
        counted(counts.errors, "error", "errors"),
        counts.given_up
    );
    text.push_str(&wrap("", &line));
    for input in &account.inputs {
        let format = input.format.as_deref().unwrap_or("no known format");
        let left_out = match input.left_out {
            0 => String::new(),
            count => {
                let first = input.first_left_out.unwrap_or(0);
                let lines = counted(count, "line", "lines");
                format!(", {lines} of {} not understood (the first is {first})", input.lines)
            }
        };
        text.push_str(&wrap("  ", &format!("{}: {format}{left_out}", printable(&input.name))));
    }
    text
}

fn verdict(account: &Account, paint: Paint) -> String {
    let line = match (account.untold, account.episodes.len()) {
        (Some(Untold::NoTimes), _) => {
            return wrap("", &paint.warn("No response times: nothing can be said of slow times."));
        }
        (Some(Untold::TooFew), _) => {
            return wrap("", "Too few requests, or too short a time, to tell slow from calm.");
        }
        (None, 0) => paint.good("Nothing slow: no window lies above the others beyond noise."),
        (None, count) => {
            paint.warn(&format!("{}:", counted(count as u64, "slow time", "slow times")))
        }
    };
    wrap("", &line)
}

/// Whether what was asked of the requests holds, and where their time passes if not.
fn of_goal(goal: &Goal, requests: u64, paint: Paint) -> String {
    let Goal { goal_us, above, met, main } = goal;
    let goal = time(*goal_us as f64);
    let share = *above as f64 / requests.max(1) as f64 * 100.0;
    let took = format!("{above} of {requests} requests ({share:.1} %) took longer than {goal}");
    if *met {
        return wrap("", &paint.good(&format!("Goal met: {took}.")));
    }
    let mut text = wrap("", &paint.warn(&format!("Goal missed: {took}.")));
    if let Some(main) = main {
        let share = main.share * 100.0;
        let line = format!("{share:.0} % of all time: {}: {}", main.name, main.part.means());
        text.push_str(&wrap("  Most    ", &line));
    }
    text
}

/// What the logs do not say, and what was taken for granted.
fn said_not(answer: &Answer, paint: Paint) -> String {
    let account = &answer.account;
    let mut text = String::new();
    let all =
        [("Missing", &account.lacks), ("Note", &account.notes), ("Problem", &answer.problems)];
    for (label, lines) in all {
        for line in lines {
            text.push_str(&wrap(&format!("  {label:<8}"), &printable(line)));
        }
    }
    match text.is_empty() {
        true => text,
        false => format!("\n{}\n{text}", paint.bold("What these logs do not tell")),
    }
}
