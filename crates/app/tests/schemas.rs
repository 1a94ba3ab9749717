//! What commands print with `--json` is what `docs/reference/schemas` says. Nothing is changed
//! here, and no right is needed; outputs of real changes are looked at by the live tests.

#[path = "schemas/check.rs"]
mod check;
#[path = "live/http.rs"]
mod http;
#[path = "schemas/outputs.rs"]
mod outputs;
#[path = "schemas/values.rs"]
mod values;

use check::{COMMANDS, SCHEMAS, fits, of_arguments, schema};
use hugewise_evidence::diagnose::Cause;
use hugewise_evidence::hugetlb::warning::WarningKind;
use hugewise_evidence::recording::{Field, SourceKind};
use hugewise_manager::reason::SkipReason;
use outputs::Outputs;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Made once for all tests.
static OUTPUTS: LazyLock<Outputs> = LazyLock::new(|| {
    let mut all = Outputs::default();
    outputs::looked(&mut all);
    outputs::managed(&mut all);
    outputs::served(&mut all);
    outputs::investigated(&mut all);
    outputs::read(&mut all);
    outputs::planned(&mut all);
    outputs::advised(&mut all);
    outputs::measured(&mut all);
    values::all(&mut all);
    all
});

fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

#[test]
fn every_output_is_as_its_schema_says() {
    let wrong = OUTPUTS.iter().filter_map(|(name, output)| fits(name, output).err());
    let wrong: BTreeSet<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_schema_is_used() {
    let entries = std::fs::read_dir(reference().join("schemas")).expect("schemas");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.expect("readable").file_name().to_string_lossy().into_owned();
        name.strip_suffix(".json").unwrap_or_else(|| panic!("{name} is no schema")).to_owned()
    };
    let files: BTreeSet<String> = entries.map(name).collect();
    let known: BTreeSet<String> = SCHEMAS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(files, known, "SCHEMAS lists the files");
    let used: BTreeSet<String> = OUTPUTS.iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(files, used, "each schema has an output that is compared with it");
}

/// An object with one member more.
fn with_another(object: &Map<String, Value>) -> Value {
    let mut more = object.clone();
    more.insert("nobody_knows_this".into(), Value::Bool(true));
    Value::Object(more)
}

#[test]
fn what_a_schema_does_not_know_or_misses_is_refused() {
    let mut seen = BTreeSet::new();
    for (name, output) in OUTPUTS.iter().filter(|(name, _)| seen.insert(name.to_owned())) {
        let object = output.as_object().expect("an object");
        assert!(fits(name, &with_another(object)).is_err(), "'{name}' takes an unknown member");
        let missing = |key: &&String| {
            let mut less = object.clone();
            less.remove(*key);
            fits(name, &Value::Object(less)).is_ok()
        };
        let optional: Vec<&String> = object.keys().filter(missing).collect();
        let may_be_left_out: &[&str] = if name == "revert" { &["hugetlb", "undone"] } else { &[] };
        assert!(
            optional.iter().all(|key| may_be_left_out.contains(&key.as_str())),
            "'{name}' goes without {optional:?}"
        );
        let mut other = object.clone();
        if other.get("schema").is_some() {
            other.insert("schema".into(), Value::from(99));
            assert!(fits(name, &Value::Object(other)).is_err(), "'{name}' takes any version");
        }
    }
}

#[test]
fn what_stands_deep_inside_is_looked_at_too() {
    let mut status = OUTPUTS.iter().find(|(name, _)| *name == "status").expect("one").1.clone();
    let inside = |status: &mut Value| {
        let object = status["machine"].as_object_mut().expect("an object");
        object.insert("nobody_knows_this".into(), Value::Null);
    };
    fits("status", &status).expect("as it was printed");
    inside(&mut status);
    fits("status", &status).expect_err("an unknown member of an inner object");
}

/// Objects that a schema describes, with the path to each.
fn described(path: &str, schema: &Value, found: &mut Vec<(String, Value)>) {
    if let Some(members) = schema.as_object() {
        if members.get("properties").is_some_and(Value::is_object) {
            found.push((path.to_owned(), schema.clone()));
        }
        members.iter().for_each(|(key, inner)| described(&format!("{path}/{key}"), inner, found));
    }
    let items = schema.as_array().into_iter().flatten().enumerate();
    items.for_each(|(index, inner)| described(&format!("{path}/{index}"), inner, found));
}

#[test]
fn every_member_is_explained() {
    for (name, _) in SCHEMAS {
        let mut objects = Vec::new();
        described(name, &schema(name), &mut objects);
        assert!(!objects.is_empty(), "{name}");
        for (path, object) in objects {
            for (key, member) in object["properties"].as_object().expect("an object") {
                // The name of a variant is explained where the variant is.
                let text = member["description"].as_str().unwrap_or_default();
                let tag = member.get("const").is_some() && object["description"].is_string();
                assert!(tag || text.len() > 3, "{path}: '{key}' has no description");
            }
        }
    }
}

/// Columns of a line of a schema.
const COLUMNS_MAX: usize = 98;

/// A list as it stands in a schema, indented so far.
fn lines(keys: &BTreeSet<&str>, indent: usize) -> String {
    let (mut text, mut line) = ("[\n".to_owned(), " ".repeat(indent + 2));
    for (place, key) in keys.iter().enumerate() {
        let comma = if place + 1 < keys.len() { "," } else { "" };
        let word = format!("\"{key}\"{comma} ");
        if line.len() + word.len() > COLUMNS_MAX + 1 {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(indent + 2);
        }
        line.push_str(&word);
    }
    format!("{text}{}\n{}]", line.trim_end(), " ".repeat(indent))
}

/// Writes a list of a schema anew.
fn fill(name: &str, list: &Value, keys: &BTreeSet<&str>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../docs/reference/schemas").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).expect("the schema");
    let starts = text.match_indices("\"enum\": [").map(|(at, mark)| at + mark.len() - 1);
    let mut spans = starts.filter_map(|at| Some((at, at + text[at..].find(']')? + 1)));
    let same = |(from, to): &(usize, usize)| {
        serde_json::from_str::<Value>(&text[*from..*to]).is_ok_and(|found| found == *list)
    };
    let (from, to) = spans.find(same).expect("the list stands there");
    let before = &text[text[..from].rfind('\n').map_or(0, |at| at + 1)..from];
    let indent = before.len() - before.trim_start().len();
    let filled = format!("{}{}{}", &text[..from], lines(keys, indent), &text[to..]);
    std::fs::write(&path, filled).expect("writable");
}

/// Each list of this name in any schema holds these keys; `HUGEWISE_UPDATE_GOLDEN=1` fills it.
fn closed<'a>(find: impl Fn(&Value) -> Vec<Value>, keys: impl Iterator<Item = &'a str>) {
    let keys: BTreeSet<&str> = keys.collect();
    let mut lists = 0;
    for (name, _) in SCHEMAS {
        for list in find(&schema(name)) {
            let words = list.as_array().into_iter().flatten().filter_map(Value::as_str);
            let words: BTreeSet<&str> = words.collect();
            if words != keys && std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some() {
                fill(name, &list, &keys);
            } else {
                assert_eq!(words, keys, "{name}: HUGEWISE_UPDATE_GOLDEN=1 renews it");
            }
            lists += 1;
        }
    }
    assert!(lists > 0, "no schema lists {keys:?}");
}

#[test]
fn closed_sets_are_whole() {
    let listed = |name: &'static str| {
        move |schema: &Value| -> Vec<Value> {
            schema["$defs"].get(name).map(|set| set["enum"].clone()).into_iter().collect()
        }
    };
    let pointed = |path: &'static str| {
        move |schema: &Value| -> Vec<Value> { schema.pointer(path).cloned().into_iter().collect() }
    };
    closed(listed("SkipReason"), SkipReason::ALL.iter().map(|reason| reason.key()));
    closed(listed("WarningKind"), WarningKind::ALL.iter().map(|kind| kind.key()));
    closed(listed("Cause"), Cause::ALL.iter().map(|cause| cause.about().key));
    let fields = Field::ALL.iter().map(|field| field.about().key);
    closed(pointed("/$defs/Evidence/properties/field/enum"), fields);
    let kinds = SourceKind::ALL.iter().map(|kind| kind.label());
    closed(pointed("/$defs/Source/properties/kind/enum"), kinds);
}

#[test]
fn live_tests_know_what_they_asked_for() {
    for (arguments, name) in [
        ("status --json --pid 7", Some("status")),
        ("--json hugetlb revert --dry-run", Some("hugetlb-revert")),
        ("revert --all --json", Some("revert")),
        ("status --map 7 --json", Some("map")),
        ("serve --json --once", Some("metrics")),
        ("lab run x.toml --noisy --json", Some("lab-report")),
        ("lab list gups --json", None),
        ("diagnose --explain kernel --json", None),
        ("status", None),
    ] {
        let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        assert_eq!(of_arguments(&words), name, "{arguments}");
    }
}

/// Commands that the help of the program, or of one of its commands, lists.
fn listed(of: &[&str]) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    let done = command.args(of).arg("--help").output().expect("the program runs");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    // Those of the program stand in groups, before its options.
    let list = match of.is_empty() {
        true => text.split("Options:\n").next(),
        false => text.split("Commands:\n").nth(1).and_then(|list| list.split("\n\n").next()),
    };
    let lines = list.unwrap_or_default().lines();
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

/// Commands below these words that have no commands of their own.
fn leaves(of: &[&str]) -> Vec<String> {
    let parts = listed(of);
    if parts.is_empty() {
        return vec![of.join(" ")];
    }
    let mut all = Vec::new();
    for part in &parts {
        all.extend(leaves(&[of, &[part.as_str()]].concat()));
    }
    all
}

#[test]
fn the_page_names_the_schema_of_every_command() {
    let page =
        std::fs::read_to_string(reference().join("json.md")).expect("docs/reference/json.md");
    for (words, name) in COMMANDS {
        let row = format!("| `{words}` | [{name}](schemas/{name}.json) |");
        assert!(page.lines().any(|line| line == row), "docs/reference/json.md lacks: {row}");
    }
    let rows = page.lines().filter(|line| line.contains("](schemas/")).count();
    assert_eq!(rows, COMMANDS.len() + 1, "one row a command, and one for the comparison of hosts");
    let mut all = 0;
    // What 'lab workload' runs talks to its parent, 'top' draws on a terminal: neither has a form.
    let formless = ["lab workload", "top"];
    for name in leaves(&[]).into_iter().filter(|name| !formless.contains(&&name[..])) {
        assert!(COMMANDS.iter().any(|(words, _)| *words == name), "'{name}' has no schema");
        all += 1;
    }
    assert!(all >= 20, "only {all} commands found: the reading is broken");
}
