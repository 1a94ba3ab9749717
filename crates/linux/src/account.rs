//! Which user stands for an id: whoever has many ids is one user all the same.
//!
//! A user may be lent thousands of ids (`/etc/subuid`) and run a process under each. Their shares
//! would add up, so they are his: by the file, and where it says nothing, by the user namespace in
//! which the process runs. Whoever made the outermost one that is not the machine's stands for it.

use crate::root::Root;
use hugewise_base::parse::passwd::{self, User};
use hugewise_base::parse::subid;
use hugewise_sys::namespace;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;

/// Users by id, as far as `/etc/passwd` knows them.
pub fn users(root: &Root) -> BTreeMap<u32, User> {
    passwd::parse(&root.read("etc/passwd").unwrap_or_default()).value
}

/// Groups in which `/etc/group` names a user, but root's.
pub fn supplementary_groups(root: &Root, user: &User) -> Vec<u32> {
    let text = root.read("etc/group").unwrap_or_default();
    let groups = passwd::supplementary_groups(&text, &user.name);
    groups.into_iter().filter(|gid| *gid != 0).collect()
}

/// Ids that were lent, and to whom.
#[derive(Debug)]
pub(crate) struct Accounts {
    lent: Vec<(Range<u32>, u32)>,
    /// The user namespace of this process, which is mostly the machine's.
    own_namespace: Option<PathBuf>,
}

impl Accounts {
    /// As the root's files say.
    pub(crate) fn of(root: &Root) -> Self {
        let text = root.read("etc/subuid").unwrap_or_default();
        let users = users(root);
        let id_of = |owner: &str| {
            let named = users.iter().find(|(_, user)| user.name == owner).map(|(id, _)| *id);
            named.or_else(|| owner.parse().ok())
        };
        let lent = subid::parse(&text).value;
        let lent = lent.into_iter().filter_map(|lent| Some((lent.ids, id_of(&lent.owner)?)));
        let own_namespace = std::fs::read_link(root.path("proc/self/ns/user")).ok();
        Self { lent: lent.collect(), own_namespace }
    }

    /// Who stands for `uid`, of process `pid`; `None`: the user himself.
    pub(crate) fn of_uid(&self, root: &Root, pid: u32, uid: u32) -> Option<u32> {
        let lent = self.lent.iter().find(|(ids, _)| ids.contains(&uid));
        lent.map(|(_, owner)| *owner).or_else(|| self.owner_of_namespace(root, pid))
    }

    /// The owner of the outermost user namespace of a process that is not this one's.
    fn owner_of_namespace(&self, root: &Root, pid: u32) -> Option<u32> {
        let path = root.path(format!("proc/{pid}/ns/user"));
        let name = std::fs::read_link(&path).ok();
        if !root.is_live() || name.is_none() || name == self.own_namespace {
            return None;
        }
        outermost_owner(File::open(path).ok()?)
    }
}

fn outermost_owner(mut outermost: File) -> Option<u32> {
    // At most 32 lie in each other (`create_user_ns` in `kernel/user_namespace.c`). The machine's
    // own, which has no parent, is not one of them.
    for _ in 0..33 {
        let Ok(parent) = namespace::parent(&outermost) else { break };
        if namespace::parent(&parent).is_err() {
            break;
        }
        outermost = parent;
    }
    namespace::owner(&outermost).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_ids_are_their_owners() {
        let passwd: &[u8] = b"root:x:0:0::/:/bin/sh\nanna:x:1000:1000::/:/bin/sh\n";
        let subuid: &[u8] = b"anna:100000:65536\n1001:200000:10\nnobody-knows:300000:10\n";
        let root = Root::of_files([("etc/passwd", passwd), ("etc/subuid", subuid)]);
        let accounts = Accounts::of(&root);
        let account = |uid| accounts.of_uid(&root, 1, uid);
        assert_eq!(account(100_000), Some(1000));
        assert_eq!(account(165_535), Some(1000));
        assert_eq!((account(165_536), account(1000), account(0)), (None, None, None));
        assert_eq!(account(200_003), Some(1001));
        assert_eq!(account(300_001), None, "of a user that is not known");
    }
}
