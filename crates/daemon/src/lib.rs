//! The manager as a service: the loop on a live machine ([`manage`]), its configuration, journal
//! and control socket, and the settings that it changes and puts back.
//!
//! This crate cannot name evidence, experiments, the lab, HTTP, a terminal screen or an async
//! runtime: what runs as root for months knows nothing of them.

mod admission;
mod earlier;
mod running;
mod service;
mod settings;
mod signals;
mod sink;
mod summary;

pub mod abandoned;
pub mod config;
pub mod control;
pub mod journal;
pub mod manage;
pub mod options;
pub mod privileges;
pub mod recording;
