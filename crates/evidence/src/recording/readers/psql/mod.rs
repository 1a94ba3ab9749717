//! Views of PostgreSQL as `psql` prints them: aligned, expanded (`\x`), unaligned (`-A`) and CSV.
//!
//! [`table`] makes rows of any of these forms; [`roles`] finds out what renamed columns are;
//! [`views`] knows what the rows of a view say, [`activity`] those of the sessions.

mod activity;
mod roles;
mod table;
mod views;

use super::{Lines, Reader, Taken};
use crate::recording::{Builder, SourceKind};
use table::Form;
pub(super) use table::{Row, Table};
use views::View;

/// Begins at the header of a view that is known, or at its first record.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let table = Table::begins(lines)?;
    let names = roles::names(&table, lines);
    let view = View::of(&names)?;
    out.resume(SourceKind::Psql, lines.number());
    let renamed = table.columns.iter().cloned().zip(names).filter(|(own, name)| own != name);
    let renamed = renamed.collect();
    Some(Box::new(Psql { table, renamed, view }))
}

struct Psql {
    table: Table,
    /// Columns that have another name in the listing, and their own.
    renamed: Vec<(String, String)>,
    view: View,
}

impl Psql {
    fn row(&mut self, mut row: Row, out: &mut Builder) {
        for (listed, own) in &self.renamed {
            if let Some(value) = row.remove(listed) {
                row.insert(own.clone(), value);
            }
        }
        self.view.row(&row, out);
    }
}

impl Reader for Psql {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        // What follows a table in lines and a blank one is no row of it.
        if self.table.is_over(line) {
            return Taken::No;
        }
        match self.table.take(line) {
            Some(row) => {
                if let Some(row) = row {
                    self.row(row, out);
                }
                Taken::Yes
            }
            None => Taken::No,
        }
    }

    fn end(&mut self, out: &mut Builder) {
        if let Some(row) = self.table.last() {
            self.row(row, out);
        }
        if self.table.form == Form::Cut {
            out.problem("a row of a view that is longer than any: the rest of it is left out");
        }
        self.view.end(out);
    }
}
