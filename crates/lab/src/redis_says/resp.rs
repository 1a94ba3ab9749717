//! RESP2, as far as a server answers questions: bounded in depth and number.

/// Most bytes of one answer: `INFO all` of Redis 7 with all commands has 60 kB, 32 entries of the
/// slow log with 32 arguments of 128 bytes have 150 kB.
pub(super) const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Deepest list in a list: the slow log has three.
const DEPTH_MAX: usize = 8;

/// Most values of one answer: 32 entries of the slow log have 1,200.
const VALUES_MAX: usize = 100_000;

/// An answer, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    Text(String),
    Number(i64),
    List(Vec<Self>),
    Error(String),
    Nothing,
}

impl Reply {
    /// What a list holds; nothing where it is none.
    pub(super) fn list(&self) -> &[Self] {
        if let Self::List(all) = self { all } else { &[] }
    }
}

/// Appends a command in Redis's protocol: its words, each with its length.
pub(crate) fn command(words: &[&[u8]], request: &mut Vec<u8>) {
    request.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
}

struct Decoder<'a> {
    rest: &'a [u8],
    values: usize,
}

/// An answer and its length; `None` where more of it is to come.
///
/// # Errors
/// When it is no answer of this protocol, or a larger one than any.
pub(super) fn decode(bytes: &[u8]) -> Result<Option<(Reply, usize)>, String> {
    let mut decoder = Decoder { rest: bytes, values: 0 };
    let reply = decoder.value(0)?;
    Ok(reply.map(|reply| (reply, bytes.len() - decoder.rest.len())))
}

impl Decoder<'_> {
    /// Longest line: those of lists and numbers are short, errors some words.
    const LINE_BYTES_MAX: usize = 1024;

    fn line(&mut self) -> Result<Option<String>, String> {
        let start = self.rest.get(..Self::LINE_BYTES_MAX).unwrap_or(self.rest);
        let Some(end) = start.windows(2).position(|pair| pair == b"\r\n") else {
            let long = self.rest.len() >= Self::LINE_BYTES_MAX;
            return if long { Err(foreign()) } else { Ok(None) };
        };
        let text = String::from_utf8_lossy(self.rest.get(..end).unwrap_or_default()).into_owned();
        self.rest = self.rest.get(end + 2..).unwrap_or_default();
        Ok(Some(text))
    }

    fn value(&mut self, depth: usize) -> Result<Option<Reply>, String> {
        self.values += 1;
        if depth > DEPTH_MAX || self.values > VALUES_MAX {
            return Err("its answer is more than it was asked for".to_owned());
        }
        let Some(kind) = self.rest.first().copied() else { return Ok(None) };
        if !b"+-:$*".contains(&kind) {
            return Err(foreign());
        }
        let Some(line) = self.line()? else { return Ok(None) };
        let text = line.get(1..).unwrap_or_default();
        let number = || text.parse::<i64>().map_err(|_| foreign());
        Ok(Some(match kind {
            b'+' => Reply::Text(text.to_owned()),
            b'-' => Reply::Error(text.chars().filter(|c| !c.is_control()).take(200).collect()),
            b':' => Reply::Number(number()?),
            b'$' => return self.bulk(number()?),
            _ => return self.list(number()?, depth),
        }))
    }

    fn bulk(&mut self, length: i64) -> Result<Option<Reply>, String> {
        let Ok(length) = usize::try_from(length) else { return Ok(Some(Reply::Nothing)) };
        if length > ANSWER_BYTES_MAX {
            return Err(format!("its answer is larger than {} MiB", ANSWER_BYTES_MAX >> 20));
        }
        let Some(text) = self.rest.get(..length + 2) else { return Ok(None) };
        let Some(text) = text.strip_suffix(b"\r\n") else { return Err(foreign()) };
        let text = String::from_utf8_lossy(text).into_owned();
        self.rest = self.rest.get(length + 2..).unwrap_or_default();
        Ok(Some(Reply::Text(text)))
    }

    fn list(&mut self, length: i64, depth: usize) -> Result<Option<Reply>, String> {
        let Ok(length) = usize::try_from(length) else { return Ok(Some(Reply::Nothing)) };
        let mut all = Vec::new();
        for _ in 0..length {
            match self.value(depth + 1)? {
                Some(value) => all.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(Reply::List(all)))
    }
}

fn foreign() -> String {
    "what it sends is not the protocol of Redis".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_command_is_written_as_redis_wants_it() {
        let mut request = Vec::new();
        command(&[b"SET".as_slice(), b"key:1", b"\r\n"], &mut request);
        assert_eq!(request, b"*3\r\n$3\r\nSET\r\n$5\r\nkey:1\r\n$2\r\n\r\n\r\n");
    }

    #[test]
    fn answers_whole_and_in_parts() {
        let text = b"*2\r\n:5\r\n*2\r\n$3\r\na\nb\r\n$-1\r\n+more";
        let inner = Reply::List(vec![Reply::Text("a\nb".to_owned()), Reply::Nothing]);
        let wanted = Reply::List(vec![Reply::Number(5), inner]);
        assert_eq!(decode(text), Ok(Some((wanted, text.len() - 5))));
        for end in 0..text.len() - 5 {
            assert_eq!(decode(&text[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn what_no_server_sends_is_refused() {
        let deep = "*1\r\n".repeat(200_000);
        let many = format!("*1000000000\r\n{}", ":1\r\n".repeat(VALUES_MAX + 1));
        for text in ["HTTP/1.1 400\r\n", "$9999999999\r\n", ":x\r\n", "$1\r\nabc", &deep, &many] {
            assert!(decode(text.as_bytes()).is_err(), "{:?}", text.get(..20));
        }
        assert!(decode(&[b'+'; 5000]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            if let Ok(Some((_, length))) = decode(&bytes) {
                prop_assert!(length <= bytes.len());
            }
        }
    }
}
