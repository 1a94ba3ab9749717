//! The borders between the crates: each takes a capability away.

use super::source::{line_of, mask, test_tail, words};
use super::{Problem, TextFile};

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

pub fn imports(file: &TextFile) -> Vec<Problem> {
    if file.path.starts_with("crates/core/src/") {
        forbidden(file, &CORE_MUST_NOT_IMPORT)
    } else if file.path.starts_with("crates/app/") {
        forbidden(file, &[("hugewise_sys", "the app acts through hugewise-linux only")])
    } else {
        Vec::new()
    }
}

fn forbidden(file: &TextFile, rules: &[(&str, &str)]) -> Vec<Problem> {
    let masked = mask(&file.text);
    let code = match test_tail(&masked) {
        Some(tail) => masked.split_inclusive('\n').take(tail - 1).collect(),
        None => masked,
    };
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

/// Every path that code imports or spells out, with its line; `use a::{b, c::d}` gives two.
fn paths(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for at in words(code, "use") {
        let tree = code[at + 3..].split(';').next().unwrap_or_default();
        let mut spelled = Vec::new();
        expand("", tree, &mut spelled);
        found.extend(spelled.into_iter().map(|path| (line_of(code, at), path)));
    }
    for head in ["std", "hugewise_sys", "hugewise_linux"] {
        for at in words(code, head) {
            let part_of_path = |c: &char| c.is_alphanumeric() || matches!(c, '_' | ':');
            let path: String = code[at..].chars().take_while(part_of_path).collect();
            found.push((line_of(code, at), path.trim_end_matches(':').to_string()));
        }
    }
    found
}

fn expand(prefix: &str, tree: &str, out: &mut Vec<String>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        let path = format!("{prefix}{path}");
        out.push(path.trim_start_matches("::").trim_end_matches("::self").to_string());
        return;
    };
    let close = tree.rfind('}').unwrap_or(tree.len());
    let prefix = format!("{prefix}{}", tree[..open].trim());
    let (mut depth, mut start) = (0, open + 1);
    for (at, c) in tree[..close].char_indices().skip_while(|&(at, _)| at <= open) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&prefix, &tree[start..at], out);
                start = at + 1;
            }
            _ => {}
        }
    }
    expand(&prefix, &tree[start..close], out);
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
