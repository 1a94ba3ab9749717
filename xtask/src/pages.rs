//! Manual pages and completions, made from the definition of the command line. `make install` and
//! `make dist` write them; the repository has none.

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use hugewise_cli::Cli;
use std::fs;
use std::io::Result;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What every command ends with, for the manual.
const EXIT_STATUS: [(&str, &str); 7] = [
    ("0", "done; 'diagnose' found nothing, or notes only"),
    ("1", "an error: a message says what, where and what to do"),
    ("2", "usage: an argument or a configuration is wrong; nothing was done"),
    ("3", "warnings were found"),
    ("4", "critical findings were found"),
    ("5", "partial: a part was left out, or could not be seen"),
    ("6", "refused by a safety rule; nothing was done"),
];

/// Where shells look for completions, below `share`.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/hugewise"),
    (Shell::Zsh, "zsh/site-functions/_hugewise"),
    (Shell::Fish, "fish/vendor_completions.d/hugewise.fish"),
];

/// Writes all of them below a directory `share`, where they are installed.
///
/// # Errors
/// A file or directory cannot be written.
pub fn write(share: &Path) -> Result<()> {
    manual(&definition(), &share.join("man/man1"))?;
    for (shell, path) in COMPLETIONS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "hugewise", &mut text);
        file(&share.join(path), &text)?;
    }
    Ok(())
}

/// Everyone may read it, whatever the umask is.
fn file(path: &Path, text: &[u8]) -> Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

/// The whole command line. The width of help does not follow the terminal.
fn definition() -> Command {
    let mut command = Cli::command().term_width(90).disable_help_subcommand(true);
    command.build();
    command
}

fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
}

/// One page, and those of its subcommands.
fn manual(command: &Command, directory: &Path) -> Result<()> {
    let text = page(command)?;
    file(&directory.join(format!("{}.1", name(command))), text.as_bytes())?;
    visible(command).try_for_each(|sub| manual(sub, directory))
}

fn page(command: &Command) -> Result<String> {
    let version = format!("hugewise {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).title(name(command)).source(version).manual("hugewise");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").lines().next().unwrap_or_default();
    let mut synopsis = Roff::new();
    synopsis.control("SH", ["SYNOPSIS"]).text([bold(usage.trim())]);
    synopsis.to_writer(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if visible(command).next().is_some() {
        man.render_subcommands_section(&mut text)?;
    }
    if command.get_after_help().is_some() {
        man.render_extra_section(&mut text)?;
    }
    let mut status = Roff::new();
    status.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_STATUS {
        status.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    status.to_writer(&mut text)?;
    // Each section begins with the same two lines, of which one pair will do.
    let text = String::from_utf8_lossy(&text);
    let (first, rest) = text.split_at(text.find(".TH").unwrap_or_default());
    Ok(format!("{first}{}", rest.replace(first, "")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::collections::BTreeSet;

    fn all<'a>(command: &'a Command, found: &mut Vec<&'a Command>) {
        found.push(command);
        visible(command).for_each(|sub| all(sub, found));
    }

    #[test]
    fn every_command_has_a_manual_page_with_its_exit_status() {
        let share = Scratch::new();
        write(share.path()).expect("written");
        let directory = share.path().join("man/man1");
        let (whole, mut commands) = (definition(), Vec::new());
        all(&whole, &mut commands);
        assert!(commands.len() >= 20, "only {} commands", commands.len());
        let mut wanted = BTreeSet::new();
        for command in commands {
            let name = name(command);
            let text = fs::read_to_string(directory.join(format!("{name}.1"))).expect(name);
            assert!(text.contains(&format!(".TH {name} 1")), "{name}: {text}");
            for title in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "\"EXIT STATUS\""] {
                assert_eq!(text.matches(&format!(".SH {title}\n")).count(), 1, "{name}: {title}");
            }
            let (_, codes) = text.split_once(".SH \"EXIT STATUS\"").expect("a section");
            for (code, meaning) in EXIT_STATUS {
                let said = format!("\\fB{code}\\fR\n{}", meaning.replace('\'', "\\*(Aq"));
                assert!(codes.contains(&said), "{name}: {said} is not in {codes}");
            }
            for sub in visible(command) {
                assert!(text.contains(&format!("{}(1)", super::name(sub).replace('-', "\\-"))));
            }
            wanted.insert(format!("{name}.1"));
        }
        let entries = fs::read_dir(directory).expect("readable").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        assert_eq!(names.collect::<BTreeSet<_>>(), wanted);
    }

    #[test]
    fn every_shell_completes_every_command() {
        let share = Scratch::new();
        write(share.path()).expect("written");
        let whole = definition();
        for (shell, path) in COMPLETIONS {
            let path = share.path().join(path);
            let text = fs::read_to_string(&path).expect("written");
            for command in visible(&whole) {
                assert!(text.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
            assert!(text.contains("json") && text.contains("color"), "{shell}: no options");
            assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o644);
        }
    }
}
