//! What the readers' tests share.

use crate::recording::{Builder, Field, Recording, Subject};

/// A text read as one input.
pub(super) fn read(text: &str) -> Recording {
    let mut builder = Builder::new();
    builder.read("input.txt", text.as_bytes()).expect("a text");
    builder.finish()
}

/// The values about a subject of the first machine.
pub(super) fn values(recording: &Recording, field: Field, subject: &Subject) -> Vec<f64> {
    let series = recording.hosts.first().and_then(|host| host.series(field, subject));
    series.map_or(Vec::new(), |series| series.points.iter().map(|point| point.value).collect())
}

/// The same about the whole machine.
pub(super) fn machine(recording: &Recording, field: Field) -> Vec<f64> {
    values(recording, field, &Subject::Machine)
}

/// That every line was understood and made sense.
pub(super) fn all_understood(recording: &Recording) {
    assert_eq!(recording.unrecognised, []);
    assert_eq!(recording.problems, []);
}
