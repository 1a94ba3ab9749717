//! What is wrong with the load of an experiment.

use crate::kinds::Params;
use crate::load::{LoadSpec, Tool, gatling};
use crate::spec::{Experiment, HugePages, Variant};

/// What the load of Redis says, and its workload therefore must not.
const OF_REDIS: [&str; 3] = ["keys", "value_bytes", "set_percent"];

/// Looks at the load, and whether the workload takes one; `params` are those of the variants.
pub(super) fn look(
    experiment: &Experiment,
    kind: &str,
    params: &[Params],
    faults: &mut Vec<String>,
) {
    let takes = params.iter().any(Params::takes_load);
    let quick = experiment.quick.load_steps.as_ref();
    match &experiment.load {
        None if takes => faults.push(format!(
            "the workload '{kind}' needs a load: a table [load] with steps, as \
             steps = [\"constant 1000/s for 10 s\"], or with the command of a load tool"
        )),
        None if quick.is_some() => {
            faults.push("[quick] has load_steps, and there is no [load]".into());
        }
        // Without parameters there is another fault, which explains it.
        Some(_) if !takes && !params.is_empty() => {
            let hint = if kind == "redis" { " unless its scenario is 'load'" } else { "" };
            faults.push(format!("[load]: the workload '{kind}' takes no load{hint}"));
        }
        Some(load) => {
            of_spec(load, kind, "[load]", faults);
            if let Some(steps) = quick {
                let load = LoadSpec { steps: steps.clone(), ..load.clone() };
                of_spec(&load, kind, "[quick] load_steps", faults);
            }
        }
        None => {}
    }
    if takes {
        of_workload(experiment, kind, faults);
    }
}

/// A load with a target such as this kind of workload will be, to look at before there is one.
pub fn aimed(load: &LoadSpec, kind: &str) -> LoadSpec {
    let target = if kind == "redis" { "redis://127.0.0.1" } else { "http://127.0.0.1/" };
    // Every key of Redis is set before anything is measured, whatever the load says.
    LoadSpec { target: target.into(), preload: false, ..load.clone() }
}

fn of_spec(load: &LoadSpec, kind: &str, place: &str, faults: &mut Vec<String>) {
    if !load.target.is_empty() {
        faults.push(format!("{place}: the workload knows its target: leave 'target' out"));
    }
    let spec = aimed(load, kind);
    if spec.seed != LoadSpec::new("", &[]).seed {
        faults.push(format!("{place}: each repetition has a seed of its own: leave 'seed' out"));
    }
    let told = match (LoadSpec { preload: load.preload, ..spec.clone() }).check() {
        Err(error) => Some(error.to_string()),
        Ok(_) if spec.sender() == Tool::Gatling => {
            gatling::project(&spec).err().map(|error| error.to_string())
        }
        Ok(_) => None,
    };
    faults.extend(told.map(|error| format!("{place}: {error}")));
}

fn of_workload(experiment: &Experiment, kind: &str, faults: &mut Vec<String>) {
    let workload = &experiment.workload.params;
    let variants = experiment.variants.iter();
    let given = |name: &str| {
        workload.contains_key(name) || variants.clone().any(|v| v.workload.contains_key(name))
    };
    for name in OF_REDIS.into_iter().filter(|name| kind == "redis" && given(name)) {
        faults.push(format!("'{name}' of a Redis under load belongs into [load]"));
    }
    // Such a server was started by somebody else, and nothing of a variant reaches it.
    let reaches = |variant: &Variant| {
        variant.huge_pages != HugePages::Inherit
            || variant.manage.is_some()
            || !variant.env.is_empty()
    };
    if kind == "http" && given("url") {
        for variant in experiment.variants.iter().filter(|variant| reaches(variant)) {
            faults.push(format!(
                "variant '{}': huge_pages, manage and env need a server that the experiment \
                 starts: 'program' instead of 'url'",
                variant.name
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::check;
    use crate::spec::Experiment;

    const REDIS: &str = r#"{
        "name": "sample",
        "question": "Does it matter?",
        "workload": { "kind": "redis", "scenario": "load" },
        "load": { "steps": ["constant 1000/s for 10 s"], "keys": 500 },
        "variant": [{ "name": "tcp", "workload": { "socket": "tcp" } }, { "name": "unix" }],
        "quick": { "load_steps": ["constant 10/s for 1 s"] }
    }"#;

    fn faults(from: &str, to: &str) -> String {
        assert!(REDIS.contains(from), "{from}");
        let experiment: Experiment =
            serde_json::from_str(&REDIS.replace(from, to)).expect("well-formed");
        check(experiment, false).map_or_else(|faults| faults.join("\n"), |_| "none".into())
    }

    fn has(from: &str, to: &str, wanted: &str) {
        let said = faults(from, to);
        assert!(said.contains(wanted), "'{wanted}' in: {said}");
    }

    #[test]
    fn quick_has_steps_of_its_own() {
        let experiment: Experiment = serde_json::from_str(REDIS).expect("well-formed");
        let steps = |quick| {
            let checked = check(experiment.clone(), quick).expect("no fault");
            checked.experiment.load.map(|load| (load.steps, load.keys))
        };
        assert_eq!(steps(false), Some((vec!["constant 1000/s for 10 s".into()], 500)));
        assert_eq!(steps(true), Some((vec!["constant 10/s for 1 s".into()], 500)));
    }

    #[test]
    fn a_load_and_its_workload_belong_together() {
        has("\"load\" }", "\"serve\" }", "takes no load unless its scenario is 'load'");
        has(
            "\"load\" }",
            "\"load\", \"keys\": 5000 }",
            "'keys' of a Redis under load belongs into",
        );
        let spec = r#""load": { "steps": ["constant 1000/s for 10 s"], "keys": 500 },"#;
        has(spec, "", "the workload 'redis' needs a load");
        let gups = r#""kind": "gups", "mib": 8"#;
        has(r#""kind": "redis", "scenario": "load""#, gups, "'gups' takes no load");
        let serve = REDIS.replace(spec, "").replace("\"load\" }", "\"serve\" }");
        let serve: Experiment = serde_json::from_str(&serve).expect("well-formed");
        let said = check(serve, false).expect_err("steps for no load").join("\n");
        assert!(said.contains("[quick] has load_steps"), "{said}");
    }

    #[test]
    fn faults_of_a_load_are_told_with_the_others() {
        has("10 s\"]", "10 yards\"]", "[load]: step 1, 'constant 1000/s for 10 yards'");
        has("for 1 s", "for ever", "[quick] load_steps: step 1, 'constant 10/s for ever'");
        has("\"keys\": 500", "\"keys\": 0", "[load]: keys = 0: allowed are");
        has("\"keys\": 500", "\"seed\": 7", "[load]: each repetition has a seed of its own");
        has("\"keys\": 500", "\"target\": \"redis://localhost\"", "leave 'target' out");
        has("\"keys\": 500", "\"tool\": \"gatling\"", "speaks HTTP only");
        has("\"keys\": 500", "\"command\": [\"k6\"]", "'steps' and 'command' exclude each other");
    }

    #[test]
    fn nothing_of_a_variant_reaches_a_server_that_runs_already() {
        let text = REDIS
            .replace("\"redis\", \"scenario\": \"load\"", "\"http\", \"url\": \"http://[::1]:80/\"")
            .replace(", \"workload\": { \"socket\": \"tcp\" }", ", \"huge_pages\": \"never\"");
        let experiment = serde_json::from_str(&text).expect("well-formed");
        let said = check(experiment, false).expect_err("a fault").join("\n");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("variant 'tcp': huge_pages, manage and env need"), "{said}");
    }
}
