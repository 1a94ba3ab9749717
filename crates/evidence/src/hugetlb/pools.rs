//! Pools of all page sizes, out of the kernel's files by their paths: read just now, or recorded by
//! a capture.

use std::collections::BTreeMap;

use super::facts::{NodePool, Pool};
use hugewise_base::owner::Owner;
pub use hugewise_base::parse::pool_path::{NODES, POOLS};
use hugewise_base::parse::pool_path::{is_size, node_of_folder, page_of_folder};
use hugewise_base::parse::{decimal, kib_to_bytes};
use hugewise_base::units::Bytes;

/// Files of a pool.
pub const POOL_FILES: [&str; 5] = [
    "nr_hugepages",
    "free_hugepages",
    "resv_hugepages",
    "surplus_hugepages",
    "nr_overcommit_hugepages",
];
/// Files of a pool's share of a node.
pub const NODE_POOL_FILES: [&str; 3] = ["nr_hugepages", "free_hugepages", "surplus_hugepages"];

/// Settings of `hugetlb` beside the pools.
const LIMITS: [&str; 3] =
    ["proc/sys/vm/hugetlb_shm_group", "proc/sys/kernel/shmmax", "proc/sys/kernel/shmall"];

/// `hugetlb apply`: pools and limits of shared memory, until they are reverted, also over reboots:
/// configuration files write them again.
pub const OWNER: Owner = Owner {
    trail: "hugetlb.jsonl",
    owns: |file| is_size(file) || LIMITS.contains(&file),
    over_reboots: true,
};

/// Numbers of a pool by the names of their files.
type Numbers<'a> = BTreeMap<&'a str, u64>;

/// All pools, by page size. Files of other paths are passed over; a pool, or its share of a node,
/// without a total and a free number is left out.
pub fn from_files<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Pool> {
    let mut pools: BTreeMap<Bytes, Numbers<'_>> = BTreeMap::new();
    let mut shares: BTreeMap<(Bytes, u32), Numbers<'_>> = BTreeMap::new();
    let mut memory: BTreeMap<u32, Option<Bytes>> = BTreeMap::new();
    for (path, text) in files {
        if let Some((page, file)) = pool_file(path, POOLS) {
            pools.entry(page).or_default().extend(number(file, text));
        } else if let Some((node, rest)) = below_node(path) {
            let folder = path.strip_suffix(rest).unwrap_or_default();
            if rest == "meminfo" {
                memory.insert(node, node_size(text, "MemFree"));
            } else if let Some((page, file)) = pool_file(path, &format!("{folder}hugepages")) {
                shares.entry((page, node)).or_default().extend(number(file, text));
            }
        }
    }
    let node_pools = |page: Bytes| {
        let of_page = shares.range((page, 0)..=(page, u32::MAX));
        let share = |((_, node), numbers): (&(Bytes, u32), &Numbers<'_>)| {
            let memory_free = memory.get(node).copied().unwrap_or_default();
            Some(NodePool {
                node: *node,
                total: *numbers.get("nr_hugepages")?,
                free: *numbers.get("free_hugepages")?,
                surplus: numbers.get("surplus_hugepages").copied(),
                memory_free,
            })
        };
        of_page.filter_map(share).collect()
    };
    let pool = |(page, numbers): (&Bytes, &Numbers<'_>)| {
        Some(Pool {
            page: *page,
            total: *numbers.get("nr_hugepages")?,
            free: *numbers.get("free_hugepages")?,
            reserved: numbers.get("resv_hugepages").copied(),
            surplus: numbers.get("surplus_hugepages").copied(),
            overcommit: numbers.get("nr_overcommit_hugepages").copied(),
            nodes: node_pools(*page),
        })
    };
    pools.iter().filter_map(pool).collect()
}

fn number<'a>(file: &'a str, text: &str) -> Option<(&'a str, u64)> {
    Some((file, decimal(text.trim())?))
}

/// Page size and name of a file in `folder/hugepages-SIZEkB`.
fn pool_file<'a>(path: &'a str, folder: &str) -> Option<(Bytes, &'a str)> {
    let (size, file) = path.strip_prefix(folder)?.strip_prefix('/')?.split_once('/')?;
    Some((page_of_folder(size)?, file))
}

/// Number of a node, and the rest of the path below its folder.
fn below_node(path: &str) -> Option<(u32, &str)> {
    let (node, rest) = path.strip_prefix(NODES)?.strip_prefix('/')?.split_once('/')?;
    Some((node_of_folder(node)?, rest))
}

/// A size in a node's `meminfo`: `Node 0 MemFree:  24172192 kB`.
fn node_size(text: &str, key: &str) -> Option<Bytes> {
    let value = |line: &str| {
        let rest = line.trim_start().strip_prefix("Node ")?.split_once(' ')?.1;
        let value = rest.trim_start().strip_prefix(key)?.strip_prefix(':')?;
        kib_to_bytes(value).map(Bytes)
    };
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_of_two_sizes_on_two_nodes() {
        let small = "/sys/kernel/mm/hugepages/hugepages-2048kB";
        let large = "/sys/kernel/mm/hugepages/hugepages-1048576kB";
        let node = "/sys/devices/system/node/node1";
        let files = [
            (format!("{small}/nr_hugepages"), "64\n"),
            (format!("{small}/free_hugepages"), "60\n"),
            (format!("{small}/resv_hugepages"), "4\n"),
            (format!("{small}/demote"), "x\n"),
            (format!("{large}/nr_hugepages"), "1\n"),
            (format!("{large}/free_hugepages"), "1\n"),
            (format!("{node}/meminfo"), "Node 1 MemTotal: 8 kB\nNode 1 MemFree:   4 kB\n"),
            (format!("{node}/hugepages/hugepages-2048kB/nr_hugepages"), "32"),
            (format!("{node}/hugepages/hugepages-2048kB/free_hugepages"), "30"),
            (format!("{node}/hugepages/hugepages-1048576kB/nr_hugepages"), "1"),
            ("/sys/devices/system/node/online".to_owned(), "0-1"),
        ];
        let pools = from_files(files.iter().map(|(path, text)| (path.as_str(), *text)));
        let share = NodePool {
            node: 1,
            total: 32,
            free: 30,
            surplus: None,
            memory_free: Some(Bytes(4096)),
        };
        let wanted = [
            Pool {
                page: Bytes::mib(2),
                total: 64,
                free: 60,
                reserved: Some(4),
                nodes: vec![share],
                ..Pool::default()
            },
            Pool { page: Bytes(1 << 30), total: 1, free: 1, ..Pool::default() },
        ];
        assert_eq!(pools, wanted);
        assert_eq!((pools[0].available(), pools[0].held()), (56, 8));
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        let all = |path: &str, text| from_files([(path, text)].into_iter());
        for (path, text) in [
            ("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "64"),
            ("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "-1"),
            ("/sys/kernel/mm/hugepages/hugepages-3kB/nr_hugepages", "1"),
            ("/sys/devices/system/node/nodeX/hugepages/hugepages-2048kB/nr_hugepages", "1"),
            ("/sys/devices/system/node/node0", "1"),
        ] {
            assert_eq!(all(path, text), [], "{path}");
        }
        assert_eq!(page_of_folder("hugepages-0kB"), None);
        assert_eq!(page_of_folder("hugepages-18446744073709551615kB"), None);
    }
}
