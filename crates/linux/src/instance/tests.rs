use super::*;
use hugewise_scratch::Scratch;
use std::fs;

/// A directory that looks like the root of a machine with huge pages, and a state directory.
struct Tree(Scratch);

impl Tree {
    fn new() -> Self {
        let tree = Self(Scratch::new());
        for role in [Role::Manager, Role::Pools] {
            let file = tree.0.join(role.needs());
            fs::create_dir_all(file.parent().expect("has one")).expect("mkdir");
            fs::write(file, "").expect("write");
        }
        tree
    }

    fn take(&self, role: Role) -> Result<InstanceLock, LockError> {
        InstanceLock::take_to_keep(&Root::at(&self.0), &self.0.join("state"), role)
    }
}

#[test]
fn an_ending_manager_is_waited_for() {
    let tree = Tree::new();
    let lock = tree.take(Role::Manager).expect("free");
    assert!(matches!(tree.take(Role::Manager), Err(LockError::Taken(..))));
    let ending = std::thread::spawn(move || {
        std::thread::sleep(4 * AGAIN);
        drop(lock);
    });
    let (root, state, patience) =
        (Root::at(&tree.0), tree.0.join("state"), Duration::from_secs(60));
    InstanceLock::take_from_ending(&root, &state, Role::Manager, patience).expect("it ended");
    ending.join().expect("no panic");
}

#[test]
fn one_that_goes_on_is_not_waited_for_long() {
    let tree = Tree::new();
    let _lock = tree.take(Role::Manager).expect("free");
    let (root, state) = (Root::at(&tree.0), tree.0.join("state"));
    let result = InstanceLock::take_from_ending(&root, &state, Role::Manager, 2 * AGAIN);
    assert!(matches!(result, Err(LockError::Taken(..))), "{result:?}");
    // Experiments have another one, as a manager runs within, and so have pools.
    let _lab = tree.take(Role::Lab).expect("free");
    tree.take(Role::Pools).expect("free");
}

#[test]
fn nobody_else_can_open_the_lock() {
    let tree = Tree::new();
    let state = tree.0.join("state");
    let lock = tree.take(Role::Manager).expect("free");
    let mode = |file: &str| {
        let meta = fs::metadata(state.join(file)).expect("is there");
        meta.permissions().mode() & 0o777
    };
    assert_eq!((mode(""), mode("manager.lock")), (0o700, 0o600));
    drop(lock);
    // Also where it was made by somebody who meant well.
    let open = Permissions::from_mode(0o644);
    fs::set_permissions(state.join("manager.lock"), open).expect("chmod");
    drop(tree.take(Role::Manager).expect("free"));
    assert_eq!(mode("manager.lock"), 0o600);
    // What others may write in is no place for a lock.
    fs::set_permissions(&state, Permissions::from_mode(0o777)).expect("chmod");
    assert!(matches!(tree.take(Role::Manager), Err(LockError::Io(..))));
}

#[test]
fn without_a_directory_there_is_nothing_to_lock() {
    let tree = Tree::new();
    let (root, state) = (Root::at(&tree.0), tree.0.join("state"));
    InstanceLock::take(&root, &state, Role::Manager).expect("free");
    assert!(!state.exists());
    let nowhere = Root::at(&tree.0.join("nowhere"));
    let result = InstanceLock::take(&nowhere, &state, Role::Pools);
    assert!(matches!(result, Err(LockError::Missing(..))), "{result:?}");
}
