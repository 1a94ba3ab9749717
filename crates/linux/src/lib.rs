//! The kernel as hugewise sees it: reads a `/proc` and `/sys` root, probes once, acts through
//! `hugewise-sys`, keeps old settings. Decides nothing.

#![warn(missing_docs)]

pub mod account;
pub mod actuator;
pub mod address_space;
pub mod ask;
mod bounded;
pub mod cgroup;
pub mod compact;
pub mod content;
pub mod delays;
pub mod executable;
pub mod foreign;
mod fuse;
pub mod instance;
mod kdamond;
pub mod lines;
pub mod machine;
pub mod mappings;
pub mod nobody;
pub mod pages;
pub mod pool_size;
pub mod priority;
pub mod private;
pub mod probe;
pub mod process;
pub mod reader;
mod reason;
pub mod regular;
pub mod room;
pub mod root;
mod running;
pub mod save;
pub mod signals;
pub mod space_text;
mod spaces;
pub mod systemd;
pub mod target;
mod threads;
pub mod track;
pub mod trail;
pub mod trust;
pub mod worker;
pub mod world;

pub use hugewise_sys::cpu;
pub use hugewise_sys::fork;
pub use hugewise_sys::handed_over;
pub use hugewise_sys::localtime;
pub use hugewise_sys::memory;
pub use hugewise_sys::numa;
pub use hugewise_sys::pinned;
pub use hugewise_sys::prctl;
pub use hugewise_sys::prefork;
pub use hugewise_sys::sandbox;
pub use hugewise_sys::segment;
pub use hugewise_sys::session;
