use super::super::Recording;
use super::lines::SHAPES_MAX;
use super::*;

fn read(text: &str) -> Recording {
    let mut builder = Builder::new();
    builder.read("app.log", text.as_bytes()).expect("a text");
    builder.finish()
}

/// A log of a program that nobody knows.
fn log() -> String {
    let mut text = String::new();
    for minute in 0..60 {
        text.push_str(&format!(
            "2026-03-01 10:{minute:02}:00,118 INFO  [worker-{}] c.e.Ship: order {} packed in {} \
             ms\n",
            minute % 4,
            7_000 + minute,
            20 + minute
        ));
        if minute % 10 == 5 {
            text.push_str(&format!(
                "2026-03-01 10:{minute:02}:30,200 ERROR [worker-1] c.e.Ship: no answer of \
                 10.0.0.{minute}:7001: Connection refused\n\tat c.e.Ship.pack(Ship.java:812)\n"
            ));
        }
    }
    text.push_str("2026-03-01 10:59:59,001 WARN  [main] c.e.Ship: order 7099 packed in 41 s\n");
    text
}

#[test]
fn a_log_without_a_format_has_observations() {
    let recording = read(&log());
    assert_eq!(recording.unrecognised, []);
    let [summary] = &recording.logs[..] else { panic!("{:?}", recording.logs) };
    assert_eq!((summary.lines, summary.messages), (67, 2));
    let span = (summary.first.map(|at| at.clock()), summary.last.map(|at| at.clock()));
    assert_eq!(span, (Some("10:00:00".to_owned()), Some("10:59:59".to_owned())));
    let found: Vec<_> = summary
        .observations
        .iter()
        .map(|one| (one.what, one.lines, one.message.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        found,
        [
            (Observed::Refused, 6, "no answer of *: Connection refused"),
            (Observed::Slow, 61, "order * packed in *"),
        ]
    );
    let refused = &summary.observations[0];
    assert_eq!((refused.line, refused.object.as_deref()), (7, Some("10.0.0.5:7001")));
    assert_eq!(summary.observations[1].longest_ms, Some(41_000.0));
}

#[test]
fn sentences_tables_and_single_lines_are_no_log() {
    for text in [
        "Since Monday our shop is slow.\nWe see this at 10:00:00 every day.\nAny idea?\n",
        "10:00:01 5 6 7\n10:00:02 5 6 7\n10:00:03 5 6 7\n10:00:04 8 9 9\n",
        "2026-03-01 10:00:00 ERROR it broke\n\nWhat does that mean?\n",
    ] {
        let recording = read(text);
        assert_eq!(recording.logs, [], "{text}");
        assert!(!recording.unrecognised.is_empty(), "{text}");
    }
}

#[test]
fn secrets_stay_out() {
    let line = |minute: u32| {
        format!(
            "2026-03-01 10:0{minute}:00 ERROR login of 'carla' failed: password hunter secret=x \
             tok \"abc def\"\n"
        )
    };
    let recording = read(&(0..6).map(line).collect::<String>());
    let text = format!("{:?}", recording.logs);
    for secret in ["carla", "hunter", "abc", "def"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(text.contains("login of"), "{text}");
}

#[test]
fn what_stops_and_what_appears() {
    let mut text = String::new();
    for second in 0..1_600 {
        let (minute, second_of) = (second / 60, second % 60);
        let clock = format!("10:{minute:02}:{second_of:02}");
        text.push_str(&format!("{clock} INFO beat of the main loop\n"));
        let other = if second < 800 { "old path taken" } else { "new path taken" };
        text.push_str(&format!("{clock} INFO {other}\n"));
    }
    let recording = read(&text);
    let found: Vec<_> =
        recording.logs[0].observations.iter().map(|one| (one.what, one.message.clone())).collect();
    let wanted = [
        (Observed::Stops, Some("old path taken".to_owned())),
        (Observed::Appears, Some("new path taken".to_owned())),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn a_silence_is_told() {
    let mut text = String::new();
    for second in (0..120).chain(600..700) {
        text.push_str(&format!("10:{:02}:{:02} INFO beat of the loop\n", second / 60, second % 60));
    }
    let recording = read(&text);
    let silence = &recording.logs[0].observations[0];
    assert_eq!(silence.what, Observed::Silence);
    let times = [silence.first, silence.last].map(|at| at.map(|at| at.clock()));
    assert_eq!(times, [Some("10:01:59".to_owned()), Some("10:10:00".to_owned())]);
}

#[test]
fn hostile_logs_are_bounded() {
    let mut text = String::new();
    for number in 1_000..21_000_u32 {
        let word: String = number.to_string().bytes().map(|digit| char::from(digit + 49)).collect();
        text.push_str(&format!("10:00:00 ERROR {word} {word}x {word}y\n"));
    }
    text.push_str(&format!("10:00:00 ERROR {}\n", "[(<".repeat(300_000)));
    let recording = read(&text);
    assert_eq!(recording.logs[0].lines, 20_000);
    assert!(recording.logs[0].messages <= SHAPES_MAX);
}

#[test]
fn apostrophes_hide_nothing() {
    let line = |minute: u32| format!("10:0{minute}:00 ERROR can't reach the shop's 'carla' now\n");
    let recording = read(&(0..4).map(line).collect::<String>());
    let message = recording.logs[0].observations[0].message.as_deref();
    assert_eq!(message, Some("can't reach the shop's '*' now"));
}

#[test]
fn a_burst_has_the_time_of_most_of_its_lines() {
    let mut text = String::new();
    for second in 0..3_000 {
        let clock = format!("10:{:02}:{:02}", second / 60, second % 60);
        text.push_str(&format!("{clock} INFO beat of the loop\n"));
        if (1_000..1_050).contains(&second) || second == 2_900 {
            text.push_str(&format!("{clock} WARN buffer grows again\n"));
        }
    }
    let recording = read(&text);
    let burst = &recording.logs[0].observations[0];
    assert_eq!((burst.what, burst.lines), (Observed::Burst, 50));
    let (first, last) = burst.first.zip(burst.last).expect("times");
    assert!(*first.clock() <= *"10:16:40" && *last.clock() < *"10:20:00");
}

#[test]
fn structured_lines_are_a_log_too() {
    let line = |second: u32| {
        format!(
            "{{\"ts\":\"2026-03-01T10:00:{second:02}Z\",\"level\":\"error\",\"logger\":\"ship\",\
             \"msg\":\"no answer of 10.0.0.7:7001: connection refused\",\"order\":{second}}}\n"
        )
    };
    let logfmt = |second: u32| {
        format!(
            "time=\"2026-03-01T10:00:{second:02}Z\" level=error msg=\"no answer of 10.0.0.7:7001: \
             connection refused\" order={second}\n"
        )
    };
    for text in [(10..20).map(line).collect::<String>(), (10..20).map(logfmt).collect::<String>()] {
        let recording = read(&text);
        let [summary] = &recording.logs[..] else { panic!("{text}") };
        assert_eq!((summary.lines, summary.messages), (10, 1), "{text}");
        let one = &summary.observations[0];
        assert_eq!((one.what, one.lines), (Observed::Refused, 10), "{text}");
        assert_eq!(one.object.as_deref(), Some("10.0.0.7:7001"));
        assert_eq!(one.first.map(|at| at.to_string()).as_deref(), Some("2026-03-01 10:00:10"));
    }
}

/// A disk is busy while a program waits for it.
#[test]
fn a_log_supports_a_finding_of_its_time() {
    use crate::diagnose::{Thresholds, diagnose};
    let found = |hour: u32, message: &str| {
        let mut text = "Linux 6.12.0 (db7) \t03/01/2026 \t_x86_64_\t(4 CPU)\n\n\
             10:00:00 AM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     \
             await     %util\n"
            .to_owned();
        for minute in 1..9 {
            text.push_str(&format!(
                "10:0{minute}:00 AM       sda    300.00   1200.00    800.00      0.00      6.67  \
                 24.00     80.00     99.90\n"
            ));
        }
        text.push('\n');
        for minute in 1..9 {
            text.push_str(&format!(
                "2026-03-01 {hour}:0{minute}:30 WARN [io] s.Store: {message}\n"
            ));
        }
        let diagnosis = diagnose(&read(&text), &Thresholds::default());
        let chain = diagnosis.findings.iter().flat_map(|finding| &finding.chain);
        let evidence = chain.flat_map(|step| &step.evidence);
        assert!(!diagnosis.findings.is_empty() && !diagnosis.logs.is_empty());
        evidence.filter(|evidence| evidence.text.contains("a log says")).count()
    };
    assert!(found(10, "flush timed out after 5 s") > 0);
    assert_eq!(found(17, "flush timed out after 5 s"), 0, "of another time");
    assert_eq!(found(10, "connection timed out after 5 s"), 0, "of something else");
}
