//! System calls that a process without privileges cannot make any more, for good (seccomp): whoever
//! takes it over reaches no other process and no network, and little of the kernel. A server
//! reaches no file either.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;
use std::io;

/// What a server needs that opens nothing: its connections, memory, threads, clocks and signals of
/// its own.
const SERVER: &[i64] = &[
    libc::SYS_accept4,
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    // Answered with ENOSYS by the other filter.
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    libc::SYS_eventfd2,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fcntl,
    libc::SYS_futex,
    libc::SYS_getpeername,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_set_robust_list,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    libc::SYS_writev,
];

/// What a program that turns one file into text never needs: other processes, the network, more of
/// the kernel.
const NEVER_TO_READ: &[i64] = &[
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_connect,
    libc::SYS_fsopen,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_open,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_socket,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// Filters for one kind of process, made before it begins.
#[derive(Debug, Clone)]
pub struct Sandbox(Vec<BpfProgram>);

impl Sandbox {
    /// For a process that answers on sockets which are open already, and opens nothing: every other
    /// call fails with `EPERM`.
    ///
    /// # Errors
    /// On a processor that the filters are not made for.
    pub fn of_server() -> io::Result<Self> {
        let mut allowed: Rules = SERVER.iter().map(|call| (*call, Vec::new())).collect();
        let own_pid = u64::from(std::process::id());
        // Threads, but no namespaces; signals, but of its own threads; what is on a socket, and
        // not what a terminal does.
        let namespaces = NAMESPACES.into_iter().fold(0, |all, flag| all | flag.unsigned_abs());
        let none_of = SeccompCmpOp::MaskedEq(namespaces.into());
        allowed.insert(libc::SYS_clone, vec![rule(0, none_of, 0)?]);
        allowed.insert(libc::SYS_tgkill, vec![rule(0, SeccompCmpOp::Eq, own_pid)?]);
        allowed.insert(libc::SYS_ioctl, vec![rule(1, SeccompCmpOp::Eq, libc::FIONBIO)?]);
        let of_threads = [libc::PR_SET_NAME.unsigned_abs(), PR_SET_VMA];
        let of_threads = of_threads.map(|option| rule(0, SeccompCmpOp::Eq, option.into()));
        allowed.insert(libc::SYS_prctl, of_threads.into_iter().collect::<io::Result<_>>()?);
        // The last one allows no other after it.
        Ok(Self(vec![without_clone3()?, filter(allowed, forbidden(), SeccompAction::Allow)?]))
    }

    /// For a program of others that turns a file into text: no network, no other process.
    ///
    /// # Errors
    /// On a processor that the filters are not made for.
    pub fn of_reader() -> io::Result<Self> {
        let mut calls: Rules = NEVER_TO_READ.iter().map(|call| (*call, Vec::new())).collect();
        let namespaces = NAMESPACES.map(|flag| {
            let flag = u64::from(flag.unsigned_abs());
            rule(0, SeccompCmpOp::MaskedEq(flag), flag)
        });
        calls.insert(libc::SYS_clone, namespaces.into_iter().collect::<io::Result<_>>()?);
        Ok(Self(vec![without_clone3()?, filter(calls, SeccompAction::Allow, forbidden())?]))
    }

    /// Enters it, with this thread and all that it starts from here on. Nothing is allocated.
    ///
    /// # Errors
    /// Where the kernel has no seccomp filters.
    pub fn enter(&self) -> io::Result<()> {
        for filter in &self.0 {
            seccompiler::apply_filter(filter).map_err(|error| match error {
                seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
                _ => io::ErrorKind::InvalidData.into(),
            })?;
        }
        Ok(())
    }
}

/// Flags of `clone` that begin a namespace.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

const fn forbidden() -> SeccompAction {
    SeccompAction::Errno(libc::EPERM.unsigned_abs())
}

/// The flags of `clone3` lie in memory, where no filter sees them: the C library takes `clone`
/// where it is unknown.
fn without_clone3() -> io::Result<BpfProgram> {
    let unknown = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    filter(Rules::from([(libc::SYS_clone3, Vec::new())]), SeccompAction::Allow, unknown)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// `PR_SET_VMA` of include/uapi/linux/prctl.h: names of mappings, which allocators give.
const PR_SET_VMA: u32 = 0x5356_4d41;

/// Matches by one argument.
fn rule(argument: u8, is: SeccompCmpOp, value: u64) -> io::Result<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, value);
    let rule = condition.and_then(|condition| SeccompRule::new(vec![condition]));
    rule.map_err(io::Error::other)
}

fn filter(rules: Rules, others: SeccompAction, these: SeccompAction) -> io::Result<BpfProgram> {
    let processor = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let filter = SeccompFilter::new(rules, others, these, processor);
    filter.and_then(BpfProgram::try_from).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};

    /// A filter is a thread's own, and of those that it starts.
    fn within<T: Send + 'static>(
        sandbox: &Sandbox,
        what: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let sandbox = sandbox.clone();
        let thread = std::thread::spawn(move || sandbox.enter().map(|()| what()));
        thread.join().map_err(|_| io::Error::other("it panicked"))?
    }

    #[test]
    fn a_server_answers_and_opens_nothing() -> io::Result<()> {
        let name = format!("hugewise-sandbox-{}", std::process::id());
        let name = SocketAddr::from_abstract_name(name)?;
        let listener = UnixListener::bind_addr(&name)?;
        let mut client = UnixStream::connect_addr(&name)?;
        client.write_all(b"hello")?;
        within(&Sandbox::of_server()?, move || -> io::Result<()> {
            let (mut connection, _) = listener.accept()?;
            connection.read_exact(&mut [0; 5])?;
            connection.write_all(b"hello")?;
            let started = std::thread::Builder::new().spawn(|| vec![1_u8; 1 << 20].len())?;
            assert_eq!(started.join().expect("it ended"), 1 << 20);
            let refused = [
                std::fs::File::open("/proc/self/status").map(drop),
                UnixDatagram::unbound().map(drop),
                std::fs::create_dir("/tmp/never"),
                std::process::Command::new("true").status().map(drop),
            ];
            for refused in refused {
                let kind = refused.expect_err("it is forbidden").kind();
                assert_eq!(kind, ErrorKind::PermissionDenied);
            }
            Ok(())
        })??;
        client.read_exact(&mut [0; 5])
    }

    #[test]
    fn a_reader_reads_and_connects_nowhere() -> io::Result<()> {
        within(&Sandbox::of_reader()?, || -> io::Result<()> {
            assert!(!std::fs::read("/proc/self/status")?.is_empty());
            assert!(std::process::Command::new("true").status()?.success());
            #[expect(deprecated, reason = "safe without FILES")]
            let namespace = rustix::thread::unshare(rustix::thread::UnshareFlags::NEWUTS);
            assert_eq!(namespace, Err(rustix::io::Errno::PERM));
            // SAFETY: takes a flag; where it is not refused, the child has a copy of this memory,
            // and ends at once.
            // WHY UNSAFE: no safe function begins a namespace with a process.
            let child = unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_NEWUSER, 0, 0, 0, 0) };
            if child == 0 {
                // SAFETY: ends the process without running anything of it.
                // WHY UNSAFE: as above.
                unsafe { libc::_exit(0) };
            }
            assert_eq!((child, io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EPERM)));
            let refused = UnixDatagram::unbound().expect_err("it is forbidden");
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
            Ok(())
        })?
    }
}
