//! A small SVG writer: shapes with CSS classes, texts escaped. Colours are the page's business.

use std::fmt::{self, Write};

/// Escapes text for HTML and SVG, also inside attribute values. Control characters have no escape
/// in XML: a picture with one would not be shown at all, so they are replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            other if other.is_control() => out.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// Where a text stands relative to its point.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    /// Begins there.
    Start,
    /// Is centred there.
    Middle,
    /// Ends there.
    End,
}

impl Anchor {
    const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A picture in the making. Coordinates are in its own units, y downwards.
#[derive(Debug)]
pub(crate) struct Svg {
    out: String,
}

impl Svg {
    /// An empty picture; `title` and `description` are what a screen reader says.
    pub(crate) fn new(id: &str, size: (f64, f64), title: &str, description: &str) -> Self {
        let (width, height) = size;
        let (id, title, description) = (escape(id), escape(title), escape(description));
        let mut svg = Self { out: String::new() };
        svg.push(format_args!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-text\">\n\
             <title id=\"{id}-title\">{title}</title>\n<desc id=\"{id}-text\">{description}</desc>"
        ));
        svg
    }

    fn push(&mut self, text: fmt::Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = self.out.write_fmt(text);
        self.out.push('\n');
    }

    /// A rectangle from its upper left corner, with a text for the mouse.
    pub(crate) fn bar(&mut self, class: &str, at: (f64, f64), size: (f64, f64), title: &str) {
        let ((x, y), (width, height)) = (at, size);
        let (class, title) = (escape(class), escape(title));
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             rx=\"2\"><title>{title}</title></rect>",
            width.max(0.0),
            height.max(0.0)
        ));
    }

    /// A straight line.
    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let class = escape(class);
        self.push(format_args!(
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    /// A line through points; nothing without any.
    pub(crate) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        if !points.is_empty() {
            let class = escape(class);
            self.push(format_args!(
                "<polyline class=\"{class}\" points=\"{}\"/>",
                points.join(" ")
            ));
        }
    }

    /// A small disc around a point.
    pub(crate) fn dot(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let (class, (x, y)) = (escape(class), at);
        self.push(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>"
        ));
    }

    /// A closed shape, with a text for the mouse where that is not empty; nothing without points.
    pub(crate) fn shape(&mut self, class: &str, points: &[(f64, f64)], title: &str) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        if points.is_empty() {
            return;
        }
        let (class, points) = (escape(class), points.join(" "));
        let title = match title {
            "" => String::new(),
            title => format!("<title>{}</title>", escape(title)),
        };
        self.push(format_args!("<polygon class=\"{class}\" points=\"{points}\">{title}</polygon>"));
    }

    /// A text.
    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let (class, text) = (escape(class), escape(text));
        self.push(format_args!(
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{}\">{text}</text>",
            at.0,
            at.1,
            anchor.name()
        ));
    }

    /// The finished element.
    pub(crate) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}

/// A straight mapping of values to coordinates, of their logarithms where asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    from: (f64, f64),
    to: (f64, f64),
    map: fn(f64) -> f64,
}

impl Scale {
    /// Equal steps for equal differences.
    pub(crate) fn linear(from: (f64, f64), to: (f64, f64)) -> Self {
        Self { from, to, map: |value| value }
    }

    /// Equal steps for equal factors; values below 1 count as 1.
    pub(crate) fn log(from: (f64, f64), to: (f64, f64)) -> Self {
        let map = |value: f64| value.max(1.0).log10();
        Self { from: (map(from.0), map(from.1)), to, map }
    }

    /// The coordinate of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let span = self.from.1 - self.from.0;
        let part = if span == 0.0 { 0.0 } else { ((self.map)(value) - self.from.0) / span };
        self.to.0 + part * (self.to.1 - self.to.0)
    }
}

/// Round numbers from 0 to at least `max`, about `count` of them.
pub(crate) fn ticks(max: f64, count: f64) -> Vec<f64> {
    let rough = max.max(f64::MIN_POSITIVE) / count.max(1.0);
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * power);
    let step = steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(10.0 * power);
    let mut all = vec![0.0];
    while all.last().is_some_and(|last| *last < max * 0.999) && all.len() < 50 {
        all.push(step * all.len() as f64);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_titles_are_escaped() {
        let mut svg = Svg::new("a", (10.0, 10.0), "<t>", "\"d\" & 'e'");
        svg.text("x", (1.0, 2.0), Anchor::Start, "</svg><script>");
        svg.bar("b", (0.0, 0.0), (1.0, -1.0), "<");
        let out = svg.finish();
        assert!(!out.contains("<script>") && !out.contains("<t>"), "{out}");
        assert!(out.contains("&quot;d&quot; &amp; &#39;e&#39;"), "{out}");
        assert!(out.contains("height=\"0.0\""), "{out}");
        assert_eq!(escape("a\x1b[1m\0\n"), "a\u{fffd}[1m\u{fffd}\n");
    }

    #[test]
    fn scales_map_their_ends() {
        let linear = Scale::linear((0.0, 50.0), (10.0, 110.0));
        assert_eq!((linear.at(0.0), linear.at(25.0), linear.at(50.0)), (10.0, 60.0, 110.0));
        let log = Scale::log((100.0, 1e6), (0.0, 4.0));
        assert!((log.at(1e4) - 2.0).abs() < 1e-9);
        assert_eq!(Scale::linear((3.0, 3.0), (1.0, 2.0)).at(3.0), 1.0);
    }

    #[test]
    fn ticks_are_round_and_cover() {
        assert_eq!(ticks(100.0, 4.0), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(ticks(530.0, 4.0), [0.0, 200.0, 400.0, 600.0]);
        assert!(ticks(0.0, 4.0).len() < 50);
    }
}
