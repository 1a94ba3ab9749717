//! What cannot be run on this machine, and why.

use hugewise_base::parse::meminfo;
use hugewise_base::size;
use hugewise_base::units::Bytes;
use hugewise_experiment::check::Checked;
use hugewise_experiment::kinds::{self, Params};
use hugewise_experiment::spec::{HugePages, Variant};
use hugewise_lab::environment::Environment;
use hugewise_lab::{named_program, programs};
use hugewise_linux::nobody::Nobody;
use hugewise_linux::root::Root;
use hugewise_manager::config::Mode;
use std::collections::BTreeMap;

/// Most of the available memory that an experiment takes, percent.
const AVAILABLE_PERCENT: u128 = 80;

/// Variants that cannot be run: why.
pub(in crate::cmd) fn of_variants(checked: &Checked) -> BTreeMap<String, String> {
    let root = Root::live();
    let switch = Environment::read(&root).switch();
    let is_root = rustix::process::geteuid().is_root();
    let memory = root.read_text("proc/meminfo").ok();
    let memory = memory.and_then(|text| meminfo::parse(&text).value.mem_available_bytes);
    let why = |variant: &Variant, params: &Params| {
        of_user(checked, variant, is_root)
            .or_else(|| of_switch(checked, variant, switch.as_deref()))
            .or_else(|| of_files(checked, variant, &root))
            .or_else(|| of_memory(checked, params, Bytes(memory?)))
    };
    let variants = checked.variants().iter().zip(&checked.params);
    let obstacle = |(variant, params): (&Variant, &Params)| {
        Some((variant.name.clone(), why(variant, params)?))
    };
    variants.filter_map(obstacle).collect()
}

/// A workload that leaves nothing to the rest of the machine would measure how it swaps, or be
/// killed.
fn of_memory(checked: &Checked, params: &Params, available: Bytes) -> Option<String> {
    let experiment = &checked.experiment;
    let needs = params.memory_mib();
    let limit = experiment.memory_limit_mib.unwrap_or(u64::MAX);
    let needs = needs.map(|mib| mib.min(limit)).max(experiment.warm_mib)?;
    let has = available.0 / Bytes::mib(1).0;
    (u128::from(needs) * 100 > u128::from(has) * AVAILABLE_PERCENT).then(|| {
        format!(
            "it needs {needs} MiB, {has} MiB are available, of which an experiment takes at most \
             {AVAILABLE_PERCENT} %: copy it ('hugewise lab setup NAME --write FILE') and make it \
             smaller, or try --quick"
        )
    })
}

fn of_user(checked: &Checked, variant: &Variant, is_root: bool) -> Option<String> {
    let needs = [
        (!checked.settings(variant).is_empty(), "changing kernel settings"),
        (!variant.hugetlb.is_empty(), "sizing a HugeTLB pool"),
        (variant.manage.is_some(), "managing a process's memory"),
    ];
    let need = needs.into_iter().find(|(needed, _)| *needed && !is_root)?.1;
    Some(format!("{need} needs root"))
}

/// `never` is the operator's word: a variant that wants huge pages under it is left out, unless it
/// sets the switch itself.
fn of_switch(checked: &Checked, variant: &Variant, switch: Option<&str>) -> Option<String> {
    let promotes = variant.manage.as_ref().is_some_and(|manage| manage.mode != Mode::Observe);
    let asks = variant.huge_pages == HugePages::Always || variant.huge_pages.come_later();
    if !(promotes || asks) || checked.settings(variant).contains_key("enabled") {
        return None;
    }
    switched_off(switch)
}

/// Why no memory can become huge under this switch.
pub(super) fn switched_off(switch: Option<&str>) -> Option<String> {
    match switch {
        None => Some("this kernel has no transparent huge pages".into()),
        Some("never") => {
            let text = "transparent huge pages are switched off on this machine ('never'), and \
                        that is respected";
            Some(text.into())
        }
        Some(_) => None,
    }
}

fn of_files(checked: &Checked, variant: &Variant, root: &Root) -> Option<String> {
    let settings = checked.settings(variant);
    let files = settings.keys().filter_map(|key| hugewise_experiment::settings::file(key));
    let absent = files.into_iter().find(|file| !root.path(file).exists());
    if let Some(file) = absent {
        return Some(format!("this kernel has no /{file}"));
    }
    variant.hugetlb.keys().find_map(|text| {
        let kib = size::parse(text).ok()?.bytes() / 1024;
        let folder = format!("sys/kernel/mm/hugepages/hugepages-{kib}kB");
        (!root.path(folder).exists()).then(|| format!("this kernel has no huge pages of {text}"))
    })
}

/// Programs that the workload or what runs beside it needs and that are missing.
pub(super) fn missing_programs(checked: &Checked) -> Vec<String> {
    let mut missing = programs::missing(checked.kind);
    let experiment = &checked.experiment;
    for part in experiment.beside.iter().chain(&experiment.fragment) {
        let kind = kinds::find(&part.kind);
        missing.extend(kind.map(programs::missing).unwrap_or_default());
    }
    // Without one the session says so itself.
    let user = Nobody::pick(&Root::live()).ok().flatten();
    let all = checked.variants().iter().zip(&checked.params);
    missing.extend(all.filter_map(|(variant, params)| {
        named_program::obstacle(params, user, variant.env.contains_key("PATH"))
    }));
    let load = experiment.load.as_ref();
    missing.extend(load.and_then(programs::missing_tool));
    missing.extend(load.and_then(|load| named_program::of_load(load, user)));
    missing.sort_unstable();
    missing.dedup();
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_experiment::check::check;

    #[test]
    fn what_does_not_fit_is_left_out_with_its_size() {
        let checked = |more: &str| {
            let text = format!(
                "name = 'n'\nquestion = 'q'\n{more}\n[workload]\nkind = 'gups'\nmib = 800\n\
                 [[variant]]\nname = 'a'\n"
            );
            check(toml::from_str(&text).expect("an experiment"), false).expect("no faults")
        };
        let of = |more: &str, mib| {
            let checked = checked(more);
            of_memory(&checked, &checked.params[0], Bytes::mib(mib))
        };
        assert_eq!(of("", 1000), None);
        let why = of("", 999).expect("too large");
        assert!(why.contains("needs 800 MiB, 999 MiB are available"), "{why}");
        assert!(of("warm_mib = 2000", 1000).is_some_and(|why| why.contains("2000 MiB")));
        assert_eq!(of("memory_limit_mib = 400", 500), None);
    }
}
