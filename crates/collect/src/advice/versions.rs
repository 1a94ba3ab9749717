//! Versions of programs: from files that only root can change, and, where there are none, from what
//! a program of the system says of itself. Of programs in another mount namespace nothing is read
//! and nothing is started: their paths mean other files here.

use super::packages;
use hugewise_base::count::counted;
use hugewise_base::parse::mountinfo::{self, MountEntry};
use hugewise_evidence::advice::book::Book;
use hugewise_evidence::advice::detect::{file_name, fits, is_product, version};
use hugewise_evidence::advice::facts::{Process, VersionSources};
use hugewise_evidence::advice::rule::{Product, Query};
use hugewise_linux::ask;
use hugewise_linux::executable;
use hugewise_linux::root::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most bytes of a file that has a version.
const RELEASE_BYTES_MAX: u64 = 64 << 10;

/// Fills in what the versions of known products are taken from.
pub(super) fn find(root: &Root, book: &Book, processes: &mut [Process], missing: &mut Vec<String>) {
    let own = namespace(root, "self");
    let (mut foreign, mut remote) = (0, 0);
    let mounts = root.read("proc/self/mountinfo").unwrap_or_default();
    let mounts = mountinfo::parse(&mounts).value;
    let mut here: Vec<&mut Process> = Vec::new();
    for process in processes.iter_mut() {
        let there = namespace(root, &process.pid.to_string());
        if root.is_live() && there != own && there.is_some() {
            foreign += u64::from(book.products().any(|one| is_known(one, process)));
        } else if root.is_live() && is_remote(&process.exe, &mounts) {
            remote += 1;
        } else {
            here.push(process);
        }
    }
    if remote > 0 {
        let who = counted(remote, "process", "processes");
        missing.push(format!("versions of {who} on file systems whose server may not answer"));
    }
    made_by_go(root, &mut here);
    if foreign > 0 {
        let who = counted(foreign, "process", "processes");
        missing.push(format!(
            "versions of {who} in other mount namespaces (containers): their files are not read"
        ));
    }
    from_packages(root, book, &mut here);
    let mut answers: BTreeMap<(PathBuf, Vec<String>), Option<String>> = BTreeMap::new();
    let mut refused: BTreeSet<String> = BTreeSet::new();
    for process in here {
        let products: Vec<&Product> =
            book.products().filter(|product| is_known(product, process)).collect();
        for product in products {
            if version(product, process).is_some() {
                continue;
            }
            let id = || product.id.clone();
            if let Some(release) = &product.release
                && let Some(text) = release_text(root, &process.exe, &release.file)
            {
                process.version_sources.release.insert(id(), text);
            }
            if let (None, Some(query), true) =
                (version(product, process), &product.query, root.is_live())
            {
                let key = (PathBuf::from(&process.exe), query.arguments.clone());
                let said = answers.entry(key).or_insert_with(|| {
                    let said = answer(product, &process.exe, query);
                    said.map_err(|why| refused.insert(why)).ok()
                });
                let said = said.clone().map(|said| (id(), said));
                process.version_sources.says.extend(said);
            }
        }
    }
    missing.extend(refused);
}

/// Whether a file is on a file system that a server may keep from answering, which may be
/// anybody's: it is not opened.
fn is_remote(path: &str, mounts: &[MountEntry]) -> bool {
    const REMOTE: [&str; 5] = ["fuse", "nfs", "cifs", "smb", "ceph"];
    let below = mounts.iter().filter(|mount| Path::new(path).starts_with(&mount.path));
    // Of several at one place the last one is seen.
    let nearest = below.max_by_key(|mount| mount.path.len());
    nearest.is_some_and(|mount| REMOTE.iter().any(|kind| mount.kind.starts_with(kind)))
}

/// Fills in which Go built each program.
fn made_by_go(root: &Root, processes: &mut [&mut Process]) {
    let mut known: BTreeMap<String, Option<String>> = BTreeMap::new();
    for process in processes {
        let of_file = || {
            let elf = executable::of_file(&root.path(&process.exe)).filter(|elf| elf.go)?;
            // Made before 1.18: known as Go's, in no known version.
            Some(elf.go_version.unwrap_or_default())
        };
        let found = known.entry(process.exe.clone()).or_insert_with(of_file);
        process.version_sources.go.clone_from(found);
    }
}

/// Whether it is a product whose version matters.
fn is_known(product: &Product, process: &Process) -> bool {
    let needs_version = product.rules.iter().any(|rule| !rule.versions.is_all())
        || product.switches.iter().any(|switch| !switch.versions.is_all());
    let has_name = !product.programs.is_empty() || !product.arguments.is_empty();
    (needs_version || has_name) && is_product(product, process)
}

fn namespace(root: &Root, process: &str) -> Option<PathBuf> {
    fs::read_link(root.path(format!("proc/{process}/ns/mnt"))).ok()
}

/// Packages of executables, and of the libraries by which products are recognised.
fn from_packages(root: &Root, book: &Book, processes: &mut [&mut Process]) {
    let mut files_of: Vec<BTreeSet<String>> = Vec::new();
    for process in processes.iter() {
        let mut files = BTreeSet::new();
        for product in book.products().filter(|product| is_known(product, process)) {
            files.insert(process.exe.clone());
            let is_of = |path: &&String| {
                product.libraries.iter().any(|pattern| fits(pattern, file_name(path)))
            };
            files.extend(process.libraries.iter().filter(is_of).cloned());
        }
        files_of.push(files);
    }
    let all: BTreeSet<String> = files_of.iter().flatten().cloned().collect();
    let packages = packages::of_files(root, &all);
    for (process, files) in processes.iter_mut().zip(files_of) {
        let found = files.iter().filter_map(|file| packages.get(file).cloned());
        process.version_sources.packages = found.collect();
    }
}

/// The text of a file beside an executable, which only root can change.
fn release_text(root: &Root, exe: &str, relative: &str) -> Option<String> {
    let path = Path::new(exe).parent()?.join(relative);
    let path = match root.is_live() {
        true => ask::trusted(&path).ok()?,
        false => root.path(path),
    };
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    let is_file = file.metadata().is_ok_and(|meta| meta.is_file());
    file.take(RELEASE_BYTES_MAX).read_to_string(&mut text).ok().filter(|_| is_file)?;
    Some(text)
}

/// What a program says of its version.
///
/// # Errors
/// Why it was not asked, or is not believed: where in its answer, and what was expected.
fn answer(product: &Product, exe: &str, query: &Query) -> Result<String, String> {
    let what = format!("version of {exe}");
    let said = ask::answer(Path::new(exe), &query.arguments);
    let said = said.map_err(|error| format!("{what}: not asked, as {error}"))?;
    match believed(product, query, said) {
        Ok(said) => Ok(said),
        Err(why) => Err(format!("{what}: its answer is not believed: {why}")),
    }
}

/// An answer that has a version and nothing that a terminal would take for a command.
fn believed(product: &Product, query: &Query, said: String) -> Result<String, String> {
    let is_odd = |letter: char| letter.is_control() && !letter.is_whitespace();
    if let Some(at) = said.find(is_odd) {
        return Err(format!("a control character at byte {at}"));
    }
    let after = query.after.as_deref().unwrap_or_default();
    if !said.contains(after) {
        return Err(format!("no '{after}' before a version"));
    }
    let says = [(product.id.clone(), said)].into();
    let sources = VersionSources { says, ..VersionSources::default() };
    let process = Process { version_sources: sources, ..Process::default() };
    if version(product, &process).is_none() {
        return Err("no number where its version should be".to_owned());
    }
    let mut says = process.version_sources.says.into_values();
    says.next().ok_or_else(|| "empty".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_no_version_is_refused_with_its_place() {
        let after = Some("Server v=".to_owned());
        let query = Query { arguments: vec!["--version".into()], after };
        let product = Product { query: Some(query.clone()), ..Product::default() };
        let said = |text: &str| believed(&product, &query, text.to_owned());
        assert!(said("Server v=7.0.15 sha=0\n").is_ok());
        for (text, why) in [
            ("Server \u{1b}]0;x\u{7}v=7", "a control character at byte 7"),
            ("segmentation fault", "no 'Server v=' before a version"),
            ("Server v=latest", "no number"),
            ("Server v=99999999999999999999999", "no number"),
            ("", "no 'Server v='"),
        ] {
            let error = said(text).expect_err(text);
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }

    #[test]
    fn what_a_server_may_withhold_is_not_opened() {
        let text = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                    40 22 0:50 / /home/a/m rw - fuse.sshfs x rw\n\
                    41 40 8:1 / /home/a/m/disk rw - ext4 /dev/sda2 rw\n";
        let mounts = mountinfo::parse(text.as_bytes()).value;
        assert_eq!(mounts.len(), 3);
        assert!(is_remote("/home/a/m/bin/x", &mounts));
        assert!(!is_remote("/home/a/mount/x", &mounts), "no place below it");
        assert!(!is_remote("/home/a/m/disk/x", &mounts) && !is_remote("/usr/bin/x", &mounts));
    }
}
