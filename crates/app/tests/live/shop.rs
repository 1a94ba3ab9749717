//! A small service whose workers are the limit, for tests of what finds that out.

use crate::kit::Scratch;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// Time that a request takes once it has a worker.
const SERVICE: Duration = Duration::from_millis(20);

/// A server with so many workers as a file says, whenever a request asks for one.
pub(crate) struct Shop {
    pub(crate) address: SocketAddr,
    pub(crate) pool: PathBuf,
}

impl Shop {
    pub(crate) fn open(scratch: &Scratch) -> anyhow::Result<Self> {
        let pool = scratch.join("pool");
        fs::write(&pool, "1")?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (size, busy) = (pool.clone(), Arc::new((Mutex::new(0), Condvar::new())));
        // Ends with the tests.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (size, busy) = (size.clone(), Arc::clone(&busy));
                thread::spawn(move || serve(&stream, &size, &busy));
            }
        });
        Ok(Self { address, pool })
    }

    pub(crate) fn workers(&self) -> anyhow::Result<String> {
        Ok(fs::read_to_string(&self.pool)?.trim().to_owned())
    }
}

/// Answers every request of a connection.
fn serve(stream: &TcpStream, size: &Path, busy: &(Mutex<usize>, Condvar)) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    loop {
        while !lines.next()?.ok()?.is_empty() {}
        let (at_work, freed) = busy;
        let mut count = at_work.lock().ok()?;
        let is_free = |count: usize| {
            let size = fs::read_to_string(size).unwrap_or_default();
            count < size.trim().parse().unwrap_or(1)
        };
        while !is_free(*count) {
            count = freed.wait_timeout(count, SERVICE).ok()?.0;
        }
        *count += 1;
        drop(count);
        thread::sleep(SERVICE);
        *at_work.lock().ok()? -= 1;
        freed.notify_one();
        let mut stream = stream;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok()?;
    }
}
