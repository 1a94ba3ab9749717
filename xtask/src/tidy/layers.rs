//! The borders between the crates: each takes a capability away.

use super::imports::Import;
use super::source::{expand, line_of, mask, without_tests, words};
use super::{Problem, TextFile};
use std::collections::{BTreeMap, VecDeque};

const CORE_MUST_NOT_IMPORT: [(&str, &str); 11] = [
    ("hugewise_sys", "core is pure: pass the data in"),
    ("hugewise_linux", "core is pure: pass the data in"),
    ("std::fs", "hugewise-linux reads files, core gets their text"),
    ("std::net", "core has no network"),
    ("std::env", "core is told its configuration"),
    ("std::thread", "core has no threads"),
    ("std::process", "core starts no programs"),
    ("std::time::Instant", "core is told the time"),
    ("std::time::SystemTime", "core is told the time"),
    ("std::collections::HashMap", "its order changes from run to run: use BTreeMap"),
    ("std::collections::HashSet", "its order changes from run to run: use BTreeSet"),
];

/// `#![forbid(unsafe_code)]` in every crate root, and `unsafe` nowhere, outside `crates/sys`.
pub fn unsafe_code(file: &TextFile) -> Vec<Problem> {
    if file.path.starts_with("crates/sys/") || file.path.starts_with("fuzz/") {
        return Vec::new();
    }
    let masked = mask(&file.text);
    let mut found: Vec<Problem> = words(&masked, "unsafe")
        .into_iter()
        .map(|at| {
            let what = "unsafe code: put a safe function into crates/sys and call that";
            Problem::new(&file.path, line_of(&masked, at), what)
        })
        .collect();
    if is_crate_root(&file.path) && !masked.contains("#![forbid(unsafe_code)]") {
        let what = "a crate root without `#![forbid(unsafe_code)]`: add it below the module's text";
        found.push(Problem::new(&file.path, 1, what));
    }
    found
}

fn is_crate_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [.., "src", "lib.rs" | "main.rs"] | [.., "src", "bin", _] => true,
        [.., "tests" | "benches" | "examples", _] => !parts.contains(&"src"),
        _ => false,
    }
}

/// What code below a folder must not import, outside of its tests.
const BORDERS: [(&str, &[(&str, &str)]); 8] = [
    ("crates/core/src/", &CORE_MUST_NOT_IMPORT),
    ("crates/sys/src/", &[OF_CORE, OF_LAB, OF_WORKLOADS]),
    (
        "crates/linux/src/",
        &[
            ("hugewise_experiment", "linux knows no caller: have it handed in"),
            OF_LAB,
            OF_WORKLOADS,
        ],
    ),
    ("crates/workloads/src/", &[OF_LAB]),
    ("crates/lab/src/", &[SYS, OF_SERVE]),
    (
        "crates/serve/src/",
        &[
            ("std::fs", SERVED),
            ("std::process", SERVED),
            ("hugewise_core", SERVED),
            ("hugewise_linux", SERVED),
            ("hugewise_sys", SERVED),
            OF_LAB,
            OF_WORKLOADS,
        ],
    ),
    ("crates/app/", &[SYS]),
    ("xtask/src/", &[OF_LAB, OF_WORKLOADS]),
];

const OF_CORE: (&str, &str) = ("hugewise_core", "sys knows only the kernel");
const OF_LAB: (&str, &str) = ("hugewise_lab", "only the app starts experiments");
const OF_WORKLOADS: (&str, &str) = ("hugewise_workloads", "only the lab and the app start those");
const OF_SERVE: (&str, &str) = ("hugewise_serve", "only the app serves");
const SERVED: &str = "serve only answers: its content is handed in";
const SYS: (&str, &str) = ("hugewise_sys", "it acts through hugewise-linux only");

/// TCP, and what runs many connections at once: of two crates alone.
const NETWORK: [(&str, &str); 6] = [
    ("std::net::TcpListener", ONLY_TWO),
    ("std::net::TcpStream", ONLY_TWO),
    ("std::net::ToSocketAddrs", ONLY_TWO),
    ("tokio", ONLY_TWO),
    ("hyper", ONLY_TWO),
    ("hyper_util", ONLY_TWO),
];
const ONLY_TWO: &str = "only crates/lab and crates/serve have TCP and an async runtime";

/// Imports that a crate's border forbids.
pub fn imports(file: &TextFile) -> Vec<Problem> {
    let mut rules = Vec::new();
    for (folder, border) in BORDERS {
        if file.path.starts_with(folder) {
            rules.extend_from_slice(border);
        }
    }
    let networked = ["crates/lab/", "crates/serve/"].iter().any(|c| file.path.starts_with(c));
    if file.path.contains("/src/") && !networked {
        rules.extend_from_slice(&NETWORK);
    }
    forbidden(file, &rules)
}

/// Output of libraries: what they find they return, and who called them says it.
pub fn prints(file: &TextFile) -> Vec<Problem> {
    let silent = ["core", "sys", "linux", "lab", "serve"];
    if !silent.iter().any(|name| file.path.starts_with(&format!("crates/{name}/src/"))) {
        return Vec::new();
    }
    let code = without_tests(&mask(&file.text));
    let mut found = Vec::new();
    for word in ["print", "println", "eprint", "eprintln", "stdout", "stderr"] {
        let call = if word.starts_with("std") { "(" } else { "!" };
        for at in words(&code, word) {
            let own = code[..at].ends_with("io::") || call == "!";
            if own && code[at + word.len()..].starts_with(call) {
                let what = format!("{word}: return it, the app prints");
                found.push(Problem::new(&file.path, line_of(&code, at), what));
            }
        }
    }
    found
}

/// What the daemon runs in the app.
const DAEMON: [&str; 5] = [
    "crates/app/src/config",
    "crates/app/src/control",
    "crates/app/src/daemon",
    "crates/app/src/journal",
    "crates/app/src/cmd/manage",
];

/// Ways on which the daemon's code reaches the lab, its workloads or HTTP, over whatever files.
pub fn daemon_alone(imports: &[Import]) -> Vec<Problem> {
    let far = |path: &str| {
        let far = ["crates/lab/", "crates/workloads/", "crates/serve/"];
        far.iter().any(|folder| path.starts_with(folder))
    };
    let start = |path: &str| {
        DAEMON.iter().any(|own| {
            path.strip_prefix(own).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        })
    };
    // The import over which each file was reached first.
    let mut ways: BTreeMap<&str, Option<&Import>> = BTreeMap::new();
    let mut waiting: VecDeque<&str> = VecDeque::new();
    for import in imports.iter().filter(|import| start(&import.from)) {
        if ways.insert(&import.from, None).is_none() {
            waiting.push_back(&import.from);
        }
    }
    let mut found = Vec::new();
    while let Some(file) = waiting.pop_front() {
        for import in imports.iter().filter(|import| import.from == file) {
            if far(&import.to) {
                let what = format!(
                    "{} leads the daemon to {}{}: manage needs no lab, no workloads, no HTTP",
                    import.path,
                    import.to,
                    way(&ways, file)
                );
                found.push(Problem::new(&import.from, import.line, what));
            } else if !ways.contains_key(import.to.as_str()) {
                ways.insert(&import.to, Some(import));
                waiting.push_back(&import.to);
            }
        }
    }
    found
}

/// `, by way of` the imports that led to a file; nothing for the daemon's own.
fn way<'a>(ways: &BTreeMap<&str, Option<&'a Import>>, mut file: &'a str) -> String {
    let mut steps = Vec::new();
    while let Some(Some(import)) = ways.get(file) {
        steps.insert(0, format!("{}:{}", import.from, import.line));
        file = &import.from;
    }
    if steps.is_empty() { String::new() } else { format!(", by way of {}", steps.join(", ")) }
}

pub(super) fn forbidden(file: &TextFile, rules: &[(&str, &str)]) -> Vec<Problem> {
    let masked = mask(&file.text);
    let code = without_tests(&masked);
    let mut found = Vec::new();
    for (line, path) in paths(&code) {
        for (banned, instead) in rules {
            let below = path.strip_prefix(banned);
            if below.is_some_and(|rest| rest.is_empty() || rest.starts_with("::")) {
                found.push(Problem::new(&file.path, line, format!("uses {banned}: {instead}")));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// How a path may begin of which a border says something.
const HEADS: [&str; 10] = [
    "std",
    "tokio",
    "hyper",
    "hyper_util",
    "hugewise_core",
    "hugewise_sys",
    "hugewise_linux",
    "hugewise_lab",
    "hugewise_workloads",
    "hugewise_serve",
];

/// Every path that code imports or spells out, with its line; `use a::{b, c::d}` gives two.
fn paths(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for at in words(code, "use") {
        let tree = code[at + 3..].split(';').next().unwrap_or_default();
        let spelled = expand(tree).into_iter().map(|(path, _)| (line_of(code, at), path));
        found.extend(spelled);
    }
    for head in HEADS {
        for at in words(code, head) {
            let part_of_path = |c: &char| c.is_alphanumeric() || matches!(c, '_' | ':');
            let path: String = code[at..].chars().take_while(part_of_path).collect();
            if path.contains("::") {
                found.push((line_of(code, at), path.trim_end_matches(':').to_string()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn breaches(path: &str, text: &str) -> Vec<usize> {
        let file = TextFile { path: path.into(), text: text.into() };
        imports(&file).into_iter().map(|p| p.line).collect()
    }

    #[test]
    fn core_may_not_reach_outside() {
        let core = "crates/core/src/a.rs";
        assert_eq!(breaches(core, "use std::fs;\n"), [1]);
        assert_eq!(breaches(core, "\nuse std::{fmt, time::{Duration, Instant}};\n"), [2]);
        assert_eq!(breaches(core, "use std::{\n    collections::HashMap,\n};\n"), [1]);
        assert_eq!(breaches(core, "fn f() { std::thread::yield_now() }\n"), [1]);
        assert_eq!(breaches(core, "use hugewise_linux::root as r;\n"), [1]);
        assert_eq!(breaches(core, "use std::net::{self};\n"), [1]);
    }

    #[test]
    fn core_may_use_what_is_pure_and_its_tests_anything() {
        let core = "crates/core/src/a.rs";
        assert_eq!(breaches(core, "use std::{fmt, time::Duration};\n"), NONE);
        assert_eq!(breaches(core, "// use std::fs;\n"), NONE);
        let tail = "fn f() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert_eq!(breaches(core, tail), NONE);
    }

    #[test]
    fn the_app_does_not_call_sys() {
        assert_eq!(breaches("crates/app/src/a.rs", "use hugewise_sys::pidfd;\n"), [1]);
        assert_eq!(breaches("crates/linux/src/a.rs", "use hugewise_sys::pidfd;\n"), NONE);
    }

    #[test]
    fn linux_knows_no_caller() {
        let linux = "crates/linux/src/a.rs";
        assert_eq!(breaches(linux, "use hugewise_core::{base::size, experiment::kind};\n"), [1]);
        assert_eq!(breaches(linux, "fn f() { hugewise_lab::stage::f() }\n"), [1]);
        assert_eq!(breaches(linux, "use hugewise_evidence::hugetlb;\n"), NONE);
    }

    #[test]
    fn only_two_have_tcp_and_a_runtime() {
        let text = "use std::net::{IpAddr, TcpStream};\nfn f() { tokio::spawn(g) }\n";
        for path in ["crates/workloads/src/a.rs", "crates/app/src/a.rs", "crates/linux/src/a.rs"] {
            assert_eq!(breaches(path, text), [1, 2], "{path}");
        }
        assert_eq!(breaches("crates/lab/src/a.rs", text), NONE);
        assert_eq!(breaches("crates/serve/src/a.rs", text), NONE);
        assert_eq!(breaches("crates/app/tests/a.rs", text), NONE);
        let file = TextFile { path: "crates/workloads/src/a.rs".into(), text: text.into() };
        assert_eq!(
            imports(&file)[0].to_string(),
            "crates/workloads/src/a.rs:1: uses std::net::TcpStream: only crates/lab and \
             crates/serve have TCP and an async runtime"
        );
    }

    #[test]
    fn serve_reads_nothing_and_acts_on_nothing() {
        let serve = "crates/serve/src/a.rs";
        assert_eq!(breaches(serve, "use std::{fs, net};\nuse hugewise_linux::root;\n"), [1, 2]);
        assert_eq!(breaches(serve, "fn f() { std::process::exit(1) }\n"), [1]);
        assert_eq!(breaches("crates/lab/src/a.rs", "use hugewise_serve::Server;\n"), [1]);
        assert_eq!(breaches("crates/app/src/a.rs", "use hugewise_serve::Server;\n"), NONE);
    }

    #[test]
    fn workloads_do_not_know_the_lab() {
        assert_eq!(breaches("crates/workloads/src/a.rs", "use hugewise_lab::run;\n"), [1]);
        assert_eq!(breaches("crates/lab/src/a.rs", "use hugewise_workloads::run;\n"), NONE);
    }

    #[test]
    fn libraries_return_and_do_not_print() {
        let check = |path: &str, text: &str| -> Vec<usize> {
            let file = TextFile { path: path.into(), text: text.into() };
            prints(&file).into_iter().map(|p| p.line).collect()
        };
        let lab = "crates/lab/src/a.rs";
        assert_eq!(check(lab, "fn f() {\n    println!(\"x\");\n}\n"), [2]);
        assert_eq!(check(lab, "fn f() { std::io::stderr().flush() }\n"), [1]);
        assert_eq!(check(lab, "fn f() { child.stdout(g); print(x) }\n"), NONE);
        assert_eq!(check("crates/app/src/a.rs", "fn f() { println!() }\n"), NONE);
    }

    #[test]
    fn the_daemon_reaches_the_lab_on_no_way() {
        let import = |from: &str, line: usize, to: &str| Import {
            from: from.into(),
            line,
            to: to.into(),
            path: "x::y".into(),
        };
        let (daemon, beside) = ("crates/app/src/daemon.rs", "crates/app/src/a.rs");
        let lab = "crates/lab/src/run.rs";
        assert_eq!(daemon_alone(&[import(beside, 7, lab)]), []);
        assert_eq!(daemon_alone(&[import(daemon, 3, beside)]), []);
        let found = daemon_alone(&[import(beside, 7, lab), import(daemon, 3, beside)]);
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["crates/app/src/a.rs:7: x::y leads the daemon to crates/lab/src/run.rs, by way of \
              crates/app/src/daemon.rs:3: manage needs no lab, no workloads, no HTTP"]
        );
        let direct = import("crates/app/src/cmd/manage.rs", 2, "crates/workloads/src/lib.rs");
        assert_eq!(daemon_alone(&[direct]).len(), 1);
    }

    #[test]
    fn unsafe_belongs_into_sys() {
        let check = |path: &str, text: &str| {
            unsafe_code(&TextFile { path: path.into(), text: text.into() }).len()
        };
        assert_eq!(check("crates/app/src/a.rs", "fn f() { unsafe { g() } }"), 1);
        assert_eq!(check("crates/sys/src/a.rs", "fn f() { unsafe { g() } }"), 0);
        assert_eq!(check("crates/app/src/a.rs", "// unsafe\nfn f() { \"unsafe\" }"), 0);
        assert_eq!(check("crates/app/src/main.rs", "fn main() {}"), 1);
        assert_eq!(check("crates/app/src/main.rs", "#![forbid(unsafe_code)]\nfn main() {}"), 0);
        assert_eq!(check("crates/app/tests/live/init.rs", "fn f() {}"), 0);
    }
}
