//! Builds programs for arm64 on an x86-64 machine, out of Debian packages alone.
//!
//! The compiler that Debian builds browsers with is there for both architectures in one version, as
//! is its standard library, which no other source of this machine's registries has for arm64. They
//! are unpacked into `target/vm/cross`, once (130 MB to download, 510 MB on disk), and not
//! installed. The linker and the C library are the installed packages `gcc-aarch64-linux-gnu` and
//! `libc6-dev-arm64-cross`.

use crate::vm::apt::Apt;
use crate::vm::error::{Error, Result, failed};
use crate::vm::kernel::{Scratch, cache};
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The suite with the compiler, in its updates for security.
const SUITE: &str = "bookworm";
const COMPILER: &str = "rustc-web";
const LIBRARY: &str = "libstd-rust-web-dev";
const LINKER: &str = "aarch64-linux-gnu-gcc";
/// Runs the compiler that lies beside it. Its libraries are not where the system looks for them.
const WRAPPER: &str = r#"#!/bin/sh
home=$(dirname "$0")/usr
LD_LIBRARY_PATH="$home/lib/x86_64-linux-gnu" exec "$home/bin/rustc" "$@"
"#;
/// What is built for.
pub const TARGET: &str = "aarch64-unknown-linux-gnu";

/// Where programs are built: another compiler than that of this machine's programs shares nothing
/// with them.
pub fn built() -> PathBuf {
    let target = cache();
    target.parent().map_or_else(|| target.join("cross"), |target| target.join("cross"))
}

/// A compiler that builds for arm64.
#[derive(Debug)]
pub struct Toolchain {
    rustc: PathBuf,
}

impl Toolchain {
    /// The toolchain, downloaded when it is not there yet.
    ///
    /// # Errors
    /// It cannot be had here.
    pub fn fetch() -> Result<Self> {
        if env::consts::ARCH != "x86_64" {
            return Err(Error::Unavailable("its compiler runs on x86-64".into()));
        }
        if Command::new(LINKER).arg("--version").stdout(Stdio::null()).status().is_err() {
            let reason = format!(
                "no {LINKER}: install Debian's packages gcc-aarch64-linux-gnu and \
                 libc6-dev-arm64-cross"
            );
            return Err(Error::Unavailable(reason));
        }
        let folder = cache().join("cross");
        let rustc = folder.join("rustc");
        if !rustc.is_file() {
            download(&folder)?;
        }
        Ok(Self { rustc })
    }

    /// cargo, for static programs.
    pub fn cargo(&self, arguments: &[String]) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // The compiler that lints is that of this machine.
        for name in ["RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS", "RUSTFLAGS"] {
            cargo.env_remove(name);
        }
        cargo
            .args(arguments)
            .current_dir(crate::workspace_root())
            .env("RUSTC", &self.rustc)
            .env("CARGO_BUILD_TARGET", TARGET)
            .env("CARGO_TARGET_DIR", built())
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
            .env(
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
                "-C target-feature=+crt-static",
            )
            .env("CC_aarch64_unknown_linux_gnu", LINKER)
            .env("AR_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-ar");
        cargo
    }
}

/// Unpacks the compiler, its libraries and the standard libraries of both architectures: build
/// scripts and macros run on this one.
fn download(folder: &Path) -> Result<()> {
    let scratch = Scratch::new()?;
    let apt = Apt::set_up(&scratch.0, SUITE, &["amd64", "arm64"])?;
    let driver = apt.dependency(LIBRARY, "libstd-rust-web-")?;
    let llvm = apt.dependency(&driver, "libllvm")?;
    let of_arm64 = format!("{LIBRARY}:arm64");
    let unpacked = apt.unpack(&[COMPILER, LIBRARY, &driver, &llvm, &of_arm64])?;
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(failed)?;
    fs::rename(unpacked.join("usr"), folder.join("usr")).map_err(failed)?;
    // Written last: it says that all is there.
    let (new, rustc) = (folder.join("rustc.new"), folder.join("rustc"));
    fs::write(&new, WRAPPER).map_err(failed)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    fs::rename(new, rustc).map_err(failed)
}
