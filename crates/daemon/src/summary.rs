//! What a manager says at its end.

use hugewise_base::count::counted;
use hugewise_manager::guarantee::Guarantee;
use hugewise_manager::status::ManagerStatus;

/// After '--once': what huge pages waste from now on stays.
const NOBODY_GIVES_BACK: &str = "From now on nobody gives back what these regions waste once their \
    program frees a part of it: leave 'hugewise manage' running for that, or run 'hugewise manage \
    --give-back --once' later.\n";

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

/// What was done, and what was left alone and why.
pub(crate) fn text(
    status: &ManagerStatus,
    why: &str,
    once: bool,
    guarantee: Option<&Guarantee>,
) -> String {
    use std::fmt::Write as _;
    let mut text = format!("Stopped: {why}.\n");
    text.extend(guarantee.map(guaranteed));
    let _ = write!(
        text,
        "Promoted {}, split {} which gave back {} ({}, {}",
        counted(status.promoted, "region", "regions"),
        status.demoted,
        status.freed,
        counted(status.warm_ups, "warm-up", "warm-ups"),
        counted(status.failed, "failed call", "failed calls")
    );
    if status.withheld > 0 {
        let _ = write!(text, ", {} withheld", counted(status.withheld, "decision", "decisions"));
    }
    text.push_str(").\n");
    if once && status.promoted > 0 {
        text.push_str(NOBODY_GIVES_BACK);
    }
    for target in &status.targets {
        let coverage = target.coverage_percent();
        let coverage = coverage.map_or("nothing eligible".into(), |c| format!("{c:.0} % huge"));
        let name = target.name.escape_debug();
        let _ = write!(text, "  {} {name}: {coverage} of {}", target.pid, target.eligible);
        let reasons: Vec<_> = target.not_promoted.iter().map(|(r, n)| format!("{r} {n}")).collect();
        if let Some(reason) = target.refused {
            let _ = write!(text, "; {reason}");
        } else if !reasons.is_empty() {
            let _ = write!(text, "; left small: {}", reasons.join(", "));
        }
        text.push('\n');
    }
    for alone in status.left_alone.iter().take(5) {
        let (means, remedy) = alone.reason.text();
        let name = alone.name.escape_debug();
        let _ = writeln!(text, "  {} {name}: left alone: {means}. {remedy}", alone.pid);
    }
    text.trim_end().to_owned()
}
