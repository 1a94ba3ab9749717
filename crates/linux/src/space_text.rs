//! What other processes' address spaces say of themselves, as views want it: read by workers, so
//! that no view waits for a process that does not answer.

use crate::account::Accounts;
use crate::address_space::{SpaceFile, read_here};
use crate::mappings::{self, Mapping};
use crate::root::Root;
use crate::spaces::{Answer, Means, Order};
use crate::worker::{self, Workers};
use hugewise_base::parse::{cgroup, pid_status};
use hugewise_manager::suspension::Party;
use std::io;
use std::sync::{Mutex, PoisonError};

/// A process's mappings, ascending. Address space that was only reserved (no access at all) is
/// left out.
///
/// # Errors
/// As [`read`].
pub fn mappings(root: &Root, pid: u32) -> io::Result<Vec<Mapping>> {
    Ok(mappings::of_text(&read(root, pid, SpaceFile::Maps)?))
}

/// Reads a file of an address space as a whole, by a worker where there are any: it returns in
/// time.
///
/// # Errors
/// As the system says: `NotFound` when the process ended, `PermissionDenied`; `InvalidData` above
/// 64 MiB; `TimedOut` where it cannot be read now, or could not be a moment ago.
pub fn read(root: &Root, pid: u32, file: SpaceFile) -> io::Result<Vec<u8>> {
    read_all(root, &[(pid, file)]).pop().unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
}

/// Reads several, which costs less than one after the other.
pub fn read_all(root: &Root, files: &[(u32, SpaceFile)]) -> Vec<io::Result<Vec<u8>>> {
    if !root.is_live() || !worker::enabled() {
        return files.iter().map(|(pid, file)| read_here(root, *pid, *file)).collect();
    }
    let orders: Vec<_> = files.iter().map(|(pid, file)| Order::Read(*pid, *file)).collect();
    let party_of = |order: &Order| party(root, order.pid().unwrap_or(0));
    let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
    let readers = readers.get_or_insert_with(|| Workers::new(Means::default()));
    let mut texts = Vec::with_capacity(files.len());
    for answer in readers.carry_out(&orders, &party_of, &mut || false) {
        texts.push(match answer {
            Answer::Read(Ok(text)) => Ok(text),
            Answer::Read(Err(number)) => Err(io::Error::from_raw_os_error(number)),
            _ => Err(io::ErrorKind::TimedOut.into()),
        });
    }
    texts
}

/// Workers that read for views.
static READERS: Mutex<Option<Workers>> = Mutex::new(None);

/// Who stands for a process that was not listed.
pub(crate) fn party(root: &Root, pid: u32) -> Party {
    let status = root.read(format!("proc/{pid}/status")).unwrap_or_default();
    let uid = pid_status::parse(&status).value.uid;
    let account = uid.and_then(|uid| Accounts::of(root).of_uid(root, pid, uid));
    let cgroups = root.read(format!("proc/{pid}/cgroup")).unwrap_or_default();
    Party::of(account.or(uid), cgroup::parse(&cgroups).value.memory())
}
