//! What the variants were, setting by setting.

use super::material::Material;
use crate::spec::Variant;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A setting in all variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// What is set.
    pub name: String,
    /// The values in the order of the variants; `None` where it is not set.
    pub values: Vec<Option<String>>,
    /// Whether the variants differ in it.
    pub differs: bool,
}

/// Everything that is set for a variant. What a run wrote down counts more than what was asked.
fn of(material: &Material<'_>, variant: &Variant) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    all.insert("huge pages of the workload".to_owned(), variant.huge_pages.key().to_owned());
    all.extend(material.checked.settings(variant));
    if let Some((_, record)) = material.of(&variant.name).last() {
        all.extend(record.conditions.settings.clone());
    }
    for (size, count) in &variant.hugetlb {
        all.insert(format!("HugeTLB pages of {size}"), count.to_string());
    }
    if let Some(manage) = &variant.manage {
        all.insert("manager".into(), manage.mode.key().to_owned());
        for (key, value) in &manage.set {
            all.insert(format!("manager: {key}"), value.to_string());
        }
        if manage.keep_settings {
            all.insert("manager: kernel settings".into(), "left as they are".into());
        }
    }
    for (key, value) in &variant.env {
        all.insert(format!("environment: {key}"), value.clone());
    }
    if let Some((_, params)) = material.checked.variant(&variant.name) {
        for (key, value) in params.iter() {
            all.insert(format!("workload: {key}"), value.to_string());
        }
    }
    all
}

/// All settings; those in which the variants differ come first.
pub(super) fn settings(material: &Material<'_>) -> Vec<Setting> {
    let each: Vec<_> = material.active.iter().map(|variant| of(material, variant)).collect();
    let names: BTreeSet<&String> = each.iter().flat_map(BTreeMap::keys).collect();
    let setting = |name: &String| {
        let values: Vec<_> = each.iter().map(|all| all.get(name).cloned()).collect();
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        Setting { name: name.clone(), values, differs }
    };
    let mut all: Vec<_> = names.into_iter().map(setting).collect();
    all.sort_by_key(|setting| !setting.differs);
    all
}
