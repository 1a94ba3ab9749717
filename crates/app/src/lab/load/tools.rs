//! Runs an installed load generator.

use super::Beat;
use anyhow::bail;
use hugewise_core::lab::load::{LoadResult, LoadSpec, Profile};

pub(super) fn run(
    spec: &LoadSpec,
    _profile: &Profile,
    _beat: &mut Beat<'_>,
) -> anyhow::Result<LoadResult> {
    bail!("tool {} is not driven yet", spec.tool.name())
}
