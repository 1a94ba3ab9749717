//! NUMA nodes, and whether the kernel says on which of them a page lies.

use super::finding::Finding;
use crate::machine;
use crate::root::Root;
use hugewise_sys::Errno;
use hugewise_sys::numa;
use rustix::io::Errno as Known;

/// Looks; nothing is asked where only one node has memory.
pub(super) fn look(root: &Root) -> Finding {
    let nodes = machine::nodes_with_memory(root).map_or(1, |nodes| nodes.len());
    if nodes <= 1 {
        return Finding::with("one node: there is nothing to choose");
    }
    if !root.is_live() {
        return Finding::unknown(format!("{nodes} nodes; can only be asked on the live machine"));
    }
    match numa::nodes_of(std::process::id(), &[]) {
        Ok(_) => Finding::with(format!("{nodes} nodes")),
        Err(Errno(errno)) if errno == Known::NOSYS.raw_os_error() => {
            Finding::absent("this kernel does not know move_pages")
        }
        Err(errno) => Finding::refused(format!("move_pages: {errno}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;
    use hugewise_scratch::Scratch;

    #[test]
    fn several_nodes_are_counted() {
        let scratch = Scratch::new();
        let folder = scratch.join("sys/devices/system/node");
        std::fs::create_dir_all(&folder).expect("a folder");
        let root = Root::at(scratch.path());
        assert_eq!(look(&root).state, State::Present);
        std::fs::write(folder.join("has_memory"), "0\n").expect("a file");
        assert_eq!(look(&root).state, State::Present);
        std::fs::write(folder.join("has_memory"), "0,2-3\n").expect("a file");
        let State::Unknown(why) = look(&root).state else { panic!("{:?}", look(&root)) };
        assert!(why.starts_with("3 nodes; "), "{why}");
    }
}
