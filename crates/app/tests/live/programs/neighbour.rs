//! What an unprivileged user may do with processes of their own to be in a manager's way. Tests of
//! the manager run it as another user beside a victim.

use super::kit::{MIB, end_with_parent, huge, say_ready, serve, unknown};
use super::{command, exec, words};
use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use hugewise_linux::cpu::enter_idle_class;
use hugewise_linux::fork;
use hugewise_linux::memory::{Arena, Holed, LocalAdvice, map_file, secret_file};
use rustix::fs::{FlockOperation, flock};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Mappings of one process: a little below the default vm.max_map_count, 65,530.
const MAPPINGS: usize = 60_000;

/// Bytes of one piece of sparse address space.
const PIECE: usize = 512 << 20;

/// Pause between two rounds of knocking or of moving holes: the rest is spent on system calls.
const ROUND: Duration = Duration::from_millis(1);

/// After this time a program starts itself anew.
const RESTART: Duration = Duration::from_millis(300);

/// How long a short-lived program lives.
const LIFE: Duration = Duration::from_secs(5);

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Args {
    #[arg(long, value_enum)]
    kind: Kind,
    /// Memory in use, MiB; even
    #[arg(long, default_value_t = 32)]
    mib: usize,
    /// Children, threads, programs, or address space in GiB: as the kind needs
    #[arg(long, default_value_t = 16)]
    count: usize,
    /// The first of the ids that programs run under: as the kind needs
    #[arg(long, default_value_t = 1)]
    first: u32,
    /// A directory of the manager: as the kind needs
    #[arg(long)]
    at: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Memory, and nothing else.
    Plain,
    /// As many mappings as the kernel allows.
    Mappings,
    /// One page in each region of a large mapping.
    Sparse,
    /// Forked children that share all memory for ever.
    Forks,
    /// The same, traced by their parent and stopped.
    Traced,
    /// Full regions, each with a page unmapped: a collapse fails as if memory were short.
    Holes,
    /// Full regions of which pages come and go all the time.
    MovingHoles,
    /// Threads that sleep.
    Threads,
    /// Threads that always want a CPU.
    Hogs,
    /// A child that has this process's very memory, and never becomes another program.
    SharedMemory,
    /// Memory that stays where it is, and some that not even the kernel maps.
    Locked,
    /// A program that starts itself anew all the time.
    Restarts,
    /// Programs with memory that live for some seconds each.
    ShortLived,
    /// Changes mappings all the time, on a CPU only where nobody else wants it.
    Idle,
    /// Programs under as many ids of one user's namespace, as soon as `go` says that it has them.
    Accounts,
    /// Programs under as many ids that were lent to one user, in the machine's own namespace. Only
    /// root can start it, in place of a program that a namespace left behind with its ids.
    Lent,
    /// Connects to, opens, locks, renames, links and removes whatever lies in directories of the
    /// manager, without a pause worth the name.
    Knock,
}

/// What is held until the end.
#[derive(Default)]
struct Held {
    arenas: Vec<Arena>,
    holed: Vec<Holed>,
    children: Vec<fork::PausingChild>,
    programs: Vec<Child>,
}

/// Runs the program.
pub(super) fn run(given: &[OsString]) -> anyhow::Result<u8> {
    end_with_parent()?;
    let args = Args::try_parse_from(given)?;
    if args.kind == Kind::Accounts {
        super::namespaces::own_users()?;
    }
    let mut held = Held::new(&args)?;
    begin(&args, given, &mut held);
    say_ready()?;
    let code = serve(|asked| {
        ensure!(asked == "go", unknown(asked));
        held.start_under_ids(&args)?;
        super::kit::say(&held.programs.len())?;
        Ok(true)
    });
    drop(held);
    code
}

/// Begins what goes on until the end.
fn begin(args: &Args, given: &[OsString], held: &mut Held) {
    let (count, mib) = (args.count, args.mib);
    match args.kind {
        Kind::Knock => {
            let doors = args.at.clone();
            for_ever(ROUND, move || doors.iter().for_each(|dir| knock(dir)));
        }
        Kind::MovingHoles => {
            let mut arenas = std::mem::take(&mut held.arenas);
            for_ever(ROUND, move || arenas.iter_mut().for_each(move_holes));
        }
        Kind::Threads => (0..count).for_each(|_| for_ever(LIFE, || {})),
        Kind::Hogs => (0..count).for_each(|_| for_ever(Duration::ZERO, || {})),
        Kind::SharedMemory => for_ever(ROUND, || {
            let _ = fork::wait_for_child_in_own_memory();
        }),
        Kind::Restarts => {
            let again: Vec<OsString> = words("neighbour").iter().map(OsString::from).collect();
            let again = [again, given.to_vec()].concat();
            for_ever(RESTART, move || drop(exec(&again)));
        }
        Kind::ShortLived => {
            let mut programs = VecDeque::new();
            let pause = LIFE / u32::try_from(count).unwrap_or(1);
            for_ever(pause, move || replace_old(&mut programs, mib));
        }
        Kind::Idle => for_ever(Duration::ZERO, move || change_mappings(mib * MIB)),
        _ => {}
    }
}

/// Does the same again and again, on a thread that ends with the process. It begins with the pause.
fn for_ever(pause: Duration, mut what: impl FnMut() + Send + 'static) {
    std::thread::spawn(move || {
        loop {
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
            what();
        }
    });
}

/// A program with memory, and nothing else.
fn plain(mib: usize) -> std::process::Command {
    let mut program = command("neighbour");
    program.args(["--kind", "plain", "--mib", &mib.to_string()]);
    program.stdin(Stdio::piped()).stdout(Stdio::null());
    program
}

/// Starts a program, and ends those that have lived long enough.
fn replace_old(programs: &mut VecDeque<(Instant, Child)>, mib: usize) {
    while let Some((began, old)) = programs.front_mut() {
        if began.elapsed() < LIFE {
            break;
        }
        let _ = old.kill();
        let _ = old.wait();
        programs.pop_front();
    }
    if let Ok(program) = plain(mib).spawn() {
        programs.push_back((Instant::now(), program));
    }
}

/// Gives a page of each region back, and fills the one that was given back before.
fn move_holes(arena: &mut Arena) {
    let page = rustix::param::page_size();
    for region in (0..arena.len()).step_by(huge()) {
        let _ = arena.advise(region..region + page, LocalAdvice::DontNeed);
        arena.set(region + page, 1);
        let _ = arena.advise(region + page..region + 2 * page, LocalAdvice::DontNeed);
        arena.set(region, 1);
    }
}

/// Maps, fills, protects and unmaps memory, each with the lock of the address space held.
fn change_mappings(len: usize) {
    let _ = enter_idle_class();
    let Ok(mut arena) = Arena::new(len, huge()) else { return };
    let _ = arena.advise(0..len, LocalAdvice::PopulateWrite);
    let _ = arena.protect_read_only(0..len);
}

impl Held {
    fn new(args: &Args) -> anyhow::Result<Self> {
        let (len, page) = (args.mib * MIB, rustix::param::page_size());
        ensure!(len.is_multiple_of(huge()), "--mib {} is not even", args.mib);
        let mut held = Self::default();
        if len > 0 && !matches!(args.kind, Kind::Accounts | Kind::Lent) {
            let mut arena = Arena::new(len, huge()).context("cannot map memory")?;
            (0..len).step_by(page).for_each(|at| arena.set(at, 1));
            match args.kind {
                Kind::Holes => held.holed.push(arena.into_holed(huge()).context("cannot unmap")?),
                _ => held.arenas.push(arena),
            }
        }
        match args.kind {
            Kind::Mappings => {
                let mut many = Arena::new(MAPPINGS * page, page).context("cannot map memory")?;
                for number in (0..MAPPINGS).step_by(2) {
                    let range = number * page..(number + 1) * page;
                    many.protect_read_only(range).context("cannot change a mapping")?;
                }
                held.arenas.push(many);
            }
            Kind::Sparse => {
                // In pieces: the kernel refuses one that is larger than the machine's memory.
                for _ in 0..args.count * 2 {
                    let mut wide = Arena::new(PIECE, huge()).context("cannot map memory")?;
                    (0..PIECE).step_by(huge()).for_each(|at| wide.set(at, 1));
                    held.arenas.push(wide);
                }
            }
            Kind::Forks | Kind::Traced => {
                let traced = args.kind == Kind::Traced;
                let child = if traced { fork::traced_child } else { fork::pausing_child };
                for _ in 0..args.count {
                    let child = child().map_err(|errno| anyhow::anyhow!("fork: {errno}"));
                    held.children.push(child?);
                }
            }
            // As far as the kernel lets this user: what is refused stays plain memory.
            Kind::Locked => lock(len),
            Kind::Lent => held.start_under_ids(args)?,
            _ => {}
        }
        Ok(held)
    }

    /// Starts a program under each of the ids.
    fn start_under_ids(&mut self, args: &Args) -> anyhow::Result<()> {
        for id in (args.first..).take(args.count) {
            self.programs.push(plain(args.mib).uid(id).gid(id).spawn()?);
        }
        Ok(())
    }
}

fn lock(len: usize) {
    let _ = rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT);
    if let Ok(file) = secret_file() {
        let _ = file.set_len(len as u64);
        let _ = map_file(&file, len);
    }
}

/// One round at all doors. Each attempt may fail: what counts is what it does to the manager.
fn knock(dir: &Path) {
    let mine = dir.join(format!("knock-{}", std::process::id()));
    let _ = fs::write(&mine, "x");
    let _ = std::os::unix::fs::symlink("/dev/zero", &mine);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let door = entry.path();
        if let Ok(mut socket) = UnixStream::connect(&door) {
            let _ = socket.write_all(b"{\"verb\":\"stop\"}\n");
        }
        if let Ok(file) = File::open(&door) {
            let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        }
        let _ = fs::hard_link(&door, &mine);
        let _ = fs::rename(&door, &mine);
        let _ = fs::remove_file(&door);
    }
}
