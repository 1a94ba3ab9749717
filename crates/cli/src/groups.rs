//! The help of the program: commands by what a user wants. What commands were called before.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use std::fmt::Write;

/// Headings, and the commands below each, in the order of the help.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Look", &["doctor", "status", "top", "serve"]),
    ("Act", &["manage", "advise", "thp", "hugetlb", "revert"]),
    ("Diagnose", &["diagnose", "response", "record"]),
    ("Prove", &["try", "lab", "investigate"]),
];

/// Commands of earlier versions, and what took their place.
const RENAMED: [(&str, &str); 12] = [
    ("bill", "advise --estimate"),
    ("config", "manage config"),
    ("journal", "manage journal"),
    ("limit", "lab limit"),
    ("map", "status --map"),
    ("metrics", "serve --once"),
    ("pause", "manage pause"),
    ("placement", "diagnose --hosts"),
    ("replay", "manage replay"),
    ("resume", "manage resume"),
    ("rules", "diagnose --rules"),
    ("workload", "lab workload"),
];

/// The command with its commands in groups: clap knows none.
pub(super) fn grouped(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let name = *command.get_styles().get_literal();
    let mut groups = String::new();
    for (heading, members) in GROUPS {
        let _ = writeln!(groups, "{header}{heading}:{header:#}");
        for member in members {
            let found = command.get_subcommands().find(|one| one.get_name() == *member);
            let about = found.and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_default();
            let _ = writeln!(groups, "  {name}{member:<11}{name:#}  {about}");
        }
        groups.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

/// The error of a command that has another name now; `is_first`: no command stands before it.
pub(super) fn with_new_name(error: Error, is_first: impl Fn(&str) -> bool) -> Error {
    let Some(ContextValue::String(old)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    if !is_first(old) {
        return error;
    }
    match RENAMED.iter().find(|(name, _)| name == old) {
        Some((old, new)) => {
            let text = format!("'hugewise {old}' is now 'hugewise {new}'\n");
            Error::raw(ErrorKind::InvalidSubcommand, text)
        }
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, command};
    use super::*;
    use clap::CommandFactory;

    /// Most commands, and most lines, of the help of the program.
    const COMMANDS_MAX: usize = 15;
    const LINES_MAX: usize = 40;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut visible: Vec<_> = visible.map(Command::get_name).collect();
        let mut grouped: Vec<_> =
            GROUPS.iter().flat_map(|(_, members)| *members).copied().collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(visible, grouped);
        assert!(visible.len() <= COMMANDS_MAX, "{visible:?}");
    }

    #[test]
    fn the_help_fits_on_a_screen() {
        for flag in ["-h", "--help"] {
            let help = command().term_width(80).try_get_matches_from(["hugewise", flag]);
            let help = help.expect_err("help").render().to_string();
            assert!(help.lines().count() <= LINES_MAX, "{help}");
            assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
            for (heading, members) in GROUPS {
                assert!(help.contains(&format!("\n{heading}:\n  {}", members[0])), "{help}");
            }
        }
    }

    #[test]
    fn an_old_name_says_the_new_one() {
        for (old, new) in RENAMED {
            let error = command().try_get_matches_from(["hugewise", "--json", old, "7"]);
            let error = with_new_name(error.expect_err(old), |_| true).to_string();
            assert_eq!(error, format!("error: 'hugewise {old}' is now 'hugewise {new}'\n"));
            let mut command = command();
            for word in new.split(' ') {
                let Some(option) = word.strip_prefix("--") else {
                    command = command.find_subcommand(word).expect(new).clone();
                    continue;
                };
                assert!(command.get_arguments().any(|one| one.get_long() == Some(option)), "{new}");
            }
        }
        let other = command().try_get_matches_from(["hugewise", "mapp"]).expect_err("unknown");
        assert!(
            with_new_name(other, |_| true).to_string().contains("unrecognized subcommand 'mapp'")
        );
    }
}
