//! The page of the configuration: meanings from the source, defaults from the program.

use hugewise_manager::access::Tracker;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where keys are defined.
const SOURCES: [&str; 2] =
    [include_str!("../../../manager/src/config.rs"), include_str!("../../../manager/src/hints.rs")];

/// One field of a structure, or one value of an enumeration.
struct Item<'a> {
    name: String,
    kind: &'a str,
    about: String,
}

/// A structure or an enumeration.
#[derive(Default)]
struct Block<'a> {
    about: String,
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
            blocks.insert(name, Block { about: said(), items: Vec::new() });
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

fn table(out: &mut String, block: &Block<'_>, prefix: &str, defaults: &BTreeMap<&str, &str>) {
    let all = blocks();
    out.push_str("\n| key | default | meaning |\n|---|---|---|\n");
    for item in &block.items {
        let name = format!("{prefix}{}", item.name);
        let default =
            defaults.get(name.as_str()).map_or(String::new(), |value| format!("`{value}`"));
        let values = all.get(item.kind).map_or(&[][..], |values| &values.items);
        let values = values.iter().map(|value| format!("`{}`: {}", value.name, value.about));
        let values: Vec<_> = values.collect();
        let about = [item.about.clone(), values.join(" ")].join(" ");
        let _ = writeln!(out, "| `{name}` | {default} | {} |", about.trim().replace('|', "\\|"));
    }
}

/// The page; `shown` is what `hugewise manage config show` prints.
pub(crate) fn page(shown: &str) -> String {
    let values = shown.lines().filter_map(|line| line.split('#').next()?.split_once(" = "));
    let defaults: BTreeMap<_, _> = values.map(|(key, value)| (key.trim(), value.trim())).collect();
    let blocks = blocks();
    let mut page = String::from(
        "# Configuration\n\nMade from the program; do not edit. `/etc/hugewise/hugewise.toml`, \
         then `/etc/hugewise/hugewise.d/*.toml`\nin the order of their names, then `--set \
         KEY=VALUE`. Units stand at the end of a key's name. `hugewise manage config show`\nprints \
         what is in force and where it comes from; `hugewise manage config check` finds mistakes.\n",
    );
    let root = &blocks["Config"];
    let (tables, plain): (Vec<_>, Vec<_>) = root.items.iter().partition(|item| {
        blocks.get(item.kind).is_some_and(|block| block.items.iter().any(|i| !i.kind.is_empty()))
    });
    let plain = plain.into_iter().filter(|item| !item.kind.starts_with("Vec<"));
    let plain = plain.map(|item| Item {
        name: item.name.clone(),
        kind: item.kind,
        about: item.about.clone(),
    });
    table(&mut page, &Block { items: plain.collect(), ..Block::default() }, "", &defaults);
    for item in tables {
        let block = &blocks[item.kind];
        let _ = write!(page, "\n## {}\n\n{}\n", item.name, block.about);
        table(&mut page, block, &format!("{}.", item.name), &defaults);
    }
    let rule = &blocks["Rule"];
    let _ = write!(
        page,
        "\n## Rules\n\n{} The first rule that fits decides; `select.default` decides for the \
         rest.\n\n```toml\n[[rule]]\naction = \"exclude\"\nexe = \"/usr/lib/jvm/*\"\n\n[[rule]]\n\
         action = \"manage\"\nunit = \"postgresql.service\"\nshare = 2.0\n```\n",
        rule.about
    );
    table(&mut page, rule, "", &BTreeMap::new());
    let hint = &blocks["Hint"];
    let _ = write!(
        page,
        "\n## Hints\n\nWhat you know of a program's use of its memory, for the policy `worth`: a \
         hint counts more than what trackers see. {} Of two hints for the same memory the first \
         counts.\n\n```toml\n[[hint]]\nexe = \"/usr/sbin/indexd\"\nfrom_bytes = \"1792 MiB\"\n\
         to_bytes = \"2 GiB\"\naccessed_percent = 100\n\n[[hint]]\nexe = \
         \"/usr/sbin/indexd\"\naccessed_percent = 1\n```\n",
        hint.about
    );
    table(&mut page, hint, "", &BTreeMap::new());
    let _ = write!(page, "\n## Trackers\n\nWhat `track.by` may name.\n\n");
    page.push_str("| tracker | what it does | what it needs |\n|---|---|---|\n");
    for tracker in Tracker::ALL {
        let (about, needs) = tracker.text();
        let _ = writeln!(page, "| `{tracker}` | {about} | {needs} |");
    }
    page
}
