//! Signatures, and what a bad time resembles.

use crate::render::colour::Paint;
use crate::render::text::{left, right, wrap};
use hugewise_base::count::counted;
use hugewise_base::escape::{markup as escape, printable};
use hugewise_evidence::signature::feature::FEATURES;
use hugewise_evidence::signature::{
    Baseline, Part, RESEMBLES_MAX, Resemblance, Signature, Signatures, Verdict,
};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Most counters that are told of a signature.
const MARKS_MAX: usize = 4;
/// A counter marks a signature where it is at least this share of the largest of all signatures.
const MARK_MIN: f64 = 0.5;
/// From this distance on nothing is near.
const APART_MIN: f64 = 0.9;
/// Most signatures that are told with their own distance.
const ALONE_MAX: usize = 3;
/// Most times that are told.
const TIMES_MAX: usize = 2;

/// What `lab signatures` says: a table, and how to go on.
pub(crate) fn made(
    made: &Signatures,
    file: &Path,
    about: impl Fn(&str) -> &'static str,
    paint: Paint,
) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", paint.bold("stressor  again  what marks it"));
    for one in &made.signatures {
        let again = one.halves_distance.map_or("-".to_owned(), |far| format!("{far:.2}"));
        let first = format!("{} {}  ", left(&one.name, 9), right(&again, 5));
        out += &wrap(&first, &format!("{}: {}", about(&one.name), marks(made, one)));
    }
    out.push('\n');
    let again = "again: distance of the first half of its time from the second, 0 (the same) to 1 \
                 (nothing in common).";
    out += &paint.dim(&wrap("", again));
    for skipped in &made.skipped {
        let text = format!("{}: {}", skipped.name, printable(&skipped.why));
        out += &paint.warn(&wrap("Skipped: ", &text));
    }
    for noise in &made.noisy {
        out += &paint.warn(&wrap("Not quiet: ", &printable(noise)));
    }
    push_pairs(&mut out, made, paint);
    if file != Path::new("-") {
        let file = file.display().to_string();
        let _ = write!(
            out,
            "\nKept in {0}. To see what a bad time resembles:\n  $ hugewise diagnose \
             --signatures {0}\n",
            printable(&file)
        );
    }
    out
}

/// The counters that stand out, each with its rate.
fn marks(made: &Signatures, one: &Signature) -> String {
    let most = |key: &str| {
        let rates = made.signatures.iter().filter_map(|one| one.rates.get(key));
        rates.copied().fold(0.0, f64::max)
    };
    let mut events = Vec::new();
    let mut marks = Vec::new();
    for feature in FEATURES {
        let Some(rate) = one.rates.get(feature.key).copied() else { continue };
        let stands_out = rate >= MARK_MIN * most(feature.key) && rate >= feature.matters(made.cpus);
        if stands_out && !events.contains(&feature.events) {
            events.push(feature.events);
            marks.push(format!("{} {}", feature.name, feature.written(rate)));
        }
    }
    match marks.len() {
        0 => "it stands out by nothing".to_owned(),
        _ => {
            marks.truncate(MARKS_MAX);
            marks.join(", ")
        }
    }
}

/// How far apart they are, where somebody might take one for another.
fn push_pairs(out: &mut String, made: &Signatures, paint: Paint) {
    let mut pairs: Vec<_> = made.pairs.iter().collect();
    pairs.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    let named = |pair: &&hugewise_evidence::signature::file::Pair| {
        format!("{} and {} {:.2}", pair.names[0], pair.names[1], pair.distance)
    };
    let close: Vec<String> =
        pairs.iter().filter(|pair| pair.distance <= RESEMBLES_MAX).map(named).collect();
    if !close.is_empty() {
        let text = format!("{}: they cannot be told apart well here", close.join(", "));
        out.push_str(&paint.warn(&wrap("Alike: ", &text)));
    }
    let nearest: Vec<String> =
        pairs.iter().filter(|pair| pair.distance > RESEMBLES_MAX).take(3).map(named).collect();
    if !nearest.is_empty() {
        out.push_str(&wrap("Nearest to each other: ", &format!("{}.", nearest.join(", "))));
    }
}

/// What was run to check signatures, and what it resembled.
#[derive(Debug)]
pub(crate) struct Row {
    /// The loads that ran side by side.
    pub(crate) ran: Vec<&'static str>,
    /// Whether it is none of the stressors.
    pub(crate) foreign: bool,
    /// Whether it was found as it should be.
    pub(crate) right: bool,
    /// What it resembled.
    pub(crate) told: Resemblance,
}

/// All that was run.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The file of the signatures.
    pub(crate) file: String,
    /// Why the machine was not quiet; empty: it was.
    pub(crate) noisy: Vec<String>,
    /// In the order of time.
    pub(crate) rows: Vec<Row>,
}

impl Checked {
    /// As one JSON object.
    pub(crate) fn json(&self) -> anyhow::Result<Value> {
        let row = |row: &Row| -> anyhow::Result<Value> {
            Ok(json!({
                "ran": row.ran,
                "foreign": row.foreign,
                "right": row.right,
                "resemblance": serde_json::to_value(&row.told)?,
            }))
        };
        let rows = self.rows.iter().map(row).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(json!({ "schema": 1, "file": self.file, "noisy": self.noisy, "rows": rows }))
    }

    /// As a table.
    pub(crate) fn text(&self, paint: Paint) -> String {
        let mut out = paint.bold("ran                distance  it resembles") + "\n";
        for row in &self.rows {
            let distance = row.told.distance.map_or("-".to_owned(), |far| format!("{far:.3}"));
            let ran = left(&row.ran.join(" + "), 18);
            let said = verdict(&row.told);
            let line = wrap(&format!("{ran} {}  ", right(&distance, 8)), &said);
            out += &if row.right { line } else { paint.warn(&line) };
        }
        for noise in &self.noisy {
            out += &paint.warn(&wrap("Not quiet: ", &printable(noise)));
        }
        let (wrong, all) = (self.rows.iter().filter(|row| !row.right).count(), self.rows.len());
        out += &match wrong {
            0 => paint.good(&format!("\nAll {all} as they should be.\n")),
            _ => paint.warn(&format!("\n{wrong} of {all} not as they should be.\n")),
        };
        out
    }
}

/// What came out, in a sentence without its end.
fn verdict(told: &Resemblance) -> String {
    let mixture = mixture(&told.parts);
    match told.verdict {
        Verdict::Resembles => mixture,
        Verdict::InPart => format!("{mixture}, but only in part"),
        Verdict::None if told.distance.is_none_or(|distance| distance > APART_MIN) => {
            "none of the stressors".to_owned()
        }
        Verdict::None => format!("none of the stressors; the nearest is {mixture}"),
        Verdict::AtRest => "the machine at rest".to_owned(),
        Verdict::TooLittle => "nothing that could be told: too few counters are known".to_owned(),
    }
}

/// `memory 62 %, cpu 38 %`.
fn mixture(parts: &[Part]) -> String {
    let named = |part: &Part| {
        let or = if part.or.is_empty() {
            String::new()
        } else {
            format!(" or {}", part.or.join(" or "))
        };
        match parts.len() {
            1 => format!("{}{or}", part.name),
            _ => format!("{}{or} {:.0} %", part.name, part.share_percent),
        }
    };
    parts.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// What was compared with what.
fn compared(told: &Resemblance) -> String {
    let shown: Vec<String> = told.times.iter().take(TIMES_MAX).map(ToString::to_string).collect();
    let more = told.times.len().saturating_sub(TIMES_MAX);
    let times = match (shown.is_empty(), more) {
        (true, _) => "all of the time".to_owned(),
        (false, 0) => shown.join("; "),
        (false, more) => {
            format!("{} and {}", shown.join("; "), counted(more, "more time", "more times"))
        }
    };
    let base = match told.baseline {
        Baseline::Calm => "above the rest of the recording",
        Baseline::Rest => "above the machine at rest",
    };
    let counters = counted(told.compared, "counter", "counters");
    let missing = match told.missing.len() {
        0 => String::new(),
        many => format!("; {many} of the signatures are not in the recording"),
    };
    format!("{times}, {base}; {counters}{missing}")
}

/// The sentences about a resemblance, each with its label.
fn lines(told: &Resemblance) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(distance) = told.distance {
        let mut text = format!("distance {distance:.2} (0 the same, 1 nothing in common)");
        let alone = told.alone.iter().take(ALONE_MAX);
        let alone: Vec<String> =
            alone.map(|other| format!("{} {:.2}", other.name, other.distance)).collect();
        let _ = write!(text, "; one alone: {}", alone.join(", "));
        lines.push(("far", text));
    }
    lines.extend(told.misfits.iter().map(|misfit| ("not", misfit.text.clone())));
    lines.push(("of", compared(told)));
    if !told.not_compared.is_empty() {
        let names = told.not_compared.join(", ");
        lines.push(("but", format!("what marks {names} is not in the recording")));
    }
    lines.extend(told.caveats.iter().map(|caveat| ("but", printable(caveat))));
    lines
}

/// The machine's name, where there are several.
fn host(told: &Resemblance, all: &[Resemblance]) -> String {
    let name = told.host.as_deref().filter(|_| all.len() > 1);
    name.map_or_else(String::new, |name| format!("{}: ", printable(name)))
}

/// The section of a diagnosis.
pub(crate) fn text(all: &[Resemblance], paint: Paint) -> String {
    let mut out = String::new();
    for told in all {
        let said = format!("{}{}", host(told, all), verdict(told));
        let label = match told.verdict {
            Verdict::Resembles | Verdict::InPart => paint.bold("Resembles "),
            _ => "Resembles ".to_owned(),
        };
        out += &wrap(&label, &said);
        let mut last = "";
        for (label, text) in lines(told) {
            let first = if label == last { String::new() } else { label.to_owned() };
            out += &wrap(&format!("  {first:<4}  "), &text);
            last = label;
        }
    }
    out
}

/// The section of a report.
pub(crate) fn push_html(out: &mut String, all: &[Resemblance]) {
    if all.is_empty() {
        return;
    }
    out.push_str("<h2>What it resembles</h2>\n");
    for told in all {
        let said = format!("{}{}", host(told, all), verdict(told));
        let _ = writeln!(out, "<p>{}</p>", escape(&said));
        out.push_str("<dl class=\"facts\">\n");
        let mut last = "";
        for (label, text) in lines(told) {
            let label = match label {
                "far" => "Distance",
                "not" => "Does not fit",
                "of" => "Compared",
                _ => "But",
            };
            if label != last {
                let _ = write!(out, "<dt>{label}</dt>");
            }
            let _ = writeln!(out, "<dd>{}</dd>", escape(&text));
            last = label;
        }
        out.push_str("</dl>\n");
    }
}
