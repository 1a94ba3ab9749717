//! `hugewise`: huge pages, used wisely.
#![forbid(unsafe_code)]

mod capture;
mod cli;
mod cmd;
mod config;
mod control;
mod daemon;
mod exit;
mod journal;
mod lab;
mod report;
#[cfg(test)]
mod scratch;
mod trial;
mod trust;
mod view;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout and are no error; everything else is a usage error.
            let _ = error.print();
            return if error.use_stderr() { exit::USAGE.into() } else { exit::OK.into() };
        }
    };
    match cmd::run(cli) {
        Ok(code) => code.into(),
        Err(error) => {
            // Names of files are in it: nothing of them may reach the terminal as a command.
            for line in format!("hugewise: {error:#}").lines() {
                eprintln!("{}", view::text::printable(line));
            }
            exit::of_error(&error).into()
        }
    }
}
