//! Which module imports which, by files.
//!
//! An import is a path to an item of another file of the workspace: in a `use`, or spelled out in
//! the code. It leads to the file that defines the item; re-exports on the way are followed. A
//! `use` of a whole module counts where something of it is used. What a file only re-exports, it
//! does not import, and a `mod` that declares a child is no import. Code under `#[cfg(test)]` and
//! files that only tests declare do not count.

use super::TextFile;
use std::collections::{BTreeMap, BTreeSet};
use xtask::source::{expand, line_of, mask, without_tests, words};

/// A line of one file that needs an item of another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    pub(crate) from: String,
    pub(crate) line: usize,
    /// The file in which the item is defined.
    pub(crate) to: String,
    /// The path as the code has it.
    pub(crate) path: String,
}

/// A module's place: the folder of its crate, then the names that lead to it.
type Place = Vec<String>;

/// A name that a `use` brings into a file.
struct Name {
    path: Vec<String>,
    line: usize,
    public: bool,
}

struct Module {
    file: String,
    /// Code without tests, comments and literals, and without its `use` and `mod` declarations.
    code: String,
    names: BTreeMap<String, Name>,
}

/// All imports between files of `src` folders, in order.
pub(crate) fn imports(files: &[TextFile]) -> Vec<Import> {
    let modules = modules(files);
    let mut found = BTreeSet::new();
    for (place, module) in &modules {
        let mut add = |line: usize, path: &[String]| {
            let Some((target, whole)) = resolve(&modules, place, path, 0) else { return };
            let to = &modules[&target].file;
            if !whole && *to != module.file {
                let path = path.join("::");
                found.insert(Import { from: module.file.clone(), line, to: to.clone(), path });
            }
        };
        for (alias, name) in &module.names {
            if !name.public || is_used(&module.code, alias) {
                add(name.line, &name.path);
            }
        }
        for (line, path) in spelled(&module.code) {
            // An item's `use` is counted already.
            let brought = module.names.get(&path[0]);
            let item = |name: &Name| {
                resolve(&modules, place, &name.path, 0).is_some_and(|(_, whole)| !whole)
            };
            if !brought.is_some_and(item) {
                add(line, &path);
            }
        }
    }
    found.into_iter().collect()
}

/// The modules that code outside of tests declares.
fn modules(files: &[TextFile]) -> BTreeMap<Place, Module> {
    let mut all = BTreeMap::new();
    let mut waiting = Vec::new();
    for file in files {
        if let Some(place) = place(&file.path) {
            if place.len() == 1 || file.path.ends_with("/src/main.rs") {
                waiting.push(place.clone());
            }
            all.insert(place, file);
        }
    }
    let mut live = BTreeMap::new();
    while let Some(place) = waiting.pop() {
        let Some(file) = all.get(&place) else { continue };
        // Raw names (`r#try`) are names.
        let mut code = without_tests(&mask(&file.text)).replace("r#", "");
        for child in declared(&mut code) {
            waiting.push(place.iter().cloned().chain([child]).collect());
        }
        let names = names(&mut code);
        live.insert(place, Module { file: file.path.clone(), code, names });
    }
    live
}

/// `crates/x/src/a/mod.rs` and `crates/x/src/a.rs` are at `[crates/x, a]`.
fn place(path: &str) -> Option<Place> {
    let (folder, inside) = path.split_once("/src/")?;
    let inside = inside.strip_suffix(".rs")?;
    let mut place = vec![folder.to_string()];
    // A program beside the library of its crate names that like any other crate.
    if inside != "lib" && (inside != "main" || folder == "xtask") {
        place.extend(inside.split('/').filter(|part| *part != "mod").map(String::from));
    } else if inside == "main" {
        place.truncate(1);
    }
    Some(place)
}

/// The children that a file declares; takes the declarations out of its code.
fn declared(code: &mut String) -> Vec<String> {
    let mut children = Vec::new();
    for at in words(code, "mod") {
        let Some(end) = code[at..].find([';', '{']).map(|end| at + end) else { continue };
        if code[end..].starts_with(';') {
            children.push(code[at + 3..end].trim().to_string());
            blank(code, at, end);
        }
    }
    children
}

/// The names that a file's `use` declarations bring; takes the declarations out of its code.
fn names(code: &mut String) -> BTreeMap<String, Name> {
    let mut names = BTreeMap::new();
    for at in words(code, "use") {
        let Some(end) = code[at..].find(';').map(|end| at + end) else { continue };
        if code[at + 3..].trim_start().starts_with('<') {
            continue; // what an `impl Trait` captures
        }
        let before = code[..at].trim_end();
        let public = before.ends_with("pub")
            || before.ends_with(')') && before.rfind("pub(").is_some_and(|p| at - p < 24);
        let line = line_of(code, at);
        for (path, alias) in expand(&code[at + 3..end]) {
            let path: Vec<String> = path.split("::").map(String::from).collect();
            names.insert(alias, Name { path, line, public });
        }
        blank(code, at, end);
    }
    names
}

fn blank(code: &mut String, from: usize, to: usize) {
    let blanks: String =
        code[from..to].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
    // Characters of several bytes do not occur in a declaration.
    code.replace_range(from..to, &blanks);
}

/// Whether code uses a name by itself: not as a field, a method or a part of another path.
fn is_used(code: &str, name: &str) -> bool {
    words(code, name).into_iter().any(|at| {
        let before = code[..at].trim_end();
        !before.ends_with(['.', ':']) && !before.ends_with("fn")
    })
}

/// Every path of at least two names in code, with its line.
fn spelled(code: &str) -> Vec<(usize, Vec<String>)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        for run in line.split(|c| !is_part(c)) {
            for path in run.split(": ") {
                let path: Vec<String> =
                    path.trim_matches(':').split("::").map(String::from).collect();
                if path.len() > 1 {
                    found.push((number + 1, path));
                }
            }
        }
    }
    found
}

/// The module that defines what a path of the module at `from` names, and whether the path names
/// that whole module. `None` for what is not of this workspace.
fn resolve(
    modules: &BTreeMap<Place, Module>,
    from: &[String],
    path: &[String],
    depth: usize,
) -> Option<(Place, bool)> {
    let (first, mut rest) = path.split_first()?;
    let child = |place: &[String], name: &str| -> Option<Place> {
        let place: Place = place.iter().cloned().chain([name.to_string()]).collect();
        modules.contains_key(&place).then_some(place)
    };
    let name_of = |place: &[String], name: &str| -> Option<Vec<String>> {
        Some(modules.get(place)?.names.get(name)?.path.clone())
    };
    if depth > 16 {
        return None; // `use a::a` of a module without such an item
    }
    let mut at: Place = match first.as_str() {
        "crate" => vec![from[0].clone()],
        "self" => from.to_vec(),
        "super" => from[..from.len() - 1].to_vec(),
        "xtask" => vec!["xtask".to_string()],
        name if name.starts_with("hugewise_") => vec![name.replacen("hugewise_", "crates/", 1)],
        name => match (name_of(from, name), child(from, name)) {
            (Some(path), None) => return follow(modules, from, &path, rest, depth),
            (_, Some(child)) => child,
            (None, None) => return None,
        },
    };
    while let Some((name, further)) = rest.split_first() {
        let (child, named) = (child(&at, name), name_of(&at, name));
        match (child, named) {
            _ if name == "super" => at.truncate(at.len() - 1),
            (Some(child), None) => at = child,
            (Some(child), Some(_)) if !further.is_empty() => at = child,
            (_, Some(path)) => return follow(modules, &at, &path, further, depth),
            (None, None) => return modules.contains_key(&at).then_some((at, false)),
        }
        rest = further;
    }
    modules.contains_key(&at).then_some((at, true))
}

fn follow(
    modules: &BTreeMap<Place, Module>,
    from: &[String],
    path: &[String],
    rest: &[String],
    depth: usize,
) -> Option<(Place, bool)> {
    let path: Vec<String> = path.iter().chain(rest).cloned().collect();
    resolve(modules, from, &path, depth + 1)
}
