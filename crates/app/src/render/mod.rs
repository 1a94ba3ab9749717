//! What people look at. Pure: values in, text out; who calls it reads and writes.
//!
//! The modules here are what all views share; `view` has the views. Nothing here imports a view.

mod axes;
pub(crate) mod colour;
pub(crate) mod exposition;
pub(crate) mod flame;
mod html;
mod svg;
pub(crate) mod text;
pub(crate) mod view;

pub(crate) use hugewise_console::{number, words};

#[cfg(test)]
pub(crate) mod golden {
    //! Renderings in files, so that a change of a view is seen in a review.

    use std::path::Path;

    /// Compares with `tests/golden/NAME`; `HUGEWISE_UPDATE_GOLDEN=1` rewrites it.
    pub(crate) fn check(name: &str, text: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
        if std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some_and(|v| v == "1") {
            std::fs::create_dir_all(path.parent().expect("has a folder")).expect("folder");
            std::fs::write(&path, text).expect("writable");
        }
        let wanted = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            wanted == text,
            "{name} changed; look at it, then set HUGEWISE_UPDATE_GOLDEN=1:\n{text}"
        );
    }
}
