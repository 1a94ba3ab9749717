//! `text`: a program that calls functions all over its text, which is a file in memory.
//!
//! The program is made here, as no compiler can be assumed, and started from a memfd, which is a
//! file of tmpfs: its text can be huge, unlike that of most file systems. What it adds up on its
//! way is compared.

mod code;

use super::kit::{
    Clock, MIB, Measured, Progress, Setup, Verdict, Workload, index, mib, nanoseconds, place, sized,
};
use anyhow::{Context, bail};
use hugewise_base::rng::Rng;
use hugewise_experiment::kinds::Text as Params;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Calls of a request: so many that asking costs little, and so few that progress is seen.
const CALLS: usize = 1 << 18;

/// The program while it runs; killed on drop.
#[derive(Debug)]
struct Program {
    process: Child,
    requests: ChildStdin,
    answers: ChildStdout,
}

impl Program {
    /// Starts what is in a file that nobody writes any more.
    fn start(text: &[u8]) -> anyhow::Result<Self> {
        if !cfg!(target_arch = "x86_64") {
            bail!("the program is of x86-64 only");
        }
        let memory = memfd_create("hugewise-text", MemfdFlags::CLOEXEC);
        let file = File::from(memory.context("cannot make a file in memory")?);
        file.write_all_at(&code::header(text.len()), 0)?;
        file.write_all_at(text, code::OFFSET)?;
        // What is open for writing is not started.
        let path = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
        let readable = File::open(path(&file)).context("cannot open a file in memory")?;
        drop(file);
        let mut command = Command::new(path(&readable));
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = piped.context("cannot start a program in memory")?;
        let ends = process.stdin.take().zip(process.stdout.take());
        let (requests, answers) = ends.context("a program without pipes")?;
        Ok(Self { process, requests, answers })
    }

    /// Has it call so many functions; the sum of what they add.
    fn call(&mut self, calls: usize) -> anyhow::Result<u64> {
        let mut answer = [0; 8];
        self.requests.write_all(&(calls as u64).to_le_bytes())?;
        self.answers.read_exact(&mut answer).context("the program has ended")?;
        Ok(u64::from_le_bytes(answer))
    }

    /// Its text that is mapped by huge pages, MiB.
    fn huge_mib(&self) -> anyhow::Result<f64> {
        let path = format!("/proc/{}/smaps_rollup", self.process.id());
        let of = |name: &str| sized(Path::new(&path), name);
        Ok(mib(of("ShmemPmdMapped")? + of("FilePmdMapped")?))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program, and what is known of its way.
#[derive(Debug)]
pub(super) struct Text {
    bytes: usize,
    /// All functions, in the order in which they are called.
    order: Vec<u32>,
    /// What those before a place of the order add.
    sums: Vec<u64>,
    at: usize,
    program: Option<Program>,
}

impl Text {
    /// Finds a way through all functions.
    pub(super) fn new(params: &Params, setup: &Setup) -> anyhow::Result<Self> {
        let bytes = params.mib.next_multiple_of(2) * MIB;
        let count = u32::try_from(code::functions(bytes)).context("too many functions")?;
        let (mut order, mut rng): (Vec<u32>, _) = ((0..count).collect(), Rng::new(setup.seed));
        for last in (1..order.len()).rev() {
            order.swap(last, place(rng.next(), last + 1));
        }
        let mut sums = vec![0_u64];
        for function in &order {
            let before = sums.last().copied().unwrap_or(0);
            sums.push(before.wrapping_add(code::adds(index(u64::from(*function)))));
        }
        Ok(Self { bytes, order, sums, at: 0, program: None })
    }

    /// Goes on by so many calls, at most one round. Whether their sum was right, and how long it
    /// took.
    fn go_on(&mut self, calls: usize) -> anyhow::Result<(bool, Duration)> {
        let program = self.program.as_mut().context("the program was not started")?;
        let begin = Instant::now();
        let sum = program.call(calls)?;
        let took = begin.elapsed();
        let (from, all) = (self.at, self.order.len());
        let to = from + calls;
        let expected = if to <= all {
            self.sums[to].wrapping_sub(self.sums[from])
        } else {
            let rest = self.sums[all].wrapping_sub(self.sums[from]);
            rest.wrapping_add(self.sums[to - all])
        };
        self.at = to % all;
        Ok((sum == expected, took))
    }
}

impl Workload for Text {
    fn fill(&mut self, _: &mut Progress) -> anyhow::Result<Measured> {
        let text = code::text(self.bytes, &self.order, &code::adds);
        self.program = Some(Program::start(&text)?);
        // Its page tables have all of it then.
        let (right, _) = self.go_on(self.order.len())?;
        Ok(Measured::default().with_wrong(u64::from(!right)))
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, calls) = (Clock::start(time), CALLS.min(self.order.len()));
        let (mut spent, mut called, mut wrong) = (0, 0, 0);
        while clock.runs_with(progress) {
            let (right, took) = self.go_on(calls)?;
            wrong += u64::from(!right);
            (spent, called) = (spent + nanoseconds(took), called + calls as u64);
        }
        let program = self.program.as_ref().context("the program was not started")?;
        let measured = Measured::default().with("text_huge_mib", program.huge_mib()?);
        let each = spent as f64 / f64::max(called as f64, 1.0);
        Ok(measured.with("ns_per_call", each).with_wrong(wrong))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        let (mut left, calls) = (self.order.len(), 1 << 12);
        while left > 0 {
            let now = left.min(calls);
            verdict.count(self.go_on(now)?.0);
            left -= now;
        }
        Ok(verdict)
    }

    /// The program is started anew, with a function that adds something else.
    fn corrupt(&mut self) {
        let wrong = self.order.len() / 2;
        let adds = |function| code::adds(function) ^ u64::from(function == wrong);
        let text = code::text(self.bytes, &self.order, &adds);
        (self.at, self.program) = (0, Program::start(&text).ok());
    }
}
