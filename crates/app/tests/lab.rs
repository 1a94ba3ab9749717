//! What `hugewise lab` says and refuses before it touches the machine: exit codes and messages.

use hugewise_scratch::Scratch;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An experiment whose second variant concerns every program of the machine.
const WIDE: &str = r#"
name = "wide"
question = "Is it refused?"
measure_s = 1

[workload]
kind = "gups"
mib = 2

[[variant]]
name = "plain"

[[variant]]
name = "swappy"
settings = { "vm.swappiness" = "59" }
"#;

/// Two workloads, of which one cannot be run anywhere.
const SUITE: &str = r#"
name = "small"
question = "Is it refused?"
rounds = 1
bars = { speed = 0.9, memory = 1.1, tail = 2.0 }
common = { measure_s = 1 }

[[variant]]
name = "plain"

[[row]]
name = "there"
steady = ["ops_per_s"]
workload = { kind = "gups", mib = 2 }

[[row]]
name = "absent"
start = ["wall_s"]
workload = { kind = "command", program = "no-such-program" }
"#;

/// A directory for one test, removed afterwards.
struct Folder(Scratch);

impl Folder {
    fn new() -> Self {
        let path = Scratch::new();
        fs::set_permissions(&*path, fs::Permissions::from_mode(0o755)).expect("its mode");
        Self(path)
    }

    /// Results of an experiment that has begun, without any run.
    fn begun(&self, text: &str, without: &Value) -> PathBuf {
        let results = self.0.join("results");
        fs::create_dir_all(results.join("runs")).expect("writable");
        let plan = json!({
            "schema": 1, "text": text, "quick": false, "seed": 7, "repetitions": null,
            "without": without, "environment": {}, "began": null,
        });
        fs::write(results.join("plan.json"), plan.to_string()).expect("writable");
        for (path, mode) in
            [(".", 0o755), ("runs", 0o755), ("plan.json", 0o644)].map(|(p, m)| (results.join(p), m))
        {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
        }
        results
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("its mode");
        path
    }
}

fn lab(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    command.arg("lab").args(args).output().expect("the program starts")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it ends by itself")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn a_kind_has_its_defaults_in_json() {
    let output = lab(&["list", "redis", "--json"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let kind: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(kind["schema"], 1);
    let params = kind["parameters"].as_array().expect("a list");
    let default = |name: &str| {
        let found = params.iter().find(|param| param["name"] == name);
        found.expect("a parameter")["default"].clone()
    };
    assert_eq!((default("keys"), default("socket")), (json!(60_000), json!("unix")));
}

#[test]
fn one_form_of_a_report_at_a_time() {
    for args in [["report", "x", "--markdown", "--json"], ["--json", "report", "x", "--markdown"]] {
        let output = lab(&args);
        assert_eq!(code(&output), 2, "{}", said(&output));
    }
}

#[test]
fn what_does_not_fit_is_said_and_can_be_copied() {
    let scratch = Folder::new();
    let large = WIDE.replace("mib = 2", "mib = 1048576");
    let (file, copy) = (scratch.file("large.toml", &large), scratch.0.join("copy.toml"));
    let output = lab(&["setup", text(&file), "--write", text(&copy)]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    assert!(said(&output).contains("needs 1048576 MiB"), "{}", said(&output));
    assert_eq!(fs::read_to_string(copy).expect("a copy"), large);
}

#[test]
fn a_program_that_its_user_cannot_execute_is_refused_before_the_first_run() {
    let scratch = Folder::new();
    let folder = scratch.0.join("own");
    fs::create_dir(&folder).expect("mkdir");
    fs::write(folder.join("program"), "#!/bin/sh\n").expect("writable");
    fs::set_permissions(folder.join("program"), fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("its mode");
    let text_for = |user: &str| {
        format!(
            "name = 'own'\nquestion = 'Is it refused?'\nmeasure_s = 1\n[workload]\n\
             kind = 'command'\nprogram = '{}'\nuser = '{user}'\n[[variant]]\nname = 'a'\n\
             [[variant]]\nname = 'b'\n",
            folder.join("program").display()
        )
    };
    let file = scratch.file("own.toml", &text_for("own"));
    // Who is not root, or root of a namespace with nobody else, runs it under the same user.
    let user = hugewise_linux::nobody::Nobody::pick(&hugewise_linux::root::Root::live());
    let expected = if user.expect("a user").is_some() { 5 } else { 0 };
    let results = scratch.0.join("results");
    for args in [vec!["setup", text(&file)], vec!["run", text(&file), "--output", text(&results)]] {
        if args[0] == "run" && expected == 0 {
            continue;
        }
        let output = lab(&args);
        assert_eq!(code(&output), expected, "{}", said(&output));
        // What `setup` shows is its answer, what `run` skips is a note.
        let all = format!("{}{}", String::from_utf8_lossy(&output.stdout), said(&output));
        let words = all.split_whitespace().collect::<Vec<_>>().join(" ");
        let wanted = format!("{} has mode 0700", folder.display());
        assert_eq!(words.contains(&wanted), expected == 5, "{words}");
        assert_eq!(words.contains("set user = \"root\""), expected == 5, "{words}");
    }
    assert!(!results.join("runs").exists());
    let output = lab(&["setup", text(&scratch.file("root.toml", &text_for("root")))]);
    assert_eq!(code(&output), 0, "{}", said(&output));
}

#[test]
fn runs_that_are_missing_make_a_report_partial() {
    let scratch = Folder::new();
    let results = scratch.begun(WIDE, &json!({}));
    for args in [vec!["report", text(&results)], vec!["report", text(&results), "--markdown"]] {
        let output = lab(&args);
        assert_eq!(code(&output), 5, "{}", said(&output));
    }
    let output = lab(&["compare", text(&results), text(&results)]);
    assert_eq!(code(&output), 5, "{}", said(&output));
}

#[test]
fn root_writes_no_report_where_others_can_write() {
    let scratch = Folder::new();
    let results = scratch.begun(WIDE, &json!({}));
    fs::set_permissions(&results, fs::Permissions::from_mode(0o777)).expect("its mode");
    let output = lab(&["report", text(&results)]);
    // Whoever is not root may trust what they like.
    let expected = if rustix::process::geteuid().is_root() { 6 } else { 5 };
    assert_eq!(code(&output), expected, "{}", said(&output));
    // To read it is no risk.
    assert_eq!(code(&lab(&["report", text(&results), "--markdown"])), 5);
}

#[test]
fn a_workload_whose_program_is_missing_is_skipped_by_name() {
    let scratch = Folder::new();
    let file = scratch.file("suite.toml", SUITE);
    let output = lab(&["setup", text(&file), "--json"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&told["workloads"], &told["runs"]), (&json!(2), &json!([0, 1])));
    assert_eq!(told["absent"][0]["workload"], "absent");
    let why = told["absent"][0]["why"].as_str().expect("a reason");
    assert!(why.contains("no-such-program"), "{why}");
}

#[test]
fn a_suite_of_another_kernel_or_build_is_refused_by_name() {
    let scratch = Folder::new();
    let (file, results) = (scratch.file("suite.toml", SUITE), scratch.0.join("results"));
    fs::create_dir(&results).expect("writable");
    fs::set_permissions(&results, fs::Permissions::from_mode(0o755)).expect("its mode");
    let output = lab(&["setup", text(&file), "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let own = told["environment"]["kernel"].as_str().expect("a kernel");
    for (own_text, kernel, seed, words) in [
        (SUITE, "2.4.1", "7", "another machine (kernel: 2.4.1, and here"),
        (SUITE, own, "7", "another build of hugewise (old, this is"),
        (SUITE, own, "8", "this suite with the seed 7"),
        (WIDE, own, "7", "another suite"),
    ] {
        let mut environment = told["environment"].clone();
        environment["kernel"] = json!(kernel);
        let plan = json!({
            "schema": 1, "text": own_text, "quick": false, "seed": 7, "rounds": null,
            "variants": [], "environment": environment, "build": "old", "began": null,
            "skipped": {},
        });
        let place = results.join("suite.json");
        fs::write(&place, plan.to_string()).expect("writable");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o644)).expect("its mode");
        let output =
            lab(&["run", text(&file), "--output", text(&results), "--seed", seed, "--noisy"]);
        assert_eq!(code(&output), 1, "{}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
    }
}

#[test]
fn another_seed_or_other_variants_are_another_experiment() {
    let scratch = Folder::new();
    let (file, results) = (scratch.file("wide.toml", WIDE), scratch.begun(WIDE, &json!({})));
    let run = ["run", text(&file), "--output", text(&results), "--machine-wide"];
    for (more, words) in [
        (["--seed", "8"], "with the seed 7"),
        (["--variant", "plain"], "with the variants plain, swappy"),
    ] {
        let output = lab(&[&run[..], &more].concat());
        assert_eq!(code(&output), 1, "{}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
    }
}

#[test]
fn leave_is_asked_for_what_the_plan_runs() {
    let scratch = Folder::new();
    let (file, results) = (scratch.file("wide.toml", WIDE), scratch.begun(WIDE, &json!({})));
    let output = lab(&["run", text(&file), "--output", text(&results), "--seed", "7"]);
    assert_eq!(code(&output), 6, "{}", said(&output));
    assert!(said(&output).contains("--machine-wide"), "{}", said(&output));
    let plan = fs::read_to_string(results.join("plan.json")).expect("still there");
    assert!(!plan.contains("resumed"), "{plan}");
}

fn trial(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    command.arg("try").args(args).output().expect("the program starts")
}

#[test]
fn a_trial_without_huge_pages_is_simulated_and_says_so() {
    let scratch = Folder::new();
    let report = scratch.0.join("report.html").display().to_string();
    let said = trial(&["--simulate", "--size", "64MiB", "--report", &report]);
    let text = String::from_utf8_lossy(&said.stdout);
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    assert!(text.starts_with("SIMULATED: no real memory was promoted, because"), "{text}");
    assert!(text.contains("Memory charged to the workload's cgroup (settled)"), "{text}");
    assert!(!text.contains("random read"), "{text}");
    let page = fs::read_to_string(&report).expect("a report");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    assert!(place("SIMULATED: no real memory") < place("<h2>Figures"), "{page}");
    let said = trial(&["--simulate", "--size", "64MiB", "--report", &report, "--json"]);
    let json: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    let variants: Vec<_> =
        json["records"].as_array().expect("records").iter().map(|r| r["variant"].clone()).collect();
    assert_eq!(variants, ["never", "always", "hugewise"]);
    assert!(json["simulated"].as_str().is_some_and(|why| why.contains("--simulate")), "{json}");
}

#[test]
fn a_trial_that_makes_no_sense_is_refused_by_name() {
    for args in [["--rounds", "0"], ["--rounds", "1001"], ["--size", "1MiB"], ["--size", "x"]] {
        let said = trial(&args);
        assert_eq!(said.status.code(), Some(2), "{args:?}: {said:?}");
    }
}
