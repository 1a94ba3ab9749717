//! `mount` and `/proc/mounts`, `df`: which file systems there are, where they are, how full.

use super::prelude::*;
use super::sysstat::is_elision;
use crate::recording::words::REMOTE_FILE_SYSTEMS;

/// The setting that names file systems of other machines.
pub const REMOTE_MOUNTS: &str = "mounts over the network";
/// Its text where the list is complete and has none.
pub const NONE_REMOTE: &str = "none";
/// Most of them that are named.
const NAMED_MAX: usize = 3;

/// Types that are full by nature: images that are only read.
const IMAGES: [&str; 4] = ["squashfs", "iso9660", "erofs", "udf"];

/// Source, place and type of a mount: a line of `mount`, or of `/proc/mounts`.
fn mount(line: &str) -> Option<(&str, &str, &str)> {
    if let Some((source, rest)) = line.split_once(" on /") {
        let (path, rest) = rest.split_once(" type ")?;
        let path = &line[source.len() + 4..source.len() + 5 + path.len()];
        let (kind, options) = rest.split_once(" (")?;
        let plain = !source.contains(' ') && !kind.contains(' ');
        return (plain && options.contains(')')).then_some((source, path, kind));
    }
    let words = words(line);
    let [source, path, kind, options, "0" | "1", "0" | "1" | "2"] = words.as_slice() else {
        return None;
    };
    let options = options.starts_with("rw") || options.starts_with("ro");
    (path.starts_with('/') && options).then_some((*source, *path, *kind))
}

/// What captures keep of a line of `/proc/mounts`: those of other machines and the root, without
/// options and users' names.
pub fn kept(line: &str) -> Option<String> {
    let (source, path, kind) = mount(line)?;
    let source = source.rsplit_once('@').map_or(source, |(_, machine)| machine);
    (path == "/" || REMOTE_FILE_SYSTEMS.contains(&kind))
        .then(|| format!("{source} {path} {kind} rw 0 0\n"))
}

/// What a list of mounts says of other machines: [`NONE_REMOTE`] only where it has the root, for
/// it may be a part of the list.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    remote: Vec<String>,
    root: bool,
}

impl Mounts {
    /// Takes a line; `false` when it is no mount.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let Some((source, path, kind)) = mount(line) else { return false };
        self.root |= path == "/";
        if REMOTE_FILE_SYSTEMS.contains(&kind) {
            self.remote.push(format!("{source} on {path} ({kind})"));
        }
        true
    }

    /// Says what they were.
    pub(super) fn put(&self, out: &mut Builder) {
        let more = self.remote.len().saturating_sub(NAMED_MAX);
        let mut text = self.remote.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
        if !self.remote.is_empty() {
            out.setting(REMOTE_MOUNTS, &text);
        } else if self.root {
            out.setting(REMOTE_MOUNTS, NONE_REMOTE);
        }
    }
}

impl Reader for Mounts {
    fn take(&mut self, line: &str, _out: &mut Builder) -> Taken {
        if is_elision(line) || self.line(line) { Taken::Yes } else { Taken::No }
    }

    fn end(&mut self, out: &mut Builder) {
        self.put(out);
    }
}

/// Begins at a mount.
pub(super) fn begins_mounts(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    mount(lines.ahead(0))?;
    Some(lines.begin(SourceKind::Mounts, Mounts::default(), out))
}

/// `df`, or with `-i` its inodes.
struct Df {
    field: Field,
    /// A long name stands on a line of its own.
    source: Option<String>,
}

/// The field of the rows below headings such as `Filesystem Size Used Avail Use% Mounted on`,
/// translated or not.
fn headings(line: &str) -> Option<Field> {
    let words = words(line);
    let first = words.first()?.to_lowercase();
    let named = ["filesystem", "dateisystem", "sys.", "s.ficheros", "fichiers"].contains(&&*first);
    // With `-P` the column has a word of its own.
    let percent = |word: &&&str| word.len() > 1 && word.ends_with('%') || **word == "Capacity";
    let percent = words.iter().find(percent)?;
    let inodes = percent.starts_with('I') || percent.starts_with("UI");
    named.then_some(if inodes { Field::FsInodes } else { Field::FsUsed })
}

/// A row without its headings: `tmpfs 48G 47G 1.6G 97% /dev/shm`.
fn is_row(line: &str) -> bool {
    let size = |word: &&str| {
        number_and_unit(word).is_some_and(|(_, unit)| {
            unit.is_empty() || binary_factor(unit.trim_end_matches(['i', 'B'])).is_some()
        })
    };
    match words(line).as_slice() {
        [source, sizes @ .., percent, path] if sizes.len() == 3 => {
            let device = source.starts_with("/dev/") || source.contains("tmpfs");
            let percent = percent.strip_suffix('%').is_some_and(|p| number(p).is_some());
            device && percent && path.starts_with('/') && sizes.iter().all(size)
        }
        _ => false,
    }
}

/// Begins at the headings, or at a row without them.
pub(super) fn begins_df(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let row = || is_row(lines.ahead(0)).then_some(Field::FsUsed);
    let field = headings(lines.ahead(0)).or_else(row)?;
    Some(lines.begin(SourceKind::Df, Df { field, source: None }, out))
}

impl Reader for Df {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if is_elision(line) {
            return Taken::Yes;
        }
        if let Some(field) = headings(line) {
            self.field = field;
            return Taken::Yes;
        }
        let words = words(line);
        if let [source] = words.as_slice()
            && (source.starts_with('/') || source.contains(":/"))
        {
            self.source = Some((*source).to_owned());
            return Taken::Yes;
        }
        let is_percent = |word: &&str| *word == "-" || word.strip_suffix('%').is_some();
        let Some(at) = words.iter().position(is_percent) else { return Taken::No };
        let path = words[at + 1..].join(" ");
        if !path.starts_with('/') {
            return Taken::No;
        }
        let source = self.source.take();
        let source = source.as_deref().or(words.first().copied()).unwrap_or_default();
        let image = ["/dev/loop", "/dev/sr"].iter().any(|device| source.starts_with(device))
            || words[..at].iter().any(|word| IMAGES.contains(word));
        let percent = words[at].strip_suffix('%').and_then(number);
        if let Some(percent) = percent.filter(|percent| *percent <= 100.0 && !image) {
            out.put(self.field, &Subject::Filesystem(path), None, percent);
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    fn remote(text: &str) -> Option<String> {
        let recording = read(text);
        all_understood(&recording);
        let setting = recording.hosts.first().and_then(|host| host.settings.get(REMOTE_MOUNTS));
        setting.map(|quote| quote.text.clone())
    }

    #[test]
    fn mounts_of_other_machines_are_named_in_both_forms() {
        let text = "/dev/sda1 on / type ext4 (rw,relatime)\n\
                    nas1:/export/my data on /mnt/a type nfs4 (rw,addr=192.0.2.7)\n";
        assert_eq!(
            remote(&text.replace("my data", "data")).as_deref(),
            Some("nas1:/export/data on /mnt/a (nfs4)")
        );
        let text = "/dev/sda1 / ext4 rw,relatime 0 1\n//srv/x /mnt/b cifs rw,vers=3.0 0 0\n";
        assert_eq!(remote(text).as_deref(), Some("//srv/x on /mnt/b (cifs)"));
    }

    #[test]
    fn none_is_said_only_of_a_whole_list() {
        let whole = "/dev/sda1 on / type ext4 (rw)\ntmpfs on /run type tmpfs (rw)\n";
        assert_eq!(remote(whole).as_deref(), Some(NONE_REMOTE));
        assert_eq!(remote("tmpfs on /run type tmpfs (rw)\n"), None);
    }

    #[test]
    fn a_capture_keeps_no_options() {
        let text = "//bob:pw@srv/x /mnt cifs rw,username=bob,password=pw 0 0";
        assert_eq!(kept(text).as_deref(), Some("srv/x /mnt cifs rw 0 0\n"));
        assert_eq!(kept("tmpfs /run tmpfs rw 0 0"), None);
    }

    #[test]
    fn file_systems_have_their_use_and_images_none() {
        let text = "\
Filesystem                         Size  Used Avail Use% Mounted on
udev                               7.8G     0  7.8G   0% /dev
/dev/mapper/vg0-a-very-long-name-of-a-volume
                                    98G   98G     0 100% /var/lib/my data
/dev/loop3                          64M   64M     0 100% /snap/core20/2318
";
        let recording = read(text);
        all_understood(&recording);
        let used =
            |path: &str| values(&recording, Field::FsUsed, &Subject::Filesystem(path.into()));
        assert_eq!(used("/var/lib/my data"), [100.0]);
        assert_eq!(used("/dev"), [0.0]);
        assert_eq!(used("/snap/core20/2318"), [0.0; 0]);
    }

    #[test]
    fn a_row_without_headings() {
        let recording =
            read("$ df -h /dev/shm | tail -1\ntmpfs            48G   47G  1.6G  97% /dev/shm\n");
        all_understood(&recording);
        let shm = Subject::Filesystem("/dev/shm".into());
        assert_eq!(values(&recording, Field::FsUsed, &shm), [97.0]);
        assert!(read("up 48G 47G 1.6G 97% /dev/shm\n").hosts.is_empty());
    }

    #[test]
    fn inodes_types_and_other_languages() {
        let text = "\
Filesystem     Type     Inodes IUsed  IFree IUse% Mounted on
/dev/sdb1      ext4    6553600 6553600    0  100% /data
/dev/sdc1      btrfs         0     0      0     - /media
/dev/sr1       iso9660       9     9      0  100% /cd
Filesystem     Type 1024-blocks Used Available Capacity Mounted on
/dev/sde1      ext4     6030784    9   4571556      21% /old
Dateisystem    1K-Blöcke Benutzt Verfügbar Verw% Eingehängt auf
/dev/sda1       98831908  51234   42531234   55% /
";
        let recording = read(text);
        all_understood(&recording);
        let value =
            |field, path: &str| values(&recording, field, &Subject::Filesystem(path.into()));
        assert_eq!(value(Field::FsInodes, "/data"), [100.0]);
        assert_eq!(value(Field::FsInodes, "/media"), [0.0; 0]);
        assert_eq!(value(Field::FsUsed, "/"), [55.0]);
        assert_eq!(value(Field::FsUsed, "/old"), [21.0]);
    }
}
