//! What a stopped server's directory may contain, and what its program may do.

use super::*;
use hugewise_scratch::Scratch;
use std::os::unix::fs::symlink;

struct Folder(Scratch);

impl Folder {
    fn new() -> Self {
        Self(Scratch::new())
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("write");
    }

    fn open(&self) -> File {
        open_directory(&self.0).expect("opens")
    }
}

#[test]
fn a_version_is_digits_and_dots_of_a_plain_file() {
    let folder = Folder::new();
    assert!(version(&folder.open()).is_err());
    for (text, found) in [("17\n", Some("17")), ("9.6\n", Some("9.6")), ("", None)] {
        folder.put("PG_VERSION", text);
        assert_eq!(version(&folder.open()).ok().as_deref(), found);
    }
    for secret in ["root:$6$secret:1::\n", &"1".repeat(65)] {
        folder.put("PG_VERSION", secret);
        let error = version(&folder.open()).expect_err("no version").to_string();
        assert!(!error.contains("secret") && !error.contains("111"), "{error}");
    }
}

#[test]
fn links_and_pipes_are_not_read() {
    let folder = Folder::new();
    folder.put("target", "17\n");
    symlink(folder.0.join("target"), folder.0.join("PG_VERSION")).expect("link");
    assert!(version(&folder.open()).is_err());
    fs::remove_file(folder.0.join("PG_VERSION")).expect("removes");
    for name in ["PG_VERSION", "postmaster.opts"] {
        let made = Command::new("mkfifo").arg(folder.0.join(name)).status().expect("runs");
        assert!(made.success());
    }
    assert!(version(&folder.open()).is_err());
    assert_eq!(options(&folder.open()), [""]);
}

#[test]
fn the_last_command_line_is_read_without_its_directory() {
    let folder = Folder::new();
    folder.put("postmaster.opts", "/usr/bin/postgres \"-D\" \"/srv/pg\" \"-c\" \"x=1\"\n");
    assert_eq!(options(&folder.open()), ["/usr/bin/postgres", "-c", "x=1"]);
}

#[test]
fn only_the_servers_own_program_is_run() {
    let folder = Folder::new();
    // A name is not enough: what it leads to counts.
    let named = folder.0.join("postgres");
    symlink("/bin/sh", &named).expect("link");
    for last in ["/bin/sh".to_owned(), named.display().to_string()] {
        let found = program(Some(&last), "0.0").map_err(|error| error.to_string());
        assert!(found.as_ref().is_ok_and(|p| p.ends_with("postgres")) || found.is_err());
        assert!(!found.is_ok_and(|path| path == Path::new("/bin/sh")));
    }
    fs::remove_file(&named).expect("removes");
    folder.put("postgres", "");
    fs::set_permissions(&named, std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("mode");
    let found = program(Some(&named.display().to_string()), "0.0");
    assert!(matches!(found, Err(PostgresError::NotTrusted(_))), "{found:?}");
}

#[test]
fn groups_are_the_users_and_never_roots() {
    let folder = Folder::new();
    fs::create_dir_all(folder.0.join("etc")).expect("mkdir");
    folder.put("etc/passwd", "pg:x:26:27::/:/bin/sh\nbad:x:30:0::/:/bin/sh\nodd:x:31:x::/:\n");
    let root = Root::at(&folder.0);
    folder.put("etc/group", "root:x:0:pg\nssl-cert:x:103:pg\nother:x:9:\n");
    let user = Identity { uid: 26, gid: 27, groups: vec![103] };
    assert_eq!(identity(&root, 26).ok(), Some(user));
    for uid in [30, 31, 4321] {
        assert!(matches!(identity(&root, uid), Err(PostgresError::NoGroup(id)) if id == uid));
    }
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    session::own(&mut command);
    command
}

#[test]
fn what_a_program_leaves_behind_is_ended_and_not_waited_for() {
    let start = Instant::now();
    let (says, complains) =
        answer(&mut shell("sleep 60 & echo $!; echo no >&2"), TIME_MAX).expect("answers");
    assert_eq!(complains, "no\n");
    // One that left the session keeps the pipe, and is not waited for either.
    let (left, _) =
        answer(&mut shell("setsid sleep 3 & sleep 0.3; echo 7"), TIME_MAX).expect("answers");
    assert_eq!(left, "7\n");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    let stat = fs::read_to_string(format!("/proc/{}/stat", says.trim())).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    assert!(matches!(state, None | Some('Z' | 'X')), "{stat}");
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let error = answer(&mut shell("sleep 60"), Duration::from_millis(100)).expect_err("too long");
    assert!(error.to_string().contains("no answer"), "{error}");
}
