//! HTML pages that need nothing else, not even a network: their frame, tables, lists, raw data.

use hugewise_base::escape::markup as escape;
use std::fmt::Write;

/// Styles of all pages.
const STYLE: &str = include_str!("style.css");
/// Ends what [`begin_table`] began.
pub(crate) const TABLE_END: &str = "</tbody></table></div>\n";

/// A page up to its contents, with styles beside those of all pages.
pub(crate) fn begin(title: &str, styles: &[&str], class: Option<&str>) -> String {
    let class = class.map_or_else(String::new, |class| format!(" class=\"{class}\""));
    let mut out = String::with_capacity(64 << 10);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body{class}>\n<main>\n",
        escape(title),
        styles.concat()
    );
    out
}

/// The end of a page.
pub(crate) fn end(mut out: String) -> String {
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// Sentences as a list.
pub(crate) fn push_list(out: &mut String, sentences: &[String]) {
    out.push_str("<ul>\n");
    for sentence in sentences {
        let _ = writeln!(out, "<li>{}</li>", escape(sentence));
    }
    out.push_str("</ul>\n");
}

/// A head of a column.
pub(crate) fn head(text: &str) -> String {
    format!("<th scope=\"col\">{}</th>", escape(text))
}

/// A table that can be scrolled, up to its rows. `heads` is markup.
pub(crate) fn begin_table(out: &mut String, label: &str, class: Option<&str>, heads: &str) {
    let class = class.map_or_else(String::new, |class| format!(" class=\"{class}\""));
    let _ = writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\
         <table{class}>\n<thead><tr>{heads}</tr></thead>\n<tbody>"
    );
}

/// A row of a table. Its name and its cells are markup.
pub(crate) fn row(class: &str, name: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr class=\"{class}\"><th scope=\"row\">{name}</th>{cells}</tr>\n")
}

/// Names with their values.
pub(crate) fn push_pairs<'a>(
    out: &mut String,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) {
    out.push_str("<div class=\"scroll\"><table class=\"plain\">\n");
    for (name, value) in pairs {
        let (name, value) = (escape(name), escape(value));
        let _ = writeln!(out, "<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>");
    }
    out.push_str("</table></div>\n");
}

/// The raw data, for programs; `<` is written so that no text in it can end the element.
pub(crate) fn push_json(out: &mut String, value: &impl serde::Serialize) -> anyhow::Result<()> {
    let data = serde_json::to_string(value)?.replace('<', "\\u003c");
    let _ = writeln!(out, "<script type=\"application/json\" id=\"data\">{data}</script>");
    Ok(())
}
