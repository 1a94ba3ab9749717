//! The density of each crate: `bounds.tsv` beside this file has the figures of `xtask density`,
//! rounded up, as upper bounds. They may fall.

use super::Problem;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use xtask::density::{Count, FIGURES};

/// Where the bounds are.
pub(crate) const BOUNDS: &str = "xtask/tests/tidy/rules/bounds.tsv";

/// The bounds of each crate, in the order of [`FIGURES`].
pub(crate) type Bounds = BTreeMap<String, Vec<f64>>;

/// Reads the table; a line that is none of it has a name and no bound.
pub(crate) fn bounds(table: &str) -> Bounds {
    let mut all = Bounds::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let mut cells = line.split('\t');
        let name = cells.next().unwrap_or_default().to_owned();
        all.insert(name, cells.filter_map(|cell| cell.parse().ok()).collect());
    }
    all
}

/// The table with the figures of today where they are lower, and with crates that it lacks.
pub(crate) fn lowered(counts: &BTreeMap<String, Count>, bounds: &Bounds) -> String {
    let mut table = "# Upper bounds of `xtask density`, for each crate. They may only fall:\n\
                     # HUGEWISE_UPDATE_GOLDEN=1 cargo test -p xtask --test tidy density\n# crate"
        .to_owned();
    for (name, _) in FIGURES {
        let _ = write!(table, "\t{name}");
    }
    table.push('\n');
    for (name, count) in counts {
        table.push_str(name);
        for (index, figure) in count.figures().into_iter().enumerate() {
            let bound = bounds.get(name).and_then(|all| all.get(index));
            let _ = write!(table, "\t{}", rounded_up(figure).min(*bound.unwrap_or(&f64::MAX)));
        }
        table.push('\n');
    }
    table
}

/// To a half, so that a line more or less is no breach, of a small crate either.
fn rounded_up(figure: f64) -> f64 {
    (figure * 2.0).ceil() / 2.0
}

pub(crate) fn denser(counts: &BTreeMap<String, Count>, bounds: &Bounds) -> Vec<Problem> {
    let mut found = Vec::new();
    for (name, count) in counts {
        let Some(of_crate) = bounds.get(name).filter(|of_crate| of_crate.len() == FIGURES.len())
        else {
            found.push(Problem::new(BOUNDS, 1, format!("no bounds of crate {name}")));
            continue;
        };
        for ((figure, bound), (label, _)) in count.figures().iter().zip(of_crate).zip(FIGURES) {
            if figure > bound {
                let what = format!(
                    "{name} has {figure:.2} {label}, {bound} are allowed: write a plain loop with \
                     named values, shorter lines, or plain English"
                );
                found.push(Problem::new(BOUNDS, 1, what));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_fall_and_do_not_rise() {
        let count = Count { lines: 1_000, closures: 20, combinators: 9, ..Count::default() };
        let counts = BTreeMap::from([("a".to_owned(), count)]);
        let old = bounds("# head\na\t30\t0\t8\t0\t0\n");
        let said: Vec<String> = denser(&counts, &old).iter().map(|p| p.what.clone()).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("a has 9.00 combinators/1k, 8 are allowed"), "{said:?}");
        assert!(lowered(&counts, &old).ends_with("\na\t20\t0\t8\t0\t0\n"));
        assert_eq!(denser(&counts, &Bounds::new()).len(), 1);
    }
}
