//! What trials share: running hugewise, skipping, waiting, and a place of their own.

use crate::baseline::SCRATCH;
use crate::init;
use crate::machine::{Kernel, Settings, Turn};
use crate::schemas;
use anyhow::{Context, bail, ensure};
use libtest_mimic::{Completion, Trial};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, fs};

/// Nothing here takes this long: whoever waits longer waits for something that never comes.
/// Virtual machines without hardware support on a busy host are slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// An error that is no failure: the trial cannot run here, for this reason.
#[derive(Debug)]
pub(crate) struct Skip(pub(crate) String);

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot run here: {}", self.0)
    }
}

impl std::error::Error for Skip {}

/// A reason to skip, as an error.
pub(crate) fn skip(reason: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Skip(reason.into()))
}

/// A trial of what does not depend on the kernel: it runs on this machine, and in virtual machines
/// only where time does not matter.
pub(crate) fn trial_of_any_kernel(
    name: &'static str,
    test: fn(&Turn) -> anyhow::Result<()>,
) -> Trial {
    trial_in(|_| false, "the same on every kernel", name, test)
}

/// A trial of what has not changed between the oldest kernel and this machine's: it runs on these
/// two, and on those between them only where time does not matter.
pub(crate) fn trial_of_oldest_kernel(
    name: &'static str,
    test: fn(&Turn) -> anyhow::Result<()>,
) -> Trial {
    trial_in(|kernel| kernel < Kernel(6, 2), "the same before and after", name, test)
}

/// A trial of what needs a machine of its own and takes long there: it runs in virtual machines of
/// newer kernels, and in all of them only where time does not matter.
pub(crate) fn trial_of_newer_kernels(
    name: &'static str,
    test: fn(&Turn) -> anyhow::Result<()>,
) -> Trial {
    trial_in(|kernel| kernel >= Kernel(6, 2), "the same on newer kernels", name, test)
}

/// A trial that is left out in virtual machines of other kernels than these, unless time does not
/// matter.
fn trial_in(
    kernels: fn(Kernel) -> bool,
    why: &str,
    name: &'static str,
    test: fn(&Turn) -> anyhow::Result<()>,
) -> Trial {
    let runs = !init::is_guest() || init::is_soak() || Kernel::running().is_ok_and(kernels);
    if runs {
        return trial(name, test);
    }
    let why = format!("{why}: 'make soak' runs it here");
    trial(name, move |_: &Turn| Err(skip(why)))
}

/// A trial that runs while no other manager does. Whatever it changed among the machine's
/// settings must be back at its end.
pub(crate) fn trial(
    name: impl Into<String>,
    test: impl FnOnce(&Turn) -> anyhow::Result<()> + Send + 'static,
) -> Trial {
    let name = name.into();
    let shown = name.clone();
    Trial::ignorable_test(name, move || {
        let outcome = Turn::take().and_then(|turn| {
            let _took = Took { name: shown.clone(), began: Instant::now() };
            let before = Settings::read()?;
            let outcome = test(&turn);
            let left = before.differences();
            before.write_back();
            match outcome {
                Ok(()) => ensure!(left.is_empty(), "settings left changed: {left:?}"),
                Err(error) => return Err(error),
            }
            Ok(())
        });
        match outcome {
            Ok(()) => Ok(Completion::Completed),
            Err(error) => match error.downcast_ref::<Skip>() {
                Some(Skip(reason)) => Ok(Completion::ignored_with(reason)),
                None => {
                    let why = format!("{error:#}");
                    init::say(&format!("{shown}: {why}"));
                    Err(why.into())
                }
            },
        }
    })
}

/// Shows at the end how long a trial took, its wait for its turn left out; `scripts/test.sh` names
/// the longest ones.
struct Took {
    name: String,
    began: Instant,
}

impl Drop for Took {
    fn drop(&mut self) {
        let line = format!("took {:.1} s: {}", self.began.elapsed().as_secs_f64(), self.name);
        if init::is_guest() { init::say(&line) } else { println!("{line}") }
    }
}

/// A trial that needs remote promotion.
pub(crate) fn promotes() -> anyhow::Result<()> {
    match Kernel::running()? {
        kernel if kernel < Kernel(6, 1) => Err(skip("tier D: no remote collapse before 6.1")),
        _ => Ok(()),
    }
}

/// Tries until it says yes.
pub(crate) fn wait_for(
    what: &str,
    mut ready: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let began = Instant::now();
    while !ready().with_context(|| format!("while waiting for {what}"))? {
        ensure!(began.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A directory of one trial, removed afterwards. Root's alone, as hugewise demands.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> anyhow::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{SCRATCH}{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// A copy of the program that everybody may run, under any name.
    pub(crate) fn program(&self, name: impl AsRef<OsStr>) -> anyhow::Result<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.join(name.as_ref());
        fs::copy(init::hugewise(), &path).context("cannot copy the program")?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a finished command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// This exit code, or an error with everything that was said.
    pub(crate) fn expect(self, code: i32) -> anyhow::Result<Self> {
        if self.code != Some(code) {
            self.may_be_refused()?;
        }
        ensure!(self.code == Some(code), "exit code {code} expected, but: {self:#?}");
        Ok(self)
    }

    /// A reason to skip where a manager that promotes was rightly refused.
    pub(crate) fn may_be_refused(&self) -> anyhow::Result<()> {
        match self.err.contains("this kernel cannot make a huge page from outside") {
            true => promotes(),
            false => Ok(()),
        }
    }

    /// All of its standard output as one JSON value.
    pub(crate) fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.out).with_context(|| format!("not JSON: {self:#?}"))
    }
}

/// Runs hugewise to its end.
pub(crate) fn hugewise<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> anyhow::Result<Said> {
    let args: Vec<S> = args.into_iter().collect();
    let output = Command::new(init::hugewise()).args(&args).output();
    let said = Said::of(&output.context("cannot run hugewise")?);
    as_its_schema_says(&args, &said)?;
    Ok(said)
}

/// What was printed with `--json` is what `docs/reference/schemas` says.
fn as_its_schema_says<S: AsRef<OsStr>>(args: &[S], said: &Said) -> anyhow::Result<()> {
    let words = args.iter().map(|word| word.as_ref().to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    match schemas::of_arguments(&words).filter(|_| !said.out.is_empty()) {
        Some(name) => schemas::fits(name, &said.json()?).map_err(anyhow::Error::msg),
        None => Ok(()),
    }
}

/// Directories of experiments that run, or were killed.
pub(crate) fn lab_directories() -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("hugewise-lab-")
    };
    entries.map(|entry| entry.path()).filter(named).collect()
}

/// What a `lab run` said; a reason to skip where somebody else runs an experiment on this machine,
/// or nothing of it can be run here.
pub(crate) fn unless_busy(said: Said) -> anyhow::Result<Said> {
    match said.code {
        Some(5) if said.err.contains("skipped: ") => Err(skip(said.err.trim())),
        Some(6) if said.err.contains("another hugewise") => {
            Err(skip("somebody else runs an experiment or a manager on this machine"))
        }
        _ => Ok(said),
    }
}

/// Values of a journal, or any file of JSON lines; a torn last line is left out.
pub(crate) fn json_lines(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path:?}"))?;
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines().filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

/// Journaled actions with this result: `promoted`, `skipped`, `withheld` or `failed`.
pub(crate) fn actions(journal: &[Value], result: &str) -> u64 {
    let hits = journal.iter().filter(|r| r["record"] == "action" && r["result"] == result);
    hits.count() as u64
}

/// A number in JSON, by its path.
pub(crate) fn number(value: &Value, pointer: &str) -> anyhow::Result<u64> {
    match value.pointer(pointer).and_then(Value::as_u64) {
        Some(number) => Ok(number),
        None => bail!("no number at {pointer} of {value}"),
    }
}
