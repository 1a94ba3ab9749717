//! What the project needs to check itself: guest kernels ([`vm`]) and what runs there
//! ([`guests`]), house rules, which are tests (`xtask/tests/tidy`), and the figures of [`density`]
//! that one of them bounds; programs for arm64 ([`cross`]); and what is made from its source:
//! manual pages and completions ([`pages`]).

pub mod cross;
pub mod density;
pub mod guests;
pub mod pages;
pub mod source;
pub mod vm;

use std::path::{Path, PathBuf};

/// The top folder of the working copy.
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}
