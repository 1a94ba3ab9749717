//! Reads the configuration: defaults, then `/etc/hugewise/hugewise.toml`, then
//! `/etc/hugewise/hugewise.d/*.toml` in the order of their names, then `--set KEY=VALUE`.
//!
//! Each key is taken from the last place that gives it. Rules and hints ([`lists`]) of all files
//! count, and those of a later file are tried first, so that a drop-in can take exception to the
//! main file.

mod lists;
mod source;

use crate::exit;
use anyhow::Context;
use hugewise_core::manager::config::Config;
use lists::List;
pub(crate) use source::Origin;
use source::{Text, is_missing, unknown, wrong_value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// Where the configuration is unless `--config` names a file.
const DIRECTORY: &str = "/etc/hugewise";

/// A valid configuration.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// What is wanted.
    pub(crate) config: Config,
    /// Origin of each key, dotted (`promote.warm`), and of each rule (`rule[0]`).
    pub(crate) origins: BTreeMap<String, Origin>,
    /// The files that were read, in order.
    pub(crate) files: Vec<PathBuf>,
}

/// Loads the configuration; `file` replaces the one in `/etc` together with its drop-ins.
///
/// # Errors
/// What is wrong, where, and what to do. The exit code is 6 where root is asked to believe a file
/// that others can change, 2 for a wrong `--set`, and otherwise 1.
pub(crate) fn load(file: Option<&Path>, set: &[String]) -> anyhow::Result<Loaded> {
    load_from(Path::new(DIRECTORY), file, set)
}

fn load_from(directory: &Path, file: Option<&Path>, set: &[String]) -> anyhow::Result<Loaded> {
    let mut merge = Merge::new()?;
    let mut files = Vec::new();
    let paths = match file {
        Some(file) => vec![file.to_path_buf()],
        None => default_files(directory)?,
    };
    for path in paths {
        match Text::read(&path)? {
            Some(text) => merge.file(&text)?,
            None if file.is_some() => anyhow::bail!(
                "there is no configuration file {}: create it, or leave out --config",
                path.display()
            ),
            None => continue,
        }
        files.push(path);
    }
    for flag in set {
        merge.flag(flag).map_err(|why| exit::coded(exit::USAGE, format!("--set {flag}: {why}")))?;
    }
    let (config, origins) = merge.finish()?;
    Ok(Loaded { config, origins, files })
}

/// The main file, there or not, and the drop-ins that are there.
fn default_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let drop_ins = directory.join("hugewise.d");
    let mut found = Vec::new();
    match fs::read_dir(&drop_ins) {
        Ok(entries) => {
            for entry in entries {
                let path = entry.with_context(|| format!("cannot list {}", drop_ins.display()))?;
                let path = path.path();
                let hidden = path.file_name().is_some_and(|n| n.as_encoded_bytes()[0] == b'.');
                if !hidden && path.extension().is_some_and(|e| e == "toml") {
                    found.push(path);
                }
            }
        }
        Err(error) if is_missing(&error) => {}
        Err(error) => {
            return Err(error).with_context(|| format!("cannot list {}", drop_ins.display()));
        }
    }
    found.sort();
    found.insert(0, directory.join("hugewise.toml"));
    Ok(found)
}

/// What was read so far.
struct Merge {
    /// All keys, with the type of each.
    defaults: Table,
    merged: Table,
    origins: BTreeMap<String, Origin>,
    lists: Vec<List>,
}

impl Merge {
    fn new() -> anyhow::Result<Self> {
        let mut defaults = Table::try_from(Config::default())?;
        let lists = lists::all()?;
        for list in &lists {
            defaults.remove(list.name);
        }
        let mut origins = BTreeMap::new();
        for key in leaves(&defaults) {
            origins.insert(key, Origin::Default);
        }
        let merged = defaults.clone();
        Ok(Self { defaults, merged, origins, lists })
    }

    fn file(&mut self, text: &Text<'_>) -> anyhow::Result<()> {
        // Read twice: once for the values, once for their places.
        let values: Table = toml::from_str(&text.text).map_err(|e| text.syntax(&e))?;
        let places = DeTable::parse(&text.text).map_err(|e| text.syntax(&e))?;
        for (key, place) in places.get_ref() {
            let name = key.get_ref().as_ref();
            let Some(value) = values.get(name) else { continue };
            let (start, place) = (key.span().start, place.get_ref());
            match self.lists.iter_mut().find(|list| list.name == name) {
                Some(list) => list.file(text, start, (value, place))?,
                None => self.key(text, &[name], start, (value, place))?,
            }
        }
        Ok(())
    }

    /// Takes over one key, or a table of them.
    fn key(
        &mut self,
        text: &Text<'_>,
        path: &[&str],
        offset: usize,
        (value, place): (&Value, &DeValue<'_>),
    ) -> anyhow::Result<()> {
        match (self.known(path), value, place) {
            (Some(Value::Table(_)), Value::Table(values), DeValue::Table(places)) => {
                for (key, place) in places {
                    let name = key.get_ref().as_ref();
                    let path = [path, &[name]].concat();
                    if let Some(value) = values.get(name) {
                        self.key(text, &path, key.span().start, (value, place.get_ref()))?;
                    }
                }
                Ok(())
            }
            _ => self
                .set(path, value.clone(), text.origin(offset))
                .map_err(|why| text.error(offset, why)),
        }
    }

    fn flag(&mut self, flag: &str) -> Result<(), String> {
        let (key, text) = flag.split_once('=').ok_or("write KEY=VALUE")?;
        let key = key.trim();
        let first = key.split(['.', '[']).next().unwrap_or_default();
        if let Some(list) = self.lists.iter().find(|list| list.name == first) {
            let name = list.name;
            return Err(format!("{name}s cannot be set on the command line: write them to a file"));
        }
        let path: Vec<&str> = key.split('.').collect();
        self.set(&path, flag_value(text.trim()), Origin::Flag)
    }

    fn known(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.defaults.get(*first)?, |at, key| at.as_table()?.get(*key))
    }

    /// Sets one key. The error says what is wrong with the key or the value.
    fn set(&mut self, path: &[&str], value: Value, origin: Origin) -> Result<(), String> {
        let key = path.join(".");
        match self.known(path) {
            None => return Err(unknown(&key, self.origins.keys().map(String::as_str))),
            Some(Value::Table(_)) => {
                return Err(format!("'{key}' is a table: set a key in it, as in '{key}.KEY'"));
            }
            Some(_) => {}
        }
        let mut alone = Table::new();
        insert(&mut alone, path, value.clone());
        alone.try_into::<Config>().map_err(|e| wrong_value(&key, &e))?;
        insert(&mut self.merged, path, value);
        self.origins.insert(key, origin);
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<(Config, BTreeMap<String, Origin>)> {
        for list in self.lists {
            let name = list.name;
            let mut values = Vec::new();
            for (index, (value, origin)) in list.items.into_iter().enumerate() {
                values.push(value);
                self.origins.insert(format!("{name}[{index}]"), origin);
            }
            self.merged.insert(name.into(), Value::Array(values));
        }
        let config: Config = self.merged.try_into().context("the configuration as a whole")?;
        config.check().map_err(|error| {
            let message = error.to_string();
            match origin_of(&message, &self.origins) {
                Some(origin @ Origin::File(..)) => anyhow::anyhow!("{origin}: {message}"),
                Some(Origin::Default) => anyhow::anyhow!("{message} (the value is the default)"),
                Some(Origin::Flag) => exit::coded(exit::USAGE, format!("--set: {message}")),
                None => anyhow::anyhow!("{message}"),
            }
        })?;
        Ok((config, self.origins))
    }
}

/// The origin of the key with which a message of [`Config::check`] begins, quoted or not.
fn origin_of<'a>(message: &str, origins: &'a BTreeMap<String, Origin>) -> Option<&'a Origin> {
    let message = message.trim_start_matches('\'');
    let named = |key: &str| {
        let rest = message.strip_prefix(key)?;
        rest.starts_with(['\'', ' ', '.']).then_some(())
    };
    origins.iter().find(|(key, _)| named(key).is_some()).map(|(_, origin)| origin)
}

/// The dotted names of all values in a table.
fn leaves(table: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                found.extend(leaves(inner).iter().map(|rest| format!("{key}.{rest}")));
            }
            _ => found.push(key.clone()),
        }
    }
    found
}

fn insert(table: &mut Table, path: &[&str], value: Value) {
    match path {
        [] => {}
        [last] => {
            table.insert((*last).to_owned(), value);
        }
        [first, rest @ ..] => {
            let entry = table.entry(*first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = entry {
                insert(inner, rest, value);
            }
        }
    }
}

/// A value as TOML has it; what is no TOML is text: a shell takes quotation marks away.
fn flag_value(text: &str) -> Value {
    let parsed = toml::from_str::<Table>(&format!("value = {text}"));
    match parsed.ok().filter(|table| table.len() == 1).and_then(|mut t| t.remove("value")) {
        Some(value) => value,
        None => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
