//! `hugewise serve`: two processes. This one knows, and never reads what comes over the network;
//! the [`front`] answers HTTP, has no rights, and asks this one a few fixed questions.

mod answers;
mod front;
mod journal;
mod token;
mod wire;

use self::answers::Answers;
pub(super) use self::journal::tail;
use self::wire::{Begun, Start};
use crate::cli::{Global, ServeArgs};
use crate::exit;
use crate::output::{self, Output};
use crate::say::note;
use crate::stop::Stop;
use anyhow::Context;
use hugewise_base::escape::printable;
use hugewise_linux::nobody::Nobody;
use hugewise_linux::root::Root;
use hugewise_linux::session;
use hugewise_serve::Question;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering;

/// Version of what is printed with `--json`.
const SCHEMA: u32 = 1;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &ServeArgs) -> anyhow::Result<Output> {
    if args.listen.ip().is_unspecified() && args.host.is_empty() {
        let why = "--listen: on all addresses it has to know by which names it is asked: give them \
                   with --host";
        return Err(exit::coded(exit::USAGE, why));
    }
    if args.front {
        return front::run(args);
    }
    let root = Root::at(&global.root);
    let token = token::token(args.token_file.as_deref())?;
    let user = nobody(&root)?;
    let start = Start { token: token.reveal().to_owned(), user };
    let stop = Stop::on_signals()?;
    let (mut front, address) = Front::begin(args, &start)?;
    let pid = Pid::from_child(&front.process);
    let ended = stop.then(move || {
        // It is our child and not waited for yet: its pid is nobody else's.
        let _ = kill_process(pid, Signal::KILL);
    })?;
    let answers = Answers::new(&root, args);
    answers.missing().iter().for_each(|what| note(&format!("not known: {what}")));
    if !address.ip().is_loopback() {
        note(
            "others than this machine can connect, and what they and the server say, the token \
             with it, can be read on the way: put a proxy with TLS before it",
        );
    }
    let uid = user.map_or_else(|| rustix::process::geteuid().as_raw(), |(uid, _)| uid);
    output::now(&announced(global, args, address, token.reveal(), uid))?;
    front.serve(answers)?;
    let status = front.process.wait()?;
    match ended.load(Ordering::Relaxed) {
        true => Ok(Output::text("", exit::OK)),
        false => anyhow::bail!("the process that answers HTTP ended by itself: {status}"),
    }
}

/// The user that answers HTTP, where this is root.
fn nobody(root: &Root) -> anyhow::Result<Option<(u32, u32)>> {
    let nobody = Nobody::pick(root).map_err(|error| {
        let why = format!("root's rights cannot be given up ({error}): start it as another user");
        exit::coded(exit::REFUSED, why)
    })?;
    if nobody.is_none() && rustix::process::geteuid().is_root() {
        note("it serves as root: there is nobody else in this user namespace");
    }
    Ok(nobody.map(|nobody| (nobody.uid, nobody.gid)))
}

/// The process that answers HTTP, and the ways to it.
struct Front {
    process: Child,
    questions: BufReader<ChildStdout>,
    answers: ChildStdin,
}

impl Front {
    fn begin(args: &ServeArgs, start: &Start) -> anyhow::Result<(Self, SocketAddr)> {
        let mut command = Command::new("/proc/self/exe");
        command.args(["serve", "--front", "--listen", &args.listen.to_string()]);
        command.args(args.host.iter().flat_map(|host| ["--host", host]));
        // Nothing of root's environment either.
        command.env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = session::own(&mut command)
            .spawn()
            .context("cannot start the process that answers HTTP")?;
        if let Some(errors) = process.stderr.take() {
            std::thread::spawn(move || hand_on(errors));
        }
        let mut answers = process.stdin.take().context("no standard input")?;
        let mut questions = BufReader::new(process.stdout.take().context("no standard output")?);
        wire::say(&mut answers, start)?;
        let begun: Option<Begun> = wire::hear(&mut questions)?;
        let address = begun.context("the process that answers HTTP ended at once")?;
        let address = address.map_err(anyhow::Error::msg)?;
        Ok((Self { process, questions, answers }, address))
    }

    /// Answers until it ends.
    fn serve(&mut self, mut all: Answers) -> anyhow::Result<()> {
        while let Some(question) = wire::hear::<Question>(&mut self.questions)? {
            let reply = all.answer(&question);
            match wire::reply(&mut self.answers, &reply) {
                Err(error) if is_gone(&error) => break,
                done => done?,
            }
        }
        Ok(())
    }
}

/// Says what it says on its standard error: it has no terminal.
fn hand_on(errors: ChildStderr) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    // Longer ones are cut in two: nothing that it says takes much memory.
    while let Ok(1..) = errors.by_ref().take(1024).read_until(b'\n', &mut line) {
        note(&printable(String::from_utf8_lossy(&line).trim_end()));
        line.clear();
    }
}

fn is_gone(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    kind == Some(ErrorKind::BrokenPipe)
}

impl Drop for Front {
    /// Nothing is left behind, whatever went wrong.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where it serves, and how it is asked.
fn announced(
    global: &Global,
    args: &ServeArgs,
    address: SocketAddr,
    token: &str,
    uid: u32,
) -> String {
    let base = format!("http://{address}/");
    let file = args.token_file.as_ref().map(|file| file.display().to_string());
    // Whoever named a file keeps the token there, and out of the logs of a service.
    let page = if file.is_some() { base.clone() } else { format!("{base}?token={token}") };
    if global.json {
        let value = json!({
            "schema": SCHEMA, "page": page, "metrics": format!("{base}metrics"),
            "token_file": file, "uid": uid,
        });
        return format!("{value}\n");
    }
    let token = file.map_or_else(
        || "the token is in that URL".to_owned(),
        |file| format!("the token is in {}", printable(&file)),
    );
    format!("page     {page}\nmetrics  {base}metrics\n{token}; HTTP is answered as user {uid}\n")
}
