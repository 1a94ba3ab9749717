//! Names by which requests are counted: bounded, whatever a log contains.

use std::collections::BTreeMap;

use super::sketch::Sketch;

/// This many names count from their first request on.
const AT_ONCE: usize = 100;
/// Most names.
pub(super) const KEYS_MAX: usize = 200;
/// A name beyond those counts once it was seen so often, so that each scan for holes, which asks
/// for thousands of paths once, does not take the places of real ones.
const OFTEN: u32 = 8;
/// Most names that wait for that.
const WAITING_MAX: usize = 1024;
/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 120;

/// The number of a name. [`OTHERS`] is the first.
pub(super) type KeyId = u16;

/// All names beyond the bounds.
pub(super) const OTHERS: KeyId = 0;

/// What is known of one name.
#[derive(Clone, Debug, Default)]
pub(super) struct Key {
    /// The name.
    pub(super) name: String,
    /// Requests.
    pub(super) requests: u64,
    /// Of them with an error of the server.
    pub(super) errors: u64,
    /// Their times.
    pub(super) times: Sketch,
}

/// Names with what was counted for each.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    ids: BTreeMap<String, KeyId>,
    all: Vec<Key>,
    waiting: BTreeMap<String, u32>,
}

impl Default for Keys {
    fn default() -> Self {
        let others = Key { name: "others".to_owned(), ..Key::default() };
        Self { ids: BTreeMap::new(), all: vec![others], waiting: BTreeMap::new() }
    }
}

impl Keys {
    /// The number of a name.
    pub(super) fn id(&mut self, name: &str) -> KeyId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        if self.all.len() > KEYS_MAX || name.len() > NAME_BYTES_MAX {
            return OTHERS;
        }
        if self.all.len() > AT_ONCE && !self.is_often(name) {
            return OTHERS;
        }
        let Ok(id) = KeyId::try_from(self.all.len()) else { return OTHERS };
        self.ids.insert(name.to_owned(), id);
        self.all.push(Key { name: name.to_owned(), ..Key::default() });
        id
    }

    fn is_often(&mut self, name: &str) -> bool {
        if let Some(seen) = self.waiting.get_mut(name) {
            *seen += 1;
            let often = *seen >= OFTEN;
            if often {
                self.waiting.remove(name);
            }
            return often;
        }
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.clear();
        }
        self.waiting.insert(name.to_owned(), 1);
        false
    }

    /// Counts a request.
    pub(super) fn count(&mut self, id: KeyId, time_us: Option<u64>, error: bool) {
        let Some(key) = self.all.get_mut(usize::from(id)) else { return };
        key.requests += 1;
        key.errors += u64::from(error);
        if let Some(us) = time_us {
            key.times.record(us);
        }
    }

    /// All of them by number.
    pub(super) fn all(&self) -> &[Key] {
        &self.all
    }

    /// The name of a number.
    pub(super) fn name(&self, id: KeyId) -> &str {
        self.all.get(usize::from(id)).map_or("", |key| key.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_takes_no_place() {
        let mut keys = Keys::default();
        for at in 0..AT_ONCE {
            keys.id(&format!("/{at}"));
        }
        for scan in 0..5000 {
            assert_eq!(keys.id(&format!("/scan{scan}")), OTHERS);
            let real = keys.id("/real");
            assert_eq!(real == OTHERS, scan < 7, "{scan}");
        }
        for often in 0..5000 {
            for _ in 0..20 {
                keys.id(&format!("/often{often}"));
            }
        }
        assert!(keys.all().len() <= KEYS_MAX + 1);
        assert_eq!(keys.id(&"x".repeat(500)), OTHERS);
    }
}
