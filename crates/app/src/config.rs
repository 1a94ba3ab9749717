pub(crate) struct Loaded {
    pub(crate) config: hugewise_core::config::Config,
}
pub(crate) fn load(_f: Option<&std::path::Path>, set: &[String]) -> anyhow::Result<Loaded> {
    let _ = set;
    Ok(Loaded { config: Default::default() })
}
