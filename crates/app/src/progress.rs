//! The progress line, as experiments ask for it.

use crate::say::Progress;
use hugewise_lab::session;

/// The line on standard error.
#[derive(Debug)]
pub(crate) struct LabProgress(Progress);

/// The progress line of a session.
pub(crate) fn line() -> Box<dyn session::Progress> {
    Box::new(LabProgress(Progress::new(true)))
}

impl session::Progress for LabProgress {
    fn is_watched(&self) -> bool {
        self.0.is_watched()
    }

    fn line(&self, seconds: u64, text: &str) {
        self.0.show(&format!("[{seconds:>3} s] {text}"));
    }

    fn log(&self, text: &str) {
        self.0.log(text);
    }

    fn clear(&self) {
        self.0.show("");
    }
}
