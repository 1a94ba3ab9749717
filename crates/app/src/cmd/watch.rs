//! Watches this machine for a while: a sample a second, read as one recording.

use crate::capture::{CapturePlan, Stop, live};
use crate::render::view::diagnosis::WATCHED;
use hugewise_collect::capture::{Options, PROCESSES_MAX};
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
    let options = Options { arguments: false, processes_max: PROCESSES_MAX };
    let plan = CapturePlan { every: EVERY, length: length.max(EVERY), options };
    let (mut builder, mut capture) = (Builder::new(), Capture::new(WATCHED));
    let mut samples = 0;
    let (_, result) = live(root, &plan, stop, |text| {
        each(samples)?;
        capture.take(text, &mut builder);
        samples += 1;
        Ok(())
    });
    result?;
    capture.end(&mut builder);
    Ok(builder)
}
