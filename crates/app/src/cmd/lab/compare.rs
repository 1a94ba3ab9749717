//! `hugewise lab compare`.

use super::report;
use super::results::Results;
use crate::cli::{Global, LabCompareArgs};
use crate::exit;
use crate::output::{Output, paint};
use crate::render::text::wrap;
use crate::render::view::lab::render;
use hugewise_base::escape::printable;
use hugewise_experiment::across::{Across, Side, across, environments};
use serde_json::{Map, json};

/// What no statistics can take away.
const NOT_INTERLEAVED: &str = "These runs were not interleaved: whatever else changed on the \
                               machine between the two counts as a difference, too.";

/// Runs the command.
pub(super) fn run(global: &Global, args: &LabCompareArgs) -> anyhow::Result<Output> {
    let (before, after) = (Results::read(&args.before)?, Results::read(&args.after)?);
    if before.checked.experiment.workload.kind != after.checked.experiment.workload.kind {
        anyhow::bail!(
            "{} ran '{}' and {} ran '{}': only runs of one experiment can be compared",
            args.before.display(),
            before.checked.experiment.workload.kind,
            args.after.display(),
            after.checked.experiment.workload.kind
        );
    }
    let codes = [&before, &after].map(|results| report::code(results, &results.summary()));
    let code = if codes == [exit::OK; 2] { exit::OK } else { exit::PARTIAL };
    let all = across(side(&before), side(&after));
    if all.is_empty() {
        anyhow::bail!("the two have no variant in common");
    }
    let machine = environments(&before.plan.environment, &after.plan.environment);
    let other = before.plan.text != after.plan.text || before.plan.quick != after.plan.quick;
    if global.json {
        let variants = all.iter().map(|one| Ok((one.variant.clone(), as_json(one)?)));
        let variants: Map<_, _> = variants.collect::<anyhow::Result<_>>()?;
        let json = json!({
            "schema": 1, "interleaved": false, "same_experiment": !other, "machine": machine,
            "variants": variants,
        });
        return Output::json(&json, code);
    }
    let paint = paint(global);
    let mut out: String =
        wrap("WARNING: ", NOT_INTERLEAVED).lines().map(|line| paint.bad(line) + "\n").collect();
    if other {
        out += &wrap(
            "WARNING: ",
            "The experiments' files differ: they did not measure the same thing.",
        );
    }
    for (key, before, after) in machine {
        out += &wrap("Machine: ", &printable(&format!("{key}: {before} -> {after}")));
    }
    for one in &all {
        out += &format!("\n{}\n{}", paint.bold(&one.variant), render(&one.summary, paint));
    }
    Ok(Output::text(out, code))
}

fn side(results: &Results) -> Side<'_> {
    Side { checked: &results.checked, plan: &results.plan, records: &results.records }
}

fn as_json(one: &Across) -> anyhow::Result<serde_json::Value> {
    Ok(serde_json::to_value(&one.summary)?)
}
