//! `/proc/PID/smaps` and `smaps_rollup` (proc_pid_smaps(5)): the fields that tell of huge pages.

use serde::{Deserialize, Serialize};

use super::maps::{MapEntry, MapRange, map_line, range};
use super::{ParseError, Parsed, decimal, key_and_value, kib_to_bytes, numbered_lines};

/// One mapping with its memory, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmapsEntry {
    /// The mapping; named `[rollup]` in a rollup.
    pub map: MapEntry,
    /// `Rss`: resident memory.
    pub rss_bytes: Option<u64>,
    /// `Pss`: resident memory, each page divided by the number of its users.
    pub pss_bytes: Option<u64>,
    /// `Referenced`: pages marked as accessed.
    pub referenced_bytes: Option<u64>,
    /// `Anonymous`: memory that belongs to no file.
    pub anonymous_bytes: Option<u64>,
    /// `AnonHugePages`: anonymous memory mapped as whole huge pages.
    pub anon_huge_pages_bytes: Option<u64>,
    /// `ShmemPmdMapped`: shared memory mapped as whole huge pages.
    pub shmem_pmd_mapped_bytes: Option<u64>,
    /// `FilePmdMapped`: page cache mapped as whole huge pages.
    pub file_pmd_mapped_bytes: Option<u64>,
    /// `KernelPageSize`: size of the pages it is made of; above the base page for HugeTLB.
    pub kernel_page_bytes: Option<u64>,
    /// `Shared_Hugetlb` (Linux 4.4): resident HugeTLB pages that others map, too; not in `Rss`.
    pub shared_hugetlb_bytes: Option<u64>,
    /// `Private_Hugetlb` (Linux 4.4): resident HugeTLB pages that nobody else maps; not in `Rss`.
    pub private_hugetlb_bytes: Option<u64>,
    /// `THPeligible` (Linux 5.0): whether a fault or khugepaged could make a huge page here.
    pub thp_eligible: Option<bool>,
    /// `VmFlags`: two letters each, as written: `hg` advised, `nh` advised against,
    /// `ht` HugeTLB.
    pub vm_flags: Option<Vec<String>>,
}

impl SmapsEntry {
    fn new(map: MapEntry) -> Self {
        Self {
            map,
            rss_bytes: None,
            pss_bytes: None,
            referenced_bytes: None,
            anonymous_bytes: None,
            anon_huge_pages_bytes: None,
            shmem_pmd_mapped_bytes: None,
            file_pmd_mapped_bytes: None,
            kernel_page_bytes: None,
            shared_hugetlb_bytes: None,
            private_hugetlb_bytes: None,
            thp_eligible: None,
            vm_flags: None,
        }
    }

    /// Whether it is on HugeTLB pages; `None` where the text does not say. `base_bytes` is the size
    /// of a base page.
    pub fn is_hugetlb(&self, base_bytes: u64) -> Option<bool> {
        let flag = self.vm_flags.as_ref().map(|flags| flags.iter().any(|flag| flag == "ht"));
        flag.or_else(|| self.kernel_page_bytes.map(|page| page > base_bytes))
    }

    /// HugeTLB pages of it that this process has touched, in bytes.
    pub fn hugetlb_bytes(&self) -> Option<u64> {
        self.shared_hugetlb_bytes?.checked_add(self.private_hugetlb_bytes?)
    }

    fn store(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        let bytes = || kib_to_bytes(value).map(Some).ok_or("a number of kB");
        match key {
            "Rss" => self.rss_bytes = bytes()?,
            "Pss" => self.pss_bytes = bytes()?,
            "Referenced" => self.referenced_bytes = bytes()?,
            "Anonymous" => self.anonymous_bytes = bytes()?,
            "AnonHugePages" => self.anon_huge_pages_bytes = bytes()?,
            "ShmemPmdMapped" => self.shmem_pmd_mapped_bytes = bytes()?,
            "FilePmdMapped" => self.file_pmd_mapped_bytes = bytes()?,
            "KernelPageSize" => self.kernel_page_bytes = bytes()?,
            "Shared_Hugetlb" => self.shared_hugetlb_bytes = bytes()?,
            "Private_Hugetlb" => self.private_hugetlb_bytes = bytes()?,
            "THPeligible" => {
                self.thp_eligible = Some(decimal::<u64>(value).ok_or("a number")? != 0);
            }
            "VmFlags" => {
                let flags = value.split_ascii_whitespace().map(str::to_owned);
                self.vm_flags = Some(flags.collect());
            }
            _ => {}
        }
        Ok(())
    }
}

/// Reads the file: bytes, because a path may contain any.
///
/// Fields after a header that could not be read are left out with it, so that they are not taken
/// for the mapping before.
pub fn parse(text: &[u8]) -> Parsed<Vec<SmapsEntry>> {
    let mut parsed = Parsed::<Vec<SmapsEntry>>::empty();
    let mut header_was_read = false;
    for (number, bytes) in numbered_lines(text) {
        // Field names start with a capital letter, headers with a lower-case hexadecimal digit.
        if !bytes[0].is_ascii_uppercase() {
            header_was_read = false;
            match map_line(bytes) {
                Ok(map) => {
                    parsed.value.push(SmapsEntry::new(map));
                    header_was_read = true;
                }
                Err(wanted) => parsed.note(ParseError::new("smaps", number, bytes, wanted)),
            }
            continue;
        }
        let line = String::from_utf8_lossy(bytes);
        let entry = parsed.value.last_mut().filter(|_| header_was_read);
        let stored = match (entry, key_and_value(&line)) {
            (_, None) => Err("'Key: value'"),
            (None, Some(_)) => Ok(()),
            (Some(entry), Some((key, value))) => entry.store(key, value),
        };
        if let Err(wanted) = stored {
            parsed.note(ParseError::new("smaps", number, bytes, wanted));
        }
    }
    parsed
}

/// What one line says, for readers of many lines that keep no mapping's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmapsLine {
    /// A mapping begins; the lines that follow are its fields.
    Mapping(MapRange),
    /// `Rss`, bytes.
    Rss(u64),
    /// `Referenced`, bytes.
    Referenced(u64),
    /// `AnonHugePages`, bytes.
    AnonHuge(u64),
    /// The last field of every mapping (`VmFlags`, Linux 3.8).
    Flags,
    /// Any other field.
    Other,
}

/// Reads one line; a mapping's may end anywhere in its name.
///
/// # Errors
/// What was wanted where it went wrong.
pub fn line(bytes: &[u8]) -> Result<SmapsLine, &'static str> {
    if !bytes.first().is_some_and(u8::is_ascii_uppercase) {
        return range(bytes).map(SmapsLine::Mapping);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "text")?;
    let (key, value) = key_and_value(text).ok_or("'Key: value'")?;
    let number = || kib_to_bytes(value).ok_or("a number of kB");
    Ok(match key {
        "Rss" => SmapsLine::Rss(number()?),
        "Referenced" => SmapsLine::Referenced(number()?),
        "AnonHugePages" => SmapsLine::AnonHuge(number()?),
        "VmFlags" => SmapsLine::Flags,
        _ => SmapsLine::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::super::maps::MapName;
    use super::*;

    const TEXT: &str = "\
7f04d8000000-7f04da000000 rw-p 00000000 00:00 0 
Size:              32768 kB
KernelPageSize:        4 kB
Rss:               32768 kB
Pss:               32768 kB
Pss_Dirty:         32768 kB
Referenced:        32768 kB
Anonymous:         32768 kB
AnonHugePages:     30720 kB
ShmemPmdMapped:        0 kB
FilePmdMapped:         0 kB
THPeligible:           1
VmFlags: rd wr mr mw me ac hg 
7f04db000000-7f04db200000 r--p 00000000 fe:00 325835                     /usr/lib/libx.so
Rss:                   8 kB
THPeligible:           0
VmFlags: rd mr mw me 
";

    #[test]
    fn reads_huge_page_fields() {
        let parsed = parse(TEXT.as_bytes());
        assert_eq!(parsed.problems, []);
        assert_eq!(parsed.value.len(), 2);
        let [first, second] = &parsed.value[..] else { unreachable!() };
        assert_eq!(first.anon_huge_pages_bytes, Some(30 << 20));
        assert_eq!(first.thp_eligible, Some(true));
        let flags = first.vm_flags.as_deref().unwrap_or_default();
        assert_eq!(flags, ["rd", "wr", "mr", "mw", "me", "ac", "hg"]);
        assert_eq!(second.rss_bytes, Some(8192));
        assert_eq!(second.anon_huge_pages_bytes, None);
        assert_eq!(second.thp_eligible, Some(false));
    }

    #[test]
    fn single_lines_say_what_the_whole_text_says() {
        let lines: Vec<_> = TEXT.lines().map(|text| line(text.as_bytes())).collect();
        let Ok(SmapsLine::Mapping(first)) = lines[0] else { panic!("{:?}", lines[0]) };
        assert_eq!((first.start, first.end), (0x7f04_d800_0000, 0x7f04_da00_0000));
        assert_eq!(lines[3], Ok(SmapsLine::Rss(32 << 20)));
        assert_eq!(lines[6], Ok(SmapsLine::Referenced(32 << 20)));
        assert_eq!(lines[8], Ok(SmapsLine::AnonHuge(30 << 20)));
        assert_eq!((lines[1], lines[12]), (Ok(SmapsLine::Other), Ok(SmapsLine::Flags)));
        assert!(matches!(lines[13], Ok(SmapsLine::Mapping(_))));
        for wrong in ["", "Rss", "Rss: 4", "Referenced: x kB", "1-", "\u{e9}"] {
            assert!(line(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(line(b"Rss\xff: 4 kB").is_err());
    }

    #[test]
    fn tells_hugetlb_memory() {
        let text = "7fb3ec200000-7fb3eca00000 rw-s 00000000 00:11 1212451  /SYSV0 (deleted)\n\
                    KernelPageSize:     2048 kB\nRss:                   0 kB\n\
                    Shared_Hugetlb:     2048 kB\nPrivate_Hugetlb:    4096 kB\n";
        let entry = |text: &str| parse(text.as_bytes()).value.remove(0);
        let bare = entry(text);
        assert_eq!((bare.is_hugetlb(4096), bare.hugetlb_bytes()), (Some(true), Some(6 << 20)));
        let flagged = entry(&format!("{text}VmFlags: rd wr sh de ht \n"));
        assert_eq!(flagged.is_hugetlb(4096), Some(true));
        // Devices may have large pages of their own.
        let other = entry(&format!("{text}VmFlags: rd wr sh \n"));
        assert_eq!(other.is_hugetlb(4096), Some(false));
        let cut = entry(&text[..text.len() / 2]);
        assert_eq!((cut.is_hugetlb(4096), cut.hugetlb_bytes()), (None, None));
    }

    #[test]
    fn fields_without_their_header_belong_to_nobody() {
        let text = TEXT.replace("7f04db000000-", "7f04db00000z-");
        let parsed = parse(text.as_bytes());
        assert_eq!((parsed.value.len(), parsed.problems.len()), (1, 1));
        assert_eq!(parsed.value[0].rss_bytes, Some(32 << 20));
    }

    #[test]
    fn a_rollup_is_one_entry() {
        let text = "559f3e9ef000-7ffe188cc000 ---p 00000000 00:00 0    [rollup]\nRss: 4 kB\n";
        let parsed = parse(text.as_bytes());
        assert_eq!(parsed.value[0].map.name, MapName::Special("[rollup]".into()));
        assert_eq!(parsed.value[0].rss_bytes, Some(4096));
    }
}
