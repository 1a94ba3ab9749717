//! Boots a stock Debian kernel whose only user space is a few static binaries of ours.
//!
//! No image, no root, no guest agent: the kernel comes from a Debian package ([`kernel`]), the
//! binaries from an initramfs that [`cpio`] writes, the result back over the serial port
//! ([`guest`]). The processor is emulated (TCG), so that it works without `/dev/kvm`: guests show
//! how a kernel behaves, never how fast it is.

pub(crate) mod apt;
pub mod cpio;
pub mod elf;
pub(crate) mod error;
pub mod guest;
pub mod kernel;

pub use error::{Error, Result};

use error::failed;
use kernel::Scratch;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Less, and the kernel itself switches transparent huge pages off at boot (below 512 MiB).
pub const MEMORY_MIB: u32 = 1024;

/// What emulates a machine.
struct Emulator {
    program: &'static str,
    /// Debian's package that has it.
    package: &'static str,
    arguments: &'static [&'static str],
    /// The serial port, as the kernel calls it.
    console: &'static str,
}

const X86_64: Emulator = Emulator {
    program: "qemu-system-x86_64",
    package: "qemu-system-x86",
    arguments: &["-cpu", CPU],
    console: "ttyS0",
};

/// Signatures of pointers take an emulator most of its time, unless they are of a kind of its own.
const ARM64: Emulator = Emulator {
    program: "qemu-system-aarch64",
    package: "qemu-system-arm",
    arguments: &["-machine", "virt", "-cpu", "max,pauth-impdef=on"],
    console: "ttyAMA0",
};

fn emulator(series: &str) -> &'static Emulator {
    if kernel::is_arm64(series) { &ARM64 } else { &X86_64 }
}

/// The processor of x86-64, without what takes an emulator time and no test here needs: a fifth
/// level of page tables, and string instructions that clear a huge page byte by byte. Together with
/// `mitigations=off` it saves a fifth of a guest's CPU time (71 s -> 57, measured by
/// `time cargo test --workspace --test vm numa/`).
const CPU: &str = "max,la57=off,erms=off,fsrm=off";

/// What to boot.
#[derive(Debug, Clone)]
pub struct Config {
    /// `5.10`, `6.1`, `6.12` or `newest`; `arm64-6.12`, `arm64-16k` or `arm64-newest`.
    pub series: String,
    /// A static binary that becomes `/init`.
    pub init: PathBuf,
    /// Further files: where they come from, and their absolute path in the guest.
    pub files: Vec<(PathBuf, String)>,
    pub memory_mib: u32,
    /// NUMA nodes, each with an equal share of the memory.
    pub nodes: u32,
    /// More words for the kernel command line. Words the kernel does not know, `NAME=value`
    /// without a dot in the name, become environment variables of init.
    pub append: String,
    pub time_limit: Duration,
    /// A guest that says nothing for so long hangs: a trial waits for two minutes at most.
    pub silence_limit: Duration,
}

impl Config {
    pub fn new(series: &str, init: &Path) -> Self {
        Self {
            series: series.to_string(),
            init: init.to_path_buf(),
            files: Vec::new(),
            memory_mib: MEMORY_MIB,
            nodes: 1,
            append: String::new(),
            // Three guests at once took 480 to 730 s on two processors that did nothing else.
            time_limit: Duration::from_secs(2400),
            silence_limit: Duration::from_secs(300),
        }
    }
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Output {
    /// Everything that the serial port said, without control characters.
    pub serial: String,
    /// The lines that the guest printed between its markers; `None` when it never got to the end.
    pub results: Option<String>,
    pub elapsed: Duration,
}

/// Boots the kernel and waits for its end. `on_line` sees each line of the serial port as it comes.
pub fn run(config: &Config, on_line: &mut dyn FnMut(&str)) -> Result<Output> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(Error::Unavailable("guest kernels need an x86-64 machine".into()));
    }
    let Emulator { program, package, .. } = emulator(&config.series);
    if Command::new(program).arg("--version").stdout(Stdio::null()).status().is_err() {
        let reason = format!("no {program}: install Debian's package {package} (make deps)");
        return Err(Error::Unavailable(reason));
    }
    let vmlinuz = kernel::fetch(&config.series)?;
    let scratch = Scratch::new()?;
    let initramfs = scratch.0.join("initramfs");
    fs::write(&initramfs, build_initramfs(config)?).map_err(failed)?;
    let started = Instant::now();
    let mut child = boot(config, &vmlinuz, &initramfs)?;
    let lines = stream(&mut child);
    let serial = collect(&lines, started + config.time_limit, config.silence_limit, on_line);
    // Nothing left to say or out of time: either way this guest is over.
    let _ = child.kill();
    child.wait().map_err(failed)?;
    let serial = serial.map_err(|serial| {
        let (limit, silence) = (config.time_limit.as_secs(), config.silence_limit.as_secs());
        failed(format!(
            "the guest did not end within {limit} s, or was silent for {silence} s; its end:\n{}",
            tail(&serial)
        ))
    })?;
    Ok(Output { results: guest::results(&serial), serial, elapsed: started.elapsed() })
}

fn boot(config: &Config, vmlinuz: &Path, initramfs: &Path) -> Result<Child> {
    let Emulator { program, arguments, console, .. } = emulator(&config.series);
    // PATH and TMPDIR reach init as environment: setting them in the guest would be unsafe code.
    // Pages are cleared when programs get them: twice takes an emulated CPU longer than compaction.
    let append = format!(
        "console={console} quiet panic=-1 init_on_alloc=0 mitigations=off PATH=/bin TMPDIR=/tmp \
         HUGEWISE_VM={} {}",
        config.series, config.append
    );
    Command::new(program)
        .args(["-accel", "tcg", "-smp", "2", "-nographic", "-no-reboot"])
        .args(*arguments)
        .args(["-nic", "none", "-m", &config.memory_mib.to_string()])
        .arg("-kernel")
        .arg(vmlinuz)
        .arg("-initrd")
        .arg(initramfs)
        .args(["-append", append.trim()])
        .args(numa(config))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|e| failed(format!("cannot start {program}: {e}")))
}

/// The arguments that spread memory over nodes: none for one. Processors go to the first of them.
fn numa(config: &Config) -> Vec<String> {
    let nodes = if config.nodes > 1 { config.nodes } else { 0 };
    let node = |node: u32| {
        let (mib, cpus) = (config.memory_mib / nodes, if node == 0 { ",cpus=0-1" } else { "" });
        let backend = format!("memory-backend-ram,id=m{node},size={mib}M");
        let numa = format!("node,nodeid={node},memdev=m{node}{cpus}");
        ["-object".to_owned(), backend, "-numa".to_owned(), numa]
    };
    (0..nodes).flat_map(node).collect()
}

fn build_initramfs(config: &Config) -> Result<Vec<u8>> {
    let mut archive = cpio::Archive::default();
    for folder in ["dev", "proc", "sys", "tmp", "run", "bin", "etc", "root", "var", "var/lib"] {
        archive.folder(folder);
    }
    archive.console("dev/console");
    let init = [(config.init.clone(), "/init".to_string())];
    for (from, to) in init.iter().chain(&config.files) {
        let bytes = fs::read(from)
            .map_err(|e| failed(format!("cannot read '{}' for the guest: {e}", from.display())))?;
        archive.file(to.trim_start_matches('/'), &bytes);
    }
    Ok(archive.finish())
}

/// Sends the child's lines; the channel closes when the child does.
fn stream(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            // A guest that prints without end must not fill our memory: lines are cut.
            while reader.by_ref().take(64 << 10).read_until(b'\n', &mut line).unwrap_or(0) > 0 {
                let text = guest::printable(&String::from_utf8_lossy(&line));
                line.clear();
                if sender.send(text).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// All lines until the end; what came so far as an error when time is up.
fn collect(
    lines: &Receiver<String>,
    deadline: Instant,
    silence: Duration,
    on_line: &mut dyn FnMut(&str),
) -> std::result::Result<String, String> {
    let mut serial = String::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left.min(silence)) {
            Ok(line) => {
                on_line(&line);
                serial.push_str(&line);
                serial.push('\n');
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(serial),
            Err(RecvTimeoutError::Timeout) => return Err(serial),
        }
    }
}

/// The last lines of a serial log, for messages.
pub fn tail(serial: &str) -> String {
    let lines: Vec<&str> = serial.lines().filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
