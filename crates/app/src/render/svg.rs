//! A small SVG writer: shapes with CSS classes, texts escaped. Colours are the page's business.

use hugewise_base::escape::markup as escape;
use std::fmt::{self, Write};

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
    }
}
