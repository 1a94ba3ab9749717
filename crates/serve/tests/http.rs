//! A server as its clients see it: good ones, and those that flood, stall and lie.

use hugewise_serve::{
    Content, Limits, Listener, Question, Reply, Server, Settings, Stopper, Token, Verdict,
};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const PATIENCE: Duration = Duration::from_secs(20);

/// Says what it was asked; map 13 takes its time.
struct Echo;

impl Content for Echo {
    fn answer(&mut self, question: &Question) -> Reply {
        match question {
            Question::Map { pid: 1 } => Reply::none(Verdict::Absent, "There is no process 1."),
            Question::Map { pid: 13 } => {
                thread::sleep(Duration::from_secs(2));
                Reply::json("13".into())
            }
            Question::Map { pid: 99 } => Reply::json("x".repeat(32 << 20)),
            other => Reply::json(format!("{other:?}")),
        }
    }
}

struct Running {
    address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

fn start(limits: Limits) -> Running {
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port is free");
    let address = listener.address().expect("TCP");
    let settings = Settings {
        listener,
        hosts: vec!["box.example".into()],
        token: Token::new(TOKEN).expect("a token"),
        limits,
    };
    let server = Server::new(settings);
    let stopper = server.stopper();
    let thread = Some(thread::spawn(move || server.run(Echo).expect("runs")));
    Running { address, stopper, thread }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))), "it ends when it is told to");
    }
}

impl Running {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    }

    /// What comes back for these bytes, until the server closes.
    fn raw(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(request);
        rest(&mut stream)
    }

    fn get(&self, target: &str, headers: &str) -> String {
        let head = "Host: 127.0.0.1\r\nConnection: close\r\n";
        self.raw(format!("GET {target} HTTP/1.1\r\n{head}{headers}\r\n").as_bytes())
    }

    fn known(&self, target: &str) -> String {
        self.get(target, &format!("Authorization: Bearer {TOKEN}\r\n"))
    }
}

/// Everything until the end; a reset is an end, too.
fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("the server went on waiting"),
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// A request over a connection that stays.
fn asks(target: &str) -> String {
    let host = "Host: 127.0.0.1";
    format!("GET {target} HTTP/1.1\r\n{host}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n")
}

fn status(answer: &str) -> &str {
    answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).unwrap_or("none")
}

#[test]
fn nothing_is_told_without_the_token() {
    let server = start(Limits::default());
    for target in ["/metrics", "/api/v1/status", "/api/v1/map?pid=7", "/nowhere"] {
        assert_eq!(status(&server.get(target, "")), "401", "{target}");
        let wrong =
            server.get(target, "Authorization: Bearer 1123456789abcdef0123456789abcdef\r\n");
        assert_eq!(status(&wrong), "401", "{target}");
        assert!(!wrong.contains("Status"), "{wrong}");
    }
    let in_url = server.get(&format!("/metrics?token={TOKEN}"), "");
    assert_eq!(status(&in_url), "401", "a token in a URL is of the page alone");
    let cookie = server.get("/metrics", &format!("Cookie: token={TOKEN}\r\n"));
    assert_eq!(status(&cookie), "401", "other ports of this host would get a cookie, too");
    assert!(server.known("/api/v1/status").contains("\r\n\r\nStatus("));
    assert!(server.known("/api/v1/map?pid=7").ends_with("Map { pid: 7 }"));
    assert_eq!(status(&server.known("/api/v1/map?pid=1")), "404");
    assert_eq!(status(&server.known("/api/v1/map?pid=x")), "400");
    assert_eq!(status(&server.known("/nowhere")), "404");
}

#[test]
fn the_page_asks_for_the_token_where_it_is_missing() {
    let server = start(Limits::default());
    let locked = server.get("/", "");
    assert_eq!(status(&locked), "401");
    assert!(locked.contains("www-authenticate: Bearer") && locked.contains("id=\"token\""));
    let page = server.get(&format!("/?token={TOKEN}"), "");
    assert_eq!(status(&page), "200");
    assert!(page.contains("content-type: text/html") && !page.contains(TOKEN));
    let nonce = |page: &str| page.split("'nonce-").nth(1).map(|rest| rest[..32].to_owned());
    assert!(nonce(&page).is_some_and(|n| page.contains(&format!("<script nonce=\"{n}\">"))));
    assert_ne!(nonce(&page), nonce(&locked), "each answer has its own");
}

#[test]
fn headers_leave_a_browser_little_to_do() {
    let server = start(Limits::default());
    let answers = ["/", "/api/v1/status", "/metrics", "/nowhere"].map(|path| server.known(path));
    let refused = server.raw(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    for answer in answers.iter().chain([&refused, &server.get("/", "")]) {
        let head = answer.split("\r\n\r\n").next().unwrap_or_default();
        for header in [
            "cache-control: no-store",
            "referrer-policy: no-referrer",
            "x-content-type-options: nosniff",
            "x-frame-options: DENY",
            "cross-origin-resource-policy: same-origin",
            "content-security-policy: default-src 'none'",
        ] {
            assert!(head.contains(header), "{header}: {head}");
        }
        for header in ["access-control-", "set-cookie", "server:"] {
            assert!(!head.contains(header), "{header}: {head}");
        }
    }
}

#[test]
fn other_hosts_methods_and_bodies_are_refused() {
    let server = start(Limits::default());
    let auth = format!("Authorization: Bearer {TOKEN}\r\n");
    let of =
        |line: &str, headers: &str| server.raw(format!("{line}\r\n{headers}{auth}\r\n").as_bytes());
    let get = "GET /api/v1/status HTTP/1.1";
    assert_eq!(status(&of(get, "Host: evil.example\r\n")), "421");
    assert_eq!(status(&of(get, "")), "400");
    assert_eq!(status(&of(get, "Host: 127.0.0.1\r\nHost: evil.example\r\n")), "400");
    assert_eq!(status(&of(get, "Host: box.example:80\r\nConnection: close\r\n")), "200");
    let own = "Host: 127.0.0.1\r\n";
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        assert_eq!(status(&of(&format!("{method} / HTTP/1.1"), own)), "405", "{method}");
    }
    let body = format!("{own}Content-Length: 4000000000\r\n");
    assert_eq!(status(&of(get, &body)), "413");
    assert_eq!(status(&of(get, &format!("{own}Transfer-Encoding: chunked\r\n"))), "413");
    let head = of("HEAD /api/v1/status HTTP/1.1", &format!("{own}Connection: close\r\n"));
    assert!(status(&head) == "200" && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn garbage_and_endless_heads_end_the_connection() {
    let server = start(Limits::default());
    let long = format!("GET /{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "x".repeat(100_000));
    let lines = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(100_000));
    let tls = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec();
    for bytes in [&long.into_bytes(), &lines.into_bytes(), &tls, &vec![0; 50_000]] {
        let answer = server.raw(bytes);
        assert!(["400", "414", "431", "none"].contains(&status(&answer)), "{answer}");
    }
    assert_eq!(status(&server.known("/api/v1/status")), "200");
}

#[test]
fn who_says_nothing_or_drips_is_let_go_and_others_are_served() {
    let head = Duration::from_secs(3);
    let server = start(Limits { head, ..Limits::default() });
    let mut silent = server.connect();
    let mut drips = server.connect();
    let dripping = thread::spawn(move || {
        let began = Instant::now();
        let text = format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(4000));
        let gone = text.bytes().find(|byte| {
            thread::sleep(Duration::from_millis(20));
            drips.write_all(&[*byte]).is_err()
        });
        (gone.is_some(), began.elapsed())
    });
    let began = Instant::now();
    for _ in 0..20 {
        assert_eq!(status(&server.known("/api/v1/status")), "200");
    }
    assert!(began.elapsed() < head, "they are served meanwhile: {:?}", began.elapsed());
    assert_eq!(status(&rest(&mut silent)), "none");
    let (gone, took) = dripping.join().expect("no panic");
    assert!(gone && took < PATIENCE, "{took:?}");
}

#[test]
fn a_flood_of_connections_keeps_nobody_out() {
    let server = start(Limits { connections: 64, head: PATIENCE * 2, ..Limits::default() });
    // Somebody who was let in, and whose connection stays.
    let mut known = server.connect();
    let request = asks("/api/v1/status");
    let mut ask = || {
        known.write_all(request.as_bytes()).expect("still open");
        let mut buffer = [0; 4096];
        let n = known.read(&mut buffer).expect("answers");
        assert_eq!(status(&String::from_utf8_lossy(&buffer[..n])), "200");
    };
    ask();
    let mut flood = Vec::new();
    for round in 0..1000 {
        let mut stream = server.connect();
        // Half of them begin a request that they never end.
        if round % 2 == 0 {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nX: ");
        }
        flood.push(stream);
        if round % 100 == 99 {
            assert_eq!(status(&server.known("/api/v1/status")), "200", "{round}");
            ask();
        }
    }
    // All but those that there is room for are gone.
    let open = |stream: &TcpStream| {
        stream.set_nonblocking(true).expect("set");
        let waits = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
        stream.peek(&mut [0]).is_err_and(waits)
    };
    let open = flood.iter().filter(|stream| open(stream)).count();
    assert!(open <= 64, "{open} are open");
}

#[test]
fn who_does_not_take_an_answer_holds_nobody_up() {
    let age = Duration::from_millis(300);
    let server = start(Limits { age, ..Limits::default() });
    let mut deaf = server.connect();
    deaf.write_all(asks("/api/v1/map?pid=99").as_bytes()).expect("sent");
    let began = Instant::now();
    while began.elapsed() < 4 * age {
        assert_eq!(status(&server.known("/api/v1/status")), "200");
    }
    // Cut off in the middle of 32 MiB.
    let mut bytes = Vec::new();
    let _ = deaf.read_to_end(&mut bytes);
    assert!(bytes.len() < 32 << 20, "{}", bytes.len());
}

#[test]
fn questions_that_are_too_many_are_sent_away_at_once() {
    let server = start(Limits { answer: Duration::from_millis(500), ..Limits::default() });
    let answers: Vec<String> = thread::scope(|scope| {
        let ask = |_| scope.spawn(|| server.known("/api/v1/map?pid=13"));
        let asked: Vec<_> = (0..60).map(ask).collect();
        asked.into_iter().map(|asked| asked.join().expect("no panic")).collect()
    });
    assert!(answers.iter().all(|answer| status(answer) == "503"));
    assert!(answers.iter().any(|answer| answer.contains("Too many questions")));
    assert!(answers.iter().any(|answer| answer.contains("took too long")));
    // What nobody waits for is not answered: the next one is, after the one that was begun.
    thread::sleep(Duration::from_secs(2));
    assert_eq!(status(&server.known("/api/v1/status")), "200");
}
