//! Kernel releases as `uname -r` prints them: `6.18.44-fc-v595`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ParseError, decimal};

/// The numbers of a release; ordered. Distributions carry features back, so it is a hint for
/// people: what a kernel can do is found by probing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KernelRelease {
    /// 6 of 6.18.44.
    pub major: u32,
    /// 18 of 6.18.44.
    pub minor: u32,
    /// 44 of 6.18.44; 0 where no third number is written, as in `6.18-rc1`.
    pub patch: u32,
}

impl KernelRelease {
    /// Whether this is release `major.minor` or a later one.
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

impl fmt::Display for KernelRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Reads the numbers; what follows them may be anything.
///
/// # Errors
/// When the text does not start with two numbers joined by a point.
pub fn parse(text: &str) -> Result<KernelRelease, ParseError> {
    let error = || ParseError::new("kernel release", 1, text, "numbers such as '6.12.1'");
    let text = text.trim_ascii();
    let numbers_end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let numbers = &text[..numbers_end.unwrap_or(text.len())];
    let mut parts = numbers.split('.').map(decimal::<u32>);
    let mut required = || parts.next().flatten().ok_or_else(error);
    let (major, minor) = (required()?, required()?);
    // `6.18.` or a fourth number in a distribution's name is no reason to refuse the first two.
    let patch = parts.next().flatten().unwrap_or(0);
    Ok(KernelRelease { major, minor, patch })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_real_releases() {
        let numbers = |text| parse(text).map(|r| (r.major, r.minor, r.patch)).ok();
        assert_eq!(numbers("6.18.44-fc-v595\n"), Some((6, 18, 44)));
        assert_eq!(numbers("5.14.0-503.11.1.el9_5.x86_64"), Some((5, 14, 0)));
        assert_eq!(numbers("6.1.0-28-cloud-amd64"), Some((6, 1, 0)));
        assert_eq!(numbers("6.18-rc1"), Some((6, 18, 0)));
        for wrong in ["", "6", "v6.1", ".6.1", "6..1", "99999999999.1"] {
            assert_eq!(numbers(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn compares_numbers_and_not_text() {
        let release = parse("6.9.3").expect("well formed");
        assert!(release.at_least(6, 9) && release.at_least(5, 19));
        assert!(!release.at_least(6, 12));
    }
}
