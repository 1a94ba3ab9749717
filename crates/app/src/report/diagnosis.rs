//! The report of a diagnosis.
pub(crate) fn page(
    _: &hugewise_core::recording::Recording,
    _: &hugewise_core::diagnose::Diagnosis,
) -> anyhow::Result<String> {
    anyhow::bail!("later")
}
