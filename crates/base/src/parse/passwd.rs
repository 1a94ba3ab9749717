//! `/etc/passwd` (passwd(5)): users, their names and groups; `/etc/group` (group(5)): which other
//! groups name a user.

use std::collections::{BTreeMap, BTreeSet};

use super::{ParseError, Parsed, decimal, numbered_lines};

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name; untrusted text.
    pub name: String,
    /// Id of the group that the user's programs start with; `None` where the line has no such
    /// number.
    pub gid: Option<u32>,
}

/// Reads the file: users by id. Of several lines for one id the first counts, as for the system.
/// Lines that stand for another source of users (`+`, `-`) and comments are passed over.
pub fn parse(text: &[u8]) -> Parsed<BTreeMap<u32, User>> {
    let mut parsed = Parsed::<BTreeMap<u32, User>>::empty();
    for (number, bytes) in numbered_lines(text) {
        if matches!(bytes.first(), Some(b'+' | b'-' | b'#')) {
            continue;
        }
        let line = String::from_utf8_lossy(bytes);
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty());
        match (name, fields.nth(1).and_then(decimal::<u32>)) {
            (Some(name), Some(id)) => {
                let gid = fields.next().and_then(decimal::<u32>);
                let user = || User { name: name.to_owned(), gid };
                parsed.value.entry(id).or_insert_with(user);
            }
            // The line itself stays out of the message: an old file may contain a password.
            _ => parsed.note(ParseError::new("passwd", number, "", "'name:password:id:...'")),
        }
    }
    parsed
}

/// Reads `/etc/group`: ids of the groups in which a user is named. That which its programs start
/// with stands in `/etc/passwd`. Lines that cannot be read are passed over.
pub fn supplementary_groups(text: &[u8], user: &str) -> BTreeSet<u32> {
    let mut groups = BTreeSet::new();
    for (_, bytes) in numbered_lines(text) {
        let line = String::from_utf8_lossy(bytes);
        let mut fields = line.split(':').skip(2);
        let id = fields.next().and_then(decimal::<u32>);
        let has_it = fields
            .next()
            .is_some_and(|names| names.trim().split(',').any(|n| n == user && !n.is_empty()));
        groups.extend(id.filter(|_| has_it));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_those_that_name_the_user() {
        let text = b"root:x:0:\nssl-cert:x:110:postgres\npostgres:x:120:\nodd:x:-1:postgres\n\
                     adm:x:4:syslog,postgres\nother:x:7:postgresql\nshort:x\n";
        assert_eq!(supplementary_groups(text, "postgres"), [4, 110].into());
        assert!(supplementary_groups(text, "").is_empty());
    }

    #[test]
    fn reads_names_and_tells_no_secrets() {
        let text = b"root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:/bin/sh\n+::::::\n# a comment\n\
                     postgres:x:113:120::/:/bin/sh\n:x:5:\nsecret\nodd:x:-1:\nm\xff:x:7:\n\
                     x:x:8:-3:\n";
        let parsed = parse(text);
        let users = [
            (0, "root", Some(0)),
            (7, "m\u{fffd}", None),
            (8, "x", None),
            (113, "postgres", Some(120)),
        ];
        let user = |(id, name, gid): (u32, &str, _)| (id, User { name: name.to_owned(), gid });
        assert_eq!(parsed.value, users.map(user).into());
        let lines: Vec<usize> = parsed.problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [6, 7, 8]);
        assert!(parsed.problems.iter().all(|problem| problem.found.is_empty()));
    }
}
