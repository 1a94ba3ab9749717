//! What could not be read.

use hugewise_base::count::counted;
use hugewise_linux::address_space::SpaceFile;
use hugewise_linux::space_text;
use std::collections::BTreeMap;
use std::io;

use hugewise_evidence::hugetlb::facts::Missing;

use hugewise_linux::root::Root;

/// What could not be read; files of processes are counted, by file and reason.
#[derive(Debug, Default)]
pub(super) struct Notes {
    missing: Vec<Missing>,
    /// Files of processes, by their name and the reason, with the number of processes.
    of_processes: BTreeMap<(&'static str, String), u64>,
}

impl Notes {
    pub(super) fn add(&mut self, what: &str, why: &str) {
        self.missing.push(Missing { what: what.to_owned(), why: why.to_owned() });
    }

    pub(super) fn error(&mut self, what: &str, error: &io::Error) {
        self.add(what, &reason(error));
    }

    /// A file's bytes, or `None` and a note.
    pub(super) fn bytes(&mut self, root: &Root, path: &str) -> Option<Vec<u8>> {
        root.read(path).map_err(|error| self.error(path, &error)).ok()
    }

    /// A file's text, or `None` and a note.
    pub(super) fn text(&mut self, root: &Root, path: &str) -> Option<String> {
        root.read_text(path).map_err(|error| self.error(path, &error)).ok()
    }

    /// A file of a process, or `None` and a note; a process that ended is nothing to tell.
    pub(super) fn of_process(
        &mut self,
        root: &Root,
        pid: u32,
        file: &'static str,
    ) -> Option<Vec<u8>> {
        self.read(root.read(format!("proc/{pid}/{file}")), file)
    }

    /// The same of a file that shows its address space.
    pub(super) fn of_space(&mut self, root: &Root, pid: u32, file: SpaceFile) -> Option<Vec<u8>> {
        self.read(space_text::read(root, pid, file), file.name())
    }

    fn read(&mut self, read: io::Result<Vec<u8>>, file: &'static str) -> Option<Vec<u8>> {
        match read {
            Ok(bytes) => Some(bytes),
            Err(error) if ended(&error) => None,
            Err(error) => {
                self.odd(file, &reason(&error));
                None
            }
        }
    }

    /// A file of a process that is not as it should be.
    pub(super) fn odd(&mut self, file: &'static str, why: &str) {
        *self.of_processes.entry((file, why.to_owned())).or_default() += 1;
    }

    pub(super) fn finish(self) -> Vec<Missing> {
        let of_processes = self.of_processes.into_iter().map(|((file, why), count)| {
            let processes = counted(count, "process", "processes");
            Missing { what: format!("{file} of {processes}"), why }
        });
        self.missing.into_iter().chain(of_processes).collect()
    }
}

/// ENOENT, or ESRCH of a file that was open already.
fn ended(error: &io::Error) -> bool {
    let gone = rustix::io::Errno::SRCH.raw_os_error();
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(gone)
}

/// What the system said, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_no_numbers_and_ended_processes_none() {
        let error = |errno: rustix::io::Errno| io::Error::from_raw_os_error(errno.raw_os_error());
        assert_eq!(reason(&error(rustix::io::Errno::ACCESS)), "Permission denied");
        assert!(ended(&error(rustix::io::Errno::SRCH)) && ended(&error(rustix::io::Errno::NOENT)));
        assert!(!ended(&error(rustix::io::Errno::ACCESS)));
    }
}
