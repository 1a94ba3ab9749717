//! What to do next: a problem, and the command that removes it. Pure.

use super::source::Source;
use hugewise_linux::probe::{Features, Need, State, Tier};
use hugewise_manager::snapshot::ThpMode;
use serde::Serialize;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Advice {
    /// What is wrong, or that nothing is.
    pub(crate) problem: String,
    /// What helps, in words.
    pub(crate) remedy: String,
    /// Commands to type, if any.
    pub(crate) commands: Vec<String>,
}

impl Advice {
    fn new(problem: impl Into<String>, remedy: impl Into<String>, commands: &[&str]) -> Self {
        let commands = commands.iter().map(|&command| command.to_owned()).collect();
        Self { problem: problem.into(), remedy: remedy.into(), commands }
    }
}

/// Whether something that `manage` needs is missing, or could not be shown to be there.
pub(crate) fn something_is_missing(features: &Features) -> bool {
    let required = |need| need == Need::Required;
    features.verdict.tier.is_none_or(|tier| tier == Tier::D)
        || features.mechanisms.iter().any(|m| required(m.need) && m.state != State::Present)
        || features.privileges.caps.iter().any(|c| required(c.need) && c.held != Some(true))
        || features.privileges.initial_userns != Some(true)
}

/// What to do, most important first; never empty.
pub(crate) fn for_features(features: &Features, source: Source<'_>) -> Vec<Advice> {
    let mut all = Vec::new();
    if let Source::Tree(_) = source {
        all.push(Advice::new(
            "This tree was only read: nothing could be proven.",
            "Run it on the machine itself:",
            &["sudo hugewise doctor"],
        ));
        return all;
    }
    let state = |key| features.mechanism(key).map(|m| &m.state);
    if let Some(State::Absent(why)) = state("contents_unchanged") {
        all.push(Advice::new(
            why.clone(),
            "Do not run 'hugewise manage' on this kernel. Please report this together with:",
            &["hugewise doctor --json"],
        ));
    }
    privileges(features, &mut all);
    kernel(features, &mut all);
    settings(features, &mut all);
    if all.is_empty() {
        all.extend(TRY_AGAIN.iter().find_map(|(key, problem)| match state(key) {
            Some(State::Unknown(why)) => {
                let problem = format!("{problem}: {why}.");
                Some(Advice::new(problem, "Try again:", &["hugewise doctor"]))
            }
            _ => None,
        }));
    }
    if all.is_empty() {
        let (problem, remedy) = if something_is_missing(features) {
            ("Something that 'manage' needs is missing: see 'why' in the list.", "Meanwhile:")
        } else {
            ("Nothing is missing.", "See what it would do, then let it:")
        };
        let observe = "hugewise manage --mode observe --for 60s";
        all.push(Advice::new(problem, remedy, &["hugewise status", observe]));
    }
    all
}

/// What may be different a moment later.
const TRY_AGAIN: [(&str, &str); 3] = [
    ("remote_collapse", "Promotion was not proven"),
    ("contents_unchanged", "The probe did not finish"),
    ("pagemap_exclusive_bit", "Sharing could not be examined"),
];

fn privileges(features: &Features, all: &mut Vec<Advice>) {
    let privileges = &features.privileges;
    if privileges.initial_userns == Some(false) {
        all.push(Advice::new(
            "This runs in a user namespace of its own (a rootless container): the kernel accepts \
             advice about other processes from the initial one only.",
            "Run hugewise on the host, as root.",
            &[],
        ));
        return;
    }
    let missing = privileges.missing();
    if !missing.is_empty() {
        let names = missing.join(", ");
        let flags: String =
            missing.iter().map(|name| name.replace("CAP_", " --cap-add=")).collect();
        let docker = format!("docker run --pid=host{flags} ...");
        let (remedy, commands): (&str, &[&str]) =
            if features.container.is_some() && privileges.uid == Some(0) {
                ("Run it on the host, or give the container what is missing:", &[&docker])
            } else {
                ("Run it as root:", &["sudo hugewise doctor"])
            };
        all.push(Advice::new(format!("Missing: {names}."), remedy, commands));
    } else if let Some(State::Refused(why)) =
        features.mechanism("process_madvise").map(|m| &m.state)
    {
        all.push(Advice::new(
            format!("The call that promotes is refused: {why}."),
            "A seccomp profile forbids process_madvise: allow it, or run on the host.",
            &[],
        ));
    }
}

fn kernel(features: &Features, all: &mut Vec<Advice>) {
    if let Some(State::Absent(why)) = features.mechanism("thp").map(|m| &m.state) {
        let remedy = "Nothing here can help; a kernel with CONFIG_TRANSPARENT_HUGEPAGE=y can.";
        all.push(Advice::new(format!("{why}."), remedy, &[]));
    } else if features.verdict.tier == Some(Tier::D) {
        all.push(Advice::new(
            "This kernel cannot promote from outside a process.",
            "Linux 6.1 or later can (6.12 or later is best). Until then khugepaged promotes, and \
             hugewise stops it while memory is short and takes waste back; or it only reports:",
            &["sudo hugewise manage --mode guard", "hugewise status"],
        ));
    }
    if features.thp_mode == Some(ThpMode::Never) {
        all.push(Advice::new(
            "transparent_hugepage is set to 'never': 'manage' takes that as the operator's word \
             and does not promote.",
            "To let hugewise work, either of these:",
            &[
                "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
                "hugewise manage --set promote.allow_under_never=true",
            ],
        ));
    }
}

fn settings(features: &Features, all: &mut Vec<Advice>) {
    let Some(mechanism) = features.mechanism("settings_writable") else { return };
    let (State::Refused(why), false) = (&mechanism.state, features.thp_mode.is_none()) else {
        return;
    };
    if features.privileges.uid == Some(0) {
        all.push(Advice::new(
            format!("THP settings cannot be changed: {why}."),
            "Leave them to the host (best as 'madvise' there), and:",
            &["hugewise manage --keep-settings"],
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{features, with};
    use super::*;

    fn commands(features: &Features) -> String {
        let all = for_features(features, Source::Live);
        all.iter().flat_map(|advice| advice.commands.clone()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_complete_machine_is_not_partial() {
        let all = features();
        assert!(!something_is_missing(&all));
        assert!(commands(&all).contains("manage --mode observe"));
    }

    #[test]
    fn a_missing_useful_thing_is_no_failure_and_a_required_one_is() {
        let useful = with("psi_memory", &State::Absent("psi=0".into()));
        assert!(!something_is_missing(&useful));
        let required = with("settings_writable", &State::Refused("/sys is read-only".into()));
        assert!(something_is_missing(&required));
        assert!(commands(&required).contains("--keep-settings"));
        let unknown = with("remote_collapse", &State::Unknown("ENOMEM (12)".into()));
        assert!(something_is_missing(&unknown));
        assert_eq!(commands(&unknown), "hugewise doctor");
    }

    #[test]
    fn missing_capabilities_are_named_with_a_command_that_fits() {
        let mut all = features();
        all.privileges.caps[0].held = Some(false);
        assert!(something_is_missing(&all));
        assert_eq!(commands(&all), "sudo hugewise doctor");
        all.container = Some("/.dockerenv exists".into());
        assert!(commands(&all).starts_with("docker run --pid=host"));
        all.privileges.initial_userns = Some(false);
        assert_eq!(commands(&all), "");
    }

    #[test]
    fn the_operators_never_is_explained() {
        let mut all = features();
        all.thp_mode = Some(ThpMode::Never);
        assert!(commands(&all).contains("allow_under_never=true"));
    }
}
