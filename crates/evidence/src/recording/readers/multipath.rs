//! `multipath -ll`: paths to a storage array, and which of them are lost (multipath(8)).

use super::prelude::*;
use super::words::words;

/// A path: `|- 2:0:0:1 sdc 8:32 failed faulty running`. Its disk, and whether it is lost.
fn path(line: &str) -> Option<(&str, bool)> {
    let text = line.trim_start_matches(['|', '`', '-', '+', ' ', '_', '\\']);
    let words = words(text);
    let [address, disk, numbers, states @ ..] = words.as_slice() else { return None };
    let numeric = |text: &str, parts: usize| {
        let all: Vec<&str> = text.split(':').collect();
        let digit = |part: &&str| *part == "#" || part.bytes().all(|byte| byte.is_ascii_digit());
        all.len() == parts && all.iter().all(digit)
    };
    let own = numeric(address, 4) && numeric(numbers, 2) && !states.is_empty();
    let state = states.join(" ");
    let lost = ["failed", "faulty", "offline"].iter().any(|word| state.contains(word));
    own.then_some((*disk, lost))
}

/// `mpatha (360...) dm-2 IBM,2145`, or a line of it with the size or the group.
fn is_map(line: &str) -> bool {
    let named = line.contains(") dm-") || line.contains(" dm-");
    let size = line.starts_with("size=") && line.contains("features=");
    let group =
        line.trim_start_matches(['|', '`', '-', '+', ' ', '_', '\\']).starts_with("policy=");
    (named && !line.starts_with(' ') && line.contains(',')) || size || group
}

/// Begins at a map whose paths follow.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let map = is_map(lines.ahead(0)) && (1..=3).any(|by| path(lines.ahead(by)).is_some());
    (map || path(lines.ahead(0)).is_some())
        .then(|| lines.resume(SourceKind::Multipath, Multipath, out))
}

struct Multipath;

impl Reader for Multipath {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some((disk, lost)) = path(line) {
            let subject = Subject::Disk(disk.to_owned());
            out.put(Field::PathLost, &subject, None, f64::from(u8::from(lost)));
            return Taken::Yes;
        }
        if is_map(line) || line.trim().is_empty() { Taken::Yes } else { Taken::No }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn lost_paths() {
        let recording = read(
            "mpatha (3600508b400105e210000900000490000) dm-2 HP,HSV210\n\
             size=200G features='1 queue_if_no_path' hwhandler='0' wp=rw\n\
             |-+- policy='round-robin 0' prio=50 status=active\n\
             | `- 1:0:0:1 sdb 8:16  active ready running\n\
             `-+- policy='round-robin 0' prio=0 status=enabled\n\
             \u{20} `- 2:0:0:1 sdc 8:32  failed faulty offline\n",
        );
        all_understood(&recording);
        let of = |disk: &str| values(&recording, Field::PathLost, &Subject::Disk(disk.to_owned()));
        assert_eq!(of("sdb"), [0.0]);
        assert_eq!(of("sdc"), [1.0]);
    }
}
