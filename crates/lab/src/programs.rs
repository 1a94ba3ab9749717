//! Programs that are not part of hugewise: where they are, and which of them are missing.

use crate::permission;
use hugewise_experiment::kind::{Kind, Program};
use hugewise_experiment::load::{LoadSpec, Tool, gatling};
use hugewise_linux::nobody::Nobody;
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

/// What a load by Gatling needs, where it is missing.
pub fn missing_tool(load: &LoadSpec) -> Option<String> {
    let needed = [(gatling::PROGRAM, "maven"), ("javac", "default-jdk-headless")];
    let absent = |(program, _): &&(&str, &str)| find(program).is_none();
    let (program, package) =
        needed.iter().find(absent).filter(|_| load.sender() == Tool::Gatling)?;
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
pub fn find_for(name: &str, user: Nobody) -> Option<PathBuf> {
    let places = places(name);
    let able = places.iter().find(|file| permission::of_program(file, user).is_none());
    able.or(places.first()).cloned()
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
