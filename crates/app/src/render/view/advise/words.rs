//! Words that several of these views use.

use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_evidence::advice::effective::Because;
use hugewise_evidence::advice::facts::Process;
use hugewise_evidence::advice::resolve::Way;
use hugewise_evidence::advice::rule::Product;
use hugewise_evidence::advice::setting::Setting;
use hugewise_evidence::advice::version::Version;

/// Values that are accepted.
pub(super) fn accepted(values: &[String]) -> String {
    let shown: Vec<String> = values.iter().map(|value| printable(value)).collect();
    shown.join(" or ")
}

/// A product in its version.
pub(super) fn named(product: &Product, version: Option<&Version>) -> String {
    match version {
        Some(version) => format!("{} {version}", printable(&product.name)),
        None => printable(&product.name),
    }
}

/// A setting, as its file or parameter is called.
pub(super) fn setting(setting: &Setting) -> String {
    match setting {
        Setting::Thp => "transparent huge pages".to_owned(),
        Setting::ThpFile(name) => printable(name),
        Setting::Boot(name) => format!("boot parameter {}", printable(name)),
        Setting::HugeTlb => "HugeTLB pool".to_owned(),
        Setting::Argument(text) => format!("argument {}", printable(text)),
        Setting::Environment(name) => format!("variable {}", printable(name)),
        Setting::PageKib => "base page, KiB".to_owned(),
        other => printable(&other.to_string()),
    }
}

/// Processes, by pid; of many the number.
pub(super) fn processes(all: &[&Process]) -> String {
    const SHOWN: usize = 3;
    let pids: Vec<String> = all.iter().take(SHOWN).map(|one| one.pid.to_string()).collect();
    match all.len() {
        0 => "the machine".to_owned(),
        1 => format!("pid {}", pids.join("")),
        count if count <= SHOWN => format!("pids {}", pids.join(", ")),
        count => format!(
            "{}, such as pid {}",
            counted(count as u64, "process", "processes"),
            pids.first().cloned().unwrap_or_default()
        ),
    }
}

/// What decides about the mode of a process.
pub(super) fn because(because: &Because) -> String {
    match because {
        Because::Global => "the global mode".to_owned(),
        Because::Refused => "it has refused them for itself (PR_SET_THP_DISABLE)".to_owned(),
        Because::OnlyAdvised => {
            "it takes only what it advises (PR_THP_DISABLE_EXCEPT_ADVISED)".to_owned()
        }
        Because::Switch(text) => format!("its own switch, {}", printable(text)),
        Because::Managed => "'hugewise manage' promotes its memory in the background".to_owned(),
    }
}

/// What to do.
pub(super) fn way(way: &Way) -> String {
    match way {
        Way::Nothing => "nothing to do: it has it".to_owned(),
        Way::Switch { set } => format!("its own switch: {}; then restart it", printable(set)),
        Way::Environment { set } => {
            format!("its environment: {}; then restart it", printable(set))
        }
        Way::Unit { unit, set } => {
            let (unit, set) = (printable(unit), printable(set));
            format!("a drop-in of {unit}: {set}; then restart it")
        }
        Way::Run { policy } => {
            format!("start it by 'hugewise advise run --thp {policy} -- PROGRAM'")
        }
        Way::Manage => {
            "'hugewise manage' makes its memory huge in the background; no restart".to_owned()
        }
        Way::None { why } => format!("there is no way: {}", why.text()),
    }
}
