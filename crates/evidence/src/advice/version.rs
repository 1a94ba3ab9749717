//! Versions, numbers, and ranges of them.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// Most numbers of a version that count.
const PARTS_MAX: usize = 8;

/// Dotted numbers, such as 15.18 of `15.18-0+deb12u1`. Missing ones are 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(Vec<u64>);

impl Version {
    /// The version at the start of a text. The epoch of a package (`5:7.0.15`), a `v` or a `go`
    /// before it do not count.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = match text.split_once(':') {
            Some((epoch, rest)) if epoch.bytes().all(|byte| byte.is_ascii_digit()) => rest,
            _ => text,
        };
        let digits = text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let end = digits.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let numbers = digits.get(..end.unwrap_or(digits.len()))?;
        let mut parts = Vec::new();
        for part in numbers.split('.').take(PARTS_MAX) {
            match part.parse() {
                Ok(number) => parts.push(number),
                Err(_) => break,
            }
        }
        (!parts.is_empty()).then_some(Self(parts))
    }

    /// The first version in a text; one of several numbers before a single number.
    pub fn first_in(text: &str) -> Option<Self> {
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
        let words = text.split(|letter| !is_part(letter));
        let mut single = None;
        for word in words.map(|word| word.trim_matches('.')).filter(|word| !word.is_empty()) {
            if word.contains('.') {
                return Self::of(word);
            }
            single = single.or_else(|| Self::of(word));
        }
        single
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        for at in 0..self.0.len().max(other.0.len()) {
            let part = |version: &Self| version.0.get(at).copied().unwrap_or(0);
            match part(self).cmp(&part(other)) {
                Ordering::Equal => {}
                differs => return differs,
            }
        }
        Ordering::Equal
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

/// One end of a range, and whether it belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct End {
    version: Version,
    inside: bool,
}

/// A range such as `>=8.0, <9`. [`Range::default`] holds everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Range {
    low: Option<End>,
    high: Option<End>,
}

impl Range {
    /// Whether a version is in it.
    pub fn contains(&self, version: &Version) -> bool {
        let above = self.low.as_ref().is_none_or(|low| match version.cmp(&low.version) {
            Ordering::Equal => low.inside,
            order => order == Ordering::Greater,
        });
        above
            && self.high.as_ref().is_none_or(|high| match version.cmp(&high.version) {
                Ordering::Equal => high.inside,
                order => order == Ordering::Less,
            })
    }

    /// Whether it holds every version.
    pub fn is_all(&self) -> bool {
        self.low.is_none() && self.high.is_none()
    }

    /// Whether some version is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        let apart = |low: &Option<End>, high: &Option<End>| match (low, high) {
            (Some(low), Some(high)) => match low.version.cmp(&high.version) {
                Ordering::Greater => true,
                Ordering::Equal => !(low.inside && high.inside),
                Ordering::Less => false,
            },
            _ => false,
        };
        !apart(&self.low, &other.high) && !apart(&other.low, &self.high)
    }

    /// A number in it, the nearest to 0; `None` where that has to be guessed.
    pub fn least(&self) -> Option<String> {
        match (&self.low, &self.high) {
            (Some(End { version, inside: true }), _) => Some(version.to_string()),
            (None, Some(_)) => Some("0".to_owned()),
            _ => None,
        }
    }
}

impl TryFrom<String> for Range {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = |part: &str| {
            format!("'{part}': expected comparators and versions, such as '>=8.0, <9'")
        };
        let mut range = Self::default();
        for part in text.split(',').map(str::trim) {
            let name = part.trim_start_matches(['<', '>', '=']);
            let comparator = part.get(..part.len() - name.len()).unwrap_or_default();
            let name = name.trim();
            let is_number = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let version = Version::of(name).filter(|_| is_number).ok_or_else(|| wrong(part))?;
            let end = |inside| Some(End { version: version.clone(), inside });
            let (low, high) = match comparator {
                ">=" => (end(true), None),
                ">" => (end(false), None),
                "<=" => (None, end(true)),
                "<" => (None, end(false)),
                "=" => (end(true), end(true)),
                _ => return Err(wrong(part)),
            };
            if low.is_some() && range.low.is_some() || high.is_some() && range.high.is_some() {
                return Err(format!("'{text}': two lower or two upper ends"));
            }
            range.low = range.low.or(low);
            range.high = range.high.or(high);
        }
        if !range.overlaps(&range) {
            return Err(format!("'{text}': no version is in this range"));
        }
        Ok(range)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(low), Some(high)) = (&self.low, &self.high)
            && low == high
        {
            return write!(f, "={}", low.version);
        }
        let side = |end: &Option<End>, sign: &str| {
            let end = end.as_ref()?;
            let equal = if end.inside { "=" } else { "" };
            Some(format!("{sign}{equal}{}", end.version))
        };
        let both: Vec<String> =
            [side(&self.low, ">"), side(&self.high, "<")].into_iter().flatten().collect();
        f.write_str(&both.join(", "))
    }
}

impl From<Range> for String {
    fn from(range: Range) -> Self {
        range.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Range {
        Range::try_from(text.to_owned()).expect(text)
    }

    #[test]
    fn versions_are_numbers_and_not_texts() {
        let of = |text: &str| Version::of(text).map(|version| version.to_string());
        assert_eq!(of("5:7.0.15-1~deb12u1").as_deref(), Some("7.0.15"));
        assert_eq!(of("go1.22.3").as_deref(), Some("1.22.3"));
        assert_eq!(of("15.18-0+deb12u1").as_deref(), Some("15.18"));
        assert_eq!((of("stable"), of("")), (None, None));
        assert!(Version::of("8.10") > Version::of("8.9") && Version::of("8") == Version::of("8.0"));
        let first = |text: &str| Version::first_in(text).map(|version| version.to_string());
        assert_eq!(first("x86 build 4 of v8.0.4 (git)").as_deref(), Some("8.0.4"));
        assert_eq!(first("release 23").as_deref(), Some("23"));
    }

    #[test]
    fn ranges_have_ends() {
        let version = |text| Version::of(text).expect("a version");
        let some = range(">=8.0, <9");
        assert!(some.contains(&version("8.0")) && some.contains(&version("8.9.9")));
        assert!(!some.contains(&version("9.0")) && !some.contains(&version("7.99")));
        assert!(range("=2").contains(&version("2.0")) && !range(">2").contains(&version("2")));
        assert_eq!((some.to_string(), range("=2").to_string()), (">=8.0, <9".into(), "=2".into()));
        for wrong in ["8", "~8", ">=x", ">=1, >2", ">2, <2", ""] {
            assert!(Range::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_overlap_where_a_version_is_in_both() {
        for (one, other, both) in [
            (">=8", "<8", false),
            (">=8", "<=8", true),
            (">=1, <3", ">=2", true),
            ("=1", "=2", false),
            ("<5", ">7", false),
        ] {
            assert_eq!(range(one).overlaps(&range(other)), both, "{one} {other}");
            assert_eq!(range(other).overlaps(&range(one)), both, "{other} {one}");
        }
        assert!(Range::default().is_all() && Range::default().overlaps(&range("<1")));
        assert_eq!(range(">=135168").least().as_deref(), Some("135168"));
    }
}
