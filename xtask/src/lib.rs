//! What the project needs to check itself: guest kernels ([`vm`]) and what runs
//! there ([`guests`]), and house rules, which are
//! tests (`xtask/tests/tidy`); programs for arm64 ([`cross`]); and what is made from its source:
//! manual pages and completions ([`pages`]).

pub mod cross;
pub mod guests;
pub mod pages;
pub mod vm;

use std::path::{Path, PathBuf};

/// The top folder of the working copy.
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}
