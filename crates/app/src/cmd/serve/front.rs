//! The process that answers HTTP. It reads what strangers send, and has no rights: what it answers
//! with it asks of the process that started it.

use super::wire::{self, Begun, Start};
use crate::cli::ServeArgs;
use crate::exit;
use crate::output::{self, Output};
use anyhow::Context;
use hugewise_linux::nobody::Nobody;
use hugewise_linux::sandbox::Sandbox;
use hugewise_serve::{
    Content, Limits, Listener, Question, Reply, Server, Settings, Stopper, Token, Verdict,
};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::set_name;
use std::io::{BufReader, stdin};
use std::os::fd::AsFd;

/// Runs until the other process ends.
pub(super) fn run(args: &ServeArgs) -> anyhow::Result<Output> {
    // Started as /proc/self/exe, it would be called so.
    set_name(c"hugewise-http")?;
    // Standard output carries questions and answers: what else would be printed there would be one.
    let mut questions = output::channel()?;
    let mut answers = BufReader::new(questions.try_clone()?);
    let start: Start = wire::hear(&mut answers)?.context("nobody started this")?;
    let server = match begin(args, &start) {
        Ok(server) => server,
        Err(why) => {
            wire::say(&mut questions, &Begun::Err(why))?;
            return Ok(Output::text("", exit::ERROR));
        }
    };
    wire::say(&mut questions, &Begun::Ok(()))?;
    let stopper = server.stopper();
    server.run(Asker { questions, answers, stopper }).context("cannot serve")?;
    Ok(Output::text("", exit::OK))
}

fn begin(args: &ServeArgs, start: &Start) -> Result<Server, String> {
    let socket = stdin().as_fd().try_clone_to_owned().and_then(Listener::of);
    let settings = Settings {
        listener: socket.map_err(|error| format!("standard input: {error}"))?,
        hosts: args.host.clone(),
        token: Token::new(&start.token)?,
        limits: Limits::default(),
    };
    let server = Server::new(settings);
    // From here on threads begin: nothing is read of anybody as root.
    if let Some((uid, gid)) = start.user {
        let given_up = Nobody { uid, gid }.become_it();
        given_up.map_err(|error| format!("root's rights cannot be given up: {error}"))?;
    }
    // Whoever becomes another user loses this: so it comes last.
    let ends = set_parent_process_death_signal(Some(Signal::KILL));
    ends.map_err(|error| format!("it would outlive who started it: {error}"))?;
    let sandbox = Sandbox::of_server().and_then(|sandbox| sandbox.enter());
    sandbox.map_err(|error| format!("system calls cannot be given up: {error}"))?;
    Ok(server)
}

/// Hands questions on.
struct Asker {
    questions: std::fs::File,
    answers: BufReader<std::fs::File>,
    stopper: Stopper,
}

impl Content for Asker {
    fn answer(&mut self, question: &Question) -> Reply {
        wire::ask(&mut self.questions, &mut self.answers, question).unwrap_or_else(|_| {
            self.stopper.stop();
            Reply::none(Verdict::Unavailable, "The server is about to end.")
        })
    }
}
