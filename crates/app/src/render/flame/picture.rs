//! How pictures are drawn from lines, and how they stand in a page.

use super::frames::Frame;
use inferno::flamegraph::{Options, TextTruncateDirection, from_lines};
use std::fmt::Write;

/// Height of a picture that does not say its own, in pixels.
const HEIGHT: u32 = 600;

/// A frame's own time as a line that is drawn from. Spaces part columns there: a name that ends in
/// a number would be one.
pub(super) fn line(frame: &Frame<'_>, values: &str) -> String {
    format!("{} {values}", frame.chain.replace(' ', "\u{a0}"))
}

/// How pictures look.
pub(super) fn options<'a>(title: String, below: &str, count_name: &str) -> Options<'a> {
    let mut options = Options::default();
    options.title = title;
    options.subtitle = (!below.is_empty()).then(|| below.to_owned());
    options.count_name = count_name.to_owned();
    options.deterministic = true;
    options.text_truncate_direction = TextTruncateDirection::Right;
    options
}

/// The picture, as SVG with its own search and zoom.
///
/// # Errors
///
/// The lines cannot be drawn.
pub(super) fn picture(options: &mut Options<'_>, lines: &[String]) -> anyhow::Result<String> {
    let mut out = Vec::new();
    from_lines(options, lines.iter().map(String::as_str), &mut out)?;
    Ok(String::from_utf8(out)?)
}

/// The picture within a page: a frame of its own, which reaches nothing of the page around it.
pub(super) fn framed(svg: &str) -> String {
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
        "<iframe style=\"width:100%;height:{height}px;border:0\" title=\"flame graph\" \
         sandbox=\"allow-scripts\" src=\"data:image/svg+xml;charset=utf-8,{address}\"></iframe>\n"
    )
}
