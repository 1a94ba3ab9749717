//! `cargo run -p xtask -- vm`: boots a guest kernel by hand.

#![forbid(unsafe_code)]

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use xtask::vm::{self, Config};

#[derive(Debug, Parser)]
#[command(about = "What the project needs to check itself")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Boot a stock Debian kernel with a static binary as its only program
    Vm {
        /// 5.10, 6.1, 6.12 or newest
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
    let Command::Vm { kernel, memory_mib, append, time_limit_s, init, files } =
        Cli::parse().command;
    let time_limit = Duration::from_secs(time_limit_s);
    let config = Config { files, memory_mib, append, time_limit, ..Config::new(&kernel, &init) };
    match vm::run(&config, &mut |line| println!("{line}")) {
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
