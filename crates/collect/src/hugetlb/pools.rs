//! The kernel's files of HugeTLB pools.

use std::collections::BTreeMap;

use hugewise_base::parse::pool_path::{node_of_folder, page_of_folder};
use hugewise_evidence::hugetlb::pools::{NODE_POOL_FILES, NODES, POOL_FILES, POOLS};

use hugewise_linux::root::Root;

/// Files of the pools of all page sizes, and of their shares of NUMA nodes, that are there.
pub fn files(root: &Root) -> Vec<String> {
    let mut files = below(root, POOLS, &POOL_FILES);
    for node in nodes(root) {
        files.extend(below(root, &format!("{NODES}/{node}/hugepages"), &NODE_POOL_FILES));
    }
    files
}

fn nodes(root: &Root) -> Vec<String> {
    let folders = root.names(NODES, true).into_iter();
    folders.filter(|name| node_of_folder(name).is_some()).collect()
}

fn below(root: &Root, folder: &str, names: &[&str]) -> Vec<String> {
    let sizes = root.names(folder, true).into_iter().filter(|n| page_of_folder(n).is_some());
    let paths = sizes.flat_map(|size| names.iter().map(move |n| format!("{folder}/{size}/{n}")));
    paths.filter(|path| root.has(path)).collect()
}

/// Their texts by path, and what memory each node has.
pub fn texts(root: &Root) -> BTreeMap<String, String> {
    let memory = nodes(root).into_iter().map(|node| format!("{NODES}/{node}/meminfo"));
    let all = files(root).into_iter().chain(memory);
    all.filter_map(|path| Some((root.read_text(&path).ok()?, path)))
        .map(|(text, path)| (path, text))
        .collect()
}
