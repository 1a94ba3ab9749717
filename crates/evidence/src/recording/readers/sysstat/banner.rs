//! The first line of sysstat's tools: `Linux 3.10.0 (host) Dec 26, 2020 _x86_64_ (4 CPU)`.

use super::words::words;
use crate::recording::{Builder, Field, Stamp, Subject};

/// What the line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Banner {
    kernel: String,
    host: String,
    /// Midnight of the day.
    pub(super) date: Option<Stamp>,
    cpus: Option<u32>,
    /// The architecture, such as `x86_64`.
    machine: Option<String>,
}

/// A line that this function takes for the first one of a tool's.
pub(super) fn is_banner(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.strip_prefix("Linux ").or_else(|| line.strip_prefix("Linux\t"));
    rest.is_some_and(|rest| {
        let mut words = rest.split_whitespace();
        let kernel =
            words.next().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        kernel && words.next().is_some_and(|word| word.starts_with('('))
    })
}

/// Reads the line. `comma`: whether numbers below it have a decimal comma.
pub(super) fn parse(line: &str, comma: bool) -> Option<Banner> {
    if !is_banner(line) {
        return None;
    }
    let line = line.trim_start();
    let (kernel, rest) = line.strip_prefix("Linux")?.trim_start().split_once('(')?;
    let (host, rest) = rest.split_once(')')?;
    // `_x86_64_` and `(4 CPU)` are there since version 8.
    let arch = rest.split_whitespace().find(|word| word.len() > 2 && word.starts_with('_'));
    let date = match arch.and_then(|arch| rest.find(arch)) {
        Some(at) => rest.get(..at)?,
        None => rest.split('(').next()?,
    };
    let machine = arch.map(|arch| arch.trim_matches('_').to_owned());
    let cpus = rest
        .rsplit_once('(')
        .and_then(|(_, inside)| words(inside).first()?.parse().ok().filter(|cpus| *cpus > 0));
    Some(Banner {
        kernel: kernel.trim().to_owned(),
        host: host.trim().to_owned(),
        date: self::date(date, comma),
        cpus,
        machine,
    })
}

impl Banner {
    /// The name of the machine.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Puts what it says, but for the name.
    pub(super) fn put(&self, out: &mut Builder) {
        out.setting("kernel", &self.kernel);
        self.machine.iter().for_each(|machine| out.machine(machine));
        out.put_known(Field::CpuCount, &Subject::Machine, None, self.cpus.map(f64::from));
    }
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A date in any of the usual forms.
///
/// Assumption where day and month could be either: with `/` the month is first, as in the C and
/// `en_US` locales, unless the numbers have decimal commas, which go with `DD/MM`; with `.` and
/// `-` the day is first, as in all locales of glibc.
pub(super) fn date(text: &str, comma: bool) -> Option<Stamp> {
    let lower = text.to_lowercase();
    let month_name = lower
        .split(|c: char| !c.is_alphabetic())
        .find_map(|word| MONTHS.iter().position(|month| word.starts_with(month)));
    let parts: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).collect();
    let numbers: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let number = |at: usize| numbers.get(at).and_then(|digits| digits.parse::<u32>().ok());
    let (year, month, day) = match (month_name, numbers.as_slice()) {
        // `26 Dec 2020`, `Dec 26, 2020`.
        (Some(month), [_, _]) => (number(1)?, u32::try_from(month).ok()? + 1, number(0)?),
        (None, [year, _, _]) if year.len() == 4 => (number(0)?, number(1)?, number(2)?),
        (None, [_, _, _]) => {
            let (first, second) = (number(0)?, number(1)?);
            let month_first = first <= 12 && (second > 12 || (text.contains('/') && !comma));
            let (month, day) = if month_first { (first, second) } else { (second, first) };
            (number(2)?, month, day)
        }
        _ => return None,
    };
    let year = match year {
        ..100 => year + 2000,
        // The Buddhist calendar of the Thai locale.
        2500.. => year.saturating_sub(543),
        _ => year,
    };
    Stamp::midnight(year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_many_locales() {
        let wanted = Stamp::midnight(2026, 11, 22);
        for text in [
            "11/22/2026",
            "11/22/26",
            "2026-11-22",
            "22.11.2026",
            "22/11/2026",
            "22-11-2026",
            "Nov 22, 2026",
            "22 Nov 2026",
            "2026年11月22日",
            "2026년 11월 22일",
            "22. 11. 2026",
            "2026. 11. 22.",
            "2026/11/22",
            "Sun 22 November 2026",
            "22/11/2569",
        ] {
            assert_eq!(date(text, false), wanted, "{text}");
        }
        assert_eq!(date("04/05/2026", false), Stamp::midnight(2026, 4, 5));
        assert_eq!(date("04/05/2026", true), Stamp::midnight(2026, 5, 4));
        assert_eq!(date("04.05.26", false), Stamp::midnight(2026, 5, 4));
        for text in ["", "13/13/2026", "1/2", "1/2/3/4", "99999999999/1/1"] {
            assert_eq!(date(text, false), None, "{text}");
        }
    }

    #[test]
    fn banners() {
        let line =
            "Linux 3.10.0-693.el7.x86_64 (lenvo-nfs-server) \tDec 26, 2020 \t_x86_64_\t(4 CPU)";
        let found = parse(line, false).expect("a banner");
        assert_eq!((found.host(), found.cpus), ("lenvo-nfs-server", Some(4)));
        assert_eq!(found.date, Stamp::midnight(2020, 12, 26));
        let old = parse("Linux 2.6.9-5.ELsmp (db1) \t01/24/10", false).expect("a banner");
        assert_eq!((old.cpus, old.date), (None, Stamp::midnight(2010, 1, 24)));
        assert!(!is_banner("Linux / Storage: Memory"));
        assert!(!is_banner("Linux 2.6 kernel"));
    }
}
