//! What became of settings and files that went back.

use crate::hugetlb::revert::Reverted;
use crate::render::text::wrap;
use hugewise_collect::hugetlb::kept::RestoredFile;
use hugewise_linux::trail::Restored;

/// A paragraph for each.
pub(crate) fn text(done: &Reverted) -> String {
    let settings = done.settings.iter().map(setting);
    settings.chain(done.files.iter().map(file)).map(|line| wrap("", &line)).collect()
}

/// What became of a setting, in a line.
pub(crate) fn setting(step: &Restored) -> String {
    match step {
        Restored::PutBack { file, from, to } => format!("/{file}: '{from}' -> '{to}'"),
        Restored::Unchanged { file } => format!("/{file}: has its old value already"),
        Restored::Foreign { file, found, written } => format!(
            "/{file}: left alone: '{found}' is neither the old value nor hugewise's '{written}'"
        ),
        Restored::InUse { file, from, to, wanted } => format!(
            "/{file}: '{from}' -> '{to}', not '{wanted}': so many pages are in use or reserved; \
             again when their programs have ended"
        ),
        Restored::EarlierBoot { file } => format!("/{file}: of an earlier boot: forgotten"),
        Restored::Gone { file } => format!("/{file}: its cgroup is gone: forgotten"),
        Restored::Failed { file, error } => format!("/{file}: NOT put back: {error}"),
    }
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
