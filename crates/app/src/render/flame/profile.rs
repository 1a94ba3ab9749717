//! Where the recorded time of a profile went, with the functions of findings highlighted.

use super::frames::{Chains, Frame, Frames, Value, largest};
use super::picture::{framed, line, options, picture};
use hugewise_base::count::counted;
use hugewise_evidence::diagnose::Diagnosis;
use hugewise_evidence::recording::{Host, Recording, Stacks};
use inferno::flamegraph::color::{Color, PaletteMap};
use serde::Serialize;
use std::collections::BTreeSet;

/// Functions of a finding, and all others by whether they are the kernel's.
const FOUND: Color = Color { r: 214, g: 39, b: 132 };
const KERNEL: Color = Color { r: 242, g: 169, b: 96 };
const PROGRAM: Color = Color { r: 246, g: 214, b: 152 };

/// What follows the names of the kernel's functions in folded chains.
const OF_KERNEL: &str = "_[k]";

/// Parts that the largest value is drawn as where values are no whole numbers.
const PARTS: f64 = 1e6;

/// Most frames of a picture in a file, some 600 bytes each.
const FRAMES_MAX: usize = 10_000;
/// Most frames of a page that draws them itself, each an element.
const OF_PAGE_MAX: usize = 2_000;

/// The chains to be drawn: of CPU time before other events, of the machine of the first finding
/// before others.
fn drawn<'a>(recording: &'a Recording, found: &Diagnosis) -> Option<&'a Stacks> {
    let worst = found.findings.first().and_then(|finding| finding.host.as_deref());
    let hosts = recording.hosts.iter();
    let all = hosts.flat_map(|host| host.stacks.iter().map(move |stacks| (host, stacks)));
    let rank = |(host, stacks): &(&Host, &Stacks)| {
        (worst.is_some() && host.name.as_deref() == worst, stacks.cpu_time)
    };
    // Of equals the first one.
    all.rev().max_by_key(rank).map(|(_, stacks)| stacks)
}

/// Names of the functions that the findings rest on: of ways to them each part.
fn of_findings(found: &Diagnosis) -> BTreeSet<&str> {
    let steps = found.findings.iter().flat_map(|finding| &finding.chain);
    let evidence = steps.flat_map(|step| &step.evidence);
    let subjects = evidence.filter_map(|evidence| evidence.subject.as_deref());
    let names = subjects.flat_map(|subject| subject.split(" > "));
    names.map(|name| name.rsplit(": ").next().unwrap_or(name)).collect()
}

fn chains(stacks: &Stacks) -> Chains<'_> {
    let all = stacks.folded.iter();
    all.map(|(chain, count)| (chain.as_str(), Value::of(*count))).collect()
}

fn title(stacks: &Stacks) -> String {
    match (stacks.cpu_time, stacks.event.as_str()) {
        (true, "") => "CPU time by chain of calls".to_owned(),
        (true, event) => format!("CPU time by chain of calls ({event})"),
        (false, "") => "Waiting off the CPU by chain of calls".to_owned(),
        (false, event) => format!("{event} by chain of calls: no CPU time"),
    }
}

/// What the picture does not have, a sentence; empty: nothing.
fn left_out(frames: &Frames<'_>, stacks: &Stacks) -> String {
    let mut said = Vec::new();
    if frames.left_out > 0 {
        said.push(counted(frames.left_out as u64, "small frame", "small frames"));
    }
    if stacks.left_out > 0.0 {
        said.push(format!("{:.0} samples of more chains than are kept", stacks.left_out));
    }
    if said.is_empty() { String::new() } else { format!("left out: {}", said.join(", ")) }
}

/// A picture of the profile with its own search and zoom; `None`: no chains of calls were read.
/// `of` is what it shows the time of, where that is not everything.
///
/// # Errors
///
/// The chains cannot be drawn.
pub(crate) fn svg(
    recording: &Recording,
    found: &Diagnosis,
    of: Option<&str>,
) -> anyhow::Result<Option<String>> {
    let Some(stacks) = drawn(recording, found) else { return Ok(None) };
    let frames = largest(chains(stacks), FRAMES_MAX);
    let wanted = of_findings(found);
    let mut colours = PaletteMap::default();
    let peak = stacks.folded.values().copied().fold(f64::MIN_POSITIVE, f64::max);
    let whole = stacks.folded.values().all(|count| count.fract() == 0.0);
    let scale = if whole { 1.0 } else { PARTS / peak };
    let mut lines = Vec::with_capacity(frames.frames.len());
    for frame in &frames.frames {
        let (name, kind) = named(frame, &wanted);
        for name in [name.to_owned(), format!("{name}{OF_KERNEL}")] {
            colours.insert(name.replace(' ', "\u{a0}"), kind.colour());
        }
        if frame.own.drawn > 0.0 {
            lines.push(line(frame, &format!("{:.0}", (frame.own.drawn * scale).max(1.0))));
        }
    }
    let left_out = left_out(&frames, stacks);
    let below: Vec<&str> = of.into_iter().chain([left_out.as_str()]).collect();
    let below = below.join("; ").trim_matches([';', ' ']).to_owned();
    let mut options = options(title(stacks), &below, if whole { "events" } else { "parts" });
    options.palette_map = Some(&mut colours);
    Ok(Some(picture(&mut options, &lines)?))
}

/// What a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum FrameKind {
    /// A finding rests on it.
    Found,
    Kernel,
    Program,
}

impl FrameKind {
    const fn colour(self) -> Color {
        match self {
            Self::Found => FOUND,
            Self::Kernel => KERNEL,
            Self::Program => PROGRAM,
        }
    }
}

/// A frame's name as it is shown, and what it is.
fn named<'a>(frame: &Frame<'a>, wanted: &BTreeSet<&str>) -> (&'a str, FrameKind) {
    let name = frame.name();
    let plain = name.strip_suffix(OF_KERNEL);
    let ordinary = if plain.is_some() { FrameKind::Kernel } else { FrameKind::Program };
    let name = plain.unwrap_or(name);
    (name, if wanted.contains(name) { FrameKind::Found } else { ordinary })
}

/// A frame for a page that draws it itself.
#[derive(Debug, Serialize)]
struct PageFrame<'a> {
    name: &'a str,
    kind: FrameKind,
    depth: usize,
    start: f64,
    total: f64,
    own: f64,
}

/// What a page draws itself; `None`: no chains of calls were read.
pub(crate) fn json(recording: &Recording, found: &Diagnosis) -> Option<serde_json::Value> {
    let stacks = drawn(recording, found)?;
    let frames = largest(chains(stacks), OF_PAGE_MAX);
    let wanted = of_findings(found);
    let told = |frame: &Frame<'_>| {
        let (name, kind) = named(frame, &wanted);
        let (total, own) = (frame.total.drawn, frame.own.drawn);
        serde_json::json!(PageFrame {
            name,
            kind,
            depth: frame.depth,
            start: frame.start,
            total,
            own
        })
    };
    Some(serde_json::json!({
        "title": title(stacks),
        "all": frames.all.drawn,
        "left_out": left_out(&frames, stacks),
        "frames": frames.frames.iter().map(told).collect::<Vec<_>>(),
    }))
}

/// A picture of findings within a page, with what is to be said of it.
pub(crate) fn push(out: &mut String, svg: &str) {
    out.push_str(
        "<h2>Flame graph</h2>\n<p>Width is time; what calls stands below what it calls. Functions \
         that the findings rest on are purple. A click enlarges, Ctrl-F searches.</p>\n",
    );
    out.push_str(&framed(svg));
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_evidence::diagnose::{Thresholds, diagnose};
    use hugewise_evidence::recording::Builder;

    fn read(text: &str) -> (Recording, Diagnosis) {
        let mut builder = Builder::new();
        builder.read("stacks", text.as_bytes()).expect("text");
        let recording = builder.finish();
        let found = diagnose(&recording, &Thresholds::default());
        (recording, found)
    }

    #[test]
    fn names_of_strangers_are_text() {
        let evil = "</text><script>alert(1)</script>";
        let text = format!(
            "web;main;work;rest;x 30\nweb;main;{evil};\"onload=\"alert(2);]]>;a&b;<!--x 70\n"
        );
        let (recording, found) = read(&text);
        let svg = svg(&recording, &found, None).expect("a picture").expect("chains");
        assert!(!svg.contains(evil) && svg.contains("&lt;script&gt;alert(1)"), "{svg}");
        assert!(svg.contains("a&amp;b") && !svg.contains("<!--x"));
        assert_eq!(svg.matches("<script").count(), 1, "its own");
        assert_eq!(svg.matches("]]>").count(), 2, "its own");
        let mut page = String::new();
        push(&mut page, &svg);
        assert!(!page.contains("height:600px"), "its own height");
        assert_eq!(page.matches('<').count(), 6, "h2, p, iframe");
        assert!(!page.contains("alert(2)\""));
    }

    #[test]
    fn functions_of_a_finding_stand_out() {
        let way = "web;main;entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_madvise";
        let text = format!("{way};zap_page;try_charge;compact_zone 900\n{way};other 100\n");
        let (recording, found) = read(&text);
        assert!(!found.findings.is_empty());
        let svg = svg(&recording, &found, None).expect("a picture").expect("chains");
        let colour = |c: Color| format!("rgb({},{},{})", c.r, c.g, c.b);
        assert!(svg.contains(&colour(FOUND)) && svg.contains(&colour(KERNEL)), "{svg}");
        let told = json(&recording, &found).expect("chains");
        assert_eq!(told["all"], 1000.0);
        let frames = told["frames"].as_array().expect("a list");
        let one = |name: &str| frames.iter().find(|f| f["name"] == name).expect("drawn");
        assert_eq!(one("compact_zone")["kind"], "found");
        assert_eq!(one("main")["kind"], "program");
        assert_eq!(
            (&one("zap_page")["own"], &one("zap_page")["total"]),
            (&0.0.into(), &900.0.into())
        );
    }

    #[test]
    fn names_that_end_in_numbers_are_no_columns() {
        let (recording, found) = read("pool 7;# run 12;loop 3 40\npool 7;# run 12 60\n");
        let svg = svg(&recording, &found, Some("08:00 to 09:00")).expect("a picture");
        let svg = svg.expect("chains");
        assert!(svg.contains("loop\u{a0}3 (40 events, 40.00%)"), "{svg}");
        assert!(svg.contains("#\u{a0}run\u{a0}12 (100 events, 100.00%)"), "{svg}");
        assert!(svg.contains("08:00 to 09:00<"), "{svg}");
    }

    #[test]
    fn a_picture_has_a_bound_and_says_what_it_has_not() {
        let text: String = (0..12_000).map(|n| format!("web;main;f{n} {}\n", n + 1)).collect();
        let (recording, found) = read(&text);
        let svg = svg(&recording, &found, None).expect("a picture").expect("chains");
        assert!(svg.contains("left out: 2002 small frames"), "{}", svg.len());
        assert!(svg.len() < 8 << 20, "{}", svg.len());
        let told = json(&recording, &found).expect("chains");
        assert_eq!(told["frames"].as_array().map(Vec::len), Some(2_000));
        assert_eq!(told["left_out"], "left out: 10002 small frames");
    }

    #[test]
    fn without_chains_there_is_no_picture() {
        let (recording, found) = read("MemTotal: 8000000 kB\nMemFree: 6000000 kB\n");
        assert!(svg(&recording, &found, None).expect("no error").is_none());
    }
}
