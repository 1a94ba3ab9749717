//! The program that an experiment names, and whether its user can run it.

use crate::permission;
use crate::stranger::Runner;
use hugewise_experiment::kinds::Params;
use hugewise_experiment::load::LoadSpec;
use hugewise_linux::nobody::Nobody;
use std::path::{Path, PathBuf};

/// The program that the parameters of a workload name, where it is missing, or where the user who
/// runs it cannot execute it or get to a file among its arguments. `has_path` where the variant has
/// a `PATH` of its own.
pub fn obstacle(params: &Params, user: Option<Nobody>, has_path: bool) -> Option<String> {
    let named = params.program()?;
    let (name, runner) = (named.program, Runner::of(named.user, user));
    let missing = |needed: &&String| !has_path && runner.find(needed).is_none();
    if let Some(missing) = named.needs.iter().find(missing) {
        return Some(format!("{missing} is not installed, which the arguments of {name} need"));
    }
    let file = match of_name(name, Path::new(""), runner) {
        Err(missing) => return Some(missing),
        Ok(file) => Some(file).filter(|_| name.contains('/') || !has_path),
    };
    let Runner::Stranger(Some(user)) = runner else { return None };
    let why = kept_from(name, file.as_deref(), named.args, user)?;
    Some(format!("{why}, or set user = \"root\" in [workload]"))
}

/// The same of the command of a load.
pub fn of_load(load: &LoadSpec, user: Option<Nobody>) -> Option<String> {
    let (name, args) = load.command.split_first()?;
    let (folder, runner) = (Path::new(&load.directory), Runner::Stranger(user));
    if !load.directory.is_empty() && !folder.is_dir() {
        return Some(format!("directory '{}' of the load is not there", load.directory));
    }
    let file = match of_name(name, folder, runner) {
        Err(missing) => return Some(format!("{missing} ('command' of [load])")),
        Ok(file) => file,
    };
    // Without a directory of its own it begins in an empty one.
    let files = args.iter().map(|arg| folder.join(arg)).filter(|file| file.is_absolute());
    let files = files.chain([folder.join(".")]);
    let files: Vec<String> = files.map(|file| file.to_string_lossy().into_owned()).collect();
    kept_from(name, Some(&file), &files, user?)
}

/// The file of a program by its name, or by its path from a directory.
///
/// # Errors
/// There is none, in words: the shim that starts it would say so in the middle of the first run.
pub(super) fn of_name(name: &str, folder: &Path, runner: Runner) -> Result<PathBuf, String> {
    if name.contains('/') {
        let file = Some(folder.join(name)).filter(|file| file.is_file());
        return file.ok_or_else(|| format!("there is no program {name}"));
    }
    let missing = || format!("{name} is not installed: install it, or name its file");
    runner.find(name).ok_or_else(missing)
}

/// What keeps a user from a program, or from a file among its arguments.
fn kept_from(name: &str, file: Option<&Path>, args: &[String], user: Nobody) -> Option<String> {
    let program =
        file.and_then(|file| Some(("execute", file, permission::of_program(file, user)?)));
    let files = args.iter().filter(|arg| arg.contains('/')).map(Path::new);
    let mut files = files.filter_map(|file| Some(("use", file, permission::of_file(file, user)?)));
    let (what, file, why) = program.or_else(|| files.next())?;
    Some(format!(
        "the user without privileges who runs {name} cannot {what} {}: {why}. Let others in \
         ('chmod o+x' on a directory, 'chmod o+rx' on a file), or move it to where everybody may \
         enter",
        file.display()
    ))
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
        let said = obstacle(&program, user, false).expect("refused");
        let wanted = format!("cannot execute {path}: {} has mode 0700. Let", folder.display());
        assert!(said.contains(&wanted) && said.contains("user = \"root\""), "{said}");
        let said = obstacle(&params("cat", &path, "own"), user, false).expect("refused");
        assert!(said.contains(&format!("who runs cat cannot use {path}: ")), "{said}");
        let needs = ("needs".to_owned(), Value::Texts(vec!["cat".into(), "no-such".into()]));
        let kind = kinds::find("command").expect("a kind");
        let script = Params::new(kind, &[needs].into()).expect("allowed");
        let said = obstacle(&script, None, false).expect("refused");
        assert!(said.starts_with("no-such is not installed"), "{said}");
        // Who runs hugewise, or who has no other user, gets everywhere.
        assert_eq!(obstacle(&params(&path, &path, "root"), user, false), None);
        assert_eq!(obstacle(&program, None, false), None);
        mode(&folder, 0o755);
        assert_eq!(obstacle(&params(&path, &path, "own"), user, false), None);
        let none = obstacle(&params("/nowhere/x", "x", "own"), user, false);
        assert_eq!(none, Some("there is no program /nowhere/x".into()));
    }
}
