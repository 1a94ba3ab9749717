//! What `hugewise diagnose` says of several hosts beside each other.

use crate::render::colour::Paint;
use crate::render::text::{left, right, wrap};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_evidence::placement::{HOSTS_MIN, HostLoad, Move, Placement, Program};

/// Most hosts that the table shows; those out of line are always in it.
const SHOWN_MAX: usize = 40;

/// The comparison in words.
pub(crate) fn text(placement: &Placement, paint: Paint) -> String {
    let mut text = head(placement, paint);
    for host in placement.too_busy() {
        text.push('\n');
        text += &busy(host, placement, paint);
    }
    text.push('\n');
    text += &table(placement, paint);
    let left_out =
        placement.left_out.iter().map(|one| format!("{}: {}", printable(&one.host), one.why));
    for problem in left_out {
        text += &paint.warn(&wrap("not compared: ", &problem));
    }
    text
}

fn head(placement: &Placement, paint: Paint) -> String {
    let hosts = counted(placement.hosts.len() as u64, "host", "hosts");
    let Some((middle, deviation)) = placement.middle_percent.zip(placement.deviation_points) else {
        if placement.too_busy().next().is_some() {
            return paint.bold(&wrap("", &format!("{hosts}, one is full beside one with room")));
        }
        let why =
            format!("{hosts}: at least {HOSTS_MIN} are needed to say which one is out of line");
        return paint.warn(&wrap("", &why));
    };
    let busy = placement.too_busy().count();
    let verdict = match busy {
        0 => "none of them is busier than the others".to_owned(),
        _ => format!("{} than the others", counted(busy as u64, "is busier", "are busier")),
    };
    let mut text = paint.bold(&wrap("", &format!("{hosts}, {verdict}")));
    let near = format!("half of the hosts within {deviation:.0} points");
    text += &wrap("", &format!("CPU in use: {middle:.0} % in the middle, {near}"));
    if placement.same_time == Some(false) {
        let why = "the recordings are of different times, so that loads may differ for that alone";
        text += &paint.warn(&wrap("", why));
    }
    text
}

/// A host that is too busy: why, and what would help.
fn busy(host: &HostLoad, placement: &Placement, paint: Paint) -> String {
    let head = format!("{} uses {:.0} % of its CPUs", printable(&host.name), host.busy_percent);
    let mut text = paint.bad(&wrap("", &head));
    for program in &host.programs {
        text += &wrap("  Why   ", &of_program(program));
    }
    for reason in &host.reasons {
        text += &wrap("  Why   ", reason);
    }
    if host.programs.is_empty() && host.reasons.is_empty() {
        text += &wrap(
            "  Why   ",
            "its recording names no program that others do not have as well; \
            'pidstat -u 1', 'top -b' and 'hugewise record' name programs",
        );
    }
    let spread = "to move a process that is named here would not make it better: spread the load \
        where it is sent, or make its work less";
    let best = placement.moves.iter().find(|one| one.from == host.name);
    text += &wrap("  Move  ", &best.map_or_else(|| spread.to_owned(), of_move));
    text
}

fn of_program(program: &Program) -> String {
    let Program { name, cpus, elsewhere_cpus, share_percent } = program;
    let share = share_percent
        .map_or_else(String::new, |share| format!(": {:.0} % of the difference", share.min(100.0)));
    let name = printable(name);
    format!("'{name}' uses {cpus:.1} CPUs here, and {elsewhere_cpus:.1} on the others{share}")
}

fn of_move(one: &Move) -> String {
    let Move { program, pid, cpus, to, from_percent, to_percent, .. } = one;
    let pid = pid.map_or_else(String::new, |pid| format!(" (pid {pid}"));
    let of = if pid.is_empty() { " (" } else { ", " };
    format!(
        "'{}'{pid}{of}{cpus:.1} CPUs) to {}: {:.0} % -> {:.0} % here, {:.0} % -> {:.0} % there, if \
         it needs as many CPUs there",
        printable(program),
        printable(to),
        from_percent.0,
        from_percent.1,
        to_percent.0,
        to_percent.1
    )
}

fn table(placement: &Placement, paint: Paint) -> String {
    let row = |name: &str, cells: [&str; 3], top: &str| {
        let [busy, cpus, score] = cells.map(|cell| right(cell, 7));
        format!("{} {busy} {cpus} {score}  {top}\n", left(name, 28))
    };
    let mut text = paint.bold(&row("host", ["CPU %", "CPUs", "score"], "busiest program"));
    let shown = |(at, host): &(usize, &HostLoad)| *at < SHOWN_MAX || host.out_of_line;
    let all = placement.hosts.iter().enumerate();
    let mut left_out = 0;
    for one in all {
        if !shown(&one) {
            left_out += 1;
            continue;
        }
        let host = one.1;
        let busy = format!("{:.0}", host.busy_percent);
        let about = if host.cpus_inferred { "~" } else { "" };
        let cpus = host.cpus.map_or("-".to_owned(), |cpus| format!("{about}{cpus:.0}"));
        let score = host.score.map_or("-".to_owned(), |score| format!("{score:+.1}"));
        let top = host.busiest().map_or_else(
            || "-".to_owned(),
            |(name, cpus)| format!("{} {cpus:.1}", left(&printable(name), 15).trim_end()),
        );
        let line = row(&printable(&host.name), [&busy, &cpus, &score], &top);
        text += &if host.out_of_line { paint.bad(&line) } else { line };
    }
    if placement.hosts.iter().any(|host| host.cpus_inferred) {
        let why = "no source says how many CPUs there are: as many as its programs use, by the \
                   share that this is; 'lscpu' beside 'top' says it";
        text += &wrap("~ ", why);
    }
    if left_out > 0 {
        text += &format!("and {} more (--json has all)\n", counted(left_out, "host", "hosts"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_is_no_comparison() {
        let placement = Placement::of(&hugewise_evidence::recording::Recording::default());
        let said = text(&placement, Paint::plain());
        assert!(said.starts_with("0 hosts: at least 3 are needed"), "{said}");
    }
}
