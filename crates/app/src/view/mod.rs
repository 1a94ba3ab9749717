//! What people look at. Pure: values in, text out; `cmd` reads and prints.

pub(crate) mod bloat;
pub(crate) mod diagnosis;
pub(crate) mod fields;
pub(crate) mod hugetlb;
pub(crate) mod lab;
pub(crate) mod machine;
pub(crate) mod manager;
pub(crate) mod map;
pub(crate) mod paint;
pub(crate) mod rules;
pub(crate) mod space;
pub(crate) mod status;
pub(crate) mod svg;
pub(crate) mod text;

#[cfg(test)]
pub(crate) mod golden {
    //! Renderings kept as files, so that a change of a view is seen in a review.

    use std::path::Path;

    /// Compares with `tests/golden/NAME`; `HUGEWISE_UPDATE_GOLDEN=1` writes it anew.
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
