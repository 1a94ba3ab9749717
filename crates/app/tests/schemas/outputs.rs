//! Outputs of the program itself, as JSON by the schema that each is to fit.

use super::http::answering;
use hugewise_base::stats::Histogram;
use hugewise_experiment::record::{Outcome, Record, RunPlan, SCHEMA, Series};
use hugewise_experiment::suite::{Asked, SCHEMA as SUITE_SCHEMA, Suite, SuitePlan};
use hugewise_lab::{shipped, store::Store};
use hugewise_scratch::Scratch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What ends well, what finds something, what misses something.
const DONE: &[i32] = &[0, 3, 4, 5];
/// Longest time until a manager answers.
const PATIENCE: Duration = Duration::from_secs(30);

/// Outputs by the names of their schemas.
#[derive(Debug, Default)]
pub(crate) struct Outputs(Vec<(&'static str, Value)>);

impl Outputs {
    /// One more.
    pub(crate) fn add(&mut self, schema: &'static str, output: Value) {
        self.0.push((schema, output));
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(schema, output)| (*schema, output))
    }

    /// What a command prints, which ends with one of these codes.
    fn run(&mut self, schema: &'static str, arguments: &[&str], codes: &[i32]) -> Value {
        let done = hugewise(arguments).output().expect("the program runs");
        let code = done.status.code().unwrap_or(-1);
        let output = parsed(arguments, &done);
        assert!(codes.contains(&code), "{arguments:?}: exit code {code}");
        self.add(schema, output.clone());
        output
    }
}

fn hugewise(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    command.arg("--json").args(arguments).stdin(Stdio::null());
    command
}

fn parsed(arguments: &[&str], done: &Output) -> Value {
    let said = String::from_utf8_lossy(&done.stderr);
    serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: no JSON ({error}); it said: {said}"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../evidence/tests/recordings")
}

fn written(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
    fs::write(path, content).expect("written");
}

/// What only looks, at this machine or at what is shipped.
pub(crate) fn looked(all: &mut Outputs) {
    let scratch = Scratch::new();
    let run = scratch.join("run");
    let me = std::process::id().to_string();
    let memory = std::hint::black_box(vec![1_u8; 16 << 20]);
    all.run("doctor", &["doctor"], DONE);
    all.run("doctor", &["doctor", "--root", text(&machine(&scratch))], DONE);
    all.run("status", &["status", "--run-dir", text(&run)], DONE);
    all.run("status", &["status", "--pid", &me, "--run-dir", text(&run)], DONE);
    all.run("status", &["status", "--root", text(&machine(&scratch))], DONE);
    all.run("metrics", &["serve", "--once", "--run-dir", text(&run)], DONE);
    all.run("metrics", &["serve", "--once", "--root", text(&machine(&scratch))], DONE);
    // No machine freezes for so long.
    let kept = scratch.join("freezes");
    let freezes = ["diagnose", "--freezes", "--longer-than", "1h", "--for", "1s", "--keep"];
    all.run("diagnose-freezes", &[&freezes[..], &[text(&kept)]].concat(), &[0, 5]);
    all.run("map", &["status", "--map", &me], DONE);
    all.run("map", &["status", "--map", &me, "--sample"], DONE);
    drop(memory);
    let report = scratch.join("try.html");
    let size = ["--simulate", "--size", "32MiB", "--report", text(&report)];
    all.run("try", &[&["try"], &size[..]].concat(), &[0]);
    let config = scratch.join("own.toml");
    let rule = "mode = \"observe\"\n[[rule]]\naction = \"exclude\"\nexe = \"/usr/bin/x*\"\n\
                [[rule]]\naction = \"manage\"\nuser = \"#7\"\nunit = \"x.service\"\n\
                cgroup = \"/x\"\n[[hint]]\nexe = \"/x\"\ncgroup = \"/x\"\nunit = \"x*\"\n\
                user = \"x\"\nfrom_bytes = \"2 MiB\"\naccessed_percent = 90\n";
    written(&config, rule);
    let own = ["--config", text(&config)];
    let set = ["--set", "scan.interval_ms=500"];
    all.run("config-show", &[&["manage", "config", "show"], &own[..], &set[..]].concat(), &[0]);
    // There is no user 'x'.
    all.run("config-check", &[&["manage", "config", "check"], &own[..]].concat(), &[3]);
    all.run("config-check", &["manage", "config", "check", "--set", "x=1"], &[2]);
    let journal = scratch.join("journal.jsonl");
    written(&journal, r#"{"time":"2026-11-28T03:00:00.000Z","record":"reload","error":null}"#);
    all.run("journal", &["manage", "journal", text(&journal), "-n", "1"], &[0]);
    let host = crate::advise::quarrel();
    let host = ["--root", text(&host)];
    all.run("advise", &[&host[..], &["advise"]].concat(), &[3]);
    all.run("advise-apply", &[&host[..], &["advise", "apply", "--dry-run"]].concat(), &[5]);
    all.run("advise-list", &["advise", "list"], &[0]);
    all.run("advise-list", &["advise", "show", "redis"], &[0]);
    all.run("advise-lint", &["advise", "lint"], &[0]);
    let state = ["--state-dir", text(&scratch)];
    all.run("advise-verify", &[&["advise", "verify"], &state[..]].concat(), &[0]);
    all.run("rules", &["diagnose", "--rules"], &[0]);
    all.run("rules", &["diagnose", "--explain", "kernel"], &[0]);
    let some = ["lab", "simulate", "--policy", "worth,khugepaged", "--scenario", "scarce"];
    all.run("lab-simulate", &some, &[0]);
    let list = all.run("lab-list", &["lab", "list"], &[0]);
    for kind in list["kinds"].as_array().into_iter().flatten() {
        all.run("lab-kind", &["lab", "list", kind["name"].as_str().expect("a name")], &[0]);
    }
    for experiment in list["experiments"].as_array().into_iter().flatten() {
        let name = experiment["experiment"]["name"].as_str().expect("a name");
        let arguments = ["lab", "setup", name, "--quick"];
        let done = hugewise(&arguments).output().expect("the program runs");
        // Some have nothing to compare without root, or without huge pages.
        if !done.stdout.is_empty() {
            all.add("lab-setup", parsed(&arguments, &done));
        }
    }
    all.run("lab-regret", &["lab", "setup", "no-regret", "--quick"], DONE);
    let none = scratch.join("none");
    let dry = ["lab", "run", "gups", "--dry-run", "--output", text(&none)];
    all.run("lab-setup", &dry, &[0]);
}

/// Hypotheses, and what came of them.
pub(crate) fn investigated(all: &mut Outputs) {
    let scratch = Scratch::new();
    let ledger = scratch.join("ledger.toml");
    let content = "name = \"n\"\nquestion = \"q\"\n[goal]\nmetric = \"kernel_cpu_percent\"\n\
                [trials]\nlength_s = 1\nsettle_ms = 0\nrepetitions = 1\n[[hypothesis]]\n\
                name = \"a\"\nbecause = \"b\"\ngain_percent = 30\napply = [\"true\"]\n\
                undo = [\"true\"]\n";
    written(&ledger, content);
    let recording = scratch.join("meminfo.txt");
    written(&recording, "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 10 kB\n");
    all.run("investigate-plan", &["investigate", "plan", text(&recording)], &[0]);
    let dry = ["investigate", "run", text(&ledger), "--dry-run"];
    all.run("investigate-setup", &dry, &[0]);
    let trials = scratch.join("trials");
    let store = Store::create(&trials).expect("a directory");
    let plan = RunPlan {
        schema: SCHEMA,
        text: content.to_owned(),
        quick: false,
        seed: 1,
        repetitions: None,
        without: BTreeMap::new(),
        environment: Value::Null,
        began: None,
        resumed: Vec::new(),
    };
    store.begin(&plan).expect("written");
    for (variant, percent) in [("as-is", 40.0), ("a", 20.0)] {
        let mut trial = Record::new(0, variant);
        trial.measured.values.insert("kernel_cpu_percent".into(), percent);
        store.add(&trial).expect("written");
    }
    all.run("investigate", &["investigate", "report", text(&trials)], &[0, 5]);
}

/// A manager that only observes this process, asked while it runs, and what it leaves.
pub(crate) fn managed(all: &mut Outputs) {
    let scratch = Scratch::new();
    let memory = std::hint::black_box(vec![1_u8; 16 << 20]);
    let me = std::process::id().to_string();
    let [run, journal, record] = ["run", "journal.jsonl", "recording"].map(|n| scratch.join(n));
    let state = scratch.join("state");
    let manage = ["manage", "--mode", "observe", "--for", "60s", "--pid", &me];
    let mut command = hugewise(&manage);
    command.arg("--run-dir").arg(&run).arg("--state-dir").arg(&state);
    command.arg("--journal").arg(&journal).arg("--record").arg(&record);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    until_it_answers(&run, &mut child);
    let at = ["--run-dir", text(&run)];
    all.run("pause", &[&["manage", "pause"], &at[..]].concat(), &[0]);
    all.run("pause", &[&["manage", "resume"], &at[..]].concat(), &[0]);
    let seen = all.run("status", &[&["status", "--pid", &me], &at[..]].concat(), DONE);
    let metrics = all.run("metrics", &[&["serve", "--once"], &at[..]].concat(), &[0]);
    let up = |metric: &Value| metric["name"] == "hugewise_manager_up";
    let up = metrics["metrics"].as_array().and_then(|all| all.iter().find(|one| up(one)));
    assert_eq!(up.expect("always there")["values"][0]["value"], 1.0);
    let signalled = Pid::from_child(&child);
    kill_process(signalled, Signal::TERM).expect("it still runs");
    let done = child.wait_with_output().expect("it ends");
    drop(memory);
    all.add("manage", parsed(&manage, &done));
    assert!(seen["manager"]["targets"].is_array(), "the manager was asked: {seen:#}");
    let lines = fs::read_to_string(&journal).expect("a journal");
    for line in lines.lines() {
        all.add("journal", serde_json::from_str(line).expect("JSON"));
    }
    all.run("replay", &["manage", "replay", text(&record)], &[0]);
}

fn until_it_answers(run: &Path, child: &mut Child) {
    let began = Instant::now();
    loop {
        let asked = hugewise(&["manage", "pause", "--run-dir", text(run)])
            .output()
            .expect("the program runs");
        if asked.status.success() {
            return;
        }
        let ended = child.try_wait().expect("a child");
        let said = String::from_utf8_lossy(&asked.stderr);
        assert!(ended.is_none() && began.elapsed() < PATIENCE, "{ended:?}: {said}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A server, until it has said where it is.
pub(crate) fn served(all: &mut Outputs) {
    let mut child = hugewise(&["serve", "--listen", "127.0.0.1:0"]);
    let mut child = child.stdout(Stdio::piped()).spawn().expect("starts");
    let mut line = String::new();
    let mut told = BufReader::new(child.stdout.take().expect("piped"));
    told.read_line(&mut line).expect("it says where it is");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it still runs");
    assert!(child.wait().expect("a child").success());
    all.add("serve", serde_json::from_str(&line).expect("JSON"));
}

/// What reads recordings, and makes one.
pub(crate) fn read(all: &mut Outputs) {
    let scratch = Scratch::new();
    let capture = scratch.join("capture");
    let short = ["--for", "1s", "--every", "1s"];
    all.run("record", &[&["record", "-o", text(&capture)], &short[..]].concat(), &[0]);
    all.run("diagnose", &["diagnose", text(&capture)], DONE);
    let (history, piece) = (scratch.join("history"), scratch.join("piece"));
    let history = ["--history", text(&history)];
    all.run("record", &[&["record", "--for", "1s", "--every", "1s"], &history[..]].concat(), &[0]);
    all.run("status", &[&["status"], &history[..]].concat(), DONE);
    all.run("diagnose", &[&["diagnose", "--at", "10s ago"], &history[..]].concat(), DONE);
    let from = ["record", "--from", "1h ago", "-o", text(&piece)];
    all.run("record", &[&from[..], &history[..]].concat(), &[0]);
    let signatures = recordings().join("../signatures/vm.json");
    let with = ["diagnose", "--signatures", text(&signatures), text(&capture)];
    all.run("diagnose", &with, DONE);
    let made = recordings().join("made");
    all.run("diagnose-fleet", &["diagnose", "--fleet", text(&made)], DONE);
    // A share of nothing is above nothing: it draws attention at once.
    let always = ["--set", "steal_high_percent=0", "--set", "episode_full_s=1"];
    let kept = scratch.join("kept");
    let follow = ["diagnose", "--follow", "--for", "2s", "--keep", text(&kept)];
    all.run("diagnose-follow", &[&follow[..], &always[..]].concat(), DONE);
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in ["made", "capture"] {
        let entries = fs::read_dir(recordings().join(folder)).expect("recordings");
        files.extend(entries.map(|entry| entry.expect("readable").path()));
    }
    files.sort();
    let all_files: Vec<&str> = files.iter().map(|path| text(path)).collect();
    for file in &all_files {
        all.run("diagnose", &["diagnose", file], DONE);
    }
    all.run("diagnose", &[&["diagnose", "--explain", "kernel"], &all_files[..]].concat(), DONE);
    let beyond = scratch.join("nonsense.txt");
    let sar = fs::read_to_string(recordings().join("made/reclaim.sar")).expect("a recording");
    written(&beyond, &format!("{sar}\nnobody knows this line\n"));
    all.run("diagnose", &["diagnose", text(&beyond)], DONE);
    answered(all, &scratch);
    placed(all, &scratch);
    billed(all, &scratch);
    limited(all);
    for folder in ["hdd.json", "hdd.atopJ.json", "vm.sar", "vm.atop"] {
        let file = recordings().join("real").join(folder);
        all.run("diagnose", &["diagnose", text(&file)], DONE);
    }
}

/// Logs of a service that is slow for a time, alone and beside a recording; one that says little.
fn answered(all: &mut Outputs, scratch: &Scratch) {
    let (slow, bare) = (scratch.join("slow.log"), scratch.join("bare.log"));
    let line = |at: u64| {
        let (minute, second) = (at / 1200, at / 20 % 60);
        let wait = if (4800..7200).contains(&at) { 700 + at % 50 } else { at % 7 };
        format!(
            "10.0.1.2:3 [22/Nov/2026:08:{minute:02}:{second:02}.000] web app/s{} 0/{wait}/1/9/{} \
             200 7 - - ---- 1/1/1/1/0 0/0 \"GET /a/{} HTTP/1.1\"\n",
            at % 2,
            wait + 12,
            at % 3
        )
    };
    written(&slow, &(0..14_400).map(line).collect::<String>());
    written(&bare, "10.0.0.9 - - [26/Nov/2026:12:00:00 +0100] \"GET /a HTTP/1.1\" 200 5\nx\n");
    all.run("response", &["response", text(&slow)], &[3]);
    let sar = recordings().join("made/003.txt");
    all.run("response", &["response", text(&slow), "--with", text(&sar)], &[3]);
    all.run("response", &["response", text(&bare), text(&slow), "/nowhere"], DONE);
    all.run("response", &["response", text(&bare)], &[5]);
}

/// Hosts of which one is full, and one that says nothing of its CPUs.
fn placed(all: &mut Outputs, scratch: &Scratch) {
    let host = |name: &str, idle: u32, java: u32| {
        let file = scratch.join(format!("{name}.txt"));
        let head = "top - 12:00:01 up 10 days,  1:00,  1 user,  load average: 1.00, 1.00, 1.00";
        let busy = 100 - idle;
        let states = "0.0 sy,  0.0 ni, {idle}.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st";
        let states = states.replace("{idle}", &idle.to_string());
        let columns = "PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND";
        let java = format!("1 app 20 0 5000000 900000 20000 S {java}.0 5.0 10:00.00 java");
        let text = format!("{head}\n%Cpu(s): {busy}.0 us,  {states}\n\n    {columns}\n   {java}\n");
        written(&file, &text);
        file
    };
    let (full, one, other) = (host("full", 4, 560), host("one", 60, 210), host("other", 58, 230));
    for files in [[text(&full), text(&one), text(&other)], [text(&one), text(&other), "/nowhere"]] {
        let json = all.run("diagnose", &[&["diagnose", "--hosts"], &files[..]].concat(), DONE);
        all.add("placement", json["placement"].clone());
    }
}

/// The bill of a machine whose memory is known, scored by itself.
fn billed(all: &mut Outputs, scratch: &Scratch) {
    let file = scratch.join("meminfo.txt");
    let lines = ["MemTotal: 16000000", "MemFree: 9000000", "AnonPages: 4000000"];
    let more = ["AnonHugePages: 1000000", "PageTables: 20000", "Shmem: 100000"];
    let all_lines = lines.iter().chain(&more).map(|line| format!("{line} kB\n"));
    written(&file, &all_lines.collect::<String>());
    let file = text(&file);
    all.run("bill", &["advise", "--estimate", file, "--walk-percent", "20"], &[5]);
    all.run("bill", &["advise", "--estimate", file, "--check", file, "--as", "never"], &[5]);
}

/// A server that answers at once, and is not loaded to its limit.
fn limited(all: &mut Outputs) {
    let url = answering("200 OK").expect("a server");
    let rates = ["--from", "30", "--most", "30", "--seconds", "3"];
    let scratch = Scratch::new();
    let log = scratch.join("stages");
    let kept = ["--stages", text(&log), "--change", "none"];
    all.run("limit", &[&["lab", "limit", &url], &rates[..], &kept[..]].concat(), &[5]);
    all.run("lab-stages", &["lab", "stages", text(&log)], &[0]);
}

/// A machine of 20 GB with a pool, as copies of its files; the directory.
fn machine(scratch: &Scratch) -> PathBuf {
    let root = scratch.join("root");
    let meminfo = "MemTotal: 20549012 kB\nMemFree: 12030440 kB\nMemAvailable: 16000000 kB\n\
                   Buffers: 12000 kB\nCached: 800000 kB\nPageTables: 507924 kB\n\
                   HugePages_Total: 16\nHugePages_Free: 4\nHugePages_Rsvd: 2\n\
                   HugePages_Surp: 0\nHugepagesize: 2048 kB\n";
    let thp = "sys/kernel/mm/transparent_hugepage";
    let pool = "sys/kernel/mm/hugepages/hugepages-2048kB";
    for (file, content) in [
        ("proc/meminfo", meminfo),
        ("proc/sys/kernel/osrelease", "6.12.0\n"),
        ("proc/sys/kernel/random/boot_id", "this boot\n"),
        ("proc/sys/kernel/shmmax", "1000000\n"),
        ("proc/sys/vm/hugetlb_shm_group", "0\n"),
        ("etc/passwd", "dba:x:1000:1000::/home/dba:/bin/sh\n"),
        (&format!("{thp}/enabled"), "always [madvise] never\n"),
        (&format!("{thp}/khugepaged/max_ptes_none"), "51\n"),
        (&format!("{thp}/khugepaged/scan_sleep_millisecs"), "7\n"),
        (&format!("{thp}/khugepaged/pages_to_scan"), "4096\n"),
        (&format!("{pool}/nr_hugepages"), "16\n"),
        (&format!("{pool}/free_hugepages"), "4\n"),
        (&format!("{pool}/resv_hugepages"), "2\n"),
        (&format!("{pool}/surplus_hugepages"), "0\n"),
        (&format!("{pool}/nr_overcommit_hugepages"), "0\n"),
    ] {
        written(&root.join(file), content);
    }
    root
}

/// HugeTLB pools and settings of earlier programs, on copies of a machine's files.
pub(crate) fn planned(all: &mut Outputs) {
    let scratch = Scratch::new();
    let (root, state, plan) = (machine(&scratch), scratch.join("state"), scratch.join("plan.json"));
    let at = ["--root", text(&root)];
    let needs = ["--sga", "1G", "--user", "dba", "--unit", "db.service", "--shm-group", "1000"];
    let more = ["--headroom", "10M", "--processes", "40"];
    let java = ["--java", "-Xmx1g"];
    let planned = [&["hugetlb", "plan"], &at[..], &needs[..], &more[..]].concat();
    let told = all.run("hugetlb-plan", &planned, DONE);
    written(&plan, &told.to_string());
    all.run("hugetlb-plan", &[&["hugetlb", "plan"], &at[..], &java[..]].concat(), DONE);
    all.run("hugetlb-plan", &[&["hugetlb", "plan"], &at[..]].concat(), DONE);
    all.run("hugetlb-plan", &["hugetlb", "plan", "--sga", "1M"], DONE);
    let tables = recordings().join("made/003.txt");
    all.run("hugetlb-plan", &["hugetlb", "plan", "--sga", "8G", text(&tables)], DONE);
    let keep = ["--state-dir", text(&state)];
    let apply = ["hugetlb", "apply", "--dry-run", "--persist"];
    all.run("hugetlb-apply", &[&apply[..], &at[..], &keep[..], &needs[..]].concat(), DONE);
    let verify = [&["hugetlb", "verify"], &at[..], &keep[..]].concat();
    all.run("hugetlb-verify", &[&verify[..], &needs[..]].concat(), DONE);
    all.run("hugetlb-verify", &[&verify[..], &["--plan", text(&plan)][..]].concat(), DONE);
    let file = |name: &str| format!("sys/kernel/mm/transparent_hugepage/khugepaged/{name}");
    let entry = |name: &str, old: &str, new: &str, boot: &str| {
        let line = json!({ "file": file(name), "old": old, "new": new, "boot_id": boot });
        line.to_string() + "\n"
    };
    let trail = entry("max_ptes_none", "511", "51", "this boot")
        + &entry("scan_sleep_millisecs", "10000", "60000", "this boot")
        + &entry("pages_to_scan", "4096", "8192", "this boot")
        + &entry("alloc_sleep_millisecs", "1", "2", "an earlier boot");
    let pools = json!({
        "file": "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "old": "0", "new": "16",
        "boot_id": "this boot",
    });
    written(&state.join("trail.jsonl"), &trail);
    written(&state.join("hugetlb.jsonl"), &(pools.to_string() + "\n"));
    private(&state);
    let revert = [&["revert", "--dry-run"], &at[..], &keep[..]].concat();
    let told = all.run("revert", &[&revert[..], &["--all"]].concat(), DONE);
    assert!(told["settings"].as_array().is_some_and(|all| all.len() >= 3), "{told:#}");
    all.run("revert", &revert, DONE);
    let revert = [&["hugetlb", "revert", "--dry-run"], &at[..], &keep[..]].concat();
    let told = all.run("hugetlb-revert", &revert, DONE);
    assert!(told["settings"].as_array().is_some_and(|all| !all.is_empty()), "{told:#}");
    written(&state.join("thp.jsonl"), &entry("pages_to_scan", "4096", "8192", "this boot"));
    private(&state);
    let thp = |verb: &'static str| [&["thp", verb], &at[..], &keep[..]].concat();
    all.run("thp-show", &thp("show"), DONE);
    all.run("thp-revert", &[&thp("revert")[..], &["--dry-run"]].concat(), DONE);
    let settings = ["khugepaged/pages_to_scan=5000", "enabled=never", "--dry-run", "--persist"];
    all.run("thp-set", &[&thp("set")[..], &settings].concat(), DONE);
}

pub(crate) fn advised(all: &mut Outputs) {
    let scratch = Scratch::new();
    let root = machine(&scratch);
    written(&root.join("usr/lib/systemd/libsystemd-shared-260.so"), "");
    written(&root.join("proc/buddyinfo"), "Node 0, zone Normal 9 0 0 0 0 0 0 0 0 7 1\n");
    all.run("advise-place", &["--root", text(&root), "advise", "place", "1M"], &[0, 3, 5]);
    all.run("advise-place", &["advise", "place", "4G"], &[0, 3, 5]);
    for policy in ["never", "madvise", "always", "managed"] {
        for form in ["unit", "container"] {
            let asked = ["--root", text(&root), "advise", "run", "--thp", policy, "--show", form];
            all.run("advise-run", &[&asked[..], &["--", "sh", "-c", "a b"]].concat(), &[0, 5]);
        }
    }
}

/// Trails are believed only where nobody else writes.
fn private(state: &Path) {
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    for entry in fs::read_dir(state).expect("there") {
        set(&entry.expect("readable").path(), 0o600).expect("own");
    }
    set(state, 0o700).expect("own");
}

/// Results of experiments that never ran.
pub(crate) fn measured(all: &mut Outputs) {
    let scratch = Scratch::new();
    let [before, after] = ["before", "after"].map(|name| scratch.join(name));
    results(&before, 1.0, "6.12");
    results(&after, 1.2, "6.18");
    all.run("lab-report", &["lab", "report", text(&before)], DONE);
    all.run("lab-compare", &["lab", "compare", text(&before), text(&after)], DONE);
    let directory = scratch.join("suite");
    suite(&directory);
    all.run("lab-regret", &["lab", "report", text(&directory)], DONE);
    let (kept, state) = (scratch.join("signatures.json"), scratch.join("state"));
    let signatures = ["lab", "signatures", "--only", "cpu", "--seconds", "1", "--noisy"];
    let places = ["-o", text(&kept), "--state-dir", text(&state)];
    all.run("lab-signatures", &[&signatures[..], &places].concat(), DONE);
}

/// Six rounds of one workload of a suite that has another one, with a run that failed.
fn suite(directory: &Path) {
    let own = shipped::find("no-regret").expect("shipped").to_owned();
    let suite: Suite = toml::from_str(&own).expect("a suite");
    let mut parts =
        suite.parts(&Asked { quick: true, ..Asked::default() }).expect("no faults").into_iter();
    let part = parts.find(|part| part.name == "gups").expect("a row");
    let (environment, began) = (json!({ "kernel": "6.18" }), Some("2026-11-23".to_owned()));
    let skipped = [("compiler".to_owned(), "there is no program 'g++'".to_owned())].into();
    let plan = SuitePlan {
        schema: SUITE_SCHEMA,
        text: own,
        quick: true,
        seed: 1,
        rounds: None,
        variants: Vec::new(),
        workloads: Vec::new(),
        environment: environment.clone(),
        build: "b".into(),
        began: began.clone(),
        skipped,
    };
    Store::create_plain(directory).expect("made").begin_suite(&plan).expect("written");
    let store = Store::create(&directory.join("gups")).expect("a directory");
    let plan = RunPlan {
        schema: SCHEMA,
        text: toml::to_string(&part.experiment).expect("TOML"),
        quick: true,
        seed: 1,
        repetitions: None,
        without: [("mthp-64k".to_owned(), "this kernel has no such file".to_owned())].into(),
        environment,
        began,
        resumed: Vec::new(),
    };
    store.begin(&plan).expect("written");
    for round in 0..6 {
        for (variant, speed) in [("never", 100.0), ("always", 150.0), ("ingens", 120.0)] {
            let mut run = Record::new(round, variant);
            run.measured.values.insert("ops_per_s".into(), speed + f64::from(round));
            store.add(&run).expect("written");
        }
    }
    let mut failed = Record::new(6, "guard");
    failed.outcome = Outcome::Failed { error: "no memory".into() };
    store.add(&failed).expect("written");
}

/// Five repetitions of three variants, one of which failed, and one run that was disturbed.
fn results(directory: &Path, factor: f64, kernel: &str) {
    let store = Store::create(directory).expect("a directory");
    let plan = RunPlan {
        schema: SCHEMA,
        text: shipped::find("gups").expect("shipped").to_owned(),
        quick: true,
        seed: 1,
        repetitions: None,
        without: [("always".to_owned(), "not asked for".to_owned())].into(),
        environment: json!({ "hugewise": "0.1.0", "kernel": kernel, "cpus": 2 }),
        began: Some("2026-11-23 12:00:00 UTC".into()),
        resumed: Vec::new(),
    };
    store.begin(&plan).expect("written");
    for repetition in 0..5_u32 {
        for (variant, base) in [("never", 100.0), ("ingens", 140.0)] {
            let mut run = Record::new(repetition, variant);
            let value = factor * base + f64::from(repetition);
            run.seconds = 3.0;
            run.measured.values = [("ops_per_s".into(), value), ("rss_mib".into(), base)].into();
            let points = (0..5_u32).map(|at| (f64::from(at), value)).collect();
            run.measured.series.push(Series { key: "huge_mib".into(), points });
            let mut calls = Histogram::default();
            (1..50).for_each(|n| calls.record(n * 1000));
            run.measured.histograms.insert("promoted.call".into(), calls);
            run.conditions.noisy = vec!["others were busy".into(); usize::from(repetition == 4)];
            if (repetition, variant) == (2, "never") {
                let error = "it ended".to_owned();
                run.outcome = hugewise_experiment::record::Outcome::Failed { error };
            }
            store.add(&run).expect("written");
        }
    }
}
