//! Tables of the page of the configuration: meanings from the source, defaults from the program.

use super::{Made, head};
use hugewise_manager::access::Tracker;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where keys are defined.
const SOURCES: [&str; 3] = [
    include_str!("../../../manager/src/config.rs"),
    include_str!("../../../manager/src/config/promote.rs"),
    include_str!("../../../manager/src/hints.rs"),
];

/// One field of a structure, or one value of an enumeration.
#[derive(Clone)]
struct Item<'a> {
    name: String,
    kind: &'a str,
    about: String,
}

/// A structure or an enumeration.
#[derive(Default)]
struct Block<'a> {
    items: Vec<Item<'a>>,
}

fn key(name: &str) -> String {
    let mut key = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !key.is_empty() {
            key.push('_');
        }
        key.extend(letter.to_lowercase());
    }
    key
}

/// Public structures and enumerations of the source, with what is said about each part.
fn blocks() -> BTreeMap<&'static str, Block<'static>> {
    let (mut blocks, mut open) = (BTreeMap::<_, Block<'_>>::new(), None);
    let mut about = Vec::new();
    let code =
        |source: &'static str| source.lines().take_while(|line| !line.contains("#[cfg(test)]"));
    for line in SOURCES.into_iter().flat_map(code) {
        let text = line.trim();
        if let Some(said) = text.strip_prefix("///") {
            about.push(said.trim());
            continue;
        }
        let head = text.strip_prefix("pub struct ").or_else(|| text.strip_prefix("pub enum "));
        let said = || link(&about.join(" "));
        if let Some(name) = head.and_then(|head| head.strip_suffix(" {")) {
            blocks.insert(name, Block::default());
            open = Some(name);
        } else if text == "}" {
            open = None;
        } else if let Some(block) = open.and_then(|name| blocks.get_mut(name))
            && let Some(item) = text.strip_suffix(',').filter(|item| !item.starts_with('#'))
        {
            let (name, kind) = item.split_once(": ").unwrap_or((item, ""));
            let name = key(name.trim_start_matches("pub "));
            block.items.push(Item { name, kind, about: said() });
        }
        if !text.starts_with('#') {
            about.clear();
        }
    }
    blocks
}

/// Citations of measurements as links.
fn link(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("`docs/") {
        let (target, after) = after.split_once('`').expect("a citation ends");
        let words = target.rsplit(['#', '/']).next().unwrap_or(target).replace('-', " ");
        let _ = write!(out, "{before}[{words}](../{target})");
        rest = after;
    }
    out + rest
}

fn table(items: &[Item<'_>], prefix: &str, defaults: &BTreeMap<&str, &str>) -> String {
    let all = blocks();
    let mut out = head("key | default | meaning");
    for item in items {
        let name = format!("{prefix}{}", item.name);
        let default =
            defaults.get(name.as_str()).map_or(String::new(), |value| format!("`{value}`"));
        let values = all.get(item.kind).map_or(&[][..], |values| &values.items);
        let values = values.iter().map(|value| format!("`{}`: {}", value.name, value.about));
        let values: Vec<_> = values.collect();
        let about = [item.about.clone(), values.join(" ")].join(" ");
        let _ = writeln!(out, "| `{name}` | {default} | {} |", about.trim().replace('|', "\\|"));
    }
    out
}

/// The tables of the page; `shown` is what `hugewise manage config show` prints.
pub(crate) fn tables(shown: &str) -> Vec<Made> {
    let values = shown.lines().filter_map(|line| line.split('#').next()?.split_once(" = "));
    let defaults: BTreeMap<_, _> = values.map(|(key, value)| (key.trim(), value.trim())).collect();
    let blocks = blocks();
    let is_table = |item: &Item<'_>| {
        blocks.get(item.kind).is_some_and(|block| block.items.iter().any(|i| !i.kind.is_empty()))
    };
    let (sections, plain): (Vec<_>, Vec<_>) =
        blocks["Config"].items.iter().cloned().partition(is_table);
    let plain = plain.into_iter().filter(|item| !item.kind.starts_with("Vec<"));
    let mut made = vec![("keys".to_owned(), table(&plain.collect::<Vec<_>>(), "", &defaults))];
    for item in sections {
        let prefix = format!("{}.", item.name);
        let text = table(&blocks[item.kind].items, &prefix, &defaults);
        made.push((item.name, text));
    }
    for (name, kind) in [("rule", "Rule"), ("hint", "Hint")] {
        made.push((name.to_owned(), table(&blocks[kind].items, "", &BTreeMap::new())));
    }
    let mut trackers = head("tracker | what it does | what it needs");
    for tracker in Tracker::ALL {
        let (about, needs) = tracker.text();
        let _ = writeln!(trackers, "| `{tracker}` | {about} | {needs} |");
    }
    made.push(("trackers".to_owned(), trackers));
    made
}
