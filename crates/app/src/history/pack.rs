//! Packs a text with the one before as its dictionary, and unpacks it.

use anyhow::Context;
use std::io::{self, Write};
use zstd::stream::write::Encoder;
use zstd::zstd_safe::{CParameter, DCtx, get_error_name};

/// zstd's own default, as for captures.
const LEVEL: i32 = 3;
/// Windows as powers of two: at least what the level has by itself, at most what the format's
/// largest text and its dictionary take.
const WINDOW_LOG: std::ops::RangeInclusive<u32> = 21..=28;

/// The window in which a text reaches all of the one before.
fn window_log(text: usize, before: usize) -> u32 {
    let both = (text + before).max(1);
    both.next_power_of_two().ilog2().clamp(*WINDOW_LOG.start(), *WINDOW_LOG.end())
}

/// The packed text; `before` is empty where it stands alone.
pub(super) fn pack(text: &[u8], before: &[u8]) -> anyhow::Result<Vec<u8>> {
    let write = || {
        let mut encoder = Encoder::with_ref_prefix(Vec::new(), LEVEL, before)?;
        encoder.set_parameter(CParameter::WindowLog(window_log(text.len(), before.len())))?;
        // The frame's head has a sum of its own.
        encoder.include_checksum(false)?;
        encoder.write_all(text)?;
        encoder.finish()
    };
    write().context("cannot compress a sample")
}

/// The text again, of this length.
///
/// All at once: a decoder of streams would have a third copy, its window.
pub(super) fn unpack(packed: &[u8], before: &[u8], length: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(length);
    let mut context = DCtx::create();
    let unpacked = context.ref_prefix(before).and_then(|_| context.decompress(&mut text, packed));
    unpacked.map_err(|code| io::Error::other(get_error_name(code)))?;
    Ok(text)
}
