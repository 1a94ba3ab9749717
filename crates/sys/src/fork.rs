//! Children that share this process's memory by `fork`: one that does nothing with it, one that
//! touches a part of it, one that makes a single call which may take long, and one that writes to
//! its copy and ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::errno::Errno;
use crate::memory::Arena;

/// Bytes of a base page of x86-64.
const BASE_PAGE: usize = 4096;

/// A forked copy of this process that only waits; ended and reaped on drop.
///
/// While it lives, every private page that was populated at the fork is shared copy-on-write.
#[derive(Debug)]
pub struct PausingChild(Pid);

/// Forks a child that waits until it is ended, at the latest together with the thread that
/// called this.
///
/// # Errors
/// `EAGAIN` when no more processes are allowed, `ENOMEM` when memory for page tables is short.
pub fn pausing_child() -> Result<PausingChild, Errno> {
    let parent = rustix::process::getpid();
    // SAFETY: the child of a program with several threads may only call async-signal-safe
    // functions. It calls prctl, getppid, pause and _exit, which are bare system calls, touches
    // no memory beyond its stack, runs no destructor and never returns from `wait_for_the_end`.
    // WHY UNSAFE: no safe function forks.
    let answer = unsafe { libc::fork() };
    if answer == 0 {
        wait_for_the_end(parent.as_raw_nonzero().get());
    }
    Pid::from_raw(answer).filter(|_| answer > 0).map(PausingChild).ok_or_else(Errno::last)
}

/// Forks a child that adds 1 to each `stride`-th byte of `bytes`, writes one byte to `done`, and
/// then waits as one of [`pausing_child`] does.
///
/// The kernel copies no page tables of shared memory at a fork: the child makes its own, as a
/// forked server process of a database does.
///
/// # Errors
/// As [`pausing_child`]; `EINVAL` for a `stride` of 0.
pub fn touching_child(
    bytes: &[AtomicU8],
    stride: usize,
    done: &File,
) -> Result<PausingChild, Errno> {
    if stride == 0 {
        return Err(Errno(libc::EINVAL));
    }
    let parent = rustix::process::getpid();
    // SAFETY: as in `pausing_child`: the child calls prctl, getppid, write, pause and _exit only;
    // the bytes are atomics that live as long as the caller's borrow, which the child keeps a copy
    // of, and it never returns from `wait_for_the_end`.
    // WHY UNSAFE: no safe function forks.
    let answer = unsafe { libc::fork() };
    if answer == 0 {
        let parent = parent.as_raw_nonzero().get();
        end_with(parent);
        for byte in bytes.iter().step_by(stride) {
            byte.fetch_add(1, Ordering::Relaxed);
        }
        // Where it can't be written, nobody waits for it any more.
        let _ = write(done.as_raw_fd(), b"1");
        wait_for_the_end(parent);
    }
    Pid::from_raw(answer).filter(|_| answer > 0).map(PausingChild).ok_or_else(Errno::last)
}

/// Forks a child that its parent traces and that stops at once, for good.
///
/// # Errors
/// As [`pausing_child`].
pub fn traced_child() -> Result<PausingChild, Errno> {
    let parent = rustix::process::getpid();
    // SAFETY: as in `pausing_child`: the child calls prctl, getppid, ptrace, raise, pause and _exit
    // only, and never returns from `wait_for_the_end`.
    // WHY UNSAFE: no safe function forks.
    let answer = unsafe { libc::fork() };
    if answer == 0 {
        end_with(parent.as_raw_nonzero().get());
        // SAFETY: takes numbers; the addresses are not used by this request (ptrace(2)).
        // WHY UNSAFE: a wrapper might do more than the system call, which is all a child may do.
        unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
        // SAFETY: takes a number.
        // WHY UNSAFE: as above.
        unsafe { libc::raise(libc::SIGSTOP) };
        wait_for_the_end(parent.as_raw_nonzero().get());
    }
    Pid::from_raw(answer).filter(|_| answer > 0).map(PausingChild).ok_or_else(Errno::last)
}

/// Starts a child that has this process's very memory, as one does before it becomes another
/// program (`vfork`), and that waits instead: the calling thread does not come back before it ends.
///
/// # Errors
/// As [`pausing_child`], when there is no child.
pub fn wait_for_child_in_own_memory() -> Result<(), Errno> {
    extern "C" fn life(_: *mut libc::c_void) -> libc::c_int {
        // SAFETY: takes nothing and always succeeds.
        // WHY UNSAFE: a wrapper might do more than the system call, which is all a child may do.
        let parent = unsafe { libc::getppid() };
        wait_for_the_end(parent)
    }
    let mut stack = vec![0_u128; 4 << 10];
    let top = stack.as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack grows down from its end, which is aligned to 16 bytes as its elements are,
    // and lives until the child has ended: this thread waits in the call. The child only pauses.
    // WHY UNSAFE: no safe function gives a child this process's memory.
    let answer = unsafe { libc::clone(life, top.cast(), flags, std::ptr::null_mut()) };
    if answer < 0 { Err(Errno::last()) } else { Ok(()) }
}

impl PausingChild {
    /// One that was forked just now.
    pub(crate) const fn new(pid: Pid) -> Self {
        Self(pid)
    }

    /// The child's pid, valid for as long as this value lives: nobody else reaps it.
    pub fn id(&self) -> u32 {
        self.0.as_raw_nonzero().get().unsigned_abs()
    }
}

impl Drop for PausingChild {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
        let _ = rustix::io::retry_on_intr(|| waitpid(Some(self.0), WaitOptions::empty()));
    }
}

/// A child that writes once, in a call which the kernel may take seconds for; killed and reaped on
/// drop.
#[derive(Debug)]
pub struct WritingChild {
    pid: Pid,
    ended: Option<Ended>,
}

/// How a [`WritingChild`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The call was over, and the kernel had taken what was written.
    pub written: bool,
    /// CPU time of the child, user and kernel, in nanoseconds.
    pub cpu_ns: u64,
}

/// Forks a child that writes `text` to `file`, and is killed at the latest together with the thread
/// that called this. It has no other descriptor: where the call cannot be ended, the child holds no
/// lock of this process.
///
/// # Errors
/// `EAGAIN` when no more processes are allowed, `ENOMEM` when memory for page tables is short.
pub fn writing_child(file: &File, text: &'static [u8]) -> Result<WritingChild, Errno> {
    let parent = rustix::process::getpid();
    // SAFETY: as in `pausing_child`: the child calls prctl, getppid, write and _exit only, on a
    // descriptor and bytes that were there before, and never returns from `write_and_end`.
    // WHY UNSAFE: no safe function forks.
    let answer = unsafe { libc::fork() };
    if answer == 0 {
        write_and_end(parent.as_raw_nonzero().get(), file.as_raw_fd(), text);
    }
    let pid = Pid::from_raw(answer).filter(|_| answer > 0).ok_or_else(Errno::last)?;
    Ok(WritingChild { pid, ended: None })
}

impl WritingChild {
    /// How it ended; `None` while it has not.
    ///
    /// # Errors
    /// Those of `wait4(2)`: `ECHILD` where somebody else reaped it.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        self.reap(libc::WNOHANG)
    }

    /// Kills it and waits for its end: a call that looks at fatal signals ends within
    /// milliseconds.
    ///
    /// # Errors
    /// As [`Self::ended`].
    pub fn kill(&mut self) -> io::Result<Option<Ended>> {
        if self.ended.is_none() {
            // Not reaped yet, so the pid is still its own.
            let _ = kill_process(self.pid, Signal::KILL);
        }
        self.reap(0)
    }

    fn reap(&mut self, flags: libc::c_int) -> io::Result<Option<Ended>> {
        if self.ended.is_some() {
            return Ok(self.ended);
        }
        let mut status: libc::c_int = 0;
        // SAFETY: all zeros are a value of this struct, which has integers only.
        // WHY UNSAFE: libc gives it no other constructor.
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        let pid = self.pid.as_raw_nonzero().get();
        let answer = loop {
            // SAFETY: both pointers are to live values of the types that the call fills.
            // WHY UNSAFE: rustix 1.1 does not give the CPU time of a child that ended.
            let answer = unsafe { libc::wait4(pid, &raw mut status, flags, &raw mut used) };
            if answer >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                break answer;
            }
        };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
        if answer == pid {
            let written = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
            let cpu_ns = nanoseconds(used.ru_utime).saturating_add(nanoseconds(used.ru_stime));
            self.ended = Some(Ended { written, cpu_ns });
        }
        Ok(self.ended)
    }
}

impl Drop for WritingChild {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// What a child that writes to its copy ends with when it found other words than it was to find.
const WRONG: libc::c_int = 2;

/// Forks a child that compares the first word of each base page in the first `len` bytes of
/// `memory` with `word`, writes to its copy of each of these pages, and ends; waits for that. The
/// child is killed at the latest together with the thread that called this.
///
/// Returns whether the child found `word` everywhere.
///
/// # Errors
/// `EAGAIN` when no more processes are allowed, `ENOMEM` when memory for page tables is short;
/// `Other` when somebody ended the child.
///
/// # Panics
/// When `len` is longer than `memory`, or part of that was made read-only.
pub fn writing_copy(memory: &mut Arena, len: usize, word: u64) -> io::Result<bool> {
    // What could panic does so here, and not in the child.
    let (offsets, _) = (0..memory.as_mut_slice()[..len].len(), memory.words());
    let parent = rustix::process::getpid();
    // SAFETY: as in `pausing_child`: the child calls prctl, getppid and _exit only, writes to
    // memory that no other thread can reach while it is borrowed here, allocates nothing and never
    // returns from `compare_write_and_end`.
    // WHY UNSAFE: no safe function forks.
    let answer = unsafe { libc::fork() };
    if answer == 0 {
        compare_write_and_end(parent.as_raw_nonzero().get(), memory, offsets, word);
    }
    let pid = Pid::from_raw(answer).filter(|_| answer > 0);
    let pid = pid.ok_or_else(io::Error::last_os_error)?;
    let ended = rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()))?;
    match ended.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(true),
        Some(WRONG) => Ok(false),
        _ => Err(io::Error::other("a child ended before its time")),
    }
}

/// The whole life of a child that writes to its copy of memory.
fn compare_write_and_end(
    parent: libc::c_int,
    memory: &mut Arena,
    offsets: std::ops::Range<usize>,
    word: u64,
) -> ! {
    end_with(parent);
    let mut right = true;
    for offset in offsets.step_by(BASE_PAGE) {
        right &= memory.words()[offset / size_of::<u64>()] == word;
        memory.set(offset, 1);
    }
    // SAFETY: ends the process without running anything of it.
    // WHY UNSAFE: a wrapper might do more than the system call, which is all a child may do.
    unsafe { libc::_exit(if right { 0 } else { WRONG }) }
}

fn nanoseconds(time: libc::timeval) -> u64 {
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    part(time.tv_sec).saturating_mul(1_000_000_000).saturating_add(part(time.tv_usec) * 1_000)
}

/// The whole life of a child that writes.
fn write_and_end(parent: libc::c_int, file: libc::c_int, text: &'static [u8]) -> ! {
    end_with(parent);
    close_all_but(file);
    let code = i32::from(usize::try_from(write(file, text)) != Ok(text.len()));
    // SAFETY: ends the process without running anything of it.
    // WHY UNSAFE: as above.
    unsafe { libc::_exit(code) }
}

/// Closes all descriptors but one (Linux 5.9; older kernels close none).
fn close_all_but(file: libc::c_int) {
    let close = |first: libc::c_int, last: libc::c_int| {
        // SAFETY: takes numbers only; nothing of this child uses what is closed.
        // WHY UNSAFE: a wrapper might do more than the system call, which is all a child may do.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    };
    if file > 0 {
        close(0, file - 1);
    }
    close(file.saturating_add(1), libc::c_int::MAX);
}

/// The bare system call.
fn write(file: libc::c_int, text: &[u8]) -> libc::ssize_t {
    // SAFETY: the bytes live as long as the borrow, and the call reads no more of them.
    // WHY UNSAFE: a wrapper might do more than the system call, which is all a child may do.
    unsafe { libc::write(file, text.as_ptr().cast(), text.len()) }
}

/// Asks for this process's end at the parent's; ends it where that is too late.
pub(crate) fn end_with(parent: libc::c_int) {
    let signal = libc::SIGKILL.unsigned_abs();
    // SAFETY: takes no pointers, and only asks for a signal at the parent's end.
    // WHY UNSAFE: a wrapper might do more than the system call, which is all a child may do.
    let asked = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::c_ulong::from(signal)) };
    // SAFETY: takes nothing and always succeeds.
    // WHY UNSAFE: as above.
    let now = unsafe { libc::getppid() };
    // Another parent: ours ended before the request, so that no signal would come.
    if asked != 0 || now != parent {
        // SAFETY: ends the process without running anything of it.
        // WHY UNSAFE: as above.
        unsafe { libc::_exit(1) };
    }
}

/// The whole life of a child that waits.
fn wait_for_the_end(parent: libc::c_int) -> ! {
    loop {
        end_with(parent);
        // SAFETY: waits for a signal; no handler of ours is safe to run in a child, but pause
        // itself calls none, and with the default disposition signals end the child.
        // WHY UNSAFE: std cannot wait without locks.
        unsafe { libc::pause() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state_of(pid: u32) -> Option<String> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ").map(|(_, rest)| rest[..1].to_owned())
    }

    #[test]
    fn the_child_waits_and_ends_with_its_handle() -> Result<(), Errno> {
        let child = pausing_child()?;
        let pid = child.id();
        assert!(matches!(state_of(pid).as_deref(), Some("S" | "R" | "D")));
        drop(child);
        // Reaped: not even a zombie is left.
        assert_eq!(state_of(pid), None);
        Ok(())
    }

    #[test]
    fn a_child_touches_what_is_shared() -> Result<(), Box<dyn std::error::Error>> {
        use std::io::Read;
        let segment = crate::segment::Segment::create(3 * 4096, false)?;
        let (mut out, into) = io::pipe()?;
        let into = File::from(std::os::fd::OwnedFd::from(into));
        let child = touching_child(segment.bytes(), 4096, &into).map_err(|e| e.to_string())?;
        out.read_exact(&mut [0])?;
        let at = |index: usize| segment.bytes()[index].load(Ordering::Relaxed);
        assert_eq!([at(0), at(1), at(4096), at(8192), at(3 * 4096 - 1)], [1, 0, 1, 1, 0]);
        assert!(state_of(child.id()).is_some(), "it waits");
        assert!(touching_child(segment.bytes(), 0, &into).is_err());
        Ok(())
    }

    #[test]
    fn what_is_written_arrives_and_its_cost_is_known() -> Result<(), Box<dyn std::error::Error>> {
        use std::io::Read;
        let (mut out, into) = io::pipe()?;
        let into = File::from(std::os::fd::OwnedFd::from(into));
        let mut child = writing_child(&into, b"1").map_err(|errno| errno.to_string())?;
        drop(into);
        let mut text = String::new();
        out.read_to_string(&mut text)?;
        let ended = loop {
            if let Some(ended) = child.ended()? {
                break ended;
            }
        };
        assert_eq!((text.as_str(), ended.written), ("1", true));
        assert!(ended.cpu_ns < 1_000_000_000, "{ended:?}");
        assert_eq!(child.kill()?, Some(ended), "it is reaped once");
        Ok(())
    }

    #[test]
    fn a_call_that_does_not_return_is_ended() -> Result<(), Box<dyn std::error::Error>> {
        // 64 KiB is what a pipe holds: the write waits for a reader that never comes.
        static TEXT: [u8; 1 << 20] = [b'x'; 1 << 20];
        let (_out, into) = io::pipe()?;
        let into = File::from(std::os::fd::OwnedFd::from(into));
        let mut child = writing_child(&into, &TEXT).map_err(|errno| errno.to_string())?;
        assert_eq!(child.ended()?, None);
        let pid = child.pid.as_raw_nonzero().get().unsigned_abs();
        let ended = child.kill()?;
        assert!(ended.is_some_and(|ended| !ended.written), "{ended:?}");
        assert_eq!(state_of(pid), None, "reaped");
        Ok(())
    }

    /// As the kernel ends all threads of a process that is killed.
    #[test]
    fn it_ends_with_the_thread_that_started_it() -> Result<(), Box<dyn std::error::Error>> {
        use std::io::Read;
        static TEXT: [u8; 1 << 20] = [b'x'; 1 << 20];
        let (mut out, into) = io::pipe()?;
        let into = File::from(std::os::fd::OwnedFd::from(into));
        let start = std::thread::spawn(move || {
            let child = writing_child(&into, &TEXT);
            // Whoever writes has said with whom it ends.
            let began = out.read_exact(&mut [0]);
            (child, began, out)
        });
        let (child, began, _out) = start.join().map_err(|_| "the thread panicked")?;
        began?;
        let mut child = child.map_err(|errno| errno.to_string())?;
        for _ in 0..10_000 {
            if let Some(ended) = child.ended()? {
                assert!(!ended.written);
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Err("it goes on without its thread".into())
    }

    #[test]
    fn a_child_writes_to_its_copy_alone() -> io::Result<()> {
        let mut arena = Arena::new(4 * BASE_PAGE, BASE_PAGE)?;
        arena.words_mut().iter_mut().step_by(512).for_each(|word| *word = 7);
        assert!(writing_copy(&mut arena, 4 * BASE_PAGE, 7)?);
        assert!(arena.words().iter().step_by(512).all(|word| *word == 7));
        assert!(!writing_copy(&mut arena, 4 * BASE_PAGE, 8)?);
        arena.words_mut()[3 * 512] = 9;
        assert!(!writing_copy(&mut arena, 4 * BASE_PAGE, 7)?);
        assert!(writing_copy(&mut arena, 3 * BASE_PAGE, 7)?);
        Ok(())
    }

    #[test]
    fn pages_are_shared_while_it_lives() -> Result<(), Box<dyn std::error::Error>> {
        use std::os::unix::fs::FileExt;
        let mut arena = crate::memory::Arena::new(4096, 4096)?;
        arena.as_mut_slice().fill(7);
        let pagemap = std::fs::File::open("/proc/self/pagemap")?;
        let exclusive = |at: u64| -> std::io::Result<bool> {
            let mut entry = [0u8; 8];
            pagemap.read_exact_at(&mut entry, at / 4096 * 8)?;
            Ok(u64::from_ne_bytes(entry) & (1 << 56) != 0)
        };
        // Other tests start programs, which shares all pages for a moment.
        let exclusive_soon = |at: u64| -> std::io::Result<bool> {
            for _ in 0..10_000 {
                if exclusive(at)? {
                    return Ok(true);
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Ok(false)
        };
        assert!(exclusive_soon(arena.addr())?);
        let child = pausing_child().map_err(|errno| errno.to_string())?;
        assert!(!exclusive(arena.addr())?);
        drop(child);
        assert!(exclusive_soon(arena.addr())?);
        assert!(arena.as_slice().iter().all(|byte| *byte == 7));
        Ok(())
    }
}
