//! `/etc/subuid` (subuid(5)): ids that users may use in user namespaces of theirs.

use std::ops::Range;

use super::{ParseError, Parsed, decimal, numbered_lines};

/// Ids that were lent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lent {
    /// To whom: a name, or an id; untrusted text.
    pub owner: String,
    /// Which.
    pub ids: Range<u32>,
}

/// Reads the file.
pub fn parse(text: &[u8]) -> Parsed<Vec<Lent>> {
    let mut parsed = Parsed::<Vec<Lent>>::empty();
    for (number, bytes) in numbered_lines(text) {
        if bytes.is_empty() || bytes.first() == Some(&b'#') {
            continue;
        }
        let line = String::from_utf8_lossy(bytes);
        let mut fields = line.split(':');
        let owner = fields.next().filter(|owner| !owner.is_empty());
        let (first, count) = (fields.next(), fields.next());
        let numbers = first.and_then(decimal::<u32>).zip(count.and_then(decimal::<u32>));
        match (owner, numbers) {
            (Some(owner), Some((first, count))) => {
                let ids = first..first.saturating_add(count);
                parsed.value.push(Lent { owner: owner.to_owned(), ids });
            }
            _ => parsed.note(ParseError::new("subuid", number, bytes, "'user:first id:count'")),
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_ids_and_says_what_it_cannot_read() {
        let parsed = parse(b"anna:100000:65536\n# lent\n1001:4294967000:1000\n\nodd:1\n");
        let lent = |owner: &str, ids| Lent { owner: owner.to_owned(), ids };
        let ranges = [lent("anna", 100_000..165_536), lent("1001", 4_294_967_000..u32::MAX)];
        assert_eq!(parsed.value, ranges);
        assert_eq!(parsed.problems.len(), 1);
    }
}
