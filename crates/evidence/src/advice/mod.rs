//! What the vendors of a host's products advise about huge pages, whether the host is so, and what
//! to do where they contradict each other.
//!
//! Rules are data: a file for each product in `data/rules`, whose form is [`rule::Product`].

pub mod book;
pub mod change;
pub mod condition;
pub mod detect;
pub mod effective;
pub mod facts;
mod files;
pub mod lint;
pub mod owners;
pub mod resolve;
pub mod rule;
pub mod setting;
pub mod verdict;
pub mod version;

#[cfg(test)]
mod tests;
