//! Switches of programs: what makes their memory huge, as data, and how they are given.

use super::program::{Part, Program};
use crate::snapshot::ThpMode;
use std::collections::BTreeMap;

/// One switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Whose.
    pub part: Part,
    /// It makes the program ask for huge pages; else it keeps it from refusing them.
    pub asks: bool,
    /// Values of the top file under which it does anything.
    pub under: &'static [ThpMode],
    /// How it is given.
    pub how: How,
    /// Memory of the program that it does not reach.
    pub leaves_out: Option<&'static str>,
}

/// How a switch is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// One setting of a variable.
    Variable {
        /// Its name; jemalloc's may have a prefix.
        name: &'static str,
        /// What stands between settings; `None`: there is one.
        between: Option<char>,
        /// The setting, up to its value.
        key: &'static str,
        /// The value that is given, and others that are as good.
        values: &'static [&'static str],
    },
    /// An argument before all others, or in a variable where a script or a container has no place
    /// for it.
    First {
        /// The argument.
        argument: &'static str,
        /// Its contrary.
        contrary: &'static str,
        /// The variable, of arguments between blanks.
        variable: &'static str,
    },
    /// Two words behind all others.
    Last {
        /// The words.
        words: [&'static str; 2],
        /// The second of them where it says the contrary.
        contrary: &'static str,
        /// With one of these as the first argument the program is something else.
        unless: &'static [&'static str],
    },
}

const MADVISE: &[ThpMode] = &[ThpMode::Madvise];

/// Variables of the loader and of libraries that look whether the program is privileged.
const DROPPED_WHEN_PRIVILEGED: [&str; 2] = ["GLIBC_TUNABLES", "MALLOC_CONF"];

impl How {
    /// The variable, where it is one.
    pub fn variable(&self) -> &'static str {
        match self {
            Self::Variable { name, .. } => name,
            Self::First { variable, .. } => variable,
            Self::Last { .. } => "",
        }
    }

    /// Whether the program is started with more privileges than its caller has, so that this is
    /// ignored.
    pub fn is_ignored_by(&self, program: &Program) -> bool {
        let variable = self.variable();
        program.privileged.is_some() && DROPPED_WHEN_PRIVILEGED.contains(&variable)
    }
}

/// The switch of a part. Measured with each program that is named in `docs/how-to/run-policy.md`.
fn of_part(part: &Part) -> Option<Switch> {
    let variable = |name, between, key, values| How::Variable { name, between, key, values };
    let first =
        |argument, contrary| How::First { argument, contrary, variable: "JDK_JAVA_OPTIONS" };
    let ask =
        |how| Switch { part: part.clone(), asks: true, under: MADVISE, how, leaves_out: None };
    Some(match part {
        // malloc/malloc.c: asks only where the top file says madvise (glibc 2.35).
        Part::Glibc => ask(variable("GLIBC_TUNABLES", Some(':'), "glibc.malloc.hugetlb=", &["1"])),
        // jemalloc(3), opt.thp (5.1).
        Part::Jemalloc(_) => ask(variable("MALLOC_CONF", Some(','), "thp:", &["always"])),
        Part::HotSpot => ask(first("-XX:+UseTransparentHugePages", "-XX:-UseTransparentHugePages")),
        // eclipse.dev/openj9/docs/xxtransparenthugepage: ignored where the file says otherwise.
        Part::OpenJ9 => ask(first("-XX:+TransparentHugePage", "-XX:-TransparentHugePage")),
        // Arenas of pymalloc are mapped one by one and never advised: objects go to malloc.
        Part::Python => ask(variable("PYTHONMALLOC", None, "", &["malloc", "malloc_debug"])),
        Part::Node => Switch {
            leaves_out: Some("V8's heap has no switch"),
            ..ask(variable("NODE_OPTIONS", Some(' '), "--use-largepages=", &["silent", "on"]))
        },
        // src/server.c: calls PR_SET_THP_DISABLE where the top file says always (6.2).
        Part::Redis => Switch {
            part: part.clone(),
            asks: false,
            under: &[ThpMode::Always],
            how: How::Last {
                words: ["--disable-thp", "no"],
                contrary: "yes",
                unless: &["-v", "--version", "-h", "--help", "--test-memory", "--check-system"],
            },
            leaves_out: None,
        },
        Part::Go | Part::OtherJvm | Part::OldGlibc | Part::Allocator(_) | Part::Other => {
            return None;
        }
    })
}

/// All switches of a program, whatever the machine's switch says.
pub fn all(program: &Program) -> Vec<Switch> {
    let mut all: Vec<Switch> = program.parts.iter().filter_map(of_part).collect();
    let has_malloc = program.parts.iter().any(Part::is_malloc);
    // Alone it would only make Python slower.
    all.retain(|switch| switch.part != Part::Python || has_malloc);
    all
}

/// Those that do something under this value of the top file.
pub fn of(program: &Program, top: Option<ThpMode>) -> Vec<Switch> {
    let mut all = all(program);
    all.retain(|switch| top.is_some_and(|top| switch.under.contains(&top)));
    all
}

/// Why a program has no switch that would ask for huge pages.
pub fn why_none(program: &Program, top: Option<ThpMode>) -> String {
    let Some(part) = program.parts.last() else { return "its file says nothing".into() };
    let name = part.name();
    if let Some(why) = program.privileged {
        return format!("{why}, and its loader ignores the switch of {name}");
    }
    match of_part(part) {
        Some(_) if top != Some(ThpMode::Madvise) => format!(
            "{name} looks at the top file ('enabled'), which does not say 'madvise' as the file \
             of the size does"
        ),
        _ if *part == Part::OldGlibc => format!("{name} has a switch from 2.35 on only"),
        _ => format!("{name} has no switch of its own"),
    }
}

/// What stays without huge pages at faults under `always`, although nobody refuses them.
pub fn gap_under_always(program: &Program) -> Option<&'static str> {
    let grows = |part: &Part| match part {
        Part::Python => Some(
            "objects of Python lie in pieces of 1 MiB, which faults leave small: khugepaged or a \
             manager joins them",
        ),
        Part::Glibc | Part::OldGlibc => Some(
            "a heap that grows in small steps is left small by faults: khugepaged or a manager \
             joins it",
        ),
        _ => None,
    };
    program.parts.iter().find_map(grows)
}

/// How a program is called.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Its arguments, without its name.
    pub arguments: Vec<String>,
    /// Its environment.
    pub environment: BTreeMap<String, String>,
}

/// What is added to how it is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// Variables, as they are to be.
    pub environment: BTreeMap<String, String>,
    /// Arguments before its own.
    pub first: Vec<String>,
    /// Arguments behind its own.
    pub last: Vec<String>,
}

impl Call {
    /// Adds a switch; what it is, for people.
    ///
    /// # Errors
    /// What the program was given already says the contrary: what it was given.
    pub fn add(
        &mut self,
        switch: &Switch,
        program: &Program,
        given: &Given,
    ) -> Result<String, String> {
        match switch.how {
            How::Variable { between, key, values, name } => {
                let name = match &switch.part {
                    Part::Jemalloc(name) => name,
                    _ => name,
                };
                self.set(name, between, key, values, given)
            }
            How::First { argument, contrary, variable } => {
                if given.arguments.iter().any(|word| word == contrary) {
                    return Err(contrary.to_owned());
                }
                if !program.is_script {
                    if !given.arguments.iter().any(|word| word == argument) {
                        self.first.push(argument.to_owned());
                    }
                    return Ok(argument.to_owned());
                }
                self.set(variable, Some(' '), argument, &[""], given)
            }
            How::Last { words, contrary, unless } => {
                let [option, value] = words;
                let said = format!("{option} {value}");
                let is = |pair: &[String], value: &str| {
                    matches!(pair, [a, b] if a.eq_ignore_ascii_case(option)
                        && b.eq_ignore_ascii_case(value))
                };
                if given.arguments.windows(2).any(|pair| is(pair, contrary)) {
                    return Err(format!("{option} {contrary}"));
                }
                let other = given.arguments.first().is_some_and(|w| unless.contains(&w.as_str()));
                if !other && !given.arguments.windows(2).any(|pair| is(pair, value)) {
                    self.last.extend(words.map(str::to_owned));
                }
                Ok(said)
            }
        }
    }

    /// Joins one setting with what a variable holds.
    fn set(
        &mut self,
        name: &str,
        between: Option<char>,
        key: &str,
        values: &[&str],
        given: &Given,
    ) -> Result<String, String> {
        let value = values.first().copied().unwrap_or_default();
        let setting = format!("{key}{value}");
        let held = given.environment.get(name).map(String::as_str).unwrap_or_default();
        let mut settings = Vec::new();
        match between {
            Some(between) => settings.extend(held.split(between).filter(|one| !one.is_empty())),
            None => settings.extend((!held.is_empty()).then_some(held)),
        }
        // The last one counts.
        let own = settings.iter().rev().find_map(|one| one.strip_prefix(key));
        match own {
            Some(said) if values.contains(&said) => return Ok(format!("{name}={held}")),
            Some(said) => return Err(format!("{name}={key}{said}")),
            None => settings.push(&setting),
        }
        let between = between.map(String::from).unwrap_or_default();
        let joined = settings.join(&between);
        let said = format!("{name}={joined}");
        self.environment.insert(name.to_owned(), joined);
        Ok(said)
    }
}
