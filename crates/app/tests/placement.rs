//! `hugewise diagnose` of several hosts. Needs no right and changes nothing.

use hugewise_scratch::Scratch;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Three samples of `top`, the first of which counts since boot.
fn top(busy: f64, programs: &[(&str, f64)]) -> String {
    let (mut text, idle) = (String::new(), 100.0 - busy);
    let states = format!("{busy:.1} us, 0.0 sy, 0.0 ni, {idle:.1} id, 0.0 wa, 0.0 hi, 0.0 si");
    for second in 1..=3 {
        let load = "load average: 1.00, 1.00, 1.00";
        text += &format!("top - 12:00:0{second} up 10 days,  1:00,  1 user,  {load}\n");
        for cpu in 0..4 {
            text += &format!("%Cpu{cpu}  : {states}, 0.0 st\n");
        }
        text += "KiB Mem : 16000000 total,  8000000 free,  4000000 used,  4000000 buff/cache\n\n";
        text += "  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n";
        for (pid, (name, percent)) in (1001..).zip(programs) {
            let memory = "20 0 5000000 900000 20000 S";
            text += &format!(" {pid} app {memory} {percent:5.1} 5.0 10:00.00 {name}\n");
        }
        text.push('\n');
    }
    text
}

fn written(scratch: &Scratch, hosts: &[(&str, String)]) -> Vec<PathBuf> {
    let write = |(name, text): &(&str, String)| {
        let file = scratch.join(format!("{name}.txt"));
        fs::write(&file, text).expect("written");
        file
    };
    hosts.iter().map(write).collect()
}

fn placement(files: &[PathBuf]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    command.args(["--color", "never", "diagnose", "--hosts"]).args(files);
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    (status.code(), text)
}

#[test]
fn the_full_worker_and_what_to_move_are_told() {
    let scratch = Scratch::new();
    let hosts = [
        ("worker1", top(40.0, &[("java", 155.0)])),
        ("worker2", top(95.0, &[("java", 210.0), ("report", 155.0)])),
        ("worker3", top(45.0, &[("java", 170.0)])),
        ("worker4", top(38.0, &[("java", 140.0)])),
    ];
    let (code, said) = placement(&written(&scratch, &hosts));
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, Some(3), "{said}");
    for text in [
        "4 hosts, 1 is busier than the others",
        "worker2 uses 95 % of its CPUs",
        "Why 'report' uses 1.6 CPUs here, and 0.0 on the others",
        "Move 'report' (pid 1002, 1.6 CPUs) to worker4: 95 % -> 56 % here, 38 % -> 77 % there",
    ] {
        assert!(line.contains(text), "'{text}': {said}");
    }
}

#[test]
fn workers_in_line_are_no_finding() {
    let scratch = Scratch::new();
    let hosts = ["a", "b", "c"].map(|name| (name, top(50.0, &[("java", 190.0)])));
    let (code, said) = placement(&written(&scratch, &hosts));
    assert!(code == Some(0) && said.contains("none of them is busier"), "{code:?}: {said}");
}

#[test]
fn files_that_are_called_alike_are_of_several_hosts() {
    let scratch = Scratch::new();
    let files = ["a", "b", "c"].map(|name| scratch.join(name).join("top.txt"));
    for file in &files {
        fs::create_dir_all(file.parent().expect("a directory")).expect("made");
        fs::write(file, top(50.0, &[("java", 190.0)])).expect("written");
    }
    let (code, said) = placement(&files);
    assert!(code == Some(0) && said.contains("\n3 hosts, none"), "{code:?}: {said}");
}

#[test]
fn what_cannot_be_compared_is_said() {
    let scratch = Scratch::new();
    let mut files = written(&scratch, &[("a", top(50.0, &[])), ("b", top(80.0, &[]))]);
    let (code, said) = placement(&files);
    assert!(code == Some(5) && said.contains("at least 3 are needed"), "{code:?}: {said}");
    let full = written(&scratch, &[("a", top(50.0, &[])), ("c", top(95.0, &[("java", 200.0)]))]);
    let (code, said) = placement(&full);
    assert!(code == Some(3) && said.contains("one is full beside one with room"), "{said}");
    files.push("/nowhere/c.txt".into());
    let (code, said) = placement(&files);
    assert!(code == Some(5) && said.contains("/nowhere/c.txt"), "{code:?}: {said}");
    let (code, said) = placement(&files[2..]);
    assert!(code == Some(1) && said.contains("/nowhere/c.txt"), "{code:?}: {said}");
}
