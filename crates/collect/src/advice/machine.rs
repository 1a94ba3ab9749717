//! The machine: kernel, distribution, settings.

use hugewise_base::parse::{kernel_release, meminfo, thp_choice};
use hugewise_base::units::Bytes;
use hugewise_evidence::advice::book::Book;
use hugewise_evidence::advice::facts::Machine;
use hugewise_evidence::advice::setting::{ABSENT, Setting};
use hugewise_evidence::advice::version::Version;
use hugewise_linux::instance::{Role, held_by};
use hugewise_linux::machine::{geometry, kernel_release, nodes_with_memory, thp_files};
use hugewise_linux::root::Root;
use hugewise_linux::systemd;
use std::collections::{BTreeMap, BTreeSet};

/// Most characters of a file that a rule asks for.
const FILE_CHARS_MAX: usize = 64 << 10;

/// Everything that rules ask of a machine.
pub(super) fn machine(root: &Root, book: &Book) -> Machine {
    let release =
        root.read_text("etc/os-release").or_else(|_| root.read_text("usr/lib/os-release"));
    let release = release.unwrap_or_default();
    let memory = root.read_text("proc/meminfo").unwrap_or_default();
    let cpus = root.read_text("proc/cpuinfo").unwrap_or_default();
    let kernel = kernel_release(root);
    // Of huge pages of the PMD's size: a file of their own may decide (Linux 6.8).
    let (mode, global_file) = thp_files(root, geometry(root)).effective().unzip();
    let mut settings = settings(root, book);
    settings.extend(mode.map(|mode| (Setting::Thp, mode.name().to_owned())));
    let numbers = kernel.as_deref().and_then(|text| kernel_release::parse(text).ok());
    let names = [os_release(&release, "ID"), os_release(&release, "ID_LIKE")];
    Machine {
        arch: arch(root),
        os: names.iter().flatten().flat_map(|text| text.split(' ').map(str::to_owned)).collect(),
        os_version: os_release(&release, "VERSION_ID").and_then(|text| Version::of(&text)),
        page: Some(geometry(root).base),
        nodes: nodes_with_memory(root).map(|nodes| nodes.len() as u64),
        is_virtual: is_virtual(&cpus),
        memory: meminfo::parse(&memory).value.mem_total_bytes.map(Bytes),
        cpu: value_in(&cpus, "model name").or_else(|| value_in(&cpus, "CPU part")),
        systemd: systemd::version(root),
        except_advised: numbers.map(|numbers| numbers.at_least(6, 18)),
        managed: root.is_live() && held_by(Role::Manager).is_some(),
        global_file,
        settings,
        files: files(root, book),
        kernel,
    }
}

fn arch(root: &Root) -> Option<String> {
    // Linux 6.1.
    let said = root.read_line("proc/sys/kernel/arch").ok();
    said.or_else(|| root.is_live().then(|| std::env::consts::ARCH.to_owned()))
}

/// A value of os-release(5), without its quotes.
fn os_release(text: &str, key: &str) -> Option<String> {
    let mut lines = text.lines().filter_map(|line| line.split_once('='));
    let (_, value) = lines.find(|(name, _)| name.trim() == key)?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The first value of that name in `/proc/cpuinfo`.
fn value_in(text: &str, key: &str) -> Option<String> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned())
}

/// x86 says it in a flag; other architectures do not say.
fn is_virtual(cpus: &str) -> Option<bool> {
    let flags = value_in(cpus, "flags")?;
    Some(flags.split(' ').any(|flag| flag == "hypervisor"))
}

/// Settings that rules are about, and the main ones, but for the global mode.
fn settings(root: &Root, book: &Book) -> BTreeMap<Setting, String> {
    let mut wanted: BTreeSet<Setting> =
        book.rules().map(|(_, rule)| rule.setting.clone()).collect();
    wanted.insert(Setting::ThpFile("defrag".into()));
    let parameters = root.read_line("proc/cmdline").ok();
    let mut all = BTreeMap::new();
    for setting in wanted {
        let value = match &setting {
            Setting::Boot(name) => parameters.as_deref().map(|text| parameter(text, name)),
            Setting::HugeTlb => pool(root),
            Setting::Thp => None,
            other => other.file().and_then(|file| value(root, &file)),
        };
        all.extend(value.map(|value| (setting, value)));
    }
    all
}

/// The value in force, of what a file says.
fn value(root: &Root, file: &str) -> Option<String> {
    let text = root.read_line(file).ok()?;
    Some(thp_choice::parse(&text).map_or(text, |choice| choice.selected))
}

fn parameter(text: &str, name: &str) -> String {
    let mut pairs = text.split_whitespace().filter_map(|word| word.split_once('='));
    let found = pairs.rfind(|(key, _)| *key == name).map(|(_, value)| value);
    found.unwrap_or(ABSENT).to_owned()
}

fn pool(root: &Root) -> Option<String> {
    const POOLS: &str = "sys/kernel/mm/hugepages";
    let mut any = false;
    for name in root.names(POOLS, true) {
        any |= root.read_line(format!("{POOLS}/{name}/nr_hugepages")).is_ok_and(|text| text != "0");
    }
    root.has(POOLS).then(|| if any { "configured" } else { "none" }.to_owned())
}

/// Files that conditions of rules ask for.
fn files(root: &Root, book: &Book) -> BTreeMap<String, String> {
    let asked = book.rules().filter_map(|(_, rule)| rule.when.file.as_ref());
    let mut found = BTreeMap::new();
    for path in asked.map(|file| file.path.as_str()).collect::<BTreeSet<_>>() {
        if let Ok(text) = root.read_text(path) {
            found.insert(path.to_owned(), text.chars().take(FILE_CHARS_MAX).collect());
        }
    }
    found
}
