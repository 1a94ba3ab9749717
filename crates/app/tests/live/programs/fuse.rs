//! A user who holds the lock of his own address space for as long as he likes: by a file of FUSE
//! that is mapped, and whose server never answers a read.
//!
//! Here root mounts, because `/dev/fuse` is closed to others on this machine, and hands the open
//! file over; on most machines every user can do both in a user namespace.

use super::namespaces::private_mounts;
use super::{SELF, command, kit};
use crate::kit::wait_for;
use anyhow::{Context, bail};
use hugewise_linux::memory::{Arena, map_file};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, Signal};
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// Requests (`include/uapi/linux/fuse.h`).
mod opcode {
    pub(super) const LOOKUP: u32 = 1;
    pub(super) const FORGET: u32 = 2;
    pub(super) const GETATTR: u32 = 3;
    pub(super) const OPEN: u32 = 14;
    pub(super) const READ: u32 = 15;
    pub(super) const INIT: u32 = 26;
    pub(super) const BATCH_FORGET: u32 = 42;
}

/// The only file, and its number.
const NAME: &str = "file";
const FILE: u64 = 2;
/// Bytes that are mapped.
const MAPPED: usize = 64 << 10;
/// Memory for which it would be served.
const MEMORY: usize = 32 * kit::MIB;

/// How the lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    /// For reading: whoever wants to write waits.
    ByReader,
    /// A writer waits behind that: whoever wants to read waits as well.
    ByReaderAndWriter,
    /// For reading, and only once some of its memory was promoted: no check before a call sees it.
    BehindPromotions,
}

/// Why the server does not answer a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// It never does.
    OnPurpose,
    /// Somebody stopped it.
    Stopped,
    /// Its cgroup is frozen.
    Frozen,
}

/// Such a process, and the server of its file.
#[derive(Debug)]
pub(crate) struct FuseHolder {
    server: Child,
    /// Where the server is frozen.
    freezer: Option<PathBuf>,
    _input: Option<ChildStdin>,
    /// The process that holds the lock.
    pub(crate) pid: u32,
}

impl FuseHolder {
    /// Of this user; `place` is where the file is mounted, in a mount namespace of its own. `None`
    /// where there is no FUSE, or nothing to freeze its server with.
    pub(crate) fn start(
        place: &Path,
        uid: u32,
        lock: Lock,
        silence: Silence,
    ) -> anyhow::Result<Option<Self>> {
        if File::open("/dev/fuse").is_err() {
            return Ok(None);
        }
        let freezer = match silence {
            Silence::Frozen => Some(new_freezer()),
            Silence::OnPurpose | Silence::Stopped => None,
        };
        if freezer == Some(None) {
            return Ok(None);
        }
        std::fs::create_dir_all(place)?;
        let mut server = command("fuse-server")
            .arg(place)
            .args([uid.to_string(), format!("{lock:?}"), format!("{silence:?}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = server.stdin.take();
        let mut said = String::new();
        BufReader::new(server.stdout.take().context("no output")?).read_line(&mut said)?;
        // Killed on the way out of here.
        let freezer = freezer.flatten();
        let mut holder = Self { server, freezer, _input: input, pid: 0 };
        let Some(pid) = said.trim().strip_prefix("holds ") else { bail!("it said '{said}'") };
        holder.pid = pid.parse()?;
        if silence == Silence::Stopped {
            let server = Pid::from_child(&holder.server);
            rustix::process::kill_process(server, Signal::STOP)?;
        }
        if let Some(freezer) = &holder.freezer {
            fs::write(freezer.join("cgroup.procs"), holder.server.id().to_string())?;
            fs::write(freezer.join("cgroup.freeze"), "1")?;
        }
        holder.wait_until_it_holds()?;
        Ok(Some(holder))
    }

    /// Waits for the reader to wait, and for the second thread to wait behind it.
    fn wait_until_it_holds(&self) -> anyhow::Result<()> {
        wait_for("the holder to read", || {
            let mut tasks = fs::read_dir(format!("/proc/{}/task", self.pid))?.flatten();
            Ok(tasks.any(|task| {
                let waits = fs::read_to_string(task.path().join("wchan")).unwrap_or_default();
                waits.starts_with("request_wait_answer") || waits.starts_with("folio_wait")
            }))
        })?;
        std::thread::sleep(Duration::from_secs(1));
        Ok(())
    }
}

/// A new cgroup that can be frozen; `None` where there is none of version 2.
fn new_freezer() -> Option<PathBuf> {
    let roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
    let root = roots.iter().map(Path::new).find(|root| root.join("cgroup.controllers").exists())?;
    let folder = root.join(format!("hugewise-live-frozen-{}", std::process::id()));
    fs::create_dir(&folder).ok()?;
    Some(folder)
}

impl Drop for FuseHolder {
    fn drop(&mut self) {
        // With its server the file is gone, and everybody who waits for it goes on.
        let _ = self.server.kill();
        let _ = self.server.wait();
        if let Some(freezer) = &self.freezer {
            let removed = || Ok(!freezer.exists() || fs::remove_dir(freezer).is_ok());
            let _ = wait_for("the end of the freezer", removed);
        }
    }
}

/// Mounts, serves, and starts the process that holds the lock; until its input ends.
pub(super) fn server(args: &[OsString]) -> anyhow::Result<u8> {
    let [place, uid, lock, silence] = args else { bail!("directory, user, lock and silence") };
    let answers = *silence != *format!("{:?}", Silence::OnPurpose);
    let (uid, lock) = (uid.to_str().context("a user")?.parse()?, lock.clone());
    kit::end_with_parent()?;
    private_mounts()?;
    let device = File::options().read(true).write(true).open("/dev/fuse")?;
    let options =
        format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
    let options = CString::new(options)?;
    mount("holder", place, "fuse.holder", MountFlags::empty(), options.as_c_str())?;
    std::thread::spawn(move || answer(&device, answers));
    let file = File::open(Path::new(place).join(NAME))?;
    let mut holder = Command::new(SELF)
        .args([super::MARK, "fuse-holder"])
        .arg(lock)
        .uid(uid)
        .gid(uid)
        .stdin(file)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    BufReader::new(holder.stdout.take().context("no output")?).read_line(&mut said)?;
    println!("holds {}", holder.id());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(kit::OK)
}

/// Answers everything, or everything but reads.
fn answer(mut device: &File, reads: bool) {
    let mut request = vec![0; 1 << 20];
    while let Ok(length @ 40..) = device.read(&mut request) {
        let word = |at: usize| request[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
        let operation = u32::try_from(word(0) >> 32).unwrap_or(0);
        let (unique, node) = (word(8), word(16));
        debug_assert!(length >= 40);
        let body = match operation {
            opcode::FORGET | opcode::BATCH_FORGET => continue,
            opcode::READ if !reads => continue,
            // `size` of `struct fuse_read_in` lies behind the header, the handle and the offset.
            opcode::READ => Some(vec![0; usize::try_from(word(56) & 0xffff_ffff).unwrap_or(0)]),
            opcode::INIT => {
                Some(words32(&[7, 31, 0, 0, 12 | 10 << 16, 1 << 16, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]))
            }
            opcode::LOOKUP => Some([words64(&[FILE, 0, 3600, 3600, 0]), attributes(FILE)].concat()),
            opcode::GETATTR => Some([words64(&[3600, 0]), attributes(node)].concat()),
            opcode::OPEN => Some(words64(&[1, 0])),
            _ => None,
        };
        let error = if body.is_some() { 0 } else { -rustix::io::Errno::NOSYS.raw_os_error() };
        let body = body.unwrap_or_default();
        let mut reply = u32::try_from(16 + body.len()).unwrap_or(16).to_le_bytes().to_vec();
        reply.extend(error.to_le_bytes());
        reply.extend(unique.to_le_bytes());
        reply.extend(body);
        // A request that was interrupted meanwhile takes no answer.
        let _ = device.write(&reply);
    }
}

/// `struct fuse_attr`.
fn attributes(node: u64) -> Vec<u8> {
    let mode = if node == FILE { 0o100_644 } else { 0o040_755 };
    let times = [node, 1 << 20, 2048, 0, 0, 0];
    [words64(&times), words32(&[0, 0, 0, mode, 1, 0, 0, 0, 4096, 0])].concat()
}

fn words64(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words32(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The process that holds the lock: its standard input is the file.
pub(super) fn holder(args: &[OsString]) -> anyhow::Result<u8> {
    kit::end_with_parent()?;
    let is_lock = |lock: Lock| args.first().is_some_and(|arg| *arg == *format!("{lock:?}"));
    let (late, writes) = (is_lock(Lock::BehindPromotions), is_lock(Lock::ByReaderAndWriter));
    let file = File::from(std::os::fd::AsFd::as_fd(&std::io::stdin()).try_clone_to_owned()?);
    let mapped = if late { None } else { Some(map_file(&file, MAPPED)?) };
    let memory = if late { 4 * MEMORY } else { MEMORY };
    let mut memory = Arena::new(memory, kit::huge())?;
    for offset in (0..memory.len()).step_by(4096) {
        memory.set(offset, 1);
    }
    // Both threads begin before anybody holds anything: a new one needs memory. From here on the
    // server can be stopped.
    println!("ready");
    let reader = std::thread::spawn(move || -> std::io::Result<()> {
        let own = File::open("/proc/self/mem")?;
        std::thread::sleep(Duration::from_millis(500));
        while late && huge_kib()? == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mapped = mapped.map_or_else(|| map_file(&file, MAPPED), Ok)?;
        own.read_exact_at(&mut [0], mapped)
    });
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1000));
        writes.then(|| Arena::new(4096, 4096))
    });
    let _ = (reader.join(), writer.join());
    Ok(kit::OK)
}

/// Of this process's memory, KiB in huge pages.
fn huge_kib() -> std::io::Result<u64> {
    let text = fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = text.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kib.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}
