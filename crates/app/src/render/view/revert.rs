//! What became of settings and files that went back.

use crate::hugetlb::revert::Reverted;
use crate::render::text::wrap;
use hugewise_collect::hugetlb::kept::RestoredFile;

/// A paragraph for each.
pub(crate) fn text(done: &Reverted) -> String {
    let settings = done.settings.iter().map(ToString::to_string);
    settings.chain(done.files.iter().map(file)).map(|line| wrap("", &line)).collect()
}

fn file(file: &RestoredFile) -> String {
    match file {
        RestoredFile::Removed { file } => format!("/{file}: removed"),
        RestoredFile::PutBack { file } => format!("/{file}: has its old content again"),
        RestoredFile::Unchanged { file } => format!("/{file}: is as it was"),
        RestoredFile::Foreign { file } => {
            format!("/{file}: left alone: somebody edited it meanwhile")
        }
        RestoredFile::Failed { file, error } => format!("/{file}: NOT put back: {error}"),
    }
}
