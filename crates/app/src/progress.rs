//! The progress line, as experiments ask for it.

use crate::say::Progress;
use hugewise_lab::session;

impl session::Progress for Progress {
    fn is_watched(&self) -> bool {
        Self::is_watched(self)
    }

    fn line(&self, seconds: u64, text: &str) {
        self.show(&format!("[{seconds:>3} s] {text}"));
    }

    fn log(&self, text: &str) {
        Self::log(self, text);
    }

    fn clear(&self) {
        self.show("");
    }
}
