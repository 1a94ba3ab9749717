//! What developers run by hand: a guest kernel (`cargo run -p xtask -- vm`), the score of the
//! diagnosis (`cargo run -p xtask -- score`), the comparison of policies
//! (`cargo run -p xtask -- policies`), the density of the code
//! (`cargo run -p xtask -- density`). `make install` runs `pages`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use xtask::cross::Toolchain;
use xtask::vm::{self, Config};
use xtask::{density, pages, workspace_root};

#[derive(Debug, Parser)]
#[command(about = "What the project needs to check itself")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Score 'diagnose' over the corpus, and write the table to docs/score.md
    Score,
    /// Compare policies in the simulator, and write the tables to docs/policies.md
    Policies,
    /// Write manual pages and completions below a directory, as in /usr/share
    Pages {
        /// The directory
        share: PathBuf,
    },
    /// Print how dense the code is, and how often a banned word stands in a comment
    Density {
        /// Another working copy to count
        directory: Option<PathBuf>,
    },
    /// Run cargo so that it builds static programs for arm64, in target/cross
    ///
    /// Ends with 77, and a reason, where the toolchain cannot be had.
    Cross {
        /// Arguments of cargo, such as 'build --profile dist -p hugewise'
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        cargo: Vec<String>,
    },
    /// Boot a stock Debian kernel with a static binary as its only program
    Vm {
        /// 5.10, 6.1, 6.12 or newest; arm64-6.12, arm64-16k or arm64-newest
        #[arg(long, default_value = "6.12")]
        kernel: String,
        #[arg(long, default_value_t = vm::MEMORY_MIB)]
        memory_mib: u32,
        /// More words for the kernel command line; unknown NAME=value become init's environment
        #[arg(long, default_value = "", allow_hyphen_values = true)]
        append: String,
        #[arg(long, default_value_t = 300)]
        time_limit_s: u64,
        /// Static binary that becomes /init
        init: PathBuf,
        /// Further files for the guest
        #[arg(value_name = "FILE:PATH", value_parser = file_and_path)]
        files: Vec<(PathBuf, String)>,
    },
}

fn file_and_path(text: &str) -> Result<(PathBuf, String), String> {
    match text.split_once(':') {
        Some((file, path)) if path.starts_with('/') => Ok((file.into(), path.to_string())),
        _ => Err("write FILE:PATH, PATH being absolute in the guest".to_string()),
    }
}

fn main() -> ExitCode {
    match Cli::parse().command {
        // Tests do both, and also check what this writes.
        Command::Score => update("hugewise-evidence", "host", "corpus"),
        Command::Policies => update("hugewise-manager", "decisions", "policies"),
        Command::Pages { share } => match pages::write(&share) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: cannot write below {}: {error}", share.display());
                ExitCode::FAILURE
            }
        },
        Command::Density { directory } => density(&directory.unwrap_or_else(workspace_root)),
        Command::Cross { cargo } => cross(&cargo),
        Command::Vm { kernel, memory_mib, append, time_limit_s, init, files } => {
            let time_limit = Duration::from_secs(time_limit_s);
            let new = Config::new(&kernel, &init);
            let silence_limit = time_limit;
            boot(&Config { files, memory_mib, append, time_limit, silence_limit, ..new })
        }
    }
}

fn density(directory: &Path) -> ExitCode {
    match density::measure(directory) {
        Ok(counts) => {
            print!("{}", density::table(&counts));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: cannot read {}: {error}", directory.display());
            ExitCode::FAILURE
        }
    }
}

fn cross(arguments: &[String]) -> ExitCode {
    /// What scripts take for "this machine cannot".
    const SKIPPED: u8 = 77;
    let toolchain = match Toolchain::fetch() {
        Ok(toolchain) => toolchain,
        Err(error) => {
            eprintln!("no programs for arm64: {error}");
            let unavailable = matches!(error, vm::Error::Unavailable(_));
            return if unavailable { ExitCode::from(SKIPPED) } else { ExitCode::FAILURE };
        }
    };
    match toolchain.cargo(arguments).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cannot run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs tests of one file, of which one writes a page.
fn update(package: &str, test: &str, file: &str) -> ExitCode {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["test", "--quiet", "-p", package, "--test", test, file, "--", "--nocapture"]);
    match cargo.env("HUGEWISE_UPDATE_GOLDEN", "1").status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cannot run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn boot(config: &Config) -> ExitCode {
    match vm::run(config, &mut |line| println!("{line}")) {
        Ok(output) => {
            eprintln!("the guest ended after {:.1} s", output.elapsed.as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
