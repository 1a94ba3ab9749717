//! Which kernels the live tests run on, which of them run there, and what README says of that.

use crate::vm;
use crate::vm::guest::Outcome;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A virtual machine, and what is tested there.
#[derive(Debug, Clone, Copy)]
pub struct Guest {
    /// What its trials are named by.
    pub name: &'static str,
    /// Its kernel ([`vm::kernel`]).
    pub series: &'static str,
    /// NUMA nodes.
    pub nodes: u32,
    /// Its memory, MiB.
    pub memory_mib: u32,
    /// Only tests whose name holds this.
    pub only: Option<&'static str>,
    /// Only these, where there are any.
    pub named: &'static [&'static str],
    /// ... and these where time does not matter.
    pub named_in_soak: &'static [&'static str],
    /// Only where time does not matter.
    pub soak: bool,
    /// What README calls it and says of it; a guest without is no row there.
    pub row: Option<Row>,
}

/// A guest in README.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The kernel.
    pub kernel: &'static str,
    /// The tier that `doctor` must name there (`docs/measurements.md#kernel-tiers`).
    pub tier: &'static str,
    /// What each of [`COLUMNS`] comes to there.
    pub cells: [Cell; COLUMNS.len()],
}

/// What is claimed of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// It works.
    Yes,
    /// It works, with this said of it.
    So(&'static str),
    /// Its tests cannot run there, for this reason.
    No(&'static str),
}

/// A column of README's table, and the tests that show what stands there. One that is skipped shows
/// nothing; where all are, the cell must be a `No`.
#[derive(Debug)]
pub struct Column {
    /// Its title.
    pub title: &'static str,
    /// Names of tests.
    pub tests: &'static [&'static str],
}

/// What is shown of each kernel.
pub const COLUMNS: [Column; 4] = [
    Column { title: "promotes", tests: &["dense_memory_becomes_huge", ALL_OF_IT] },
    Column {
        title: "gives back",
        tests: &["zero_pages_come_back_or_it_is_said", "partially_mapped_blocks_come_back"],
    },
    Column { title: "data verified", tests: &["writers_find_no_wrong_word"] },
    Column {
        title: "reverts",
        tests: &["settings_come_back_by_revert_after_a_kill", "thp_set_is_put_back_by_thp_revert"],
    },
];

/// Filter of the tests that README's table rests on. Begins the name of the one that compares.
pub const README: &str = "readme";
/// Compares the tier that `doctor` names with that of the row.
const OF_TIER: &str = "doctor_names_the_tier_of_this_kernel";
const ALL_OF_IT: &str = "all_memory_of_a_machine_with_one_zone_becomes_huge";

/// What depends on zones, on the size of pages or on the architecture: promotion, the waste that
/// comes back, data, settings, and what the kernel offers.
const OF_ARM64: [&str; 12] = [
    "kernel_names_itself",
    OF_TIER,
    "doctor_answers_and_changes_no_setting",
    "dense_memory_becomes_huge",
    ALL_OF_IT,
    "sparse_memory_stays_small",
    "zero_pages_come_back_or_it_is_said",
    "partially_mapped_blocks_come_back",
    "settings_are_owned_and_put_back",
    "settings_come_back_by_revert_after_a_kill",
    "thp_set_is_put_back_by_thp_revert",
    "writers_find_no_wrong_word",
];

/// Where time does not matter, also what is slow there.
const OF_ARM64_IN_SOAK: [&str; 3] = [
    STATES,
    "sizes_that_khugepaged_makes_are_bounded_and_counted",
    "compaction_makes_blocks_for_waiting_promotions",
];
/// The same with huge pages of 32 MiB, but compaction, which nobody has tried there.
const OF_16K_IN_SOAK: [&str; 1] = [STATES];
const STATES: &str = "states_are_diagnosed_whatever_the_size_of_pages";

/// Before 6.1, as tests say it.
const TIER_D: Cell = Cell::No("no: needs 6.1");

impl Guest {
    const fn of(series: &'static str) -> Self {
        let memory_mib = vm::MEMORY_MIB;
        let (name, named, named_in_soak) = (series, [].as_slice(), [].as_slice());
        let (nodes, only, soak, row) = (1, None, false, None);
        Self { name, series, nodes, memory_mib, only, named, named_in_soak, soak, row }
    }

    /// One of arm64: all of its memory lies in zone DMA, which ends at 4 GiB.
    const fn of_arm64(series: &'static str, memory_mib: u32) -> Self {
        Self { memory_mib, named: &OF_ARM64, named_in_soak: &OF_ARM64_IN_SOAK, ..Self::of(series) }
    }

    const fn in_soak(self) -> Self {
        Self { soak: true, ..self }
    }

    const fn row(self, kernel: &'static str, tier: &'static str, cells: [Cell; 4]) -> Self {
        Self { row: Some(Row { kernel, tier, cells }), ..self }
    }

    /// The only tests that run there; none: all.
    pub fn tests(&self, soak: bool, of_readme: bool) -> Vec<&'static str> {
        if of_readme {
            let shown = COLUMNS.iter().flat_map(|column| column.tests);
            return shown.copied().chain([OF_TIER]).collect();
        }
        let more = if soak { self.named_in_soak } else { &[] };
        self.named.iter().chain(more).copied().collect()
    }

    /// Whether it is of arm64, and not of x86-64.
    pub fn is_arm64(&self) -> bool {
        vm::kernel::is_arm64(self.series)
    }
}

/// All of them.
pub const GUESTS: [Guest; 8] = {
    use Cell::{So, Yes};
    let keeps = So("partially mapped blocks");
    [
        Guest::of("6.12").row("x86-64 6.12", "A", [Yes; 4]),
        Guest::of("6.1").row("x86-64 6.1", "C", [Yes, keeps, Yes, Yes]),
        Guest::of("5.10").in_soak().row("x86-64 5.10", "D", [TIER_D, TIER_D, TIER_D, Yes]),
        Guest::of("newest").in_soak().row("x86-64 newest (7.3)", "A", [Yes; 4]),
        // What depends on nodes and on nothing else.
        Guest { name: "numa", nodes: 2, only: Some("numa"), ..Guest::of("6.12") },
        Guest::of_arm64("arm64-6.12", 2048).row("arm64 6.12", "A", [Yes; 4]),
        Guest::of_arm64("arm64-newest", 2048).in_soak().row("arm64 newest (7.3)", "A", [Yes; 4]),
        Guest { named_in_soak: &OF_16K_IN_SOAK, ..Guest::of_arm64("arm64-16k", 3072) }
            .in_soak()
            .row("arm64 6.12, pages of 16 KiB", "A", [Yes; 4]),
    ]
};

/// README's table: a row for each guest that has one.
pub fn table() -> String {
    let mut out = String::from("| kernel | guest | tier |");
    COLUMNS.iter().for_each(|column| out += &format!(" {} |", column.title));
    out += "\n|---|---|---|";
    out += &"---|".repeat(COLUMNS.len());
    out.push('\n');
    for guest in &GUESTS {
        let Some(row) = guest.row else { continue };
        let _ = write!(out, "| {} | `{}` | {} |", row.kernel, guest.name, row.tier);
        for cell in row.cells {
            let text = match cell {
                Cell::Yes => "yes",
                Cell::So(text) | Cell::No(text) => text,
            };
            let _ = write!(out, " {text} |");
        }
        out.push('\n');
    }
    out
}

/// What a run of all tests of a guest shows against README: one sentence for each cell that says
/// something else. Tests that were not run show nothing.
pub fn contradictions(guest: &Guest, outcomes: &BTreeMap<String, Outcome>) -> Vec<String> {
    let Some(row) = guest.row else { return Vec::new() };
    let mut all = Vec::new();
    for (column, cell) in COLUMNS.iter().zip(row.cells) {
        let shown: Vec<&Outcome> =
            column.tests.iter().filter_map(|test| outcomes.get(*test)).collect();
        let works = shown.iter().any(|outcome| matches!(outcome, Outcome::Passed));
        let fails = shown.iter().any(|outcome| matches!(outcome, Outcome::Failed(_)));
        let claims = !matches!(cell, Cell::No(_));
        if !shown.is_empty() && (works != claims || fails) {
            all.push(format!(
                "README says {cell:?} of '{}' on {}, and its tests: {shown:?}",
                column.title, guest.name
            ));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(outcomes: &[(&str, Outcome)]) -> BTreeMap<String, Outcome> {
        outcomes.iter().map(|(name, outcome)| ((*name).to_owned(), outcome.clone())).collect()
    }

    #[test]
    fn each_claim_has_a_test_that_its_guest_runs() {
        for guest in GUESTS.iter().filter(|guest| guest.row.is_some() && !guest.named.is_empty()) {
            for column in &COLUMNS {
                let named = |test: &&str| guest.named.contains(test);
                assert!(column.tests.iter().any(named), "{} on {}", column.title, guest.name);
            }
        }
        let mut names: Vec<_> = GUESTS.iter().map(|guest| guest.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), GUESTS.len());
    }

    #[test]
    fn a_run_that_shows_something_else_contradicts() {
        let (promotes, skipped) = (COLUMNS[0].tests[0], Outcome::Skipped("tier D".into()));
        let (new, old) = (&GUESTS[0], &GUESTS[2]);
        assert!(contradictions(new, &run(&[(promotes, Outcome::Passed)])).is_empty());
        assert!(contradictions(old, &run(&[(promotes, skipped.clone())])).is_empty());
        assert!(contradictions(new, &run(&[])).is_empty(), "nothing was run");
        let failed = Outcome::Failed("no".into());
        for (guest, outcome) in [(new, skipped), (new, failed), (old, Outcome::Passed)] {
            assert_eq!(contradictions(guest, &run(&[(promotes, outcome)])).len(), 1);
        }
    }
}
