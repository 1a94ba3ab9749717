//! Reads signatures that were kept.

use anyhow::Context;
use hugewise_evidence::signature::Signatures;
use std::io::Read;
use std::path::Path;

/// Largest file that is read: one with the most signatures has 40 KiB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads what the command wrote.
pub(crate) fn read(path: &Path) -> anyhow::Result<Signatures> {
    let mut text = String::new();
    let file = std::fs::File::open(path).with_context(|| {
        format!(
            "cannot open '{}' ('hugewise lab signatures' makes it, where it has run)",
            path.display()
        )
    })?;
    let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
    read.with_context(|| format!("cannot read '{}'", path.display()))?;
    anyhow::ensure!(
        text.len() as u64 <= FILE_BYTES_MAX,
        "'{}' is no file of signatures: it is larger than {} MiB",
        path.display(),
        FILE_BYTES_MAX >> 20
    );
    Signatures::parse(&text).map_err(|why| anyhow::anyhow!("'{}': {why}", path.display()))
}
