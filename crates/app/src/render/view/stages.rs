//! What `hugewise lab stages` says: a table of each goal, and how it went over the days.

use super::diagnosis::time_plot::{Curve, TimePlot, draw};
use super::investigate::value;
use crate::render::colour::Paint;
use crate::render::html;
use crate::render::text::{left, right, wrap};
use hugewise_base::escape::{markup, printable};
use hugewise_evidence::recording::{Clock, Stamp, Unit};
use hugewise_experiment::stages::{Stage, Stages};
use std::fmt::Write as _;

/// Heads of the table.
const HEADS: [&str; 6] = ["when, UTC", "before", "after", "change", "what follows", "proof"];

/// All goals, one below the other.
pub(crate) fn text(found: &Stages, paint: Paint) -> String {
    let mut out = String::new();
    let row = |cells: &[String; 6]| {
        let [at, before, after, change, follows, _] = cells;
        let end = format!("{}  {follows}", left(change, 18));
        format!("  {}{}{}  {end}", left(at, 18), right(before, 10), right(after, 10))
    };
    for ((subject, goal), stages) in found.goals() {
        if !out.is_empty() {
            out.push('\n');
        }
        out += &paint.bold(&wrap("", &format!("{goal} of {}", printable(subject))));
        out += &(paint.dim(&row(&HEADS.map(str::to_owned))) + "\n");
        for stage in stages {
            let cells = cells(stage);
            out += &(row(&cells) + "\n");
            out += &paint.dim(&wrap("    proof: ", &cells[5]));
        }
    }
    if found.stages.is_empty() {
        out += "No stage yet: 'lab limit', 'lab run' and 'investigate run' add them by --stages.\n";
    }
    for problem in &found.problems {
        out += &paint.warn(&wrap("left out: ", &printable(problem)));
    }
    out
}

fn cells(stage: &Stage) -> [String; 6] {
    let number = |number: Option<f64>| number.map_or("-".into(), |one| value(&stage.goal, one));
    let at = Stamp(stage.at_s).to_string();
    [
        at.get(..16).unwrap_or(&at).to_owned(),
        number(stage.before),
        number(stage.after),
        printable(&stage.change),
        printable(&stage.verdict),
        printable(&stage.proof),
    ]
}

/// A page with the same tables, and a graph of each goal that has more than one time.
pub(crate) fn page(found: &Stages) -> anyhow::Result<String> {
    let mut out = html::begin("Stages", &[], Some("diagnosis"));
    out.push_str("<h1>Stages</h1>\n");
    for (index, ((subject, goal), stages)) in found.goals().into_iter().enumerate() {
        let title = format!("{goal} of {subject}");
        let _ = writeln!(out, "<h2>{}</h2>", markup(&title));
        if let Some(picture) = draw(&plot(index, title.clone(), goal, &stages)) {
            let caption = markup(&title);
            let _ = writeln!(out, "<figure><figcaption>{caption}</figcaption>\n{picture}</figure>");
        }
        let heads: String = HEADS.iter().map(|head| html::head(head)).collect();
        html::begin_table(&mut out, &title, None, &heads);
        for stage in stages {
            let [at, rest @ ..] = cells(stage);
            out += &html::row("", &markup(&at), &rest.map(|cell| markup(&cell)));
        }
        out.push_str("</tbody>\n</table>\n");
    }
    html::push_list(&mut out, &found.problems);
    html::push_json(&mut out, &found.stages)?;
    Ok(html::end(out))
}

/// A value holds from its stage to the next one.
fn plot(index: usize, title: String, goal: &str, stages: &[&Stage]) -> TimePlot<'static> {
    let (by, unit) = match goal {
        goal if goal.ends_with("_us") => (1e-3, Unit::Milliseconds),
        goal if goal.ends_with("_per_s") => (1.0, Unit::PerSecond),
        goal if goal.ends_with("_percent") => (1.0, Unit::Percent),
        _ => (1.0, Unit::Count),
    };
    let mut points: Vec<(i64, f64)> = Vec::new();
    for stage in stages {
        let Some(after) = stage.after else { continue };
        points.extend(points.last().map(|last| (stage.at_s, last.1)));
        points.push((stage.at_s, by * after));
    }
    TimePlot {
        id: format!("stages-{index}"),
        title,
        unit,
        curves: vec![Curve { name: goal.to_owned(), points }],
        shaded: &[],
        limit: None,
        low: false,
        clock: Clock::Utc,
        holds: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_experiment::stages::read;

    /// The stages of the seed: 300, 1,000 and 1,200 requests a second over three days.
    fn three() -> Stages {
        let line = |day: i64, before: &str, after: u32, change: &str| {
            let at = 1_795_996_800 + day * 86_400;
            format!(
                "{{\"schema\":1,\"at_s\":{at},\"by\":\"limit\",\"subject\":\"http://s/\",\"goal\":\
                 \"served_per_s\",\"change\":\"{change}\",\"before\":{before},\"after\":{after},\
                 \"verdict\":\"as expected\",\"proof\":\"{day}.json\"}}\n"
            )
        };
        let all = [
            line(0, "null", 300, "as it is"),
            line(1, "300", 1000, "gateway moved"),
            line(9, "1000", 1200, "<scope> stopped"),
        ];
        read(&(all.concat() + "torn\n"))
    }

    #[test]
    fn each_stage_is_a_line_and_what_is_none_is_told() {
        let text = text(&three(), Paint::new(Some(false), false, false));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("served_per_s of http://s/"), "{text}");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(lines[2]), "2026-11-30 00:00 - 300 as it is as expected");
        assert_eq!(words(lines[3]), "proof: 0.json");
        assert_eq!(words(lines[4]), "2026-12-01 00:00 300 1000 gateway moved as expected");
        assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
        assert!(text.contains("left out: line 4"), "{text}");
    }

    #[test]
    fn the_graph_is_one_line_of_stairs_over_the_days() {
        let page = page(&three()).expect("a page");
        assert_eq!(page.matches("<polyline").count(), 1, "{page}");
        for wanted in ["1,200", "&lt;scope&gt; stopped", "UTC"] {
            assert!(page.contains(wanted), "{wanted}");
        }
        assert!(!page.contains("<scope>"));
    }
}
