//! `hugewise manage config`.

use crate::cli::{ConfigArgs, ConfigCommand, Global};
use crate::config::{self, Loaded};
use crate::exit;
use crate::output::Output;
use crate::render::text::wrap;
use hugewise_base::escape::printable;
use hugewise_base::units::Bytes;
use hugewise_linux::root::Root;
use hugewise_linux::world::Live;
use hugewise_manager::engine::World;
use hugewise_manager::snapshot::Ask;
use hugewise_manager::unmatched;
use std::fmt::Write;
use toml::{Table, Value};

/// Version of what `--json` prints.
const SCHEMA: u32 = 1;
/// Comments are aligned at most here: one long rule must not push all of them off the screen.
const MAX_ALIGN: usize = 48;

/// Runs the command.
pub(crate) fn run(global: &Global, command: &ConfigCommand) -> anyhow::Result<Output> {
    match command {
        ConfigCommand::Show(args) => show(global, args),
        ConfigCommand::Check(args) => check(global, args),
    }
}

fn show(global: &Global, args: &ConfigArgs) -> anyhow::Result<Output> {
    let loaded = config::load(args.config.as_deref(), &args.set)?;
    if global.json {
        return Output::pretty_json(&show_json(&loaded)?, exit::OK);
    }
    Ok(Output::text(show_text(&loaded)?, exit::OK))
}

fn check(global: &Global, args: &ConfigArgs) -> anyhow::Result<Output> {
    let result = config::load(args.config.as_deref(), &args.set);
    let root = &Root::at(&global.root);
    let warnings =
        result.as_ref().map_or_else(|_| Vec::new(), |loaded| config::warnings(root, loaded));
    let unmatched = result.as_ref().map_or_else(|_| Vec::new(), |loaded| unmatched(root, loaded));
    let code = if warnings.is_empty() { exit::OK } else { exit::WARNING };
    if global.json {
        let (files, error) = match &result {
            Ok(loaded) => (file_names(loaded), None),
            Err(error) => (Vec::new(), Some(format!("{error:#}"))),
        };
        let json = serde_json::json!({
            "schema": SCHEMA,
            "valid": result.is_ok(),
            "files": files,
            "error": error,
            "warnings": warnings,
            "unmatched": unmatched,
        });
        return Output::pretty_json(&json, result.as_ref().map_or_else(exit::of_error, |_| code));
    }
    let loaded = result?;
    let mut text = match file_names(&loaded).as_slice() {
        [] => "ok: there is no configuration file, all values are the defaults\n".to_owned(),
        files => format!("ok: {}\n", files.join(", ")),
    };
    warnings.iter().for_each(|warning| text += &wrap("warning: ", &printable(warning)));
    unmatched.iter().for_each(|rule| text += &wrap("note: ", &printable(rule)));
    Ok(Output::text(text, code))
}

/// Rules and hints that no program is meant by which runs now and can be seen.
fn unmatched(root: &Root, loaded: &Loaded) -> Vec<String> {
    if loaded.config.rules.is_empty() && loaded.config.hints.is_empty() {
        return Vec::new();
    }
    let ask = Ask { processes: true, ..Ask::default() };
    let programs = Live::observer(root.clone()).observe(&ask).processes.unwrap_or_default();
    unmatched::unmatched(&loaded.config, &programs).iter().map(ToString::to_string).collect()
}

/// The files as text: a name that is not UTF-8 must not make the whole view fail.
fn file_names(loaded: &Loaded) -> Vec<String> {
    loaded.files.iter().map(|file| file.display().to_string()).collect()
}

/// The value of a dotted key.
fn value_at<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let (first, rest) = match key.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (key, None),
    };
    match (table.get(first)?, rest) {
        (value, None) => Some(value),
        (Value::Table(inner), Some(rest)) => value_at(inner, rest),
        _ => None,
    }
}

/// Rules and hints, with their place in their list.
fn listed(table: &Table) -> impl Iterator<Item = (&'static str, usize, &Table)> {
    ["rule", "hint"].into_iter().flat_map(move |name| {
        let items = table.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let items = items.iter().filter_map(Value::as_table).enumerate();
        items.map(move |(index, item)| (name, index, item))
    })
}

/// A configuration file that gives the same values, with the origins as comments.
fn show_text(loaded: &Loaded) -> anyhow::Result<String> {
    let table = Table::try_from(&loaded.config)?;
    let mut lines = Vec::new();
    for (key, origin) in &loaded.origins {
        let Some(value) = value_at(&table, key) else {
            continue;
        };
        let comment = match value {
            Value::Integer(bytes) if key.contains("bytes") => {
                format!("{} ({origin})", Bytes(u64::try_from(*bytes)?))
            }
            _ => origin.to_string(),
        };
        lines.push((format!("{key} = {value}"), comment));
    }
    for (name, index, item) in listed(&table) {
        let origin = loaded.origins.get(&config::part(name, index + 1));
        let comment = origin.map(ToString::to_string).unwrap_or_default();
        lines.push((format!("\n[[{name}]]"), comment));
        for (key, value) in item {
            lines.push((format!("{key} = {value}"), String::new()));
        }
    }
    let width = lines.iter().filter(|(_, comment)| !comment.is_empty());
    let width = width.map(|(line, _)| line.chars().count()).max().unwrap_or(0).min(MAX_ALIGN);
    let mut text = String::new();
    for (line, comment) in lines {
        if comment.is_empty() {
            writeln!(text, "{line}")?;
        } else {
            // A file's name may contain anything; a line feed would end the comment.
            let comment: String =
                comment.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
            let pad = width + usize::from(line.starts_with('\n'));
            writeln!(text, "{line:<pad$}  # {comment}")?;
        }
    }
    Ok(text)
}

fn show_json(loaded: &Loaded) -> anyhow::Result<serde_json::Value> {
    let table = Table::try_from(&loaded.config)?;
    let mut keys = serde_json::Map::new();
    for (key, origin) in &loaded.origins {
        if let Some(value) = value_at(&table, key) {
            let value = serde_json::json!({ "value": value, "origin": origin });
            keys.insert(key.clone(), value);
        }
    }
    let of = |kind: &str| {
        let items = listed(&table).filter(move |(name, ..)| *name == kind);
        let items = items.map(|(name, index, item)| {
            let origin = loaded.origins.get(&config::part(name, index + 1));
            serde_json::json!({ kind: item, "origin": origin })
        });
        items.collect::<Vec<_>>()
    };
    let (schema, files, rules, hints) = (SCHEMA, file_names(loaded), of("rule"), of("hint"));
    Ok(serde_json::json!({
        "schema": schema, "files": files, "keys": keys, "rules": rules, "hints": hints
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_manager::config::Config;
    use hugewise_scratch::Scratch;

    fn loaded() -> Loaded {
        let dir = Scratch::new();
        let path = dir.join("x\ny.toml");
        let text = "scan.interval_ms = 500\n[[rule]]\naction = \"exclude\"\n\
                    exe = \"/a \\\"b\\n#\"\n[[hint]]\nexe = \"/b\"\naccessed_percent = 9";
        std::fs::write(&path, text).expect("written");
        config::load(Some(&path), &["mode=observe".to_owned()]).expect("loads")
    }

    #[test]
    fn what_is_shown_is_a_configuration_with_the_same_values() {
        let loaded = loaded();
        let text = show_text(&loaded).expect("shown");
        let again: Config = toml::from_str(&text).expect(&text);
        assert_eq!(again, loaded.config);
        assert!(text.contains("# --set\n"), "{text}");
        assert!(text.contains("x?y.toml:1\n"), "{text}");
        assert!(text.contains("# 1.0 GiB (default)"), "{text}");
        // A value too long to align pushes only its own comment.
        let columns = text.lines().filter_map(|l| l.rfind("  # ")).filter(|at| *at <= MAX_ALIGN);
        let columns: std::collections::BTreeSet<_> = columns.collect();
        assert_eq!(columns.len(), 1, "{text}");
    }

    #[test]
    fn json_holds_each_key_once() {
        let loaded = loaded();
        let json = show_json(&loaded).expect("shown");
        assert_eq!(json["keys"]["mode"]["value"], "observe");
        assert_eq!(json["keys"]["mode"]["origin"], "flag");
        assert_eq!(json["keys"]["scan.interval_ms"]["origin"]["file"]["line"], 1);
        assert_eq!(json["rules"][0]["origin"]["file"]["line"], 2);
        let keys = json["keys"].as_object().expect("an object").len();
        assert_eq!(json["hints"][0]["hint"]["exe"], "/b");
        assert_eq!(keys + 2, loaded.origins.len());
    }
}
