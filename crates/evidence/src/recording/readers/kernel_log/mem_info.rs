//! What the kernel writes about its memory below a kill, a failed allocation or `sysrq m`
//! (`show_mem` of `mm/show_mem.c`, `dump_tasks` of `mm/oom_kill.c`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::known::ROWS;
use crate::recording::base_page::SizeSource;
use crate::recording::readers::prelude::*;
use crate::table::section;
use hugewise_base::units::{Bytes, saturating_u64};

/// Keys by the section of the table, with their fields.
fn keys(name: &str) -> Vec<(&'static str, Field)> {
    let rows = ROWS.iter().filter(|row| row.section == name);
    let read = rows.map(|row| {
        let [key, field] = row.fields();
        (key, row.one_of(Field::ALL, |field| field.about().key, field))
    });
    read.collect()
}

/// Of a zone, in KiB.
static OF_ZONE: LazyLock<Vec<(&str, Field)>> = LazyLock::new(|| keys("zone"));
/// Of the machine, in base pages: `key:pages`, and `N pages WORDS`.
static OF_MACHINE: LazyLock<Vec<(&str, Field)>> = LazyLock::new(|| keys("memory"));
/// The names of zones (`zone_names` of `mm/show_mem.c`).
static ZONES: LazyLock<Vec<[&str; 1]>> = LazyLock::new(|| section(&ROWS, "zones"));

/// Tasks of which the size is put down: the largest.
const TASKS_MAX: usize = 8;

#[derive(Clone, Debug)]
struct Task {
    pid: u32,
    name: String,
    total_vm: u64,
    rss: u64,
}

/// A row of the table of tasks, whatever columns stand before the name:
/// `[ 9120]  1001  9120  1251200   262600   640  0  985 C2 CompilerThre`.
fn task(text: &str) -> Option<Task> {
    let (pid, rest) = text.strip_prefix('[')?.split_once(']')?;
    let words = words(rest);
    let numbers = words.iter().take_while(|word| word.parse::<i64>().is_ok()).count();
    let column = |at: usize| words.get(at).and_then(|word| count(word));
    let name = words.get(numbers..).filter(|name| numbers >= 6 && !name.is_empty())?.join(" ");
    let pid = u32::try_from(count(pid.trim())?).ok()?;
    Some(Task { pid, name, total_vm: column(2)?, rss: column(3)? })
}

/// One report. Amounts in base pages wait until something says how large these are.
#[derive(Debug, Default)]
pub(super) struct MemInfo {
    page_bytes: Option<f64>,
    pages: BTreeMap<Field, f64>,
    tasks: Vec<Task>,
    /// Rows by which a victim's size in pages is known.
    seen: BTreeMap<u32, u64>,
}

/// Rows that are kept for that.
const ROWS_MAX: usize = 65_536;

impl MemInfo {
    /// Takes a message; `false` where it says nothing about memory.
    pub(super) fn take(&mut self, text: &str, out: &mut Builder) -> bool {
        if let Some(task) = task(text) {
            self.row(task);
            return true;
        }
        text == "Mem-Info:"
            || self.zone(text, out)
            || Self::pool(text, out)
            || Self::swap(text, out)
            || self.of_machine(text)
    }

    fn row(&mut self, task: Task) {
        if self.seen.len() < ROWS_MAX {
            self.seen.insert(task.pid, task.total_vm);
        }
        let at = self.tasks.partition_point(|other| other.rss >= task.rss);
        if at < TASKS_MAX {
            self.tasks.insert(at, task);
            self.tasks.truncate(TASKS_MAX);
        }
    }

    /// `Node 0 Normal free:61220kB min:67584kB ...`, or without the node where there is one only;
    /// `Node 0 DMA: 1*4kB (U) ...` tells the size of a page.
    fn zone(&mut self, text: &str, out: &mut Builder) -> bool {
        let words = words(text);
        let (node, rest) = match words.as_slice() {
            ["Node", node, rest @ ..] if count(node).is_some() => (Some(*node), rest),
            rest => (None, rest),
        };
        let [zone, rest @ ..] = rest else { return false };
        if !ZONES.iter().any(|[name]| *name == zone.trim_end_matches(':')) {
            return false;
        }
        let blocks = rest.first().and_then(|word| word.split_once('*'));
        if let Some(kib) = blocks.and_then(|(_, size)| count(size.strip_suffix("kB")?)) {
            self.page_bytes = Some(kib as f64 * 1024.0);
        }
        let name = match node {
            Some(node) => format!("zone {zone} of node {node}"),
            None => format!("zone {zone}"),
        };
        let subject = Subject::Named(name);
        for (key, value) in rest.iter().filter_map(|word| word.split_once(':')) {
            let field = OF_ZONE.iter().find(|(name, _)| *name == key);
            let kib = value.strip_suffix("kB").and_then(count);
            if let (Some((_, field)), Some(kib)) = (field, kib) {
                out.put(*field, &subject, None, kib as f64 * 1024.0);
            }
        }
        true
    }

    /// `Node 0 hugepages_total=512 hugepages_free=12 hugepages_surp=0 hugepages_size=2048kB`.
    fn pool(text: &str, out: &mut Builder) -> bool {
        let words = words(text);
        let of = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
        let size = of("hugepages_size=").and_then(|size| count(size.strip_suffix("kB")?));
        let (Some(kib), Some(all)) = (size, of("hugepages_total=").and_then(count)) else {
            return false;
        };
        let node = words.get(1).filter(|_| words[0] == "Node").map_or("0", |node| node);
        let subject = Subject::Named(format!("node {node}, pages of {kib} KiB"));
        let bytes = |pages: u64| pages as f64 * kib as f64 * 1024.0;
        out.put(Field::LogHugetlb, &subject, None, bytes(all));
        let free = of("hugepages_free=").and_then(count).map(bytes);
        out.put_known(Field::LogHugetlbFree, &subject, None, free);
        true
    }

    /// `Free swap  = 0kB`, `Total swap = 4194300kB`.
    fn swap(text: &str, out: &mut Builder) -> bool {
        let (field, size) = match words(text).as_slice() {
            ["Free", "swap", "=", size] => (Field::LogSwapFree, *size),
            ["Total", "swap", "=", size] => (Field::LogSwapTotal, *size),
            _ => return false,
        };
        let kib = size.strip_suffix("kB").and_then(count);
        out.put_known(field, &Subject::Machine, None, kib.map(|kib| kib as f64 * 1024.0));
        true
    }

    /// `active_anon:1658 inactive_anon:60839 isolated_anon:0`, `8386560 pages RAM`.
    fn of_machine(&mut self, text: &str) -> bool {
        let mut found = false;
        let mut add = |key: &str, pages: u64| {
            if let Some((_, field)) = OF_MACHINE.iter().find(|(name, _)| *name == key) {
                *self.pages.entry(*field).or_default() += pages as f64;
                found = true;
            }
        };
        if let Some((pages, of)) = text.split_once(" pages ") {
            count(pages).into_iter().for_each(|pages| add(of.trim(), pages));
        } else if text.split_whitespace().all(|word| word.contains(':')) {
            for (key, value) in words(text).iter().filter_map(|word| word.split_once(':')) {
                count(value).into_iter().for_each(|pages| add(key, pages));
            }
        }
        found
    }

    /// No more of this report follows: puts down what is known in pages, and the largest tasks.
    /// `sizes`: processes of which the addresses are known in KiB.
    pub(super) fn end(&mut self, sizes: &[(u32, f64)], out: &mut Builder) {
        let report = std::mem::take(self);
        let by_victim = sizes.iter().find_map(|(pid, kib)| {
            let kib = kib / *report.seen.get(pid)? as f64;
            // 4 KiB on x86, up to 64 KiB on Arm and POWER.
            [4.0, 16.0, 64.0].into_iter().find(|size| kib.total_cmp(size).is_eq())
        });
        let page = report.page_bytes.or(by_victim.map(|kib| kib * 1024.0));
        let Some(page) = page else { return };
        out.base_page(SizeSource::Stated, Bytes(saturating_u64(page)));
        for (field, pages) in report.pages {
            out.put(field, &Subject::Machine, None, pages * page);
        }
        for task in report.tasks {
            let process = Subject::process(Some(task.pid), &task.name);
            out.put(Field::LogTaskRss, &process, None, task.rss as f64 * page);
        }
    }
}
