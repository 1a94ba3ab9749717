//! `hugewise record`, and everything that goes back in what it wrote.

use crate::hostile::SmallDisk;
use crate::init;
use crate::kit::{Said, Scratch, hugewise, number, skip, trial, trial_of_any_kernel, wait_for};
use crate::machine::Turn;
use crate::top::Tmux;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_any_kernel("history_survives_a_kill_and_is_gone_back_in", survives_a_kill),
        trial("history_says_where_arguments_are", arguments_are_said_to_be_in_a_piece),
        trial("history_on_a_full_disk_stays_whole", on_a_full_disk),
        trial("history_is_shown_on_a_terminal", on_a_terminal),
    ]
}

fn plain(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("a plain path")
}

/// Arguments of a recorder that has its own manager's directories: there is none.
fn arguments(scratch: &Scratch, history: &Path) -> anyhow::Result<Vec<String>> {
    let run = scratch.join("run");
    let words = ["record", "--every", "1s", "--history", plain(history)?, "--run-dir"];
    let words = words.into_iter().chain([plain(&run)?]);
    Ok(words.map(str::to_owned).collect())
}

fn record(scratch: &Scratch, history: &Path, length: &str) -> anyhow::Result<Said> {
    let all = arguments(scratch, history)?;
    hugewise(all.iter().map(String::as_str).chain(["--json", "--for", length]))
}

/// A recorder that is killed when this goes.
struct Recorder(Child);

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn bytes(history: &Path) -> u64 {
    let files = fs::read_dir(history).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

fn survives_a_kill(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let history = scratch.join("history");
    let mut command = Command::new(init::hugewise());
    let command = command.args(arguments(&scratch, &history)?).stderr(Stdio::null());
    let recorder = Recorder(command.stdout(Stdio::null()).spawn()?);
    let mut sizes = BTreeSet::new();
    wait_for("three samples", || {
        sizes.insert(bytes(&history));
        Ok(sizes.len() > 3)
    })?;
    let other = record(&scratch, &history, "1s")?.expect(6)?;
    ensure!(other.err.contains("another 'hugewise record'"), "{other:?}");
    drop(recorder);
    let done = record(&scratch, &history, "1s")?.expect(0)?.json()?;
    ensure!(number(&done, "/samples")? > 0 && number(&done, "/lost")? == 0, "{done}");

    let place = plain(&history)?;
    let status = hugewise(["status", "--history", place, "--json"])?;
    let status = status.json()?;
    ensure!(status["recorded"]["at"].is_string(), "{status}");
    ensure!(number(&status, "/machine/mem_total")? > 0, "{status}");
    let wrong = hugewise(["status", "--history", place, "--at", "soon"])?.expect(2)?;
    ensure!(wrong.err.contains("expected a time in UTC"), "{wrong:?}");
    let found = hugewise(["diagnose", "--history", place, "--json"])?.json()?;
    ensure!(found["findings"].is_array(), "{found}");

    let piece = scratch.join("piece");
    let out = plain(&piece)?;
    let taken = ["record", "--history", place, "--from", "1h ago", "-o", out, "--json"];
    let taken = hugewise(taken)?.expect(0)?.json()?;
    ensure!(number(&taken, "/samples")? > number(&done, "/samples")?, "the killed one's too");
    let replayed = hugewise(["status", "--history", out, "--json"])?.json()?;
    let figures = |status: &Value| (status["machine"].clone(), status["processes"].clone());
    ensure!(figures(&replayed) == figures(&status), "{replayed} is not {status}");
    let found = hugewise(["diagnose", out, "--json"])?.json()?;
    ensure!(found["findings"].is_array(), "{found}");
    ensure!(taken["redacted"].to_string().contains("arguments"), "{taken}");
    let none = ["record", "--history", place, "--from", "2001-01-01", "--to", "2001-01-02", "-o"];
    let none = hugewise(none.into_iter().chain([plain(&scratch.join("none"))?]))?.expect(1)?;
    ensure!(none.err.contains("nothing was recorded then"), "{none:?}");
    Ok(())
}

fn arguments_are_said_to_be_in_a_piece(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    // The directory above is made, too, and is nobody else's.
    let (above, history) = (scratch.join("a"), scratch.join("a/history"));
    let all = arguments(&scratch, &history)?;
    hugewise(all.iter().map(String::as_str).chain(["--with-arguments", "--for", "1s"]))?
        .expect(0)?;
    let mode = fs::metadata(&above)?.permissions().mode() & 0o777;
    ensure!(mode == 0o700, "{mode:o}");
    let piece = scratch.join("piece");
    let taken = ["record", "--history", plain(&history)?, "--from", "1h ago", "--json", "-o"];
    let taken = hugewise(taken.into_iter().chain([plain(&piece)?]))?.expect(0)?.json()?;
    let redacted = taken["redacted"].to_string();
    ensure!(!redacted.contains("arguments") && redacted.contains("environment"), "{taken}");
    Ok(())
}

fn on_a_full_disk(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let disk = SmallDisk::new(scratch.join("disk"))?;
    let history = disk.0.join("history");
    let before = record(&scratch, &history, "1s")?.expect(0)?.json()?;
    disk.fill()?;
    let said = record(&scratch, &history, "2s")?.expect(5)?;
    ensure!(said.err.contains("a sample is lost") && said.err.contains("No space"), "{said:?}");
    ensure!(said.err.matches("a sample is lost").count() == 1, "once is enough: {said:?}");
    let done = said.json()?;
    ensure!(number(&done, "/lost")? > 0, "{done}");
    let whole = scratch.join("whole");
    let taken = ["record", "--history", plain(&history)?, "--from", "1h ago", "-o"];
    let taken = taken.into_iter().chain([plain(&whole)?, "--json"]);
    let taken = hugewise(taken)?.expect(0)?.json()?;
    let samples = number(&before, "/samples")? + number(&done, "/samples")?;
    ensure!(number(&taken, "/samples")? == samples, "{taken}");
    Ok(())
}

fn on_a_terminal(_: &Turn) -> anyhow::Result<()> {
    if init::is_guest() {
        return Err(skip("a guest has no tmux"));
    }
    let scratch = Scratch::new()?;
    let history = scratch.join("history");
    let done = record(&scratch, &history, "3s")?.expect(0)?.json()?;
    let samples = number(&done, "/samples")?;
    let command = format!(
        "'{}' top --history '{}'; echo \"CODE $?\"; sleep 60",
        init::hugewise().display(),
        history.display()
    );
    let screen = Tmux::start(&scratch, &command)?;
    screen.shows(&format!("recorded sample {samples} of {samples}"))?;
    screen.keys(&["Left"])?;
    screen.shows(&format!("sample {} of", samples - 1))?;
    screen.keys(&["{"])?;
    screen.shows("sample 1 of")?;
    screen.keys(&["Space"])?;
    screen.shows(&format!("recorded sample {samples} of"))?;
    screen.keys(&["t", "x", "Enter"])?;
    screen.shows("expected a time in UTC")?;
    screen.keys(&["t", "1", "m", " ", "a", "g", "o", "Enter"])?;
    screen.shows("sample 1 of")?;
    screen.keys(&["q"])?;
    screen.shows("CODE 0")
}
