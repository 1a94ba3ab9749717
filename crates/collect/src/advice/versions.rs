//! Versions of programs: from files that only root can change, and, where there are none, from what
//! a program of the system says of itself. Of programs in another mount namespace nothing is read
//! and nothing is started: their paths mean other files here.

use super::packages;
use hugewise_base::count::counted;
use hugewise_evidence::advice::book::Book;
use hugewise_evidence::advice::detect::{file_name, fits, is_product, version};
use hugewise_evidence::advice::facts::Process;
use hugewise_evidence::advice::rule::{Product, Query};
use hugewise_linux::ask;
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
    let mut foreign = 0;
    let mut here: Vec<&mut Process> = Vec::new();
    for process in processes.iter_mut() {
        let there = namespace(root, &process.pid.to_string());
        match root.is_live() && there != own && there.is_some() {
            true => foreign += u64::from(book.products().any(|one| is_known(one, process))),
            false => here.push(process),
        }
    }
    if foreign > 0 {
        let who = counted(foreign, "process", "processes");
        missing.push(format!(
            "versions of {who} in other mount namespaces (containers): their files are not read"
        ));
    }
    from_packages(root, book, &mut here);
    let mut answers: BTreeMap<(PathBuf, Vec<String>), Option<String>> = BTreeMap::new();
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
                let said = answers.entry(key).or_insert_with(|| answer(&process.exe, query));
                let said = said.clone().map(|said| (id(), said));
                process.version_sources.says.extend(said);
            }
        }
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

/// What a program says of its version; a text with control characters is no answer.
fn answer(exe: &str, query: &Query) -> Option<String> {
    let said = ask::answer(Path::new(exe), &query.arguments).ok()?;
    let is_odd = |letter: char| letter.is_control() && !letter.is_whitespace();
    (!said.contains(is_odd)).then_some(said)
}
