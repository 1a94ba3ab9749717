//! The tables of sysstat's tools: which column means what, in text and in JSON; by
//! `data/sysstat.tsv`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::recording::Field;
use crate::recording::base_page::ASSUMED_BYTES;
use crate::table::{Row, list, table};

/// What the rows of a table are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RowSubject {
    /// The machine: no column says it.
    Machine,
    /// CPUs, or `all`.
    Cpu,
    /// Block devices.
    Disk,
    /// File systems, by device or place.
    Filesystem,
    /// Network interfaces.
    Interface,
    /// Interrupt vectors, or `sum`.
    Vector,
    /// Processes.
    Process,
}

/// Columns that make a field.
pub(super) struct Columns {
    /// The header in text and the key in JSON of each; a key that is none is `-`.
    pub(super) parts: Vec<(&'static str, &'static str)>,
    /// What they make.
    pub(super) field: Field,
    /// Times this they are in the field's unit.
    pub(super) factor: f64,
}

/// A table. Where two columns have the same field, the first one counts.
pub(super) struct Table {
    /// What its rows are about.
    pub(super) kind: RowSubject,
    /// Words that its header has, each of them.
    pub(super) marks: Vec<&'static str>,
    /// Names of the section in JSON.
    pub(super) sections: Vec<&'static str>,
    /// Its columns that are a field.
    pub(super) columns: Vec<Columns>,
    /// Its columns whose sum is a field; all of them must be there.
    pub(super) sums: Vec<Columns>,
    /// A whole: one column has a part of it, and one how many percent of it that part is.
    pub(super) whole: Option<Columns>,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| table!("sysstat.tsv").rows());

/// All of them, the more particular ones first.
pub(super) static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let mut tables: Vec<Table> = Vec::new();
    for row in ROWS.iter().filter(|row| row.section == "tables") {
        match (row.fields[0], tables.last_mut()) {
            ("table", _) => tables.push(head(row)),
            ("column", Some(table)) => table.columns.push(columns::<1>(row)),
            ("sum", Some(table)) => table.sums.push(columns::<2>(row)),
            ("whole", Some(table)) if table.whole.is_none() => {
                table.whole = Some(columns::<2>(row));
            }
            _ => row.refuse("it is no table, and no column, sum or single whole of one"),
        }
    }
    tables
});

/// Words by which a table is known to have nothing with a field; one of them is enough.
pub(super) static PASSED_OVER: LazyLock<Vec<&str>> = LazyLock::new(|| list(&ROWS, "passed_over"));

/// What `mpstat -I SCPU` calls soft interrupts.
pub(super) static SOFT_VECTORS: LazyLock<Vec<&str>> = LazyLock::new(|| list(&ROWS, "soft_vectors"));

/// The words of a field; none where it is `-`.
fn words(field: &'static str) -> Vec<&'static str> {
    field.split(' ').filter(|word| *word != "-").collect()
}

fn head(row: &Row) -> Table {
    let [_, kind, marks, sections] = row.fields();
    let (marks, sections) = (words(marks), words(sections));
    let kind = row.word(kind);
    Table { kind, marks, sections, columns: Vec::new(), sums: Vec::new(), whole: None }
}

/// A row with `N` columns.
fn columns<const N: usize>(row: &Row) -> Columns {
    let [_, headers, keys, field, unit] = row.fields();
    let parts: Vec<_> = headers.split(' ').zip(keys.split(' ')).collect();
    if [parts.len(), headers.split(' ').count(), keys.split(' ').count()] != [N; 3] {
        row.refuse(&format!("not {N} headers and keys"));
    }
    Columns { parts, field: of_key(row, field), factor: factor(row, unit) }
}

/// The field of that key.
pub(in super::super) fn of_key(row: &Row, key: &str) -> Field {
    row.one_of(Field::ALL, |field| field.about().key, key)
}

/// What a value of that unit is to be multiplied with.
pub(in super::super) fn factor(row: &Row, unit: &str) -> f64 {
    match unit {
        "one" => 1.0,
        "kB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        "sector" => 512.0,
        "page" => ASSUMED_BYTES,
        _ => row.refuse("an unknown unit"),
    }
}

/// The whole of a part that is a given percentage of it; `None` where the percentage is too small
/// to tell: it has two decimals.
pub(super) fn whole(part: f64, percent: f64) -> Option<f64> {
    (percent >= 1.0).then(|| part / percent * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        const SECTIONS: [&str; 3] = ["tables", "passed_over", "soft_vectors"];
        assert!(ROWS.iter().all(|row| SECTIONS.contains(&row.section)));
        let columns: usize = TABLES.iter().map(|table| table.columns.len()).sum();
        assert_eq!((TABLES.len(), columns), (25, 136));
        assert!(!PASSED_OVER.is_empty() && !SOFT_VECTORS.is_empty());
    }
}
