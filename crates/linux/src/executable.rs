//! A program that is about to be started: where it is, as `execvp` would find it, and what its
//! file, its loader and its Java VM say about it. Nothing is run.

use crate::regular;
use hugewise_base::parse::elf::{self, Elf};
use hugewise_manager::run_policy::program::{Facts, MARK_BYTES_MIN, Mark, STRING_BYTES, mark};
use rustix::fs::{Access, AtFlags, CWD};
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What `execvp` takes where there is no `PATH` (`confstr(_CS_PATH)` of glibc).
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// The kernel's `BINPRM_BUF_SIZE`: a longer first line of a script is cut.
const FIRST_LINE: u64 = 256;
/// The kernel follows no more interpreters of interpreters (`exec_binprm`).
const SCRIPTS_MAX: usize = 5;
/// No more of a file is searched: the largest programs have some hundred MiB.
const SEARCHED_BYTES: u64 = 1 << 30;
/// More of one answer of [`elf::parse`] is not read.
const PART_BYTES: u64 = 1 << 20;
/// The `release` file of a Java VM has some KiB: one line is a list of modules.
const RELEASE_BYTES: u64 = 64 << 10;

/// Where a program is: a name without a slash is looked for in the directories of `path`.
///
/// # Errors
/// There is none, or none that may be executed.
pub fn find(name: &OsStr, path: Option<&OsStr>) -> io::Result<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        may_run(Path::new(name))?;
        return Ok(name.into());
    }
    let mut error = io::Error::from(rustix::io::Errno::NOENT);
    if name.is_empty() {
        return Err(error);
    }
    for folder in std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH))) {
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        let file = folder.join(name);
        match may_run(&file) {
            Ok(()) => return Ok(file),
            // It goes on, and says so at the end where nothing else was found.
            Err(denied) if denied.kind() == ErrorKind::PermissionDenied => error = denied,
            Err(_) => {}
        }
    }
    Err(error)
}

fn may_run(file: &Path) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return Err(rustix::io::Errno::ACCESS.into());
    }
    Ok(rustix::fs::accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS)?)
}

/// What the files of a program say. `called` is how it is called, `search` the `PATH` and
/// `preloaded` the libraries that the caller preloads. What cannot be read is left out.
pub fn look(file: &Path, called: &OsStr, search: Option<&OsStr>, preloaded: &[String]) -> Facts {
    let mut at = file.to_owned();
    for _ in 0..SCRIPTS_MAX {
        match interpreter(&at, search) {
            Some(next) => at = next,
            None => break,
        }
    }
    let script = (at != file).then(|| file.display().to_string());
    let real = at.canonicalize().unwrap_or(at);
    let name = Path::new(called).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut facts = Facts {
        name,
        file: real.display().to_string(),
        script,
        preloaded: preloaded.to_vec(),
        ..Facts::default()
    };
    let Ok(open) = regular::open(&real) else { return facts };
    facts.privileged = open.metadata().ok().and_then(|meta| privileged(&real, &meta));
    facts.elf = description(&open);
    facts.marks = marks(open).unwrap_or_default();
    let loader = facts.elf.as_ref().and_then(|elf| elf.loader.clone()).map(PathBuf::from);
    let home = real.parent().and_then(Path::parent);
    let home = home.filter(|_| real.file_name() == Some(OsStr::new("java")));
    for other in loader.into_iter().chain(home.and_then(virtual_machine)) {
        let found = regular::open(&other).and_then(marks).unwrap_or_default();
        facts.marks.extend(found);
    }
    facts.release = home.and_then(release);
    facts
}

/// The program that a script names in its first line: what 'env' would start stands for it.
fn interpreter(script: &Path, search: Option<&OsStr>) -> Option<PathBuf> {
    let mut head = Vec::new();
    regular::open(script).ok()?.take(FIRST_LINE).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let words = line.split(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
    let mut words = words.map(|word| OsString::from_vec(word.to_vec()));
    let program = PathBuf::from(words.next()?);
    if program.file_name() != Some(OsStr::new("env")) {
        return Some(program);
    }
    let is_program =
        |word: &OsString| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'=');
    let name = words.find(is_program);
    Some(name.and_then(|name| find(&name, search).ok()).unwrap_or(program))
}

/// Why the loader takes variables away from it: it gets rights that its caller lacks.
fn privileged(file: &Path, meta: &Metadata) -> Option<&'static str> {
    let user = rustix::process::geteuid();
    if meta.mode() & 0o4000 != 0 && meta.uid() != user.as_raw() {
        return Some("it is set-user-ID");
    }
    let group = rustix::process::getegid().as_raw();
    if meta.mode() & 0o2010 == 0o2010 && meta.gid() != group {
        return Some("it is set-group-ID");
    }
    // Root has them all.
    let mut value = [0; 64];
    let capable = rustix::fs::getxattr(file, c"security.capability", &mut value).is_ok();
    (capable && !user.is_root()).then_some("it has file capabilities")
}

/// What a program's file says of itself; `None` where it cannot be read, or is no ELF file.
pub fn of_file(path: &Path) -> Option<Elf> {
    description(&regular::open(path).ok()?)
}

fn description(file: &File) -> Option<Elf> {
    elf::parse(&mut |range| {
        let bytes = range.end.saturating_sub(range.start).min(PART_BYTES);
        let mut part = vec![0; usize::try_from(bytes).unwrap_or(0)];
        let mut filled = 0;
        while let Some(rest) = part.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let at = range.start.saturating_add(filled as u64);
            match file.read_at(rest, at) {
                Ok(0) | Err(_) => break,
                Ok(more) => filled += more,
            }
        }
        part.truncate(filled);
        part
    })
}

/// The marks among the C strings of a file. One pass; of a string its end is kept.
fn marks(file: File) -> io::Result<Vec<(Mark, String)>> {
    let mut file = BufReader::with_capacity(1 << 16, file.take(SEARCHED_BYTES));
    let (mut found, mut string) = (Vec::new(), Vec::with_capacity(2 * STRING_BYTES));
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(found);
        }
        let mut parts = bytes.split(|byte| *byte == 0).peekable();
        while let Some(part) = parts.next() {
            // Most of a program is zeros, and no mark is short.
            let is_ended = parts.peek().is_some();
            if string.is_empty() && is_ended && part.len() < MARK_BYTES_MIN {
                continue;
            }
            let end = part.get(part.len().saturating_sub(STRING_BYTES)..).unwrap_or_default();
            let whole = if string.is_empty() {
                end
            } else {
                string.extend_from_slice(end);
                &string
            };
            if is_ended {
                let new = mark(whole).filter(|new| !found.contains(new));
                found.extend(new);
                string.clear();
            } else {
                let from = whole.len().saturating_sub(STRING_BYTES);
                string = whole.get(from..).unwrap_or_default().to_vec();
            }
        }
        let read = bytes.len();
        file.consume(read);
    }
}

/// The library that is the Java VM: in `lib/server`, before Java 9 below a directory of the
/// architecture, and of the `jre`.
fn virtual_machine(home: &Path) -> Option<PathBuf> {
    let mut folders = Vec::new();
    for lib in [home.join("lib"), home.join("jre/lib")] {
        let within = regular::entries(&lib).unwrap_or_default();
        folders.extend(std::iter::once(lib).chain(within));
    }
    let files = folders.into_iter().map(|folder| folder.join("server/libjvm.so"));
    files.into_iter().find(|file| file.is_file())
}

fn release(home: &Path) -> Option<String> {
    let places = [Some(home), home.parent()];
    let file = places
        .into_iter()
        .flatten()
        .find_map(|place| regular::open(&place.join("release")).ok())?;
    let mut text = Vec::new();
    file.take(RELEASE_BYTES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn program(path: &Path, text: &[u8]) {
        fs::write(path, text).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }

    fn looked(file: &Path, search: &OsStr) -> Facts {
        look(file, file.as_os_str(), Some(search), &[])
    }

    #[test]
    fn programs_are_found_as_execvp_finds_them() {
        let scratch = Scratch::new();
        let (one, two) = (scratch.join("one"), scratch.join("two"));
        fs::create_dir(&one).expect("a folder");
        fs::create_dir(&two).expect("a folder");
        fs::create_dir(one.join("tool")).expect("no program");
        fs::write(one.join("plain"), "x").expect("a file");
        program(&two.join("tool"), b"x");
        let path = std::env::join_paths([&one, &two]).expect("plain names");
        let found = |name: &str| find(OsStr::new(name), Some(&path)).map_err(|e| e.kind());
        assert_eq!(found("tool"), Ok(two.join("tool")));
        assert_eq!(found("plain"), Err(ErrorKind::PermissionDenied));
        assert_eq!(found("absent"), Err(ErrorKind::NotFound));
        assert_eq!(found(""), Err(ErrorKind::NotFound));
        let by_path = two.join("tool").display().to_string();
        assert_eq!(found(&by_path), Ok(two.join("tool")));
        assert!(find(OsStr::new("sh"), None).is_ok());
    }

    #[test]
    fn this_program_names_its_loader_or_is_static() {
        let own = std::env::current_exe().expect("its path");
        let elf = looked(&own, OsStr::new("")).elf.expect("a program");
        assert_eq!(elf.loader.is_some(), !elf.libraries.is_empty(), "{elf:?}");
        assert!(!elf.go);
    }

    #[test]
    fn scripts_stand_for_their_interpreters() {
        let scratch = Scratch::new();
        let shell = find(OsStr::new("sh"), None).expect("a shell").canonicalize().expect("it");
        let direct = scratch.join("direct");
        program(&direct, b"#!/bin/sh -e\n");
        let by_env = scratch.join("by-env");
        program(&by_env, b"#! /usr/bin/env -S A=1 worker -v\n");
        symlink("direct", scratch.join("worker")).expect("a link");
        for script in [direct, by_env] {
            let facts = looked(&script, scratch.path().as_os_str());
            assert_eq!(facts.file, shell.display().to_string());
            assert_eq!(facts.script, Some(script.display().to_string()));
            assert!(facts.elf.is_some());
        }
        let own = scratch.join("loop");
        program(&own, format!("#!{}\n", own.display()).as_bytes());
        assert_eq!(looked(&own, OsStr::new("")).elf, None, "it ends");
    }

    #[test]
    fn marks_are_found_wherever_they_lie() {
        let scratch = Scratch::new();
        let file = scratch.join("strings");
        for shift in 0..40 {
            let mut bytes = vec![b'x'; (1 << 16) - 20 + shift];
            bytes.extend(b"\0_je_MALLOC_CONF\0disable-thp\0");
            bytes.extend(b"PYTHONMALLOC is set\0UseTransparentHugePages");
            fs::write(&file, bytes).expect("a file");
            let found = marks(File::open(&file).expect("opens")).expect("reads");
            let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
            assert_eq!(names, ["_MALLOC_CONF", "disable-thp"], "{shift}");
        }
    }

    #[test]
    fn a_java_vm_is_where_its_launcher_is() {
        let scratch = Scratch::new();
        let home = scratch.join("vm");
        fs::create_dir_all(home.join("bin")).expect("a folder");
        fs::create_dir_all(home.join("jre/lib/amd64/server")).expect("a folder");
        program(&home.join("bin/java"), b"\x7fELF");
        fs::write(home.join("jre/lib/amd64/server/libjvm.so"), b"\0UseTransparentHugePages\0")
            .expect("a file");
        fs::write(home.join("release"), "JVM_VARIANT=\"x\"").expect("a file");
        symlink(home.join("bin/java"), scratch.join("java")).expect("a link");
        let facts = looked(&scratch.join("java"), OsStr::new(""));
        assert!(facts.marks.iter().any(|(mark, _)| *mark == Mark::HotSpot), "{facts:?}");
        assert_eq!(facts.release.as_deref(), Some("JVM_VARIANT=\"x\""));
    }
}
