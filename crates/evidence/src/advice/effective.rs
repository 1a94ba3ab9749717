//! Which mode of transparent huge pages a process really has.

use super::facts::{Machine, Process};
use super::rule::{Product, Switch, SwitchKind};
use super::setting::{Mode, has_option};
use serde::Serialize;

/// What decides about the mode of a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "by", content = "text")]
pub enum Because {
    /// The global switch.
    Global,
    /// It refused them for itself, or its parent did for it (`PR_SET_THP_DISABLE`).
    Refused,
    /// It takes only what it advises, though the global mode is `always`.
    OnlyAdvised,
    /// Its own switch, which it was started with.
    Switch(String),
    /// A manager of hugewise gives huge pages to it.
    Managed,
}

/// The mode of a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Effective {
    /// The mode; `None`: the global one is unknown.
    pub mode: Option<Mode>,
    /// Why.
    pub because: Because,
}

impl Effective {
    /// Whether it is one of these modes; `None`: it is unknown. What a manager promotes in the
    /// background has huge pages, as under `always`, and page faults that give none of their own
    /// accord, as under `madvise`: it is as good as either.
    pub fn is_one_of(&self, accept: &[String]) -> Option<bool> {
        let has = |mode: Mode| accept.iter().any(|one| one == mode.name());
        let is_managed = self.because == Because::Managed;
        self.mode.map(|mode| has(mode) || is_managed && has(Mode::Always))
    }
}

/// Variables that hand arguments to a Java program.
pub const JAVA_OPTIONS: [&str; 2] = ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"];

/// Whether a process was started with that switch.
pub fn is_set(switch: &Switch, process: &Process) -> bool {
    let variable = |name: &str| process.environment.as_ref()?.get(name).map(String::as_str);
    match switch.kind {
        SwitchKind::Argument => {
            let of_java = |name: &&str| {
                variable(name)
                    .is_some_and(|text| text.split_whitespace().any(|one| one == switch.text))
            };
            process.arguments.contains(&switch.text) || JAVA_OPTIONS.iter().any(of_java)
        }
        SwitchKind::Environment => switch.text.split_once('=').is_some_and(|(name, value)| {
            variable(name).is_some_and(|text| has_option(text, value))
        }),
        // Neither is seen from outside; what they do is.
        SwitchKind::Code | SwitchKind::Configuration => false,
    }
}

/// Whether a switch works under a global mode.
pub fn works(switch: &Switch, global: Mode) -> bool {
    switch.needs.is_empty() || switch.needs.contains(&global)
}

/// The mode that a process has, or would have under another global mode. `products` are all that
/// it is.
pub fn under(
    global: Option<Mode>,
    process: &Process,
    products: &[&Product],
    machine: &Machine,
) -> Effective {
    let effective = |mode, because| Effective { mode, because };
    if process.thp_disabled == Some(true) {
        return effective(Some(Mode::Never), Because::Refused);
    }
    let Some(global) = global else { return effective(None, Because::Global) };
    if global == Mode::Never {
        return effective(Some(Mode::Never), Because::Global);
    }
    let switches = products.iter().flat_map(|product| &product.switches);
    for switch in switches.filter(|switch| works(switch, global)) {
        if let Some(mode) = switch.mode.mode().filter(|_| is_set(switch, process)) {
            return effective(Some(mode), Because::Switch(switch.text.clone()));
        }
    }
    let now_always = machine.global() == Some(Mode::Always);
    if global == Mode::Always && now_always && process.unadvised_eligible == Some(false) {
        return effective(Some(Mode::Madvise), Because::OnlyAdvised);
    }
    if global == Mode::Madvise && machine.managed {
        return effective(Some(global), Because::Managed);
    }
    effective(Some(global), Because::Global)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::rule::SwitchMode;
    use crate::advice::setting::Setting;

    fn java() -> Product {
        let switch = Switch {
            mode: SwitchMode::Always,
            kind: SwitchKind::Argument,
            text: "-XX:+UseTransparentHugePages".into(),
            needs: vec![Mode::Madvise, Mode::Always],
            versions: Default::default(),
            source: "s".into(),
            read_on: "2026-11-30".into(),
        };
        Product { switches: vec![switch], ..Product::default() }
    }

    #[test]
    fn a_process_has_the_mode_that_decides_about_it() {
        let product = java();
        let mut machine = Machine::default();
        machine.settings.insert(Setting::Thp, "always".into());
        let mut process = Process::default();
        let mode = |process: &Process, machine: &Machine, global| {
            let found = under(Some(global), process, &[&product], machine);
            (found.mode.expect("known"), found.because)
        };
        assert_eq!(mode(&process, &machine, Mode::Always), (Mode::Always, Because::Global));
        process.unadvised_eligible = Some(false);
        assert_eq!(mode(&process, &machine, Mode::Always), (Mode::Madvise, Because::OnlyAdvised));
        process.arguments = vec!["java".into(), "-XX:+UseTransparentHugePages".into()];
        assert_eq!(mode(&process, &machine, Mode::Madvise).0, Mode::Always);
        assert_eq!(mode(&process, &machine, Mode::Never), (Mode::Never, Because::Global));
        process.thp_disabled = Some(true);
        assert_eq!(mode(&process, &machine, Mode::Always), (Mode::Never, Because::Refused));
        let options = "-Xmx1g -XX:+UseTransparentHugePages".to_owned();
        let process = Process {
            environment: Some([("JDK_JAVA_OPTIONS".to_owned(), options)].into()),
            ..Process::default()
        };
        assert_eq!(mode(&process, &machine, Mode::Madvise).0, Mode::Always);
        let process = Process::default();
        assert_eq!(mode(&process, &machine, Mode::Madvise), (Mode::Madvise, Because::Global));
        machine.managed = true;
        let managed = under(Some(Mode::Madvise), &process, &[], &machine);
        assert_eq!(managed.because, Because::Managed);
        let is_one_of = |mode: &str| managed.is_one_of(&[mode.to_owned()]);
        assert_eq!((is_one_of("always"), is_one_of("madvise")), (Some(true), Some(true)));
        assert_eq!(is_one_of("never"), Some(false));
    }
}
