//! An error and its causes, a line each, as Rust's programs print them (`anyhow`, `eyre`).

use super::prelude::*;
use super::statements;

/// What stands before the error, and before its causes.
const ERROR: &str = "Error: ";
const CAUSES: &str = "Caused by:";
/// Longest message that is put together.
const BYTES_MAX: usize = 1024;

/// Begins at an error whose causes follow, perhaps behind an empty line.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let next = if lines.ahead(1).trim().is_empty() { 2 } else { 1 };
    let chain = lines.ahead(0).starts_with(ERROR) && lines.ahead(next).trim() == CAUSES;
    chain.then(|| lines.begin(SourceKind::ProgramLog, Chain::default(), out))
}

#[derive(Default)]
struct Chain {
    /// The error and its causes so far.
    text: String,
    /// Whether causes have begun.
    causes: bool,
}

impl Reader for Chain {
    fn take(&mut self, line: &str, _: &mut Builder) -> Taken {
        if line.trim().is_empty() && !self.causes {
            return Taken::Yes;
        }
        if line.trim() == CAUSES && !self.causes {
            self.causes = true;
            return Taken::Yes;
        }
        let first = self.text.is_empty();
        let more = self.causes && line.starts_with(' ') && self.text.len() <= BYTES_MAX;
        if !first && !more {
            return Taken::No;
        }
        if !first {
            self.text += ": ";
        }
        // `0: ` and so on, where there are several.
        let cause = line.trim();
        let numbered = cause.split_once(": ").filter(|(number, _)| count(number).is_some());
        self.text += numbered.map_or(cause, |(_, cause)| cause);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        statements::put(&self.text, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::super::failures::FAILURES;
    use super::*;

    #[test]
    fn causes_belong_to_their_error() {
        let of = |text: &str, field: Field| {
            let recording = read(text);
            all_understood(&recording);
            values(&recording, field, &Subject::part(FAILURES, field.about().key))
        };
        let watched = "Error: cannot watch the folder\n\nCaused by:\n    No space left on device \
                       (os error 28)\n";
        assert_eq!(of(watched, Field::WatchErrors), [1.0]);
        assert_eq!(of(watched, Field::NoSpace), [0.0; 0]);
        let written = "Error: cannot save\n\nCaused by:\n    0: failed to write the index\n    \
                       1: No space left on device (os error 28)\n";
        assert_eq!(of(written, Field::NoSpace), [1.0]);
    }
}
