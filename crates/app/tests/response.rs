//! `hugewise response` on the command line: logs of a service with a known fault, other formats,
//! recordings beside them, and bad input. Needs no right and changes nothing.

use hugewise_scratch::Scratch;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Debug)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn says(&self, code: i32, texts: &[&str]) {
        assert!(self.code == Some(code), "{code}: {self:#?}");
        let line = self.out.split_whitespace().collect::<Vec<_>>().join(" ");
        texts.iter().for_each(|text| assert!(line.contains(text), "'{text}': {self:#?}"));
        assert!(self.out.lines().all(|line| line.chars().count() <= 80), "{self:#?}");
    }

    fn fails(&self, code: i32, why: &str) {
        assert!(self.code == Some(code) && self.err.contains(why), "{code}, '{why}': {self:#?}");
        assert!(self.out.is_empty() && !self.err.contains("panicked"), "{self:#?}");
    }
}

fn response(args: &[&str], input: &[u8]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    command.args(["--color", "never", "response"]).args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let done = child.wait_with_output().expect("it ends");
    writer.join().expect("written");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: done.status.code(), out: text(&done.stdout), err: text(&done.stderr) }
}

/// Four minutes of HAProxy, 50 requests a second; from the second on to the third minute each
/// waits in the queue of one of two servers.
fn haproxy(queue_ms: u64) -> String {
    let mut text = String::new();
    for at in 0..12_000_u64 {
        let (s, ms) = (at / 50, at % 50 * 20);
        let server = at % 2;
        let full = queue_ms > 0 && (60..120).contains(&s) && server == 1;
        let queue = if full { queue_ms + at % 97 } else { 0 };
        let service = 10 + at % 37;
        let _ = writeln!(
            text,
            "Nov 26 12:{m:02}:{s:02} lb haproxy[7]: 10.0.1.2:33317 \
             [26/Nov/2026:12:{m:02}:{s:02}.{ms:03}] web app/srv{server} \
             0/{queue}/1/{service}/{} 200 2750 - - ---- 1/1/1/1/0 0/0 \
             \"GET /api/orders/{at}?token=secret HTTP/1.1\"",
            queue + 1 + service,
            m = s / 60,
            s = s % 60,
        );
    }
    text
}

#[test]
fn a_queue_is_found_with_its_server() {
    let said = response(&["-"], haproxy(300).as_bytes());
    said.says(
        3,
        &[
            "12000 requests from 2026-11-26 12:00:00",
            "stdin: HAProxy httplog",
            "1 slow time:",
            "Slow from 2026-11-26 12:01:00 to 12:02:",
            "100 % waiting in the proxy's queue",
            "in the server 'app/srv1', which has 50 % of the requests",
            "all requests are of the service 'app'",
            "GET /api/orders/{n}",
            "read as TR/Tw/Tc/Tr/Ta of 1.7 and later",
        ],
    );
    assert!(!said.out.contains("secret") && !said.out.contains("10.0.1.2"), "{said:#?}");
}

#[test]
fn a_calm_log_ends_with_0() {
    response(&["-"], haproxy(0).as_bytes()).says(0, &["Nothing slow"]);
}

#[test]
fn a_service_that_is_always_slow_misses_its_goal() {
    let log = haproxy(0);
    response(&["-", "--goal-ms", "5"], log.as_bytes()).says(
        3,
        &[
            "Nothing slow",
            "Goal missed: 12000 of 12000 requests (100.0 %) took longer than 5",
            "of all time: waiting for the upstream's first byte",
        ],
    );
    response(&["-", "--goal-ms", "100"], log.as_bytes()).says(0, &["Goal met: 0 of 12000"]);
    response(&["-", "--goal-ms", "0"], log.as_bytes()).fails(2, "wanted milliseconds above 0");
}

#[test]
fn a_log_of_gatling_is_read_with_any_simulation() {
    let log =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiment/tests/gatling/simulation.log");
    let log = log.to_str().expect("a plain path");
    response(&[log], b"").says(5, &["results of Gatling", "By endpoint", "failed by who asked"]);
}

#[test]
fn a_given_format_is_used() {
    let mut log = String::new();
    for at in 0..3000_u64 {
        let slow = (1000..1600).contains(&at);
        let (total, upstream) = if slow { (900 + at % 9, 12) } else { (20 + at % 9, 12) };
        let ms = 1_795_694_400_000 + at * 50;
        let _ = writeln!(
            log,
            "{}.{:03}|GET|/a|200|0.{total:03}|0.001|0.0{upstream}|0.0{upstream}",
            ms / 1000,
            ms % 1000
        );
    }
    let format = "$msec|$request_method|$uri|$status|$request_time|$upstream_connect_time|\
                  $upstream_header_time|$upstream_response_time";
    let said = response(&["-", "--format", format, "--every", "5s"], log.as_bytes());
    said.says(3, &["given, of nginx", "100 % what is left", "Slow from 2026-11-26 12:00:50"]);
    response(&["-"], log.as_bytes()).fails(1, "no line is of a known format");
}

#[test]
fn a_log_without_times_says_what_is_missing() {
    let line = "10.0.0.9 - - [26/Nov/2026:12:00:00 +0100] \"GET /a HTTP/1.1\" 200 5 \"-\" \"x\"\n";
    response(&["-"], line.repeat(100).as_bytes())
        .says(5, &["No response times", "add $request_time", "or %D to Apache's LogFormat"]);
}

#[test]
fn bad_input_is_named() {
    let folder = Scratch::new();
    let path = folder.join("access.log.gz");
    fs::write(&path, [0x1f, 0x8b, 8, 0]).expect("written");
    let gz = path.to_str().expect("a plain path");
    response(&[gz], b"").fails(1, "zcat");
    response(&["/nowhere/access.log"], b"").fails(1, "cannot open '/nowhere/access.log'");
    response(&["-"], b"").fails(1, "no request in it");
    response(&["-", "--zone", "CET"], b"").fails(2, "--zone CET");
    response(&["-", "--unit", "h"], b"").fails(2, "--unit h");
    response(&["-", "--margin", "0.5"], b"").fails(2, "--margin");
    response(&["-", "--format", "$foo"], b"").fails(2, "--format");
    // The other log counts, and the missing one is said.
    let good = folder.join("good.log");
    fs::write(&good, haproxy(0)).expect("written");
    let good = good.to_str().expect("a plain path");
    response(&[good, gz], b"").says(5, &["Nothing slow", "Problem", "is compressed"]);
}

#[test]
fn a_long_line_is_skipped_and_the_next_is_read() {
    let log = haproxy(0);
    let long = format!("{}\n{log}", "x".repeat(300_000));
    response(&["-"], long.as_bytes())
        .says(0, &["12000 requests", "1 line of 12001 not understood"]);
}

/// The page's example is what its commands print; `HUGEWISE_UPDATE_GOLDEN=1` writes it anew.
#[test]
fn the_page_shows_what_comes_out() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/response.md");
    let text = fs::read_to_string(&page).expect("the page");
    let between = |text: &str, from: &str| {
        let start = text.find(from).expect("a block") + from.len();
        let end = start + text[start..].find("```\n").expect("its end");
        (start, end)
    };
    let (start, end) = between(&text, "```sh run\n");
    let folder = Scratch::new();
    let bin = Path::new(env!("CARGO_BIN_EXE_hugewise")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let done = Command::new("sh")
        .args(["-e", "-c", &text[start..end]])
        .current_dir(&*folder)
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .expect("sh runs");
    let printed = String::from_utf8(done.stdout).expect("text");
    let (start, end) = between(&text, "```text\n");
    if std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some() {
        let renewed = format!("{}{printed}{}", &text[..start], &text[end..]);
        fs::write(&page, renewed).expect("written");
        return;
    }
    assert_eq!(text[start..end], printed, "HUGEWISE_UPDATE_GOLDEN=1 renews it");
}

#[test]
fn recordings_beside_it_say_what_the_machine_did() {
    let folder = Scratch::new();
    let mut sar = String::from(
        "Linux 6.1.0-18-amd64 (web1) \t11/26/2026 \t_x86_64_\t(2 CPU)\n\n\
         12:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle\n",
    );
    for at in 1..24_u64 {
        let user = if (7..13).contains(&at) { 92.0 } else { 11.0 } + (at % 5) as f64 / 10.0;
        let _ = writeln!(
            sar,
            "12:{:02}:{:02}        all     {user:.2}      0.00      2.00      1.00      0.00 \
             {:.2}",
            at * 10 / 60,
            at * 10 % 60,
            97.0 - user
        );
    }
    let path = folder.join("sar.txt");
    fs::write(&path, sar).expect("written");
    let path = path.to_str().expect("a plain path");
    response(&["-", "--with", path], haproxy(300).as_bytes())
        .says(3, &["The machine", "Moved CPU in programs (machine): 92", "in slow times, 11"]);
    let json = response(&["-", "--json", "--with", path], haproxy(300).as_bytes());
    let value: Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(value["machine"]["unmatched"], Value::Null);
    assert_eq!(value["episodes"][0]["parts"][0]["part"], "queue");
    let moved = response(&["-", "--zone", "+05:00", "--with", path], haproxy(300).as_bytes());
    // Both are in the machine's time, whatever its zone.
    moved.says(3, &["Moved CPU in programs"]);
}
