//! Tests that need a real kernel: this machine's, and, as `/init`, that of a virtual machine.

#![forbid(unsafe_code)]

#[path = "live/doctor.rs"]
mod doctor;
#[path = "live/init.rs"]
mod init;

use libtest_mimic::{Completion, Trial};
use std::fs;
use std::process::ExitCode;

fn main() -> ExitCode {
    init::run(trials())
}

fn trials() -> Vec<Trial> {
    let mut all = vec![
        Trial::test("kernel_names_itself", || {
            let version = fs::read_to_string("/proc/version")?;
            if version.starts_with("Linux version ") {
                return Ok(());
            }
            Err(format!("/proc/version says '{}'", version.trim()).into())
        }),
        Trial::ignorable_test("guest_has_its_own_settings", || {
            if !init::is_guest() {
                return Ok(Completion::ignored_with("changes settings: only in a virtual machine"));
            }
            let path = "/sys/kernel/mm/transparent_hugepage/enabled";
            fs::write(path, "madvise")?;
            let now = fs::read_to_string(path)?;
            if now.contains("[madvise]") && init::hugewise().is_file() {
                return Ok(Completion::Completed);
            }
            Err(format!("{path} says '{}' after writing 'madvise'", now.trim()).into())
        }),
    ];
    all.extend(doctor::trials());
    all
}
