//! NUMA nodes: where pages lie, and where this thread's next ones come from.

use std::io;
use std::marker::PhantomData;
use std::ptr;

use crate::errno::Errno;

/// `MPOL_DEFAULT` and `MPOL_INTERLEAVE` (`include/uapi/linux/mempolicy.h`, Linux 2.6).
const DEFAULT: libc::c_int = 0;
const INTERLEAVE: libc::c_int = 3;
/// Nodes that a mask of one word can name.
const WORD: u32 = u64::BITS;

/// The NUMA node of each page of a process; `None` for one that is not populated, is the zero
/// page, or is not mapped. The kernel walks page tables under the mm lock for reading, 16 pages at
/// a time (`do_pages_stat`, `mm/migrate.c`); nothing is moved.
///
/// A pid names no address space: whoever asks checks afterwards that the process is still the one
/// that was meant.
///
/// # Errors
/// `ESRCH` for no such process; `EPERM` or `EACCES` without ptrace read access; `ENOSYS` in a
/// kernel without NUMA.
pub fn nodes_of(pid: u32, pages: &[u64]) -> Result<Vec<Option<u32>>, Errno> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| Errno(libc::ESRCH))?;
    let mut status = vec![-libc::ENOENT; pages.len()];
    let none: *const libc::c_int = ptr::null();
    let flags: libc::c_int = 0;
    // SAFETY: the kernel reads `pages.len()` addresses of 64 bits (pointers, on every machine that
    // this builds for) and writes as many integers, for which `status` has room; without a list of
    // nodes it moves nothing.
    // WHY UNSAFE: rustix has no such call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid,
            pages.len(),
            pages.as_ptr(),
            none,
            status.as_mut_ptr(),
            flags,
        )
    };
    if answer < 0 {
        return Err(Errno::last());
    }
    Ok(status.into_iter().map(|node| u32::try_from(node).ok()).collect())
}

/// Memory that this thread touches first comes from certain nodes while this lives; then from the
/// nearest again.
///
/// Not `Send`: the kernel keeps it for the thread that asked.
#[derive(Debug)]
pub struct Turns(PhantomData<*const ()>);

/// Has pages that this thread touches first come from these nodes in turn, the first 64 nodes of
/// a machine at most. From others only where these have none.
///
/// # Errors
/// `InvalidInput` for no node or one beyond the 64th; as the kernel says, `EINVAL` where none of
/// them has memory that this process may use.
pub fn take_turns(nodes: &[u32]) -> io::Result<Turns> {
    if nodes.is_empty() || nodes.iter().any(|node| *node >= WORD) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no node, or one beyond the 64th"));
    }
    let mask = nodes.iter().fold(0_u64, |mask, node| mask | 1 << node);
    set(INTERLEAVE, mask)?;
    Ok(Turns(PhantomData))
}

impl Drop for Turns {
    fn drop(&mut self) {
        // It has no arguments that the kernel could refuse.
        let _ = set(DEFAULT, 0);
    }
}

fn set(mode: libc::c_int, mask: u64) -> io::Result<()> {
    let nodes = if mode == DEFAULT { ptr::null() } else { &raw const mask };
    // One more than the mask has: the kernel reads a bit less than it is told.
    let bits = if mode == DEFAULT { 0 } else { libc::c_ulong::from(WORD + 1) };
    // SAFETY: the kernel reads one word of the mask, which outlives the call, or nothing.
    // WHY UNSAFE: rustix has no such call.
    match unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, nodes, bits) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Arena;

    #[test]
    fn a_page_lies_on_a_node_once_it_is_touched() {
        let page = rustix::param::page_size();
        let mut arena = Arena::new(2 * page, page).expect("memory");
        // A machine of one node has none but 0; a kernel without NUMA has no policies.
        let turns = match take_turns(&[0]) {
            Ok(turns) => turns,
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::ENOSYS), "{error}");
                return;
            }
        };
        arena.set(0, 1);
        drop(turns);
        let (first, pid) = (arena.addr(), std::process::id());
        let found = nodes_of(pid, &[first, first + page as u64]).expect("of this process");
        assert_eq!(found, [Some(0), None]);
        assert_eq!(nodes_of(pid, &[]).expect("nothing"), []);
    }

    #[test]
    fn what_does_not_exist_is_an_error() {
        assert_eq!(nodes_of(u32::MAX, &[0]), Err(Errno(libc::ESRCH)));
        assert!(take_turns(&[]).is_err() && take_turns(&[64]).is_err());
    }
}
