//! Servers that are asked while this machine is watched.

use crate::exit::{self, coded};
use hugewise_evidence::recording::Builder;
use hugewise_lab::redis_says::{Address, Ask, ask};

/// The password of Redis, in the variable that `redis-cli` reads, too: arguments are seen by all.
const PASSWORD: &str = "REDISCLI_AUTH";

/// Most servers that are asked: each may take some seconds.
const SERVERS_MAX: usize = 16;

/// Servers, and what they said first.
#[derive(Debug)]
pub(super) struct Servers {
    password: Option<String>,
    all: Vec<(Address, Option<Result<String, String>>)>,
}

impl Servers {
    pub(super) fn new(addresses: &[String]) -> anyhow::Result<Self> {
        if addresses.len() > SERVERS_MAX {
            let why = format!("--redis: at most {SERVERS_MAX} servers can be asked at once");
            return Err(coded(exit::USAGE, why));
        }
        let parse = |text: &String| {
            let address = Address::parse(text);
            let address = address.map_err(|why| coded(exit::USAGE, format!("--redis {why}")))?;
            Ok((address, None))
        };
        let all = addresses.iter().map(parse).collect::<anyhow::Result<_>>()?;
        Ok(Self { password: std::env::var(PASSWORD).ok().filter(|p| !p.is_empty()), all })
    }

    pub(super) fn first_look(&mut self) {
        for (address, said) in &mut self.all {
            *said = Some(ask(address, self.password.as_deref(), Ask::Counts));
        }
    }

    /// Asks again, and puts down both looks. Who did not answer the first time is not waited for a
    /// second time.
    pub(super) fn last_look(self, builder: &mut Builder) {
        for (address, first) in self.all {
            let second = match &first {
                Some(Err(why)) => Err(why.clone()),
                _ => ask(&address, self.password.as_deref(), Ask::All),
            };
            let input = format!("redis-cli {}", address.options());
            let texts = [first.and_then(Result::ok), second.as_ref().ok().cloned()];
            let text: String = texts.into_iter().flatten().map(|text| text + "\n").collect();
            // As if somebody had pasted it: on which machine, and which server was asked.
            let host = address.remote().unwrap_or_default();
            let prompt =
                if host.is_empty() { "$ ".to_owned() } else { format!("redis@{host}:~$ ") };
            let read = builder.read(&input, format!("{prompt}{input}\n{text}").as_bytes());
            if let Err(why) = second {
                builder.input_problem(format!("left out: {why}"));
            } else if read.is_err() {
                builder.input_problem("left out: its answer is no text");
            }
        }
    }
}
