//! What a command line is about to print, where a bare word or number means nothing without it:
//! files of one value, the number of CPUs, the time.

use std::collections::VecDeque;

use super::cgroup_file::{Shape, shape};

/// Most things that one command line prints.
const ITEMS_MAX: usize = 64;

/// Longest line that is a bare value or a time.
const LINE_BYTES_MAX: usize = 200;

/// CPUs of the largest machines (`CONFIG_NR_CPUS`).
const CPUS_MAX: u64 = 8192;

/// Folders whose files are settings: one line with a value.
const SETTINGS: [&str; 5] =
    ["/sys/kernel/mm/", "/proc/sys/", "/sys/block/", "/sys/devices/system/", "/sys/class/net/"];

/// Folder of the files about pressure.
pub(super) const PRESSURE: &str = "/proc/pressure/";

/// Whether a file is about pressure, of the machine or of a cgroup.
pub(super) fn is_pressure(path: &str) -> bool {
    path.starts_with(PRESSURE) || shape(path) == Some(Shape::Pressure)
}

/// Whether a file is a setting, by its path.
pub(super) fn is_setting(path: &str) -> bool {
    SETTINGS.iter().any(|folder| path.strip_prefix(folder).is_some_and(|rest| !rest.is_empty()))
}

/// Whether a line can be all of a setting: one word or number, or a choice with brackets.
pub(super) fn is_value(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let choice = words.iter().filter(|word| word.starts_with('[') && word.ends_with(']')).count();
    let numbers = words.iter().all(|word| digits(word.trim_start_matches('-')));
    let dots = text.chars().all(|c| c == '.' || c == '\u{2026}');
    let one = words.len() == 1 && !text.ends_with(':') && !dots;
    text.len() <= LINE_BYTES_MAX && !words.is_empty() && (choice == 1 || numbers || one)
}

/// What a line is, by the command before it.
#[derive(Clone, Debug, PartialEq)]
pub enum Met {
    /// A line of this file.
    File(String),
    /// The number of CPUs.
    Cpus(u64),
    /// The time of day, in seconds.
    Clock(f64),
    /// The kernel's release.
    Kernel,
    /// The size of a base page, in bytes.
    BasePage(u64),
    /// The architecture.
    Machine,
    /// The open files of this process.
    OpenFiles(u32, u64),
    /// How many connections are in this state.
    Connections(String, u64),
    /// The resident memory of all processes together, in bytes.
    Resident(f64),
    /// Nothing that matters here.
    Other,
}

/// One thing that is printed.
#[derive(Clone, Debug, PartialEq)]
enum Item {
    /// The file of this path; whether its first line was seen.
    File(String, bool),
    Cpus,
    Clock,
    /// `uname -r`.
    Kernel,
    /// `uname -m`.
    Machine,
    /// `getconf PAGESIZE`.
    BasePage,
    /// How many files this process has open.
    OpenFiles(u32),
    /// How many connections are in this state.
    Connections(String),
    /// The resident memory of all processes, in this many bytes.
    Resident(f64),
    /// One line of any kind.
    Line,
    /// One bare number.
    Number,
    /// Anything: a listing that has its own reader.
    Listing,
}

/// What the latest command line has yet to print.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    left: VecDeque<Item>,
    /// All of it again, for a loop.
    again: Vec<Item>,
}

impl Expected {
    pub(super) fn new(command: &str) -> Self {
        let all: Vec<Item> = steps(command).iter().flat_map(|step| items(step)).collect();
        let all: Vec<Item> = all.into_iter().take(ITEMS_MAX).collect();
        let loops = ["for ", "while ", "watch ", "until "];
        let loops = loops.iter().any(|word| command.contains(word));
        Self { left: all.iter().cloned().collect(), again: if loops { all } else { Vec::new() } }
    }

    /// An empty line ends what is only clear right below the command.
    pub(super) fn blank(&mut self) {
        let bare = |item: &Item| match item {
            Item::File(path, _) => !is_pressure(path),
            Item::Line
            | Item::Number
            | Item::Kernel
            | Item::Machine
            | Item::BasePage
            | Item::OpenFiles(_)
            | Item::Connections(_)
            | Item::Resident(_) => true,
            _ => false,
        };
        self.left.retain(|item| !bare(item));
    }

    /// Whether a line is of it.
    pub(super) fn is_of(&self, line: &str) -> bool {
        self.is_any() && self.clone().met(line).is_some()
    }

    /// Whether anything is expected.
    pub(super) fn is_any(&self) -> bool {
        !(self.left.is_empty() && self.again.is_empty())
    }

    /// What a line is. What stood before it is not expected any more.
    pub(super) fn met(&mut self, line: &str) -> Option<Met> {
        let line = line.trim();
        if line.is_empty() || line.len() > LINE_BYTES_MAX {
            return None;
        }
        if self.left.is_empty() {
            self.left.extend(self.again.iter().cloned());
        }
        // Behind a listing only what is unmistakable counts.
        let mut sure = true;
        for at in 0..self.left.len() {
            if let Some((met, done)) = self.left.get_mut(at).and_then(|item| item.met(line, sure)) {
                self.left.drain(..at + usize::from(done));
                return Some(met);
            }
            sure = sure && self.left.get(at).is_some_and(Item::may_be_silent);
        }
        None
    }
}

impl Item {
    /// Whether what stands behind it may come without it: a file that is not there.
    const fn may_be_silent(&self) -> bool {
        matches!(self, Self::File(..))
    }

    /// What a line is if it is of this item, and whether that was all of it. `sure`: it stands
    /// right where this item is expected.
    fn met(&mut self, line: &str, sure: bool) -> Option<(Met, bool)> {
        match self {
            Self::File(path, begun) if is_pressure(path) => {
                let (some, full) = (line.starts_with("some "), line.starts_with("full "));
                let again = some && *begun;
                *begun = true;
                ((some || full) && !again).then(|| (Met::File(path.clone()), full))
            }
            Self::File(path, _) if line.contains(path.as_str()) => {
                // `cat: PATH: No such file or directory`.
                line.contains(": ").then_some((Met::Other, true))
            }
            Self::File(path, _) => {
                let choice = line.contains('[') && line.contains(']');
                let limit =
                    shape(path).is_some() && line.strip_prefix("max ").is_some_and(is_value);
                // Several numbers are no line of a listing that has names.
                let several = line.split_whitespace().count() >= NUMBERS_MIN;
                let fits = (is_value(line) || limit) && (sure || choice || several);
                fits.then(|| (Met::File(path.clone()), true))
            }
            Self::Cpus => {
                let count = line.parse::<u64>().ok().filter(|n| (1..=CPUS_MAX).contains(n))?;
                Some((Met::Cpus(count), true))
            }
            Self::Clock => clock_s(line).map(|seconds| (Met::Clock(seconds), true)),
            Self::Kernel => {
                let release = line.starts_with(|c: char| c.is_ascii_digit()) && line.contains('.');
                (sure && release && !line.contains(' ')).then_some((Met::Kernel, true))
            }
            Self::Machine => (sure && !line.contains(' ')).then_some((Met::Machine, true)),
            Self::BasePage => {
                let bytes = line.parse::<u64>().ok().filter(|_| sure)?;
                Some((Met::BasePage(bytes), true))
            }
            Self::OpenFiles(pid) => {
                let files = line.parse::<u64>().ok()?;
                Some((Met::OpenFiles(*pid, files), true))
            }
            Self::Connections(state) => {
                let count = line.parse::<u64>().ok()?;
                Some((Met::Connections(state.clone(), count), true))
            }
            Self::Resident(unit_bytes) => {
                let number = line.split_whitespace().next()?.parse::<f64>().ok();
                let number = number.filter(|number| number.is_finite() && *number >= 0.0)?;
                Some((Met::Resident(number * *unit_bytes), true))
            }
            Self::Number => line.parse::<u64>().ok().map(|_| (Met::Other, true)),
            Self::Line => sure.then_some((Met::Other, true)),
            Self::Listing => None,
        }
    }
}

/// This number of values and nothing else are a file of the kernel: `dentry-state`, `file-nr`.
const NUMBERS_MIN: usize = 3;

/// The time of day in the output of `date`: `Do 11. Apr 23:41:02 CEST 2024`, `03:02:11`,
/// `2024-04-11T23:41:02+02:00`, `Thu 11 Apr 2024 11:41:02 PM CEST`.
fn clock_s(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split([' ', 'T']).filter(|word| !word.is_empty()).collect();
    if words.len() > 8 {
        return None;
    }
    let afternoon = words.iter().any(|word| word.eq_ignore_ascii_case("pm"));
    let morning = words.iter().any(|word| word.eq_ignore_ascii_case("am"));
    let time = |word: &&str| {
        let mut parts = word.get(..8)?.split(':').filter(|part| part.len() == 2);
        let mut part = || parts.next()?.parse::<u32>().ok();
        let (h, m, s) = (part()?, part()?, part()?);
        let hour = if afternoon || morning { h % 12 + if afternoon { 12 } else { 0 } } else { h };
        (h < 24 && m < 60 && s < 61).then(|| f64::from(hour * 3600 + m * 60 + s))
    };
    words.iter().find_map(time)
}

/// The commands of a line, each with its words, a pipe's last command behind the others.
fn steps(command: &str) -> Vec<Vec<Vec<String>>> {
    let mut all = vec![vec![String::new()]];
    let mut quote = None;
    let mut chars = command.chars().peekable();
    let mut before = ' ';
    let last = |all: &mut Vec<Vec<String>>, c: char| {
        if let Some(part) = all.last_mut().and_then(|pipe| pipe.last_mut()) {
            part.push(c);
        }
    };
    while let Some(c) = chars.next() {
        let before = std::mem::replace(&mut before, c);
        match (quote, c) {
            // `2>&1`, `&>FILE`.
            (None, '&') if before == '>' || chars.peek() == Some(&'>') => last(&mut all, c),
            (Some(open), _) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ';') => all.push(vec![String::new()]),
            (None, '&' | '|') if chars.next_if_eq(&c).is_some() || c == '&' => {
                all.push(vec![String::new()]);
            }
            (None, '|') => {
                if let Some(pipe) = all.last_mut() {
                    pipe.push(String::new());
                }
            }
            // What is quoted is one word.
            (Some(_), ' ' | '\t') => last(&mut all, '\u{a0}'),
            _ => last(&mut all, c),
        }
    }
    let words =
        |part: &String| part.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect();
    let pipes = all.iter().map(|pipe| pipe.iter().map(words).collect::<Vec<Vec<String>>>());
    pipes.collect()
}

/// Words that stand before a command.
const BEFORE: [&str; 10] =
    ["sudo", "do", "then", "time", "while", "until", "else", "nice", "{", "("];

/// A path, and all that braces in it stand for: `/x/{a,b}`.
fn expanded(path: &str) -> Vec<String> {
    let braces = path.split_once('{').and_then(|(before, rest)| {
        let (inner, after) = rest.split_once('}')?;
        Some((before, inner, after))
    });
    let Some((before, inner, after)) = braces else { return vec![path.to_owned()] };
    inner.split(',').take(ITEMS_MAX).map(|part| format!("{before}{part}{after}")).collect()
}

/// What a command with its pipe prints.
fn items(pipe: &[Vec<String>]) -> Vec<Item> {
    let plain = |words: &Vec<String>| -> Vec<String> {
        let setting = |word: &str| {
            word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
            })
        };
        let skip = |word: &&String| BEFORE.contains(&word.as_str()) || setting(word);
        words.iter().skip_while(skip).cloned().collect()
    };
    let (Some(first), Some(last)) = (pipe.first().map(plain), pipe.last().map(plain)) else {
        return Vec::new();
    };
    let all = || pipe.iter().flatten();
    let Some(name) = first.first().map(|name| name.rsplit('/').next().unwrap_or(name)) else {
        return Vec::new();
    };
    let has = |words: &[String], wanted: &str| words.iter().any(|word| word == wanted);
    let counts = last.first().is_some_and(|name| name == "wc") || counted(&last);
    let of_cpus = all().any(|word| word.ends_with("/proc/cpuinfo"))
        && all().any(|word| word.contains("processor"));
    match name {
        "nproc" => vec![Item::Cpus],
        "getconf" if all().any(|word| word.starts_with("_NPROCESSORS_")) => vec![Item::Cpus],
        _ if counts && of_cpus => vec![Item::Cpus],
        "ss" | "netstat" if counts => {
            let state = all().find_map(|word| socket_state(word));
            vec![state.map_or(Item::Number, Item::Connections)]
        }
        "conntrack" if has(&first, "-C") || has(&first, "--count") => {
            vec![Item::File("/proc/sys/net/netfilter/nf_conntrack_count".to_owned(), false)]
        }
        _ if counts => vec![
            all()
                .find_map(|word| pid_of_files(word.as_str()))
                .map_or_else(|| Item::Number, Item::OpenFiles),
        ],
        "ps" => vec![summed(&first, &last).map_or(Item::Listing, Item::Resident)],
        "date" => vec![Item::Clock],
        "uname" if has(&first, "-r") && first.len() == 2 => vec![Item::Kernel],
        "uname" if has(&first, "-m") && first.len() == 2 => vec![Item::Machine],
        "getconf" if has(&first, "PAGESIZE") || has(&first, "PAGE_SIZE") => vec![Item::BasePage],
        "uname" | "hostname" | "whoami" | "id" | "echo" | "getconf" => vec![Item::Line],
        "lsb_release" if !has(&first, "-a") => vec![Item::Line],
        "sleep" | "cd" | "export" | "set" | "true" | "for" | "done" | "fi" | "clear" => Vec::new(),
        "cat" | "head" | "tail" | "grep" | "egrep" => files(name, &first),
        _ => vec![Item::Listing],
    }
}

/// The unit, in bytes, in which awk at the end of a pipe prints the sum of what `ps` shows as
/// resident memory in KiB: the sixth column of `ps aux`, or the only one.
fn summed(ps: &[String], awk: &[String]) -> Option<f64> {
    let program: String = awk.iter().skip(1).flat_map(|word| word.split('\u{a0}')).collect();
    let column = if ps.iter().any(|word| word.contains("aux")) { "+=$6" } else { "+=$1" };
    let resident = column == "+=$6" || ps.iter().any(|word| word.contains("rss"));
    let sums = awk.first()?.ends_with("awk") && program.contains(column) && resident;
    let divisions = program.matches("/1024").take(2);
    sums.then(|| divisions.fold(1024.0, |unit_bytes, _| unit_bytes * 1024.0))
}

/// The process whose open files a folder lists: `/proc/812/fd`.
fn pid_of_files(word: &str) -> Option<u32> {
    let (pid, rest) = word.strip_prefix("/proc/")?.split_once('/')?;
    pid.parse().ok().filter(|_| rest.trim_end_matches('/') == "fd")
}

/// The state of sockets that a word of a command selects, in netstat's spelling.
fn socket_state(word: &str) -> Option<String> {
    let name = word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_uppercase();
    let name = name.replace('-', "_");
    let known = [
        "ESTABLISHED",
        "SYN_RECV",
        "SYN_SENT",
        "CLOSE_WAIT",
        "TIME_WAIT",
        "LAST_ACK",
        "FIN_WAIT2",
        "FIN_WAIT1",
    ];
    known
        .into_iter()
        .find(|state| name == *state || name == "ESTAB" && *state == "ESTABLISHED")
        .map(str::to_owned)
}

/// Whether it is `grep -c`, or `pgrep -c`.
fn counted(words: &[String]) -> bool {
    let mut words = words.iter();
    let counts = |word: &String| {
        word.starts_with('-') && !word.starts_with("--") && word.contains('c') || word == "--count"
    };
    words.next().is_some_and(|name| name.ends_with("grep")) && words.any(counts)
}

/// The files that a command shows.
fn files(name: &str, words: &[String]) -> Vec<Item> {
    let file = |word: &&String| word.starts_with('/') || shape(word).is_some();
    let named = words.iter().skip(1).filter(file);
    let paths: Vec<String> = named.flat_map(|word| expanded(word)).collect();
    // `grep` and `head` say which file it is, of several.
    let says = name != "cat" && paths.len() > 1;
    if says || paths.is_empty() {
        return vec![Item::Listing];
    }
    let one = |path: String| match path {
        path if path.contains('*') => Item::Listing,
        path if is_setting(&path) || is_pressure(&path) => Item::File(path, false),
        path if shape(&path) == Some(Shape::Value) => Item::File(path, false),
        path if path.starts_with("/etc/") && !path.ends_with("os-release") => Item::Line,
        _ => Item::Listing,
    };
    paths.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(command: &str, lines: &[&str]) -> Vec<Option<Met>> {
        let mut expected = Expected::new(command);
        lines.iter().map(|line| expected.met(line)).collect()
    }

    fn cpus(command: &str, lines: &[&str]) -> Option<u64> {
        let found = all(command, lines).into_iter().flatten();
        found
            .filter_map(|met| if let Met::Cpus(cpus) = met { Some(cpus) } else { None })
            .next_back()
    }

    #[test]
    fn the_number_of_cpus_among_other_output() {
        let uptime = " 00:41:08 up 102 days, 14:11,  4 users,  load average: 68.41, 61.20, 44.07";
        for (command, lines) in [
            ("nproc", &["16"][..]),
            ("nproc; uptime", &["16", uptime]),
            ("uptime; nproc", &[uptime, "16"]),
            ("cat /etc/debian_version ; nproc ; uptime", &["11.9", "16", uptime]),
            ("cat /etc/debian_version && nproc", &["13", "16"]),
            ("lsb_release -d; nproc", &["Description:\tUbuntu 22.04.4 LTS", "16"]),
            ("uname -r; grep -c ^processor /proc/cpuinfo", &["4.18.0-513.18.1.el8_9", "16"]),
            ("cat /proc/cpuinfo | grep -c processor", &["16"]),
            ("grep processor /proc/cpuinfo | wc -l", &["16"]),
            ("getconf _NPROCESSORS_ONLN", &["16"]),
            ("ls /tmp | wc -l; nproc", &["812", "16"]),
            ("cat /proc/sys/vm/nr_hugepages; nproc", &["6144", "16"]),
            ("nproc; cat /proc/sys/vm/nr_hugepages", &["16", "6144"]),
            ("for i in 1 2; do date; nproc; sleep 1; done", &["10:00:00", "16", "10:00:01", "16"]),
        ] {
            assert_eq!(cpus(command, lines), Some(16), "{command}");
        }
        for (command, lines) in [
            ("vmstat 1 3", &["16"][..]),
            ("nproc", &["16.5"]),
            ("nproc", &["0"]),
            ("wc -l /tmp/x", &["16"]),
        ] {
            assert_eq!(cpus(command, lines), None, "{command}");
        }
    }

    #[test]
    fn files_in_braces_and_those_that_are_not_there() {
        let thp = "/sys/kernel/mm/transparent_hugepage";
        let file = |name: &str| Some(Met::File(format!("{thp}/{name}")));
        let (one, other) = ("[always] madvise never", "always defer [madvise] never");
        let braces = format!("cat {thp}/{{enabled,defrag}}");
        assert_eq!(all(&braces, &[one, other]), [file("enabled"), file("defrag")]);
        let gone = format!("cat: {thp}/enabled: No such file or directory");
        assert_eq!(all(&braces, &[&gone, other]), [Some(Met::Other), file("defrag")]);
        let behind = format!("free -m; cat {thp}/enabled");
        assert_eq!(all(&behind, &["Mem: 5 6", "total", one]), [None, None, file("enabled")]);
    }

    #[test]
    fn files_of_cgroups_and_of_processes() {
        let file = |name: &str| Some(Met::File(name.to_owned()));
        let v1 = "cat memory.limit_in_bytes memory.failcnt; sleep 10; cat memory.failcnt";
        let limit = "memory.limit_in_bytes";
        let failed = file("memory.failcnt");
        assert_eq!(all(v1, &["4294967296", "9", "12"]), [file(limit), failed.clone(), failed]);
        assert_eq!(all("cat cpu.max memory.max", &["max 100000", "max"])[0], file("cpu.max"));
        let pressure = "some avg10=71.22 avg60=68.10 avg300=61.44 total=8812044120";
        assert_eq!(all("cat memory.pressure", &[pressure]), [file("memory.pressure")]);
        assert_eq!(all("ls /proc/2210/fd | wc -l", &["1024"]), [Some(Met::OpenFiles(2210, 1024))]);
        assert_eq!(all("uname -r", &["3.10.0-1127.el7.x86_64"]), [Some(Met::Kernel)]);
        assert_eq!(all("uname -m", &["aarch64"]), [Some(Met::Machine)]);
        assert_eq!(all("getconf PAGESIZE", &["65536"]), [Some(Met::BasePage(65_536))]);
    }

    #[test]
    fn connections_that_are_counted() {
        let met = |state: &str| [Some(Met::Connections(state.to_owned(), 412))];
        for (command, state) in [
            ("ss -Htan state close-wait | wc -l", "CLOSE_WAIT"),
            ("netstat -ant | grep SYN_RECV | wc -l", "SYN_RECV"),
            ("netstat -an | grep -c TIME_WAIT", "TIME_WAIT"),
            ("ss -tan | grep ESTAB | wc -l", "ESTABLISHED"),
        ] {
            assert_eq!(all(command, &["412"]), met(state), "{command}");
        }
        assert_eq!(all("ss -tan | wc -l", &["412"]), [Some(Met::Other)]);
    }

    #[test]
    fn the_time_as_date_has_it() {
        for (line, seconds) in [
            ("Do 11. Apr 23:41:02 CEST 2024", Some(85262.0)),
            ("Thu Apr 11 11:41:02 PM CEST 2024", Some(85262.0)),
            ("2024-04-11T23:41:02+02:00", Some(85262.0)),
            ("2024-04-11 23:41:02.123456789", Some(85262.0)),
            ("12:00:01 AM", Some(1.0)),
            ("03:02:11", Some(10931.0)),
            ("03:02", None),
            ("99:02:11", None),
        ] {
            assert_eq!(clock_s(line), seconds, "{line}");
        }
    }
}
