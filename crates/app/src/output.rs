//! Standard output: what a command says when it is done, and the one place that writes it. Files
//! that a user asks for beside it.

#![expect(clippy::disallowed_methods, reason = "one of the two places that write")]

use crate::cli::{Color, Global};
use crate::exit;
use crate::render::colour::Paint;
use crate::render::words::plain;
use anyhow::Context;
pub(crate) use hugewise_console::exit::refused;
use hugewise_linux::save::Draft;
use serde::Serialize;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};
use std::os::fd::AsFd;
use std::path::Path;

/// What a command ends with.
#[derive(Debug)]
pub(crate) struct Output {
    text: String,
    code: u8,
}

impl Output {
    /// A text, which brings its own line ends.
    pub(crate) fn text(text: impl Into<String>, code: u8) -> Self {
        Self { text: text.into(), code }
    }

    /// JSON on one line.
    pub(crate) fn json(value: &impl Serialize, code: u8) -> anyhow::Result<Self> {
        Ok(Self::text(serde_json::to_string(value)? + "\n", code))
    }

    /// JSON over several lines, for what people read, too.
    pub(crate) fn pretty_json(value: &impl Serialize, code: u8) -> anyhow::Result<Self> {
        Ok(Self::text(serde_json::to_string_pretty(value)? + "\n", code))
    }

    /// Writes it and returns the exit code. A reader that has seen enough ('| head') is no error,
    /// and changes no exit code.
    ///
    /// # Errors
    ///
    /// It cannot be written: a full disk.
    pub(crate) fn write(self) -> anyhow::Result<u8> {
        let mut out = stdout().lock();
        written(out.write_all(self.text.as_bytes()).and_then(|()| out.flush()))?;
        Ok(self.code)
    }
}

/// Standard output as the way to the process that started this one: nothing else may be written.
///
/// # Errors
///
/// There is no descriptor left.
pub(crate) fn channel() -> std::io::Result<File> {
    Ok(File::from(stdout().as_fd().try_clone_to_owned()?))
}

/// Writes what is told while a command goes on; `false` where nobody reads any more.
///
/// # Errors
///
/// It cannot be written: a full disk.
pub(crate) fn now(text: &str) -> anyhow::Result<bool> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true).context("cannot write to standard output"),
    }
}

/// A file that a user asked for by name, begun before it is known what it will hold: where it
/// cannot be written nobody waits for that. `-` is standard output, in place of what else goes
/// there.
#[derive(Debug)]
pub(crate) struct Asked(Option<Draft>);

impl Asked {
    /// Begins.
    ///
    /// # Errors
    ///
    /// It cannot be written; exit code 6 where the path leads through what others have planted.
    pub(crate) fn begin(path: &Path, global: &Global) -> anyhow::Result<Self> {
        if path != Path::new("-") {
            return Ok(Self(Some(Draft::begin(path).map_err(refused)?)));
        }
        if global.json {
            let why = "'-' and '--json' both are standard output: give a file for one of them";
            return Err(exit::coded(exit::USAGE, why));
        }
        Ok(Self(None))
    }

    /// Writes it; what goes to standard output is given back.
    pub(crate) fn finish(self, text: String) -> anyhow::Result<Option<String>> {
        match self.0 {
            None => Ok(Some(text)),
            Some(draft) => draft.finish(text.as_bytes()).map(|()| None).map_err(refused),
        }
    }
}

/// What has become of a write to standard output.
fn written(result: std::io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Writes the help, the version, or what is wrong with a command line; returns the exit code.
///
/// # Errors
///
/// It cannot be written.
pub(crate) fn usage(error: &clap::Error) -> anyhow::Result<u8> {
    // Help and version go to standard output and are no error; everything else is a usage error.
    if error.use_stderr() {
        let text = error.render();
        let colour = stderr().is_terminal() && !no_colour();
        let text = if colour { text.ansi().to_string() } else { text.to_string() };
        let _ = write!(stderr(), "{}", plain(&text));
        return Ok(exit::USAGE);
    }
    written(error.print().and_then(|()| stdout().flush()))?;
    Ok(exit::OK)
}

/// How wide the output may be: as `COLUMNS` says, or the terminal; `None` where neither does.
pub(crate) fn columns() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || rustix::termios::tcgetwinsize(stdout()).ok().map(|size| size.ws_col.into());
    told.or_else(terminal).filter(|columns| *columns > 0)
}

/// Colour as the command line, the terminal and `NO_COLOR` want it.
pub(crate) fn paint(global: &Global) -> Paint {
    let wanted = match global.color {
        Color::Auto => None,
        Color::Always => Some(true),
        Color::Never => Some(false),
    };
    Paint::new(wanted, stdout().is_terminal(), no_colour())
}

/// Whether the environment asks for no colour (no-color.org).
fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
