//! Runs a load tool of the user's, and reads its results.

use super::foreign::Foreign;
use super::progress::{Beat, Progress};
use crate::named_program;
use crate::program_output;
use crate::stranger::{self, Runner};
use anyhow::{Context, bail};
use hugewise_base::units::Ns;
use hugewise_evidence::response::{Request, Requests};
use hugewise_experiment::load::command::{filled_in, fits, result};
use hugewise_experiment::load::sent::Sent;
use hugewise_experiment::load::{Failure, LoadResult, LoadSpec, gatling};
use hugewise_linux::nobody::Nobody;
use hugewise_linux::private::PrivateDir;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Lines of its output that are repeated when it fails.
const SAID: usize = 5;
/// Names in a directory that are looked at.
const NAMES_MAX: usize = 10_000;
/// Longest line of results: an export of spans is one line.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Largest log of Gatling, which is read whole: 10 million requests.
const GATLING_BYTES_MAX: u64 = 256 << 20;
/// Most requests of a run: their names and times are kept until it is known which came first.
const REQUESTS_MAX: usize = 20_000_000;
/// Lines between two beats.
const LINES_PER_BEAT: u64 = 50_000;

pub(super) fn run(
    spec: &LoadSpec,
    user: Option<Nobody>,
    beat: &mut Beat<'_>,
) -> anyhow::Result<LoadResult> {
    let (target, profile) = spec.check()?;
    if let Some(obstacle) = named_program::of_load(spec, user) {
        bail!(obstacle);
    }
    let place = PrivateDir::new("hugewise-load-").context("no directory for the load's command")?;
    let own = stranger::place(place.path(), "own", user)?;
    user.map_or(Ok(()), |user| place.open_to(user.gid))?;
    let dir = own.to_string_lossy();
    let filled = |text: &str| filled_in(text, &target, spec.seed, &dir);
    let all: Vec<String> = spec.command.iter().map(|word| filled(word)).collect();
    let (name, args) = all.split_first().context("a command without a program")?;
    let folder = match spec.directory.as_str() {
        "" => own.clone(),
        given => PathBuf::from(given),
    };
    if !folder.is_dir() {
        bail!("directory '{}' of the load is not there", folder.display());
    }
    let runner = Runner::Stranger(user);
    let program = named_program::of_name(name, &folder, runner).map_err(anyhow::Error::msg)?;
    let results = filled(&spec.results);
    let before: BTreeSet<Version> = versions(&folder, &results).into_iter().collect();
    let (output, began) = (place.path().join("output.txt"), Instant::now());
    let tool = Foreign::start((name, &program), runner, &own, &output, |command| {
        command.args(args).current_dir(&folder);
    })?;
    let status = tool.attend(profile.time(), Duration::from_secs(spec.longest_s), beat)?;
    let ran = Ns(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let said = || match program_output::last_lines(&program_output::end(&output), SAID) {
        said if said.is_empty() => "it said nothing".to_owned(),
        said => format!("it said: {said}"),
    };
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    if !code.is_some_and(|code| spec.ok_codes.contains(&code)) {
        bail!("{name} ended with {status}; {}", said());
    }
    let new = versions(&folder, &results).into_iter().filter(|file| !before.contains(file)).max();
    let Some(file) = new.map(|new| new.path) else {
        bail!(
            "{name} ended well and wrote no results '{results}' in {}; {}",
            folder.display(),
            said()
        );
    };
    let what = || format!("results '{}' of {name}", file.display());
    let read = read(&file, &mut || beat(Progress::silent(ran, ran))).with_context(what)?;
    let (left_out, failures_untold) = (read.left_out, read.failures_untold);
    let mut found = result(read.sent, ran).with_context(what)?;
    found.failures_untold = failures_untold;
    found.notes.extend(
        (left_out > 0)
            .then(|| format!("{left_out} lines of {} are not understood, and left out", what())),
    );
    Ok(found)
}

/// A file as it is now. The newest is the greatest.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    seconds: i64,
    nanoseconds: i64,
    bytes: u64,
    inode: u64,
    path: PathBuf,
}

/// The files that a pattern names, where no directory below the given one is a link: the process
/// that wrote them might lead elsewhere.
fn versions(folder: &Path, pattern: &str) -> Vec<Version> {
    let absolute = pattern.strip_prefix('/');
    let folder = if absolute.is_some() { Path::new("/") } else { folder };
    let mut found = vec![folder.to_owned()];
    for part in absolute.unwrap_or(pattern).split('/').filter(|part| !matches!(*part, "" | ".")) {
        let mut next = Vec::new();
        for path in &found {
            match part.contains('*') {
                false => next.push(path.join(part)),
                true => next.extend(fitting(path, part)),
            }
        }
        next.retain(|path| path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink()));
        found = next;
    }
    let version = |path: PathBuf| {
        let meta = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
        let (seconds, nanoseconds) = (meta.mtime(), meta.mtime_nsec());
        Some(Version { seconds, nanoseconds, bytes: meta.len(), inode: meta.ino(), path })
    };
    found.into_iter().filter_map(version).collect()
}

fn fitting(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(NAMES_MAX);
    let fits = |entry: &std::fs::DirEntry| fits(&entry.file_name().to_string_lossy(), pattern);
    entries.filter(fits).map(|entry| entry.path()).collect()
}

/// What a file of results says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    sent: Vec<Sent>,
    /// Lines that are not understood.
    left_out: u64,
    failures_untold: bool,
}

fn read(path: &Path, beat: &mut dyn FnMut() -> anyhow::Result<()>) -> anyhow::Result<Found> {
    let mut file = BufReader::new(stranger::open(path)?);
    if gatling::is_log(file.fill_buf()?) {
        return Ok(Found { sent: gatling::sent(&whole(file)?)?, ..Found::default() });
    }
    let (mut line, mut lines, mut sent, mut left_out) = (Vec::new(), 0_u64, Vec::new(), 0);
    let mut results: Option<Requests> = None;
    while file.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? > 0 {
        let text = line.trim_ascii_end();
        if results.is_none() && !text.is_empty() {
            results = Requests::of(text);
            if results.is_none() {
                let begin: String = String::from_utf8_lossy(text).chars().take(60).collect();
                bail!(
                    "it begins with '{}': no results of Gatling, JMeter (.jtl as CSV), k6 \
                     (--out json) or ab (-g) begin so",
                    begin.escape_debug()
                );
            }
        }
        match results.as_ref().filter(|_| !text.is_empty()).map(|results| results.line(text)) {
            Some(Some(all)) => sent.extend(all.into_iter().map(of_results)),
            Some(None) => left_out += 1,
            None => {}
        }
        if sent.len() > REQUESTS_MAX {
            bail!("it has more than {REQUESTS_MAX} requests: a shorter load says as much");
        }
        lines += 1;
        if lines.is_multiple_of(LINES_PER_BEAT) {
            beat()?;
        }
        line.clear();
    }
    let failures_untold = results.is_some_and(|results| !results.tells_failures());
    Ok(Found { sent, left_out, failures_untold })
}

fn whole(file: BufReader<File>) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file.take(GATLING_BYTES_MAX + 1).read_to_end(&mut bytes)? as u64 > GATLING_BYTES_MAX {
        bail!("it has more than {} MiB", GATLING_BYTES_MAX >> 20);
    }
    Ok(bytes)
}

/// A status of an error is a failure, whatever the tool makes of it, as with our own load.
fn of_results(request: Request) -> Sent {
    let Request { name, end_ms, total_us, status, failed } = request;
    let failed = match status {
        Some(status) if failed || status >= 400 => {
            Some((Failure::Status, format!("status {status}")))
        }
        _ => failed.then(|| (Failure::Io, String::new())),
    };
    Sent { name, end_ms, length: Ns(total_us.saturating_mul(1000)), failed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_newest_file_of_a_pattern_is_taken_and_no_link_followed() -> anyhow::Result<()> {
        let scratch = Scratch::new();
        let write = |name: &str, second: u64| -> anyhow::Result<PathBuf> {
            let path = scratch.join(name);
            fs::create_dir_all(path.parent().context("a folder")?)?;
            fs::write(&path, "x")?;
            let at = std::time::UNIX_EPOCH + Duration::from_secs(second);
            File::options().write(true).open(&path)?.set_modified(at)?;
            Ok(path)
        };
        let newest = |pattern: &str| versions(&scratch, pattern).into_iter().max().map(|v| v.path);
        let (old, new) =
            (write("out/shop-2/simulation.log", 50)?, write("out/shop-1/simulation.log", 60)?);
        write("other/x/simulation.log", 90)?;
        symlink(scratch.join("other/x"), scratch.join("out/shop-3"))?;
        symlink(scratch.join("other"), scratch.join("link"))?;
        assert_eq!(newest("out/*/simulation.log"), Some(new));
        assert_eq!(newest("./out/shop-2/*.log"), Some(old.clone()));
        assert_eq!(newest(&old.display().to_string()), Some(old));
        assert_eq!(
            (newest("link/x/simulation.log"), newest("out/*"), newest("no*")),
            (None, None, None)
        );
        Ok(())
    }

    #[test]
    fn what_is_no_results_is_said() -> anyhow::Result<()> {
        let scratch = Scratch::new();
        let read = |text: &str| {
            let path = scratch.join("out");
            fs::write(&path, text).map(|()| read(&path, &mut || Ok(())))
        };
        let error = format!("{:#}", read("<html>\n")?.expect_err("no results"));
        assert!(error.contains("begins with '<html>'") && error.contains("k6"), "{error}");
        let Found { sent, left_out, failures_untold } = read(
            "timeStamp,elapsed,label,responseCode,success\n\
             1700000000000,20,home,200,true\nbroken\n1700000000000,20,home,404,true\n\
             1700000000000,20,home,Non HTTP response code,false\n",
        )??;
        let failed: Vec<_> =
            sent.iter().map(|one| one.failed.as_ref().map(|(kind, _)| *kind)).collect();
        assert_eq!(failed, [None, Some(Failure::Status), Some(Failure::Io)]);
        assert_eq!((left_out, failures_untold, read("")??), (1, false, Found::default()));
        Ok(())
    }
}
