//! Whether a user without privileges gets to a file: by the modes of all directories above it, and
//! by its own.

use hugewise_linux::nobody::Nobody;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What may be done with a file, as the lowest three bits of its mode.
const READ: u32 = 0o4;
const EXECUTE: u32 = 0o1;
const ANY: u32 = 0o7;
/// Most bytes of a script's first line that the kernel reads (`BINPRM_BUF_SIZE`).
const FIRST_LINE_BYTES: u64 = 256;

/// Why this user cannot execute a program, by the name of what is in the way: a file that is there.
pub(super) fn of_program(file: &Path, user: Nobody) -> Option<String> {
    let (way, script) = (obstacle(file, user, EXECUTE), interpreter(file));
    if way.is_some() {
        return way;
    }
    // The interpreter opens its script as any other file.
    obstacle(&script?, user, EXECUTE).or_else(|| obstacle(file, user, READ))
}

/// Why this user can do nothing with a file that is named to a program.
pub(super) fn of_file(file: &Path, user: Nobody) -> Option<String> {
    obstacle(file, user, 0).or_else(|| {
        let meta = file.metadata().ok().filter(Metadata::is_file)?;
        (bits(&meta, user) & ANY == 0).then(|| said(file, &meta))
    })
}

/// What keeps a user from a file: the first directory that it cannot enter, or the file itself,
/// where it has none of the bits. `None` where that cannot be seen, too.
fn obstacle(file: &Path, user: Nobody, needs: u32) -> Option<String> {
    let real = file.canonicalize().ok()?;
    // A relative name begins in this directory, whatever is above it.
    let base = if file.is_relative() { std::env::current_dir().ok()? } else { PathBuf::from("/") };
    let below = real.strip_prefix(&base).map(|rest| base.join(rest));
    let depth = if below.is_ok() { base.components().count() } else { 1 };
    let all: Vec<&Path> = real.ancestors().collect();
    let named: Vec<&Path> = file.ancestors().skip(1).filter(|part| part.is_dir()).collect();
    let folders = all[1..].iter().take(all.len() - depth).rev().chain(named.iter().rev());
    for folder in folders {
        let meta = folder.metadata().ok()?;
        if bits(&meta, user) & EXECUTE == 0 {
            return Some(said(folder, &meta));
        }
    }
    let meta = real.metadata().ok()?;
    (bits(&meta, user) & needs != needs).then(|| said(&real, &meta))
}

/// What this user may do: the bits of its owner, of its group, or of others.
fn bits(meta: &Metadata, user: Nobody) -> u32 {
    let shift = match meta {
        meta if meta.uid() == user.uid => 6,
        meta if meta.gid() == user.gid => 3,
        _ => 0,
    };
    meta.mode() >> shift
}

fn said(path: &Path, meta: &Metadata) -> String {
    format!("{} has mode {:04o}", path.display(), meta.mode() & 0o7777)
}

/// The program that runs a script.
fn interpreter(file: &Path) -> Option<PathBuf> {
    let mut line = Vec::new();
    File::open(file).ok()?.take(FIRST_LINE_BYTES).read_to_end(&mut line).ok()?;
    let line = line.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    line.split_whitespace().next().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    const USER: Nobody = Nobody { uid: 65_533, gid: 65_532 };

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
    }

    fn folder_with(name: &str, text: &str) -> (Scratch, PathBuf, PathBuf) {
        let scratch = Scratch::new();
        let (folder, file) = (scratch.join("bin"), scratch.join("bin").join(name));
        fs::create_dir(&folder).expect("mkdir");
        fs::write(&file, text).expect("write");
        mode(&scratch, 0o755);
        mode(&folder, 0o755);
        mode(&file, 0o755);
        (scratch, folder, file)
    }

    #[test]
    fn each_directory_above_counts_by_whatever_name_it_is_reached() {
        let (scratch, folder, file) = folder_with("program", "");
        let link = scratch.join("link");
        symlink(&file, &link).expect("linked");
        for path in [&file, &link] {
            assert_eq!(of_program(path, USER), None);
        }
        mode(&folder, 0o700);
        let wanted = format!("{} has mode 0700", folder.display());
        for path in [&file, &link] {
            assert_eq!(of_program(path, USER), Some(wanted.clone()));
            assert_eq!(of_file(path, USER), Some(wanted.clone()));
        }
        mode(&folder, 0o711);
        mode(&file, 0o750);
        let wanted = format!("{} has mode 0750", file.display());
        assert_eq!(
            (of_program(&file, USER), of_file(&file, USER)),
            (Some(wanted.clone()), Some(wanted))
        );
        mode(&file, 0o751);
        assert_eq!((of_program(&file, USER), of_file(&file, USER)), (None, None));
        // A link that others cannot get to is no way, wherever it leads.
        let inner = scratch.join("inner");
        fs::create_dir(&inner).expect("mkdir");
        symlink(&file, inner.join("link")).expect("linked");
        mode(&inner, 0o700);
        assert!(of_program(&inner.join("link"), USER).is_some());
        assert_eq!(of_program(&scratch.join("none"), USER), None);
    }

    #[test]
    fn owner_and_group_have_their_own_bits() {
        let (_scratch, _folder, file) = folder_with("program", "");
        let meta = file.metadata().expect("there");
        mode(&file, 0o710);
        let owner = Nobody { uid: meta.uid(), gid: 65_532 };
        let group = Nobody { uid: 65_533, gid: meta.gid() };
        assert_eq!((of_program(&file, owner), of_program(&file, group)), (None, None));
        mode(&file, 0o071);
        assert!(of_program(&file, owner).is_some() && of_program(&file, USER).is_none());
    }

    #[test]
    fn a_script_is_read_by_an_interpreter_that_must_be_executable() {
        let (_scratch, folder, interpreter) = folder_with("interpreter", "");
        let script = folder.join("script");
        fs::write(&script, format!("#! {} -x\n", interpreter.display())).expect("write");
        mode(&script, 0o755);
        assert_eq!(of_program(&script, USER), None);
        mode(&script, 0o711);
        assert!(of_program(&script, USER).is_some_and(|why| why.ends_with("script has mode 0711")));
        mode(&script, 0o755);
        mode(&interpreter, 0o744);
        let why = of_program(&script, USER).expect("no way");
        assert!(why.ends_with("interpreter has mode 0744"), "{why}");
    }
}
