//! Manual pages and completions are made from the command line's definition, and kept in `dist`.
//!
//! `HUGEWISE_UPDATE_GOLDEN=1 cargo test -p hugewise --bins pages` writes them anew.

use super::Cli;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use hugewise_scratch::Scratch;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Files of a directory and their contents; none where it is missing.
fn files(directory: &Path) -> BTreeMap<PathBuf, String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let file = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path()).ok()?;
        Some((PathBuf::from(entry.file_name()), text))
    };
    entries.filter_map(file).collect()
}

fn check(name: &str, make: impl FnOnce(&Path)) {
    let made = Scratch::new();
    make(made.path());
    let wanted = files(made.path());
    assert!(!wanted.is_empty(), "nothing was made");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist").join(name);
    if std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("made");
        for (file, text) in &wanted {
            fs::write(directory.join(file), text).expect("written");
        }
    }
    assert!(
        files(&directory) == wanted,
        "dist/{name} is out of date: run HUGEWISE_UPDATE_GOLDEN=1 cargo test -p hugewise --bins \
         pages"
    );
}

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

/// One page, and those of its subcommands.
fn manual(command: &Command, directory: &Path) {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let version = format!("hugewise {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).title(name.clone()).source(version).manual("hugewise");
    let mut text = Vec::new();
    man.render_title(&mut text).expect("title");
    man.render_name_section(&mut text).expect("name");
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").split('\n').map(|line| bold(line.trim()));
    let mut synopsis = Roff::new();
    synopsis.control("SH", ["SYNOPSIS"]).text([usage.collect::<Vec<_>>().remove(0)]);
    synopsis.to_writer(&mut text).expect("synopsis");
    man.render_description_section(&mut text).expect("description");
    man.render_options_section(&mut text).expect("options");
    let visible: Vec<_> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
    if !visible.is_empty() {
        man.render_subcommands_section(&mut text).expect("subcommands");
    }
    if command.get_after_help().is_some() {
        man.render_extra_section(&mut text).expect("examples");
    }
    let mut status = Roff::new();
    status.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_STATUS {
        status.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    status.to_writer(&mut text).expect("exit status");
    // Each section begins with the same two lines, of which one pair will do.
    let text = String::from_utf8(text).expect("text");
    let (first, rest) = text.split_at(text.find(".TH").expect("a title"));
    let text = format!("{first}{}", rest.replace(first, ""));
    fs::write(directory.join(format!("{name}.1")), text).expect("written");
    visible.iter().for_each(|sub| manual(sub, directory));
}

#[test]
fn manual_pages_are_up_to_date() {
    // The width of help must not follow the terminal of whoever runs the test.
    let mut command = Cli::command().term_width(90).disable_help_subcommand(true);
    command.build();
    check("man", |directory| manual(&command, directory));
}

#[test]
fn completions_are_up_to_date() {
    check("completions", |directory| {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let (mut command, name) = (Cli::command(), "hugewise");
            clap_complete::generate_to(shell, &mut command, name, directory).expect("written");
        }
    });
}
