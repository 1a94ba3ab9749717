//! Packs a text with the one before as its dictionary, and unpacks it.

use anyhow::Context;
use std::io::{Read, Write};
use zstd::stream::{read::Decoder, write::Encoder};
use zstd::zstd_safe::CParameter;

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
pub(super) fn unpack(packed: &[u8], before: &[u8], length: usize) -> std::io::Result<Vec<u8>> {
    let mut decoder = Decoder::with_ref_prefix(packed, before)?;
    decoder.window_log_max(*WINDOW_LOG.end())?;
    let mut text = Vec::new();
    decoder.take(length as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}
