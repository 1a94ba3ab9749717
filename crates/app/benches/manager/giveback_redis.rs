//! A Redis server that forgets most of its keys: fill, ask, delete 70 %, wait, ask again.

use super::super::{Done, number};
use super::measure::{Load, Memory, Program, load};
use super::{
    Beside, Metric, Result, Scratch, Settings, Values, Variant, compare, seconds, variants,
};
use hugewise_core::sim::rng::Rng;
use hugewise_core::stats::median;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

const SERVER: &str = "redis-server";
/// Size of each value. Its bytes are random: what `DEBUG POPULATE` makes is mostly zeros, which a
/// split would give back although they are data.
const VALUE: usize = 8192;
/// Values sent before the answers are read.
const PIPELINE: usize = 64;
/// Of a hundred keys so many are deleted.
const DELETED: usize = 70;
/// Keys of one `DEL`.
const BATCH: usize = 100;

const METRICS: [Metric; 21] = [
    ("full: RSS MiB", 0),
    ("full: cgroup MiB", 0),
    ("full: MemAvailable less MiB", 0),
    ("full: huge MiB", 0),
    ("full: GET/s", 0),
    ("full: p50 us", 1),
    ("full: p99 us", 1),
    ("full: p99.9 us", 1),
    ("deleted: RSS MiB", 0),
    ("deleted: cgroup MiB", 0),
    ("deleted: MemAvailable less MiB", 0),
    ("deleted: huge MiB", 0),
    ("deleted: GET/s", 0),
    ("deleted: p50 us", 1),
    ("deleted: p99 us", 1),
    ("deleted: p99.9 us", 1),
    ("manager CPU s", 2),
    ("promoted", 0),
    ("demoted", 0),
    ("failed", 0),
    ("freed by demotion MiB", 0),
];

/// What was held at each second after the deletion, by variant and repetition.
type Curves = BTreeMap<&'static str, Vec<Vec<Memory>>>;

pub(crate) fn run() -> Done {
    let keys = usize::try_from(number("HUGEWISE_BENCH_KEYS", 60_000))?;
    println!(
        "Redis, {keys} keys of {VALUE} bytes, of which {DELETED} % are deleted; one connection, \
         one request at a time, every answer checked. Median [min..max]; in brackets the median \
         of the ratios to `never` of the same repetition.\n"
    );
    if let Err(error) = std::process::Command::new(SERVER).arg("--version").output() {
        println!("Skipped: {SERVER} cannot be started ({error}): install Debian's redis-server.");
        return Ok(());
    }
    let chosen = variants(&["never", "always", "always409", "ingens", "guard"])?;
    let mut curves = Curves::new();
    let done = compare(&chosen, &METRICS, |variant, round| {
        let (values, curve) = one(variant, round, keys)?;
        curves.entry(variant.name).or_default().push(curve);
        Ok(values)
    });
    print_curves(&chosen, &curves);
    done
}

fn one(variant: &Variant, round: u64, keys: usize) -> Result<(Values, Vec<Memory>)> {
    let time = seconds("HUGEWISE_BENCH_SECONDS", 5);
    let scratch = Scratch::new()?;
    let _settings = Settings::of(variant)?;
    let mut redis = Redis::start(variant, &scratch, keys)?;
    let mut beside = Beside::start(variant, redis.program.pid(), &[])?;
    std::thread::sleep(seconds("HUGEWISE_BENCH_SETTLE", 20));
    beside.check()?;
    let mut rng = Rng::new(round + 1);
    let mut values = Values::new();
    let names =
        ["full: RSS MiB", "full: cgroup MiB", "full: MemAvailable less MiB", "full: huge MiB"];
    redis.program.memory()?.put(&mut values, names);
    let names = ["full: GET/s", "full: p50 us", "full: p99 us", "full: p99.9 us"];
    put(&mut values, names, &redis.load(time, &mut rng)?);

    redis.delete(&mut rng)?;
    let curve = redis.program.watch(seconds("HUGEWISE_BENCH_WATCH", 45))?;
    let names = [
        "deleted: RSS MiB",
        "deleted: cgroup MiB",
        "deleted: MemAvailable less MiB",
        "deleted: huge MiB",
    ];
    curve.last().ok_or("nothing was seen")?.put(&mut values, names);
    let names = ["deleted: GET/s", "deleted: p50 us", "deleted: p99 us", "deleted: p99.9 us"];
    put(&mut values, names, &redis.load(time, &mut rng)?);
    redis.check_all()?;
    beside.stop(&mut values)?;
    Ok((values, curve))
}

fn put(values: &mut Values, names: [&'static str; 4], load: &Load) {
    let Load { per_s, p50_us, p99_us, p999_us } = *load;
    values.extend(names.into_iter().zip([per_s, p50_us, p99_us, p999_us]));
}

/// A server of one run, on a socket of its own.
struct Redis {
    program: Program,
    connection: BufReader<UnixStream>,
    /// Numbers of the keys that are there.
    alive: Vec<usize>,
    answer: Vec<u8>,
}

impl Redis {
    fn start(variant: &Variant, scratch: &Scratch, keys: usize) -> Result<Self> {
        let socket = scratch.join("redis.sock");
        let log = std::fs::File::create(scratch.join("redis.log"))?;
        let program = Program::start(SERVER, |command| {
            command.args(["--port", "0", "--save", "", "--enable-debug-command", "local"]);
            command.args(["--disable-thp", "no", "--unixsocket"]).arg(&socket);
            command.arg("--dir").arg(&scratch.0).stdin(Stdio::null()).stdout(log);
            // Debian's Redis allocates by jemalloc, which then advises all its memory.
            match variant.asks {
                true => command.env("MALLOC_CONF", "thp:always"),
                false => command.env_remove("MALLOC_CONF"),
            };
        })?;
        let connection = BufReader::new(connect(&socket)?);
        let (alive, answer) = ((0..keys).collect(), Vec::new());
        let mut redis = Self { program, connection, alive, answer };
        redis.fill(keys)?;
        redis.check_all()?;
        let huge = redis.program.memory()?.huge;
        if (huge > 0.0) != variant.asks {
            return Err(format!("{huge} MiB of Redis are huge under '{}'", variant.name).into());
        }
        Ok(redis)
    }

    fn fill(&mut self, keys: usize) -> Result<()> {
        for first in (0..keys).step_by(PIPELINE) {
            let batch = first..keys.min(first + PIPELINE);
            let mut request = Vec::new();
            for key in batch.clone() {
                let name = format!("key:{key}");
                write!(request, "*3\r\n$3\r\nSET\r\n${}\r\n{name}\r\n", name.len())?;
                write!(request, "${VALUE}\r\n")?;
                request.extend_from_slice(&value(key));
                request.extend_from_slice(b"\r\n");
            }
            self.connection.get_mut().write_all(&request)?;
            for _ in batch {
                let mut line = String::new();
                self.connection.read_line(&mut line)?;
                if line != "+OK\r\n" {
                    return Err(format!("SET: {line}").into());
                }
            }
        }
        Ok(())
    }

    /// One command; the answer is kept until the next one.
    fn ask(&mut self, words: &[&str]) -> Result<()> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.connection.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.connection.read_line(&mut line)?;
        self.answer.clear();
        match line.trim_end().split_at_checked(1) {
            Some(("+" | ":", rest)) => self.answer.extend_from_slice(rest.as_bytes()),
            Some(("$", length)) => {
                let length: usize = length.parse().map_err(|_| "no such key")?;
                self.answer.resize(length + 2, 0);
                self.connection.read_exact(&mut self.answer)?;
                self.answer.truncate(length);
            }
            _ => return Err(format!("{:?}: {line}", words.first()).into()),
        }
        Ok(())
    }

    /// Gets one value and looks at every byte of it; how long the answer took.
    fn get(&mut self, key: usize) -> Result<Duration> {
        let name = format!("key:{key}");
        let began = Instant::now();
        self.ask(&["GET", &name])?;
        let took = began.elapsed();
        if self.answer != value(key) {
            return Err(format!("DATA CHANGED: {name}").into());
        }
        Ok(took)
    }

    fn load(&mut self, time: Duration, rng: &mut Rng) -> Result<Load> {
        let count = self.alive.len() as u64;
        load(time, || {
            let at = usize::try_from(rng.below(count))?;
            self.get(self.alive[at])
        })
    }

    /// Every key that should be there is, with its value, and no other one.
    fn check_all(&mut self) -> Result<()> {
        self.ask(&["DBSIZE"])?;
        if self.answer != self.alive.len().to_string().as_bytes() {
            return Err("DATA CHANGED: another number of keys".into());
        }
        for at in 0..self.alive.len() {
            self.get(self.alive[at])?;
        }
        Ok(())
    }

    /// Deletes the share of the keys, at random.
    fn delete(&mut self, rng: &mut Rng) -> Result<()> {
        for at in (1..self.alive.len()).rev() {
            let other = usize::try_from(rng.below(at as u64 + 1))?;
            self.alive.swap(at, other);
        }
        let left = self.alive.len() * (100 - DELETED) / 100;
        let gone = self.alive.split_off(left);
        for keys in gone.chunks(BATCH) {
            let names: Vec<String> = keys.iter().map(|key| format!("key:{key}")).collect();
            let mut words = vec!["DEL"];
            words.extend(names.iter().map(String::as_str));
            self.ask(&words)?;
            if self.answer != keys.len().to_string().as_bytes() {
                return Err("not all keys were there to be deleted".into());
            }
        }
        Ok(())
    }
}

/// What a key holds: random bytes, the same each time.
fn value(key: usize) -> Vec<u8> {
    let mut rng = Rng::new(key as u64);
    let words = (0..VALUE / 8).map(|_| rng.next());
    words.flat_map(u64::to_le_bytes).collect()
}

/// Connects as soon as the server listens.
pub(super) fn connect(socket: &std::path::Path) -> Result<UnixStream> {
    let began = Instant::now();
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return Ok(stream),
            Err(error) if began.elapsed() > Duration::from_secs(10) => {
                return Err(format!("{}: {error}", socket.display()).into());
            }
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Medians over the repetitions, every five seconds; a watch that ended early keeps its last look.
fn print_curves(chosen: &[Variant], curves: &Curves) {
    let longest = curves.values().flatten().map(Vec::len).max().unwrap_or(0);
    let names: Vec<_> = chosen.iter().map(|variant| variant.name).collect();
    println!("MiB charged to the cgroup (RSS) so many seconds after the deletion:\n");
    println!("| s | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
    for at in (0..longest).step_by(5) {
        let cells = names.iter().map(|name| {
            let runs = curves.get(name).map_or(&[][..], Vec::as_slice);
            let looks = runs.iter().filter_map(|run| run.get(at).or(run.last()));
            let (group, rss): (Vec<_>, Vec<_>) =
                looks.map(|look| (look.group.unwrap_or(f64::NAN), look.rss)).unzip();
            let text = |values: &[f64]| median(values).map_or("-".into(), |v| format!("{v:.0}"));
            format!("{} ({})", text(&group), text(&rss))
        });
        println!("| {at} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    println!();
}
