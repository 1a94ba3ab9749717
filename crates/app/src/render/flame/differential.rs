//! Differential flame graphs: what runs of one variant ran and those of another did not.

use super::frames::{Chains, Value, largest};
use super::picture::{framed, line, options, picture};
use crate::render::number::wait;
use hugewise_base::count::counted;
use hugewise_base::escape::{markup, printable};
use hugewise_experiment::chains::{Chains as Sampled, NONE};
use hugewise_experiment::record::{self, Record};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Most frames of a picture: a page has some of them.
const FRAMES_MAX: usize = 2_000;
/// Most variants of a page that are compared with the baseline in pictures.
const VARIANTS_MAX: usize = 4;
/// Widths are samples in so many seconds: whole numbers are drawn.
const SECONDS: f64 = 1_000.0;

/// A variant and what the CPUs ran in its runs.
type Side<'a> = (&'a str, &'a Sampled);

/// Pictures of how variants differ from the baseline, for those that have chains of calls; why
/// there are none, where they were asked for.
pub(crate) fn push(out: &mut String, records: &[Record], baseline: &str, others: &[&str]) {
    let before = record::chains(records, baseline);
    let mut sides = Vec::new();
    for name in others.iter().filter(|name| **name != baseline) {
        sides.extend(record::chains(records, name).map(|sampled| (*name, sampled)));
    }
    let Some(before) = before.filter(|_| !sides.is_empty()) else {
        return push_none(out, records);
    };
    let _ = writeln!(
        out,
        "<h2>Where the CPU time changed</h2>\n<p>What the CPUs ran, by the kernel's functions, \
         against <b>{}</b>: of the whole machine, sampled while something was measured. Width is \
         time; what calls stands below what it calls. The colour says how much more (red) or less \
         (blue) time of its own a function takes. What one side does not have has no width there: \
         each is drawn. A click enlarges, Ctrl-F searches.</p>",
        markup(&printable(baseline))
    );
    for (name, after) in sides.iter().take(VARIANTS_MAX) {
        let (before, after) = ((baseline, &before), (*name, after));
        let _ = writeln!(
            out,
            "<details>\n<summary>{}: {} of runs, against {}</summary>",
            markup(&printable(name)),
            wait(after.1.seconds),
            wait(before.1.seconds)
        );
        for (drawn, other, is_after) in [(after, before, true), (before, after, false)] {
            let (name, other_name) = (markup(&printable(drawn.0)), markup(&printable(other.0)));
            let red = if is_after { "more than in" } else { "more in" };
            let said = format!("What <b>{name}</b> ran; red is {red} {other_name}, blue less.");
            let _ = writeln!(out, "<p>{said}</p>");
            match differential(drawn, other, is_after) {
                Ok(svg) => out.push_str(&framed(&svg)),
                Err(error) => {
                    let why = markup(&error.to_string());
                    let _ = writeln!(out, "<p>It cannot be drawn: {why}</p>");
                }
            }
        }
        out.push_str("</details>\n");
    }
    if let Some(more) = sides.len().checked_sub(VARIANTS_MAX).filter(|more| *more > 0) {
        let more = counted(more as u64, "more variant is", "more variants are");
        let _ = writeln!(out, "<p>{more} not drawn.</p>");
    }
}

/// Why there are no pictures, where the runs say it.
fn push_none(out: &mut String, records: &[Record]) {
    let notes = records.iter().flat_map(|record| &record.measured.notes);
    let why: BTreeSet<&str> = notes.filter_map(|note| note.strip_prefix(NONE)).collect();
    if !why.is_empty() {
        let why: Vec<&str> = why.into_iter().take(3).collect();
        let why = markup(&printable(&why.join("; ")));
        let _ = writeln!(out, "<p>No flame graphs: what the CPUs ran is not known ({why}).</p>");
    }
}

/// What one side ran, coloured by what is after more or less than before.
fn differential(drawn: Side<'_>, other: Side<'_>, is_after: bool) -> anyhow::Result<String> {
    let per_s = |sampled: &Sampled, chain: &str| {
        let samples = sampled.samples.get(chain).copied().unwrap_or(0);
        samples as f64 / sampled.seconds * SECONDS
    };
    let mut all = Chains::new();
    for chain in drawn.1.samples.keys() {
        let (drawn, other) = (per_s(drawn.1, chain), per_s(other.1, chain));
        all.push((chain.as_str(), Value { drawn, other }));
    }
    let frames = largest(all, FRAMES_MAX);
    let own = frames.frames.iter().filter(|frame| frame.own.drawn > 0.0);
    let lines: Vec<String> = own
        .map(|frame| {
            let (drawn, other) = (frame.own.drawn.max(1.0), frame.own.other.max(0.0));
            line(frame, &format!("{other:.0} {drawn:.0}"))
        })
        .collect();
    let title = format!("{}, against {}", drawn.0, other.0);
    let mut below = Vec::new();
    for (left_out, what) in [
        (frames.left_out as u64, "small frames"),
        (drawn.1.left_out, "samples of more chains than are kept"),
    ] {
        if left_out > 0 {
            below.push(format!("{left_out} {what}"));
        }
    }
    let below =
        if below.is_empty() { String::new() } else { format!("left out: {}", below.join(", ")) };
    let mut options = options(title, &below, "samples in 1000 s");
    // The difference is taken of what is drawn: after less before, whichever that is.
    options.negate_differentials = !is_after;
    picture(&mut options, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(variant: &str, seconds: f64, chains: &[(&str, u64)]) -> Record {
        let mut run = Record::new(0, variant);
        let samples = chains.iter().map(|(chain, n)| ((*chain).to_owned(), *n)).collect();
        run.measured.chains = Some(Sampled { seconds, samples, left_out: 3 });
        run
    }

    #[test]
    fn what_became_more_is_red_and_what_became_less_is_blue() {
        // Twice as long: as many samples are half as much.
        let before = run("as-is", 10.0, &[("p;f_[k];zero_[k]", 100), ("p;f_[k];same_[k]", 50)]);
        let after =
            run("thp", 20.0, &[("p;f_[k];zero_[k]", 40), ("p;f_[k];same_[k]", 100), ("q", 60)]);
        let side =
            |one: &'static str, of: &Record| (one, of.measured.chains.clone().expect("some"));
        let (before, after) = (side("as-is", &before), side("thp", &after));
        let (before, after) = ((before.0, &before.1), (after.0, &after.1));
        let svg = differential(after, before, true).expect("drawn");
        assert!(svg.contains("zero (2,000 samples in 1000 s, 20.00%; -80.00%)"), "{svg}");
        assert!(svg.contains("same (5,000 samples in 1000 s, 50.00%; 0.00%)"), "{svg}");
        assert!(svg.contains("q (3,000 samples in 1000 s, 30.00%; +30.00%)"), "{svg}");
        assert!(svg.contains("3 samples of more chains"), "{svg}");
        let svg = differential(before, after, false).expect("drawn");
        assert!(svg.contains("zero (10,000 samples in 1000 s, 66.67%; -53.33%)"), "{svg}");
        assert!(!svg.contains(">q ("), "it has no width: {svg}");
    }

    #[test]
    fn a_page_has_pictures_or_says_why_not() {
        let evil = "<script>alert(1)</script>";
        let chain = format!("{evil};\"onload=\"x 5");
        let mut all = vec![run("as-is", 9.0, &[(&chain, 5)]), run("thp", 9.0, &[(&chain, 7)])];
        let mut out = String::new();
        push(&mut out, &all, "as-is", &["as-is", "thp", "none"]);
        assert_eq!(out.matches("<iframe").count(), 2, "{out}");
        assert!(!out.contains(evil) && !out.contains("\"onload"), "{out}");
        let names: Vec<String> = (0..6).map(|n| format!("v{n}")).collect();
        all.extend(names.iter().map(|name| run(name, 1.0, &[("p", 5)])));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut out = String::new();
        push(&mut out, &all, "as-is", &names);
        assert_eq!(out.matches("<iframe").count(), 8);
        assert!(out.contains("2 more variants are not drawn"), "{out}");
        let mut none = Record::new(0, "as-is");
        none.measured.notes.push(format!("{NONE}<hidden>"));
        let mut out = String::new();
        push(&mut out, &[none], "as-is", &["thp"]);
        assert!(out.contains("is not known (&lt;hidden&gt;)"), "{out}");
        let mut out = String::new();
        push(&mut out, &[], "as-is", &["thp"]);
        assert_eq!(out, "");
    }
}
