//! One connection that speaks RESP2, one request at a time.

use super::answer::{Answer, Ask, Failed};
use crate::redis_says::resp;
use hugewise_experiment::load::Failure;
use redis_protocol::resp2::decode::decode_range;
use redis_protocol::resp2::types::RangeFrame;
use std::fmt;
use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

/// How much is read at once, at least.
const READ_BYTES: usize = 16 << 10;

trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

pub(super) struct Redis {
    stream: Box<dyn Stream>,
    output: Vec<u8>,
    input: Vec<u8>,
    /// How much of `input` was received.
    filled: usize,
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("filled", &self.filled).finish_non_exhaustive()
    }
}

/// The key of a number: all keys have the same length.
fn key(number: u64) -> String {
    format!("key:{number:012}")
}

impl Redis {
    pub(super) async fn tcp(address: SocketAddr) -> Result<Self, Failed> {
        let stream = TcpStream::connect(address).await.map_err(|e| Failed::connecting(&e))?;
        // Two small writes would otherwise wait for each other's acknowledgement.
        stream.set_nodelay(true).map_err(|e| Failed::connecting(&e))?;
        Ok(Self::over(stream))
    }

    pub(super) async fn unix(path: &str) -> Result<Self, Failed> {
        let stream = UnixStream::connect(path).await.map_err(|e| Failed::connecting(&e))?;
        Ok(Self::over(stream))
    }

    /// Says the password, where there is one.
    pub(super) async fn enter(mut self, password: Option<&str>) -> Result<Self, Failed> {
        let Some(password) = password else { return Ok(self) };
        self.output.clear();
        resp::command(&[b"AUTH", password.as_bytes()], &mut self.output);
        self.send().await?;
        match self.answer().await? {
            Answer::Done => Ok(self),
            _ => Err(Failed::new(Failure::Protocol, "an odd answer to AUTH")),
        }
    }

    fn over(stream: impl Stream + 'static) -> Self {
        Self { stream: Box::new(stream), output: Vec::new(), input: Vec::new(), filled: 0 }
    }

    pub(super) async fn request(&mut self, ask: &Ask<'_>) -> Result<Answer, Failed> {
        self.output.clear();
        self.add(ask);
        self.send().await?;
        let answer = self.answer().await;
        if self.filled > 0 {
            return Err(Failed::new(Failure::Protocol, "an answer to nothing"));
        }
        answer
    }

    /// Sets keys, all in flight at the same time.
    pub(super) async fn set_all(
        &mut self,
        keys: std::ops::Range<u64>,
        mut value: impl FnMut() -> Vec<u8>,
    ) -> Result<(), Failed> {
        self.output.clear();
        for number in keys.clone() {
            self.add(&Ask::Set(number, &value()));
        }
        self.send().await?;
        for _ in keys {
            self.answer().await?;
        }
        Ok(())
    }

    /// Adds a command to the output.
    fn add(&mut self, ask: &Ask<'_>) {
        match ask {
            Ask::Get(number) => {
                resp::command(&[b"GET", key(*number).as_bytes()], &mut self.output);
            }
            Ask::Set(number, value) => {
                resp::command(&[b"SET", key(*number).as_bytes(), value], &mut self.output);
            }
        }
    }

    async fn send(&mut self) -> Result<(), Failed> {
        self.stream.write_all(&self.output).await.map_err(|e| Failed::talking(&e))
    }

    /// Receives one answer.
    async fn answer(&mut self) -> Result<Answer, Failed> {
        loop {
            let decoded = decode_range(&self.input[..self.filled]);
            let decoded = decoded.map_err(|e| Failed::new(Failure::Protocol, e.to_string()))?;
            if let Some((frame, length)) = decoded {
                let answer = self.meaning(&frame);
                self.input.copy_within(length..self.filled, 0);
                self.filled -= length;
                return answer;
            }
            if self.input.len() < self.filled + READ_BYTES {
                self.input.resize((self.filled + READ_BYTES).next_power_of_two(), 0);
            }
            let read = self.stream.read(&mut self.input[self.filled..]).await;
            match read.map_err(|e| Failed::talking(&e))? {
                0 => return Err(Failed { kind: Failure::Closed, quote: None }),
                more => self.filled += more,
            }
        }
    }

    fn meaning(&self, frame: &RangeFrame) -> Result<Answer, Failed> {
        match frame {
            RangeFrame::BulkString(_) => Ok(Answer::Found),
            RangeFrame::Null => Ok(Answer::Missing),
            RangeFrame::SimpleString(_) => Ok(Answer::Done),
            RangeFrame::Error((begin, end)) => {
                let text = self.input.get(*begin..*end).unwrap_or_default();
                Err(Failed::new(Failure::Server, String::from_utf8_lossy(text)))
            }
            other => Err(Failed::new(Failure::Protocol, format!("unexpected {other:?}"))),
        }
    }
}
