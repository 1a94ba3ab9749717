//! Shared memory: made huge through one process, for all that map it.

use crate::hold::Hold;
use crate::hugetlb_programs::Postgres;
use crate::init;
use crate::kit::{Said, Scratch, number, promotes, skip, trial, trial_of_oldest_kernel, wait_for};
use crate::machine::{Turn, thp};
use crate::manager::Manage;
use crate::promote::{FAST, MIB, is_promoted_now, left_alone, once, target};
use anyhow::{Context, ensure};
use hugewise_workloads::protocol::{Event, Request, Span};
use libtest_mimic::Trial;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_oldest_kernel("shared_memory_becomes_huge_for_all", becomes_huge_for_all),
        trial_of_oldest_kernel("shared_memory_with_holes_does_not_grow", holes_are_not_filled),
        trial_of_oldest_kernel("shared_memory_stays_where_that_is_asked", stays_where_asked),
        trial("text_becomes_huge_where_the_kernel_can", text_becomes_huge),
        trial("shared_by_merging_stays_merged", stays_merged),
        trial("postgres_buffers_become_huge_in_each_backend", postgres_buffers_become_huge),
    ]
}

/// The largest mapping of shared memory of a process: what of it is mapped, and by huge entries,
/// KiB; and what its object takes.
#[derive(Debug, Clone, Copy, Default)]
struct Shared {
    rss: u64,
    huge: u64,
    object: u64,
}

impl Shared {
    fn of(pid: u32) -> anyhow::Result<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps"))?;
        let (mut all, mut range, mut shared) = (Vec::<Self>::new(), String::new(), false);
        for line in text.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            let value = || words.get(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
            match (words.first().copied().unwrap_or_default(), all.last_mut()) {
                (first, _) if !first.ends_with(':') => {
                    shared = line.contains("rw-s") && line.contains("/dev/zero");
                    range = first.to_owned();
                }
                ("Rss:", _) if shared => {
                    let blocks = fs::metadata(format!("/proc/{pid}/map_files/{range}"))?.blocks();
                    all.push(Self { rss: value(), huge: 0, object: blocks / 2 });
                }
                ("ShmemPmdMapped:", Some(last)) if shared => last.huge = value(),
                _ => {}
            }
        }
        all.into_iter().max_by_key(|one| one.object).context("no shared memory")
    }
}

fn becomes_huge_for_all(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut hold = Hold::start(&format!("--mib {MIB} --shared"))?;
    let child = hold.ask(Request::Fork)?;
    ensure!(matches!(child, Event::Forked { .. }), "{child:?}");
    let before = Shared::of(hold.pid())?;
    ensure!((before.rss, before.huge) == (MIB << 10, 0), "{before:?}");
    let status = once(&scratch, hold.pid(), "")?.json()?;
    let after = Shared::of(hold.pid())?;
    ensure!(number(&status, "/promoted")? == MIB / 2, "{status}");
    ensure!(after.huge == MIB << 10 && after.object == before.object, "{before:?} -> {after:?}");
    ensure!(hold.verify()? == MIB << 8, "not all of it was compared");
    // Again: nothing is left to do, and nothing of it is split or read.
    let status = once(&scratch, hold.pid(), "")?.json()?;
    let done = ["/promoted", "/demoted"].map(|what| number(&status, what).unwrap_or(u64::MAX));
    ensure!(done == [0, 0] && Shared::of(hold.pid())?.huge == MIB << 10, "{status}");
    Ok(())
}

fn holes_are_not_filled(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut hold = Hold::start(&format!("--mib {MIB} --shared --fill sparse:511"))?;
    let before = Shared::of(hold.pid())?;
    let status = once(&scratch, hold.pid(), "")?.json()?;
    let holes = left_alone(target(&status, hold.pid())?, "shared_holes")?;
    let after = Shared::of(hold.pid())?;
    ensure!(holes == MIB / 2 && number(&status, "/promoted")? == 0, "{status}");
    ensure!(after.huge == 0 && after.object == before.object, "{before:?} -> {after:?}");
    hold.verify()?;
    // Full, it is promoted; and a hole that is made in it comes back, and is not filled again.
    hold.ask(Request::Touch(Span { offset_mib: 0, len_kib: usize::try_from(MIB << 10)? }))?;
    once(&scratch, hold.pid(), "")?;
    ensure!(Shared::of(hold.pid())?.huge == MIB << 10, "{:?}", Shared::of(hold.pid())?);
    hold.ask(Request::Drop(Span { offset_mib: 4, len_kib: 512 }))?;
    let status = once(&scratch, hold.pid(), "")?.json()?;
    let after = Shared::of(hold.pid())?;
    ensure!(after.object == (MIB << 10) - 512, "the hole was filled: {after:?}, {status}");
    ensure!(left_alone(target(&status, hold.pid())?, "shared_holes")? == 1, "{status}");
    hold.verify()?;
    Ok(())
}

fn stays_where_asked(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut hold = Hold::start(&format!("--mib {MIB} --shared"))?;
    let off = "--set promote.shared_memory=false";
    let status = once(&scratch, hold.pid(), off)?.json()?;
    let target = target(&status, hold.pid())?;
    ensure!(number(target, "/skips/shared_mapping")? >= MIB / 2, "{status}");
    ensure!(Shared::of(hold.pid())?.huge == 0, "{status}");
    hold.verify()?;
    Ok(())
}

/// A program whose text is 4 MiB, placed so that huge pages fit, and runs all the time.
const PROGRAM: &str = r#"
#include <unistd.h>
__asm__(".text\n.balign 2097152\n.globl big\nbig:\n.fill 4194304, 1, 0x90\nret\n");
extern void big(void);
int main(void) { for (;;) { big(); usleep(100000); } }
"#;

/// The program, built into a directory, and running; both end with it.
struct Text {
    child: Child,
    file: PathBuf,
}

impl Text {
    fn start(directory: &Path) -> anyhow::Result<Self> {
        let file = directory.join(format!("hugewise-text-{}", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-x", "c", "-", "-Wl,-z,max-page-size=2097152", "-o"]).arg(&file);
        let Ok(mut compiler) = compiler.stdin(Stdio::piped()).spawn() else {
            return Err(skip("no C compiler ('cc')"));
        };
        compiler.stdin.take().context("an input")?.write_all(PROGRAM.as_bytes())?;
        ensure!(compiler.wait()?.success(), "cc failed");
        match Command::new(&file).spawn() {
            Ok(child) => Ok(Self { child, file }),
            Err(error) => {
                let _ = fs::remove_file(&file);
                Err(skip(format!("{}: {error}", directory.display())))
            }
        }
    }

    /// What of its text is mapped, and by huge entries, KiB.
    fn memory(&self) -> anyhow::Result<(u64, u64)> {
        let text = fs::read_to_string(format!("/proc/{}/smaps", self.child.id()))?;
        let (mut rss, mut huge, mut inside) = (0, 0, false);
        for line in text.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            let value = words.get(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
            match words.first().copied().unwrap_or_default() {
                first if !first.ends_with(':') => {
                    inside = line.contains("r-xp") && line.contains("hugewise-text");
                }
                "Rss:" if inside => rss += value,
                "ShmemPmdMapped:" | "FilePmdMapped:" if inside => huge += value,
                _ => {}
            }
        }
        Ok((rss, huge))
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.file);
    }
}

/// On tmpfs; on a disk only from Linux 7.2 on, before that by name. Without the key: never.
fn text_becomes_huge(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let (memory, disk) = (Text::start(Path::new("/dev/shm"))?, Text::start(scratch.path())?);
    wait_for("text", || Ok(memory.memory()?.0 >= 4096 && disk.memory()?.0 >= 4096))?;
    let status = once(&scratch, memory.child.id(), "")?.json()?;
    ensure!(number(&status, "/promoted")? == 0 && memory.memory()?.1 == 0, "{status}");
    let status = once(&scratch, memory.child.id(), "--set promote.text=true")?.json()?;
    let (rss, huge) = memory.memory()?;
    ensure!(number(&status, "/promoted")? == 2 && huge == 4096, "{huge} of {rss} KiB: {status}");
    let status = once(&scratch, disk.child.id(), "--set promote.text=true")?.json()?;
    let (rss, huge) = disk.memory()?;
    let skips = &target(&status, disk.child.id())?["skips"];
    println!("text on a disk: {huge} of {rss} KiB huge; {skips}");
    let is_named = skips["text_refused"].as_u64() >= Some(1);
    ensure!(huge == 4096 || (huge == 0 && is_named), "{huge} of {rss} KiB: {status}");
    Ok(())
}

/// Puts the switch of same-page merging back.
struct Merging(String);

impl Merging {
    const RUN: &str = "/sys/kernel/mm/ksm/run";

    fn start() -> anyhow::Result<Self> {
        let Ok(before) = fs::read_to_string(Self::RUN) else {
            return Err(skip("this kernel merges no pages (CONFIG_KSM)"));
        };
        ensure!(init::is_guest(), "it merges pages of every program");
        for (file, value) in [("sleep_millisecs", "1"), ("pages_to_scan", "20000"), ("run", "1")] {
            fs::write(format!("/sys/kernel/mm/ksm/{file}"), value).context("KSM")?;
        }
        Ok(Self(before))
    }

    /// Pages that were saved.
    fn saved() -> anyhow::Result<u64> {
        Ok(fs::read_to_string("/sys/kernel/mm/ksm/pages_sharing")?.trim().parse()?)
    }
}

impl Drop for Merging {
    fn drop(&mut self) {
        let _ = fs::write(Self::RUN, self.0.trim());
    }
}

/// What the kernel merged is left as it is: a collapse would make copies of it. Memory of the same
/// program that is not merged becomes huge.
fn stays_merged(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if !init::is_guest() {
        return Err(skip("it merges pages of every program: only in a virtual machine"));
    }
    let merging = Merging::start()?;
    let scratch = Scratch::new()?;
    let mut merged = Hold::start(&format!("--mib {MIB} --mergeable"))?;
    let pages = (MIB << 20) / rustix::param::page_size() as u64;
    wait_for("merged pages", || Ok(Merging::saved()? * 10 >= pages * 9))?;
    // ksmd stands still; what is merged stays so.
    drop(merging);
    let before = Merging::saved()?;
    let status = once(&scratch, merged.pid(), "")?.json()?;
    let left = left_alone(target(&status, merged.pid())?, "shared_pages")?;
    let after = Merging::saved()?;
    println!("merging: {before} pages saved before, {after} after; {left} regions left alone");
    ensure!(number(&status, "/promoted")? == 0 && left == MIB / 2, "{status}");
    ensure!(after == before, "{before} pages were saved, {after} are: {status}");
    merged.verify()?;
    is_promoted_now(&mut Hold::start(&format!("--mib {MIB}"))?)
}

/// A client that keeps its connection, and so its backend.
struct Session {
    client: Child,
    queries: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Session {
    fn start(server: &Postgres<'_>) -> anyhow::Result<Self> {
        let mut command = Command::new(server.programs.join("psql"));
        command.arg("-h").arg(&server.data).args(["-U", "trial", "-d", "postgres", "-qtA"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = command.spawn().context("cannot run psql")?;
        let queries = client.stdin.take().context("no standard input")?;
        let answers = BufReader::new(client.stdout.take().context("no standard output")?);
        Ok(Self { client, queries, answers })
    }

    /// The only value of a query's answer.
    fn ask(&mut self, query: &str) -> anyhow::Result<String> {
        writeln!(self.queries, "{query};")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        Ok(answer.trim().to_owned())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

/// What an operator does: one key, a restart of the database, and nothing of its own changed.
fn postgres_buffers_become_huge(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut server = Postgres::new(&scratch)?;
    let config = scratch.join("config.toml");
    let text = format!(
        "[select]\ndefault = \"exclude\"\nmin_anon_bytes = \"8 MiB\"\n\n\
         [[rule]]\nuser = \"nobody\"\nexe = \"{}/*\"\n\
         action = \"manage\"\n\n\
         [settings]\nshmem = true\n",
        server.programs.display()
    );
    fs::write(&config, text)?;
    let before = thp("shmem_enabled")?;
    let args = format!("--config {} --for 1h {FAST}", config.display());
    let manager = Manage::new(&scratch, &args).start()?;
    let during = thp("shmem_enabled")?;
    let postmaster = server.start("off")?;
    let load = server.data.display().to_string();
    let bench = |more: &str| -> anyhow::Result<Said> {
        let mut command = Command::new(server.programs.join("pgbench"));
        command.args(["-h", &load, "-U", "trial"]).args(more.split_whitespace()).arg("postgres");
        Ok(Said::of(&command.stdin(Stdio::null()).output().context("cannot run pgbench")?))
    };
    bench("-i -s 3 -q")?.expect(0)?;
    bench("-S -c 4 -t 4000")?.expect(0)?;
    let mut session = Session::start(&server)?;
    let backend = session.ask("select pg_backend_pid()")?.parse()?;
    let all = "select count(*) from pgbench_accounts";
    let rows = session.ask(all)?;
    let waits = |status: &Value| {
        let targets = status["targets"].as_array().into_iter().flatten();
        targets.filter(|target| target["skips"]["scheduled"].as_u64() > Some(0)).count() > 0
    };
    manager
        .wait("huge buffers", |status| status["promoted"].as_u64() >= Some(16) && !waits(status))?;
    ensure!(session.ask(all)? == rows, "it reads something else");
    let (shared, other) = (Shared::of(postmaster)?, Shared::of(backend)?);
    println!("postgres: postmaster {shared:?}, backend {other:?}");
    ensure!(other.rss >= 32 << 10, "it touched too little: {other:?}");
    ensure!(other.huge * 100 >= other.rss * 90, "less than 90 % is huge: {other:?}");
    let status = manager.stop()?.expect(0)?.json()?;
    ensure!(number(&status, "/failed")? * 10 <= number(&status, "/promoted")?, "{status}");
    drop(session);
    server.stop(Signal::INT)?;
    let after = thp("shmem_enabled")?;
    ensure!(during != "never" && after == before, "{before}, {during}, {after}");
    Ok(())
}
