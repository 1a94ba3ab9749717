//! One worker: how it is started and talked to, and its whole life.

use super::wire;
use crate::prctl;
use crate::priority;
use crate::process;
use crate::root::Root;
use crate::spaces::{Answer, Means, Order, Spaces, Usage};
use hugewise_base::parse;
use hugewise_sys::pidfd::PidFd;
use hugewise_sys::syscall::may_enter;
use hugewise_sys::{cpu, session};
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The word of the command line that makes this program a worker.
pub const COMMAND: &str = "worker";

/// What it is called in lists of processes.
const NAME: &CStr = c"hugewise-worker";

/// Time for one order. A lock that is held by threads which run is free again after milliseconds;
/// a promotion may have to wait for memory besides (`docs/measurements.md#lazily-backed-memory`).
const PATIENCE: Duration = Duration::from_millis(400);
/// ... for a view, which is to answer within a second, whatever some users do.
const PATIENCE_OF_VIEWS: Duration = Duration::from_millis(150);
const PATIENCE_TO_ACT: Duration = Duration::from_millis(700);
/// Each user who is suspended halves the time for the others, up to so often: many users together
/// hold up nobody for long, and an eighth is still ten times what a process needs that answers.
const MOST_HALVINGS: usize = 3;
/// ... while the worker works, and so waits for nobody who could hold it up: a slow machine, much
/// to read, or memory that the kernel has to compact for a promotion.
const PATIENCE_WITH_THE_BUSY: Duration = Duration::from_secs(10);
/// How often the time for one order passes before a process is given up of which a thread runs, or
/// waits for a CPU: what it holds it may be about to release, and only lacks the CPU for it.
const TIMES_FOR_THE_RUNNING: u32 = 2;
/// Threads that are asked for that, at most: 10 us each.
const THREADS: usize = 256;
/// How often a wait for an answer is interrupted to ask whether it is still wanted.
const CHECK: Duration = Duration::from_millis(50);
/// CPU time within the time for one order from which on a worker works: who waits for a lock that
/// is not released uses none.
const WORK: Duration = Duration::from_millis(2);
/// Functions of the kernel (Linux 6.1 to 6.18) below which it waits for the kernel and not for a
/// stranger: for every CPU to let its lists of pages go (`mm/swap.c`), for an allocation with its
/// reclaim and compaction (`mm/page_alloc.c`), for room in a cgroup (`mm/memcontrol.c`), for the
/// thread of DAMON to take an order (`mm/damon/`). A lock has no function of its own to know it by:
/// `/proc/PID/stack` leaves those of the scheduler out, and so does `/proc/PID/wchan`, the
/// innermost of the rest.
const FOR_KERNEL: [&str; 5] =
    ["lru_add_drain", "alloc_pages", "alloc_frozen_pages", "charge_memcg", "damon_"];
/// The same as `wchan` has them: work that other CPUs are to do, reclaim that waits for the disk, a
/// lock of compaction or reclaim.
const FOR_KERNEL_INNERMOST: [&str; 5] = ["flush_work", "reclaim", "throttle", "compact", "damon_"];
/// Orders that are sent ahead of their answers: few enough for the socket's buffer (208 KiB).
const AHEAD: usize = 64;
/// A worker that was killed ends within this, unless it waits for a lock that signals cannot break.
const ENDING: Duration = Duration::from_millis(50);
/// ... and one whose orders end within this: it gives back what it took first.
const CLOSING: Duration = Duration::from_millis(300);

/// The first frame.
#[derive(Debug, Serialize, Deserialize)]
struct Setup {
    means: Means,
    /// Another worker had these means before, and was given up.
    replaces: bool,
}

/// The first that a worker says.
#[derive(Debug, Serialize, Deserialize)]
struct Ready;

/// Every other one.
#[derive(Debug, Serialize, Deserialize)]
struct Reply {
    answer: Answer,
    usage: Usage,
}

/// A worker that answers.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    stream: UnixStream,
    /// Time for an order that changes nothing.
    patience: Duration,
    pub(super) usage: Usage,
}

/// Why a conversation ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// An order took too long.
    Late,
    /// The worker ended.
    Ended,
    /// Nobody wants the answer any more.
    Unwanted,
}

impl Worker {
    /// Starts this very program as a worker, with nothing of this process but one end of a socket:
    /// no lock, no terminal, no other descriptor.
    pub(super) fn start(means: &Means, replaces: bool) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(COMMAND).env_clear().current_dir("/");
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = session::own(&mut command).spawn()?;
        // Here already: what fails from now on ends it.
        // One without means only reads, for a view.
        let is_views = means.actuator.is_none() && means.trackers.is_none();
        let patience = if is_views { PATIENCE_OF_VIEWS } else { PATIENCE };
        let mut worker = Self { child, stream: ours, patience, usage: Usage::default() };
        let setup = Setup { means: means.clone(), replaces };
        wire::say(&mut worker.stream, &setup, &[])?;
        // Until then it waits for nobody but the disk that it comes from.
        worker.stream.set_read_timeout(Some(PATIENCE_WITH_THE_BUSY))?;
        let (Ready, _) = wire::hear(&mut worker.stream)?;
        Ok(worker)
    }

    /// Has orders carried out, one after the other. Returns the answers up to the one that did not
    /// come. `suspended`: users who are left alone; `is_unwanted`: that answers are not waited for
    /// any longer.
    pub(super) fn converse(
        &mut self,
        orders: &[&Order],
        suspended: usize,
        is_unwanted: &mut dyn FnMut() -> bool,
    ) -> (Vec<Answer>, Option<Broken>) {
        let share = 1 << suspended.min(MOST_HALVINGS);
        let mut answers = Vec::with_capacity(orders.len());
        let mut sent = 0;
        while answers.len() < orders.len() {
            while sent < orders.len().min(answers.len() + AHEAD) {
                if wire::say(&mut self.stream, orders[sent], &[]).is_err() {
                    return (answers, Some(Broken::Ended));
                }
                sent += 1;
            }
            match self.hear(orders[answers.len()], share, is_unwanted) {
                Ok(answer) => answers.push(answer),
                Err(broken) => return (answers, Some(broken)),
            }
        }
        (answers, None)
    }

    fn hear(
        &mut self,
        order: &Order,
        share: u32,
        is_unwanted: &mut dyn FnMut() -> bool,
    ) -> Result<Answer, Broken> {
        let acts = matches!(order, Order::Act(_));
        let patience = if acts { PATIENCE_TO_ACT } else { self.patience } / share;
        let began = Instant::now();
        let (mut checked, mut used) = (began, None);
        while !self.has_said(CHECK.min(patience))? {
            if is_unwanted() {
                return Err(Broken::Unwanted);
            }
            // An answer that comes at once costs no reading of clocks.
            let before = *used.get_or_insert_with(|| self.cpu_time());
            if checked.elapsed() < patience {
                continue;
            }
            let now = self.cpu_time();
            let most = if now.saturating_sub(before) >= WORK || !self.waits_for_somebody() {
                PATIENCE_WITH_THE_BUSY
            } else if order.pid().is_some_and(runs) {
                patience * TIMES_FOR_THE_RUNNING
            } else {
                patience
            };
            if began.elapsed() >= most {
                return Err(Broken::Late);
            }
            (checked, used) = (Instant::now(), Some(now));
        }
        // From the first byte on it waits for nobody but us.
        let heard = self.stream.set_read_timeout(Some(PATIENCE_WITH_THE_BUSY));
        let heard = heard.and_then(|()| wire::hear::<Reply>(&mut self.stream));
        let (Reply { answer, usage }, bytes) = heard.map_err(|_| Broken::Ended)?;
        self.usage = usage;
        Ok(match answer {
            Answer::Read(Ok(_)) => Answer::Read(Ok(bytes)),
            answer => answer,
        })
    }

    /// Whether it begins to answer within this time.
    fn has_said(&self, patience: Duration) -> Result<bool, Broken> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let patience = Timespec::try_from(patience).map_err(|_| Broken::Late)?;
        let mut fds = [PollFd::new(&self.stream, PollFlags::IN)];
        let ready = rustix::io::retry_on_intr(|| poll(&mut fds, Some(&patience)));
        ready.map(|ready| ready > 0).map_err(|_| Broken::Ended)
    }

    fn cpu_time(&self) -> Duration {
        Duration::from_nanos(cpu::process_cpu_time_of_ns(self.child.id()).unwrap_or(0))
    }

    /// Whether it waits for somebody, that is, neither for a CPU, nor for the kernel, nor for its
    /// own thread that warms memory: that one gets a CPU only when nobody else wants it, and may
    /// hold the lock of the worker's own memory meanwhile. The stack is shown to `CAP_SYS_ADMIN`
    /// only; without, the innermost function has to do.
    fn waits_for_somebody(&self) -> bool {
        let (root, pid) = (Root::live(), self.child.id());
        let read = |file| root.read_text(format!("proc/{pid}/{file}")).unwrap_or_default();
        if process::stat(&root, pid).is_some_and(|stat| stat.state == 'R') {
            return false;
        }
        let (stack, innermost) = (read("stack"), read("wchan"));
        let contains = |text: &str, functions: &[&str]| functions.iter().any(|f| text.contains(f));
        let for_kernel = if stack.is_empty() {
            contains(&innermost, &FOR_KERNEL_INNERMOST)
        } else {
            contains(&stack, &FOR_KERNEL)
        };
        may_enter(&read("syscall")) && !for_kernel
    }

    /// Kills it. A worker that does not end now, because it waits for a lock that signals cannot
    /// break, is returned, without its memory.
    pub(super) fn give_up(mut self) -> Option<Child> {
        let _ = self.child.kill();
        if ends(&mut self.child, ENDING) {
            return None;
        }
        // Not reaped yet, so the pid is still its own. A kernel that cannot (before 5.15) keeps it.
        let _ = PidFd::open(self.child.id()).and_then(|worker| worker.release_memory());
        Some(self.child)
    }

    /// Lets it give back what it took, and end.
    pub(super) fn close(mut self) -> Option<Child> {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        if ends(&mut self.child, CLOSING) { None } else { self.give_up() }
    }
}

/// Whether a thread of this process runs, or waits for a CPU.
fn runs(pid: u32) -> bool {
    let root = Root::live();
    let tasks = std::fs::read_dir(root.path(format!("proc/{pid}/task"))).into_iter().flatten();
    let is_running = |name: &str| {
        let stat = root.read(format!("proc/{pid}/task/{name}/stat")).ok();
        stat.and_then(|stat| parse::pid_stat::parse(&stat).ok()).is_some_and(|s| s.state == 'R')
    };
    let mut names = tasks.flatten().take(THREADS).map(|entry| entry.file_name());
    names.any(|name| name.to_str().is_some_and(is_running))
}

/// Workers of a process that has ended, which wait for a lock that signals cannot break.
pub fn left(root: &Root) -> Vec<u32> {
    let name = NAME.to_string_lossy();
    let is_left = |pid: &u32| {
        // Everybody may call a process so.
        let owner = std::fs::metadata(root.path(format!("proc/{pid}")));
        let is_own = owner.is_ok_and(|owner| owner.uid() == rustix::process::geteuid().as_raw());
        let stat = process::stat(root, *pid);
        is_own && stat.is_some_and(|stat| stat.state == 'D' && stat.comm == name)
    };
    process::pids(root).unwrap_or_default().into_iter().filter(is_left).collect()
}

fn ends(child: &mut Child, within: Duration) -> bool {
    let until = Instant::now() + within;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= until {
            return false;
        }
        pause();
    }
    true
}

/// Some microseconds. A signal ends it: the standard library would sleep for what is left, to which
/// the kernel adds the timer slack each time (`hrtimer_nanosleep` in `kernel/time/hrtimer.c`), so
/// that a flood of signals, one each 50 us, makes it sleep for minutes.
fn pause() {
    let time = rustix::event::Timespec { tv_sec: 0, tv_nsec: 200_000 };
    let _ = rustix::event::poll(&mut [], Some(&time));
}

/// The whole life of a worker: carries out what it hears on its standard input, which is a socket,
/// until that ends. It ends at the latest with the thread that started it.
///
/// # Errors
/// Standard input is no such socket.
pub fn run() -> io::Result<()> {
    // Started as /proc/self/exe, it would be called so.
    rustix::thread::set_name(NAME)?;
    prctl::set_parent_death_signal()?;
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    let mut stream = UnixStream::from(stdin);
    let (Setup { means, replaces }, _) = wire::hear(&mut stream)?;
    if means.actuator.is_some() {
        priority::before_others();
    }
    let mut spaces = Spaces::new(Root::live(), means, replaces);
    wire::say(&mut stream, &Ready, &[])?;
    loop {
        let order = match wire::hear(&mut stream) {
            Ok((order, _)) => order,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        };
        let (answer, bytes) = match spaces.carry_out(&order) {
            Answer::Read(Ok(bytes)) => (Answer::Read(Ok(Vec::new())), bytes),
            answer => (answer, Vec::new()),
        };
        wire::say(&mut stream, &Reply { answer, usage: spaces.usage() }, &bytes)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    #[test]
    fn workers_that_wait_for_a_lock_are_found_by_name_and_state() {
        let scratch = Scratch::new();
        let rest = "1 7 7 0 -1 4194560 496 0 0 0 105 541 0 0 20 0 2 0 50459 109428736 2057";
        for (pid, name, state) in
            [(7, "hugewise-worker", 'D'), (8, "hugewise-worker", 'S'), (9, "other", 'D')]
        {
            let folder = scratch.join(format!("proc/{pid}"));
            std::fs::create_dir_all(&folder).expect("made");
            let zeros = " 0".repeat(28);
            let text = format!("{pid} ({name}) {state} {rest}{zeros}\n");
            std::fs::write(folder.join("stat"), text).expect("written");
        }
        assert_eq!(left(&Root::at(scratch.path())), [7]);
        assert_eq!(NAME.to_bytes().len(), 15, "the kernel cuts longer ones");
    }

    #[test]
    fn who_sleeps_does_not_run() {
        assert!(runs(std::process::id()));
        let mut child = Command::new("sleep").arg("60").spawn().expect("started");
        let until = Instant::now() + Duration::from_secs(10);
        while runs(child.id()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!runs(child.id()), "it sleeps");
        child.kill().and_then(|()| child.wait()).expect("ended");
        assert!(!runs(child.id()), "it has ended");
    }
}
