//! Programs that are not part of hugewise: where they are, and which of them are missing.

use crate::permission;
use crate::stranger::Runner;
use hugewise_experiment::kind::{Kind, Program};
use hugewise_experiment::kinds::Params;
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

/// The program that the parameters of a workload name, where it is missing, or where the user who
/// runs it cannot execute it or get to a file among its arguments. `has_path` where the variant has
/// a `PATH` of its own.
pub fn missing_named(params: &Params, user: Option<Nobody>, has_path: bool) -> Option<String> {
    let named = params.program()?;
    let (name, runner) = (named.program, Runner::of(named.user, user));
    // The shim that starts it would say so in the middle of the first run.
    let file = match (name.contains('/'), runner.find(name)) {
        (true, _) if Path::new(name).is_file() => Some(PathBuf::from(name)),
        (true, _) => return Some(format!("there is no program {name}")),
        (false, None) => {
            return Some(format!("{name} is not installed: install it, or name its file"));
        }
        (false, found) => found.filter(|_| !has_path),
    };
    let Runner::Stranger(Some(user)) = runner else { return None };
    let file = file.as_deref();
    let program =
        file.and_then(|file| Some(("execute", file, permission::of_program(file, user)?)));
    let files = named.args.iter().filter(|arg| arg.contains('/')).map(Path::new);
    let mut files = files.filter_map(|file| Some(("use", file, permission::of_file(file, user)?)));
    let (what, file, why) = program.or_else(|| files.next())?;
    Some(format!(
        "the user without privileges who runs {name} cannot {what} {}: {why}. Let others in \
         ('chmod o+x' on a directory, 'chmod o+rx' on a file), move it to where everybody may \
         enter, or set user = \"root\" in [workload]",
        file.display()
    ))
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

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_experiment::kind::Value;
    use hugewise_experiment::kinds;
    use hugewise_scratch::Scratch;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_that_its_user_cannot_run_is_refused_by_name() {
        let scratch = Scratch::new();
        let (folder, file) = (scratch.join("own"), scratch.join("own/program"));
        fs::create_dir(&folder).expect("mkdir");
        fs::write(&file, "").expect("write");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
        };
        mode(&scratch, 0o755);
        mode(&file, 0o755);
        mode(&folder, 0o700);
        let text = |text: &str| Value::Text(text.to_owned());
        let path = file.display().to_string();
        let params = |program: &str, args: &str, user: &str| {
            let args = Value::Texts(vec![args.to_owned()]);
            let given = [("program", text(program)), ("args", args), ("user", text(user))];
            let given = given.map(|(name, value)| (name.to_owned(), value));
            Params::new(kinds::find("command").expect("a kind"), &given.into()).expect("allowed")
        };
        let user = Some(Nobody { uid: 65_533, gid: 65_532 });
        let program = params(&path, "x", "own");
        let said = missing_named(&program, user, false).expect("refused");
        let wanted = format!("cannot execute {path}: {} has mode 0700. Let", folder.display());
        assert!(said.contains(&wanted) && said.contains("user = \"root\""), "{said}");
        let said = missing_named(&params("cat", &path, "own"), user, false).expect("refused");
        assert!(said.contains(&format!("who runs cat cannot use {path}: ")), "{said}");
        // Who runs hugewise, or who has no other user, gets everywhere.
        assert_eq!(missing_named(&params(&path, &path, "root"), user, false), None);
        assert_eq!(missing_named(&program, None, false), None);
        mode(&folder, 0o755);
        assert_eq!(missing_named(&params(&path, &path, "own"), user, false), None);
        let none = missing_named(&params("/nowhere/x", "x", "own"), user, false);
        assert_eq!(none, Some("there is no program /nowhere/x".into()));
    }
}
