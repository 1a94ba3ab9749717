//! Reads the configuration: defaults, then `/etc/hugewise/hugewise.toml`, then
//! `/etc/hugewise/hugewise.d/*.toml` in the order of their names, then `--set KEY=VALUE`.
//!
//! Each key is taken from the last place that gives it. Rules and hints ([`lists`]) of all files
//! count, and those of a later file are tried first, so that a drop-in can take exception to the
//! main file.

mod lists;
mod source;

use anyhow::Context;
use hugewise_base::format::Format;
use hugewise_console::exit;
use hugewise_linux::process;
use hugewise_linux::root::Root;
use hugewise_manager::config::{Config, ConfigError};
use lists::List;
pub use source::{Origin, Text, nearest, words};
use source::{is_missing, unknown};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use toml::de::{DeString, DeTable, DeValue};
use toml::{Spanned, Table, Value};

/// The format of a configuration, and the key at the top of a file that names its version. A file
/// without it is of the first one.
const FORMAT: Format = Format { what: "the configuration", version: 1 };
const VERSION: &str = "version";
/// Where the configuration is unless `--config` names a file.
const DIRECTORY: &str = "/etc/hugewise";
/// Most faults that are shown: whoever has more knows what to do.
const FAULTS_SHOWN: usize = 50;

/// A valid configuration.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What is wanted.
    pub config: Config,
    /// Origin of each key, dotted (`promote.warm`), and of each rule and hint (`rule 1`), counted
    /// in the order in which they are tried.
    pub origins: BTreeMap<String, Origin>,
    /// The files that were read, in order.
    pub files: Vec<PathBuf>,
}

/// Loads the configuration; `file` replaces the one in `/etc` together with its drop-ins.
///
/// # Errors
/// All that is wrong, where, and what to do. The exit code is 6 where root is asked to believe a
/// file that others can change, 2 where nothing but `--set` is wrong, and otherwise 1.
pub fn load(file: Option<&Path>, set: &[String]) -> anyhow::Result<Loaded> {
    load_from(Path::new(DIRECTORY), file, set)
}

/// What is no fault and of no use on this machine: the file may be for another.
pub fn warnings(root: &Root, loaded: &Loaded) -> Vec<String> {
    let users = process::users(root).into_values().collect();
    strangers(&loaded.config, &users)
}

/// Warnings of users whom nobody knows here: `users` are all names that are known.
fn strangers(config: &Config, users: &BTreeSet<String>) -> Vec<String> {
    let rules = config.rules.iter().map(|rule| ("rule", &rule.user));
    let hints = config.hints.iter().map(|hint| ("hint", &hint.user));
    let named = rules.chain(hints).filter_map(|(kind, user)| Some((kind, user.as_deref()?)));
    let is_known = |name: &str| match name.strip_suffix('*') {
        Some(start) => users.iter().any(|user| user.starts_with(start)),
        None => name.starts_with('#') || users.contains(name),
    };
    let unknown: BTreeSet<_> = named.filter(|(_, name)| !is_known(name)).collect();
    let said = unknown.into_iter().map(|(kind, name)| {
        format!(
            "a {kind} is for the user '{name}', who is not in /etc/passwd: it matches nothing \
             on this machine"
        )
    });
    said.collect()
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
            Some(text) => merge.file(&text),
            None if file.is_some() => anyhow::bail!(
                "there is no configuration file {}: create it, or leave out --config",
                path.display()
            ),
            None => continue,
        }
        files.push(path);
    }
    for flag in set {
        if let Err(why) = merge.flag(flag) {
            merge.faults.push((exit::USAGE, format!("--set {flag}: {why}")));
        }
    }
    let (config, origins) = merge.finish()?;
    Ok(Loaded { config, origins, files })
}

/// All faults as one error.
fn refusal(faults: &[(u8, String)]) -> anyhow::Error {
    // Nothing but the command line is wrong: then it is wrong usage.
    let code = faults.iter().map(|(code, _)| *code).min().unwrap_or(exit::ERROR);
    if let [(_, only)] = faults {
        return exit::coded(code, only);
    }
    let mut text = format!("{} faults in the configuration:", faults.len());
    for (_, fault) in faults.iter().take(FAULTS_SHOWN) {
        text.push_str("\n  ");
        text.push_str(fault);
    }
    let more = faults.len().saturating_sub(FAULTS_SHOWN);
    if more > 0 {
        text.push_str(&format!("\n  and {more} more"));
    }
    exit::coded(code, text)
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
    /// What is wrong so far, and the exit code of each.
    faults: Vec<(u8, String)>,
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
        Ok(Self { defaults, merged, origins, lists, faults: Vec::new() })
    }

    fn file(&mut self, text: &Text<'_>) {
        let (places, errors) = DeTable::parse_recoverable(&text.text);
        // Read twice: once for the places, once for the values.
        let values = toml::from_str::<Table>(&text.text);
        let values = match (errors.as_slice(), values) {
            ([], Ok(values)) => values,
            ([], Err(error)) => return self.fault(text.syntax(&[error])),
            (errors, _) => return self.fault(text.syntax(errors)),
        };
        for (key, place) in in_order(places.get_ref()) {
            let name = key.get_ref().as_ref();
            let Some(value) = values.get(name) else { continue };
            let (start, place) = (key.span().start, place.get_ref());
            if name == VERSION {
                if let Err(why) = version(value) {
                    // The rest of it may mean anything.
                    return self.fault(vec![text.error(start, why).to_string()]);
                }
                continue;
            }
            match self.lists.iter_mut().find(|list| list.name == name) {
                Some(list) => {
                    let faults = list.file(text, start, (value, place));
                    self.fault(faults);
                }
                None => self.key(text, &[name], start, (value, place)),
            }
        }
    }

    fn fault(&mut self, faults: Vec<String>) {
        self.faults.extend(faults.into_iter().map(|fault| (exit::ERROR, fault)));
    }

    /// Takes over one key, or a table of them.
    fn key(
        &mut self,
        text: &Text<'_>,
        path: &[&str],
        offset: usize,
        (value, place): (&Value, &DeValue<'_>),
    ) {
        match (self.known(path), value, place) {
            (Some(Value::Table(_)), Value::Table(values), DeValue::Table(places)) => {
                for (key, place) in in_order(places) {
                    let name = key.get_ref().as_ref();
                    let path = [path, &[name]].concat();
                    if let Some(value) = values.get(name) {
                        self.key(text, &path, key.span().start, (value, place.get_ref()));
                    }
                }
            }
            _ => {
                if let Err(why) = self.set(path, value.clone(), text.origin(offset)) {
                    self.fault(vec![text.error(offset, why).to_string()]);
                }
            }
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
        alone.try_into::<Config>().map_err(|e| format!("'{key}': {}", words(&e)))?;
        insert(&mut self.merged, path, value);
        self.origins.insert(key, origin);
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<(Config, BTreeMap<String, Origin>)> {
        // Which one of its file each is, by its place among all.
        let mut numbers = BTreeMap::new();
        for list in std::mem::take(&mut self.lists) {
            let name = list.name;
            let mut values = Vec::new();
            for (index, item) in list.items.into_iter().enumerate() {
                values.push(item.value);
                numbers.insert((name, index + 1), item.number);
                self.origins.insert(part(name, index + 1), item.origin);
            }
            self.merged.insert(name.into(), Value::Array(values));
        }
        let merged = std::mem::take(&mut self.merged);
        let config: Config = merged.try_into().context("the configuration as a whole")?;
        let said = |error: &ConfigError| match error {
            ConfigError::Part(kind, number, why) => {
                let number = numbers.get(&(*kind, *number)).copied().unwrap_or(*number);
                ConfigError::Part(kind, number, why.clone()).to_string()
            }
            error => error.explain(|key| self.origins.get(key) == Some(&Origin::Default)),
        };
        let faults = config.faults().into_iter().filter(|error| {
            // Beside a refused value a default may stand that nobody means.
            self.faults.is_empty() || !matches!(error, ConfigError::Order(_))
        });
        let faults: Vec<_> = faults.map(|error| self.located(&error, &said(&error))).collect();
        self.faults.extend(faults);
        match self.faults.as_slice() {
            [] => Ok((config, self.origins)),
            faults => Err(refusal(faults)),
        }
    }

    /// What is said of an error, behind the place that it comes from, and its exit code.
    fn located(&self, error: &ConfigError, said: &str) -> (u8, String) {
        let given = |key: &str| self.origins.get(key).filter(|origin| **origin != Origin::Default);
        let origin = match error {
            ConfigError::Key(key, _) => given(key),
            ConfigError::Part(kind, number, _) => given(&part(kind, *number)),
            // What was added on the command line was right without it.
            ConfigError::Order(both) => both
                .iter()
                .filter_map(|(key, _)| given(key))
                .max_by_key(|origin| **origin == Origin::Flag),
        };
        match origin {
            Some(Origin::Flag) => (exit::USAGE, format!("--set: {said}")),
            Some(origin) => (exit::ERROR, format!("{origin}: {said}")),
            None => (exit::ERROR, said.to_owned()),
        }
    }
}

/// Whether this program knows the version that a file names.
fn version(value: &Value) -> Result<(), String> {
    let Some(named @ 1..) = value.as_integer() else {
        return Err("'version' is a number from 1 on: that of the configuration's form".into());
    };
    match FORMAT.check(u32::try_from(named).unwrap_or(u32::MAX)) {
        Ok(()) => Ok(()),
        Err(later) => Err(later.to_string()),
    }
}

/// The name of the origin of a rule or a hint.
pub fn part(kind: &str, number: usize) -> String {
    format!("{kind} {number}")
}

/// The keys of a table as its file has them.
fn in_order<'a, 'i>(
    table: &'a DeTable<'i>,
) -> Vec<(&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>)> {
    let mut keys: Vec<_> = table.iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    keys
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
mod tests;
