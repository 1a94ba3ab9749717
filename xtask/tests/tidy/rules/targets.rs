//! Tests that nobody would run: a target that `make test` does not name, and a file of no target.

use super::{Problem, TextFile};
use serde_json::Value;

/// Test targets that `scripts/test.sh` does not name.
pub(crate) fn not_run(metadata: &Value, script: &TextFile) -> Vec<Problem> {
    let mut found = Vec::new();
    for target in targets(metadata) {
        let name = target["name"].as_str().unwrap_or("?");
        if !script.text.contains(&format!("--test {name}")) {
            let what = format!("does not run the test target '{name}': give it a place");
            found.push(Problem::new(&script.path, 1, what));
        }
    }
    found
}

/// Files directly in a crate's `tests` that are neither a target nor a module of one: packages name
/// their test targets, so that cargo does not search for them.
pub(crate) fn forgotten(files: &[TextFile], metadata: &Value) -> Vec<Problem> {
    let roots: Vec<&str> = targets(metadata).filter_map(|t| t["src_path"].as_str()).collect();
    let is_root = |path: &str| roots.iter().any(|root| root.ends_with(&format!("/{path}")));
    let mut found = Vec::new();
    for file in files {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or_default();
        if !folder.ends_with("/tests") || folder.contains("/src/") || is_root(&file.path) {
            continue;
        }
        let line = format!("mod {};", name.trim_end_matches(".rs"));
        let declared = files.iter().any(|other| {
            other.path.starts_with(folder)
                && is_root(&other.path)
                && other.text.lines().any(|declaration| declaration == line)
        });
        if !declared {
            let what = "belongs to no test target: declare it in a root beside it";
            found.push(Problem::new(&file.path, 1, what));
        }
    }
    found
}

fn targets(metadata: &Value) -> impl Iterator<Item = &Value> {
    let ours = |package: &&Value| package["source"].is_null();
    let packages = metadata["packages"].as_array().into_iter().flatten().filter(ours);
    let targets = packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    targets.filter(|target| target["kind"][0] == "test")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn metadata() -> Value {
        let target =
            json!({"name": "host", "kind": ["test"], "src_path": "/r/crates/x/tests/host.rs"});
        json!({"packages": [{"source": null, "targets": [target]}]})
    }

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_target_that_the_script_does_not_name_is_reported() {
        let script = |text: &str| file("scripts/test.sh", text);
        assert_eq!(not_run(&metadata(), &script("cargo test --test host")), []);
        assert_eq!(not_run(&metadata(), &script("cargo test --test live")).len(), 1);
    }

    #[test]
    fn a_file_that_no_root_declares_is_reported() {
        let root = file("crates/x/tests/host.rs", "mod a;\n// mod b;\n");
        let files = ["a", "b"].map(|name| file(&format!("crates/x/tests/{name}.rs"), ""));
        let found = forgotten(&[&[root][..], &files].concat(), &metadata());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "crates/x/tests/b.rs");
    }
}
