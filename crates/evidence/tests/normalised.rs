//! Properties of the stage before the readers: whatever is put around a text in a way that people
//! and tools do is taken away again, and a plain text stays as it is.

use hugewise_evidence::recording::{Builder, Field, Subject, normalised};

use proptest::prelude::*;
use proptest::sample::Index;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Texts of the tests: listings as tools print them, and tickets. Of long ones the start.
static TEXTS: LazyLock<Vec<(PathBuf, String)>> = LazyLock::new(texts);

#[expect(clippy::disallowed_methods, reason = "the texts of the tests are files")]
fn texts() -> Vec<(PathBuf, String)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut folders = vec![tests.join("corpus"), tests.join("recordings")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path)
                && path
                    .extension()
                    .is_some_and(|end| ["txt", "log", "sar", "atop"].iter().any(|own| end == *own))
            {
                let lines = text.split_inclusive('\n').scan(0, |bytes, line| {
                    *bytes += line.len();
                    (*bytes <= 16 << 10).then_some(line)
                });
                found.push((path, lines.collect()));
            }
        }
    }
    found.sort();
    found
}

/// Puts something around a text.
type Decorate = fn(&str) -> Vec<u8>;

fn each(text: &str, vary: impl Fn(usize, &str) -> String) -> Vec<u8> {
    text.lines().zip(1..).map(|(line, at)| vary(at, line) + "\n").collect::<String>().into_bytes()
}

fn clock(at: usize) -> String {
    format!("{:02}:{:02}:{:02}", 3 + at / 3600, at / 60 % 60, at % 60)
}

fn utf16(text: &str, mark: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    format!("{mark}{text}").encode_utf16().flat_map(bytes).collect()
}

fn escaped(text: &str) -> String {
    serde_json::to_string(text).expect("a string")
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Those that are taken away whatever the text says.
const SURE: &[(&str, Decorate)] = &[
    ("utf-8 with a mark", |text| format!("\u{feff}{text}").into_bytes()),
    ("utf-16", |text| utf16(text, "\u{feff}", u16::to_le_bytes)),
    ("utf-16, the other order", |text| utf16(text, "\u{feff}", u16::to_be_bytes)),
    ("carriage returns", |text| text.replace('\n', "\r\n").into_bytes()),
    ("carriage returns only", |text| text.replace('\n', "\r").into_bytes()),
    ("colours", |text| each(text, |_, line| format!("\x1b[01;31m\x1b[K{line}\x1b[m\x1b[K"))),
    ("titles", |text| each(text, |_, line| format!("\x1b]0;x y: 5\x07{line}"))),
    ("struck over", |text| {
        each(text, |_, line| format!("x\u{8}_\u{8}{line}\u{8}\u{8}").replace("\u{8}\u{8}", ""))
    }),
    ("no width", |text| each(text, |_, line| format!("\u{200b}{line}\u{feff}"))),
    ("quoted", |text| each(text, |_, line| format!("> > {line}"))),
    ("fenced", |text| format!("```text\n{text}```\n").into_bytes()),
    ("html", |text| format!("<pre>\n{}</pre>\n", html(text)).into_bytes()),
    ("html lines", |text| {
        each(&html(text), |_, line| format!("<span class=\"x\">{line}</span><br>"))
    }),
];

/// Those that are taken away where more is understood then.
const JUDGED: &[(&str, Decorate)] = &[
    ("journald", |text| {
        each(text, |at, line| format!("Nov 28 {} db7 run.sh[412]: {line}", clock(at)))
    }),
    ("syslog, a process a line", |text| {
        each(text, |at, line| format!("Nov  8 {} db7 logger[{}]: {line}", clock(at), 400 + at))
    }),
    ("short-iso", |text| {
        each(text, |at, line| format!("2026-11-28T{}+0100 db7 run.sh[412]: {line}", clock(at)))
    }),
    ("short-precise", |text| {
        each(text, |at, line| format!("Nov 28 {}.123456 db7 run.sh[412]: {line}", clock(at)))
    }),
    ("rfc 5424", |text| {
        each(text, |at, line| format!("<34>1 2026-11-28T{}Z db7 run 412 - - {line}", clock(at)))
    }),
    ("kubectl --prefix", |text| each(text, |_, line| format!("[pod/diag-7c9f/diag] {line}"))),
    ("kubectl --timestamps", |text| {
        each(text, |at, line| format!("2026-11-28T{}.123456789Z {line}", clock(at)))
    }),
    ("cri", |text| each(text, |at, line| format!("2026-11-28T{}.123Z stdout F {line}", clock(at)))),
    ("compose", |text| each(text, |_, line| format!("web_1  | {line}"))),
    ("compose below journald", |text| {
        each(text, |at, line| format!("Nov 28 {} db7 docker[412]: web_1  | {line}", clock(at)))
    }),
    ("pdsh", |text| each(text, |_, line| format!("db7: {line}"))),
    ("bullets", |text| each(text, |_, line| format!("* {line}"))),
    ("bars", |text| each(text, |_, line| format!("| {line}"))),
    ("added", |text| each(text, |_, line| format!("+{line}"))),
    ("cat -n", |text| each(text, |at, line| format!("{at:6}\t{line}"))),
    ("grep -n", |text| each(text, |at, line| format!("{at}:{line}"))),
    ("less -N", |text| each(text, |at, line| format!("{at:7} {line}"))),
    ("a list of strings", |text| {
        let lines: Vec<String> = text.lines().map(escaped).collect();
        format!("{{\n\"stdout_lines\": [\n{}\n]\n}}\n", lines.join(",\n")).into_bytes()
    }),
    ("a string", |text| {
        format!("{{\n\"stdout\": {},\n\"rc\": 0\n}}\n", escaped(text)).into_bytes()
    }),
    ("docker's files", |text| {
        each(text, |_, line| {
            format!("{{\"log\":{},\"stream\":\"stdout\"}}", escaped(&format!("{line}\n")))
        })
    }),
];

/// The lines of what is left, without blanks at their ends and blank lines around all: some of what
/// is put around a text is on lines of its own, and a quote trims its lines.
fn lines(text: &[u8]) -> Vec<String> {
    let text = normalised(text);
    let lines = text.lines().map(|line| line.trim_end().to_owned());
    let mut lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    // JSON around it: what is no text of its own stays.
    let around = |line: &String| {
        ["{", "}", "[", "]", "\"stdout_lines\": [", "\"rc\": 0"].contains(&line.as_str())
    };
    while lines.first().is_some_and(around) {
        lines.remove(0);
    }
    while lines.last().is_some_and(around) {
        lines.pop();
    }
    lines
}

/// How many lines of a text nobody understands; `None` where that is all of it.
fn unread(text: &[u8]) -> Option<usize> {
    let mut builder = Builder::new();
    builder.read("x", text).ok()?;
    let understood = builder.understood();
    let parts = builder.finish().unrecognised;
    let lines = parts.iter().map(|part| part.last_line - part.first_line + 1).sum();
    understood.then_some(lines)
}

/// A time may have been left before rows that are read with it.
fn without_time(line: &str) -> &str {
    let rest = line.strip_prefix("2026-11-28 ").unwrap_or(line);
    let timed =
        rest.split_once(' ').filter(|(clock, _)| clock.len() == 8 && clock.starts_with("03:"));
    timed.map_or(line, |(_, rest)| rest)
}

fn is_taken_away(path: &Path, text: &str, name: &str, decorate: Decorate) {
    let (plain, decorated) = (lines(text.as_bytes()), lines(&decorate(text)));
    let differs = plain.iter().zip(&decorated).find(|(a, b)| without_time(a) != without_time(b));
    assert_eq!(differs, None, "{}: {name}", path.display());
    assert_eq!(plain.len(), decorated.len(), "{}: {name}", path.display());
}

/// The same, unless all of it is read with what stands before its lines: some logs are.
fn is_taken_away_or_read(path: &Path, text: &str, name: &str, decorate: Decorate) {
    let Some(before) = unread(text.as_bytes()) else { return };
    if unread(&decorate(text)).is_none_or(|after| after > before) {
        is_taken_away(path, text, name, decorate);
    }
}

/// Listings as tools printed them: not tickets, which have marks of their own.
fn is_plain(path: &Path) -> bool {
    path.components().any(|folder| folder.as_os_str() == "recordings")
}

#[test]
fn plain_texts_are_unchanged() {
    let plain = |line: &str| !line.contains(['\u{a0}', '\u{202f}', '\u{feff}', '\r']);
    let texts = TEXTS.iter().filter(|(path, text)| is_plain(path) && plain(text));
    let mut count = 0;
    for (path, text) in texts {
        let now = normalised(text.as_bytes());
        let differs = text.lines().zip(now.lines()).find(|(before, after)| before != after);
        assert_eq!(differs, None, "{}", path.display());
        assert_eq!(now, *text, "{}", path.display());
        count += 1;
    }
    assert!(count > 50, "{count}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_put_around_a_text_is_taken_away(text in any::<Index>(), way in any::<Index>()) {
        let (path, text) = text.get(&TEXTS);
        let (name, decorate) = way.get(SURE);
        is_taken_away(path, text, name, *decorate);
    }

    #[test]
    fn what_stands_before_each_line_is_taken_away(text in any::<Index>(), way in any::<Index>()) {
        let listings: Vec<_> = TEXTS.iter().filter(|(path, _)| is_plain(path)).collect();
        let (path, text) = text.get(&listings);
        let (name, decorate) = way.get(JUDGED);
        is_taken_away_or_read(path, text, name, *decorate);
    }
}

const FREE: &str = "\
              total        used        free      shared  buff/cache   available
Mem:       24684092      912700    23281700       11104       81700    23192900
Swap:             0           0           0
";

fn available(text: &[u8]) -> Vec<f64> {
    let mut builder = Builder::new();
    builder.read("x", text).expect("a text");
    let recording = builder.finish();
    let host = recording.hosts.first();
    let series = host.and_then(|host| host.series(Field::MemAvailable, &Subject::Machine));
    series.map_or(Vec::new(), |series| series.points.iter().map(|point| point.value).collect())
}

/// Puts the same before each line.
fn before(text: &str) -> String {
    FREE.lines().map(|line| format!("{text}{line}\n")).collect()
}

#[test]
fn a_listing_is_read_in_every_form_in_which_people_hand_it_on() {
    let numbered =
        |vary: fn(usize, &str) -> String| String::from_utf8(each(FREE, vary)).expect("text");
    let cells = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" | ");
    let rows: Vec<String> = FREE.lines().map(cells).collect();
    let one = escaped(FREE);
    let list: Vec<String> = FREE.lines().map(escaped).collect();
    let texts = [
        // Trackers, mails, blogs.
        format!("see:\n```\n{FREE}```\nthanks"),
        format!("```{FREE}```"),
        format!("[CODE]{FREE}[/CODE]"),
        format!("{{noformat}}\n{FREE}{{noformat}}\n{{code:title=x}}\n"),
        format!("<p>see:</p><pre><code>{}</code></pre>", FREE.replace('\n', "<br />")),
        FREE.lines().map(|line| format!("&gt; {}<br>\n", line.replace(' ', "&nbsp;"))).collect(),
        numbered(|_, line| format!("`{line}`")),
        numbered(|_, line| format!("**{line}**")),
        numbered(|at, line| format!("{at}. {line}")),
        before("\u{2022} "),
        format!("| . | {} |\n|---|---|---|\n| {} |\n| {} |\n", rows[0], rows[1], rows[2]),
        FREE.replace(' ', "\u{a0}"),
        // Editors and pagers.
        numbered(|at, line| format!("{at:4} \u{2502} {line}")),
        numbered(|at, line| format!("free.txt:{at}:{line}")),
        format!("@@ -0,0 +1,3 @@\n{}", before("+")),
        // Terminals.
        format!("\x1b[?2004h[root@db7 ~]# free\r\n\x1b[?2004l\r{}", FREE.replace('\n', "\r\n")),
        numbered(|_, line| line.replace("Mem", "\x1b[01;31m\x1b[KMem\x1b[m\x1b[K")),
        numbered(|_, line| line.replace("Mem", "[01;31m[KMem[m[K")),
        numbered(|_, line| line.replace("Mem", "^[[01;31mMem^[[0m")),
        FREE.replace("Mem", "M\u{8}Me\u{8}em\u{8}m"),
        // Logs and containers.
        numbered(|at, line| format!("Nov 28 05:00:0{at} db7 systemd[1]: {line}")),
        numbered(|at, line| format!("Sat 2026-11-28 05:00:0{at} CET db7 run.sh[41]: {line}")),
        numbered(|at, line| format!("<13>Nov 28 05:00:0{at} db7 run: {line}")),
        numbered(|at, line| format!("2026-11-28T05:00:0{at}.123+00:00 app[web.1]: {line}")),
        numbered(|at, line| format!("2026-11-28 05:00:0{at},123 {line}")),
        numbered(|at, line| format!("[Sat Nov 28 05:00:0{at} UTC 2026] {line}")),
        numbered(|at, line| format!("179584200{at}.25 {line}")),
        numbered(|at, line| format!("#9 0.31{at} {line}")),
        before("web-1      | "),
        before("diag-7c9f diag "),
        numbered(|at, line| format!("[pod/a/b] 2026-11-28T05:00:0{at}Z {line}")),
        // Tools for many machines.
        before("db7: "),
        before("[db7] out: "),
        format!("db7 | CHANGED | rc=0 | (stdout) {}", FREE.replace('\n', "\\n")),
        format!(
            "db7 | CHANGED => {{\"rc\": 0, \"stdout\": {one}, \"stdout_lines\": [{}]}}",
            list.join(", ")
        ),
        format!("ok: [db7] => {{\n  \"msg\": [\n{}\n ]\n}}", list.join(",\n")),
        format!("ok: [db7] => {{\"msg\": [{}]}}", list.join(", ")),
        format!("{{\"host\": \"db7\", \"output\": {one}}}"),
        format!("{{\"body\": {}}}", escaped(&format!("{{\"stdout\": {one}}}"))),
        format!("out = b'{}'", FREE.replace('\n', "\\n")),
        numbered(|at, line| format!("{{\"MESSAGE\":{},\"_PID\":\"4{at}\"}}", escaped(line))),
        numbered(|at, line| {
            format!("{{\"log\":{},\"time\":\"{at}\"}}", escaped(&format!("{line}\n")))
        }),
    ];
    for text in texts {
        assert_eq!(available(text.as_bytes()), [23_192_900.0 * 1024.0], "{text}");
    }
    let head = "total utilis\u{e9} libre partag\u{e9} tamp/cache disponible";
    let french = format!("{head}\n{}", FREE.split_once('\n').expect("rows").1);
    let latin: Vec<u8> = french.chars().map(|letter| letter as u8).collect();
    assert!(std::str::from_utf8(&latin).is_err());
    assert_eq!(available(&latin), available(FREE.as_bytes()));
}

#[test]
fn what_stands_before_rows_is_not_taken_from_them() {
    for text in [
        // Times of their own, and of the kernel.
        "Nov 28 05:00:01 db7 kernel: [812.1] usb 1-1: new device\n\
         Nov 28 05:00:02 db7 kernel: [813.1] nfs: server a not responding, still trying\n",
        "05:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
         05:00:02        all      1.00      0.00      1.00      0.00      0.00     98.00\n",
        "2026-11-28T05:00:01.123+0000: 12.345: [GC (System.gc()) 65536K->9K(99K), 0.1 secs]\n\
         2026-11-28T05:00:02.123+0000: 13.345: [GC (System.gc()) 65536K->9K(99K), 0.1 secs]\n",
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
         r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n \
         1  0      0 100000   2000  50000    0    0     5     6  700  800  5  5 90  0  0\n \
         2  0      0 100000   2000  50000    0    0     5     6  700  800  5  5 90  0  0\n \
         3  0      0 100000   2000  50000    0    0     5     6  700  800  5  5 90  0  0\n",
        "tcp        0      0 192.0.2.1:80      192.0.2.2:1234    ESTABLISHED\n\
         tcp        0      0 192.0.2.1:80      192.0.2.2:1235    ESTABLISHED\n",
        "- one\n- two MemTotal\n1. a\n2. b\n[info] x\n[info] y\nJo: hi\nJo: there\n",
        "{\n  \"a\": [\n    \"b\",\n    \"c\"\n  ]\n}\n",
    ] {
        assert_eq!(normalised(text.as_bytes()), text);
    }
}

#[test]
fn a_text_made_to_take_long_does_not() {
    let deep = (0..14).fold(FREE.to_owned(), |text, _| escaped(&text));
    for text in [
        "\x1b[".repeat(1_000_000),
        ">".repeat(1 << 20),
        "> ".repeat(1 << 19),
        "&".repeat(1 << 20),
        "<br>".repeat(1 << 16),
        "a: \n".repeat(1 << 16),
        "a: \nb: \n".repeat(1 << 15),
        "\"a\nb\"\n\"c\",\n".repeat(1 << 14),
        "12:00:00 x\n12:00:00 y: z\n- q\n".repeat(1 << 14),
        "| a |\n|---|\n\n".repeat(1 << 14),
        deep.chars().take(1 << 20).collect(),
    ] {
        normalised(text.as_bytes());
    }
}
