//! `hugewise manage replay` over the recordings of an earlier build, which
//! `crates/manager/tests/replays.rs` compares decision by decision.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn old_recordings_replay_exactly() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manager/tests/replays");
    let recording = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replayed.jsonl");
    for (name, decisions) in [("dense", 32), ("budget", 7), ("guard", 40), ("samples", 39)] {
        let packed = fs::read(folder.join(format!("{name}.recording.zst")))?;
        fs::write(&recording, zstd::stream::decode_all(packed.as_slice())?)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
        let config = folder.join(format!("{name}.toml"));
        command.args(["manage", "replay", "--json", "--config"]).arg(config).arg(&recording);
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let value: Value = serde_json::from_slice(&output.stdout).context(said.into_owned())?;
        let expected = json!({ "same": decisions, "new": 0, "missing": 0 });
        ensure!(value["decisions"] == expected, "{name}: {value}");
    }
    Ok(())
}

#[test]
fn a_recording_that_was_cut_replays_up_to_there() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manager/tests/replays");
    let packed = fs::read(folder.join("dense.recording.zst"))?;
    let whole = zstd::stream::decode_all(packed.as_slice())?;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cut.jsonl");
    let replay = |bytes: &[u8]| {
        fs::write(&file, bytes)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
        command.args(["manage", "replay", "--json"]).arg(&file).output()
    };
    let output = replay(&whole[..whole.len() - 20])?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(5) && said.contains("cut in its last line"), "{said}");
    let value: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(value["partial"] == true && value["decisions"]["same"] == 32, "{value}");
    // Damage in the middle is none that a killed manager leaves.
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] = b'}';
    ensure!(replay(&damaged)?.status.code() == Some(1));
    ensure!(replay(b"{\"event\":\"beg")?.status.code() == Some(1), "nothing whole in it");
    fs::remove_file(file)?;
    Ok(())
}

/// The last action of a recording, at another time.
fn late(recording: &str, at: u64) -> anyhow::Result<String> {
    let acted = recording.lines().rev().find(|line| line.contains("\"acted\""));
    let mut event: Value = serde_json::from_str(acted.context("an action")?)?;
    event["at"] = at.into();
    Ok(format!("{recording}{event}\n"))
}

#[test]
fn a_recording_of_no_run_is_refused() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manager/tests/replays");
    let packed = fs::read(folder.join("dense.recording.zst"))?;
    let whole = String::from_utf8(zstd::stream::decode_all(packed.as_slice())?)?;
    let lines = whole.lines().count();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refused.jsonl");
    let refused = |text: &str, wanted: &str| -> anyhow::Result<()> {
        fs::write(&file, text)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
        let output = command.args(["manage", "replay"]).arg(&file).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(1) && said.contains(wanted), "{wanted}: {said}");
        Ok(())
    };
    let year_s: u64 = 365 * 86_400;
    // A second a tick: the first two went on for ever, the third for 12,000 ticks and more.
    let place = format!("line {}: not a recording", lines + 1);
    refused(&late(&whole, u64::MAX)?, &place)?;
    refused(&late(&whole, u64::MAX)?, "more than 100 years after the machine started")?;
    refused(&late(&whole, 99 * year_s * 1_000_000_000)?, "s after the last observation")?;
    refused(&late(&whole, 12_000 * 1_000_000_000)?, "s after the last observation")?;
    let pages = whole.replacen("\"huge\":2097152", "\"huge\":0", 1);
    ensure!(pages != whole, "no sizes of pages in it");
    refused(&pages, "huge pages of 0 bytes")?;
    refused(&"x".repeat(65 << 20), "line 1 is longer than 64 MiB")?;
    fs::remove_file(file)?;
    Ok(())
}
