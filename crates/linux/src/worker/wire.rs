//! Frames between a process and its workers: two lengths of four bytes, little-endian, then JSON
//! and plain bytes of these lengths.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// Most of each: more than the largest file of a process that is read.
const LONGEST: usize = 128 << 20;

/// Says one thing, and the bytes that belong to it.
pub(super) fn say(to: &mut impl Write, what: &impl Serialize, bytes: &[u8]) -> io::Result<()> {
    let mut frame = vec![0; 8];
    serde_json::to_writer(&mut frame, what)?;
    let length = |length: usize| u32::try_from(length).map_err(|_| io::ErrorKind::InvalidData);
    let said = length(frame.len() - 8)?;
    frame[..4].copy_from_slice(&said.to_le_bytes());
    frame[4..8].copy_from_slice(&length(bytes.len())?.to_le_bytes());
    to.write_all(&frame)?;
    to.write_all(bytes)
}

/// Hears one thing, and the bytes that belong to it.
pub(super) fn hear<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<(T, Vec<u8>)> {
    let mut lengths = [0; 8];
    from.read_exact(&mut lengths)?;
    let (said, bytes) = lengths.split_at(4);
    let said = piece(from, said)?;
    Ok((serde_json::from_slice(&said)?, piece(from, bytes)?))
}

fn piece(from: &mut impl Read, length: &[u8]) -> io::Result<Vec<u8>> {
    let length = length.try_into().map_or(u32::MAX, u32::from_le_bytes);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut piece = vec![0; length];
    from.read_exact(&mut piece)?;
    Ok(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() -> io::Result<()> {
        let mut frames = Vec::new();
        say(&mut frames, &("one", 1), b"")?;
        say(&mut frames, &("two", 2), b"\0raw")?;
        let mut from = frames.as_slice();
        assert_eq!(hear::<(String, u8)>(&mut from)?, (("one".to_owned(), 1), vec![]));
        assert_eq!(hear::<(String, u8)>(&mut from)?, (("two".to_owned(), 2), b"\0raw".to_vec()));
        assert!(hear::<(String, u8)>(&mut from).is_err());
        assert!(hear::<u8>(&mut &[255; 20][..]).is_err(), "it is not allocated");
        Ok(())
    }
}
