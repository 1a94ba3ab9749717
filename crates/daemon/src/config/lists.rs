//! Parts of the configuration of which there may be many: rules and hints.

use super::source::{Origin, Text, unknown, words};
use hugewise_base::units::Bytes;
use hugewise_manager::config::{Rule, RuleAction};
use hugewise_manager::hints::Hint;
use toml::de::{DeArray, DeString, DeValue};
use toml::{Spanned, Table, Value};

/// Most of a kind in all files: each is tried on each process of each list.
const MOST: usize = 1000;

/// A rule or a hint.
pub(super) struct Item {
    pub(super) value: Value,
    pub(super) origin: Origin,
    /// Which one of its file, counted from 1.
    pub(super) number: usize,
}

/// All parts of one kind that were read so far.
pub(super) struct List {
    pub(super) name: &'static str,
    /// In the order in which they are tried.
    pub(super) items: Vec<Item>,
    /// One with each key, to learn their names and types from.
    full: Table,
    /// What is wrong with one of them.
    fault: fn(Table) -> Option<toml::de::Error>,
    /// How many can be made fewer.
    fewer: &'static str,
}

/// Empty lists of all kinds.
pub(super) fn all() -> anyhow::Result<Vec<List>> {
    let text = || Some(String::new());
    let action = RuleAction::Manage;
    let rule = Rule { action, exe: text(), cgroup: text(), unit: text(), user: text(), share: 1.0 };
    let hint = Hint {
        exe: text(),
        cgroup: text(),
        unit: text(),
        user: text(),
        mapping: 1,
        from_bytes: Bytes(0),
        to_bytes: Bytes(1),
        accessed_percent: 1.0,
    };
    Ok(vec![
        List {
            name: "rule",
            items: Vec::new(),
            full: Table::try_from(rule)?,
            fault: |table| table.try_into::<Rule>().err(),
            fewer: "join some, with a '*' at the end of 'exe', or a 'cgroup' or 'user' that covers \
                    many programs",
        },
        List {
            name: "hint",
            items: Vec::new(),
            full: Table::try_from(hint)?,
            fault: |table| table.try_into::<Hint>().err(),
            fewer: "join ranges that are alike",
        },
    ])
}

impl List {
    /// Takes those of one file; they are tried before those of earlier files. Gives what is wrong
    /// with them.
    pub(super) fn file(
        &mut self,
        text: &Text<'_>,
        start: usize,
        (value, place): (&Value, &DeValue<'_>),
    ) -> Vec<String> {
        let name = self.name;
        let (Value::Array(items), DeValue::Array(places)) = (value, place) else {
            let what = format!("'{name}' is a list: begin each {name} with a line [[{name}]]");
            return vec![text.error(start, what).to_string()];
        };
        let (mut found, mut faults) = self.read(text, items, places);
        if let Some(item) = found.get(MOST.saturating_sub(self.items.len())) {
            let (origin, fewer) = (&item.origin, self.fewer);
            faults.push(format!("{origin}: more than {MOST} {name}s in all files: {fewer}"));
            return faults;
        }
        found.append(&mut self.items);
        self.items = found;
        faults
    }

    fn read(
        &self,
        text: &Text<'_>,
        items: &[Value],
        places: &DeArray<'_>,
    ) -> (Vec<Item>, Vec<String>) {
        let name = self.name;
        let (mut found, mut faults) = (Vec::new(), Vec::new());
        for (index, (item, place)) in items.iter().zip(places.iter()).enumerate() {
            let (start, number) = (place.span().start, index + 1);
            let wrong = |at, why: String| text.error(at, format!("{name} {number}: {why}"));
            let (Value::Table(values), DeValue::Table(keys)) = (item, place.get_ref()) else {
                let what = format!("a {name} is a table: begin it with a line [[{name}]]");
                faults.push(wrong(start, what).to_string());
                continue;
            };
            let before = faults.len();
            for key in keys.keys() {
                let fault = self.key(key, values).err();
                faults.extend(fault.map(|why| wrong(key.span().start, why).to_string()));
            }
            // With a wrong key it would say the same once more.
            let whole = (self.fault)(values.clone()).filter(|_| faults.len() == before);
            faults.extend(whole.map(|error| wrong(start, words(&error)).to_string()));
            if faults.len() == before {
                found.push(Item { value: item.clone(), origin: text.origin(start), number });
            }
        }
        (found, faults)
    }

    /// Checks one key on its own, for an error that names its place.
    fn key(&self, key: &Spanned<DeString<'_>>, values: &Table) -> Result<(), String> {
        let name = key.get_ref().as_ref();
        if !self.full.contains_key(name) {
            return Err(unknown(name, self.full.keys().map(String::as_str)));
        }
        let mut full = self.full.clone();
        if let Some(value) = values.get(name) {
            full.insert(name.to_owned(), value.clone());
        }
        (self.fault)(full).map_or(Ok(()), |error| Err(format!("'{name}': {}", words(&error))))
    }
}
