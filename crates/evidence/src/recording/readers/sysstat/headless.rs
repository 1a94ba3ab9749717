//! Rows whose header `tail`, `grep` or `awk` left out: `mpstat` and `sar -u` have had the same
//! columns, in the same order, since sysstat 10.1.5 (2012).

use super::words::{number, words};
use crate::recording::SourceKind;

const MPSTAT: [&str; 11] = [
    "CPU", "%usr", "%nice", "%sys", "%iowait", "%irq", "%soft", "%steal", "%guest", "%gnice",
    "%idle",
];
const SAR: [&str; 7] = ["CPU", "%user", "%nice", "%system", "%iowait", "%steal", "%idle"];

/// Whether `sar` was asked for the CPU: by `-u`, or by nothing.
fn of_cpu(command: &str) -> bool {
    let (_, rest) = command.split_once("sar").unwrap_or_default();
    let rest = rest.split(['|', ';', '&']).next().unwrap_or_default();
    let mut options = rest.split_whitespace().filter(|word| word.starts_with('-'));
    // These say when and from where (sar(1)).
    let place = ["-s", "-e", "-f", "-i", "-o", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-P"];
    options.all(|option| option.starts_with("-u") || place.contains(&option))
}

/// The tool and the header of a row by the command that printed it.
pub(super) fn known(command: &str, row: &str) -> Option<(SourceKind, String)> {
    let cells = words(row);
    let (first, numbers) = cells.split_first()?;
    let subject = *first == "all" || first.bytes().all(|byte| byte.is_ascii_digit());
    let percent = |word: &&str| number(word).is_some_and(|value| value <= 100.0);
    if !subject || !numbers.iter().all(|word| percent(word) && word.contains(['.', ','])) {
        return None;
    }
    let tool = |name: &str| {
        let mut words = command.split(|c: char| c.is_whitespace() || "|;&('\"".contains(c));
        words.any(|word| word.rsplit('/').next() == Some(name))
    };
    let fits = |all: &[&str]| all.len() == cells.len();
    if tool("mpstat") && !command.contains(" -I") && fits(&MPSTAT) {
        return Some((SourceKind::Mpstat, MPSTAT.join(" ")));
    }
    (tool("sar") && of_cpu(command) && fits(&SAR)).then(|| (SourceKind::SarText, SAR.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_header_are_known_by_their_command() {
        let ten = "5  100.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00";
        let six = "all 8.68 0.00 3.82 15.72 0.00 71.78";
        let mpstat = "mpstat -P ALL 10 1 | grep ^Average | awk '$2<8'";
        assert_eq!(known(mpstat, ten).expect("mpstat").0, SourceKind::Mpstat);
        for command in ["sar -u -s 03:13:00 | tail -5", "sar 1 5 | tail -1", "LC_ALL=C sar -f x"] {
            let (kind, header) = known(command, six).expect(command);
            assert_eq!((kind, header.as_str()), (SourceKind::SarText, SAR.join(" ").as_str()));
        }
        for (command, row) in [
            ("sar -r | tail -1", six),
            ("vmstat 1", six),
            (mpstat, "all 1 2 3 4 5 6 7 8 9 10"),
            (mpstat, six),
            ("mpstat -I CPU", ten),
        ] {
            assert_eq!(known(command, row), None, "{command}");
        }
    }
}
