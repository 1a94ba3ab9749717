//! A log of stages: lines that commands add, and `hugewise lab stages`, which shows them.

use super::prepare::bounded;
use crate::cli::{Global, LabStagesArgs};
use crate::exit;
use crate::output::{Asked, Output, paint};
use crate::render::view::stages as view;
use anyhow::Context;
use hugewise_experiment::stages::{Measured, SCHEMA, Stage, read};
use serde_json::json;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::time::SystemTime;

/// Largest log: a stage takes 300 bytes, and people make a few a day.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A log that gets more lines once what they say is known.
#[derive(Debug)]
pub(in crate::cmd) struct Log {
    asked: Asked,
    text: String,
}

impl Log {
    /// Reads what there is, before anything is measured; `None` where nobody asked for a log.
    ///
    /// # Errors
    /// The file cannot be read or written, or is no log.
    pub(in crate::cmd) fn begin(
        path: Option<&Path>,
        global: &Global,
    ) -> anyhow::Result<Option<Self>> {
        let Some(path) = path else { return Ok(None) };
        if path == Path::new("-") {
            return Err(exit::coded(exit::USAGE, "--stages takes a file: each line is kept"));
        }
        let mut text = match File::open(path) {
            Ok(file) => bounded("a log of stages", path, file, FILE_BYTES_MAX)?,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot open '{}'", path.display()));
            }
        };
        if let Some(problem) = read(&text).problems.first() {
            anyhow::bail!("--stages: '{}' is no log of stages: {problem}", path.display());
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(Some(Self { asked: Asked::begin(path, global)?, text }))
    }

    /// Adds these.
    ///
    /// # Errors
    /// It cannot be written.
    pub(in crate::cmd) fn add(mut self, stages: &[Stage]) -> anyhow::Result<()> {
        for stage in stages {
            self.text += &(serde_json::to_string(stage)? + "\n");
        }
        self.asked.finish(self.text).map(|_| ())
    }
}

/// What is measured now, with its proof.
pub(in crate::cmd) fn now(proof: &str) -> Measured<'_> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Measured { at_s: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), proof }
}

/// `hugewise lab stages`.
pub(super) fn run(global: &Global, args: &LabStagesArgs) -> anyhow::Result<Output> {
    let file = File::open(&args.file);
    let file = file.with_context(|| format!("cannot open '{}'", args.file.display()))?;
    let found = read(&bounded("a log of stages", &args.file, file, FILE_BYTES_MAX)?);
    let code = if found.problems.is_empty() { exit::OK } else { exit::PARTIAL };
    if let Some(path) = &args.html {
        let page = Asked::begin(path, global)?.finish(view::page(&found)?)?;
        if let Some(page) = page {
            return Ok(Output::text(page, code));
        }
    }
    if global.json {
        let json = json!({
            "schema": SCHEMA, "stages": found.stages, "problems": found.problems,
        });
        return Output::pretty_json(&json, code);
    }
    Ok(Output::text(view::text(&found, paint(global)), code))
}
