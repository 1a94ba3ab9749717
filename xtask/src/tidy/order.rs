//! The order of rooms: in a folder with an order, a room imports only from rooms below it.

use super::imports::Import;
use super::{Problem, TextFile};
use std::collections::BTreeSet;

/// Rooms of one height.
#[derive(Debug, Clone, Copy)]
pub enum Layer {
    /// They may import each other; no circle comes of it ([`super::circles`]).
    Together(&'static [&'static str]),
    /// None imports another one.
    Apart(&'static [&'static str]),
}

use Layer::{Apart, Together};

impl Layer {
    fn rooms(self) -> &'static [&'static str] {
        match self {
            Together(rooms) | Apart(rooms) => rooms,
        }
    }
}

/// A folder whose rooms (its files and folders) have an order.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    pub folder: &'static str,
    /// From the lowest upwards.
    pub layers: &'static [Layer],
}

/// The orders of this project.
pub const ORDERS: [Order; 4] = [
    Order {
        folder: "crates/manager/src",
        layers: &[
            Together(&[
                "access",
                "bounds",
                "compaction",
                "hints",
                "config",
                "reason",
                "snapshot",
                "ownership",
                "thp_settings",
                "decision",
                "nodes",
                "select",
            ]),
            Apart(&["limits"]),
            Apart(&["state"]),
            Apart(&["gate"]),
            Apart(&["policy"]),
            Together(&["engine", "record", "replay", "status"]),
            Apart(&["sim"]),
        ],
    },
    Order {
        folder: "crates/evidence/src",
        layers: &[
            Apart(&["functions", "history", "recording"]),
            Apart(&["hugetlb"]),
            Apart(&["diagnose"]),
            Apart(&["bill", "fleet", "freeze", "placement", "response", "signature", "watch"]),
        ],
    },
    Order {
        folder: "crates/experiment/src",
        layers: &[
            Apart(&["settings"]),
            Apart(&["counters", "metric", "tools", "machine"]),
            Apart(&["kind"]),
            Apart(&["load"]),
            Apart(&["limit", "spec"]),
            Apart(&["kinds"]),
            Apart(&["check", "record"]),
            Apart(&["schedule", "compare", "quiet"]),
            Apart(&["enough", "ledger"]),
            Apart(&["propose", "verdict"]),
            Apart(&["summary"]),
            Apart(&["across"]),
        ],
    },
    Order {
        folder: "crates/app/src/render",
        layers: &[
            Together(&["colour", "exposition", "html", "parquet", "svg", "text"]),
            Apart(&["axes"]),
            Apart(&["view"]),
        ],
    },
];

/// A view gets plain values and returns its text: what is below the first knows nothing of these.
const RENDER: &str = "crates/app/src/render/";
const COMMANDS: [&str; 4] = [
    "crates/app/src/cmd",
    "crates/app/src/cli",
    "crates/app/src/output.rs",
    "crates/app/src/say.rs",
];

/// Imports of commands into what draws.
pub fn commands_in_render(imports: &[Import]) -> Vec<Problem> {
    let mut found = Vec::new();
    for import in imports.iter().filter(|import| import.from.starts_with(RENDER)) {
        if COMMANDS.iter().any(|folder| import.to.starts_with(folder)) {
            let what = format!(
                "{} is of a command ({}): hand the value in, return the text",
                import.path, import.to
            );
            found.push(Problem::new(&import.from, import.line, what));
        }
    }
    found
}

/// Imports from a lower room into a higher one, and rooms without a place in their order.
pub fn breaches(orders: &[Order], files: &[TextFile], imports: &[Import]) -> Vec<Problem> {
    let mut found = BTreeSet::new();
    for order in orders {
        for file in files {
            let Some(room) = room(order, &file.path) else { continue };
            if height(order, room).is_none() {
                let what = format!(
                    "the room '{room}' has no place in the order of {}: give it one in \
                     xtask/src/tidy/order.rs",
                    order.folder
                );
                found.insert(Problem::new(&file.path, 1, what));
            }
        }
        found.extend(imports.iter().filter_map(|import| breach(order, import)));
    }
    found.into_iter().collect()
}

fn breach(order: &Order, import: &Import) -> Option<Problem> {
    let (from, to) = (room(order, &import.from)?, room(order, &import.to)?);
    let (low, high) = (height(order, from)?, height(order, to)?);
    let allowed = match order.layers[low] {
        _ if from == to => true,
        Together(_) => high <= low,
        Apart(_) => high < low,
    };
    if allowed {
        return None;
    }
    let layers: Vec<String> = order.layers.iter().map(|layer| layer.rooms().join(", ")).collect();
    let what = format!(
        "'{from}' imports {} from '{to}' ({}), against the order of {}: {}",
        import.path,
        import.to,
        order.folder,
        layers.join(" < ")
    );
    Some(Problem::new(&import.from, import.line, what))
}

/// The room of a file in a folder; `None` for files elsewhere, and for the folder's own.
fn room<'a>(order: &Order, path: &'a str) -> Option<&'a str> {
    let inside = path.strip_prefix(order.folder)?.strip_prefix('/')?;
    let first = inside.split('/').next()?;
    let room = first.strip_suffix(".rs").unwrap_or(first);
    let own = ["lib", "main", "mod"].contains(&room);
    (!own).then_some(room)
}

fn height(order: &Order, room: &str) -> Option<usize> {
    order.layers.iter().position(|layer| layer.rooms().contains(&room))
}

#[cfg(test)]
mod tests {
    use super::super::imports::imports;
    use super::*;

    const ORDER: Order = Order {
        folder: "crates/x/src",
        layers: &[Together(&["a", "b"]), Apart(&["c", "d"]), Apart(&["e"])],
    };

    fn said(files: &[(&str, &str)]) -> Vec<String> {
        let root = "mod a;\nmod b;\nmod c;\nmod d;\nmod e;\npub use c::T;\n";
        let all = [("lib", root), ("a", ""), ("b", ""), ("c", "pub struct T;\n"), ("d", "")];
        let given = |name: &str| files.iter().any(|(other, _)| *other == name);
        let all = all.iter().filter(|(name, _)| !given(name)).chain(files);
        let files: Vec<TextFile> = all
            .map(|(name, text)| TextFile {
                path: format!("crates/x/src/{name}.rs"),
                text: (*text).to_string(),
            })
            .collect();
        let found = breaches(&[ORDER], &files, &imports(&files));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn downwards_and_together_is_allowed() {
        let up = ("e", "use crate::c::T;\nfn f() { super::a::g() }\n");
        assert_eq!(said(&[up, ("a", "use crate::b::X;\n")]), Vec::<String>::new());
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::c::T;\n}\n";
        assert_eq!(said(&[("a", tests)]), Vec::<String>::new());
    }

    #[test]
    fn upwards_is_a_breach_that_names_the_import() {
        let breach = "crates/x/src/b.rs:2: 'b' imports crate::c::T from 'c' (crates/x/src/c.rs), \
                      against the order of crates/x/src: a, b < c, d < e";
        assert_eq!(said(&[("b", "\nuse crate::c::T;\n")]), [breach]);
        // Nor over a name that another file passes on.
        assert_eq!(said(&[("b", "\nfn f() -> crate::T {}\n")]).len(), 1);
    }

    #[test]
    fn rooms_that_are_apart_do_not_know_each_other() {
        assert_eq!(said(&[("d", "use super::c::T;\n")]).len(), 1);
    }

    #[test]
    fn each_room_needs_a_place() {
        let found = said(&[("new", "")]);
        assert!(found[0].starts_with("crates/x/src/new.rs:1: the room 'new' has no place"));
    }
}
