//! How a command speaks: exit codes ([`exit`]), notes and the progress line on standard error
//! ([`say`]), numbers as people read them ([`number`]), and what libraries say in the words of this
//! program ([`words`]). Decides nothing, reads nothing.

pub mod exit;
pub mod number;
pub mod say;
pub mod words;
