//! Properties of the readers of logs and profiles: of whatever pieces a text is made, reading it
//! ends, does not panic, gives finite values only, and leaves a diagnosis that can be shown.

use hugewise_evidence::diagnose::{Thresholds, diagnose};
use hugewise_evidence::recording::{Builder, Field, LONG_BYTES, Recording};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::alphabet::{FORMATS, pprof, text};

fn read(bytes: &[u8]) -> Recording {
    let mut builder = Builder::new();
    // Refusing a text is as good as reading it.
    let _ = builder.read("input", bytes);
    builder.finish()
}

fn check(bytes: &[u8]) -> Recording {
    let recording = read(bytes);
    for host in &recording.hosts {
        for field in Field::ALL {
            let all = host.subjects(*field).flat_map(|(_, all)| all).flat_map(|s| &s.points);
            all.for_each(|point| assert!(point.value.is_finite(), "{field:?}"));
        }
    }
    let found = diagnose(&recording, &Thresholds::default());
    assert!(serde_json::to_string(&found).is_ok());
    recording
}

/// Every format of the alphabet is one that is read.
#[test]
fn each_format_begins() {
    for pieces in FORMATS {
        let start = pieces.iter().take(6).copied().collect::<String>().repeat(2);
        assert!(!check(start.as_bytes()).sources.is_empty(), "{start}");
    }
}

/// What takes the square of a line's length, or of the number of lines, shows as a test that does
/// not end.
#[test]
fn one_piece_again_and_again_takes_no_longer_than_its_length() {
    const LINE_BYTES: usize = 16 << 10;
    for pieces in FORMATS {
        for piece in pieces {
            let line = piece.replace('\n', " ").repeat(LINE_BYTES / piece.len() + 1);
            check(format!("{}\n{line}\n{line}\n", pieces[0]).as_bytes());
        }
    }
    for brackets in ["[", "]", "([{<", "\"", "[]", "a,", "\\\""] {
        let line = brackets.repeat((1 << 18) / brackets.len());
        check(format!("{}\n{line}\n", FORMATS[0][0]).as_bytes());
    }
    let short = "[\n".repeat(1 << 16);
    check(short.as_bytes());
}

/// The quotes of a row were counted anew with each of its lines.
#[test]
fn a_row_of_many_lines_is_looked_at_once() {
    let start = FORMATS[6][1].replace("LOG", "ERROR");
    let lines = "x\n".repeat(LONG_BYTES / 2 + 1);
    check(format!("{start}{lines}").as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn logs_made_of_pieces_are_read_to_their_end(choices in vec(any::<u8>(), 0..200)) {
        check(text(&choices).as_bytes());
    }

    #[test]
    fn profiles_made_of_fields_are_read_to_their_end(choices in vec(any::<u8>(), 0..400)) {
        check(&pprof(&choices));
    }
}
