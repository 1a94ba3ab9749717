//! Puts a server under load and prints what came of it, for tests.

use anyhow::{Context, bail};
use hugewise_experiment::load::LoadSpec;
use hugewise_lab::load::Access;
use hugewise_linux::nobody::Nobody;
use hugewise_linux::prctl;
use hugewise_linux::root::Root;

/// `hugewise lab workload load FILE`: a load in TOML in, a result in JSON out.
#[expect(clippy::print_stdout, reason = "a program of its own, which answers its starter")]
pub(crate) fn run(args: &[String]) -> anyhow::Result<u8> {
    prctl::set_parent_death_signal()?;
    let [file] = args else { bail!("usage: lab workload load FILE") };
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let spec: LoadSpec = toml::from_str(&text).with_context(|| format!("{file} is not a load"))?;
    let user = Nobody::pick(&Root::live())?;
    let access = Access { password: None, user };
    let result = hugewise_lab::load::run(&spec, &access, &mut |_| Ok(()))?;
    println!("{}", serde_json::to_string(&result)?);
    Ok(crate::exit::OK)
}
