use super::*;
use hugewise_evidence::diagnose::diagnose;
use hugewise_evidence::recording::Builder;

const FORK: &str = include_str!("../../../../../evidence/tests/recordings/real/fork.sar");
const TOP: &str = include_str!("../../../../../evidence/tests/recordings/real/iomix.top.txt");

fn page_of(inputs: &[(&str, &str)]) -> String {
    let mut builder = Builder::new();
    for (name, text) in inputs {
        builder.read(name, text.as_bytes()).expect("a text");
    }
    let (recording, thresholds) = (builder.finish(), Thresholds::default());
    let found = diagnose(&recording, &thresholds);
    page(&recording, &found, &[], &thresholds, None).expect("a diagnosis is plain data")
}

/// `sar` of a disk and a host with such names, busy for three samples.
fn hostile(name: &str) -> String {
    let mut text = format!("Linux 6.1.0 ({name}) \t2026-11-22 \t_x86_64_\t(2 CPU)\n\n");
    let times = ["10:00:00", "10:00:10", "10:00:20", "10:00:30"];
    text.push_str(&format!(
        "{}        CPU     %user     %nice   %system   %iowait    %steal     %idle\n",
        times[0]
    ));
    for time in &times[1..] {
        text.push_str(&format!(
            "{time}        all      1.00      0.00      2.00     90.00      0.00      7.00\n"
        ));
    }
    text.push_str(&format!("\n{} DEV tps rkB/s wkB/s dkB/s ", times[0]));
    text.push_str("areq-sz aqu-sz await %util\n");
    for (index, time) in times[1..].iter().enumerate() {
        text.push_str(&format!(
            "{time} {name} 200.00 10.00 90000.00 0.00 450.00 2{index}.00 300.00 99.{index}0\n"
        ));
    }
    text
}

#[test]
fn nothing_is_fetched_from_elsewhere() {
    for page in [page_of(&[("fork.sar", FORK)]), page_of(&[("top", TOP)])] {
        for foreign in ["http:", "https:", "//", " src=", "@import", "url("] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        assert_eq!(page.matches("href=").count(), page.matches("href=\"#").count());
        assert_eq!(page.matches("<script").count(), 1, "the data only");
    }
}

#[test]
fn hostile_names_cannot_become_markup() {
    let name = "<script>x</script><b>\u{1b}[2J'&\"";
    let page = page_of(&[(name, &hostile("<svg>evil</svg>"))]);
    assert!(!page.contains("<svg>evil") && !page.contains("<script>x") && !page.contains('\u{1b}'));
    assert!(
        page.contains("&lt;svg&gt;evil&lt;/svg&gt;: time in which the disk had work"),
        "a plot"
    );
    assert!(page.contains("&lt;script&gt;x&lt;/script&gt;&lt;b&gt;\\x1b[2J&#39;&amp;&quot;"));
    assert_eq!(page.matches("</script>").count(), 1, "the data's own end only");
}

#[test]
fn the_data_island_is_the_diagnosis() {
    let page = page_of(&[("fork.sar", FORK)]);
    let (_, rest) = page.split_once("id=\"data\">").expect("an island");
    let (data, _) = rest.split_once("</script>").expect("an end");
    let read: serde_json::Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(read["schema"], hugewise_evidence::diagnose::SCHEMA);
    assert_eq!(read["sources"][0]["input"], "fork.sar");
    assert!(!read["findings"].as_array().expect("a list").is_empty());
}

#[test]
fn values_over_time_are_drawn_and_a_single_look_is_not() {
    let page = page_of(&[("fork.sar", FORK)]);
    assert!(page.contains("role=\"img\"") && page.contains("id=\"plot-1-1-title\""));
    assert!(page.contains("(<code>kernel_high_percent</code>)"));
    let single = hostile("sda").lines().filter(|line| !line.starts_with("10:00:2")).fold(
        String::new(),
        |text, line| {
            if line.starts_with("10:00:3") { text } else { text + line + "\n" }
        },
    );
    let page = page_of(&[("one.sar", &single)]);
    assert!(page.contains("class=\"finding") && !page.contains("role=\"img\""));
}

#[test]
fn the_verdict_comes_first_and_every_part_is_there() {
    let page = page_of(&[("fork.sar", FORK)]);
    let mut rest = page.as_str();
    let parts = ["class=\"verdict\"", "What was read", ">Why<", "<figure>", ">Ruled out<"];
    let more = [">Not observed<", ">What to do", ">Questions<", "<details class=\"tree\" open>"];
    for part in parts.iter().chain(&more) {
        let (_, after) = rest.split_once(part).unwrap_or_else(|| panic!("{part} in its place"));
        rest = after;
    }
    assert!(page.contains("<li class=\"taken\">"));
    assert_eq!(page.matches("<ul").count(), page.matches("</ul>").count());
    let items = page.matches("<li>").count() + page.matches("<li ").count();
    assert_eq!(items, page.matches("</li>").count());
}

#[test]
fn without_a_finding_the_page_says_how_to_see_more() {
    let page = page_of(&[("m", "MemTotal:  8000000 kB\nMemFree:   6000000 kB\n")]);
    assert!(page.contains("No finding") || page.contains("Nothing to go by"));
    assert!(page.contains(">To see more<"));
}
