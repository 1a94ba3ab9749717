//! Runs against servers inside the test. Counts are asserted, with wide margins; times are not,
//! but for the stall, which is many times what a busy machine adds.

use super::{Access, Progress, run};
use hugewise_base::stats::Histogram;
use hugewise_base::units::Ns;
use hugewise_experiment::load::{Failure, LoadResult, LoadSpec, ThinkTime, Tool};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Answers the requests of one connection; `None` ends it.
type Answer = fn(&[u8], &Server) -> Option<Vec<u8>>;

/// What all connections of a server share.
#[derive(Debug, Default)]
struct Server {
    requests: AtomicU64,
    stalled_until: Mutex<Option<Instant>>,
}

impl Server {
    /// From the request of this number on, nobody is answered for `time`. By number, not by the
    /// clock: a busy machine begins late.
    fn stall(&self, number: u64, time: Duration) {
        let until = {
            let mut until = self.stalled_until.lock().expect("no thread panics");
            if self.requests.fetch_add(1, Ordering::Relaxed) == number {
                *until = Some(Instant::now() + time);
            }
            *until
        };
        if let Some(left) = until.and_then(|at| at.checked_duration_since(Instant::now())) {
            std::thread::sleep(left);
        }
    }
}

fn serve(mut stream: TcpStream, server: &Server, answer: Answer) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        let Some(bytes) = answer(&buffer[..length], server) else { return };
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
}

/// A server whose threads end with the test's process.
fn server(answer: Answer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let server = Arc::new(Server::default());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            std::thread::spawn(move || serve(stream, &server, answer));
        }
    });
    address
}

fn redis(answer: Answer, steps: &[&str]) -> LoadSpec {
    LoadSpec::new(&format!("redis://{}", server(answer)), steps)
}

fn http(answer: Answer, steps: &[&str]) -> LoadSpec {
    LoadSpec::new(&format!("http://{}/page", server(answer)), steps)
}

fn loaded(spec: &LoadSpec) -> LoadResult {
    run(spec, &Access::default(), &mut |_| Ok(())).expect("the server is there")
}

fn nil(_: &[u8], _: &Server) -> Option<Vec<u8>> {
    Some(b"$-1\r\n".to_vec())
}

fn ok(_: &[u8], _: &Server) -> Option<Vec<u8>> {
    Some(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".to_vec())
}

/// How many values are at least that long.
fn at_least(histogram: Option<&Histogram>, time: Ns) -> u64 {
    let histogram = histogram.expect("measured");
    let all = histogram.count();
    let longer = |rank: &u64| {
        let q = (*rank as f64 + 0.5) / all as f64;
        histogram.quantile(q).is_some_and(|value| value >= time.0)
    };
    (0..all).filter(longer).count() as u64
}

fn stalling(_: &[u8], server: &Server) -> Option<Vec<u8>> {
    server.stall(100, Duration::from_millis(500));
    Some(b"$-1\r\n".to_vec())
}

#[test]
fn a_stall_shows_in_latency_and_hides_in_service_time() {
    let mut spec = redis(stalling, &["constant 200/s for 2 s"]);
    spec.connections = 4;
    let result = loaded(&spec);
    assert_eq!((result.intended, result.completed), (Some(400), 400));
    // Who comes in the first half of the stall waits for 250 ms or more: fifty requests.
    let felt = at_least(result.latency.as_ref(), Ns::ms(250));
    assert!(felt >= 40, "{felt} requests felt the stall");
    // Only those that were sent into it took long to serve: one a connection, and a few more where
    // this program itself had no CPU for a moment.
    let served = at_least(result.service.as_ref(), Ns::ms(250));
    assert!(served >= 1 && served * 4 <= felt, "{served} of {felt} requests were served slowly");
    let counted: u64 = result.seconds.iter().map(|second| second.offered).sum();
    assert_eq!(counted, 400);
    assert_eq!(result.misses, result.latency.as_ref().map(Histogram::count));
}

#[test]
fn http_is_kept_alive_and_counted_by_status() {
    let mut spec = http(ok, &["constant 100/s for 500 ms", "peak 20 at once"]);
    spec.connections = 3;
    let result = loaded(&spec);
    assert_eq!((result.intended, result.completed, result.failures()), (Some(70), 70, 0));
    assert_eq!(result.misses, None, "nothing is asked for by key");

    let broken =
        |_: &[u8], _: &Server| Some(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_vec());
    let result = loaded(&http(broken, &["peak 20 at once"]));
    assert_eq!((result.completed, result.failed.get(&Failure::Status)), (0, Some(&20)));
    assert_eq!(result.errors.get("status 503"), Some(&20));
    assert_eq!(result.quantile(0.01), None, "nobody was answered well");
}

#[test]
fn redirects_are_followed_and_count_once() {
    let moved = |request: &[u8], _: &Server| {
        let to = match request {
            [b'G', b'E', b'T', b' ', b'/', b'p', ..] => "/next",
            [b'G', b'E', b'T', b' ', b'/', b'n', ..] => "last",
            _ => return Some(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".to_vec()),
        };
        let head = "HTTP/1.1 302 Found\r\nContent-Length: 0";
        Some(format!("{head}\r\nLocation: {to}\r\n\r\n").into_bytes())
    };
    let result = loaded(&http(moved, &["peak 20 at once"]));
    assert_eq!((result.completed, result.failures()), (20, 0));
    let circle = |_: &[u8], _: &Server| {
        Some(b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\nLocation: /page\r\n\r\n".to_vec())
    };
    let result = loaded(&http(circle, &["peak 20 at once"]));
    assert_eq!(result.failed.get(&Failure::Status), Some(&20));
    assert_eq!(result.errors.get("more than 5 redirects"), Some(&20));
}

#[test]
fn a_server_that_closes_after_each_answer_is_connected_to_again() {
    let closing = |_: &[u8], _: &Server| {
        Some(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_vec())
    };
    let mut spec = http(closing, &["constant 50/s for 400 ms"]);
    spec.connections = 2;
    assert_eq!(loaded(&spec).completed, 20);
}

#[test]
fn failures_have_their_names() {
    let only = |spec: &LoadSpec, kind: Failure, count: u64| {
        let result = loaded(spec);
        assert_eq!(result.failed.get(&kind), Some(&count), "{:?}", result.failed);
        result
    };
    let error = |_: &[u8], _: &Server| Some(b"-LOADING data\r\n".to_vec());
    let result = only(&redis(error, &["peak 30 at once"]), Failure::Server, 30);
    assert_eq!(result.errors.get("LOADING data"), Some(&30));
    let garbage = |_: &[u8], _: &Server| Some(b"hello\r\n".to_vec());
    only(&redis(garbage, &["peak 5 at once"]), Failure::Protocol, 5);
    only(&redis(|_, _| None, &["peak 5 at once"]), Failure::Closed, 5);

    let mut silent = redis(|_, _| Some(Vec::new()), &["peak 5 at once"]);
    silent.timeout_ms = 200;
    silent.connections = 2;
    let result = only(&silent, Failure::Timeout, 2);
    assert_eq!(result.failed.get(&Failure::QueueTimeout), Some(&3));
    assert_eq!((result.sent, result.intended), (Some(2), Some(5)));
    silent.max_waiting = 1;
    assert!(loaded(&silent).failed.get(&Failure::QueueFull) >= Some(&2));
}

#[test]
fn a_connection_that_is_refused_is_an_error_with_its_name() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    for (scheme, more) in [("redis", ""), ("http", "/")] {
        let spec = LoadSpec::new(&format!("{scheme}://{address}{more}"), &["peak 1 at once"]);
        let error = run(&spec, &Access::default(), &mut |_| Ok(()))
            .expect_err("nobody listens")
            .to_string();
        assert!(error.contains("connection refused") && error.contains(&address.to_string()));
    }
    let spec = LoadSpec::new("redis+unix:///nonexistent/redis.sock", &["peak 1 at once"]);
    let error =
        run(&spec, &Access::default(), &mut |_| Ok(())).expect_err("no such socket").to_string();
    assert!(error.contains("connection refused"), "{error}");
}

#[test]
fn users_make_their_requests_one_after_the_other() {
    let mut spec = redis(nil, &["ramp 20 users over 300 ms", "nothing for 3 s"]);
    spec.requests_per_user = 5;
    spec.think_time = ThinkTime::Constant(Ns::ms(20));
    let result = loaded(&spec);
    assert_eq!((result.intended, result.completed), (Some(100), 100));
    spec.think_time = ThinkTime::Constant(Ns::s(5));
    let result = loaded(&spec);
    assert_eq!(result.completed, 20, "the others would have come too late");
    let said = |text: &str| result.notes.iter().any(|note| note.contains(text));
    assert!(said("20 users were not done"), "{:?}", result.notes);
}

#[test]
fn a_run_says_where_it_is_and_can_be_ended() {
    let spec = redis(nil, &["constant 100/s for 1 h"]);
    let mut seen: Vec<Progress> = Vec::new();
    let ended = run(&spec, &Access::default(), &mut |progress| {
        seen.push(progress);
        if progress.completed >= 20 { Err(anyhow::anyhow!("interrupted")) } else { Ok(()) }
    });
    assert_eq!(ended.expect_err("ended").to_string(), "interrupted");
    let last = seen.last().expect("at least one");
    assert!(last.at > Ns(0) && last.intended >= 20 && last.failed == 0);
    assert!(last.time == Ns::s(3600) && seen.is_sorted_by_key(|progress| progress.at));
}

#[test]
fn what_gatling_cannot_send_is_refused_before_anything_runs() {
    let mut spec = LoadSpec::new("http://127.0.0.1:1/", &["constant 1/s for 1 s"]);
    (spec.tool, spec.preload) = (Tool::Gatling, true);
    let error = run(&spec, &Access::default(), &mut |_| Ok(())).expect_err("refused").to_string();
    assert!(error.contains("preload"), "{error}");
    (spec.target, spec.preload) = ("redis://127.0.0.1:1".into(), false);
    let error = run(&spec, &Access::default(), &mut |_| Ok(())).expect_err("refused").to_string();
    assert!(error.contains("gatling speaks HTTP only"), "{error}");
}
