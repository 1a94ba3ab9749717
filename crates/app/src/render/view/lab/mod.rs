//! The report of an experiment: one HTML file that needs nothing else, pictures that stand alone,
//! and tables for a text.

mod forest;
mod frame;
mod latency;
mod markdown;
mod order;
mod over_time;
mod tables;
mod text;

pub(crate) use markdown::markdown;
pub(crate) use text::render;

use crate::render::flame;
use crate::render::html::{self, push_list};
use hugewise_base::escape::markup as escape;
use hugewise_experiment::record::Record;
use hugewise_experiment::summary::{Abscissa, Summary, Warning};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Styles of the pictures alone.
const PLOT_STYLE: &str = include_str!("plot.css");

/// A picture of the report.
struct Plot {
    /// Name of its file, without the ending.
    name: String,
    /// What it shows.
    caption: String,
    svg: String,
    /// Whether it belongs to what decides.
    first: bool,
}

/// Height of most pictures with their captions, in their own units.
const USUAL_HEIGHT: f64 = 330.0;

/// Width and height of a picture, as its first line says them.
fn size(svg: &str) -> (&str, &str) {
    let mut ends = svg.split('"').nth(1).unwrap_or_default().split(' ').skip(2);
    (ends.next().unwrap_or("420"), ends.next().unwrap_or("300"))
}

impl Plot {
    fn height(&self) -> f64 {
        size(&self.svg).1.parse().unwrap_or(USUAL_HEIGHT)
    }
}

/// A part of a file's name: keys come from files and may hold anything.
fn file_part(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    text.chars().take(60).map(safe).collect()
}

fn drawn(summary: &Summary, records: &[Record]) -> Vec<Plot> {
    let mut all = Vec::new();
    let mut push = |name: &str, caption: String, first: bool, svg: Option<String>| {
        if let Some(svg) = svg {
            all.push(Plot { name: file_part(name), caption, svg, first });
        }
    };
    let baseline = summary.baseline.as_deref().unwrap_or("the baseline");
    push("ratios", format!("Compared with {baseline}"), true, forest::draw(summary));
    for (index, row) in summary.rows.iter().enumerate() {
        let svg = order::draw(&format!("order-{index}"), summary, row);
        push(&format!("runs-{}", row.key), format!("Every run: {}", row.title), row.decides, svg);
    }
    for (index, series) in summary.over_time.iter().enumerate() {
        let (name, over) = match series.against {
            Abscissa::Time => ("time", "Over time"),
            Abscissa::Rate => ("rate", "Over the rate of requests"),
        };
        let svg = over_time::draw(&format!("{name}-{index}"), summary, series);
        let caption = format!("{over}: {}", series.title);
        push(&format!("{name}-{}", series.key), caption, true, svg);
    }
    for (index, one) in latency::pooled(summary, records).iter().enumerate() {
        let svg = latency::draw(&format!("latency-{index}"), summary, one);
        push(&format!("latency-{}", one.key), format!("Latencies: {}", one.key), true, svg);
    }
    all
}

/// A picture that needs no page around it.
fn standalone(svg: &str) -> String {
    let Some((head, rest)) = svg.split_once('\n') else { return svg.to_owned() };
    let (width, height) = size(svg);
    let head = head.replacen(
        "<svg ",
        &format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" "
        ),
        1,
    );
    // Title and description come first, as they are the picture's name.
    let (names, shapes) = rest.split_once("</desc>\n").unwrap_or(("", rest));
    let names = if names.is_empty() { String::new() } else { format!("{names}</desc>\n") };
    format!(
        "{head}\n{names}<style>\n{PLOT_STYLE}</style>\n\
         <rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\n{shapes}"
    )
}

/// Every picture with the name of its file.
pub(crate) fn plots(summary: &Summary, records: &[Record]) -> Vec<(String, String)> {
    let mut taken = BTreeSet::new();
    let named = |plot: Plot| {
        let mut name = format!("{}.svg", plot.name);
        // Different keys may have become the same name.
        let mut more = 2;
        while !taken.insert(name.clone()) {
            name = format!("{}-{more}.svg", plot.name);
            more += 1;
        }
        (name, standalone(&plot.svg))
    };
    drawn(summary, records).into_iter().map(named).collect()
}

/// The whole page.
pub(crate) fn page(summary: &Summary, records: &[Record]) -> String {
    let title = format!("hugewise lab: {}", summary.name);
    let mut out = html::begin(&title, &[PLOT_STYLE, include_str!("lab.css")], None);
    let (title, question) = (escape(&title), escape(&summary.question));
    let _ = write!(out, "<h1>{title}</h1>\n<p class=\"question\">{question}</p>\n");
    let many = if summary.verdicts.len() > 1 { " many" } else { "" };
    for sentence in &summary.verdicts {
        let _ = writeln!(out, "<p class=\"verdict{many}\">{}</p>", escape(sentence));
    }
    push_warnings(&mut out, "loud", |warning| warning.concern.is_loud(), &summary.warnings);
    push_warnings(&mut out, "calm", |warning| !warning.concern.is_loud(), &summary.warnings);
    tables::push_figures(&mut out, summary);
    if !summary.found.is_empty() {
        out.push_str("<details>\n<summary>The same in sentences</summary>\n");
        push_list(&mut out, &summary.found);
        out.push_str("</details>\n");
    }
    push_plots(&mut out, drawn(summary, records));
    if let Some(baseline) = &summary.baseline {
        let names: Vec<&str> = summary.variants.iter().map(|one| one.name.as_str()).collect();
        flame::push_differences(&mut out, records, baseline, &names);
    }
    tables::push_informative(&mut out, summary);
    if !summary.sensitivity.is_empty() {
        out.push_str("<h2>What this experiment could have seen</h2>\n");
        push_list(&mut out, &summary.sensitivity);
    }
    if !summary.about.is_empty() {
        let _ = write!(out, "<h2>What was done</h2>\n<p>{}</p>\n", escape(&summary.about));
    }
    tables::push_variants(&mut out, summary);
    tables::push_environment(&mut out, summary);
    push_again(&mut out, summary);
    tables::push_raw(&mut out, summary, records);
    html::end(out)
}

fn push_warnings(out: &mut String, class: &str, is: fn(&Warning) -> bool, all: &[Warning]) {
    let mut hit = all.iter().filter(|warning| is(warning)).peekable();
    if hit.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "<div class=\"banner {class}\" role=\"note\">");
    for warning in hit {
        let _ = writeln!(out, "<p>{}</p>", escape(&warning.text));
    }
    out.push_str("</div>\n");
}

fn push_plots(out: &mut String, plots: Vec<Plot>) {
    let (first, rest): (Vec<_>, Vec<_>) = plots.into_iter().partition(|plot| plot.first);
    let push = |out: &mut String, plots: &[Plot]| {
        out.push_str("<div class=\"plots\">\n");
        for plot in plots {
            let (caption, svg) = (escape(&plot.caption), &plot.svg);
            // A tall picture takes the room of several, so that none stands beside emptiness.
            let rows = (plot.height() / USUAL_HEIGHT).ceil().clamp(1.0, 8.0);
            let _ = write!(
                out,
                "<figure style=\"--rows: {rows:.0}\"><figcaption>{caption}</figcaption>\n\
                 {svg}</figure>\n"
            );
        }
        out.push_str("</div>\n");
    };
    if !first.is_empty() {
        out.push_str("<h2>Pictures</h2>\n");
        push(out, &first);
    }
    if !rest.is_empty() {
        out.push_str("<details>\n<summary>Every run of the other metrics</summary>\n");
        push(out, &rest);
        out.push_str("</details>\n");
    }
}

/// How to do it again.
fn push_again(out: &mut String, summary: &Summary) {
    let quick = if summary.quick { " --quick" } else { "" };
    let _ = write!(
        out,
        "<h2>Do it again</h2>\n<p>Save this as <code>{name}.toml</code> and run \
         <code>hugewise lab run {name}.toml{quick}</code>. The order of the runs and the data of \
         the workloads came from the seed {seed}.</p>\n<pre tabindex=\"0\">{text}</pre>\n",
        name = escape(&summary.name),
        seed = summary.seed,
        text = escape(&summary.text)
    );
}

#[cfg(test)]
mod tests;
