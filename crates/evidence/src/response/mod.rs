//! The response time, taken apart: what the access logs of web servers and proxies say about where
//! the time of requests passes, when it is slow, and what the machine did meanwhile.
//!
//! [`format`](Format) reads lines, [`statements`] those of databases, [`results`] those of load
//! tools and tracers, [`Tally`] counts them in
//! bounded memory, [`account`] answers,
//! [`join`] puts the answer beside a diagnosis of the machine.

mod account;
mod cells;
mod endpoint;
mod episode;
mod format;
mod join;
mod keys;
mod part;
mod requests;
mod results;
mod sketch;
mod slow;
mod statements;
mod tally;
#[cfg(test)]
mod tests;
mod times;
mod values;
mod when;
mod window;

pub use account::{Account, Goal, How, Named, PartShare, Row, SCHEMA, Untold, account};
pub use episode::{Added, AddedTo, Episode, MAIN_SHARE, Shape, Traffic};
pub use format::Format;
pub use join::{ALPHA, Beside, Clustered, Joined, Meanwhile, Moved, Unmatched, join};
pub use part::{Hop, Part};
pub use requests::{Request, Requests};
pub use sketch::RELATIVE_ERROR;
pub use slow::MARGIN;
pub use tally::{Counts, Input, LogClock, Options, Tally};
pub use times::Times;
pub use values::Unit;
pub use when::zone_s;
