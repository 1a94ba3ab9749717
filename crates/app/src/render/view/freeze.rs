//! What `hugewise diagnose --freezes` says.

use crate::render::colour::Paint;
use crate::render::text::wrap;
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_base::units::Ns;
use hugewise_evidence::freeze::{Account, Freeze, Holder, What, Work};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Functions of a stack that are shown.
const FUNCTIONS_SHOWN: usize = 4;

/// A freeze with all that is known of it.
#[derive(Debug)]
pub(crate) struct FreezeReport {
    /// When it began.
    pub(crate) at: SystemTime,
    /// The freeze.
    pub(crate) freeze: Freeze,
    /// Why.
    pub(crate) account: Account,
    /// Where the samples around it are.
    pub(crate) kept: Option<PathBuf>,
}

impl FreezeReport {
    /// As one JSON object.
    pub(crate) fn json(&self) -> Value {
        let (means, remedy) = self.account.cause.text();
        json!({
            "schema": 1,
            "at": crate::journal::rfc3339(self.at),
            "length_ns": self.freeze.length().0,
            "freeze": self.freeze,
            "cause": self.account.cause,
            "means": means,
            "remedy": remedy,
            "holders": self.account.holders,
            "seen": self.account.seen,
            "missing": self.account.missing,
            "kept": self.kept.as_ref().map(|path| path.display().to_string()),
        })
    }
}

/// What watching came to.
#[derive(Debug)]
pub(crate) struct Watched {
    /// For how long.
    pub(crate) length: Duration,
    /// Freezes told.
    pub(crate) freezes: usize,
    /// CPU time that it took, percent of a core.
    pub(crate) own_cpu_percent: f64,
    /// What was not watched.
    pub(crate) missing: Vec<String>,
}

impl Watched {
    /// As one JSON object, the last one.
    pub(crate) fn json(&self) -> Value {
        json!({
            "schema": 1,
            "watched_s": self.length.as_secs_f64(),
            "freezes": self.freezes,
            "own_cpu_percent": self.own_cpu_percent,
            "missing": self.missing,
        })
    }

    /// As a sentence.
    pub(crate) fn text(&self) -> String {
        let seconds = self.length.as_secs();
        let length = match seconds {
            0..120 => format!("{seconds} s"),
            _ => format!("{} min", seconds / 60),
        };
        let freezes = match self.freezes {
            0 => "no freeze".to_owned(),
            count => counted(count as u64, "freeze", "freezes"),
        };
        let own = self.own_cpu_percent;
        format!("Watched for {length}: {freezes}. It took {own:.2} % of a core.\n")
    }
}

/// A freeze in words.
pub(crate) fn text(told: &FreezeReport, paint: Paint) -> String {
    let at = crate::journal::rfc3339(told.at);
    let at = at.split_at_checked(19).map_or(at.as_str(), |(time, _)| time).replace('T', " ");
    let mut text = paint.bold(&format!("{at} UTC  {}", headline(told))) + "\n";
    let mut line = |label: &str, said: &str| {
        text.push_str(&wrap(&format!("  {label:<6} "), said));
    };
    let (means, remedy) = told.account.cause.text();
    line("Why", means);
    for (at, holder) in told.account.holders.iter().enumerate() {
        let text = match told.freeze.what {
            What::Stopped { .. } => named(holder),
            _ => who(holder),
        };
        line(if at == 0 { "Who" } else { "" }, &text);
    }
    for (at, seen) in told.account.seen.iter().enumerate() {
        line(if at == 0 { "Seen" } else { "" }, &printable(seen));
    }
    for missing in &told.account.missing {
        line("Not", &format!("not seen: {missing}"));
    }
    if !remedy.is_empty() {
        line("Do", remedy);
    }
    match &told.kept {
        Some(path) => line("Kept", &path.display().to_string()),
        None => line("Kept", "nothing: there are enough captures of this start"),
    }
    text.push('\n');
    text
}

fn headline(told: &FreezeReport) -> String {
    let length = format!("{:.2} s", told.freeze.length().as_s());
    let length = if told.freeze.lasts { format!("{length} so far") } else { length };
    match &told.freeze.what {
        What::Cpu { cpus } if cpus.len() <= 4 => {
            let numbers: Vec<String> = cpus.iter().map(ToString::to_string).collect();
            let name = if cpus.len() == 1 { "CPU" } else { "CPUs" };
            format!("{name} {} froze for {length}", numbers.join(", "))
        }
        What::Cpu { cpus } => format!("{} CPUs froze for {length}", cpus.len()),
        What::Memory { stalled_ns } => {
            let stalled = format!("{:.2} s", Ns(*stalled_ns).as_s());
            let so_far = if told.freeze.lasts { " so far" } else { "" };
            format!("programs waited for memory for {stalled}{so_far}")
        }
        What::Stopped { pid, .. } => format!("process {pid} was stopped for {length}"),
    }
}

fn named(holder: &Holder) -> String {
    format!("'{}' (pid {})", printable(&holder.name), holder.pid)
}

/// A holder in words.
fn who(holder: &Holder) -> String {
    let mut text = named(holder);
    if let Some((policy, priority)) = holder.real_time {
        let _ = match policy {
            1 => write!(text, ", SCHED_FIFO {priority}"),
            2 => write!(text, ", SCHED_RR {priority}"),
            _ => write!(text, ", SCHED_DEADLINE"),
        };
    }
    let _ = write!(text, ": {:.0} %", holder.percent);
    if holder.work != Work::Own || holder.real_time.is_some() {
        let _ = write!(text, ", {}", holder.work.text().0);
    }
    let functions: Vec<&str> =
        holder.functions.iter().take(FUNCTIONS_SHOWN).map(String::as_str).collect();
    if !functions.is_empty() {
        let _ = write!(text, " ({})", functions.join(" < "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_evidence::freeze::Cause;
    use std::collections::{BTreeMap, BTreeSet};

    fn told(what: What, cause: Cause, name: &str) -> FreezeReport {
        let (began, ended) = (Ns::s(1), Ns::ms(2500));
        let holder = Holder {
            pid: 7,
            name: name.to_owned(),
            percent: 97.4,
            work: Work::Own,
            functions: Vec::new(),
            real_time: Some((1, 50)),
        };
        let seen = vec![format!("'{name}' was there")];
        FreezeReport {
            at: SystemTime::UNIX_EPOCH,
            freeze: Freeze { what, began, ended, lasts: false, late: BTreeMap::new() },
            account: Account { cause, holders: vec![holder], seen, missing: Vec::new() },
            kept: None,
        }
    }

    #[test]
    fn a_freeze_is_told_with_who_and_how_much() {
        let cpu = What::Cpu { cpus: BTreeSet::from([1]) };
        let text = text(&told(cpu, Cause::RealTimeTask, "hog"), Paint::plain());
        assert!(text.starts_with("1970-01-01 00:00:00 UTC  CPU 1 froze for 1.50 s\n"), "{text}");
        assert!(text.contains("'hog' (pid 7), SCHED_FIFO 50: 97 %, its own code"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn who_sends_a_signal_has_no_share() {
        let stop = What::Stopped { pid: 9, by: 7 };
        let text = text(&told(stop, Cause::Stopped, "shell"), Paint::plain());
        assert!(text.contains("'shell' (pid 7)\n") && !text.contains('%'), "{text}");
    }

    #[test]
    fn names_of_strangers_stay_harmless() {
        let memory = What::Memory { stalled_ns: 400_000_000 };
        let text = text(&told(memory, Cause::Reclaim, "\u{1b}[31m\nx"), Paint::plain());
        assert!(!text.contains('\u{1b}') && !text.contains("\nx"), "{text}");
    }
}
