//! `ipcs -m`: shared memory segments and how many attach them.

use super::prelude::*;

/// Begins at the header of the table; the line above it is translated, this one is not.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let begins = |line| is_header(line) || is_creators(line);
    let titled = is_title(lines.ahead(0)) && begins(lines.ahead(1));
    (titled || begins(lines.ahead(0))).then(|| lines.begin(SourceKind::Ipcs, Ipcs, out))
}

fn is_header(line: &str) -> bool {
    let words = words(line);
    words.get(1) == Some(&"shmid") && words.get(5) == Some(&"nattch")
}

/// The header of `ipcs -mp`: who made a segment and who attached it last.
fn is_creators(line: &str) -> bool {
    let words = words(line);
    words.starts_with(&["shmid", "owner", "cpid", "lpid"])
}

fn is_title(line: &str) -> bool {
    line.trim().starts_with("------ ") && line.trim().ends_with(" --------")
}

struct Ipcs;

impl Reader for Ipcs {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let words = words(line);
        if words.is_empty() || is_header(line) || is_title(line) || is_creators(line) {
            return Taken::Yes;
        }
        // A row of `ipcs -mp`: numbers but for the owner.
        if let [id, _, creator, last] = words.as_slice()
            && [id, creator, last].iter().all(|word| count(word).is_some())
        {
            return Taken::Yes;
        }
        let [key, id, _, _, bytes, attached, ..] = words.as_slice() else { return Taken::No };
        if !key.starts_with("0x") {
            return Taken::No;
        }
        let subject = Subject::Segment(format!("segment {id}"));
        match (count(bytes), count(attached)) {
            (Some(bytes), Some(attached)) => {
                out.put(Field::SegmentBytes, &subject, None, bytes as f64);
                out.put(Field::SegmentAttached, &subject, None, attached as f64);
            }
            _ => out.problem("no whole numbers for a segment's size and users: left out"),
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn segments_with_their_users() {
        let recording = read(
            "\n------ Shared Memory Segments --------\n\
             key        shmid      owner      perms      bytes      nattch     status      \n\
             0x00000000 4          oracle     600        10737418240 244        dest         \n\n",
        );
        all_understood(&recording);
        let segment = Subject::Segment("segment 4".into());
        assert_eq!(values(&recording, Field::SegmentBytes, &segment), [10_737_418_240.0]);
        assert_eq!(values(&recording, Field::SegmentAttached, &segment), [244.0]);
    }
}
