//! Manual pages and completions are made from the command line's definition, and kept in `dist`.
//!
//! `HUGEWISE_UPDATE_GOLDEN=1 cargo test -p hugewise --bins pages` writes them anew.

use super::Cli;
use clap::CommandFactory;
use clap_complete::Shell;
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

#[test]
fn manual_pages_are_up_to_date() {
    // The width of help must not follow the terminal of whoever runs the test.
    let command = || Cli::command().term_width(90);
    check("man", |directory| clap_mangen::generate_to(command(), directory).expect("written"));
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
