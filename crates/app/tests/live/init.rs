//! Lets the live tests be all there is in a virtual machine.
//!
//! As process 1 of a guest this mounts what tests expect, runs the trials one after the other (they
//! change settings of the whole guest), reports over the console in the language that
//! `xtask/src/vm/guest.rs` reads, and switches the guest off. Everywhere else it only runs trials.
//!
//! `HUGEWISE_VM`, from the guest's kernel command line, tells the guest from a container, where a
//! test may be process 1 as well and nothing must be mounted or switched off. `PATH` and `TMPDIR`
//! come the same way, as does `HUGEWISE_SOAK`.

use crate::baseline::CALM;
use libtest_mimic::{Arguments, ColorSetting, Trial};
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, thread};

const RESULTS: &str = "/run/results";

/// True in a virtual machine that was booted for these tests.
pub(crate) fn is_guest() -> bool {
    std::process::id() == 1 && env::var_os("HUGEWISE_VM").is_some()
}

/// Long trials, and in guests also those that say nothing of a kernel, are wanted.
pub(crate) fn is_soak() -> bool {
    env::var_os("HUGEWISE_SOAK").is_some()
}

/// The program under test.
pub(crate) fn hugewise() -> PathBuf {
    Path::new(if is_guest() { "/bin/hugewise" } else { env!("CARGO_BIN_EXE_hugewise") }).into()
}

/// Runs the trials, in a guest as described above.
pub(crate) fn run(trials: fn() -> Vec<Trial>) -> ExitCode {
    let mut args = Arguments::from_args();
    if !is_guest() {
        return libtest_mimic::run(&args, trials()).exit_code();
    }
    mount_all();
    calm_down();
    args.color = Some(ColorSetting::Never);
    args.test_threads = Some(1);
    args.logfile = Some(RESULTS.to_string());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| report_progress(&done));
        let _ = libtest_mimic::run(&args, trials());
        done.store(true, Ordering::Release);
    });
    report_results();
    rustix::fs::sync();
    let failed = reboot(RebootCommand::PowerOff);
    eprintln!("cannot switch the guest off: {failed:?}");
    ExitCode::FAILURE
}

/// What cannot be mounted is left out: tests say what they miss.
fn mount_all() {
    let mounts = [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/tmp"),
        ("tmpfs", "/run"),
        ("tmpfs", "/dev/shm"),
        ("devpts", "/dev/pts"),
        ("cgroup2", "/sys/fs/cgroup"),
        ("tracefs", "/sys/kernel/tracing"),
    ];
    for (kind, folder) in mounts {
        let _ = fs::create_dir_all(folder);
        if let Err(error) = mount(kind, folder, kind, MountFlags::empty(), None) {
            println!("cannot mount {kind} on {folder}: {error}");
        }
    }
}

/// Huge pages only where they are asked for: under Debian's `always` the kernel's own daemon would
/// promote workloads while a trial looks at them. And the only DAMON that there is belongs to the
/// trials: from 7.x on Debian's kernel starts its own statistics with it.
fn calm_down() {
    const DAMON_STAT: &str = "/sys/module/damon_stat/parameters/enabled";
    if fs::exists(DAMON_STAT).unwrap_or(false)
        && let Err(error) = fs::write(DAMON_STAT, "N")
    {
        println!("cannot stop damon_stat: {error}");
    }
    for (file, value) in [("enabled", "madvise")].into_iter().chain(CALM) {
        let path = format!("/sys/kernel/mm/transparent_hugepage/{file}");
        if let Err(error) = fs::write(&path, value) {
            println!("cannot write '{value}' to {path}: {error}");
        }
    }
}

/// Repeats each line of the results as soon as it is there; a test that hangs is then the one
/// whose line has begun.
fn report_progress(done: &AtomicBool) {
    let (mut shown, mut begun) = (0, String::new());
    loop {
        let last = done.load(Ordering::Acquire);
        let text = fs::read_to_string(RESULTS).unwrap_or_default();
        for line in text.get(shown..).unwrap_or_default().split_inclusive('\n') {
            let complete = line.ends_with('\n');
            if line.starts_with("test ") && (complete || line != begun) {
                println!("@hw~ {}", line.trim_end());
            }
            if complete {
                shown += line.len();
            } else {
                begun = line.to_string();
            }
        }
        if last {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// In a guest: shows a line at once. If the guest never comes to its end, nothing else is left.
pub(crate) fn say(line: &str) {
    if is_guest() {
        println!("@hw~ {}", line.replace('\n', " | "));
    }
}

fn report_results() {
    println!("\n@hugewise-results-begin");
    for line in fs::read_to_string(RESULTS).unwrap_or_default().lines() {
        println!("@hw| {line}");
    }
    println!("@hugewise-results-end");
}
