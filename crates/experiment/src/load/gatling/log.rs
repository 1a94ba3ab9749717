//! `simulation.log` of Gatling 3.15: records in binary, numbers with the highest byte first.
//!
//! The format is not documented. It was read from logs of 3.15.1 (one is in `tests/gatling`):
//! a string is its length in bytes, and, unless that is 0, the bytes and a flag, 0 for Latin-1 and
//! 1 for UTF-16, its lowest byte first as the JVM has it in memory. A string that comes again is a
//! number: positive with the string at first, negative afterwards. Times are milliseconds since the
//! begin, which is in the first record.

use super::error::LogError;
use crate::load::arrivals::Arrivals;
use crate::load::outcome::{Done, Failure, LoadResult, Recorder};
use crate::load::profile::Profile;
use crate::load::sent::Sent;
use crate::load::spec::{ArrivalKind, LoadSpec, Tool};
use hugewise_base::units::Ns;
use std::collections::BTreeMap;

/// Kinds of records.
const RUN: u8 = 0;
const REQUEST: u8 = 1;
const USER: u8 = 2;
const GROUP: u8 = 3;
const ERROR: u8 = 4;

/// One request, in milliseconds since the begin.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Request {
    name: String,
    sent: u32,
    answered: u32,
    ok: bool,
    message: String,
}

/// What a log holds of a load.
#[derive(Debug, Default)]
pub(super) struct Log {
    requests: Vec<Request>,
    /// When it began, milliseconds since 1970.
    begin_ms: i64,
    /// When the first user came, milliseconds since the begin.
    first_user: Option<u32>,
    /// What Gatling said about itself.
    errors: Vec<String>,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    strings: BTreeMap<i32, String>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], LogError> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(LogError::Torn(self.at))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, LogError> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> Result<i32, LogError> {
        let bytes = self.take(4)?;
        Ok(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A number that cannot be negative.
    fn count(&mut self) -> Result<u32, LogError> {
        let at = self.at;
        u32::try_from(self.number()?).map_err(|_| LogError::Torn(at))
    }

    fn string(&mut self) -> Result<String, LogError> {
        let length = self.count()? as usize;
        if length == 0 {
            return Ok(String::new());
        }
        let bytes = self.take(length)?;
        Ok(match self.byte()? {
            0 => bytes.iter().copied().map(char::from).collect(),
            _ => {
                let pairs =
                    bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
                char::decode_utf16(pairs)
                    .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                    .collect()
            }
        })
    }

    fn known_string(&mut self) -> Result<String, LogError> {
        let at = self.at;
        let number = self.number()?;
        if number > 0 {
            let string = self.string()?;
            self.strings.insert(number, string.clone());
            return Ok(string);
        }
        let known = number.checked_neg().and_then(|number| self.strings.get(&number));
        known.cloned().ok_or(LogError::Torn(at))
    }

    fn run(&mut self) -> Result<i64, LogError> {
        if self.byte()? != RUN {
            return Err(LogError::Torn(0));
        }
        let version = self.string()?;
        if !version.starts_with("3.15.") {
            return Err(LogError::Version(version.chars().take(40).collect()));
        }
        // The class, the begin of the run, its description.
        self.string()?;
        let begin = self.take(8)?.iter().fold(0, |sum, byte| sum << 8 | i64::from(*byte));
        self.string()?;
        for _ in 0..self.count()? {
            self.string()?;
        }
        // Assertions, of which a simulation of ours has none.
        for _ in 0..self.count()? {
            let length = self.count()? as usize;
            self.take(length)?;
        }
        Ok(begin)
    }

    /// The groups that a request, or a group, is in.
    fn groups(&mut self) -> Result<(), LogError> {
        for _ in 0..self.count()? {
            self.known_string()?;
        }
        Ok(())
    }

    fn request(&mut self) -> Result<Request, LogError> {
        self.groups()?;
        let name = self.known_string()?;
        let (sent, answered, ok) = (self.count()?, self.count()?, self.byte()? == 1);
        Ok(Request { name, sent, answered, ok, message: self.known_string()? })
    }

    fn record(&mut self, log: &mut Log) -> Result<(), LogError> {
        let at = self.at;
        match self.byte()? {
            REQUEST => log.requests.push(self.request()?),
            USER => {
                self.count()?;
                let (starts, time) = (self.byte()? == 1, self.count()?);
                if starts {
                    log.first_user = Some(log.first_user.map_or(time, |first| first.min(time)));
                }
            }
            GROUP => {
                // Its begin, its end, the time of its requests, and whether all went well.
                self.groups()?;
                self.take(13)?;
            }
            ERROR => {
                log.errors.push(self.known_string()?);
                self.count()?;
            }
            _ => return Err(LogError::Torn(at)),
        }
        Ok(())
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<Log, LogError> {
    let mut reader = Reader { bytes, at: 0, strings: BTreeMap::new() };
    let mut log = Log { begin_ms: reader.run()?, ..Log::default() };
    while reader.at < bytes.len() {
        reader.record(&mut log)?;
    }
    log.requests.sort_by_key(|request| request.sent);
    Ok(log)
}

/// Which failure it is; Gatling says it in words.
fn failure(message: &str) -> Failure {
    let known = [
        ("status.", Failure::Status),
        ("Request timeout", Failure::Timeout),
        ("Connection refused", Failure::Refused),
        ("ConnectException", Failure::Connect),
        ("remotely closed", Failure::Closed),
        ("Premature close", Failure::Closed),
    ];
    known.iter().find(|(said, _)| message.contains(said)).map_or(Failure::Io, |(_, kind)| *kind)
}

impl Log {
    /// The requests of any simulation.
    pub(super) fn sent(self) -> Vec<Sent> {
        let begin_ms = self.begin_ms;
        let sent = |request: Request| Sent {
            end_ms: begin_ms + i64::from(request.answered),
            length: Ns::ms(u64::from(request.answered.saturating_sub(request.sent))),
            name: request.name,
            failed: (!request.ok).then(|| (failure(&request.message), request.message)),
        };
        self.requests.into_iter().map(sent).collect()
    }

    pub(super) fn result(self, spec: &LoadSpec, profile: &Profile) -> LoadResult {
        let ms = |time: u32| Ns::ms(u64::from(time));
        // Its clock begins before its engine does: the first user who came is the first arrival.
        let first = Arrivals::new(profile, ArrivalKind::Even, spec.seed).next();
        let first = first.map_or(Ns(0), |arrival| arrival.at);
        let begin = ms(self.first_user.unwrap_or_default());
        let since = |time: u32| first + ms(time).since(begin);
        let mut recorder = Recorder::new(profile, spec.timeout());
        for request in &self.requests {
            let (sent, answered) = (since(request.sent), since(request.answered));
            recorder.handed_over(sent, sent);
            if request.ok {
                recorder.completed(Done { intended: sent, sent, answered });
            } else {
                recorder.failed(failure(&request.message), answered, Some(&request.message));
            }
        }
        let mut result = LoadResult {
            tool: Tool::Gatling,
            from_intended_start: false,
            // Only the real sending is in its log.
            late_start: None,
            service: None,
            ..recorder.finish()
        };
        result.notes.extend(self.errors.first().map(|error| format!("Gatling said: {error}")));
        result.notes.push(
            "Gatling measures whole milliseconds, and its JVM has just started: the first second \
             of the load is slow, whatever the server does"
                .to_owned(),
        );
        result
    }
}
