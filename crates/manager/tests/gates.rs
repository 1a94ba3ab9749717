//! The table of gates in `docs/how-a-region-becomes-huge.md` is the one that the manager walks.
//! `HUGEWISE_UPDATE_GOLDEN=1 cargo test -p hugewise-manager --test gates` writes it anew.

#![expect(clippy::disallowed_methods, reason = "the page that is compared is a file")]

use hugewise_manager::gate::GATES;
use std::fmt::Write as _;
use std::path::Path;

const BEGIN: &str = "<!-- made: gates -->\n";
const END: &str = "<!-- end -->";

fn table() -> String {
    let mut text =
        String::from("| asks about | closed when | reason | binds |\n|---|---|---|---|\n");
    for gate in GATES {
        let reason = gate.reason.map_or("*earlier*".to_owned(), |reason| format!("`{reason}`"));
        let binds = if gate.binding { "yes" } else { "" };
        let (scope, when) = (gate.scope().name(), gate.closed_when);
        let _ = writeln!(text, "| {scope} | {when} | {reason} | {binds} |");
    }
    text
}

#[test]
fn the_document_has_the_table_of_gates() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-a-region-becomes-huge.md");
    let text = std::fs::read_to_string(&path).expect("readable");
    let (head, rest) = text.split_once(BEGIN).expect("a mark where the table begins");
    let (found, tail) = rest.split_once(END).expect("a mark where it ends");
    if std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some() {
        let made = format!("{head}{BEGIN}{}{END}{tail}", table());
        std::fs::write(&path, made).expect("writable");
    } else {
        assert!(found == table(), "the table is out of date: see this file's first lines");
    }
}
