//! The schemas of `docs/reference/schemas`, for whoever has an output at hand.

use boon::{Compiler, Schemas};
use serde_json::Value;

macro_rules! schemas {
    ($($name:literal)*) => {
        /// Each with its text: a part of the program, as a guest has no files.
        pub(crate) const SCHEMAS: &[(&str, &str)] = &[$((
            $name,
            include_str!(concat!("../../../../docs/reference/schemas/", $name, ".json")),
        ),)*];
    };
}

schemas! {
    "advise" "advise-apply" "advise-lint" "advise-list" "advise-place" "advise-run" "advise-verify"
    "bill" "config-check" "config-show" "diagnose" "diagnose-fleet" "diagnose-follow"
    "diagnose-freezes" "doctor"
    "hugetlb-apply" "hugetlb-plan" "hugetlb-revert" "hugetlb-verify" "investigate"
    "investigate-plan" "investigate-setup" "journal"
    "lab-compare" "lab-regret" "lab-signatures" "lab-simulate"
    "lab-kind" "lab-list" "lab-report" "lab-setup" "lab-stages"
    "limit" "manage" "map" "metrics" "pause"
    "placement"
    "record" "replay" "response" "revert"
    "rules" "serve" "status" "thp-revert" "thp-set" "thp-show" "try"
}

/// What a command with `--json` prints, the longer name before the shorter one.
pub(crate) const COMMANDS: [(&str, &str); 56] = [
    ("doctor", "doctor"),
    ("try", "try"),
    ("status --map", "map"),
    ("advise --estimate", "bill"),
    ("status", "status"),
    ("advise list", "advise-list"),
    ("advise show", "advise-list"),
    ("advise lint", "advise-lint"),
    ("advise apply", "advise-apply"),
    ("advise verify", "advise-verify"),
    ("advise revert", "thp-revert"),
    ("advise run", "advise-run"),
    ("advise place", "advise-place"),
    ("advise", "advise"),
    ("manage pause", "pause"),
    ("manage resume", "pause"),
    ("manage", "manage"),
    ("revert", "revert"),
    ("manage replay", "replay"),
    ("diagnose --explain", "rules"),
    ("diagnose --rules", "rules"),
    ("diagnose --fleet", "diagnose-fleet"),
    ("diagnose --follow", "diagnose-follow"),
    ("diagnose --freezes", "diagnose-freezes"),
    ("diagnose", "diagnose"),
    ("response", "response"),
    ("hugetlb plan", "hugetlb-plan"),
    ("hugetlb apply", "hugetlb-apply"),
    ("hugetlb verify", "hugetlb-verify"),
    ("hugetlb revert", "hugetlb-revert"),
    ("thp show", "thp-show"),
    ("thp set", "thp-set"),
    ("thp revert", "thp-revert"),
    ("lab list KIND", "lab-kind"),
    ("lab list", "lab-list"),
    ("lab setup", "lab-setup"),
    ("lab setup no-regret", "lab-regret"),
    ("lab run --dry-run", "lab-setup"),
    ("lab run no-regret", "lab-regret"),
    ("lab run", "lab-report"),
    ("lab report", "lab-report"),
    ("lab compare", "lab-compare"),
    ("lab signatures", "lab-signatures"),
    ("lab limit", "limit"),
    ("lab stages", "lab-stages"),
    ("lab simulate", "lab-simulate"),
    ("investigate plan", "investigate-plan"),
    ("investigate run --dry-run", "investigate-setup"),
    ("investigate run", "investigate"),
    ("investigate report", "investigate"),
    ("record", "record"),
    ("serve --once", "metrics"),
    ("serve", "serve"),
    ("manage config show", "config-show"),
    ("manage config check", "config-check"),
    ("manage journal", "journal"),
];

/// A schema as a value.
pub(crate) fn schema(name: &str) -> Value {
    let found = SCHEMAS.iter().find(|(known, _)| *known == name);
    let (_, text) = found.unwrap_or_else(|| panic!("there is no schema '{name}'"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("schema '{name}': {error}"))
}

/// Whether an output is as its schema says; the schema itself is checked, too.
///
/// # Errors
/// What is not.
pub(crate) fn fits(name: &str, output: &Value) -> Result<(), String> {
    all_fit(name, std::slice::from_ref(output))
}

/// The same of several.
///
/// # Errors
/// What is not, of the first that does not fit.
pub(crate) fn all_fit(name: &str, outputs: &[Value]) -> Result<(), String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let place = format!("schema:/{name}.json");
    // One may refer to another.
    for (known, _) in SCHEMAS {
        let added = compiler.add_resource(&format!("schema:/{known}.json"), schema(known));
        added.map_err(|error| format!("schema '{known}': {error:#}"))?;
    }
    let compiled = compiler.compile(&place, &mut schemas);
    let compiled = compiled.map_err(|error| format!("schema '{name}': {error:#}"))?;
    outputs.iter().try_for_each(|output| {
        let valid = schemas.validate(output, compiled);
        valid.map_err(|error| format!("not as '{name}' says: {error:#}"))
    })
}

/// The schema of what these arguments make the program print; `None`: no JSON, or none that is
/// known.
pub(crate) fn of_arguments(arguments: &[String]) -> Option<&'static str> {
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    if !has("--json") {
        return None;
    }
    let all = |words: &str| words.split(' ').all(has);
    let modes = ["status --map", "advise --estimate", "serve --once", "diagnose --rules"];
    if let Some(mode) = modes.into_iter().find(|mode| all(mode)) {
        return COMMANDS.iter().find(|(words, _)| *words == mode).map(|(_, schema)| *schema);
    }
    let begins = |words: &str| words.split(' ').all(|word| word.starts_with('-') || has(word));
    // Whether a question is explained beside a diagnosis, and what follows 'list', is not seen
    // from here: these have tests of their own.
    let plain = COMMANDS.iter().filter(|(words, _)| !words.contains(" --"));
    let found = plain.filter(|(words, _)| begins(words)).max_by_key(|(words, _)| words.len());
    let unclear = has("--explain")
        || has("--fleet")
        || has("--follow")
        || has("--freezes")
        || has("--dry-run") && has("run")
        || (has("lab") && has("list"));
    found.map(|(_, schema)| *schema).filter(|_| !unclear)
}
