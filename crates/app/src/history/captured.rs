//! Captures of earlier builds: a directory of a zstd frame a sample, `NNNNNN.zst`, beside a
//! `manifest.json`; or one of these files.

use anyhow::Context;
use hugewise_linux::regular;
use serde_json::Value;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// How every zstd frame begins (RFC 8878).
pub(super) const ZSTD_MAGIC: [u8; 4] = *b"\x28\xb5\x2f\xfd";
/// Most text that is unpacked from one file: a hostile one may expand to any number of zeros. The
/// largest sample has sockets of 400,000 connections, 64 MiB, of 4,096 processes 12 MiB.
const TEXT_BYTES_MAX: u64 = 128 << 20;
/// A file may expand to so many times its size, and the bytes below. Texts of the kernel compress
/// to a sixth or less, and nowhere near to a two-hundredth.
const EXPANSION_MAX: u64 = 200;
/// See [`EXPANSION_MAX`].
const EXPANSION_ROOM_BYTES: u64 = 4 << 20;
/// Largest window that a frame may ask for, as a power of two: 16 MiB. Ours have 2 MiB.
const WINDOW_LOG_MAX: u32 = 24;
/// Largest manifest.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;

/// The files of a capture's samples, in order; none: it is no capture.
pub(super) fn files(path: &Path) -> std::io::Result<Vec<(u64, PathBuf)>> {
    let mut numbered = Vec::new();
    for file in regular::entries(path)? {
        let name = file.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_suffix(".zst"));
        if let Some(number) = number.and_then(|digits| digits.parse::<u64>().ok()) {
            numbered.push((number, file));
        }
    }
    numbered.sort();
    Ok(numbered)
}

/// What is missing of a capture that has these files.
pub(super) fn gaps(path: &Path, files: &[(u64, PathBuf)]) -> Vec<String> {
    let mut gaps = Vec::new();
    if files.is_empty() {
        return gaps;
    }
    let manifest = manifest(&path.join("manifest.json"));
    if manifest["complete"] != true {
        let why = manifest["ended"].as_str().unwrap_or("it was killed, or has no manifest.json");
        gaps.push(format!("this capture did not come to its end: {}", why.escape_debug()));
    } else if manifest["samples"] != files.len() {
        gaps.push(format!("{} of {} samples are there", files.len(), manifest["samples"]));
    }
    for pair in files.windows(2) {
        if let [(before, _), (after, _)] = pair
            && before.checked_add(1) != Some(*after)
        {
            gaps.push(format!("samples between {before} and {after} are missing"));
        }
    }
    gaps
}

/// What a capture says about itself; null where that makes no sense.
fn manifest(path: &Path) -> Value {
    let mut text = Vec::new();
    let read = regular::open(path).and_then(|f| f.take(MANIFEST_BYTES_MAX).read_to_end(&mut text));
    read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// The text of a sample's file.
///
/// # Errors
/// As the system says, and where it is torn, or expands to more than any sample.
pub(super) fn text(path: &Path) -> anyhow::Result<Vec<u8>> {
    let file = regular::open(path)?;
    let packed = file.metadata()?.len();
    let most = packed.saturating_mul(EXPANSION_MAX).saturating_add(EXPANSION_ROOM_BYTES);
    let most = most.min(TEXT_BYTES_MAX);
    let mut decoder = zstd::stream::read::Decoder::new(BufReader::new(file))?;
    decoder.window_log_max(WINDOW_LOG_MAX)?;
    let mut text = Vec::new();
    let read = decoder.take(most + 1).read_to_end(&mut text);
    read.context("it is torn, or no sample")?;
    let expanded = text.len() as u64;
    anyhow::ensure!(expanded <= most, "it is no sample: {packed} bytes expand to more than {most}");
    Ok(text)
}
