//! `stress-net`: small datagrams over the loopback interface.
//!
//! Each worker sends to a socket of its own, a few datagrams at a time, and receives them: the
//! whole way down and up again, in calls and in soft interrupts, and nobody waits for another
//! worker's turn on a CPU.

use super::part::{Part, Work};
use crate::lab::kit::{Clock, Verdict, stamp};
use anyhow::Context;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// Datagrams under way at a time; the smallest receive buffer of Linux, 2304 bytes (socket(7)),
/// holds a few, and the usual one of 208 KiB more than 64 of the largest.
const BURST: usize = 16;
/// A datagram that has not come by then is lost: on the loopback it takes microseconds.
const PATIENCE: Duration = Duration::from_millis(200);
/// Different contents.
const CONTENTS: usize = 64;

/// A socket that sends, one that receives, and what is sent.
#[derive(Debug)]
pub(super) struct Pair {
    from: UdpSocket,
    to: UdpSocket,
    contents: Vec<Vec<u8>>,
}

impl Pair {
    /// Opens the sockets and sends nothing yet.
    pub(super) fn new(bytes: usize) -> anyhow::Result<Self> {
        let bound = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
        let open = || -> std::io::Result<_> {
            let (from, to) = (bound()?, bound()?);
            from.connect(to.local_addr()?)?;
            // What others send there is not received.
            to.connect(from.local_addr()?)?;
            to.set_read_timeout(Some(PATIENCE))?;
            Ok((from, to))
        };
        let (from, to) = open().context("cannot open sockets on the loopback interface")?;
        let contents = (0..CONTENTS).map(|number| bytes_of(number).take(bytes).collect());
        Ok(Self { from, to, contents: contents.collect() })
    }
}

impl Part for Pair {
    fn run(&mut self, clock: Clock) -> anyhow::Result<Work> {
        let (mut came, mut wrong) = (0, 0);
        let mut buffer = vec![0; self.contents.first().map_or(0, Vec::len) + 1];
        while clock.runs() {
            let first = usize::try_from(came).unwrap_or(0) % CONTENTS;
            let burst = || self.contents.iter().cycle().skip(first).take(BURST);
            for content in burst() {
                let sent = self.from.send(content);
                sent.context("cannot send over the loopback interface")?;
            }
            for _ in 0..BURST {
                match self.to.recv(&mut buffer) {
                    Ok(bytes) => {
                        came += 1;
                        wrong += u64::from(!is_right(&buffer[..bytes]));
                    }
                    // Lost, as datagrams may be: the next burst goes on without it.
                    Err(error)
                        if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                    {
                        break;
                    }
                    Err(error) => return Err(error).context("cannot receive a datagram"),
                }
            }
        }
        Ok((came, wrong))
    }

    fn verify(&self) -> Verdict {
        let mut verdict = Verdict::default();
        self.contents.iter().for_each(|content| verdict.count(is_right(content)));
        verdict
    }

    fn corrupt(&mut self) {
        if let Some(byte) = self.contents.get_mut(7).and_then(|content| content.last_mut()) {
            *byte ^= 4;
        }
    }
}

/// A datagram without end: its number, and what follows from it.
fn bytes_of(number: usize) -> impl Iterator<Item = u8> {
    let words = std::iter::successors(Some(number as u64), |word| Some(stamp(*word)));
    words.flat_map(u64::to_ne_bytes)
}

fn is_right(bytes: &[u8]) -> bool {
    let Some(number) = bytes.first_chunk() else { return false };
    let number = usize::try_from(u64::from_ne_bytes(*number)).unwrap_or(CONTENTS);
    number < CONTENTS && bytes_of(number).take(bytes.len()).eq(bytes.iter().copied())
}
