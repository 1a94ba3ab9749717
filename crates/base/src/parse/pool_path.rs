//! Paths of the files that size HugeTLB pools.

use super::decimal;
use crate::units::Bytes;

/// Folder of the pools, one folder for each page size in it
/// (`Documentation/ABI/testing/sysfs-kernel-mm-hugepages`).
pub const POOLS: &str = "/sys/kernel/mm/hugepages";
/// Folder of the NUMA nodes (`Documentation/ABI/stable/sysfs-devices-node`).
pub const NODES: &str = "/sys/devices/system/node";

/// The page size in a folder's name, such as `hugepages-2048kB`.
pub fn page_of_folder(name: &str) -> Option<Bytes> {
    let kib: u64 = decimal(name.strip_prefix("hugepages-")?.strip_suffix("kB")?)?;
    kib.checked_mul(1024).filter(|bytes| bytes.is_power_of_two()).map(Bytes)
}

/// Number of a node in a folder's name, such as `node0`.
pub fn node_of_folder(name: &str) -> Option<u32> {
    decimal(name.strip_prefix("node")?)
}

/// Whether a file, by its path below the root, sizes a pool or a NUMA node's share of one.
pub fn is_size(file: &str) -> bool {
    let below = |folder: &str| file.strip_prefix(folder.strip_prefix('/')?)?.strip_prefix('/');
    let folder = match (below(POOLS), below(NODES).and_then(|rest| rest.split_once("/hugepages/")))
    {
        (Some(rest), _) => rest,
        (None, Some((node, rest))) if node_of_folder(node).is_some() => rest,
        _ => return false,
    };
    folder.strip_suffix("/nr_hugepages").is_some_and(|name| page_of_folder(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_pools_are_pools() {
        for good in [
            "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
            "sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages",
        ] {
            assert!(is_size(good), "{good}");
        }
        for bad in [
            "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
            "sys/kernel/mm/hugepages/hugepages-../../x/nr_hugepages",
            "sys/devices/system/node/node0/../x/hugepages/hugepages-2048kB/nr_hugepages",
            "etc/passwd",
        ] {
            assert!(!is_size(bad), "{bad}");
        }
    }
}
