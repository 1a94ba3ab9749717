//! What a manager says at its end.

use hugewise_base::count::counted;
use hugewise_base::units::{Bytes, Geometry, Ns};
use hugewise_manager::gate;
use hugewise_manager::guarantee::Guarantee;
use hugewise_manager::limits::budgets::call_prior;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::status::{ManagerStatus, TargetStatus};
use std::fmt::Write as _;

/// After '--once': what huge pages waste from now on stays.
const NOBODY_GIVES_BACK: &str = "From now on nobody gives back what these regions waste once their \
    program frees a part of it: leave 'hugewise manage' running for that, or run 'hugewise manage \
    --give-back --once' later.\n";

/// After a rehearsal.
const NEXT: &str = "Nothing was changed. The same command without '--dry-run' does it; with '--pid \
    PID --once' for one program only.\n";

/// Of a run in mode `observe`.
const OWNS_NONE: &str = "Mode 'observe' has no settings of its own: '--dry-run' names those that \
    another mode changes.\n";

/// What became of a guarantee.
fn guaranteed(guarantee: &Guarantee) -> String {
    let is = guarantee.coverage_percent.map_or("an unknown part".into(), |is| format!("{is:.1} %"));
    let wanted = guarantee.wanted_percent;
    let Some(reason) = guarantee.reason else {
        let word = if guarantee.reached { "kept" } else { "NOT kept in time" };
        return format!("Guarantee {word}: {is} is huge, {wanted} % was wanted.\n");
    };
    let (means, remedy) = reason.text();
    format!(
        "Guarantee NOT kept: {is} is huge, {wanted} % was wanted; {reason}: {means}. {remedy}\n"
    )
}

/// A setting of the kernel that would be changed.
#[derive(Debug)]
pub(crate) struct SettingChange {
    /// Below the root.
    pub(crate) file: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) why: &'static str,
}

/// What a run that changes nothing would have done.
#[derive(Debug)]
pub(crate) struct Rehearsal {
    /// Settings of the kernel that it would have changed; `None`: in mode `observe`, which owns
    /// none.
    pub(crate) settings: Option<Vec<SettingChange>>,
    /// The part of a program's time for which its lock may be held, percent.
    pub(crate) lock_share_percent: f64,
}

impl Rehearsal {
    /// Says it, after what the run has decided.
    fn text(&self, status: &ManagerStatus, region: Geometry) -> String {
        let waiting = |target: &TargetStatus| {
            let would = [SkipReason::WithheldByMode, SkipReason::Scheduled];
            would.iter().filter_map(|reason| target.not_promoted.get(reason)).sum::<u64>()
        };
        let regions: u64 = status.targets.iter().map(waiting).sum();
        let mut text = format!(
            "Would promote {} ({})",
            counted(regions, "region", "regions"),
            region.regions(regions)
        );
        // Programs are served beside each other: the largest is the last one.
        let longest = status.targets.iter().map(waiting).max().unwrap_or(0);
        let calls = call_prior(region).0 as f64 * longest as f64;
        let seconds = calls / self.lock_share_percent.max(0.01) * 100.0 / Ns::s(1).0 as f64;
        if longest > 0 {
            let _ = write!(
                text,
                ", in about {:.0} s where a program works all the time: its lock would be held for \
                 {} % of that (controller.lock_share_percent)",
                seconds.ceil(),
                self.lock_share_percent
            );
        }
        text.push_str(".\n");
        match self.settings.as_deref() {
            None => text.push_str(OWNS_NONE),
            Some([]) => text.push_str("Would change no setting of the kernel.\n"),
            Some(settings) => {
                text.push_str(
                    "Would change these settings of the whole machine, and put them back at its \
                     end:\n",
                );
                for SettingChange { file, from, to, why } in settings {
                    let _ = writeln!(text, "  /{file}\n    {from} -> {to}: {why}");
                }
            }
        }
        // Without '--dry-run' mode 'observe' changes nothing either.
        if self.settings.is_some() {
            text.push_str(NEXT);
        }
        text
    }
}

/// What a manager says at its end.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    /// Why it ended.
    pub(crate) why: &'a str,
    /// `--once`: nobody comes after it.
    pub(crate) once: bool,
    pub(crate) guarantee: Option<&'a Guarantee>,
    /// Of a run that changes nothing.
    pub(crate) rehearsal: Option<Rehearsal>,
    pub(crate) geometry: Geometry,
}

/// How much of a program is huge, of all that it has, and why the rest is not.
fn program(target: &TargetStatus, rehearsed: bool, geometry: Geometry) -> String {
    let name = target.name.escape_debug();
    let percent = target.huge.0 as f64 * 100.0 / target.rss.0.max(1) as f64;
    let mut text = format!(
        "  {} {name}: {} of its {} are huge, {percent:.0} %.",
        target.pid, target.huge, target.rss
    );
    if let Some(coverage) = target.coverage_percent()
        && !rehearsed
    {
        let _ = write!(text, " Of the {} that can be: {coverage:.0} %.", target.eligible);
    }
    text.push('\n');
    if let Some(reason) = target.refused {
        let (means, remedy) = reason.text();
        let _ = writeln!(text, "    {reason}: {means}. {remedy}");
        return text;
    }
    let files =
        Bytes(target.rss.0.saturating_sub(target.anon.0 + target.shmem.unwrap_or_default().0));
    if files > geometry.huge {
        let _ = writeln!(text, "    {files} are pages of files: those stay small");
    }
    let mut small: Vec<_> = target.not_promoted.iter().collect();
    small.sort_by_key(|(reason, _)| gate::place(**reason));
    for (reason, regions) in small {
        let size = geometry.regions(*regions);
        let regions = counted(*regions, "region", "regions");
        let _ = writeln!(text, "    small: {regions} ({size}) {reason}: {}", reason.text().0);
    }
    text
}

/// What was done, and what was left alone and why.
pub(crate) fn text(status: &ManagerStatus, ending: &Ending<'_>) -> String {
    let mut text = format!("Stopped: {}.\n", ending.why);
    text.extend(ending.guarantee.map(guaranteed));
    match &ending.rehearsal {
        Some(rehearsal) => text += &rehearsal.text(status, ending.geometry),
        None => {
            let promoted = counted(status.promoted, "region", "regions");
            let size = ending.geometry.regions(status.promoted);
            let _ = write!(text, "Promoted {promoted} ({size})");
            if status.demoted > 0 {
                let split = counted(status.demoted, "region", "regions");
                let _ = write!(text, ", split {split}, which gave back {}", status.freed);
            }
            if status.failed > 0 {
                let failed = counted(status.failed, "call failed", "calls failed");
                let _ = write!(text, "; {failed}");
            }
            text.push_str(".\n");
        }
    }
    if ending.once && status.promoted > 0 {
        text.push_str(NOBODY_GIVES_BACK);
    }
    let rehearsed = ending.rehearsal.is_some();
    text.extend(status.targets.iter().map(|target| program(target, rehearsed, ending.geometry)));
    for alone in status.left_alone.iter().take(5) {
        let (means, remedy) = alone.reason.text();
        let name = alone.name.escape_debug();
        let _ = writeln!(text, "  {} {name}: left alone: {means}. {remedy}", alone.pid);
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_manager::config::{Config, Mode};
    use hugewise_manager::engine::Manager;
    use hugewise_manager::select::Selection;
    use hugewise_manager::status;
    use std::collections::BTreeMap;

    fn redis() -> TargetStatus {
        let not_promoted = BTreeMap::from([
            (SkipReason::BelowThreshold, 4),
            (SkipReason::WithheldByMode, 60),
            (SkipReason::Scheduled, 6),
        ]);
        TargetStatus {
            pid: 812,
            name: "redis-server".into(),
            rss: Bytes::mib(1280),
            anon: Bytes::mib(1270),
            huge: Bytes::mib(176),
            eligible: Bytes::mib(176),
            not_promoted,
            ..TargetStatus::default()
        }
    }

    #[test]
    fn the_share_is_that_of_the_whole_program() {
        let text = program(&redis(), false, Geometry::X86_64);
        assert!(text.contains("176.0 MiB of its 1.2 GiB are huge, 14 %."), "{text}");
        assert!(text.contains("10.0 MiB are pages of files"), "{text}");
        assert!(text.contains("small: 4 regions (8.0 MiB) below_threshold: "), "{text}");
    }

    #[test]
    fn a_rehearsal_says_what_would_be_done() {
        let manager =
            Manager::new(Config::default(), Mode::Observe, Selection { named: None }, Ns(0));
        let mut status = status::manager(&manager, true, Ns(0));
        status.targets.push(redis());
        let change = SettingChange {
            file: "sys/kernel/x".into(),
            from: "always".into(),
            to: "madvise".into(),
            why: "a test",
        };
        let settings = Some(vec![change]);
        let rehearsal = Some(Rehearsal { settings, lock_share_percent: 1.5 });
        let (why, geometry) = ("nothing is left to do", Geometry::X86_64);
        let ending = Ending { why, once: true, guarantee: None, rehearsal, geometry };
        let said = text(&status, &ending);
        assert!(said.contains("Would promote 66 regions (132.0 MiB), in about 4 s "), "{said}");
        assert!(said.contains("\n  /sys/kernel/x\n    always -> madvise: a test\n"), "{said}");
        assert!(!said.contains("Promoted"), "{said}");
        // What can be and what would be promoted are no figures of one sentence.
        assert!(!said.contains("that can be"), "{said}");
        assert!(said.contains("The same command without '--dry-run' does it"), "{said}");
        let rehearsal = Some(Rehearsal { settings: None, lock_share_percent: 1.5 });
        let observed = text(&status, &Ending { rehearsal, ..ending });
        assert!(!observed.contains("without '--dry-run'"), "{observed}");
    }
}
