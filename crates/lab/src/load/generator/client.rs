//! A connection to the target, whatever it speaks.

use super::answer::{Answer, Ask, Failed};
use super::door::Door;
use super::http::Http;
use super::redis::Redis;
use hugewise_experiment::load::Target;

#[derive(Debug)]
pub(super) enum Client {
    Redis(Redis),
    Http(Http),
}

impl Client {
    pub(super) async fn connect(door: &Door) -> Result<Self, Failed> {
        let password = door.password.as_deref();
        Ok(match &door.target {
            Target::Redis(address) => {
                Self::Redis(Redis::tcp(*address).await?.enter(password).await?)
            }
            Target::RedisUnix(path) => Self::Redis(Redis::unix(path).await?.enter(password).await?),
            Target::Http(address, path) => Self::Http(Http::connect(*address, path).await?),
        })
    }

    /// Whether the server is known to have closed the connection after an answer.
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Redis(_) => false,
            Self::Http(http) => http.is_closed(),
        }
    }

    pub(super) async fn request(&mut self, ask: &Ask<'_>) -> Result<Answer, Failed> {
        match self {
            Self::Redis(redis) => redis.request(ask).await,
            Self::Http(http) => http.request().await,
        }
    }
}
