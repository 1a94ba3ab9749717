//! Whatever `diagnose` tells somebody to run can be read back: each command runs here, and its
//! output goes back behind a prompt, as people paste it.

use hugewise_evidence::diagnose::{Cause, RECORDED, Reach};
use hugewise_scratch::Scratch;
use libtest_mimic::{Completion, Failed, Trial};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

/// Commands whose output is for people, with the reason.
const FOR_PEOPLE: [(&str, &str); 17] = [
    ("hugewise", "it is this program"),
    ("perf lock", "it says which lock, and no question of the tree asks that"),
    ("sar -A 1 60  #", "it is about other machines"),
    ("du ", "it says which folder, and no question of the tree asks that"),
    ("lsmod", "it says which module, and no question of the tree asks that"),
    ("lsof", "it says which file, and no question of the tree asks that"),
    ("ip -s neigh", "it says on which network, and no question of the tree asks that"),
    ("cat /proc/net/sockstat", "it says whose memory it is, and no question asks that"),
    ("smartctl", "it is what the disk says of itself, and no question of the tree asks that"),
    ("ping", "it is about another machine"),
    ("redis-cli --bigkeys", "it says which keys, and no question of the tree asks that"),
    ("redis-cli MEMORY DOCTOR", "it is advice in prose"),
    ("psql -c \"select relname", "it says which table, and no question of the tree asks that"),
    ("psql -c 'show", "it shows one setting"),
    ("curl -s 'localhost/status?full'", "it says which script, and no question asks that"),
    ("tail -50 /var/log", "it is the log of a program"),
    ("java", "it starts a program; its log is read by tests of the reader"),
];

/// Most of the commands wait for their samples, not for a CPU.
pub(crate) const AT_ONCE: usize = 16;

pub(crate) fn trials() -> Vec<Trial> {
    let looks = Cause::ALL.iter().flat_map(|cause| cause.about().remedies);
    let looks =
        looks.filter(|remedy| remedy.reach == Reach::Look).map(|remedy| remedy.command.as_ref());
    let all: BTreeSet<&str> = RECORDED.iter().map(|missing| missing.command).chain(looks).collect();
    let trial = |command: &'static str| {
        Trial::ignorable_test(format!("recommended::{command}"), move || read_back(command))
    };
    all.into_iter().map(trial).collect()
}

/// The command with one sample instead of many, or why it cannot run here.
fn here(command: &str) -> Result<String, String> {
    if let Some((_, why)) = FOR_PEOPLE.iter().find(|(start, _)| command.starts_with(start)) {
        return Err((*why).to_owned());
    }
    let short = [(" 1 60", " 1 1"), (" 1 10", " 1 1"), (" 1 5", " 1 1"), ("sleep 10", "sleep 1")];
    let short = short.iter().fold(command.to_owned(), |text, (long, one)| text.replace(long, one));
    let word =
        |name: &&str| short.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == *name);
    let blank = ["PID", "CGROUP", "PEER", "SERVER", "SERVICE", "-S DEV"];
    if let Some(name) = blank.iter().find(|name| word(name) || short.contains("-S DEV")) {
        return Err(format!("{name} is the user's to fill in"));
    }
    for tool in tools(&short) {
        let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output();
        if !found.is_ok_and(|found| found.status.success()) {
            return Err(format!("{tool} is not installed"));
        }
    }
    Ok(short)
}

/// What a shell would start: the first word of each part, where no quotes hide what parts them.
fn tools(command: &str) -> Vec<&str> {
    let mut quote = None;
    let parts = command.split(|c: char| {
        match quote {
            Some(open) if open == c => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            _ => {}
        }
        quote.is_none() && matches!(c, '|' | ';')
    });
    parts.filter_map(|part| part.split_whitespace().next()).collect()
}

fn read_back(command: &str) -> Result<Completion, Failed> {
    let command = match here(command) {
        Ok(command) => command,
        Err(why) => return Ok(Completion::ignored_with(why)),
    };
    // Some leave a file behind, such as perf.data.
    let scratch = Scratch::new();
    let mut shell = Command::new("sh");
    shell.args(["-c", &command]).env("LC_ALL", "C").current_dir(scratch.path());
    // `perf record` writes its data to a pipe, where it has one.
    let file = scratch.path().join("said");
    shell.stdout(std::fs::File::create(&file)?).stderr(Stdio::null()).status()?;
    let said = std::fs::read(&file)?;
    let said = String::from_utf8_lossy(&said);
    if said.trim().is_empty() {
        return Ok(Completion::ignored_with("it finds nothing on this machine"));
    }
    let pasted = format!("root@here:~# {command}\n{said}root@here:~# \n");
    let mut hugewise = Command::new(env!("CARGO_BIN_EXE_hugewise"))
        .args(["diagnose", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut input = hugewise.stdin.take().ok_or("no way in")?;
    let writer = std::thread::spawn(move || input.write_all(pasted.as_bytes()));
    let read = hugewise.wait_with_output()?;
    // Who refuses an input need not read it to its end.
    let _ = writer.join().map_err(|_| "the writer failed")?;
    if read.stdout.is_empty() {
        return Err(String::from_utf8_lossy(&read.stderr).into_owned().into());
    }
    let found: serde_json::Value = serde_json::from_slice(&read.stdout)?;
    let count = |key: &str| found[key].as_array().map_or(0, Vec::len);
    if count("sources") == 0 || count("unrecognised") > 0 || count("problems") > 0 {
        let (what, why) = (&found["unrecognised"], &found["problems"]);
        return Err(format!("{command}\nnot recognised: {what}\nproblems: {why}\n{said}").into());
    }
    Ok(Completion::Completed)
}
