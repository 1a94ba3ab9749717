//! Watches this machine for a while: a sample a second, read as one recording.

use crate::render::view::diagnosis::WATCHED;
use crate::stop::Stop;
use hugewise_collect::capture::{Options, Sampler};
use hugewise_evidence::recording::Builder;
use hugewise_evidence::recording::readers::capture::Capture;
use hugewise_linux::root::Root;
use std::time::Duration;

/// Time between samples.
const EVERY: Duration = Duration::from_secs(1);

/// Watches the machine below `root` for `length`, a second at least, or until it is stopped: then
/// what was seen is used. `each` is told how many samples there were before each one; its error
/// ends it, too, and is given back.
pub(super) fn watch(
    root: &Root,
    length: Duration,
    stop: &Stop,
    mut each: impl FnMut(u64) -> anyhow::Result<()>,
) -> anyhow::Result<Builder> {
    let (mut builder, mut capture) = (Builder::new(), Capture::new(WATCHED));
    let mut sampler = Sampler::new(root, Options::default());
    sampler.start_stacks(EVERY);
    let mut samples = 0;
    stop.repeat(EVERY, Some(length.max(EVERY)), || {
        let text = sampler.sample();
        each(samples)?;
        capture.take(&text, &mut builder);
        samples += 1;
        Ok(true)
    })?;
    capture.end(&mut builder);
    Ok(builder)
}
