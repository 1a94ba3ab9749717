//! Servers that answer, and those that do not.

use super::*;
use hugewise_scratch::Scratch;
use std::os::unix::net::UnixListener;

/// A server that says this to every client, and then nothing more.
fn server(scratch: &Scratch, says: Vec<u8>) -> Address {
    let path = scratch.path().join("s");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a guest");
        // The guest may leave early.
        let _ = stream.write_all(&says);
        let mut rest = [0; 1024];
        while stream.read(&mut rest).is_ok_and(|read| read > 0) {}
    });
    Address::Unix(path.display().to_string())
}

fn said(says: &[u8], what: Ask) -> Result<String, String> {
    let scratch = Scratch::new();
    ask(&server(&scratch, says.to_vec()), None, what)
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

#[test]
fn addresses() {
    let tcp = |host: &str, port| Ok(Address::Tcp(host.to_owned(), port));
    assert_eq!(Address::parse("/run/r.sock"), Ok(Address::Unix("/run/r.sock".to_owned())));
    assert_eq!(Address::parse("cache1:6380"), tcp("cache1", 6380));
    assert_eq!(Address::parse("[::1]:6380"), tcp("::1", 6380));
    assert_eq!(Address::parse("localhost"), tcp("localhost", 6379));
    for wrong in ["", "a:b", "redis://:secret@h:1", "a b:1", "x:99999"] {
        assert!(Address::parse(wrong).is_err(), "{wrong}");
    }
    let remote = |text| Address::parse(text).expect("one").remote().map(str::to_owned);
    assert_eq!(remote("cache1:1").as_deref(), Some("cache1"));
    assert_eq!((remote("127.0.0.1:1"), remote("/s")), (None, None));
}

#[test]
fn an_answer_has_no_arguments_and_no_foreign_lines() {
    let info = "# Server\r\nredis_version:7.0.15\r\nroot@db1:~# rm -rf x\r\nos:Linux 6.1\r\n";
    let slow = "*1\r\n*4\r\n:7\r\n:1700000000\r\n:90000\r\n*2\r\n$3\r\nGET\r\n$6\r\nsecret\r\n";
    let stalls = "*1\r\n*4\r\n$4\r\nfork\r\n:1700000000\r\n:80\r\n:90\r\n";
    let text = said((bulk(info) + slow + stalls).as_bytes(), Ask::All).expect("an answer");
    let wanted = [
        "# Server\nredis_version:7.0.15\nos:Linux 6.1\n",
        "1) 1) (integer) 7\n   2) (integer) 1700000000\n   3) (integer) 90000\n   4) 1) \"GET\"\n",
        "1) 1) \"fork\"\n   2) (integer) 1700000000\n   3) (integer) 80\n   4) (integer) 90\n",
    ];
    let wanted = wanted.join("\n");
    assert_eq!(text, wanted);
}

#[test]
fn what_is_no_answer_is_said() {
    for (says, why) in [
        (b"-NOAUTH Authentication required.\r\n".to_vec(), "REDISCLI_AUTH"),
        (b"-DENIED Redis is running in protected mode\r\n".to_vec(), "protected mode"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), "not the protocol"),
        (bulk("hello: you").into_bytes(), "not that of Redis"),
        (vec![b'+'; 4 << 20], "not the protocol"),
        (b"*1\r\n".repeat(100_000), "more than it was asked for"),
        (b":5\r\n".to_vec(), "no text"),
    ] {
        let error = said(&says, Ask::Counts).expect_err("no answer");
        assert!(error.contains(why), "{error}");
    }
    let gone = Address::Unix("/nowhere/at/all".to_owned());
    assert!(ask(&gone, None, Ask::All).expect_err("nobody").starts_with("cannot connect"));
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    let begun = Instant::now();
    let error = said(b"", Ask::Counts).expect_err("silence");
    assert!(error.starts_with("no answer"), "{error}");
    assert!(begun.elapsed() < TIME_MAX * 2, "{:?}", begun.elapsed());
}
