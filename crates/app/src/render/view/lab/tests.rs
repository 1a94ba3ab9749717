mod samples;

use self::samples::{Sample, broken, full, hostile, small};
use super::*;
use crate::render::colour::Paint;
use crate::render::golden;
use hugewise_experiment::summary::Summary;

fn all() -> [(&'static str, Sample); 4] {
    [("full", full()), ("small", small()), ("broken", broken()), ("hostile", hostile())]
}

#[test]
fn the_text_is_as_reviewed() {
    for (name, sample) in [("full", full()), ("broken", broken())] {
        let text = crate::render::view::lab::render(&sample.summary, Paint::plain());
        golden::check(&format!("lab-{name}.txt"), &text);
    }
}

#[test]
fn markdown_is_as_reviewed() {
    golden::check("lab-full.md", &markdown(&full().summary));
}

#[test]
fn the_ratios_are_drawn_as_reviewed() {
    let sample = full();
    let plots = plots(&sample.summary, &sample.records);
    let (_, svg) = plots.iter().find(|(name, _)| name == "ratios.svg").expect("ratios");
    golden::check("lab-ratios.svg", svg);
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    for (name, sample) in all() {
        let page = page(&sample.summary, &sample.records);
        for foreign in ["http:", "https:", " src=\"", "href=", "@import", "url(", "<script"] {
            assert!(!page.contains(foreign), "{name}: {foreign}");
        }
    }
}

#[test]
fn foreign_text_cannot_become_markup() {
    let sample = hostile();
    let page = page(&sample.summary, &sample.records);
    assert!(page.contains("&lt;img src=x"), "the name must be there at all");
    let pictures = plots(&sample.summary, &sample.records);
    let pictures: String = pictures.into_iter().map(|(_, svg)| svg).collect();
    let text = crate::render::view::lab::render(&sample.summary, Paint::plain());
    let markdown = markdown(&sample.summary);
    for out in [&page, &pictures, &markdown] {
        assert!(!out.contains("<img") && !out.contains("</script>"), "{out}");
        assert!(!out.contains("<b>"), "{out}");
    }
    for out in [&text, &markdown, &page, &pictures] {
        assert!(!out.contains('\u{1b}'), "{out}");
    }
    let rows = markdown.lines().filter(|line| line.starts_with("| "));
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(rows.map(columns).all(|count| count == 7), "{markdown}");
}

#[test]
fn pictures_stand_alone_under_names_that_are_safe() {
    for (name, sample) in all() {
        let plots = plots(&sample.summary, &sample.records);
        let names: BTreeSet<_> = plots.iter().map(|(file, _)| file).collect();
        assert_eq!(names.len(), plots.len(), "{name}");
        for (file, svg) in &plots {
            let safe = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
            assert!(file.bytes().all(safe) && !file.starts_with('.'), "{file}");
            assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"420\""));
            assert!(svg.contains("<style>") && svg.ends_with("</svg>\n"), "{file}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name} {file}");
        }
    }
    let sample = full();
    let plots = plots(&sample.summary, &sample.records);
    let names: Vec<_> = plots.iter().map(|(file, _)| file.as_str()).collect();
    for wanted in ["ratios.svg", "runs-ops_per_s.svg", "latency-get.svg"] {
        assert!(names.contains(&wanted), "{wanted} is not in {names:?}");
    }
    assert!(names.contains(&"time-cgroup_mib.svg"), "{names:?}");
}

#[test]
fn the_verdict_and_loud_warnings_come_first() {
    let sample = broken();
    let page = page(&sample.summary, &sample.records);
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    assert!(place("class=\"verdict") < place("class=\"banner loud\""));
    assert!(place("class=\"banner loud\"") < place("<h2>Figures"));
    assert!(place("killed by signal 9 &lt;b&gt;") < place("<h2>Figures"));
}

#[test]
fn the_text_fits_eighty_columns() {
    for (name, sample) in all() {
        if name == "hostile" {
            // A text without blanks cannot be wrapped.
            continue;
        }
        let text = crate::render::view::lab::render(&sample.summary, Paint::plain());
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
}

#[test]
fn lines_have_few_points_however_many_there_were() {
    let mut sample = full();
    let series = &mut sample.records[0].measured.series[0];
    series.points = (0..50_000).map(|at| (f64::from(at) / 800.0, f64::from(at % 97))).collect();
    let (checked, plan) = samples::full_parts();
    let summary = Summary::of(&checked, &plan, &sample.records);
    for (file, svg) in plots(&summary, &sample.records) {
        let points = svg.lines().filter(|line| line.starts_with("<polyline"));
        let most = points.map(|line| line.matches(',').count()).max().unwrap_or(0);
        assert!(most <= frame::POINTS_MAX, "{file}: {most}");
    }
}

#[test]
fn nothing_run_yet_is_a_report_too() {
    let (checked, plan) = samples::full_parts();
    let summary = Summary::of(&checked, &plan, &[]);
    let page = page(&summary, &[]);
    assert!(page.contains("Nothing has been run yet.") && !page.contains("<svg"), "{page}");
    assert!(plots(&summary, &[]).is_empty());
    assert!(markdown(&summary).contains("Nothing has been run yet."));
    assert!(
        crate::render::view::lab::render(&summary, Paint::plain())
            .starts_with("Nothing has been run")
    );
}

#[test]
fn long_names_keep_the_columns_and_many_variants_their_colours() {
    let mut sample = full();
    for (index, variant) in sample.summary.variants.iter_mut().enumerate() {
        variant.name = format!("{index}-{}", "long-name-".repeat(4));
    }
    // The verdict's sentences still have the short names.
    let text = crate::render::view::lab::render(&sample.summary, Paint::plain());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("~"), "a name that was cut says so: {text}");
    assert_eq!([frame::class(0), frame::class(9)], ["v0", "v1 again"]);
}
