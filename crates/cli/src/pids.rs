//! Processes on the command line.

use std::str::FromStr;

/// One value of `--pid`: a process, or several with commas or blanks between, as `pidof` and
/// `pgrep` print them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pids(Vec<u32>);

impl FromStr for Pids {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = text.split(|c: char| c == ',' || c.is_ascii_whitespace());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            return Err("no process is named: write its number, as 812".to_owned());
        }
        let pid = |word: &&str| {
            let number = word.parse().ok().filter(|_| word.bytes().all(|b| b.is_ascii_digit()));
            number.ok_or_else(|| {
                format!("'{word}' is no process: write numbers, such as 812 or 812,4711")
            })
        };
        words.iter().map(pid).collect::<Result<_, _>>().map(Self)
    }
}

/// All that were named.
pub fn pids(given: &[Pids]) -> Vec<u32> {
    given.iter().flat_map(|pids| &pids.0).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pidof_prints_is_taken() {
        for text in ["1 22", "1,22", " 1, 22\n", "1\n22\n", "1,,22"] {
            assert_eq!(text.parse::<Pids>().map(|all| pids(&[all])), Ok(vec![1, 22]), "{text:?}");
        }
        let both = ["1".parse(), "22".parse()].map(|one: Result<Pids, _>| one.expect("a pid"));
        assert_eq!(pids(&both), [1, 22]);
        for (text, why) in [
            ("", "no process is named"),
            (" ,", "no process is named"),
            ("redis", "'redis' is no process: write numbers, such as 812 or 812,4711"),
            ("1 +2", "'+2' is no process"),
            ("4294967296", "'4294967296' is no process"),
        ] {
            let said = text.parse::<Pids>().expect_err(text);
            assert!(said.starts_with(why), "{text:?}: {said}");
        }
    }
}
