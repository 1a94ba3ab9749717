//! `zpool status`: pools of ZFS that lack a device, or are repaired (zpool-status(8)).

use super::mdstat::work_setting;
use super::prelude::*;

/// States of pools and devices; all but the first lack something.
const STATES: [&str; 7] =
    ["ONLINE", "DEGRADED", "FAULTED", "UNAVAIL", "OFFLINE", "REMOVED", "SUSPENDED"];

/// Keys of a pool's description.
const KEYS: [&str; 7] = ["pool", "state", "status", "action", "see", "scan", "config"];

/// What is done to a pool.
const WORKS: [&str; 2] = ["resilver", "scrub"];

/// A line with a key, `  pool: tank`.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once(':')?;
    KEYS.contains(&key).then(|| (key, value.trim()))
}

/// A row of the configuration, `sda  FAULTED  3  10  0  too many errors`: its state.
fn state_of_row(line: &str) -> Option<&str> {
    let words = words(line);
    let [_, state, read, write, checksum, ..] = words.as_slice() else { return None };
    let counts = [read, write, checksum].iter().all(|word| number_and_unit(word).is_some());
    (counts && STATES.contains(state)).then_some(*state)
}

/// Begins at the name or the state of a pool.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let known = match pair(lines.ahead(0))? {
        ("pool", name) => !name.is_empty() && matches!(pair(lines.ahead(1)), Some(("state", _))),
        ("state", state) => STATES.contains(&state),
        _ => false,
    };
    known.then(|| lines.resume(SourceKind::Mdstat, Pool::default(), out))
}

/// A pool, as far as it was read.
#[derive(Default)]
struct Pool {
    name: String,
    /// Whether it lacks something; `None` until its state was read.
    lacks: Option<bool>,
    /// Devices that are not there.
    missing: u64,
    /// What is done to it.
    work: Option<&'static str>,
}

impl Pool {
    fn subject(&self) -> Subject {
        let name = if self.name.is_empty() { "of ZFS" } else { &self.name };
        Subject::Named(format!("array {name}"))
    }

    /// The pool is over: puts what it lacks.
    fn put(&mut self, out: &mut Builder) {
        if let Some(lacks) = self.lacks.take() {
            let missing = if lacks { self.missing.max(1) } else { 0 };
            out.put(Field::ArrayLacks, &self.subject(), None, missing as f64);
        }
        *self = Self::default();
    }

    /// `1.20T scanned out of 9.61T at 120M/s, 12.5% done`.
    fn progress(&self, line: &str, out: &mut Builder) {
        let (Some(work), Some((before, _))) = (self.work, line.split_once("% done")) else {
            return;
        };
        let percent = before.rsplit([' ', ',']).next().and_then(number);
        out.put_known(Field::ArrayRebuilt, &self.subject(), None, percent);
        out.setting(&work_setting(self.subject().to_string().trim_start_matches("array ")), work);
    }
}

impl Reader for Pool {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        match pair(line) {
            Some(("pool", name)) => {
                self.put(out);
                name.clone_into(&mut self.name);
                return Taken::Yes;
            }
            Some(("state", state)) => self.lacks = Some(state != "ONLINE"),
            Some(("scan", text)) if text.contains("in progress") => {
                self.work = WORKS.into_iter().find(|work| text.starts_with(work));
            }
            Some(_) => {}
            None => match state_of_row(line) {
                Some("ONLINE" | "DEGRADED") => {}
                Some(_) => self.missing += 1,
                None => {
                    let apart = line.trim().is_empty() || line.starts_with(char::is_whitespace);
                    let heading = line.starts_with("NAME") && line.contains("CKSUM");
                    if !apart && !heading && !line.starts_with("errors:") {
                        return Taken::No;
                    }
                }
            },
        }
        self.progress(line, out);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.put(out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn pools_and_what_they_lack() {
        let text = "  pool: tank\n state: DEGRADED\nstatus: One or more devices are faulted in \
                    response to persistent errors.\n        Sufficient replicas exist.\n  scan: \
                    resilver in progress since Mon Mar  2 10:00:00 2026\n        1.20T scanned at \
                    120M/s, 12.5% done, 01:10:00 to go\nconfig:\n\n        NAME        STATE     \
                    READ WRITE CKSUM\n        tank        DEGRADED     0     0     0\n          \
                    mirror-0  DEGRADED     0     0     0\n            sda     ONLINE       0     \
                    0 0\n            sdb     FAULTED      3    10     0  too many errors\n\n\
                    errors: No known data errors\n\n  pool: fast\n state: ONLINE\n  scan: none \
                    requested\n";
        let recording = read(text);
        all_understood(&recording);
        let of = |field, name: &str| values(&recording, field, &Subject::Named(name.to_owned()));
        assert_eq!(of(Field::ArrayLacks, "array tank"), [1.0]);
        assert_eq!(of(Field::ArrayRebuilt, "array tank"), [12.5]);
        assert_eq!(of(Field::ArrayLacks, "array fast"), [0.0]);
        assert_eq!(recording.hosts[0].settings[&work_setting("tank")].text, "resilver");
        assert!(read("state: of the art\npool: swimming\n").hosts.is_empty());
    }
}
