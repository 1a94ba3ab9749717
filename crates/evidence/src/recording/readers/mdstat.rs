//! `/proc/mdstat`: arrays of disks that lack a disk, or are rebuilt or checked (`md_seq_show` in
//! `drivers/md/md.c`).

use super::prelude::*;

/// What is done to an array.
const WORKS: [&str; 5] = ["recovery", "resync", "reshape", "check", "repair"];

/// `md0 : active raid1 sdb1[1] sda1[0]`.
fn array(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(" : ")?;
    let state = ["active", "inactive", "read-auto"].iter().any(|state| rest.starts_with(state));
    // What writes the start of a line large makes it `Md0`.
    let named = name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("md"));
    (named && state && !name.contains(char::is_whitespace)).then_some(name)
}

/// `[6/5]` or `[UUUUU_]`: disks that an array lacks.
fn lacks(line: &str) -> Option<u64> {
    line.split_whitespace().find_map(|word| {
        let inside = word.strip_prefix('[')?.strip_suffix(']')?;
        let (all, live) = inside.split_once('/')?;
        count(all)?.checked_sub(count(live)?)
    })
}

/// `[==>....]  recovery = 12.6% (37043392/292945152) finish=127.5min speed=33440K/sec`.
fn work(line: &str) -> Option<(&'static str, f64)> {
    let (what, rest) = line.split_once('=').and_then(|_| {
        let name = WORKS.iter().find(|name| line.contains(&format!("{name} =")))?;
        Some((*name, line.split_once(&format!("{name} ="))?.1))
    })?;
    let percent = number(rest.trim_start().split('%').next()?)?;
    (percent <= 100.0).then_some((what, percent))
}

/// Begins at the list of kinds, at an array, or at one that `mdadm --detail` describes.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let described = line.trim().strip_prefix("/dev/md").and_then(|rest| rest.strip_suffix(':'));
    if let Some(name) = described.filter(|_| lines.ahead(1).trim().starts_with("Version : ")) {
        let array = format!("md{}", name.trim_start_matches('/'));
        return Some(lines.begin(SourceKind::Mdstat, Detail { array, disks: None }, out));
    }
    (line.starts_with("Personalities :") || array(line).is_some())
        .then(|| lines.resume(SourceKind::Mdstat, Mdstat { array: None }, out))
}

/// The setting that says what is done to an array.
pub(crate) fn work_setting(array: &str) -> String {
    format!("work on array {array}")
}

struct Mdstat {
    array: Option<String>,
}

impl Reader for Mdstat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() || line.starts_with("Personalities :") {
            return Taken::Yes;
        }
        if let Some(name) = array(line) {
            self.array = Some(name.to_owned());
            return Taken::Yes;
        }
        if line.starts_with("unused devices:") {
            return Taken::Yes;
        }
        // Pages on the web lose the blanks in front.
        let own = line.starts_with(' ') || lacks(line).is_some() || work(line).is_some();
        let Some(name) = self.array.as_deref().filter(|_| own) else { return Taken::No };
        let subject = Subject::Named(format!("array {name}"));
        if let Some((what, percent)) = work(line) {
            out.put(Field::ArrayRebuilt, &subject, None, percent);
            out.setting(&work_setting(name), what);
        } else if let Some(missing) = lacks(line) {
            out.put(Field::ArrayLacks, &subject, None, missing as f64);
        }
        Taken::Yes
    }
}

/// What `mdadm --detail` says of an array: `Raid Devices : 10`, `Active Devices : 9`.
struct Detail {
    array: String,
    /// As many as it should have.
    disks: Option<u64>,
}

impl Reader for Detail {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() || line.trim().starts_with("/dev/md") {
            return Taken::Yes;
        }
        let subject = Subject::Named(format!("array {}", self.array));
        let row = line.trim().starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let Some((key, value)) = line.split_once(" : ") else {
            let heading = line.contains("RaidDevice");
            return if row || heading { Taken::Yes } else { Taken::No };
        };
        match (key.trim(), count(value.trim())) {
            ("Raid Devices", disks) => self.disks = disks,
            ("Active Devices", Some(live)) => {
                let lacks = self.disks.and_then(|disks| disks.checked_sub(live));
                out.put_known(Field::ArrayLacks, &subject, None, lacks.map(|lacks| lacks as f64));
            }
            ("Rebuild Status" | "Resync Status" | "Reshape Status", _) => {
                let percent = value.trim().split('%').next().and_then(number);
                out.put_known(Field::ArrayRebuilt, &subject, None, percent);
                let what = key.trim().split(' ').next().unwrap_or_default().to_ascii_lowercase();
                out.setting(&work_setting(&self.array), &what);
            }
            _ => {}
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn arrays_that_lack_a_disk_and_are_rebuilt() {
        let recording = read(
            "Personalities : [raid1] [raid6] [raid5] [raid4] \n\
             md1 : active raid1 sdb1[1] sda1[0]\n      1047552 blocks [2/2] [UU]\n      \n\
             md2 : active raid5 sdf1[5] sde1[3] sdd1[2](F) sdc1[1]\n      \
             8790402048 blocks super 1.2 level 5, 512k chunk, algorithm 2 [4/3] [UU_U]\n      \
             [==>..................]  recovery = 12.6% (37043392/292945152) finish=127.5min \
             speed=33440K/sec\n      bitmap: 3/22 pages [12KB], 65536KB chunk\n\n\
             unused devices: <none>\n",
        );
        all_understood(&recording);
        let of = |name: &str| Subject::Named(format!("array {name}"));
        assert_eq!(values(&recording, Field::ArrayLacks, &of("md1")), [0.0]);
        assert_eq!(values(&recording, Field::ArrayLacks, &of("md2")), [1.0]);
        assert_eq!(values(&recording, Field::ArrayRebuilt, &of("md2")), [12.6]);
        let settings = &recording.hosts[0].settings;
        assert_eq!(settings[&work_setting("md2")].text, "recovery");
    }
}
