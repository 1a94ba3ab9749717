//! Programs that are not part of hugewise: where they are, and which of them are missing.

use hugewise_experiment::kind::{Kind, Program};
use hugewise_experiment::kinds::Params;
use hugewise_experiment::load::{LoadSpec, Tool, gatling};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that a kind needs and that are not there, with the packages that hold them.
pub fn missing(kind: &Kind) -> Vec<String> {
    let absent = |program: &Program| {
        let name = match find(program.name) {
            None => program.name,
            Some(file) => program.part.filter(|part| !works(&file, part.tried_with))?.name,
        };
        let package = program.package;
        Some(format!("{name} is not installed (Debian: apt-get install {package})"))
    };
    kind.programs.iter().filter_map(absent).collect()
}

fn works(file: &Path, arguments: &[&str]) -> bool {
    Command::new(file).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// The program that the parameters of a workload name, where it is missing.
pub fn missing_named(params: &Params) -> Option<String> {
    let name = params.program()?;
    // The shim that starts it would say so in the middle of the first run.
    match name.contains('/') {
        true if Path::new(name).is_file() => None,
        true => Some(format!("there is no program {name}")),
        false if find(name).is_some() => None,
        false => Some(format!("{name} is not installed: install it, or name its file")),
    }
}

/// What a load by Gatling needs, where it is missing.
pub fn missing_tool(load: &LoadSpec) -> Option<String> {
    let needed = [(gatling::PROGRAM, "maven"), ("javac", "default-jdk-headless")];
    let absent = |(program, _): &&(&str, &str)| find(program).is_none();
    let (program, package) = needed.iter().find(absent).filter(|_| load.tool == Tool::Gatling)?;
    Some(format!(
        "{program} is not installed, which 'tool = \"gatling\"' needs (Debian: apt-get install \
         {package})"
    ))
}

/// Where a program is: on the path, or where Debian keeps those of PostgreSQL.
pub fn find(name: &str) -> Option<PathBuf> {
    places(name).into_iter().next()
}

/// The same, for a user without privileges: root's path may begin in root's own directories.
pub fn find_public(name: &str) -> Option<PathBuf> {
    let places = places(name);
    places.iter().find(|file| is_public(file)).or(places.first()).cloned()
}

/// Whether everybody may run a file, and get to it.
fn is_public(file: &Path) -> bool {
    let real = file.canonicalize().unwrap_or_default();
    let all = real.ancestors().filter(|part| !part.as_os_str().is_empty());
    let open = |part: &Path| part.metadata().is_ok_and(|meta| meta.mode() & 0o001 != 0);
    real.is_absolute() && all.into_iter().all(open)
}

fn places(name: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    versions.sort_unstable();
    folders.extend(versions.into_iter().rev());
    let files = folders.into_iter().map(|folder| folder.join(name));
    files.filter(|file| file.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn what_only_root_reaches_is_not_public() {
        let scratch = Scratch::new();
        let (folder, file) = (scratch.join("bin"), scratch.join("bin/program"));
        fs::create_dir(&folder).expect("mkdir");
        fs::write(&file, "").expect("write");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
        };
        mode(&file, 0o755);
        symlink(&file, scratch.join("link")).expect("linked");
        assert!(is_public(&file) && is_public(&scratch.join("link")));
        mode(&folder, 0o700);
        assert!(!is_public(&file) && !is_public(&scratch.join("link")));
        mode(&folder, 0o755);
        mode(&file, 0o750);
        assert!(!is_public(&file) && !is_public(&scratch.join("none")));
    }
}
