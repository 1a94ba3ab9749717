//! Flame graphs: where the recorded time went, by chain of calls.

use hugewise_evidence::diagnose::Diagnosis;
use hugewise_evidence::recording::{Host, Recording, Stacks};
use inferno::flamegraph::color::{Color, PaletteMap};
use inferno::flamegraph::{Options, TextTruncateDirection, from_lines};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Functions of a finding, and all others by whether they are the kernel's.
const FOUND: Color = Color { r: 214, g: 39, b: 132 };
const KERNEL: Color = Color { r: 242, g: 169, b: 96 };
const PROGRAM: Color = Color { r: 246, g: 214, b: 152 };

/// What follows the names of the kernel's functions in folded chains.
const OF_KERNEL: &str = "_[k]";

/// Height of a picture that does not say its own, in pixels.
const HEIGHT: u32 = 600;

/// Parts that the largest value is drawn as where values are no whole numbers.
const PARTS: f64 = 1e6;

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

/// A picture of the profile with its own search and zoom; `None`: no chains of calls were read.
///
/// # Errors
///
/// The chains cannot be drawn.
pub(crate) fn svg(recording: &Recording, found: &Diagnosis) -> anyhow::Result<Option<String>> {
    let Some(stacks) = drawn(recording, found) else { return Ok(None) };
    let wanted = of_findings(found);
    let mut colours = PaletteMap::default();
    let largest = stacks.folded.values().copied().fold(f64::MIN_POSITIVE, f64::max);
    let whole = stacks.folded.values().all(|count| count.fract() == 0.0);
    let scale = if whole { 1.0 } else { PARTS / largest };
    let mut lines = Vec::with_capacity(stacks.folded.len());
    for (chain, count) in &stacks.folded {
        for name in chain.split(';') {
            let plain = name.strip_suffix(OF_KERNEL);
            let ordinary = if plain.is_some() { KERNEL } else { PROGRAM };
            let is_found = wanted.contains(plain.unwrap_or(name));
            let colour = if is_found { FOUND } else { ordinary };
            colours.insert(name, colour);
            colours.insert(plain.unwrap_or(name), colour);
        }
        lines.push(format!("{chain} {:.0}", (count * scale).max(1.0)));
    }
    let mut options = Options::default();
    options.title = match (stacks.cpu_time, stacks.event.as_str()) {
        (true, "") => "CPU time by chain of calls".to_owned(),
        (true, event) => format!("CPU time by chain of calls ({event})"),
        (false, "") => "Waiting off the CPU by chain of calls".to_owned(),
        (false, event) => format!("{event} by chain of calls: no CPU time"),
    };
    options.palette_map = Some(&mut colours);
    options.count_name = if whole { "events" } else { "parts" }.to_owned();
    options.deterministic = true;
    options.text_truncate_direction = TextTruncateDirection::Right;
    let mut out = Vec::new();
    from_lines(&mut options, lines.iter().map(String::as_str), &mut out)?;
    Ok(Some(String::from_utf8(out)?))
}

/// The picture within a page: a frame of its own, which reaches nothing of the page around it.
pub(crate) fn framed(svg: &str) -> String {
    let mut address = String::with_capacity(svg.len() * 5 / 4);
    for byte in svg.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => address.push(char::from(byte)),
            b' ' | b'=' | b'.' | b',' | b'-' | b'_' | b'/' | b':' | b';' | b'(' | b')' => {
                address.push(char::from(byte));
            }
            _ => drop(write!(address, "%{byte:02X}")),
        }
    }
    // All of it is seen: the page is scrolled, and not the frame.
    let height = svg.split_once(" height=\"").and_then(|(_, rest)| rest.split('"').next());
    let height = height.and_then(|height| height.parse().ok()).unwrap_or(HEIGHT);
    format!(
        "<h2>Flame graph</h2>\n<p>Width is time; what calls stands below what it calls. Functions \
         that the findings rest on are purple. A click enlarges, Ctrl-F searches.</p>\n\
         <iframe style=\"width:100%;height:{height}px;border:0\" title=\"flame graph\" \
         sandbox=\"allow-scripts\" src=\"data:image/svg+xml;charset=utf-8,{address}\"></iframe>\n"
    )
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
        let svg = svg(&recording, &found).expect("a picture").expect("chains");
        assert!(!svg.contains(evil) && svg.contains("&lt;script&gt;alert(1)"), "{svg}");
        assert!(svg.contains("a&amp;b") && !svg.contains("<!--x"));
        assert_eq!(svg.matches("<script").count(), 1, "its own");
        assert_eq!(svg.matches("]]>").count(), 2, "its own");
        let page = framed(&svg);
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
        let svg = svg(&recording, &found).expect("a picture").expect("chains");
        let colour = |c: Color| format!("rgb({},{},{})", c.r, c.g, c.b);
        assert!(svg.contains(&colour(FOUND)) && svg.contains(&colour(KERNEL)), "{svg}");
    }

    #[test]
    fn without_chains_there_is_no_picture() {
        let (recording, found) = read("MemTotal: 8000000 kB\nMemFree: 6000000 kB\n");
        assert!(svg(&recording, &found).expect("no error").is_none());
    }
}
