//! `/proc/PID/mountinfo` (proc_pid_mountinfo(5), `show_mountinfo` of `fs/proc_namespace.c`).

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, numbered_lines};
use crate::size;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountEntry {
    /// Major device number of its files.
    pub dev_major: u32,
    /// Minor device number.
    pub dev_minor: u32,
    /// Where it is mounted, as the process sees it; invalid UTF-8 replaced.
    pub path: String,
    /// Type of the file system, such as `hugetlbfs`.
    pub kind: String,
    /// Options of the file system, not of the mount: `rw,pagesize=2M,size=4294967296`.
    pub options: String,
}

impl MountEntry {
    /// Whether its files are on HugeTLB pages.
    pub fn is_hugetlb(&self) -> bool {
        self.kind == "hugetlbfs"
    }

    /// The value of an option that is a size, in bytes: `pagesize`, `size`.
    pub fn size_option(&self, name: &str) -> Option<u64> {
        let mut values = self.options.split(',').filter_map(|option| option.split_once('='));
        let (_, value) = values.rfind(|(key, _)| *key == name)?;
        size::parse(value).ok().map(|size| size.0)
    }
}

/// Reads the file: bytes, because a path may contain any.
pub fn parse(text: &[u8]) -> Parsed<Vec<MountEntry>> {
    let mut parsed = Parsed::<Vec<MountEntry>>::empty();
    for (number, line) in numbered_lines(text) {
        match mount(line) {
            Some(entry) => parsed.value.push(entry),
            None => {
                let wanted = "'id parent major:minor root path ... - type source options'";
                parsed.note(ParseError::new("mountinfo", number, line, wanted));
            }
        }
    }
    parsed
}

fn mount(line: &[u8]) -> Option<MountEntry> {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let word = |at: usize| words.get(at).copied();
    let text = |at: usize| std::str::from_utf8(word(at)?).ok();
    let (major, minor) = text(2)?.split_once(':')?;
    // Optional fields of any number end with a single dash; options of the mount are before them.
    let dash = words.iter().skip(6).position(|word| *word == b"-")?.checked_add(6)?;
    Some(MountEntry {
        dev_major: decimal(major)?,
        dev_minor: decimal(minor)?,
        path: String::from_utf8_lossy(&unescape(word(4)?)).into_owned(),
        kind: text(dash.checked_add(1)?)?.to_owned(),
        options: String::from_utf8_lossy(word(dash.checked_add(3)?)?).into_owned(),
    })
}

/// Blanks, tabs, line ends, `#` and backslashes are a backslash and three octal digits (`mangle`
/// of `fs/proc_namespace.c`). Anything else behind a backslash stays as it is.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, after @ ..] = rest {
        let octal = match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        bytes.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_mounts_with_odd_paths_and_optional_fields() {
        let text = b"26 20 0:24 / /dev/huge\\040pages\\134a\\9 rw,relatime shared:11 master:1 - \
                     hugetlbfs none rw,seclabel,pagesize=2M,size=4294967296\n\
                     27 20 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                     28 20 0:39 / /gib rw - hugetlbfs hugetlbfs rw,pagesize=1024M\n";
        let parsed = parse(text);
        assert_eq!(parsed.problems, []);
        let [huge, plain, large] = &parsed.value[..] else { unreachable!() };
        assert_eq!(huge.path, "/dev/huge pages\\a\\9");
        assert_eq!((huge.dev_major, huge.dev_minor), (0, 24));
        assert_eq!(huge.size_option("pagesize"), Some(2 << 20));
        assert_eq!(huge.size_option("size"), Some(4 << 30));
        assert!(huge.is_hugetlb() && !plain.is_hugetlb());
        assert_eq!((plain.kind.as_str(), plain.size_option("size")), ("ext4", None));
        assert_eq!(large.size_option("pagesize"), Some(1 << 30));
        assert_eq!(large.size_option("size"), None);
    }

    #[test]
    fn reports_torn_lines() {
        let line = "26 20 0:24 / /huge rw,relatime - hugetlbfs none rw,pagesize=2M";
        for end in 1..line.len() - "rw,pagesize=2M".len() {
            let parsed = parse(&line.as_bytes()[..end]);
            assert_eq!((parsed.value.len(), parsed.problems.len()), (0, 1), "{end}");
        }
        assert_eq!(parse(b"26 20 0:x / /huge rw - a b c\n").value, []);
        assert_eq!(unescape(b"\\04"), b"\\04");
        assert_eq!(unescape(b"\\400"), b"\\400");
    }
}
