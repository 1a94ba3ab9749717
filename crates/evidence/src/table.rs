//! Tables of knowledge: text files in `data/` that are part of the program and read once.
//!
//! A line is a row; tabs separate its fields. A line that begins with a tab continues the row
//! above. `[NAME]` begins a section. Blank lines and lines that begin with `#` are for people.
//! A row that cannot be read stops the program with file and line: the test of its table finds it.

use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

/// The table in that file of `data/`.
macro_rules! table {
    ($name:literal) => {
        crate::table::Table {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/", $name)),
        }
    };
}
pub(crate) use table;

/// An enum whose variants have names outside of the program: in JSON, in settings and in tables.
macro_rules! named_enum {
    ($(#[$about:meta])* $enum:ident { $($(#[$doc:meta])* $variant:ident $key:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $enum {
            $($(#[$doc])* #[doc = concat!("`", $key, "`")] $variant,)*
        }

        impl $enum {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name outside of the program.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$variant => $key,)*
                }
            }
        }
    };
}
pub(crate) use named_enum;

/// A file with rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it says.
    pub(crate) text: &'static str,
}

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    table: &'static str,
    line: usize,
    /// The section that it is in; empty before the first one.
    pub(crate) section: &'static str,
    /// Its fields.
    pub(crate) fields: Vec<&'static str>,
}

impl Table {
    /// Its rows, in their order.
    pub(crate) fn rows(self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut section = "";
        for (index, line) in self.text.lines().enumerate() {
            let number = index + 1;
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name;
                continue;
            }
            let continued = line.strip_prefix('\t');
            if continued.is_none() {
                rows.push(Row {
                    table: self.name,
                    line: number,
                    section,
                    fields: Vec::with_capacity(6),
                });
            }
            let Some(row) = rows.last_mut().filter(|row| row.section == section) else {
                refuse(self.name, number, "it continues no row");
            };
            for field in continued.unwrap_or(line).split('\t') {
                if field.is_empty() || field.starts_with(' ') || field.ends_with(' ') {
                    refuse(self.name, number, "a field is empty, or starts or ends with a space");
                }
                row.fields.push(field);
            }
        }
        rows
    }

    /// What the rows say of `all`: one row each, in the same order, its key as the first field.
    pub(crate) fn about<K: Copy, T>(
        self,
        all: &[K],
        key: fn(K) -> &'static str,
        read: fn(&Row, K) -> T,
    ) -> Vec<T> {
        let mut rows = self.rows().into_iter();
        let mut said = Vec::with_capacity(all.len());
        for one in all {
            let wanted = key(*one);
            match rows.next() {
                Some(row) if row.fields[0] == wanted => said.push(read(&row, *one)),
                Some(row) => row.refuse(&format!("the row of '{wanted}' is to come here")),
                None => panic!("data/{}: the row of '{wanted}' is missing", self.name),
            }
        }
        if let Some(row) = rows.next() {
            row.refuse("the program knows nothing more");
        }
        said
    }
}

impl Row {
    /// Its fields, of which there are `N`.
    pub(crate) fn fields<const N: usize>(&self) -> [&'static str; N] {
        match <[&str; N]>::try_from(self.fields.as_slice()) {
            Ok(fields) => fields,
            Err(_) => self.refuse(&format!("{} fields instead of {N}", self.fields.len())),
        }
    }

    /// A field that is a number.
    pub(crate) fn number(&self, field: &str) -> f64 {
        field.parse().unwrap_or_else(|_| self.refuse(&format!("'{field}' is no number")))
    }

    /// A field that is one of the words of an enum.
    pub(crate) fn word<T: Deserialize<'static>>(&self, field: &'static str) -> T {
        let word = StrDeserializer::<Error>::new(field);
        T::deserialize(word).unwrap_or_else(|wrong| self.refuse(&wrong.to_string()))
    }

    /// A field that is the key of one of `all`.
    pub(crate) fn one_of<T: Copy>(&self, all: &[T], key: fn(T) -> &'static str, field: &str) -> T {
        let found = all.iter().find(|one| key(**one) == field);
        *found.unwrap_or_else(|| self.refuse(&format!("nothing is called '{field}'")))
    }

    /// Stops at this row, which is wrong.
    pub(crate) fn refuse(&self, why: &str) -> ! {
        refuse(self.table, self.line, why)
    }
}

fn refuse(table: &str, line: usize, why: &str) -> ! {
    panic!("data/{table}:{line}: {why}")
}

/// Lists: their names, the rows of their table, and their sections.
macro_rules! lists {
    ($($name:ident $rows:ident $section:literal,)*) => {
        $(pub(in crate::recording) static $name: LazyLock<Vec<&str>> =
            LazyLock::new(|| crate::table::list(&$rows, $section));)*

        #[cfg(test)]
        const LISTS: &[(&LazyLock<Vec<Row>>, &str)] = &[$((&$rows, $section)),*];
    };
}
pub(crate) use lists;

/// The rows of a section, each with `N` fields.
pub(crate) fn section<const N: usize>(rows: &[Row], name: &str) -> Vec<[&'static str; N]> {
    rows.iter().filter(|row| row.section == name).map(Row::fields).collect()
}

/// The rows of a section, each with one field.
pub(crate) fn list(rows: &[Row], name: &str) -> Vec<&'static str> {
    section::<1>(rows, name).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &'static str) -> Table {
        Table { name: "x.tsv", text }
    }

    fn keyed(text: &'static str) -> Vec<&'static str> {
        table(text).about(&["a", "b"], |key| key, |row, _| row.fields::<2>()[1])
    }

    #[test]
    fn rows_go_on_in_indented_lines_and_belong_to_sections() {
        let rows = table("# x\na\t1\n\n[s]\nb\n\t2\t3\n\t4\n").rows();
        assert_eq!((rows[0].section, rows[0].fields.as_slice()), ("", &["a", "1"][..]));
        assert_eq!((rows[1].section, rows[1].fields.as_slice()), ("s", &["b", "2", "3", "4"][..]));
        assert_eq!(keyed("a\t1\nb\t2"), ["1", "2"]);
    }

    #[test]
    #[should_panic(expected = "data/x.tsv:2: a field is empty")]
    fn an_empty_field_is_refused() {
        table("a\t1\nb\t\t2").rows();
    }

    #[test]
    #[should_panic(expected = "data/x.tsv:3: it continues no row")]
    fn a_line_that_continues_a_section_is_refused() {
        table("a\t1\n[s]\n\t2").rows();
    }

    #[test]
    #[should_panic(expected = "data/x.tsv:2: the row of 'b' is to come here")]
    fn a_row_in_the_wrong_place_is_refused() {
        keyed("a\t1\na\t3\nb\t2");
    }

    #[test]
    #[should_panic(expected = "data/x.tsv:3: the program knows nothing more")]
    fn a_row_that_nothing_asks_for_is_refused() {
        keyed("a\t1\nb\t2\nc\t3");
    }

    #[test]
    #[should_panic(expected = "data/x.tsv: the row of 'b' is missing")]
    fn a_key_without_a_row_is_refused() {
        keyed("a\t1");
    }

    #[test]
    #[should_panic(expected = "data/x.tsv:2: 3 fields instead of 2")]
    fn a_row_of_the_wrong_length_is_refused() {
        keyed("a\t1\nb\t2\t3");
    }

    #[test]
    #[should_panic(expected = "data/x.tsv:1: 'a' is no number")]
    fn a_word_in_place_of_a_number_is_refused() {
        let row = &table("a").rows()[0];
        row.number(row.fields[0]);
    }
}
