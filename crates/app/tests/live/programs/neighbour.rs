//! What an unprivileged user may do with processes of their own to be in a manager's way. Tests of
//! the manager run it as another user beside a victim.

use super::kit::{HUGE, MIB, end_with_parent, say_ready, serve, unknown};
use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use hugewise_linux::fork::{PausingChild, pausing_child};
use hugewise_linux::memory::{Arena, Holed};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Mappings of one process: a little below the default vm.max_map_count, 65,530.
const MAPPINGS: usize = 60_000;

/// Bytes of one piece of sparse address space.
const PIECE: usize = 512 << 20;

/// Pause between two rounds of knocking: the rest is spent on system calls.
const KNOCK: Duration = Duration::from_millis(1);

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Args {
    #[arg(long, value_enum)]
    kind: Kind,
    /// Memory in use, MiB; even
    #[arg(long, default_value_t = 32)]
    mib: usize,
    /// Forked children, or address space in GiB: as the kind needs
    #[arg(long, default_value_t = 16)]
    count: usize,
    /// A directory of the manager: as the kind needs
    #[arg(long)]
    at: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// As many mappings as the kernel allows.
    Mappings,
    /// One page in each region of a large mapping.
    Sparse,
    /// Forked children that share all memory for ever.
    Forks,
    /// Full regions, each with a page unmapped: a collapse fails as if memory were short.
    Holes,
    /// Connects to, opens, locks, renames, links and removes whatever lies in directories of the
    /// manager, without a pause worth the name.
    Knock,
}

/// What is held until the end.
#[derive(Default)]
struct Held {
    arenas: Vec<Arena>,
    holed: Vec<Holed>,
    children: Vec<PausingChild>,
}

/// Runs the program.
pub(super) fn run(args: &[OsString]) -> anyhow::Result<u8> {
    end_with_parent()?;
    let args = Args::try_parse_from(args)?;
    let held = Held::new(&args)?;
    if args.kind == Kind::Knock {
        // Ends with the process.
        std::thread::spawn(move || {
            loop {
                args.at.iter().for_each(|dir| knock(dir));
                std::thread::sleep(KNOCK);
            }
        });
    }
    say_ready()?;
    let code = serve(|asked| Err(unknown(asked)));
    drop(held);
    code
}

impl Held {
    fn new(args: &Args) -> anyhow::Result<Self> {
        let (len, page) = (args.mib * MIB, rustix::param::page_size());
        ensure!(len > 0 && len.is_multiple_of(HUGE), "--mib {} is not even", args.mib);
        let mut held = Self::default();
        let mut arena = Arena::new(len, HUGE).context("cannot map memory")?;
        (0..len).step_by(page).for_each(|at| arena.set(at, 1));
        match args.kind {
            Kind::Holes => held.holed.push(arena.into_holed(HUGE).context("cannot unmap")?),
            _ => held.arenas.push(arena),
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
                    let mut wide = Arena::new(PIECE, HUGE).context("cannot map memory")?;
                    (0..PIECE).step_by(HUGE).for_each(|at| wide.set(at, 1));
                    held.arenas.push(wide);
                }
            }
            Kind::Forks => {
                for _ in 0..args.count {
                    let child = pausing_child().map_err(|errno| anyhow::anyhow!("fork: {errno}"));
                    held.children.push(child?);
                }
            }
            Kind::Holes | Kind::Knock => {}
        }
        Ok(held)
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
