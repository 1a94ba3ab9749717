//! The report of `try`: one file that needs nothing else, not even a network.

mod plots;

pub(crate) mod model;
#[cfg(test)]
#[path = "tests/samples.rs"]
mod samples;
pub(crate) mod table;
pub(crate) mod verdict;

use crate::render::html::{
    self, TABLE_END, begin_table, head, push_json, push_list, push_pairs, row,
};
use hugewise_base::escape::markup as escape;
use hugewise_base::units::Bytes;
use hugewise_workloads::demo::{BATCH, FREED_PIECE};
use model::Trial;
use std::fmt::Write;
use table::simulated;
use verdict::{Figures, Verdict, duration, tails};

/// The whole page.
pub(crate) fn page(trial: &Trial, verdict: &Verdict) -> anyhow::Result<String> {
    let headline = escape(&verdict.headline);
    let title = format!("hugewise try: {}", verdict.headline);
    let mut out = html::begin(&title, &[], None);
    if let Some(reason) = &trial.simulated {
        let _ = writeln!(out, "<p class=\"banner\">{}</p>", escape(&simulated(reason)));
    }
    let _ = writeln!(out, "<h1>hugewise try</h1>\n<p class=\"verdict\">{headline}</p>");
    push_list(&mut out, &verdict.found);
    push_table(&mut out, &verdict.figures);
    push_plots(&mut out, trial, &verdict.figures);
    if trial.simulated.is_none() {
        push_tails(&mut out, &verdict.figures);
    }
    push_freeing(&mut out, trial, &verdict.figures);
    out.push_str("<h2>Not shown by this run</h2>\n");
    push_list(&mut out, &verdict.limits);
    push_environment(&mut out, trial);
    push_data(&mut out, trial)?;
    Ok(html::end(out))
}

/// A table of variants: each with what stands behind its name, and its cells.
fn push_rows(
    out: &mut String,
    label: &str,
    heads: &[&str],
    rows: impl Iterator<Item = (&'static str, &'static str, Vec<String>)>,
) {
    let heads: String = heads.iter().map(|text| head(text)).collect();
    begin_table(out, label, None, &format!("<th></th>{heads}"));
    for (variant, more, cells) in rows {
        let name = format!("<span class=\"dot {variant}\"></span>{variant}{more}");
        out.push_str(&row(variant, &name, &cells));
    }
    out.push_str(TABLE_END);
}

fn push_table(out: &mut String, figures: &[Figures; 3]) {
    const HEADS: [&str; 9] = [
        "Huge, dense",
        "Huge, sparse",
        "RSS",
        "cgroup",
        "Read, median",
        "min to max",
        "First touch p99",
        "p99.9",
        "Fill",
    ];
    out.push_str("<h2>Figures</h2>\n");
    let rows = figures.iter().map(|row| {
        let unknown = || "-".to_owned();
        let percent = |value: Option<f64>| value.map_or_else(unknown, |v| format!("{v:.0} %"));
        let bytes = |value: Option<Bytes>| value.map_or_else(unknown, |v| v.to_string());
        let cells = vec![
            percent(row.dense_percent),
            percent(row.sparse_percent),
            bytes(row.rss),
            bytes(row.cgroup),
            row.access.map_or_else(unknown, |a| format!("{:.1} ns", a.median)),
            row.access.map_or_else(unknown, |a| format!("{:.1} to {:.1}", a.min, a.max)),
            duration(row.first_touch.quantile(0.99)),
            duration(row.first_touch.quantile(0.999)),
            row.fill.map_or_else(unknown, |fill| format!("{:.2} s", fill.median)),
        ];
        (row.variant, "", cells)
    });
    push_rows(out, "Figures", &HEADS, rows);
}

fn push_plots(out: &mut String, trial: &Trial, figures: &[Figures; 3]) {
    let plots = [
        ("Random read", plots::access(figures)),
        ("Memory", plots::memory(figures)),
        ("First touch of a page during the fill", plots::first_touch(figures)),
        ("Huge pages while hugewise works", plots::coverage(trial)),
        ("Memory when most of it is freed in pieces", plots::freeing(figures)),
    ];
    out.push_str("<h2>Pictures</h2>\n<div class=\"plots\">\n");
    for (caption, plot) in plots {
        if let Some(plot) = plot {
            let _ = write!(out, "<figure><figcaption>{caption}</figcaption>\n{plot}</figure>\n");
        }
    }
    out.push_str("</div>\n");
}

fn push_tails(out: &mut String, figures: &[Figures; 3]) {
    let heads =
        ["Fault p99", "p99.9", "max", "mmap p99", "p99.9", "max", "Read p99", "p99.9", "max"];
    let _ = writeln!(
        out,
        "<h2>Stalls while promoting, and without</h2>\n<p>Pieces of 64 KiB are mapped, touched and \
         unmapped; reads are the mean of {BATCH} in a row.</p>"
    );
    let rows = tails(figures).map(|(variant, more, tail)| {
        let all = [&tail.fault, &tail.map, &tail.access];
        let cells = all.map(|all| [0.99, 0.999, 1.0].map(|q| duration(all.quantile(q))));
        (variant, more, cells.concat())
    });
    push_rows(out, "Stalls", &heads, rows);
}

fn push_freeing(out: &mut String, trial: &Trial, figures: &[Figures; 3]) {
    if figures.iter().all(|figures| figures.freeing.is_none()) {
        return;
    }
    let heads = ["Before", "Right after", "Settled", "Huge pages split"];
    let _ = writeln!(
        out,
        "<h2>Memory given back</h2>\n<p>At the end of the first round the workload frees {} % of \
         its memory, in random pieces of {} each. A huge page of which pieces are left is held \
         as a whole until somebody splits it. Memory is that of the workload's cgroup where it \
         has one of its own, else what is resident.</p>",
        trial.free_percent,
        Bytes(FREED_PIECE as u64)
    );
    let rows = figures.iter().map(|row| (row.variant, "", row.freed_cells().to_vec()));
    push_rows(out, "Memory given back", &heads, rows);
}

fn push_environment(out: &mut String, trial: &Trial) {
    let machine = &trial.environment;
    let unknown = || "unknown".to_owned();
    let text = |value: &Option<String>| value.clone().unwrap_or_else(unknown);
    let bytes = |value: Option<Bytes>| value.map_or_else(unknown, |v| v.to_string());
    let virtual_machine = match machine.virtual_machine {
        Some(true) => "virtual machine".to_owned(),
        Some(false) => "no hypervisor seen".to_owned(),
        None => unknown(),
    };
    let order: Vec<&str> = trial.records.iter().map(|record| record.variant.as_str()).collect();
    let parts = &trial.parts;
    let size = format!(
        "{}: dense {}, sparse {} (one base page in 16 in use), idle {}",
        trial.size,
        Bytes(parts.dense),
        Bytes(parts.sparse),
        Bytes(parts.idle)
    );
    let mut rows = vec![
        ("hugewise".to_owned(), machine.hugewise.clone()),
        ("Time".into(), text(&machine.time)),
        ("Kernel".into(), text(&machine.kernel)),
        ("Processor".into(), text(&machine.cpu)),
        ("Processors".into(), machine.cpus.map_or_else(unknown, |n| n.to_string())),
        ("Machine".into(), virtual_machine),
        ("Memory".into(), bytes(machine.mem_total)),
        ("Available at the start".into(), bytes(machine.mem_available)),
        ("Huge page".into(), bytes(machine.huge_page)),
        ("Workload".into(), size),
        ("Rounds".into(), trial.rounds.to_string()),
        ("Order".into(), order.join(", ")),
    ];
    rows.extend(machine.settings.iter().map(|(file, value)| (file.clone(), value.clone())));
    out.push_str("<h2>Machine and settings</h2>\n");
    push_pairs(out, rows.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    out.push_str("<p>No setting of the machine was changed.</p>\n");
}

fn push_data(out: &mut String, trial: &Trial) -> anyhow::Result<()> {
    out.push_str(
        "<h2>Raw data</h2>\n<p>The record of every run with its histograms (nanoseconds) stands in \
         this file as JSON, in the element with the id <code>data</code>; \
         <code>hugewise try --json</code> prints the same.</p>\n",
    );
    push_json(out, trial)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(trial: &Trial) -> String {
        page(trial, &Verdict::of(trial)).expect("a trial is plain data")
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        for trial in [samples::real(), samples::simulated()] {
            let page = page_of(&trial);
            for foreign in ["http:", "https:", "//", " src=", "href=", "@import", "url("] {
                assert!(!page.contains(foreign), "{foreign}");
            }
        }
    }

    #[test]
    fn foreign_text_cannot_become_markup() {
        let page = page_of(&samples::real());
        assert!(page.contains("Model &lt;b&gt;&amp;&quot;9000&quot;&lt;/b&gt;"));
        assert_eq!(page.matches("</script>").count(), 1, "the JSON's own end only");
        assert!(page.contains("nothing \\u003c/script> left"));
        assert!(page_of(&samples::simulated()).contains("this is a test &lt;of&gt;"));
    }

    #[test]
    fn the_data_island_is_the_trial() {
        let trial = samples::real();
        let page = page_of(&trial);
        let (_, rest) = page.split_once("id=\"data\">").expect("an island");
        let (data, _) = rest.split_once("</script>").expect("an end");
        let read: Trial = serde_json::from_str(data).expect("JSON");
        assert_eq!(read.records, trial.records);
        assert_eq!(read.environment.cpu, trial.environment.cpu);
    }

    #[test]
    fn a_simulation_has_a_banner_and_no_picture_of_times() {
        let page = page_of(&samples::simulated());
        let banner = page.find("class=\"banner\"").expect("a banner");
        assert!(banner < page.find("class=\"verdict\"").expect("a verdict"));
        assert!(!page.contains("id=\"access-title\"") && page.contains("id=\"coverage-title\""));
        assert_eq!(page_of(&samples::real()).matches("role=\"img\"").count(), 5);
        assert!(!page_of(&samples::real()).contains("class=\"banner\""));
    }
}
