//! Two looks at counts since boot: how much they grew in a second, where what was typed says how
//! long somebody waited in between.

use std::collections::BTreeMap;

use super::words::QUICK_TOOLS;
use super::{Field, Subject};

/// The simple commands of what was typed, each with its words.
fn simple(command: &str) -> impl Iterator<Item = Vec<&str>> {
    // What is quoted ends no command: `egrep 'a|b'`.
    let mut quote = None;
    let parts = command.split(move |c: char| {
        match quote {
            None if matches!(c, '\'' | '"') => quote = Some(c),
            Some(open) if open == c => quote = None,
            _ => {}
        }
        quote.is_none() && matches!(c, ';' | '&' | '|' | '{' | '}' | '(' | ')')
    });
    let words = |part| str::split_whitespace(part).collect::<Vec<_>>();
    parts.map(words).filter(|words| !words.is_empty())
}

/// How long a simple command sleeps, in seconds; `None` for one that does not.
fn sleeps(words: &[&str]) -> Option<f64> {
    let own = words.iter().skip_while(|word| matches!(**word, "do" | "sudo" | "while"));
    let own: Vec<&&str> = own.collect();
    let ["sleep", time] = own.as_slice().iter().map(|word| **word).collect::<Vec<_>>()[..] else {
        return None;
    };
    let (number, unit) = match time.strip_suffix(['s', 'm']) {
        Some(number) if time.ends_with('m') => (number, 60.0),
        Some(number) => (number, 1.0),
        None => (time, 1.0),
    };
    let seconds: f64 = number.parse().ok()?;
    (seconds.is_finite() && seconds > 0.0).then_some(seconds * unit)
}

/// How long `watch` waits between two looks.
fn watches(command: &str) -> Option<f64> {
    let mut words = command.split_whitespace().skip_while(|word| *word != "watch").skip(1);
    let first = words.next()?;
    let time = match first.strip_prefix("-n") {
        Some("") => words.next()?,
        Some(time) => time,
        None => return Some(2.0),
    };
    time.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0)
}

/// What was typed last, as far as it tells times.
#[derive(Debug, Default)]
struct Typed {
    /// Sleeps before the first look, ...
    before_s: f64,
    /// ... between two looks, where all of them are alike, ...
    within_s: Option<f64>,
    /// ... and after the last.
    after_s: f64,
    /// Whether it does nothing but sleep.
    only_sleeps: bool,
}

impl Typed {
    fn new(command: &str) -> Self {
        let steps: Vec<Option<f64>> = simple(command).map(|words| sleeps(&words)).collect();
        let sum = |steps: &mut dyn Iterator<Item = &Option<f64>>| -> f64 {
            steps.map_while(|step| *step).sum()
        };
        let (before_s, after_s) = (sum(&mut steps.iter()), sum(&mut steps.iter().rev()));
        let mut all = steps.iter().flatten();
        let first = all.next().copied();
        let within_s = first.filter(|first| all.all(|other| other == first));
        let only_sleeps = !steps.is_empty() && steps.iter().all(Option::is_some);
        Self { before_s, within_s: within_s.or_else(|| watches(command)), after_s, only_sleeps }
    }
}

/// The latest look at one count.
#[derive(Clone, Copy, Debug)]
struct CountSample {
    value: f64,
    /// Which of the commands showed it, and what had been slept until then.
    command: usize,
    slept_s: f64,
    /// How old the counts were, where who counts says it.
    age_s: Option<f64>,
    /// The time of day, where `date` was run before it.
    clock_s: Option<f64>,
}

/// 1 for what grows, -1 for what shrinks.
const fn sign(value: f64) -> f64 {
    if value < 0.0 { -1.0 } else { 1.0 }
}

/// The latest looks at all counts of one input.
#[derive(Debug, Default)]
pub(super) struct CountSamples {
    latest: BTreeMap<(usize, Field), BTreeMap<Subject, CountSample>>,
    typed: Typed,
    commands: usize,
    /// Seconds that were slept between commands, all together.
    slept_s: f64,
    /// The time of day that the latest command showed, in seconds.
    clock_s: Option<f64>,
    /// The latest counts, whatever time has passed.
    counts: BTreeMap<(usize, Field), BTreeMap<Subject, f64>>,
}

const DAY_S: f64 = 86_400.0;

impl CountSamples {
    /// Something was typed: looks before it count as long as nothing takes an unknown time.
    pub(super) fn command(&mut self, command: &str) {
        let typed = Typed::new(command);
        let quick = simple(command)
            .all(|words| words.iter().any(|word| QUICK_TOOLS.contains(word)))
            || watches(command).is_some();
        if !quick {
            // Who says its own age needs no clock of ours.
            for samples in self.latest.values_mut() {
                samples.retain(|_, sample| sample.age_s.is_some() || sample.clock_s.is_some());
            }
        }
        self.slept_s += self.typed.after_s + typed.before_s;
        if typed.only_sleeps {
            // Counted once, as what stands before the next look.
            self.typed = Typed::default();
            return;
        }
        self.typed = typed;
        self.commands += 1;
        self.clock_s = None;
    }

    /// The output of `date`: what follows is of this time of day.
    pub(super) const fn clock(&mut self, seconds: f64) {
        self.clock_s = Some(seconds);
    }

    /// What a count was in the previous sample.
    pub(super) fn latest(&self, host: usize, field: Field, subject: &Subject) -> Option<f64> {
        Some(self.latest.get(&(host, field))?.get(subject)?.value)
    }

    /// A part that no look showed yet was 0 when the whole was looked at, if that says its age.
    pub(super) fn absent(&mut self, host: usize, field: Field, part: &Subject, whole: &Subject) {
        let Some(of_field) = self.latest.get_mut(&(host, field)) else { return };
        let before = of_field.get(whole).filter(|sample| sample.age_s.is_some()).copied();
        if let Some(before) = before.filter(|_| !of_field.contains_key(part)) {
            of_field.insert(part.clone(), CountSample { value: 0.0, ..before });
        }
    }

    /// How much a count grew since the previous sample.
    pub(super) fn growth(
        &mut self,
        host: usize,
        field: Field,
        subject: &Subject,
        value: f64,
    ) -> Option<f64> {
        let of_field = self.counts.entry((host, field)).or_default();
        let before = of_field.insert(subject.clone(), value)?;
        (value >= before).then_some(value - before)
    }

    /// A sample of a count; how much it grew in a second since the previous sample. `age_s`: the
    /// time since the count began, where its source says it.
    pub(super) fn rate(
        &mut self,
        host: usize,
        field: Field,
        subject: &Subject,
        (value, age_s): (f64, Option<f64>),
    ) -> Option<f64> {
        let sample = CountSample {
            value,
            command: self.commands,
            slept_s: self.slept_s,
            age_s,
            clock_s: self.clock_s,
        };
        let of_field = self.latest.entry((host, field)).or_default();
        let before = of_field.insert(subject.clone(), sample)?;
        if let (Some(then), Some(now)) = (before.age_s, age_s) {
            // Tickets show the later one first, too.
            let (seconds, grown) = ((now - then).abs(), (value - before.value) * sign(now - then));
            return (seconds > 0.0 && grown >= 0.0).then(|| grown / seconds);
        }
        let clocks = before.clock_s.zip(sample.clock_s).map(|(then, now)| now - then);
        let seconds = match (clocks, sample.command == before.command) {
            (Some(past), _) if past != 0.0 => past.rem_euclid(DAY_S),
            (_, true) => self.typed.within_s?,
            (_, false) => sample.slept_s - before.slept_s,
        };
        let grown = value - before.value;
        (seconds > 0.0 && grown >= 0.0).then(|| grown / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at one count: `Err` types, `Ok` shows.
    fn rates(steps: &[Result<f64, &str>]) -> Vec<Option<f64>> {
        let mut samples = CountSamples::default();
        let mut all = Vec::new();
        for step in steps {
            match step {
                Err(command) => samples.command(command),
                Ok(value) => {
                    all.push(samples.rate(
                        0,
                        Field::CompactStallCount,
                        &Subject::Machine,
                        (*value, None),
                    ));
                }
            }
        }
        all
    }

    #[test]
    fn what_was_typed_says_how_long_it_took() {
        let cat = "cat /proc/vmstat";
        let within = "cat /proc/vmstat; sleep 10; cat /proc/vmstat";
        let many = "while sleep 5; do grep x /proc/vmstat; done";
        for (steps, last) in [
            (vec![Err(within), Ok(5.0), Ok(25.0)], Some(2.0)),
            (vec![Err(many), Ok(5.0), Ok(6.0), Ok(16.0)], Some(2.0)),
            (vec![Err(cat), Ok(5.0), Err("sleep 4"), Err(cat), Ok(7.0)], Some(0.5)),
            (vec![Err(cat), Ok(5.0), Err("sleep 1m; cat /proc/vmstat"), Ok(65.0)], Some(1.0)),
            (vec![Err("cat /proc/vmstat; sleep 2"), Ok(5.0), Err(cat), Ok(7.0)], Some(1.0)),
            (vec![Err("watch -n 4 cat /proc/vmstat"), Ok(5.0), Ok(7.0)], Some(0.5)),
            (vec![Err("watch cat /proc/vmstat"), Ok(5.0), Ok(7.0)], Some(1.0)),
            (
                vec![Err("egrep 'a|b' x"), Ok(5.0), Err("sleep 2; egrep 'a|b' x"), Ok(7.0)],
                Some(1.0),
            ),
        ] {
            assert_eq!(rates(&steps).last(), Some(&last), "{steps:?}");
        }
    }

    #[test]
    fn an_unknown_time_gives_no_rate() {
        let cat = "cat /proc/vmstat";
        for steps in [
            vec![Ok(5.0), Ok(25.0)],
            vec![Err(cat), Ok(5.0), Err(cat), Ok(25.0)],
            vec![Err(cat), Ok(5.0), Err("sar -B 1 60"), Err("sleep 1"), Err(cat), Ok(25.0)],
            vec![Err("cat x; sleep 1; cat x; sleep 9; cat x"), Ok(5.0), Ok(25.0)],
            vec![Err("cat x; sleep 1; cat x"), Ok(25.0), Ok(5.0)],
            vec![Err("cat x; sleep many; cat x"), Ok(5.0), Ok(25.0)],
        ] {
            assert_eq!(rates(&steps).last(), Some(&None), "{steps:?}");
        }
    }
}
