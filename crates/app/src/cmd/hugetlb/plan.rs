//! `hugewise hugetlb plan`.

use super::input;
use crate::cli::{Global, HugetlbPlanArgs, pids};
use crate::cmd::diagnose::{self, OneHost};
use crate::exit::{self, coded};
use crate::output::{Output, paint};
use crate::render::view::hugetlb;
use hugewise_collect::hugetlb::{ProcessSelection, facts, users};
use hugewise_evidence::hugetlb::facts::Facts;
use hugewise_evidence::hugetlb::input::Inputs;
use hugewise_evidence::hugetlb::plan::{HugetlbPlan, plan, plan_again};
use hugewise_evidence::hugetlb::recorded;
use hugewise_linux::root::Root;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Runs the command.
pub(super) fn run(global: &Global, args: &HugetlbPlanArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let inputs = input::read(&root, &args.inputs)?;
    let facts = if args.files.is_empty() { live(&root, &inputs)? } else { recorded(&args.files)? };
    check_nodes(&facts, &inputs)?;
    let plan = plan(&facts, &inputs);
    let code = if plan.refusals().next().is_some() { exit::WARNING } else { exit::OK };
    if global.json {
        return Output::json(&to_json(&plan)?, code);
    }
    let options = command_line(&args.inputs);
    Ok(Output::text(hugetlb::plan::render(&facts, &plan, Some(&options), paint(global)), code))
}

/// The facts of the machine below `root`.
///
/// # Errors
/// A process or a user that was named and is not there.
pub(super) fn live(root: &Root, inputs: &Inputs) -> anyhow::Result<Facts> {
    let user = inputs.user.as_deref();
    if let Some(user) = user.filter(|user| users::exists(root, user) == Some(false)) {
        let message = format!("--user {user}: this machine has no such user");
        return Err(coded(exit::USAGE, message));
    }
    let pids = inputs.pids.clone();
    for pid in &pids {
        if !root.has(format!("proc/{pid}")) {
            return Err(coded(exit::ERROR, format!("--pid {pid}: there is no such process")));
        }
    }
    Ok(facts(root, &ProcessSelection { pids }))
}

/// A node that is not there would get no pages, and nobody else would get them either.
fn check_nodes(facts: &Facts, inputs: &Inputs) -> anyhow::Result<()> {
    let nodes = || facts.pools.iter().flat_map(|pool| &pool.nodes).map(|node| node.node);
    match inputs.nodes.iter().find(|wanted| !nodes().any(|node| node == **wanted)) {
        Some(missing) => {
            let all: BTreeSet<String> = nodes().map(|node| node.to_string()).collect();
            let all: Vec<String> = all.into_iter().collect();
            let known = if all.is_empty() { "none is known".into() } else { all.join(", ") };
            Err(coded(exit::USAGE, format!("--node {missing}: no such NUMA node here ({known})")))
        }
        None => Ok(()),
    }
}

/// The facts of a machine in recordings and pasted texts.
pub(super) fn recorded(files: &[PathBuf]) -> anyhow::Result<Facts> {
    let OneHost { host, name, .. } = diagnose::one_host(files)?;
    Ok(recorded::from_recording(&host, &name))
}

/// The options again, for the next command.
pub(super) fn command_line(args: &crate::cli::HugetlbInputs) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut add = |option: &str, value: &str| {
        words.push(format!(" {option} {}", quoted(value)));
    };
    args.sga.iter().for_each(|size| add("--sga", size));
    args.java.iter().for_each(|flags| add("--java", flags));
    args.postgres.iter().for_each(|dir| add("--postgres", &dir.display().to_string()));
    pids(&args.pid).iter().for_each(|pid| add("--pid", &pid.to_string()));
    if args.headroom != "0" {
        add("--headroom", &args.headroom);
    }
    args.processes.iter().for_each(|count| add("--processes", &count.to_string()));
    args.page_size.iter().for_each(|size| add("--page-size", size));
    args.node.iter().for_each(|node| add("--node", &node.to_string()));
    args.user.iter().for_each(|user| add("--user", user));
    args.unit.iter().for_each(|unit| add("--unit", unit));
    args.shm_group.iter().for_each(|group| add("--shm-group", &group.to_string()));
    args.leave.iter().for_each(|size| add("--leave", size));
    if args.shrink {
        words.push(" --shrink".to_owned());
    }
    words.concat()
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@:,=+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Plans for the machine below `root`; `again`: the same was applied before.
pub(super) fn of_machine(
    root: &Root,
    inputs: &Inputs,
    again: bool,
) -> anyhow::Result<(Facts, HugetlbPlan)> {
    let facts = live(root, inputs)?;
    check_nodes(&facts, inputs)?;
    let plan = if again { plan_again(&facts, inputs) } else { plan(&facts, inputs) };
    Ok((facts, plan))
}

/// A plan as JSON, its warnings in words, too.
pub(super) fn to_json(plan: &HugetlbPlan) -> anyhow::Result<serde_json::Value> {
    let mut json = serde_json::to_value(plan)?;
    let warnings = json["warnings"].as_array_mut().into_iter().flatten();
    for (shown, warning) in warnings.zip(&plan.warnings) {
        let (means, remedy) = warning.kind.text();
        shown["means"] = means.into();
        shown["remedy"] = remedy.into();
    }
    Ok(json)
}
