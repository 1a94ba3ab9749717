//! `/etc/passwd` (passwd(5)): names of users.

use std::collections::BTreeMap;

use super::{ParseError, Parsed, decimal, numbered_lines};

/// Reads the file: names by user id. Of several names for one id the first counts, as for the
/// system. Lines that stand for another source of users (`+`, `-`) and comments are passed over.
#[must_use]
pub fn parse(text: &[u8]) -> Parsed<BTreeMap<u32, String>> {
    let mut parsed = Parsed::<BTreeMap<u32, String>>::empty();
    for (number, bytes) in numbered_lines(text) {
        if matches!(bytes.first(), Some(b'+' | b'-' | b'#')) {
            continue;
        }
        let line = String::from_utf8_lossy(bytes);
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty());
        match (name, fields.nth(1).and_then(decimal::<u32>)) {
            (Some(name), Some(id)) => {
                parsed.value.entry(id).or_insert_with(|| name.to_owned());
            }
            // The line itself stays out of the message: an old file may hold a password.
            _ => parsed.note(ParseError::new("passwd", number, "", "'name:password:id:...'")),
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_tells_no_secrets() {
        let text = b"root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:/bin/sh\n+::::::\n# a comment\n\
                     postgres:x:113:120::/:/bin/sh\n:x:5:\nsecret\nodd:x:-1:\nm\xff:x:7:\n";
        let parsed = parse(text);
        let names = [(0, "root"), (7, "m\u{fffd}"), (113, "postgres")];
        assert_eq!(parsed.value, names.map(|(id, name)| (id, name.to_owned())).into());
        let lines: Vec<usize> = parsed.problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [6, 7, 8]);
        assert!(parsed.problems.iter().all(|problem| problem.found.is_empty()));
    }
}
