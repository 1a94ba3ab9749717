//! Binary recordings of sysstat, atop and perf, turned into text by the tools that wrote them.
//!
//! Their layouts change with the version and the machine, so only the tools themselves read them.
//! A tool gets the file as its standard input and is told to read `/dev/stdin`: what it reads is
//! what was looked at here, and no name can be taken for an option.
//!
//! A recording comes from anywhere, and the tools were written to trust theirs. Root runs them as
//! a user that is nobody else. They open `/dev/stdin` anew, which the kernel allows only to who may
//! read the file: of one that others may not read they get a copy in memory.

use crate::nobody::Nobody;
use crate::regular;
use crate::root::Root;
use crate::running::{GRACE, Running, read_aside};
use std::fs::{File, Permissions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use hugewise_sys::sandbox::Sandbox;
use hugewise_sys::session;
use rustix::fs::{MemfdFlags, memfd_create};

/// Where the tools are searched for: never on the user's PATH, for a recording may be hostile.
const DIRECTORIES: [&str; 3] = ["/usr/bin", "/bin", "/usr/local/bin"];

/// Most bytes that a tool may print. A day of sysstat at one minute has about 15 MB of JSON.
const OUTPUT_BYTES_MAX: u64 = 512 << 20;

/// Most bytes of a complaint.
const COMPLAINT_BYTES_MAX: u64 = 4 << 10;

/// How long a tool may take.
const TIME_MAX: Duration = Duration::from_secs(120);

/// A tool that turns recordings into text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// sysstat's, to JSON.
    Sadf,
    /// atop, to lines for programs.
    Atop,
    /// perf, to samples with their chains of calls.
    Perf,
}

impl Tool {
    /// The program's name.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Sadf => "sadf",
            Self::Atop => "atop",
            Self::Perf => "perf",
        }
    }

    /// The package that has it, in most distributions.
    pub const fn package(self) -> &'static str {
        match self {
            Self::Sadf => "sysstat",
            Self::Atop => "atop",
            Self::Perf => "perf or linux-perf",
        }
    }

    /// The command that makes text of a recording, to be run on another machine.
    const fn command(self) -> &'static str {
        match self {
            Self::Sadf => "sadf -j FILE -- -A",
            Self::Atop => "atop -r FILE -P ALL",
            Self::Perf => "perf script -i FILE",
        }
    }

    const fn args(self) -> &'static [&'static str] {
        match self {
            // In the time of the machine that recorded: as its texts and logs have it.
            Self::Sadf => &["-j", "-t", "/dev/stdin", "--", "-A"],
            Self::Atop => &["-r", "/dev/stdin", "-P", "ALL"],
            // Whoever the recording belongs to.
            Self::Perf => &["script", "--force", "--show-lost-events", "-i", "/dev/stdin"],
        }
    }
}

/// What a tool printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The text: JSON or lines.
    pub bytes: Vec<u8>,
    /// What it complained about all the same, such as a file that ends early.
    pub complaint: Option<String>,
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The file cannot be read.
    #[error("cannot read the recording: {0}")]
    File(io::Error),
    /// The tool is not there.
    #[error(
        "'{program}', which reads this file, is not installed: install the package '{package}', \
         or give the text that '{command}' makes of it on another machine",
        program = .0.program(), package = .0.package(), command = .0.command()
    )]
    NotInstalled(Tool),
    /// The tool cannot be started, or waited for.
    #[error("cannot run '{program}': {error}", program = .0.program(), error = .1)]
    Run(Tool, io::Error),
    /// The tool cannot read the file, and says why.
    #[error("'{program}' cannot read the file: {message}{hint}", program = .tool.program())]
    Refused {
        /// The tool.
        tool: Tool,
        /// What it said.
        message: String,
        /// What to do about it; empty, or a sentence with a blank before it.
        hint: &'static str,
    },
    /// The tool prints too much.
    #[error(
        "'{program}' printed more than {most} bytes: cut a part out of the recording",
        program = .0.program(), most = .1
    )]
    TooLarge(Tool, u64),
    /// The tool takes too long, and was killed.
    #[error(
        "'{program}' was stopped after {seconds} s",
        program = .0.program(), seconds = .1.as_secs()
    )]
    TimedOut(Tool, Duration),
}

/// Runs the tools.
#[derive(Clone, Debug)]
pub struct Converter {
    directories: Vec<PathBuf>,
    output_bytes_max: u64,
    time_max: Duration,
}

impl Converter {
    /// The tools of this machine, with the usual limits: 512 MiB and 120 s.
    pub fn live() -> Self {
        Self::at(DIRECTORIES.iter().map(PathBuf::from).collect(), OUTPUT_BYTES_MAX, TIME_MAX)
    }

    /// Tools in other directories, the first one first, with other limits.
    pub const fn at(directories: Vec<PathBuf>, output_bytes_max: u64, time_max: Duration) -> Self {
        Self { directories, output_bytes_max, time_max }
    }

    /// What `tool` makes of `file`. Dates and numbers are of the C locale; `TZ` is left as it is.
    ///
    /// # Errors
    /// See [`ForeignError`].
    pub fn convert(&self, tool: Tool, file: &Path) -> Result<Converted, ForeignError> {
        let file = regular::open(file).map_err(ForeignError::File)?;
        let again = file.try_clone().map_err(ForeignError::File)?;
        match self.run(tool, tool.args(), file) {
            Err(ForeignError::Refused { message, .. }) if is_of_old_sadf(tool, &message) => {
                self.modernise(&message, again)
            }
            result => result,
        }
    }

    /// What `sadf` makes of a file of an older version: it converts those since 9.1.6 (2010) first.
    fn modernise(&self, refusal: &str, mut file: File) -> Result<Converted, ForeignError> {
        let tool = Tool::Sadf;
        file.rewind().map_err(ForeignError::File)?;
        let new = self.run(tool, &["-c", "/dev/stdin"], file).map_err(|error| match error {
            ForeignError::Refused { message, .. } => {
                // What it says then is to run the command that has just been run.
                let (refusal, _) = refusal.split_once("; Try to").unwrap_or((refusal, ""));
                let ends = message.rsplit("; ").next().unwrap_or_default();
                let message = format!("{refusal}; nor can 'sadf -c' convert it: {ends}");
                ForeignError::Refused { tool, message, hint: OF_OLD_SADF }
            }
            other => other,
        })?;
        let mut copy = memory().map_err(ForeignError::File)?;
        copy.write_all(&new.bytes).map_err(ForeignError::File)?;
        let copy = shared(copy).map_err(ForeignError::File)?;
        let Converted { bytes, complaint } = self.run(tool, tool.args(), copy)?;
        // Its statistics stand before what it says of the whole.
        let ends = new.complaint.and_then(|said| said.rsplit("; ").next().map(str::to_owned));
        let said: Vec<String> = ends.into_iter().chain(complaint).collect();
        Ok(Converted { bytes, complaint: (!said.is_empty()).then(|| said.join("; ")) })
    }

    /// Runs the tool with `file` as its standard input.
    fn run(&self, tool: Tool, args: &[&str], file: File) -> Result<Converted, ForeignError> {
        let program = self.find(tool).ok_or(ForeignError::NotInstalled(tool))?;
        let run = |error| ForeignError::Run(tool, error);
        let user = Nobody::pick(&Root::live()).map_err(run)?;
        // It may be somebody else's, too, of which only this process may read it.
        let own = file.metadata().map_err(ForeignError::File)?.uid();
        let others = user.is_some() || own != rustix::process::geteuid().as_raw();
        let file = if others { readable(file).map_err(ForeignError::File)? } else { file };
        let mut command = Command::new(program);
        command.args(args).env_clear().env("LC_ALL", "C").current_dir("/");
        if let Some(zone) = std::env::var_os("TZ") {
            command.env("TZ", zone);
        }
        command.stdin(file).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ids = user.map(|user| (user.uid, user.gid));
        let sandbox = Sandbox::of_reader().map_err(run)?;
        session::without_privileges(&mut command, ids, sandbox);
        let child = command.spawn().map_err(run)?;
        self.collect(tool, Running(child))
    }

    fn find(&self, tool: Tool) -> Option<PathBuf> {
        let places = self.directories.iter().map(|directory| directory.join(tool.program()));
        places.into_iter().find(|place| place.is_file())
    }

    fn collect(&self, tool: Tool, mut running: Running) -> Result<Converted, ForeignError> {
        let Some((says, complains)) = running.0.stdout.take().zip(running.0.stderr.take()) else {
            return Err(ForeignError::Run(tool, io::Error::other("no pipes")));
        };
        // One byte more than allowed tells too much from just enough.
        let says = read_aside(says, self.output_bytes_max.saturating_add(1));
        let complains = read_aside(complains, COMPLAINT_BYTES_MAX);
        let run = |error| ForeignError::Run(tool, error);
        let until = Instant::now() + self.time_max;
        let bytes = match says.recv_timeout(self.time_max) {
            Ok(read) => read.map_err(run)?,
            Err(_) => return Err(ForeignError::TimedOut(tool, self.time_max)),
        };
        if bytes.len() as u64 > self.output_bytes_max {
            return Err(ForeignError::TooLarge(tool, self.output_bytes_max));
        }
        let Some(status) = running.wait(until).map_err(run)? else {
            return Err(ForeignError::TimedOut(tool, self.time_max));
        };
        // Its messages end with it, unless another process has the pipe open.
        let complaint = complains.recv_timeout(GRACE).ok().and_then(Result::ok).unwrap_or_default();
        judge(tool, status, bytes, &complaint)
    }
}

/// A recording for a tool that reads `/dev/stdin` as a user without privileges, whoever may read
/// the file itself.
///
/// # Errors
/// See [`ForeignError`].
pub fn handed_over(file: &Path) -> Result<File, ForeignError> {
    regular::open(file).and_then(readable).map_err(ForeignError::File)
}

/// The same bytes in a file that everybody may open again, as `/dev/stdin` does.
fn readable(mut file: File) -> io::Result<File> {
    if file.metadata()?.permissions().mode() & 0o004 != 0 {
        return Ok(file);
    }
    let mut copy = memory()?;
    io::copy(&mut file, &mut copy)?;
    shared(copy)
}

fn memory() -> io::Result<File> {
    Ok(File::from(memfd_create("recording", MemfdFlags::CLOEXEC)?))
}

/// A copy in memory, to be read from its start by everybody.
fn shared(mut copy: File) -> io::Result<File> {
    copy.set_permissions(Permissions::from_mode(0o444))?;
    copy.rewind()?;
    Ok(copy)
}

/// Whether `sadf` says that the file is of a version with another layout.
fn is_of_old_sadf(tool: Tool, message: &str) -> bool {
    tool == Tool::Sadf && message.contains("cannot read the format")
}

/// What to do about it where it cannot convert it.
const OF_OLD_SADF: &str =
    ". Run 'sadf -j FILE -- -A' with the sadf of the machine it is from, and give that text";

fn judge(
    tool: Tool,
    status: ExitStatus,
    bytes: Vec<u8>,
    complaint: &[u8],
) -> Result<Converted, ForeignError> {
    let text = String::from_utf8_lossy(complaint);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // The name that the tool was given means nothing to the user.
    let text = lines.join("; ").replace(": /dev/stdin", "").replace("/dev/stdin", "the file");
    if status.success() && !bytes.is_empty() {
        return Ok(Converted { bytes, complaint: Some(text).filter(|text| !text.is_empty()) });
    }
    let hint = match tool {
        // Written by another version: sysstat's own words for it.
        Tool::Sadf if text.contains("onvert") => OF_OLD_SADF,
        Tool::Atop if text.contains("version") => {
            ". Convert it with 'atopconvert FILE NEW', or use the atop of the machine it is from"
        }
        Tool::Perf if text.contains("incompatible") || text.contains("not supported") => {
            ". Run 'perf script -i FILE' on the machine that it is from, and give that text"
        }
        Tool::Sadf | Tool::Atop | Tool::Perf => "",
    };
    // What ends by itself has said why.
    let message = match (text.as_str(), status.code()) {
        ("", _) => format!("it ended with {status}"),
        (_, None) => format!("{text}; it ended with {status}"),
        _ => text,
    };
    Err(ForeignError::Refused { tool, message, hint })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;

    /// A directory with a recording and a tool that is a shell script.
    struct Fake(Scratch);

    impl Fake {
        fn new(tool: Tool, script: &str) -> Self {
            let directory = Scratch::new();
            fs::write(directory.join("-recording"), "recorded\n").expect("a file");
            let program = directory.join(tool.program());
            // A script that another thread's child holds open for writing cannot be run: the file
            // is made by a program that has ended.
            let text = format!("#!/bin/sh\n{script}\n");
            let source = directory.join("script");
            fs::write(&source, text).expect("a file");
            let copied = Command::new("/bin/cp").arg(&source).arg(&program).status();
            assert!(copied.expect("cp").success());
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
            Self(directory)
        }

        fn converter(&self) -> Converter {
            let nowhere = self.0.join("nowhere");
            Converter::at(vec![nowhere, self.0.to_path_buf()], 1000, Duration::from_secs(20))
        }

        fn convert(&self, tool: Tool) -> Result<Converted, ForeignError> {
            self.converter().convert(tool, &self.0.join("-recording"))
        }
    }

    fn text(converted: &Converted) -> String {
        String::from_utf8_lossy(&converted.bytes).into_owned()
    }

    #[test]
    fn a_tool_gets_the_file_and_a_plain_environment() {
        let script = "cat; echo \"$* $LC_ALL ${HOME:-none}\"";
        let fake = Fake::new(Tool::Sadf, script);
        let converted = fake.convert(Tool::Sadf).expect("a text");
        assert_eq!(text(&converted), "recorded\n-j -t /dev/stdin -- -A C none\n");
        assert_eq!(converted.complaint, None);
        let fake = Fake::new(Tool::Atop, script);
        let converted = fake.convert(Tool::Atop).expect("a text");
        assert_eq!(text(&converted), "recorded\n-r /dev/stdin -P ALL C none\n");
        let fake = Fake::new(Tool::Perf, script);
        let said = text(&fake.convert(Tool::Perf).expect("a text"));
        assert!(said.ends_with("script --force --show-lost-events -i /dev/stdin C none\n"));
    }

    /// The tool may read what only root reads, and nothing else of root's.
    #[test]
    fn a_tool_is_nobody() {
        let script = "cat /dev/stdin; grep -E '^(Uid|CapEff|NoNewPrivs):' /proc/self/status";
        let fake = Fake::new(Tool::Sadf, script);
        let recording = fake.0.join("-recording");
        fs::set_permissions(&recording, Permissions::from_mode(0o600)).expect("a mode");
        let said = text(&fake.convert(Tool::Sadf).expect("a text"));
        assert!(said.starts_with("recorded\n") && said.contains("NoNewPrivs:\t1"), "{said}");
        if rustix::process::geteuid().is_root() {
            assert!(!said.contains("Uid:\t0") && said.contains("CapEff:\t0000000000000000"));
        }
        let spy = Fake::new(Tool::Sadf, "cat /etc/shadow && echo and more");
        let read = spy.convert(Tool::Sadf);
        let own = File::open("/etc/shadow").is_ok() && !rustix::process::geteuid().is_root();
        assert!(own || read.is_err(), "{read:?}");
    }

    #[test]
    fn complaints_are_kept() {
        let script = "echo part; echo 'End of file unexpected' >&2";
        let converted = Fake::new(Tool::Sadf, script).convert(Tool::Sadf).expect("a text");
        assert_eq!(converted.complaint.as_deref(), Some("End of file unexpected"));
    }

    #[test]
    fn a_tool_that_refuses_is_quoted() {
        let script = "echo 'Invalid system activity file: /dev/stdin' >&2
            echo 'Current sysstat version cannot read the format of this file' >&2; exit 3";
        let error = Fake::new(Tool::Sadf, script).convert(Tool::Sadf).expect_err("refused");
        let message = error.to_string();
        assert!(message.contains("Invalid system activity file; Current"), "{message}");
        assert!(message.contains("sadf -c"), "{message}");
        let silent = Fake::new(Tool::Atop, "exit 7").convert(Tool::Atop);
        assert!(silent.expect_err("refused").to_string().contains("exit status: 7"));
    }

    #[test]
    fn a_file_of_an_older_sadf_is_converted_first() {
        let reads = "case $1 in
            -c) echo 'Statistics:' >&2; echo 'File converted' >&2; sed s/recorded/converted/;;
            *) grep converted && exit; echo 'File created by sysstat version 9.1.7' >&2
               echo 'Current version cannot read the format of this file' >&2
               echo 'Try to convert it' >&2; exit 3;;
            esac";
        let fake = Fake::new(Tool::Sadf, reads);
        let converted = fake.convert(Tool::Sadf).expect("a text");
        assert_eq!(text(&converted), "converted\n");
        assert_eq!(converted.complaint.as_deref(), Some("File converted"));
        // Some versions crash on it.
        let fake = Fake::new(Tool::Sadf, &reads.replace("sed s", "kill -SEGV $$; sed s"));
        let message = fake.convert(Tool::Sadf).expect_err("refused").to_string();
        for part in ["version 9.1.7", "'sadf -c'", "SIGSEGV", "sadf of the machine it is from"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(!message.contains("Try to"), "{message}");
    }

    #[test]
    fn limits_hold() {
        let endless = Fake::new(Tool::Sadf, "while :; do echo more; done");
        let result = endless.convert(Tool::Sadf);
        assert!(matches!(result, Err(ForeignError::TooLarge(Tool::Sadf, 1000))), "{result:?}");
        let slow = Fake::new(Tool::Sadf, "exec sleep 60");
        let converter = Converter::at(vec![slow.0.to_path_buf()], 1000, Duration::from_millis(100));
        let result = converter.convert(Tool::Sadf, &slow.0.join("-recording"));
        assert!(matches!(result, Err(ForeignError::TimedOut(..))), "{result:?}");
    }

    #[test]
    fn what_is_no_file_or_has_no_tool() {
        let fake = Fake::new(Tool::Sadf, "cat");
        let result = fake.convert(Tool::Atop);
        assert!(matches!(result, Err(ForeignError::NotInstalled(Tool::Atop))), "{result:?}");
        let without = fake.convert(Tool::Perf).expect_err("no perf").to_string();
        assert!(without.contains("'perf script -i FILE'"), "{without}");
        let converter = fake.converter();
        let folder: &Path = &fake.0;
        for other in [folder, Path::new("/dev/null")] {
            let error = converter.convert(Tool::Sadf, other).expect_err("no file");
            assert_eq!(error.to_string(), "cannot read the recording: not a regular file");
        }
        let result = converter.convert(Tool::Sadf, &fake.0.join("missing"));
        assert!(matches!(result, Err(ForeignError::File(_))), "{result:?}");
    }
}
