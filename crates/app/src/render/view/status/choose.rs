//! Which processes are shown, in which order, and with which fields: by the names that the fields
//! have in JSON.

use super::fields::{BLOAT, Field, Kind, TARGET, Value};
use hugewise_base::size;
use hugewise_manager::status::TargetStatus;
use std::cmp::{Ordering, Reverse};

type Known = &'static Field<TargetStatus>;

/// What a user has chosen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    /// The columns; none: as usual.
    pub(crate) fields: Vec<Known>,
    /// The order; `None`: as usual.
    pub(crate) order: Option<Order>,
    /// All of them must hold.
    pub(crate) tests: Vec<Test>,
}

/// An order of processes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order {
    /// By this field.
    pub(crate) field: Known,
    /// The largest first.
    pub(crate) descending: bool,
}

/// Something that holds for a process, or does not.
#[derive(Debug, Clone)]
pub(crate) struct Test {
    field: Known,
    wanted: Condition,
}

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Above(f64),
    Below(f64),
    Equal(f64),
    /// Text, in small letters.
    Has(String),
}

impl Choice {
    /// From the words of the command line.
    ///
    /// # Errors
    /// What is not understood, with what is.
    pub(crate) fn parse(
        fields: Option<&str>,
        sort: Option<&str>,
        filters: &[String],
    ) -> Result<Self, String> {
        let names = fields.iter().flat_map(|list| list.split(',')).map(str::trim);
        let fields = names.map(|name| field(name, "--fields")).collect::<Result<_, _>>()?;
        let order = sort.map(|text| {
            let (name, descending) = match text.split_once(':') {
                None => (text, true),
                Some((name, "asc")) => (name, false),
                Some((name, "desc")) => (name, true),
                Some((_, other)) => {
                    return Err(format!("--sort: '{other}': allowed are ':asc' and ':desc'"));
                }
            };
            Ok(Order { field: field(name, "--sort")?, descending })
        });
        let tests = filters.iter().map(|text| Test::parse(text)).collect::<Result<_, _>>()?;
        Ok(Self { fields, order: order.transpose()?, tests })
    }

    /// Whether it is not as usual which processes are shown.
    pub(crate) fn is_of_rows(&self) -> bool {
        self.order.is_some() || !self.tests.is_empty()
    }

    /// Leaves those that pass, in order.
    pub(crate) fn apply(&self, processes: &mut Vec<TargetStatus>) {
        processes.retain(|process| self.tests.iter().all(|test| test.holds(process)));
        if let Some(order) = self.order {
            processes.sort_by(|a, b| order.compare(a, b));
        }
    }
}

impl Choice {
    /// The same, the largest first where nothing else is asked for.
    pub(crate) fn apply_or_largest_first(&self, processes: &mut Vec<TargetStatus>) {
        self.apply(processes);
        if !self.is_of_rows() {
            processes.sort_by_key(|process| (Reverse(process.anon), process.pid));
        }
    }
}

/// The field of a name.
fn field(name: &str, option: &str) -> Result<Known, String> {
    let all = || TARGET.iter().chain(BLOAT);
    all().find(|field| field.key == name).ok_or_else(|| {
        let names: Vec<&str> = all().map(|field| field.key).collect();
        let name = name.escape_debug();
        format!("{option}: there is no field '{name}'; there are {}", names.join(", "))
    })
}

impl Order {
    /// What is unknown comes last in any order; of equals the smaller pid first.
    pub(crate) fn compare(&self, a: &TargetStatus, b: &TargetStatus) -> Ordering {
        let known = |value: &Value| {
            !matches!(value, Value::Text(None) | Value::Number(None) | Value::Float(None))
        };
        let (one, other) = ((self.field.get)(a), (self.field.get)(b));
        let order = match (&one, &other) {
            _ if known(&one) != known(&other) => return known(&other).cmp(&known(&one)),
            (Value::Text(one), Value::Text(other)) => one.cmp(other),
            (Value::Number(one), Value::Number(other)) => one.cmp(other),
            (Value::Float(Some(one)), Value::Float(Some(other))) => one.total_cmp(other),
            _ => Ordering::Equal,
        };
        let order = if self.descending { order.reverse() } else { order };
        order.then(a.pid.cmp(&b.pid))
    }
}

impl Test {
    /// From text such as `anon>1GiB`, `huge_percent<50` or `name=redis`.
    ///
    /// # Errors
    /// What is not understood.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("--filter '{}': {why}", text.escape_debug());
        let at = text.find(['<', '>', '=']).ok_or_else(|| {
            wrong("expected FIELD>VALUE, FIELD<VALUE or FIELD=VALUE, such as anon>1GiB")
        })?;
        let (name, rest) = text.split_at(at);
        let field = field(name.trim(), "--filter")?;
        let (sign, value) = rest.split_at(1);
        let value = value.trim();
        if field.kind == Kind::Text {
            let wanted = Condition::Has(value.to_lowercase());
            return match sign {
                "=" => Ok(Self { field, wanted }),
                _ => Err(wrong("text can only be compared by =")),
            };
        }
        let number = match field.kind {
            Kind::Bytes => {
                let why = |why| wrong(&format!("the value must be a size such as 512MiB: {why}"));
                size::with_unit(value).map_err(why)?.bytes() as f64
            }
            _ => {
                let number = value.trim_end_matches('%').parse::<f64>();
                let number = number.ok().filter(|value| value.is_finite());
                number.ok_or_else(|| wrong("the value must be a number"))?
            }
        };
        let wanted = match sign {
            ">" => Condition::Above(number),
            "<" => Condition::Below(number),
            _ => Condition::Equal(number),
        };
        Ok(Self { field, wanted })
    }

    /// Whether it holds; of what is unknown nothing does.
    pub(crate) fn holds(&self, process: &TargetStatus) -> bool {
        let value = (self.field.get)(process);
        let number = match &value {
            Value::Number(number) => number.map(|number| number as f64),
            Value::Float(number) => *number,
            Value::Text(_) => None,
        };
        match (&self.wanted, number) {
            (Condition::Above(limit), Some(number)) => number > *limit,
            (Condition::Below(limit), Some(number)) => number < *limit,
            (Condition::Equal(wanted), Some(number)) => (number - wanted).abs() < f64::EPSILON,
            (Condition::Has(part), _) => {
                matches!(value, Value::Text(Some(text)) if text.to_lowercase().contains(part))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::view::status::tests::sample;
    use proptest::prelude::*;

    fn pids(sort: Option<&str>, filters: &[&str]) -> Vec<u32> {
        let filters: Vec<String> = filters.iter().map(|text| (*text).to_owned()).collect();
        let choice = Choice::parse(None, sort, &filters).expect("understood");
        let mut processes = sample().processes;
        choice.apply(&mut processes);
        processes.iter().map(|process| process.pid).collect()
    }

    #[test]
    fn processes_are_filtered_and_sorted_by_the_names_of_fields() {
        assert_eq!(pids(Some("pid"), &[]), [4_194_304, 812]);
        assert_eq!(pids(Some("pid:asc"), &[]), [812, 4_194_304]);
        // Nothing is known of the share of one of them.
        assert_eq!(pids(Some("huge_percent:asc"), &[]), [812, 4_194_304]);
        assert_eq!(pids(None, &["anon>1GiB", "name=POSTGRES"]), [812]);
        assert_eq!(pids(None, &["huge_percent<50"]), [0_u32; 0]);
        assert_eq!(pids(None, &["huge_percent > 50%"]), [812]);
        assert_eq!(pids(None, &["pid=812"]), [812]);
        assert_eq!(pids(None, &["bloat.remembered>1MiB"]), [812]);
    }

    #[test]
    fn what_is_not_understood_says_what_is() {
        let wrong = |fields, sort, filter: &str| {
            let filters = [filter.to_owned()];
            Choice::parse(fields, sort, &filters).expect_err("wrong")
        };
        let error = wrong(Some("pid,nam"), None, "pid=1");
        assert!(
            error.starts_with("--fields: there is no field 'nam'; there are pid, name"),
            "{error}"
        );
        assert!(wrong(None, Some("pid:up"), "pid=1").contains("':asc'"));
        assert!(wrong(None, None, "anon").contains("such as anon>1GiB"));
        assert!(wrong(None, None, "anon>much").contains("a size such as 512MiB"));
        assert!(wrong(None, None, "anon>1000").contains("'1000' has no unit: write 1000GiB"));
        assert!(wrong(None, None, "name>a").contains("only be compared by ="));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z_.]{0,12}[<>=]?.{0,12}") {
            let _ = Test::parse(&text);
            let _ = Choice::parse(Some(&text), Some(&text), &[]);
        }
    }
}
