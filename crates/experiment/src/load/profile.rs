//! The steps of a load, as text and as phases with exact counts.

use super::number::{decimal, print_time, thousandths, time};
use hugewise_base::units::Ns;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest step. Ours: it keeps products of rates and times far from their limits.
pub const LONGEST_STEP: Ns = Ns::s(24 * 3600);
/// The highest rate, in arrivals per second. Ours: far above what one thread can send.
pub const HIGHEST_RATE_PER_S: u64 = 1_000_000;
/// The most arrivals of a whole profile. Ours: a day at ten thousand a second.
pub const MOST_ARRIVALS: u64 = 1_000_000_000;
/// The most steps, stairs counted each. Ours.
pub const MOST_PHASES: usize = 1_000;

/// What may be written; said in every error.
pub const GRAMMAR: &str = "allowed are 'nothing for 20 s', 'constant 1000/s for 30 s', \
     'ramp 100/s to 5000/s over 200 s', 'stairs 100/s to 1000/s in 10 steps of 20 s', \
     'ramp 100 users over 200 s', 'peak 500 at once', 'peak 500 users at once'; a rate may be in \
     users, '10 users/s'; times are in ms, s, min or h";

/// Who arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// One request.
    Request,
    /// A user, who makes several requests with think time between them.
    User,
}

/// A rate in thousandths of an arrival per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub u64);

impl Rate {
    /// Arrivals per second.
    pub fn per_s(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

/// One line of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nobody arrives.
    Nothing(Ns),
    /// A rate, and for how long.
    Constant(Who, Rate, Ns),
    /// From one rate to another, linearly over a time.
    Ramp(Who, Rate, Rate, Ns),
    /// A number of constant rates, evenly apart, of one duration each.
    Stairs(Who, Rate, Rate, u16, Ns),
    /// A number of users, evenly spread over a time.
    Users(u64, Ns),
    /// All at the same moment.
    Peak(Who, u64),
}

/// How arrivals of a phase are spread over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// No arrivals.
    Nothing,
    /// A rate that goes from one value to another, which may be the same.
    Rate(Rate, Rate),
    /// A number, evenly spread.
    Spread(u64),
    /// A number, all at the begin.
    Peak(u64),
}

/// A stretch of a profile with one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// Begin, from the begin of the profile.
    pub begin: Ns,
    /// Duration; zero for a peak.
    pub time: Ns,
    /// Who arrives.
    pub who: Who,
    /// How.
    pub shape: Shape,
}

/// Why a profile is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// A step that is none, or one with an impossible value.
    #[error("step {number}, '{text}': {problem}")]
    Step {
        /// Its place, from 1.
        number: usize,
        /// What was written, shortened.
        text: String,
        /// What is wrong with it.
        problem: Problem,
    },
    /// No step at all.
    #[error("a load without steps: {GRAMMAR}")]
    Empty,
    /// Too many stairs and steps.
    #[error("{0} steps (stairs counted each), {MOST_PHASES} are allowed: use fewer")]
    Phases(usize),
    /// Too many arrivals.
    #[error("{0} arrivals, {MOST_ARRIVALS} are allowed: use lower rates or shorter times")]
    Arrivals(u64),
}

/// What is wrong with a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// No known form.
    #[error("not understood; {GRAMMAR}")]
    Form,
    /// A rate that is none, zero where something must arrive, or too high.
    #[error("a rate is a number with up to three decimals and '/s', above 0 and at most 1000000/s")]
    Rate,
    /// Two rates that do not mean the same.
    #[error("both rates are in requests, '100/s', or both in users, '100 users/s'")]
    Mixed,
    /// A time that is none, zero or too long.
    #[error("a time is a number with up to three decimals and ms, s, min or h, at most 24 h")]
    Time,
    /// A number of arrivals or stairs that is none.
    #[error("a number of arrivals is whole and at least 1; stairs are 2 to 1000 steps")]
    Count,
}

/// Steps in their order, as they are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    steps: Vec<Step>,
    phases: Vec<Phase>,
}

impl Profile {
    /// Reads the steps; the first that is wrong is the error.
    pub fn parse(lines: &[String]) -> Result<Self, ProfileError> {
        let mut steps: Vec<Step> = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let step = line.parse::<Step>().map_err(|problem| {
                let text = line.chars().take(80).collect();
                ProfileError::Step { number: index + 1, text, problem }
            });
            steps.push(step?);
        }
        let mut phases = Vec::new();
        steps.iter().for_each(|step| step.add_to(&mut phases));
        if phases.is_empty() {
            return Err(ProfileError::Empty);
        }
        if phases.len() > MOST_PHASES {
            return Err(ProfileError::Phases(phases.len()));
        }
        let profile = Self { steps, phases };
        match profile.arrivals() {
            many if many > MOST_ARRIVALS => Err(ProfileError::Arrivals(many)),
            _ => Ok(profile),
        }
    }

    /// One of this duration of which nobody says who arrives when: a load that others decide.
    pub fn untold(time: Ns) -> Self {
        let steps = vec![Step::Nothing(time)];
        let mut phases = Vec::new();
        steps.iter().for_each(|step| step.add_to(&mut phases));
        Self { steps, phases }
    }

    /// The steps as they were written.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What is run: stairs are a phase each.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// Duration of all steps.
    pub fn time(&self) -> Ns {
        self.phases.last().map_or(Ns(0), |last| last.begin + last.time)
    }

    /// How many arrive when they are spread evenly.
    pub fn arrivals(&self) -> u64 {
        self.phases.iter().fold(0, |sum, phase| sum.saturating_add(phase.arrivals()))
    }

    /// How many users arrive among them.
    pub fn users(&self) -> u64 {
        let users = self.phases.iter().filter(|phase| phase.who == Who::User);
        users.fold(0, |sum, phase| sum.saturating_add(phase.arrivals()))
    }
}

impl Phase {
    /// How many arrive when they are spread evenly: whole arrivals that fit.
    pub fn arrivals(&self) -> u64 {
        match self.shape {
            Shape::Nothing => 0,
            Shape::Spread(count) | Shape::Peak(count) => count,
            Shape::Rate(from, to) => {
                let area = u128::from(from.0.saturating_add(to.0)) * u128::from(self.time.0);
                // Thousandths of arrivals times nanoseconds, twice.
                u64::try_from(area / 2_000_000_000_000).unwrap_or(u64::MAX)
            }
        }
    }

    /// The rate of a phase whose rate stays the same, in arrivals per second.
    pub fn constant_per_s(&self) -> Option<f64> {
        match self.shape {
            Shape::Rate(from, to) if from == to => Some(from.per_s()),
            _ => None,
        }
    }
}

impl Step {
    fn add_to(&self, phases: &mut Vec<Phase>) {
        let mut begin = phases.last().map_or(Ns(0), |last| last.begin + last.time);
        let mut add = |who, shape, time| {
            phases.push(Phase { begin, time, who, shape });
            begin += time;
        };
        match *self {
            Self::Nothing(time) => add(Who::Request, Shape::Nothing, time),
            Self::Constant(who, rate, time) => add(who, Shape::Rate(rate, rate), time),
            Self::Ramp(who, from, to, time) => add(who, Shape::Rate(from, to), time),
            Self::Users(count, time) => add(Who::User, Shape::Spread(count), time),
            Self::Peak(who, count) => add(who, Shape::Peak(count), Ns(0)),
            Self::Stairs(who, from, to, count, time) => {
                for stair in 0..count {
                    let last = u64::from(count.max(2) - 1);
                    let (up, stair) = (to.0.abs_diff(from.0), u64::from(stair));
                    let part = up * stair / last;
                    let rate = if to < from { from.0 - part } else { from.0 + part };
                    add(who, Shape::Rate(Rate(rate), Rate(rate)), time);
                }
            }
        }
    }
}

fn rate(words: &[&str], lowest: u64) -> Result<(Who, Rate), Problem> {
    let text = words.concat();
    let number = text.strip_suffix("/s").ok_or(Problem::Rate)?;
    let (who, number) =
        number.strip_suffix("users").map_or((Who::Request, number), |number| (Who::User, number));
    let rate = thousandths(number).ok_or(Problem::Rate)?;
    let allowed = lowest..=HIGHEST_RATE_PER_S * 1000;
    if allowed.contains(&rate) { Ok((who, Rate(rate))) } else { Err(Problem::Rate) }
}

fn rates(from: &[&str], to: &[&str]) -> Result<(Who, Rate, Rate), Problem> {
    let ((who, from), (other, to)) = (rate(from, 0)?, rate(to, 0)?);
    match (who == other, from.0 + to.0) {
        (false, _) => Err(Problem::Mixed),
        (true, 0) => Err(Problem::Rate),
        (true, _) => Ok((who, from, to)),
    }
}

fn duration(words: &[&str]) -> Result<Ns, Problem> {
    let time = time(&words.concat()).ok_or(Problem::Time)?;
    if time > Ns(0) && time <= LONGEST_STEP { Ok(time) } else { Err(Problem::Time) }
}

fn count(word: &str) -> Result<u64, Problem> {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let count = word.parse().ok().filter(|count| *count > 0 && digits);
    count.ok_or(Problem::Count)
}

/// The words before and after the first `word`.
fn around<'a, 'b>(words: &'a [&'b str], word: &str) -> Option<(&'a [&'b str], &'a [&'b str])> {
    let at = words.iter().position(|each| *each == word)?;
    Some((&words[..at], &words[at + 1..]))
}

fn ramp(words: &[&str]) -> Result<Step, Problem> {
    let (what, over) = around(words, "over").ok_or(Problem::Form)?;
    if let [number, "users"] = what {
        return Ok(Step::Users(count(number)?, duration(over)?));
    }
    let (from, to) = around(what, "to").ok_or(Problem::Form)?;
    let (who, from, to) = rates(from, to)?;
    Ok(Step::Ramp(who, from, to, duration(over)?))
}

fn stairs(words: &[&str]) -> Result<Step, Problem> {
    let (from, rest) = around(words, "to").ok_or(Problem::Form)?;
    let (to, rest) = around(rest, "in").ok_or(Problem::Form)?;
    let [number, "steps", "of", time @ ..] = rest else { return Err(Problem::Form) };
    let ((who, low), (other, high)) = (rate(from, 1)?, rate(to, 1)?);
    if who != other {
        return Err(Problem::Mixed);
    }
    let steps = u16::try_from(count(number)?).ok().filter(|steps| (2..=1000).contains(steps));
    Ok(Step::Stairs(who, low, high, steps.ok_or(Problem::Count)?, duration(time)?))
}

impl std::str::FromStr for Step {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["nothing", "for", time @ ..] => Ok(Self::Nothing(duration(time)?)),
            ["constant", rest @ ..] => {
                let (what, time) = around(rest, "for").ok_or(Problem::Form)?;
                let (who, rate) = rate(what, 1)?;
                Ok(Self::Constant(who, rate, duration(time)?))
            }
            ["ramp", rest @ ..] => ramp(rest),
            ["stairs", rest @ ..] => stairs(rest),
            ["peak", number, "at", "once"] => Ok(Self::Peak(Who::Request, count(number)?)),
            ["peak", number, "users", "at", "once"] => Ok(Self::Peak(Who::User, count(number)?)),
            _ => Err(Problem::Form),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |who: &Who, rate: &Rate| match who {
            Who::Request => format!("{}/s", decimal(rate.0)),
            Who::User => format!("{} users/s", decimal(rate.0)),
        };
        match self {
            Self::Nothing(time) => write!(f, "nothing for {}", print_time(*time)),
            Self::Constant(who, at, time) => {
                write!(f, "constant {} for {}", rate(who, at), print_time(*time))
            }
            Self::Ramp(who, from, to, time) => {
                let (from, to) = (rate(who, from), rate(who, to));
                write!(f, "ramp {from} to {to} over {}", print_time(*time))
            }
            Self::Stairs(who, from, to, steps, time) => {
                let (from, to) = (rate(who, from), rate(who, to));
                write!(f, "stairs {from} to {to} in {steps} steps of {}", print_time(*time))
            }
            Self::Users(users, time) => write!(f, "ramp {users} users over {}", print_time(*time)),
            Self::Peak(Who::Request, count) => write!(f, "peak {count} at once"),
            Self::Peak(Who::User, count) => write!(f, "peak {count} users at once"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn profile(lines: &[&str]) -> Result<Profile, ProfileError> {
        Profile::parse(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_form_is_read_and_printed() {
        for text in [
            "nothing for 20 s",
            "constant 1000/s for 30 s",
            "constant 0.5 users/s for 30 min",
            "ramp 100/s to 5000/s over 200 s",
            "ramp 10 users/s to 0 users/s over 1 h",
            "stairs 100/s to 1000/s in 10 steps of 20 s",
            "ramp 100 users over 200 s",
            "peak 500 at once",
            "peak 500 users at once",
        ] {
            assert_eq!(text.parse::<Step>().map(|step| step.to_string()), Ok(text.to_owned()));
        }
        let loose = "  constant  10 users /s   for 1.5min ".parse::<Step>();
        assert_eq!(loose, Ok(Step::Constant(Who::User, Rate(10_000), Ns::s(90))));
    }

    #[test]
    fn a_wrong_step_is_named_with_what_is_allowed() {
        for (text, problem) in [
            ("", Problem::Form),
            ("Constant 1000/s for 30 s", Problem::Form),
            ("constant 1000 for 30 s", Problem::Rate),
            ("constant 0/s for 30 s", Problem::Rate),
            ("constant 2000000/s for 1 s", Problem::Rate),
            ("constant 1000/s for 30", Problem::Time),
            ("constant 1000/s for 0 s", Problem::Time),
            ("constant 1000/s for 25 h", Problem::Time),
            ("ramp 0/s to 0/s over 1 s", Problem::Rate),
            ("ramp 1/s to 2 users/s over 1 s", Problem::Mixed),
            ("ramp 0 users over 1 s", Problem::Count),
            ("peak -1 at once", Problem::Count),
            ("stairs 1/s to 5/s in 1 steps of 1 s", Problem::Count),
        ] {
            assert_eq!(text.parse::<Step>(), Err(problem), "{text}");
        }
        let error = profile(&["nothing for 1 s", "fast"]).expect_err("no step").to_string();
        assert!(error.starts_with("step 2, 'fast': not understood; allowed are"), "{error}");
        assert_eq!(profile(&[]), Err(ProfileError::Empty));
        let day = ["constant 1000000/s for 24 h"];
        assert_eq!(profile(&day), Err(ProfileError::Arrivals(86_400_000_000)));
        let stairs = ["stairs 1/s to 2/s in 1000 steps of 1 s", "nothing for 1 s"];
        assert_eq!(profile(&stairs), Err(ProfileError::Phases(1001)));
    }

    #[test]
    fn counts_are_exact() {
        for (text, arrivals) in [
            ("constant 1000/s for 30 s", 30_000),
            ("constant 0.3/s for 10 s", 3),
            ("ramp 0/s to 100/s over 10 s", 500),
            ("ramp 100/s to 5000/s over 200 s", 510_000),
            ("stairs 100/s to 1000/s in 10 steps of 20 s", 110_000),
            ("ramp 100 users over 200 s", 100),
            ("peak 500 at once", 500),
        ] {
            assert_eq!(profile(&[text]).map(|all| all.arrivals()), Ok(arrivals), "{text}");
        }
        let all = profile(&["nothing for 20 s", "peak 5 users at once", "constant 3/s for 2 s"]);
        let all = all.expect("three steps");
        assert_eq!((all.time(), all.arrivals(), all.users()), (Ns::s(22), 11, 5));
        let begins: Vec<u64> = all.phases().iter().map(|phase| phase.begin.0).collect();
        assert_eq!(begins, [0, Ns::s(20).0, Ns::s(20).0]);
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let who = prop_oneof![Just(Who::Request), Just(Who::User)];
        let time = (1..=LONGEST_STEP.0 / 1000).prop_map(|us| Ns(us * 1000));
        let rates = (1..=1_000_000_000u64, 1..=1_000_000_000u64);
        (0..6, who, rates, time, 2..=1000u16, 1..u64::MAX).prop_map(
            |(kind, who, (from, to), time, steps, count)| match kind {
                0 => Step::Nothing(time),
                1 => Step::Constant(who, Rate(from), time),
                2 => Step::Ramp(who, Rate(from), Rate(to), time),
                3 => Step::Stairs(who, Rate(from), Rate(to), steps, time),
                4 => Step::Users(count, time),
                _ => Step::Peak(who, count),
            },
        )
    }

    proptest! {
        #[test]
        fn any_step_survives_printing(step in any_step()) {
            prop_assert_eq!(step.to_string().parse::<Step>(), Ok(step));
            let _ = Profile::parse(&[step.to_string()]);
        }

        #[test]
        fn no_text_panics(
            text in "(nothing|constant|ramp|stairs|peak)? ?[0-9a-z./ ]{0,40}( over| for)?.{0,9}",
        ) {
            let _ = Profile::parse(&[text]);
        }
    }
}
