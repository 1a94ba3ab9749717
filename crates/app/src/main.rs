//! `hugewise`: huge pages, used wisely.

mod cmd;
mod history;
mod hugetlb;
mod output;
mod progress;
mod render;
mod stop;

use hugewise_cli as cli;
use hugewise_console::{exit, say};
use hugewise_daemon::{abandoned, config, control, journal};
use hugewise_linux::{reader, worker};
use output::Output;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == worker::COMMAND) {
        return worker::run().map_or_else(|_| exit::ERROR.into(), |()| ExitCode::SUCCESS);
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == reader::COMMAND) {
        return reader::run(cmd::files_of_fleet, cmd::read_of_fleet)
            .map_or_else(|_| exit::ERROR.into(), |()| ExitCode::SUCCESS);
    }
    worker::enable();
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
