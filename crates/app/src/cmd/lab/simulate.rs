//! `hugewise lab simulate`: policies beside each other, on one simulated machine of each kind.

use crate::cli::{Global, LabSimulateArgs};
use crate::exit;
use crate::output::{Output, paint};
use crate::render::view::simulate::{self, Contest, Entry};
use hugewise_manager::access::Tracker;
use hugewise_manager::config::PolicyKind;
use hugewise_manager::sim::baseline::Kernel;
use hugewise_manager::sim::contest::{Decider, Knowledge, run as course};
use hugewise_manager::sim::scenario::Scenario;

/// Who takes part: the policy, what it knows of the use of memory, and both for the simulator.
const ENTRIES: [(&str, Option<&str>, Decider, Knowledge); 9] = [
    ("linux-always", None, Decider::Kernel(Kernel::LinuxAlways), Knowledge::Nothing),
    ("khugepaged", None, Decider::Kernel(Kernel::Khugepaged), Knowledge::Nothing),
    ("freebsd", None, Decider::Kernel(Kernel::FreeBsd), Knowledge::Nothing),
    ("hawkeye", Some("DAMON"), Decider::HawkEye, Knowledge::By(Tracker::Damon)),
    ("paper", None, Decider::Ours(PolicyKind::Paper), Knowledge::Nothing),
    ("utilization", None, Decider::Ours(PolicyKind::Utilization), Knowledge::Nothing),
    ("worth", None, Decider::Ours(PolicyKind::Worth), Knowledge::Nothing),
    ("worth", Some("DAMON"), Decider::Ours(PolicyKind::Worth), Knowledge::By(Tracker::Damon)),
    ("worth", Some("hints"), Decider::Ours(PolicyKind::Worth), Knowledge::Hints),
];

/// Names of scenarios, in the order of [`Scenario::ALL`].
const SCENARIOS: [&str; 6] = ["hot-tail", "sparse", "deleted", "scarce", "uniform", "skewed"];

/// Runs the command.
pub(super) fn run(global: &Global, args: &LabSimulateArgs) -> anyhow::Result<Output> {
    known("--policy", &args.policy, ENTRIES.iter().map(|(policy, ..)| *policy))?;
    known("--scenario", &args.scenario, SCENARIOS.into_iter())?;
    let is_wanted = |wanted: &[String], name: &str| {
        wanted.is_empty() || wanted.iter().any(|wanted| wanted == name)
    };
    let mut contests = Vec::new();
    for (name, scenario) in SCENARIOS.into_iter().zip(Scenario::ALL) {
        if !is_wanted(&args.scenario, name) {
            continue;
        }
        let mut entries = Vec::new();
        for (policy, knows, decider, knowledge) in ENTRIES {
            if is_wanted(&args.policy, policy) {
                let course = course(scenario, decider, knowledge, args.seed);
                entries.push(Entry::of(policy, knows, &course));
            }
        }
        contests.push(Contest { scenario: name, entries });
    }
    match global.json {
        true => Output::pretty_json(&simulate::json(args.seed, &contests), exit::OK),
        false => Ok(Output::text(simulate::text(args.seed, &contests, paint(global)), exit::OK)),
    }
}

/// Refuses a name that is none of these.
fn known(
    option: &str,
    wanted: &[String],
    names: impl Iterator<Item = &'static str>,
) -> anyhow::Result<()> {
    let mut names: Vec<_> = names.collect();
    names.dedup();
    match wanted.iter().find(|wanted| !names.contains(&wanted.as_str())) {
        Some(unknown) => {
            let why = format!("{option} {unknown}: there are {}", names.join(", "));
            Err(exit::coded(exit::USAGE, why))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Color;

    fn simulated(args: &LabSimulateArgs) -> anyhow::Result<Output> {
        run(&Global { json: true, color: Color::Never, root: "/".into() }, args)
    }

    #[test]
    fn a_seed_gives_one_table_and_unknown_names_are_refused() {
        let wanted = |policy: &str, scenario: &str| LabSimulateArgs {
            policy: vec![policy.into()],
            scenario: vec![scenario.into()],
            seed: 3,
        };
        let once = || format!("{:?}", simulated(&wanted("worth", "scarce")).expect("a table"));
        let text = once();
        assert_eq!(text, once());
        assert_eq!(text.matches("gain_percent").count(), 3, "{text}");
        for (policy, scenario) in [("best", "scarce"), ("worth", "sparce")] {
            let error = simulated(&wanted(policy, scenario)).expect_err("unknown");
            assert_eq!(exit::of_error(&error), exit::USAGE, "{error:#}");
        }
    }
}
