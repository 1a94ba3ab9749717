//! Reads signatures that were kept.

use crate::cmd::lab::prepare::bounded;
use anyhow::Context;
use hugewise_evidence::signature::Signatures;
use std::path::Path;

/// Largest file that is read: one with the most signatures has 40 KiB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads what the command wrote.
pub(crate) fn read(path: &Path) -> anyhow::Result<Signatures> {
    let file = std::fs::File::open(path).with_context(|| {
        format!(
            "cannot open '{}' ('hugewise lab signatures' makes it, where it has run)",
            path.display()
        )
    })?;
    let text = bounded("a file of signatures", path, file, FILE_BYTES_MAX)?;
    Signatures::parse(&text).map_err(|why| anyhow::anyhow!("'{}': {why}", path.display()))
}
