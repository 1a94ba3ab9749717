//! `/proc/meminfo` (proc_meminfo(5), `fs/proc/meminfo.c`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, key_and_value, kib_to_bytes, numbered_lines};

/// Memory of the machine. Sizes in bytes; the four counts of hugetlb pages are pages of
/// `hugetlb_page_bytes` each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemInfo {
    /// `MemTotal`: memory the kernel manages.
    pub mem_total_bytes: Option<u64>,
    /// `MemFree`: memory in no use at all.
    pub mem_free_bytes: Option<u64>,
    /// `MemAvailable`: the kernel's estimate of what new work could get without swapping.
    pub mem_available_bytes: Option<u64>,
    /// `Buffers`: page cache of block devices.
    pub buffers_bytes: Option<u64>,
    /// `Cached`: page cache of files, shared memory included.
    pub cached_bytes: Option<u64>,
    /// `AnonPages`: anonymous memory mapped by processes, huge pages included.
    pub anon_pages_bytes: Option<u64>,
    /// `AnonHugePages`: the part of it that is mapped as whole huge pages.
    pub anon_huge_pages_bytes: Option<u64>,
    /// `ShmemHugePages`: shared memory and tmpfs in huge pages, mapped or not.
    pub shmem_huge_pages_bytes: Option<u64>,
    /// `FileHugePages`: page cache in huge pages.
    pub file_huge_pages_bytes: Option<u64>,
    /// `PageTables`: memory of user page tables.
    pub page_tables_bytes: Option<u64>,
    /// `Slab`: kernel objects.
    pub slab_bytes: Option<u64>,
    /// `SReclaimable`: the part of `Slab` that can be given back under pressure.
    pub slab_reclaimable_bytes: Option<u64>,
    /// `SwapTotal`.
    pub swap_total_bytes: Option<u64>,
    /// `SwapFree`.
    pub swap_free_bytes: Option<u64>,
    /// `HugePages_Total`: pages in the hugetlb pool of the default size (a count).
    pub hugetlb_total: Option<u64>,
    /// `HugePages_Free`: pages of the pool not handed out (a count).
    pub hugetlb_free: Option<u64>,
    /// `HugePages_Rsvd`: free pages already promised (a count).
    pub hugetlb_reserved: Option<u64>,
    /// `HugePages_Surp`: pages above the configured pool size (a count).
    pub hugetlb_surplus: Option<u64>,
    /// `Hugepagesize`: size of one page of the default hugetlb pool.
    pub hugetlb_page_bytes: Option<u64>,
    /// `Hugetlb`: memory in hugetlb pools of all sizes.
    pub hugetlb_bytes: Option<u64>,
    /// `DirectMap4k`, `DirectMap2M`, ...: kernel address space by mapping size, under the part of
    /// the name after `DirectMap`.
    pub direct_map_bytes: BTreeMap<String, u64>,
}

/// Reads the file. Keys this program has no use for are passed over in silence.
pub fn parse(text: &str) -> Parsed<MemInfo> {
    let mut parsed = Parsed::<MemInfo>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        // A part of a `str` between line ends is always valid UTF-8.
        let line = std::str::from_utf8(line).unwrap_or_default();
        let Some((key, value)) = key_and_value(line) else {
            parsed.note(ParseError::new("meminfo", number, line, "'Key: value'"));
            continue;
        };
        if let Err(wanted) = store(&mut parsed.value, key, value) {
            parsed.note(ParseError::new("meminfo", number, line, wanted));
        }
    }
    parsed
}

fn store(info: &mut MemInfo, key: &str, value: &str) -> Result<(), &'static str> {
    if let Some(size) = key.strip_prefix("DirectMap") {
        let bytes = kib_to_bytes(value).ok_or("a number of kB")?;
        info.direct_map_bytes.insert(size.to_owned(), bytes);
    } else if let Some(slot) = size_slot(info, key) {
        *slot = Some(kib_to_bytes(value).ok_or("a number of kB")?);
    } else if let Some(slot) = count_slot(info, key) {
        *slot = Some(decimal(value).ok_or("a number of pages")?);
    }
    Ok(())
}

fn size_slot<'a>(info: &'a mut MemInfo, key: &str) -> Option<&'a mut Option<u64>> {
    Some(match key {
        "MemTotal" => &mut info.mem_total_bytes,
        "MemFree" => &mut info.mem_free_bytes,
        "MemAvailable" => &mut info.mem_available_bytes,
        "Buffers" => &mut info.buffers_bytes,
        "Cached" => &mut info.cached_bytes,
        "AnonPages" => &mut info.anon_pages_bytes,
        "AnonHugePages" => &mut info.anon_huge_pages_bytes,
        "ShmemHugePages" => &mut info.shmem_huge_pages_bytes,
        "FileHugePages" => &mut info.file_huge_pages_bytes,
        "PageTables" => &mut info.page_tables_bytes,
        "Slab" => &mut info.slab_bytes,
        "SReclaimable" => &mut info.slab_reclaimable_bytes,
        "SwapTotal" => &mut info.swap_total_bytes,
        "SwapFree" => &mut info.swap_free_bytes,
        "Hugepagesize" => &mut info.hugetlb_page_bytes,
        "Hugetlb" => &mut info.hugetlb_bytes,
        _ => return None,
    })
}

fn count_slot<'a>(info: &'a mut MemInfo, key: &str) -> Option<&'a mut Option<u64>> {
    Some(match key {
        "HugePages_Total" => &mut info.hugetlb_total,
        "HugePages_Free" => &mut info.hugetlb_free,
        "HugePages_Rsvd" => &mut info.hugetlb_reserved,
        "HugePages_Surp" => &mut info.hugetlb_surplus,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
MemTotal:       24684096 kB
MemFree:        24172192 kB
MemAvailable:   24325216 kB
Buffers:            3004 kB
Cached:           331796 kB
SReclaimable:      68276 kB
Committed_AS:      53108 kB
AnonHugePages:      2048 kB
HugePages_Total:       4
HugePages_Surp:        0
Hugepagesize:       2048 kB
DirectMap4k:       30720 kB
DirectMap2M:     2066432 kB
";

    #[test]
    fn reads_sizes_as_bytes_and_counts_as_counts() {
        let parsed = parse(TEXT);
        assert_eq!(parsed.problems, []);
        let info = parsed.value;
        assert_eq!(info.mem_total_bytes, Some(24_684_096 * 1024));
        assert_eq!(info.anon_huge_pages_bytes, Some(2 << 20));
        assert_eq!(info.hugetlb_total, Some(4));
        assert_eq!(info.hugetlb_surplus, Some(0));
        assert_eq!(info.direct_map_bytes.get("4k"), Some(&(30_720 * 1024)));
        // Not in the text, so unknown and not zero.
        assert_eq!(info.swap_total_bytes, None);
    }

    #[test]
    fn a_bad_line_hides_no_other() {
        let parsed = parse("MemTotal: lots kB\nMemFree: 8 kB\nnonsense\nCached: 12\n");
        assert_eq!(parsed.value.mem_free_bytes, Some(8192));
        assert_eq!(parsed.value.mem_total_bytes, None);
        assert_eq!(parsed.value.cached_bytes, None);
        let lines: Vec<usize> = parsed.problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [1, 3, 4]);
    }
}
