//! `hugewise diagnose`.

use crate::cli::{DiagnoseArgs, Global};
use crate::exit::{self, coded};
use crate::view::paint::Paint;
use crate::view::{diagnosis, rules};
use anyhow::Context;
use hugewise_core::diagnose::{Diagnosis, Severity, Thresholds, diagnose};
use hugewise_core::recording::{Builder, Foreign, Recording};
use std::io::{IsTerminal, Read};
use std::path::Path;

/// Largest input that is read: a month of `sar` text at one minute on 64 CPUs.
const INPUT_BYTES_MAX: u64 = 1 << 30;

/// What every input should have been.
const WANTED: &str = "wanted text of sar, sadf -j, atop -P or -J, top, vmstat, mpstat, iostat, \
pidstat, iotop, iftop, netstat, ss, free, perf report, files of /proc, or a Java GC log \
('hugewise diagnose --help')";

/// Runs the command.
pub(crate) fn run(global: &Global, args: &DiagnoseArgs) -> anyhow::Result<u8> {
    let mut thresholds = Thresholds::default();
    for pair in &args.set {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| coded(exit::USAGE, format!("--set '{pair}': wanted KEY=VALUE")))?;
        let set = thresholds.set(key.trim(), value.trim());
        set.map_err(|error| coded(exit::USAGE, format!("--set: {error}")))?;
    }
    if let Some(node) = &args.explain {
        let text = rules::explain(node, &thresholds).map_err(|error| coded(exit::USAGE, error))?;
        super::print(&text)?;
        if args.files.is_empty() {
            return Ok(exit::OK);
        }
    }
    let recording = read(&args.files)?;
    let found = diagnose(&recording, &thresholds);
    if let Some(path) = &args.report {
        let page = crate::report::diagnosis::page(&recording, &found, &thresholds)?;
        std::fs::write(path, page)
            .with_context(|| format!("cannot write the report '{}'", path.display()))?;
    }
    let code = code(&found);
    if global.json {
        let mut json = serde_json::to_value(&found)?;
        json["command"] = "diagnose".into();
        json["version"] = env!("CARGO_PKG_VERSION").into();
        json["partial"] = partial(&found).into();
        super::print(&format!("{}\n", serde_json::to_string_pretty(&json)?))?;
    } else {
        let paint = Paint::new(global.color, std::io::stdout().is_terminal());
        super::print(&diagnosis::render(&recording, &found, args.tree, paint))?;
        if let Some(path) = &args.report {
            super::print(&format!("Report: {}\n", path.display()))?;
        }
    }
    Ok(code)
}

/// Whether input was left out or cut off: then nothing found is no all-clear.
fn partial(found: &Diagnosis) -> bool {
    !found.problems.is_empty() || diagnosis::nothing_seen(found)
}

fn code(found: &Diagnosis) -> u8 {
    match found.worst() {
        Some(Severity::Critical) => exit::CRITICAL,
        Some(Severity::Warning) => exit::WARNING,
        Some(Severity::Note) | None if partial(found) => exit::PARTIAL,
        Some(Severity::Note) | None => exit::OK,
    }
}

fn read(files: &[std::path::PathBuf]) -> anyhow::Result<Recording> {
    let mut builder = Builder::new();
    for file in files {
        let name =
            if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
        let bytes = bytes_of(file)?;
        builder.read(&name, &bytes).map_err(|foreign| refuse(&name, foreign))?;
        if !builder.understood() {
            return Err(coded(
                exit::ERROR,
                format!("'{name}': nothing in it was recognised; {WANTED}"),
            ));
        }
    }
    Ok(builder.finish())
}

fn bytes_of(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let all = if file == Path::new("-") {
        std::io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        let open = std::fs::File::open(file)
            .with_context(|| format!("cannot open '{}'", file.display()))?;
        open.take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes)
    };
    all.with_context(|| format!("cannot read '{}'", file.display()))?;
    anyhow::ensure!(
        bytes.len() as u64 <= INPUT_BYTES_MAX,
        "'{}' is larger than {} MiB: give a part of it",
        file.display(),
        INPUT_BYTES_MAX >> 20
    );
    Ok(bytes)
}

/// What the input is, what was wanted, and how to get there.
fn refuse(name: &str, foreign: Foreign) -> anyhow::Error {
    let text = match foreign {
        Foreign::Empty => format!("'{name}' is empty; {WANTED}"),
        Foreign::SysstatBinary => format!(
            "'{name}' is a binary file of sysstat and no sadf is installed here: install sysstat, \
             or run 'sadf -j {name} -- -A' where it was recorded"
        ),
        Foreign::AtopBinary => format!(
            "'{name}' is a raw log of atop, which only atop of its own version reads: run 'atop \
             -r {name} -P ALL' there"
        ),
        Foreign::Compressed(with) => {
            format!("'{name}' is compressed with {with}: decompress it first; {WANTED}")
        }
        Foreign::Archive(with) => {
            format!("'{name}' is a {with} archive: unpack it and give the files; {WANTED}")
        }
        Foreign::Binary(what) => format!("'{name}' is {what}; {WANTED}"),
    };
    coded(exit::ERROR, text)
}
