//! The manager: what it knows, what it decides, what it writes down, and the loop that ties these
//! together.
//!
//! Each module imports only those before it in this list:
//!
//! 1. [`reason`], [`access`] (how memory is used), [`suspension`], [`compaction`], [`hints`],
//!    [`monitors`] (virtual machines), [`config`], [`snapshot`] (what is observed), [`ownership`]
//!    (kernel settings), [`run_policy`] (what a program needs that is started under a policy of its
//!    own);
//! 2. [`decision`] (what can be done, and what became of it), [`select`] (which processes);
//! 3. [`limits`]: what no policy can exceed; [`room`] (what a program would have that starts);
//! 4. [`state`]: what is remembered;
//! 5. [`gate`]: may a region be promoted now, and if not, why not;
//! 6. [`policy`]: what is wanted;
//! 7. [`engine`] (the loop), [`record`] (what is written down), [`replay`], [`status`],
//!    [`guarantee`];
//! 8. [`sim`]: simulated machines under the same loop.
//!
//! Pure: nothing here touches files, the clock, the environment, threads or random hash order
//! (`clippy.toml`).

#![warn(missing_docs)]

pub mod access;
mod bounds;
pub mod compaction;
pub mod config;
pub mod decision;
pub mod engine;
pub mod gate;
pub mod guarantee;
pub mod hints;
pub mod limits;
pub mod monitors;
pub mod nodes;
pub mod ownership;
pub mod policy;
pub mod reason;
pub mod record;
pub mod replay;
pub mod room;
pub mod run_policy;
pub mod select;
pub mod sim;
pub mod snapshot;
pub mod state;
pub mod status;
pub mod suspension;
pub mod thp_settings;
pub mod unmatched;
