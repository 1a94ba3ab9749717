//! A policy as something that is kept: a drop-in of a systemd unit, or the environment of a
//! container. Both outlive the machine's switch of today, so that they hold what each value of it
//! asks for.

use super::Policy;
use super::program::{Part, Program};
use super::switches::{self, Call, Given};
use serde::Serialize;
use std::collections::BTreeMap;

/// The first systemd with `MemoryTHP=` (`systemd.exec(5)`).
pub const MEMORY_THP: u32 = 260;

/// The unit of the manager.
pub const MANAGER: &str = "hugewise.service";

/// What it is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A drop-in of a systemd unit.
    Unit,
    /// Environment of a container.
    Container,
}

/// Who starts it, and how.
#[derive(Debug, Clone)]
pub struct Start<'a> {
    /// Path of this program.
    pub hugewise: &'a str,
    /// Path of the program.
    pub program: &'a str,
    /// The version of systemd here; `None`: none, or unknown.
    pub systemd: Option<u32>,
    /// Whether the kernel can leave out one program except where it asks (6.18).
    pub except_advised: bool,
}

/// A policy, written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Form {
    /// What it is written for.
    pub form: Kind,
    /// The policy.
    pub policy: &'static str,
    /// The value of `MemoryTHP=`, where systemd has it and it is used.
    pub memory_thp: Option<&'static str>,
    /// Variables, by name.
    pub environment: BTreeMap<String, String>,
    /// The whole command, where it is another than before; empty: the same.
    pub command: Vec<String>,
    /// Whether a manager has to run.
    pub needs_manager: bool,
    /// What this form cannot express, and what can.
    pub left_out: Vec<String>,
}

/// Writes it.
///
/// # Errors
/// What the program was given says the contrary already: what it was given.
pub fn form(
    kind: Kind,
    policy: Policy,
    program: &Program,
    given: &Given,
    start: &Start<'_>,
) -> Result<Form, String> {
    let mut call = Call::default();
    // A container's environment has no place for an argument.
    let is_script = program.is_script || kind == Kind::Container;
    let placed = Program { is_script, ..program.clone() };
    for switch in switches::all(program) {
        let wanted = match policy {
            Policy::Never | Policy::Madvise => false,
            Policy::Always => true,
            Policy::Managed => !switch.asks,
        };
        if wanted {
            call.add(&switch, &placed, given)?;
        }
    }
    let asks = |switch: &switches::Switch| switch.asks;
    let no_switch = !switches::all(program).iter().any(asks);
    let empty = Form {
        needs_manager: policy == Policy::Managed || (policy == Policy::Always && no_switch),
        form: kind,
        policy: policy.key(),
        memory_thp: None,
        environment: BTreeMap::new(),
        command: Vec::new(),
        left_out: Vec::new(),
    };
    Ok(match kind {
        Kind::Unit => unit(policy, call, given, start, empty),
        Kind::Container => container(policy, program, call, given, empty),
    })
}

fn unit(policy: Policy, call: Call, given: &Given, start: &Start<'_>, mut form: Form) -> Form {
    let has = start.systemd.is_some_and(|version| version >= MEMORY_THP);
    form.memory_thp = match policy {
        Policy::Never if has => Some("disable"),
        Policy::Madvise | Policy::Managed if has && start.except_advised => Some("madvise"),
        _ => None,
    };
    let own = std::iter::once(start.program.to_owned());
    if form.memory_thp.is_none() {
        // Decides anew at each start, as the machine is then.
        let wrapper = [start.hugewise, "advise", "run", "--thp", policy.key(), "--"];
        form.command.extend(wrapper.map(str::to_owned));
        form.command.extend(own.chain(given.arguments.iter().cloned()));
        return form;
    }
    form.environment = call.environment;
    if !call.first.is_empty() || !call.last.is_empty() {
        let words = call.first.iter().chain(&given.arguments).chain(&call.last).cloned();
        form.command.extend(own.chain(words));
    }
    form
}

fn container(policy: Policy, program: &Program, call: Call, given: &Given, mut form: Form) -> Form {
    const WRAPPER: &str = "begin the entry point with 'hugewise advise run --thp";
    let by_hugewise = |call: &str| {
        format!("{call} is a system call, which no variable makes: {WRAPPER} {} --'", policy.key())
    };
    form.environment = call.environment;
    match policy {
        Policy::Never => match never(program, given) {
            Some((name, value)) => {
                form.environment.insert(name, value);
            }
            None => form.left_out.push(by_hugewise("PR_SET_THP_DISABLE")),
        },
        Policy::Madvise => form.left_out.push(by_hugewise("PR_THP_DISABLE_EXCEPT_ADVISED")),
        Policy::Managed | Policy::Always if form.needs_manager => {
            form.left_out.push("a manager on the host makes its memory huge".into());
        }
        Policy::Managed | Policy::Always => {}
    }
    if !call.last.is_empty() {
        form.left_out.push(format!("behind the program's arguments: {}", call.last.join(" ")));
    }
    form
}

/// A variable that keeps a program's heap from being huge, where it has one: its memory is then
/// advised against (`MADV_NOHUGEPAGE`).
fn never(program: &Program, given: &Given) -> Option<(String, String)> {
    let (name, between, setting) = match program.parts.last()? {
        Part::Jemalloc(name) => (name.as_str(), ',', "thp:never"),
        // Since 1.21.6.
        Part::Go => ("GODEBUG", ',', "disablethp=1"),
        _ => return None,
    };
    let held = given.environment.get(name).filter(|held| !held.is_empty());
    let joined = held.map_or_else(|| setting.into(), |held| format!("{held}{between}{setting}"));
    Some((name.to_owned(), joined))
}

impl Form {
    /// As a file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |one: &str| text.extend([one, "\n"]);
        if self.form == Kind::Container {
            self.environment.iter().for_each(|(name, value)| line(&format!("{name}={value}")));
            self.left_out.iter().for_each(|what| line(&format!("# {what}")));
            return text;
        }
        line("# /etc/systemd/system/NAME.service.d/thp.conf");
        line("# then: systemctl daemon-reload, and restart the service");
        if self.needs_manager {
            line("[Unit]");
            line(&format!("Wants={MANAGER}"));
            line(&format!("After={MANAGER}"));
        }
        line("[Service]");
        if let Some(value) = self.memory_thp {
            line(&format!("MemoryTHP={value}"));
        }
        for (name, value) in &self.environment {
            line(&format!("Environment={}", quoted(&format!("{name}={value}"), false)));
        }
        if !self.command.is_empty() {
            let words = self.command.iter().map(|word| quoted(word, true));
            line("ExecStart=");
            line(&format!("ExecStart={}", words.collect::<Vec<_>>().join(" ")));
        }
        self.left_out.iter().for_each(|what| line(&format!("# {what}")));
        text
    }
}

/// A word as systemd reads it back (systemd.syntax(7), systemd.service(5)): in a command variables
/// are put in, too.
fn quoted(word: &str, in_command: bool) -> String {
    let mut text = String::new();
    for letter in word.chars() {
        match letter {
            '%' => text.push_str("%%"),
            '$' if in_command => text.push_str("$$"),
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            other if other.is_control() && u32::from(other) < 0x80 => {
                text.push_str(&format!("\\x{:02x}", u32::from(other)));
            }
            other => text.push(other),
        }
    }
    // A bare ';' separates commands.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@%$".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text,
        false => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_systemd_reads_them() {
        let cases = [
            ("/usr/bin/x", "/usr/bin/x", "/usr/bin/x"),
            ("a b", "\"a b\"", "\"a b\""),
            ("50%", "50%%", "50%%"),
            ("$HOME", "$$HOME", "$HOME"),
            ("say \"\\\"", "\"say \\\"\\\\\\\"\"", "\"say \\\"\\\\\\\"\""),
            (";", "\";\"", "\";\""),
            ("", "\"\"", "\"\""),
            ("a\nExecStartPre=b\x07", "\"a\\nExecStartPre=b\\x07\"", "\"a\\nExecStartPre=b\\x07\""),
        ];
        for (word, in_command, in_variable) in cases {
            assert_eq!(quoted(word, true), in_command);
            assert_eq!(quoted(word, false), in_variable);
        }
    }
}
