//! Views of PostgreSQL as `psql` prints them: aligned, expanded (`\x`), unaligned (`-A`) and CSV.
//!
//! [`table`] makes rows of any of these forms; [`views`] knows what the rows of a view say.

mod table;
mod views;

use super::{Lines, Reader, Taken};
use crate::evidence::recording::{Builder, SourceKind};
use table::{Form, Table};
use views::View;

/// Begins at the header of a view that is known, or at its first record.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let table = Table::begins(lines)?;
    let view = View::of(&table)?;
    out.resume(SourceKind::Psql, lines.number());
    Some(Box::new(Psql { table, view }))
}

struct Psql {
    table: Table,
    view: View,
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
                    self.view.row(&row, out);
                }
                Taken::Yes
            }
            None => Taken::No,
        }
    }

    fn end(&mut self, out: &mut Builder) {
        if let Some(row) = self.table.last() {
            self.view.row(&row, out);
        }
        if self.table.form == Form::Cut {
            out.problem("a row of a view that is longer than any: the rest of it is left out");
        }
        self.view.end(out);
    }
}
