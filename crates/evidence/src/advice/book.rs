//! All rules: those of the program, and those of a host beside them.

use super::rule::{Product, Rule};
use std::collections::BTreeMap;
use std::fmt;

/// Largest file of rules that is read, in bytes: ours have less than 8 KiB.
pub const FILE_BYTES_MAX: u64 = 256 << 10;
/// Most rules of a file.
const RULES_MAX: usize = 200;
/// Longest text in a file, in bytes.
const TEXT_BYTES_MAX: usize = 600;

/// What is wrong with a file of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The file.
    pub file: String,
    /// Its line, from 1.
    pub line: Option<usize>,
    /// What is wrong, and what was expected.
    pub what: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

impl std::error::Error for RuleError {}

/// Where a rule comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The program.
    BuiltIn,
    /// A file of the host.
    File(String),
}

/// Rules by product.
#[derive(Clone, Debug, Default)]
pub struct Book {
    products: BTreeMap<String, Product>,
    /// Files from which rules were taken, by rule.
    origins: BTreeMap<String, String>,
}

impl Book {
    /// The rules of the program.
    ///
    /// # Panics
    /// Where one of its files is wrong, which its test finds.
    pub fn built_in() -> Self {
        let mut book = Self::default();
        for (file, text) in super::files::BUILT_IN {
            let product = read(file, text);
            book.add(product.unwrap_or_else(|error| panic!("{error}")), &Origin::BuiltIn);
        }
        book
    }

    /// Adds a product. What is said of one that is known already replaces the rules of the same
    /// id, unless their revision is higher, and adds the others; where it does not say how it is
    /// recognised, that stays.
    pub fn add(&mut self, new: Product, origin: &Origin) {
        if let Origin::File(file) = origin {
            let known: Vec<Rule> = self.rules().map(|(_, rule)| rule.clone()).collect();
            let differs = |rule: &&Rule| !known.contains(rule);
            let changed = new.rules.iter().filter(differs);
            self.origins.extend(changed.map(|rule| (rule.id.clone(), file.clone())));
        }
        let Some(known) = self.products.get_mut(&new.id) else {
            self.products.insert(new.id.clone(), new);
            return;
        };
        let mut rules = new.rules.clone();
        for rule in &known.rules {
            match rules.iter_mut().find(|other| other.id == rule.id) {
                None => rules.push(rule.clone()),
                Some(other) if other.revision < rule.revision => *other = rule.clone(),
                Some(_) => {}
            }
        }
        let is_named = !new.programs.is_empty()
            || !new.arguments.is_empty()
            || !new.libraries.is_empty()
            || new.go
            || new.host;
        match is_named {
            true => *known = Product { rules, ..new },
            false => known.rules = rules,
        }
        if !known.rules.is_empty() {
            known.silent = None;
        }
    }

    /// All products, by id.
    pub fn products(&self) -> impl Iterator<Item = &Product> {
        self.products.values()
    }

    /// The product of that id.
    pub fn product(&self, id: &str) -> Option<&Product> {
        self.products.get(id)
    }

    /// All rules with their products, by product.
    pub fn rules(&self) -> impl Iterator<Item = (&Product, &Rule)> {
        self.products().flat_map(|product| product.rules.iter().map(move |rule| (product, rule)))
    }

    /// The file of the host from which a rule comes; `None`: the program.
    pub fn file_of(&self, rule: &str) -> Option<&str> {
        self.origins.get(rule).map(String::as_str)
    }
}

/// Reads a file of rules.
///
/// # Errors
/// What is wrong, and in which line.
pub fn read(file: &str, text: &str) -> Result<Product, RuleError> {
    let wrong = |line, what: String| RuleError { file: file.to_owned(), line, what };
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(wrong(None, format!("more than {FILE_BYTES_MAX} bytes")));
    }
    for (at, line) in text.lines().enumerate() {
        let is_hidden = |letter: char| letter.is_control() && letter != '\t';
        if line.len() > TEXT_BYTES_MAX {
            let what = format!("a line of {} bytes: at most {TEXT_BYTES_MAX}", line.len());
            return Err(wrong(Some(at + 1), what));
        }
        if line.contains(is_hidden) {
            return Err(wrong(Some(at + 1), "a control character".to_owned()));
        }
    }
    let product: Product = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| {
            let before = text.as_bytes().get(..span.start).unwrap_or_default();
            1 + before.iter().filter(|byte| **byte == b'\n').count()
        });
        wrong(line, error.message().to_owned())
    })?;
    let count = product.rules.len() + product.examples.len() + product.switches.len();
    if count > RULES_MAX {
        return Err(wrong(
            None,
            format!("{count} rules, switches and examples: at most {RULES_MAX}"),
        ));
    }
    Ok(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_wrong_is_refused_with_its_line() {
        for (text, line, what) in [
            ("id = \"x\"\nname = 3\n", Some(2), "string"),
            ("id = \"x\"\nnmae = \"X\"\n", Some(2), "unknown field"),
            ("[[rule]]\nid = \"x-1\"\n", Some(1), "missing field"),
            ("id = \"\u{1b}[31m\"\n", Some(1), "control character"),
            ("id = \"x\"\n[[rule]]\nsetting = \"vm/../x\"\n", Some(3), "is no setting"),
        ] {
            let error = read("x.toml", text).expect_err(text);
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.what.contains(what), "{text}: {error}");
        }
        let long = format!("id = \"{}\"", "x".repeat(TEXT_BYTES_MAX));
        assert!(read("x.toml", &long).is_err_and(|error| error.what.contains("at most")));
        let nested = "[".repeat(100_000);
        assert!(read("x.toml", &nested).is_err());
    }

    #[test]
    fn a_rule_of_the_host_replaces_one_of_the_same_id() {
        let mut book = Book::default();
        let rule = |id: &str, accept: &str| {
            format!(
                "[[rule]]\nid = \"{id}\"\nrevision = 1\ndate = \"2026-11-30\"\nsetting = \"thp\"\n\
                 accept = [\"{accept}\"]\nlevel = \"required\"\nwhy = \"w\"\nsource = \"s\"\n\
                 read_on = \"2026-11-30\"\n"
            )
        };
        let product = |rules: &str| {
            read("x.toml", &format!("id = \"x\"\nname = \"X\"\n{rules}")).expect("a product")
        };
        book.add(product(&(rule("x-1", "never") + &rule("x-2", "always"))), &Origin::BuiltIn);
        book.add(product(&rule("x-1", "madvise")), &Origin::File("/etc/x.toml".into()));
        let rules: Vec<_> =
            book.rules().map(|(_, rule)| (rule.id.as_str(), rule.accept[0].as_str())).collect();
        assert_eq!(rules, [("x-1", "madvise"), ("x-2", "always")]);
        assert_eq!((book.file_of("x-1"), book.file_of("x-2")), (Some("/etc/x.toml"), None));
    }
}
