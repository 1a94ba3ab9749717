//! Which kernel settings a mode owns (`docs/how-to/give-back.md#choose-a-mode`), as a pure plan.

use crate::config::{Config, FaultSizes, Mode};
use crate::limits::fault_size::SizeReason;
use crate::limits::huge_faults::HugeFaults;
use crate::reason::SkipReason;
use crate::snapshot::ThpMode;
use hugewise_base::owner::Owner;
use hugewise_base::units::{Bytes, Geometry};

pub use hugewise_base::owner::{MIN_FREE, THP_DIR};
/// `manage`: THP settings, for as long as it runs.
pub const OWNER: Owner = Owner {
    trail: "trail.jsonl",
    owns: |file| file == MIN_FREE || is_thp(file),
    over_reboots: false,
};

fn is_thp(file: &str) -> bool {
    file.strip_prefix(THP_DIR).is_some_and(|rest| rest.starts_with('/'))
}

/// `max_ptes_none` that bounds nothing, of 512 base pages.
const ALL_BUT_ONE: u32 = 511;

/// khugepaged's longest pause, 49 days: `scan_sleep_millisecs` is an unsigned int
/// (Linux 6.18 mm/khugepaged.c).
pub const PARKED_MS: u32 = u32::MAX;

/// Current values of the files that modes own, as selected words; `None`: not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThpFiles {
    /// `enabled`.
    pub top: Option<String>,
    /// `hugepages-<size>kB/enabled`, from 6.8 on; `inherit` follows the top file.
    pub per_size: Option<String>,
    /// Name of the per-size directory.
    pub per_size_dir: String,
    /// `defrag`.
    pub defrag: Option<String>,
    /// `shmem_enabled`.
    pub shmem: Option<String>,
    /// `khugepaged/max_ptes_none`.
    pub max_ptes_none: Option<u32>,
    /// Base pages of a huge page; 0: the usual number.
    pub pages_per_huge: u32,
    /// khugepaged makes folios of multi-size THP, too (Linux 7.3), and counts them
    /// (`hugepages-<size>kB/stats/collapse_alloc`). For these it takes `max_ptes_none` for 0
    /// wherever that is not all base pages but one (mm/khugepaged.c of 7.3.4).
    pub collapses_to_sizes: bool,
}

/// One wanted setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedSetting {
    /// Path below the root.
    pub file: String,
    /// Value to write.
    pub value: String,
    /// Why, for the journal.
    pub why: &'static str,
}

impl ThpFiles {
    /// A setting that counts base pages of a usual huge page, in those of this machine's.
    fn of_all(&self, pages: u32) -> u32 {
        let usual = Geometry::X86_64.pages_per_huge();
        let ours = if self.pages_per_huge == 0 { usual } else { self.pages_per_huge };
        // All but one is a value of its own: no bound at all.
        if pages + 1 >= usual {
            return ours - 1;
        }
        u32::try_from(u64::from(pages) * u64::from(ours) / u64::from(usual)).unwrap_or(u32::MAX)
    }

    /// The mode in force and the file that decides it.
    pub fn effective(&self) -> Option<(ThpMode, String)> {
        let (word, file) = match self.per_size.as_deref() {
            None | Some("inherit") => (self.top.as_deref(), format!("{THP_DIR}/enabled")),
            word => (word, format!("{THP_DIR}/{}/enabled", self.per_size_dir)),
        };
        Some((ThpMode::parse(word?)?, file))
    }
}

/// What `mode` writes, given what is there.
///
/// # Errors
/// A reason for which the mode must not run at all: `no_thp` or `operator_never`.
pub fn wanted(
    config: &Config,
    mode: Mode,
    files: &ThpFiles,
) -> Result<Vec<WantedSetting>, SkipReason> {
    let (thp, file) = files.effective().ok_or(SkipReason::NoThp)?;
    if mode == Mode::Observe {
        return Ok(Vec::new());
    }
    if thp == ThpMode::Never && !config.promote.allow_under_never {
        return Err(SkipReason::OperatorNever);
    }
    let mut all = Vec::new();
    if !config.settings.own {
        return Ok(all);
    }
    let mut want = |file: String, value: String, why| all.push(WantedSetting { file, value, why });
    if config.settings.shmem && files.shmem.as_deref() == Some("never") {
        let why = "new shared mappings are placed so that huge pages fit";
        want(format!("{THP_DIR}/shmem_enabled"), "advise".into(), why);
    }
    let file_none = format!("{THP_DIR}/khugepaged/max_ptes_none");
    // What the operator made stricter stays.
    let lower = |none: u32| files.max_ptes_none.is_none_or(|now| now > none);
    if mode == Mode::Guard {
        let none = files.of_all(config.settings.guard_max_ptes_none);
        if lower(none) {
            let why = "khugepaged must not refill what is given back; arms the kernel's shrinker";
            want(file_none, none.to_string(), why);
        }
        if files.defrag.as_deref() == Some("always") {
            let why = "faults of those who did not ask must not compact memory";
            want(format!("{THP_DIR}/defrag"), "defer+madvise".into(), why);
        }
        return Ok(all);
    }
    // khugepaged first: once it is tamed, nothing undoes what the next steps prepare.
    if config.settings.park_khugepaged {
        let file = format!("{THP_DIR}/khugepaged/scan_sleep_millisecs");
        want(file, PARKED_MS.to_string(), "hugewise promotes instead of khugepaged");
    }
    let (mut none, mut why) = (
        files.of_all(config.settings.max_ptes_none),
        "khugepaged must not fill regions that are mostly empty",
    );
    if files.collapses_to_sizes && config.settings.max_ptes_none < ALL_BUT_ONE {
        (none, why) =
            (0, "khugepaged fills sizes below a huge page, and takes 0 or no bound there");
    }
    if lower(none) {
        want(file_none, none.to_string(), why);
    }
    if thp == ThpMode::Always && mode != Mode::Auto {
        want(file, "madvise".into(), "faults hand out small pages");
    }
    if let Some(value) = defrag(config, mode, files) {
        want(format!("{THP_DIR}/defrag"), value.into(), "faults must not compact memory");
    }
    Ok(all)
}

/// What modes that promote write to `defrag`; `None`: it stays. With `defer` a fault that finds no
/// free block takes base pages and wakes kcompactd, also where its program has asked for huge pages
/// (`docs/measurements.md#faults-that-compact`).
fn defrag(config: &Config, mode: Mode, files: &ThpFiles) -> Option<&'static str> {
    match (files.defrag.as_deref()?, config.settings.defer_compaction) {
        ("always" | "madvise" | "defer+madvise", true) => Some("defer"),
        ("always", false) if mode == Mode::Auto => Some("defer+madvise"),
        ("always", false) => Some("madvise"),
        _ => None,
    }
}

/// What is wanted of settings that change while a manager runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Momentary {
    /// Memory is short on the machine.
    pub short: bool,
    /// The size of folio that faults hand out; `None`: base pages.
    pub fault_size: Option<Bytes>,
    /// Why.
    pub size_reason: SizeReason,
    /// Whether faults hand out huge pages, in mode `auto`.
    pub huge_faults: Option<(bool, HugeFaults)>,
}

/// What `mode` writes at this moment. What is not wanted any more goes back. `switch` is the file
/// that decides about huge pages in faults.
pub fn for_now(
    config: &Config,
    mode: Mode,
    switch: Option<&str>,
    now: &Momentary,
) -> Vec<WantedSetting> {
    let mut all = Vec::new();
    if !config.settings.own || mode == Mode::Observe {
        return all;
    }
    if mode == Mode::Guard && config.settings.guard_parks_khugepaged && now.short {
        all.push(WantedSetting {
            file: format!("{THP_DIR}/khugepaged/scan_sleep_millisecs"),
            value: PARKED_MS.to_string(),
            why: "memory is short: khugepaged must not fill regions now",
        });
    }
    let whose = match config.settings.fault_sizes {
        FaultSizes::Off => None,
        FaultSizes::Advised => Some("madvise"),
        FaultSizes::All => Some("always"),
    };
    if let (Some(size), Some(whose)) = (now.fault_size, whose) {
        all.push(WantedSetting {
            file: format!("{THP_DIR}/hugepages-{}kB/enabled", size.0 >> 10),
            value: whose.into(),
            why: now.size_reason.text().0,
        });
    }
    if let (Some((huge, reason)), Some(switch)) = (now.huge_faults, switch) {
        all.push(WantedSetting {
            file: switch.into(),
            value: if huge { "always" } else { "madvise" }.into(),
            why: reason.text().0,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(top: &str, per_size: Option<&str>) -> ThpFiles {
        ThpFiles {
            top: Some(top.into()),
            per_size: per_size.map(Into::into),
            per_size_dir: "hugepages-2048kB".into(),
            defrag: Some("madvise".into()),
            shmem: Some("never".into()),
            max_ptes_none: Some(511),
            pages_per_huge: 512,
            collapses_to_sizes: false,
        }
    }

    fn written(files: &ThpFiles) -> Vec<(String, String)> {
        let wanted = wanted(&Config::default(), Mode::Ingens, files).expect("allowed");
        wanted.into_iter().map(|w| (w.file.replace(THP_DIR, ""), w.value)).collect()
    }

    #[test]
    fn the_per_size_file_wins_unless_it_inherits() {
        let deciding = |f: &ThpFiles| f.effective().map(|(mode, _)| mode);
        assert_eq!(deciding(&files("never", Some("always"))), Some(ThpMode::Always));
        assert_eq!(deciding(&files("always", Some("inherit"))), Some(ThpMode::Always));
        assert_eq!(deciding(&files("always", None)), Some(ThpMode::Always));
        assert_eq!(deciding(&ThpFiles::default()), None);
    }

    #[test]
    fn madvise_stays_and_always_becomes_madvise_where_it_is_decided() {
        assert_eq!(written(&files("madvise", Some("inherit"))).len(), 3);
        let always = written(&files("madvise", Some("always")));
        let file = "/hugepages-2048kB/enabled".to_owned();
        assert!(always.contains(&(file, "madvise".into())), "{always:?}");
    }

    #[test]
    fn guard_leaves_the_switch_and_khugepaged_pace_alone() {
        let always = ThpFiles { defrag: Some("always".into()), ..files("always", Some("inherit")) };
        let wanted = wanted(&Config::default(), Mode::Guard, &always).expect("allowed");
        let short = |w: &WantedSetting| (w.file.replace(THP_DIR, ""), w.value.clone());
        let written: Vec<_> = wanted.iter().map(short).collect();
        let expected = [("/khugepaged/max_ptes_none", "51"), ("/defrag", "defer+madvise")];
        assert_eq!(written, expected.map(|(file, value)| (file.into(), value.into())));
    }

    #[test]
    fn no_fault_compacts_memory_unless_that_is_asked_for() {
        let mut config = Config::default();
        let defrag = |config: &Config, mode, word: &str| {
            let files = ThpFiles { defrag: Some(word.into()), ..files("madvise", None) };
            let wanted = wanted(config, mode, &files).expect("allowed").into_iter();
            wanted.filter(|want| want.file.ends_with("/defrag")).map(|want| want.value).next()
        };
        for mode in [Mode::Ingens, Mode::Auto] {
            for word in ["always", "madvise", "defer+madvise"] {
                assert_eq!(defrag(&config, mode, word).as_deref(), Some("defer"), "{word}");
            }
            for word in ["defer", "never"] {
                assert_eq!(defrag(&config, mode, word), None, "{word}: none does anyway");
            }
        }
        assert_eq!(defrag(&config, Mode::Guard, "madvise"), None);
        config.settings.defer_compaction = false;
        assert_eq!(defrag(&config, Mode::Ingens, "madvise"), None);
        assert_eq!(defrag(&config, Mode::Ingens, "always").as_deref(), Some("madvise"));
        assert_eq!(defrag(&config, Mode::Auto, "always").as_deref(), Some("defer+madvise"));
    }

    #[test]
    fn a_stricter_max_ptes_none_stays() {
        let strict = ThpFiles { max_ptes_none: Some(10), ..files("madvise", None) };
        for mode in [Mode::Guard, Mode::Ingens] {
            let wanted = wanted(&Config::default(), mode, &strict).expect("allowed");
            assert!(wanted.iter().all(|w| !w.file.ends_with("max_ptes_none")), "{wanted:?}");
        }
    }

    #[test]
    fn shared_mappings_are_placed_well_where_that_is_asked() {
        let mut config = Config::default();
        let shmem = |config: &Config, files: &ThpFiles| {
            let wanted = wanted(config, Mode::Ingens, files).expect("allowed");
            let one = wanted.into_iter().find(|want| want.file.ends_with("/shmem_enabled"));
            one.map(|want| want.value)
        };
        let never = files("madvise", Some("inherit"));
        assert_eq!(shmem(&config, &never), None);
        config.settings.shmem = true;
        assert_eq!(shmem(&config, &never).as_deref(), Some("advise"));
        let denied = ThpFiles { shmem: Some("deny".into()), ..never };
        assert_eq!(shmem(&config, &denied), None, "the operator said no");
    }

    #[test]
    fn a_larger_huge_page_may_lack_as_much_of_it() {
        let of_16k = ThpFiles {
            max_ptes_none: Some(2047),
            pages_per_huge: 2048,
            ..files("madvise", Some("inherit"))
        };
        let file = "/khugepaged/max_ptes_none".to_owned();
        assert!(written(&of_16k).contains(&(file, "204".into())));
    }

    #[test]
    fn no_bound_is_no_bound_on_any_machine() {
        let of_16k = ThpFiles { pages_per_huge: 2048, ..ThpFiles::default() };
        assert_eq!((of_16k.of_all(511), of_16k.of_all(51), of_16k.of_all(0)), (2047, 204, 0));
        assert_eq!(ThpFiles::default().of_all(511), 511);
    }

    #[test]
    fn khugepaged_that_collapses_to_sizes_gets_a_bound_that_it_accepts() {
        let sizes = ThpFiles { collapses_to_sizes: true, ..files("madvise", Some("inherit")) };
        let none = |config: &Config, mode, files: &ThpFiles| {
            let wanted = wanted(config, mode, files).expect("allowed");
            let none = wanted.into_iter().find(|w| w.file.ends_with("max_ptes_none"));
            none.map(|want| want.value)
        };
        let mut config = Config::default();
        assert_eq!(none(&config, Mode::Ingens, &sizes).as_deref(), Some("0"));
        assert_eq!(none(&config, Mode::Auto, &sizes).as_deref(), Some("0"));
        // khugepaged goes on there, and its bound for huge pages counts.
        assert_eq!(none(&config, Mode::Guard, &sizes).as_deref(), Some("51"));
        let strict = ThpFiles { max_ptes_none: Some(0), ..sizes.clone() };
        assert_eq!(none(&config, Mode::Ingens, &strict), None);
        config.settings.max_ptes_none = 511;
        assert_eq!(none(&config, Mode::Ingens, &sizes), None, "no bound was asked for");
    }

    #[test]
    fn never_is_a_refusal_and_observe_owns_nothing() {
        let never = files("never", None);
        let mut config = Config::default();
        let refused = wanted(&config, Mode::Ingens, &never);
        assert_eq!(refused, Err(SkipReason::OperatorNever));
        assert_eq!(wanted(&config, Mode::Observe, &never), Ok(vec![]));
        config.promote.allow_under_never = true;
        assert!(wanted(&config, Mode::Ingens, &never).is_ok());
    }

    fn momentary(short: bool) -> Momentary {
        Momentary { short, fault_size: None, size_reason: SizeReason::Off, huge_faults: None }
    }

    fn now(config: &Config, mode: Mode, now: &Momentary) -> Vec<(String, String)> {
        let wanted = for_now(config, mode, Some("switch"), now);
        assert!(wanted.iter().all(|want| want.file == "switch" || (OWNER.owns)(&want.file)));
        wanted.into_iter().map(|want| (want.file.replace(THP_DIR, ""), want.value)).collect()
    }

    #[test]
    fn only_guard_parks_khugepaged_for_a_while() {
        let (mut config, short) = (Config::default(), momentary(true));
        let parked = ("/khugepaged/scan_sleep_millisecs".to_owned(), PARKED_MS.to_string());
        assert_eq!(now(&config, Mode::Guard, &short), [parked]);
        assert_eq!(now(&config, Mode::Guard, &momentary(false)), []);
        assert_eq!(now(&config, Mode::Ingens, &short), [], "there it is parked all the time");
        assert_eq!(now(&config, Mode::Observe, &short), []);
        config.settings.guard_parks_khugepaged = false;
        assert_eq!(now(&config, Mode::Guard, &short), []);
    }

    #[test]
    fn faults_hand_out_what_is_wanted_now() {
        let mut config = Config::default();
        let size = Momentary { fault_size: Some(Bytes(32 << 10)), ..momentary(false) };
        let of = |value: &str| [("/hugepages-32kB/enabled".to_owned(), value.to_owned())];
        assert_eq!(now(&config, Mode::Ingens, &size), of("always"));
        config.settings.fault_sizes = FaultSizes::Advised;
        assert_eq!(now(&config, Mode::Ingens, &size), of("madvise"));
        config.settings.fault_sizes = FaultSizes::Off;
        assert_eq!(now(&config, Mode::Ingens, &size), []);
        for (huge, value) in [(true, "always"), (false, "madvise")] {
            let huge_faults = Some((huge, HugeFaults::Plentiful));
            let wanted = Momentary { huge_faults, ..momentary(false) };
            assert_eq!(now(&config, Mode::Auto, &wanted), [("switch".into(), value.into())]);
        }
        config.settings.own = false;
        assert_eq!(now(&config, Mode::Ingens, &size), []);
    }
}
