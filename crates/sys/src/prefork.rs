//! Workers of a prefork server: children that share this process's memory by `fork`, and answer
//! requests about it.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::process::Pid;

use crate::errno::Errno;
use crate::fork::{PausingChild, end_with};
use crate::memory::Arena;

/// Words of a base page of x86-64.
const PAGE_WORDS: usize = 512;

/// What a worker is asked. Each word that it reads counts without its lowest bit, which is all that
/// a worker changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Where to read: see [`places`].
    pub seed: u64,
    /// How many words are read; 0: every word of the memory, each once.
    pub reads: u64,
    /// How many of the words that were read first lead to a page that is written.
    pub writes: u64,
    /// Only one page in so many is ever written, at least 1.
    pub every: u64,
}

/// Bytes of a request, and of an answer.
const REQUEST: usize = 4 * size_of::<u64>();
const ANSWER: usize = size_of::<u64>();

impl Request {
    fn to_bytes(self) -> [u8; REQUEST] {
        let mut bytes = [0; REQUEST];
        let words = [self.seed, self.reads, self.writes, self.every];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    fn of_bytes(bytes: [u8; REQUEST]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at * 8..at * 8 + 8]);
            u64::from_ne_bytes(word)
        };
        Self { seed: word(0), reads: word(1), writes: word(2), every: word(3).max(1) }
    }
}

/// The words that a request with this seed reads, of so many (SplitMix64; Steele, Lea, Flood 2014).
pub fn places(seed: u64, words: usize) -> impl Iterator<Item = usize> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let place = (u128::from(z ^ (z >> 31)) * words as u128) >> 64;
        usize::try_from(place).unwrap_or(0)
    })
}

/// The sum of words as a worker counts them.
pub fn sum(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0, |sum: u64, word| sum.wrapping_add(word & !1))
}

/// Forks a worker that answers the requests of `socket`, each with the [`sum`] of what it read in
/// its own copy of `memory`, until the socket ends or the thread that called this.
///
/// # Errors
/// `EAGAIN` when no more processes are allowed, `ENOMEM` when memory for page tables is short.
///
/// # Panics
/// When a part of `memory` was made read-only.
pub fn serving_child(memory: &mut Arena, socket: BorrowedFd<'_>) -> Result<PausingChild, Errno> {
    // What could panic does so here, and not in the child.
    let words = memory.words_mut();
    let parent = rustix::process::getpid();
    // SAFETY: the child of a program with several threads may only call async-signal-safe
    // functions. It calls prctl, getppid, read, write and _exit, which are bare system calls, uses
    // memory that no other thread can reach while it is borrowed here, allocates nothing, runs no
    // destructor and never returns from `serve`.
    // WHY UNSAFE: no safe function forks.
    let answer = unsafe { libc::fork() };
    if answer == 0 {
        end_with(parent.as_raw_nonzero().get());
        serve(words, socket.as_raw_fd());
    }
    Pid::from_raw(answer).filter(|_| answer > 0).map(PausingChild::new).ok_or_else(Errno::last)
}

/// The whole life of a worker.
fn serve(words: &mut [u64], socket: libc::c_int) -> ! {
    let mut asked = [0; REQUEST];
    loop {
        // SAFETY: the bytes live as long as the borrow, and the call writes no more of them.
        // WHY UNSAFE: a wrapper might do more than the system call, which is all a child may do.
        let read = unsafe { libc::read(socket, asked.as_mut_ptr().cast(), REQUEST) };
        if usize::try_from(read) != Ok(REQUEST) {
            break;
        }
        let answer = carry_out(words, Request::of_bytes(asked)).to_ne_bytes();
        // SAFETY: the bytes live as long as the borrow, and the call reads no more of them.
        // WHY UNSAFE: as above.
        let written = unsafe { libc::write(socket, answer.as_ptr().cast(), ANSWER) };
        if usize::try_from(written) != Ok(ANSWER) {
            break;
        }
    }
    // SAFETY: ends the process without running anything of it.
    // WHY UNSAFE: as above.
    unsafe { libc::_exit(0) }
}

/// Reads what a request names, and writes to pages: what it read.
fn carry_out(words: &mut [u64], asked: Request) -> u64 {
    if asked.reads == 0 {
        return sum(words.iter().copied());
    }
    let (mut found, mut left) = (0_u64, asked.writes);
    let stride = PAGE_WORDS.saturating_mul(usize::try_from(asked.every).unwrap_or(1));
    for place in places(asked.seed, words.len()).zip(0..asked.reads) {
        found = found.wrapping_add(words[place.0] & !1);
        if left > 0 {
            left -= 1;
            words[place.0 / stride * stride] ^= 1;
        }
    }
    found
}

/// Asks a worker, and waits for its answer.
///
/// # Errors
/// When it has ended.
pub fn ask(socket: BorrowedFd<'_>, asked: Request) -> std::io::Result<u64> {
    let gone = || std::io::Error::other("a worker has ended");
    let mut answer = [0; ANSWER];
    if rustix::io::retry_on_intr(|| rustix::io::write(socket, &asked.to_bytes()))? != REQUEST {
        return Err(gone());
    }
    if rustix::io::retry_on_intr(|| rustix::io::read(socket, &mut answer))? != ANSWER {
        return Err(gone());
    }
    Ok(u64::from_ne_bytes(answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_worker_reads_what_was_there_and_writes_to_its_copy() -> std::io::Result<()> {
        let mut memory = Arena::new(1 << 20, 4096)?;
        for (at, word) in memory.words_mut().iter_mut().enumerate() {
            *word = (at as u64) << 1;
        }
        let (ours, theirs) = UnixStream::pair()?;
        let worker = serving_child(&mut memory, theirs.as_fd());
        let worker = worker.map_err(std::io::Error::from)?;
        let all = memory.words().len();
        let asked = Request { seed: 7, reads: 100, writes: 100, every: 4 };
        let expected = sum(places(7, all).take(100).map(|at| (at as u64) << 1));
        assert_eq!(ask(ours.as_fd(), asked)?, expected);
        // What it wrote is its own, and is no part of a sum.
        let whole = sum(memory.words().iter().copied());
        assert!(memory.words().iter().all(|word| word & 1 == 0));
        assert_eq!(ask(ours.as_fd(), Request { reads: 0, ..asked })?, whole);
        drop((worker, theirs));
        assert!(ask(ours.as_fd(), asked).is_err());
        Ok(())
    }
}
