//! Answers HTTP: a page, what it shows, and metrics.
//!
//! It reads no file and no process, and acts on nothing: what it answers with comes from a
//! [`Content`] that its owner hands in. Whoever asks has to know a [`Token`], and to ask for a host
//! that is this server's. Nobody's connection waits for another one's, and nobody holds more of
//! them than there is room for.

mod answer;
mod connections;
mod content;
mod gate;
mod listener;
mod metrics;
mod page;
mod query;
mod route;
mod server;
mod token;

pub use content::{Content, Kind, Question, Reply, Search, Verdict, Wanted};
pub use listener::Listener;
pub use server::{Limits, Server, Settings, Stopper};
pub use token::Token;
