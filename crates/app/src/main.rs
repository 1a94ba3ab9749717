//! `hugewise`: huge pages, used wisely.

mod capture;
mod cli;
mod cmd;
mod config;
mod control;
mod daemon;
mod exit;
mod history;
mod hugetlb;
mod journal;
mod left;
mod made;
mod output;
mod progress;
mod recording;
mod render;
mod say;
mod service;

use output::Output;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(columns) = output::columns() {
        render::text::set_columns(columns);
    }
    let done = match cli::parse() {
        Ok(cli) => cmd::run(cli).and_then(Output::write),
        Err(error) => output::usage(&error),
    };
    match done {
        Ok(code) => code.into(),
        Err(error) => {
            say::note(&format!("{error:#}{}", exit::remedy(&error)));
            exit::of_error(&error).into()
        }
    }
}
