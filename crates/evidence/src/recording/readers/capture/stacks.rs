//! What the CPUs ran, by the kernel's functions: lines as flame graphs are drawn from.
//!
//! ```text
//! # cpu-clock frequency_hz=97 lost=0
//! redis-server;asm_exc_page_fault;exc_page_fault;handle_mm_fault;clear_page_erms 31
//! redis-server 12
//! ```
//!
//! The program, the kernel's functions from the outermost to the innermost, and how often it was
//! met; without functions it ran its own code.

use crate::recording::Builder;
use crate::recording::readers::profile::model::{Frame, Profile};
use hugewise_base::parse::ParseError;

/// The name of this text in a sample. There is no such file.
pub const PATH: &str = "/hugewise/stacks";

/// Fewer samples of the kernel say nothing: of 50 a share of one half is known to 7 points
/// (the standard error of a proportion).
const KERNEL_MIN: f64 = 50.0;

/// A name without blanks and semicolons, for a line.
pub fn frame(name: &str) -> String {
    let plain = |c: char| if c.is_control() || c.is_whitespace() || c == ';' { '_' } else { c };
    name.chars().map(plain).collect()
}

/// Samples of all programs, added up.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    profile: Profile,
}

impl Stacks {
    /// Takes the text of one sample; the first line that makes no sense, if there is one.
    pub(super) fn take(&mut self, text: &str) -> Option<ParseError> {
        let mut odd = None;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            if self.line(line).is_none() {
                let wanted = "a program, functions and a count";
                odd = odd.or_else(|| Some(ParseError::new("stacks", at + 1, line, wanted)));
            }
        }
        odd
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (chain, count) = line.rsplit_once(' ')?;
        let count: u32 = count.parse().ok()?;
        let mut frames = chain.split(';');
        let program = frames.next().filter(|name| !name.is_empty())?;
        let frames: Vec<Frame<'_>> = frames.map(|name| Frame { name, kernel: true }).collect();
        self.profile.chain(program, &frames, f64::from(count));
        Some(())
    }

    /// The shares, once there are enough samples.
    pub(super) fn put(self, out: &mut Builder) {
        if self.profile.in_kernel() >= KERNEL_MIN {
            self.profile.put(out);
        }
    }
}

/// Chains of calls as the texts of samples have them, however few there are: for pictures.
#[derive(Debug, Default)]
pub struct Chains(Stacks);

impl Chains {
    /// Takes the text of one sample. Lines that make no sense are left out.
    pub fn add(&mut self, text: &str) {
        let _ = self.0.take(text);
    }

    /// All of them, idle time left out.
    pub fn finish(self) -> crate::recording::Stacks {
        self.0.profile.into_stacks()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Field, Series};

    #[test]
    fn few_samples_say_nothing() {
        let profile = |count: u32| {
            let mut profile = Stacks::default();
            let text = format!("# cpu-clock frequency_hz=97 lost=0\na;f;g {count}\na {count}\n");
            assert_eq!(profile.take(&text), None);
            let mut out = Builder::new();
            out.host("here");
            profile.put(&mut out);
            let recording = out.finish();
            let found = recording.hosts.iter().flat_map(|host| host.subjects(Field::PathPercent));
            let value = |series: &[Series]| series[0].points[0].value;
            found.map(|(subject, series)| (subject.to_string(), value(series))).next()
        };
        assert_eq!(profile(49), None);
        assert_eq!(profile(50), Some(("a: f > g".to_owned(), 50.0)));
    }

    #[test]
    fn pictures_have_few_samples_too() {
        let mut chains = Chains::default();
        chains.add("# cpu-clock frequency_hz=97 lost=0\na;f;g 2\nodd\na 1\n");
        chains.add("a;f;g 1\nb;do_idle 7\n");
        let stacks = chains.finish();
        let all: Vec<_> = stacks.folded.iter().map(|(chain, n)| (chain.as_str(), *n)).collect();
        assert_eq!(all, [("a", 1.0), ("a;f_[k];g_[k]", 3.0)]);
        assert!(stacks.cpu_time);
    }

    #[test]
    fn odd_lines_are_told() {
        let mut profile = Stacks::default();
        for odd in ["a;b", ";b 3", "a;b x", " 5"] {
            let told = profile.take(&format!("a;b 1\n{odd}\n")).expect("an odd line");
            assert_eq!((told.line, told.found.as_str()), (2, odd));
        }
    }
}
