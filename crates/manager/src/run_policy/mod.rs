//! One program's own policy of transparent huge pages (`advise run`): what has to be done before
//! it starts, so that its memory is as asked, whatever the machine's switch says.
//!
//! Three means, of which the first is the kernel's and reaches every program: `PR_SET_THP_DISABLE`
//! (inherited over fork and exec), the program's own [`switches`], and a manager. What a program
//! is was read from its file ([`program`]); [`form`] writes the same down for systemd and for
//! containers.

pub mod form;
pub mod program;
pub mod switches;

use crate::snapshot::ThpMode;
use hugewise_base::named;
use program::Program;
use serde::{Deserialize, Serialize};
use switches::{Call, Given, Switch};

/// What a program is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// No huge pages, under every switch of the machine.
    Never,
    /// Only where it asks (`MADV_HUGEPAGE`).
    Madvise,
    /// At faults, by its own switch where the machine's does not give them; else as `Managed`.
    Always,
    /// In the background, by a manager.
    Managed,
}

impl Policy {
    /// The word of the command line.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Madvise => "madvise",
            Self::Always => "always",
            Self::Managed => "managed",
        }
    }
}

/// What a process says about huge pages for itself (`PR_SET_THP_DISABLE`); kept by `execve`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Disable {
    /// Nothing.
    Off,
    /// No huge pages at all; a manager cannot make any either.
    Full,
    /// None but where asked for (Linux 6.18); a manager's collapse counts as asked for.
    ExceptAdvised,
}

/// The machine on which it is to start.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The top file, which programs read.
    pub top: Option<ThpMode>,
    /// What the kernel does at faults of huge size: the top file, or the file of that size.
    /// `None`: no transparent huge pages here.
    pub effective: Option<ThpMode>,
    /// Whether the kernel knows [`Disable::ExceptAdvised`].
    pub except_advised: bool,
    /// What this process has inherited.
    pub inherited: Disable,
    /// The manager that runs here.
    pub manager: Option<String>,
}

/// What to do, then to execute the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What the process is to say of itself.
    pub disable: Disable,
    /// The program's switches.
    pub switches: Call,
    /// What is used, as parts of one sentence; empty: nothing is needed.
    pub used: Vec<String>,
    /// What has to be known besides.
    pub notes: Vec<String>,
}

named! {
    /// Why a policy cannot be had.
    Refusal,
    /// The operator's word.
    OperatorNever = "operator_never":
        "transparent huge pages are switched off on this machine",
        "only '--thp never' can be had; 'hugewise thp set enabled=madvise' lets programs ask";
    /// No THP in this kernel.
    NoThp = "no_thp":
        "this kernel has no transparent huge pages",
        "only '--thp never' can be had";
    /// Before 6.18.
    NeedsExceptAdvised = "needs_except_advised":
        "this machine gives huge pages to everybody ('always'), and this kernel cannot take one \
         program out of that except where it asks (PR_THP_DISABLE_EXCEPT_ADVISED, Linux 6.18)",
        "'--thp never' works on this kernel; 'hugewise thp set enabled=madvise' is for all \
         programs";
    /// Somebody said no.
    SwitchRefused = "switch_refused":
        "the program's own switch is set against it already",
        "take that away, or ask for another policy";
    /// Nothing to switch, and nobody who would do it.
    NoManager = "no_manager":
        "a manager has to make its memory huge in the background, and none runs here",
        "start one before it: 'systemctl start hugewise', or 'hugewise manage' as root";
}

/// A refusal, with what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub why: Refusal,
    /// What in particular; may be empty.
    pub about: String,
}

impl Refused {
    fn new(why: Refusal, about: impl Into<String>) -> Self {
        Self { why, about: about.into() }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (means, remedy) = self.why.text();
        let colon = if self.about.is_empty() { "" } else { ": " };
        write!(f, "refused ({}): {}{colon}{means}; {remedy}", self.why.key(), self.about)
    }
}

/// Decides.
///
/// # Errors
/// The policy cannot be had here.
pub fn decide(
    policy: Policy,
    program: &Program,
    given: &Given,
    machine: &Machine,
) -> Result<Plan, Refused> {
    let mut plan = Plan {
        disable: Disable::Off,
        switches: Call::default(),
        used: Vec::new(),
        notes: Vec::new(),
    };
    if policy == Policy::Never {
        plan.disable = Disable::Full;
        plan.used.push("PR_SET_THP_DISABLE".into());
        return Ok(plan);
    }
    let mode = match machine.effective {
        None => return Err(Refused::new(Refusal::NoThp, "")),
        Some(ThpMode::Never) => return Err(Refused::new(Refusal::OperatorNever, "")),
        Some(mode) => mode,
    };
    match policy {
        Policy::Never => {}
        Policy::Madvise => except_advised(mode, machine, &mut plan)?,
        Policy::Always => always(program, given, machine, &mut plan)?,
        Policy::Managed => managed(program, given, machine, &mut plan)?,
    }
    if machine.inherited != plan.disable && machine.inherited != Disable::Off {
        plan.used.push("an inherited PR_SET_THP_DISABLE is taken back".into());
    }
    Ok(plan)
}

/// Takes the program out of a machine-wide `always`.
fn except_advised(mode: ThpMode, machine: &Machine, plan: &mut Plan) -> Result<(), Refused> {
    if mode == ThpMode::Always {
        if !machine.except_advised {
            return Err(Refused::new(Refusal::NeedsExceptAdvised, ""));
        }
        plan.disable = Disable::ExceptAdvised;
        plan.used.push("PR_THP_DISABLE_EXCEPT_ADVISED".into());
    }
    Ok(())
}

fn always(
    program: &Program,
    given: &Given,
    machine: &Machine,
    plan: &mut Plan,
) -> Result<(), Refused> {
    let found = switches::of(program, machine.top);
    add(&found, program, given, plan)?;
    if machine.effective == Some(ThpMode::Always) {
        plan.notes.extend(switches::gap_under_always(program).map(str::to_owned));
        return Ok(());
    }
    let acts = |switch: &&Switch| switch.asks && !switch.how.is_ignored_by(program);
    if found.iter().any(|switch| acts(&switch)) {
        for what in found.iter().filter(acts).filter_map(|switch| switch.leaves_out) {
            plan.notes.push(match &machine.manager {
                Some(who) => format!("{what}: left to the manager ({who})"),
                None => format!("{what}: only a manager makes that huge ('hugewise manage')"),
            });
        }
        return Ok(());
    }
    let why = switches::why_none(program, machine.top);
    match &machine.manager {
        Some(who) => {
            plan.used.push(format!("{why}: the manager ({who}) makes its memory huge"));
            Ok(())
        }
        None => Err(Refused::new(Refusal::NoManager, why)),
    }
}

fn managed(
    program: &Program,
    given: &Given,
    machine: &Machine,
    plan: &mut Plan,
) -> Result<(), Refused> {
    let Some(who) = &machine.manager else {
        return Err(Refused::new(Refusal::NoManager, ""));
    };
    plan.used.push(format!("the manager ({who})"));
    // A program that switches huge pages off for itself is left alone by every manager.
    let found = switches::of(program, machine.top);
    let keeps: Vec<Switch> = found.into_iter().filter(|switch| !switch.asks).collect();
    add(&keeps, program, given, plan)?;
    let always = machine.effective == Some(ThpMode::Always);
    if always && machine.except_advised {
        plan.disable = Disable::ExceptAdvised;
        plan.used.push("PR_THP_DISABLE_EXCEPT_ADVISED, so that faults leave it alone".into());
    } else if always {
        let what = "this machine gives huge pages at faults ('always'), which this kernel cannot \
                    leave to the manager for one program (Linux 6.18)";
        plan.notes.push(what.into());
    }
    plan.notes.push("'hugewise status' says whether its rules serve this program".into());
    Ok(())
}

/// Uses switches.
fn add(found: &[Switch], program: &Program, given: &Given, plan: &mut Plan) -> Result<(), Refused> {
    for switch in found {
        if let Some(why) = program.privileged.filter(|_| switch.how.is_ignored_by(program)) {
            plan.notes.push(format!("{why}: its loader ignores {}", switch.how.variable()));
            continue;
        }
        let refused = |said: String| {
            let about = format!("{} ({said})", switch.part.name());
            Refused::new(Refusal::SwitchRefused, about)
        };
        let said = plan.switches.add(switch, program, given).map_err(refused)?;
        plan.used.push(said);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
