//! The smallest HTTP server: one answer to every request.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

/// Answers every request with this status line; its URL. Ends with the tests.
pub(crate) fn answering(status: &'static str) -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                while lines.by_ref().any(|line| line.is_empty()) {
                    let mut stream = &stream;
                    // An error says that nobody asks any more.
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    Ok(url)
}
