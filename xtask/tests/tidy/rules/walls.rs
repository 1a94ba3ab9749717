//! Walls between packages: what a package must not reach, over however many of its dependencies.
//!
//! Code can name only what its package depends on, so that a wall needs no look at the code.

use super::Problem;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A package, and what it must not reach. `x-*` are all packages that begin so.
type Wall = (&'static str, &'static [&'static str]);

const MUST_NOT_REACH: [Wall; 15] = [
    ("hugewise-base", &["hugewise-*", "tokio", "hyper"]),
    ("hugewise-sys", &["hugewise-*"]),
    ("hugewise-scratch", &["hugewise-*"]),
    ("hugewise-serve", &["hugewise-*"]),
    ("xtask", &[EVIDENCE, EXPERIMENT, LAB, SERVE, WORKLOADS]),
    ("hugewise-manager", &[EVIDENCE, EXPERIMENT, SYS, LINUX, COLLECT, LAB, SERVE, WORKLOADS]),
    ("hugewise-evidence", &[MANAGER, EXPERIMENT, SYS, LINUX, COLLECT, LAB, SERVE, WORKLOADS]),
    ("hugewise-experiment", &[SYS, LINUX, COLLECT, LAB, SERVE, WORKLOADS]),
    ("hugewise-linux", &[EVIDENCE, EXPERIMENT, COLLECT, LAB, SERVE, WORKLOADS, "tokio", "hyper"]),
    ("hugewise-collect", &[EXPERIMENT, LAB, SERVE, WORKLOADS, "tokio", "hyper"]),
    ("hugewise-workloads", &[LAB, SERVE, "tokio", "hyper"]),
    ("hugewise-lab", &[SERVE]),
    ("hugewise-cli", &[EVIDENCE, EXPERIMENT, LAB, SERVE, WORKLOADS, "tokio", "hyper"]),
    ("hugewise-console", &[EVIDENCE, EXPERIMENT, LAB, SERVE, WORKLOADS, "tokio", "hyper"]),
    (
        "hugewise-daemon",
        &[EVIDENCE, EXPERIMENT, LAB, SERVE, "tokio", "hyper", "parquet", "ratatui"],
    ),
];

/// A package, and what it must not depend on itself; it may use what does.
const MUST_NOT_NAME: [Wall; 2] =
    [("hugewise", &[SYS, "tokio", "hyper", "hyper-util"]), (LAB, &[SYS])];

const MANAGER: &str = "hugewise-manager";
const EVIDENCE: &str = "hugewise-evidence";
const EXPERIMENT: &str = "hugewise-experiment";
const SYS: &str = "hugewise-sys";
const LINUX: &str = "hugewise-linux";
const COLLECT: &str = "hugewise-collect";
const LAB: &str = "hugewise-lab";
const SERVE: &str = "hugewise-serve";
const WORKLOADS: &str = "hugewise-workloads";

/// The normal dependencies of each package, by name.
type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Dependencies in `cargo metadata` that go through a wall.
pub(crate) fn breaches(metadata: &Value) -> Vec<Problem> {
    let graph = graph(metadata);
    let mut found = check(&graph, &MUST_NOT_REACH, usize::MAX);
    found.extend(check(&graph, &MUST_NOT_NAME, 1));
    found
}

fn check(graph: &Graph<'_>, walls: &[Wall], steps_max: usize) -> Vec<Problem> {
    let mut found = Vec::new();
    for &(package, forbidden) in walls {
        if !graph.contains_key(package) {
            let what = format!(
                "no package {package}: correct the table in xtask/tests/tidy/rules/walls.rs"
            );
            found.push(Problem::new("Cargo.toml", 1, what));
        }
        for way in ways(graph, package) {
            let to = way[way.len() - 1];
            if way.len() - 1 <= steps_max && forbidden.iter().any(|pattern| fits(pattern, to)) {
                let what = format!("{package} must not reach {to}: {}", way.join(" -> "));
                found.push(Problem::new("Cargo.lock", 1, what));
            }
        }
    }
    found
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

fn graph(metadata: &Value) -> Graph<'_> {
    let mut names = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        names.insert(package["id"].as_str(), package["name"].as_str().unwrap_or("?"));
    }
    let mut graph = Graph::new();
    for node in metadata["resolve"]["nodes"].as_array().into_iter().flatten() {
        let Some(name) = names.get(&node["id"].as_str()) else { continue };
        let needs = graph.entry(*name).or_default();
        for dependency in node["deps"].as_array().into_iter().flatten() {
            let mut kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            // Those of tests and of building have a kind.
            if kinds.any(|kind| kind["kind"].is_null()) {
                needs.extend(names.get(&dependency["pkg"].as_str()));
            }
        }
    }
    graph
}

/// For each package that another one reaches: the shortest way there, both ends included.
fn ways<'a>(graph: &Graph<'a>, from: &'a str) -> Vec<Vec<&'a str>> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::from([from]));
    let mut waiting = VecDeque::from([vec![from]]);
    while let Some(way) = waiting.pop_front() {
        for &next in graph.get(way[way.len() - 1]).into_iter().flatten() {
            if seen.insert(next) {
                let way = [&way[..], &[next]].concat();
                found.push(way.clone());
                waiting.push_back(way);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(walls: &[Wall], steps_max: usize) -> Vec<String> {
        let package = |name: &str| json!({"id": name, "name": name});
        let normal = |name: &str| json!({"pkg": name, "dep_kinds": [{"kind": null}]});
        let metadata = json!({
            "packages": (["a", "b", "c", "t"].map(package)),
            "resolve": {"nodes": [
                {"id": "a", "deps": [normal("b"), {"pkg": "t", "dep_kinds": [{"kind": "dev"}]}]},
                {"id": "b", "deps": [normal("c")]},
                {"id": "c", "deps": []},
                {"id": "t", "deps": [normal("c")]},
            ]},
        });
        let found = check(&graph(&metadata), walls, steps_max);
        found.iter().map(|problem| problem.what.clone()).collect()
    }

    #[test]
    fn the_way_through_a_wall_is_named() {
        assert_eq!(said(&[("a", &["c"])], usize::MAX), ["a must not reach c: a -> b -> c"]);
        assert_eq!(said(&[("b", &["*"])], usize::MAX), ["b must not reach c: b -> c"]);
        assert_eq!(said(&[("a", &["t"]), ("c", &["a", "b"])], usize::MAX), [""; 0]);
    }

    #[test]
    fn what_must_not_be_named_may_be_reached() {
        assert_eq!(said(&[("a", &["c"])], 1), [""; 0]);
        assert_eq!(said(&[("a", &["b"])], 1), ["a must not reach b: a -> b"]);
    }

    #[test]
    fn each_package_of_the_table_exists() {
        assert!(said(&[("x", &["c"])], 1)[0].starts_with("no package x: "));
    }
}
