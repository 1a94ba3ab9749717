//! The experiments that come with hugewise.

/// Name and text of each, in the order in which they are listed.
pub(crate) const ALL: &[(&str, &str)] = &[("gups", include_str!("../../experiments/gups.toml"))];

/// The text of one.
pub(crate) fn find(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
