//! Programs: what they are, and what decides about their huge pages.

use hugewise_base::count::counted;
use hugewise_base::parse::maps::{self, MapKind, MapName};
use hugewise_base::parse::{cgroup, pid_status, smaps, statm};
use hugewise_base::units::Bytes;
use hugewise_evidence::advice::book::Book;
use hugewise_evidence::advice::effective::JAVA_OPTIONS;
use hugewise_evidence::advice::facts::{Machine, Process};
use hugewise_evidence::advice::rule::SwitchKind;
use hugewise_evidence::advice::setting::{Mode, Setting};
use hugewise_linux::address_space::SpaceFile;
use hugewise_linux::machine::geometry;
use hugewise_linux::root::Root;
use hugewise_linux::{process, space_text};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;

/// Processes above this, the largest first, are looked at no closer.
const PROCESSES_MAX: usize = 4000;
/// Most processes that are asked for their huge pages.
const ASKED_MAX: usize = 500;
/// Most bytes of a command line: more are never needed to recognise a product.
const ARGUMENTS_BYTES_MAX: usize = 64 << 10;
/// Most mapped files of a process.
const LIBRARIES_MAX: usize = 2000;
/// Least memory of a process whose mappings are asked for what is eligible.
const LEAST_RSS: Bytes = Bytes::mib(8);

/// All processes with a program.
pub(super) fn processes(
    root: &Root,
    book: &Book,
    machine: &Machine,
    pids: &[u32],
    missing: &mut Vec<String>,
) -> Vec<Process> {
    let all = match pids {
        [] => process::pids(root).unwrap_or_default(),
        some => some.to_vec(),
    };
    let base = geometry(root);
    let mut hidden = 0;
    let mut found: Vec<Process> = all
        .into_iter()
        .filter_map(|pid| {
            let text = root.read_line(format!("proc/{pid}/statm")).ok()?;
            let rss = base.bytes(statm::parse(&text).ok()?.resident);
            let exe = fs::read_link(root.path(format!("proc/{pid}/exe")));
            if exe.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
                hidden += 1;
            }
            let exe = exe.ok()?.to_string_lossy().into_owned();
            let exe = exe.strip_suffix(" (deleted)").unwrap_or(&exe).to_owned();
            Some(Process { pid, exe, rss: Some(rss), ..Process::default() })
        })
        .collect();
    if hidden > 0 {
        let who = counted(hidden, "process", "processes");
        missing.push(format!("programs of {who}: not readable; root may"));
    }
    if found.len() > PROCESSES_MAX {
        let rest = counted((found.len() - PROCESSES_MAX) as u64, "process", "processes");
        missing.push(format!("{rest}, the smallest ones: not examined"));
        found.sort_by_key(|process| std::cmp::Reverse(process.rss));
        found.truncate(PROCESSES_MAX);
        found.sort_by_key(|process| process.pid);
    }
    let names = variables(book);
    let mut silent = 0;
    for process in &mut found {
        fill(root, process, &names, machine, &mut silent);
    }
    if silent > 0 {
        let who = counted(silent, "process", "processes");
        missing.push(format!(
            "arguments and environment of {who}: not readable, so that switches there are unknown"
        ));
    }
    found
}

/// A process that has huge pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Keeps {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Anonymous memory that is huge.
    pub huge: Bytes,
}

/// Processes that have huge pages, those with most first. A change of the global mode takes none
/// from them. Of many only the largest are asked.
pub fn keep_huge(root: &Root) -> Vec<Keeps> {
    let base = geometry(root);
    let rss_of = |pid: u32| {
        let text = root.read_line(format!("proc/{pid}/statm")).ok()?;
        Some((base.bytes(statm::parse(&text).ok()?.resident), pid))
    };
    let pids = process::pids(root).unwrap_or_default().into_iter();
    let mut all: Vec<(Bytes, u32)> =
        pids.filter_map(rss_of).filter(|(rss, _)| *rss >= base.huge).collect();
    all.sort_by_key(|one| std::cmp::Reverse(*one));
    all.truncate(ASKED_MAX);
    let files: Vec<_> = all.iter().map(|(_, pid)| (*pid, SpaceFile::SmapsRollup)).collect();
    let mut found = Vec::new();
    for ((_, pid), text) in all.into_iter().zip(space_text::read_all(root, &files)) {
        let sums = text.map(|text| smaps::parse(&text).value).unwrap_or_default();
        let huge = sums.first().and_then(|sum| sum.anon_huge_pages_bytes).map(Bytes);
        if let Some(huge) = huge.filter(|huge| huge.0 > 0) {
            let name = root.read_line(format!("proc/{pid}/comm")).unwrap_or_default();
            found.push(Keeps { pid, name, huge });
        }
    }
    found.sort_by_key(|one| std::cmp::Reverse(one.huge));
    found
}

/// Names of the variables that rules and switches name.
fn variables(book: &Book) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = JAVA_OPTIONS.iter().map(|name| (*name).to_owned()).collect();
    for product in book.products() {
        for switch in &product.switches {
            if switch.kind == SwitchKind::Environment
                && let Some((name, _)) = switch.text.split_once('=')
            {
                names.insert(name.to_owned());
            }
        }
        for rule in &product.rules {
            if let Setting::Environment(name) = &rule.setting {
                names.insert(name.clone());
            }
        }
    }
    names
}

fn fill(
    root: &Root,
    process: &mut Process,
    names: &BTreeSet<String>,
    machine: &Machine,
    silent: &mut u64,
) {
    let pid = process.pid;
    let status = root.read(format!("proc/{pid}/status")).unwrap_or_default();
    let status = pid_status::parse(&status).value;
    process.name = status.name.unwrap_or_default();
    process.thp_disabled = status.thp_enabled.map(|enabled| !enabled);
    let cgroups = root.read(format!("proc/{pid}/cgroup")).unwrap_or_default();
    process.unit = cgroup::parse(&cgroups).value.service().map(str::to_owned);
    let files = [
        (pid, SpaceFile::CommandLine),
        (pid, SpaceFile::Environment),
        (pid, SpaceFile::Maps),
        (pid, SpaceFile::SmapsRollup),
    ];
    let mut texts = space_text::read_all(root, &files).into_iter();
    let mut next = || texts.next().and_then(Result::ok);
    let (arguments, environment, maps, rollup) = (next(), next(), next(), next());
    *silent += u64::from(environment.is_none());
    process.arguments = arguments.map(|text| words(&text)).unwrap_or_default();
    process.environment = environment.map(|text| {
        let words = words(&text).into_iter();
        let pairs = words.filter_map(|word| {
            let (name, value) = word.split_once('=')?;
            names.contains(name).then(|| (name.to_owned(), value.to_owned()))
        });
        pairs.collect::<BTreeMap<_, _>>()
    });
    process.libraries = maps.map(|text| libraries(&text)).unwrap_or_default();
    let rollup = rollup.map(|text| smaps::parse(&text).value).unwrap_or_default();
    process.huge = rollup.first().and_then(|sum| sum.anon_huge_pages_bytes).map(Bytes);
    let may_differ = machine.global() == Some(Mode::Always) && machine.except_advised == Some(true);
    if may_differ && process.rss.is_some_and(|rss| rss >= LEAST_RSS) {
        let text = space_text::read(root, pid, SpaceFile::Smaps).ok();
        let huge = geometry(root).huge;
        process.unadvised_eligible = text.and_then(|text| unadvised_eligible(&text, huge));
    }
}

/// Strings that end with a zero byte.
fn words(text: &[u8]) -> Vec<String> {
    let text = text.get(..text.len().min(ARGUMENTS_BYTES_MAX)).unwrap_or_default();
    let text = text.strip_suffix(b"\0").unwrap_or(text);
    if text.is_empty() {
        return Vec::new();
    }
    let words = text.split(|byte| *byte == 0);
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Files that are mapped for their code, each once.
fn libraries(text: &[u8]) -> Vec<String> {
    let mut found = BTreeSet::new();
    for entry in maps::parse(text).value {
        if let MapName::File(path) = entry.name
            && entry.perms.execute
        {
            found.insert(path.strip_suffix(" (deleted)").unwrap_or(&path).to_owned());
        }
        if found.len() >= LIBRARIES_MAX {
            break;
        }
    }
    found.into_iter().collect()
}

/// Whether private memory that nobody advised, and in which a huge page has room, can become huge.
fn unadvised_eligible(text: &[u8], huge: Bytes) -> Option<bool> {
    let mut any = None;
    for entry in smaps::parse(text).value {
        let is_plain = entry.map.name.kind() == MapKind::Anonymous && entry.map.perms.write;
        let has_room = entry.map.end - entry.map.start >= 2 * huge.0;
        let flags = entry.vm_flags.unwrap_or_default();
        let is_advised = flags.iter().any(|flag| flag == "hg" || flag == "nh");
        if let Some(eligible) = entry.thp_eligible.filter(|_| is_plain && has_room && !is_advised) {
            any = Some(any.unwrap_or(false) || eligible);
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_with_a_zero_byte() {
        assert_eq!(words(b"java\0-Xmx1g\0"), ["java", "-Xmx1g"]);
        assert_eq!((words(b""), words(b"\0").len()), (vec![], 0));
    }

    #[test]
    fn what_was_not_advised_is_eligible_or_not() {
        let entry = |eligible: u32, flags: &str| {
            format!(
                "7f0000000000-7f0010000000 rw-p 00000000 00:00 0 \nRss: 4 kB\nTHPeligible: \
                 {eligible}\nVmFlags: rd wr {flags}\n"
            )
        };
        let of = |text: &str| unadvised_eligible(text.as_bytes(), Bytes::mib(2));
        assert_eq!(of(&entry(0, "")), Some(false));
        assert_eq!(of(&(entry(0, "") + &entry(1, ""))), Some(true));
        assert_eq!(of(&entry(1, "hg")), None, "advised");
    }
}
