//! Which products a process is, and in which version.

use super::book::Book;
use super::facts::{Process, VersionSources};
use super::rule::{Example, Product};
use super::version::Version;

/// Whether a pattern fits: `*` at its start or end stands for anything.
pub fn fits(pattern: &str, text: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), None) => text.ends_with(end),
        (None, Some(start)) => text.starts_with(start),
        (Some(_), Some(_)) => text.contains(pattern.trim_matches('*')),
        (None, None) => pattern == text,
    }
}

fn any_fits(patterns: &[String], text: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, text))
}

/// The file name of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a process is that product.
pub fn is_product(product: &Product, process: &Process) -> bool {
    let maps = |patterns: &[String]| {
        process.libraries.iter().any(|path| any_fits(patterns, file_name(path)))
    };
    if maps(&product.not_libraries) {
        return false;
    }
    let of_go = product.go && process.version_sources.go.is_some();
    if product.programs.is_empty() && product.arguments.is_empty() && product.libraries.is_empty() {
        return of_go;
    }
    // The program of a script is its interpreter: then the script's name is the first argument.
    let by_name = any_fits(&product.programs, file_name(&process.exe))
        || process.arguments.first().is_some_and(|first| {
            let is_script = file_name(first) != file_name(&process.exe);
            is_script && any_fits(&product.programs, file_name(first))
        });
    let mut words = process.arguments.iter().chain([&process.exe]);
    let by_content = words.any(|one| any_fits(&product.arguments, one)) || maps(&product.libraries);
    let needs_name = !product.programs.is_empty();
    let needs_content = !(product.arguments.is_empty() && product.libraries.is_empty());
    of_go || ((by_name || !needs_name) && (by_content || !needs_content))
}

/// The version of a process that is that product: that of its package first, as only root can
/// change it, and what the program says of itself last.
pub fn version(product: &Product, process: &Process) -> Option<Version> {
    let sources = &process.version_sources;
    let mut packages = sources.packages.iter();
    let package = packages.find(|(name, _)| any_fits(&product.packages, name));
    if let Some(found) = package.and_then(|(_, version)| Version::of(version)) {
        return Some(found);
    }
    let text = sources.release.get(&product.id);
    if let (Some(release), Some(text)) = (&product.release, text)
        && let Some(found) = of_release(release.key.as_deref(), text)
    {
        return Some(found);
    }
    if product.version_in_name {
        let paths = process.libraries.iter();
        let mut names = paths.map(|path| file_name(path));
        let name = names.find(|name| any_fits(&product.libraries, name));
        // What stands behind `.so` is the version of its interface, as a rule.
        let parts = name.and_then(|name| name.split_once(".so"));
        let (stem, rest) = parts.unwrap_or_default();
        if let Some(found) = Version::first_in(stem).or_else(|| Version::first_in(rest)) {
            return Some(found);
        }
    }
    if let Some(found) = sources.go.as_deref().filter(|_| product.go).and_then(Version::of) {
        return Some(found);
    }
    let says = sources.says.get(&product.id)?;
    match product.query.as_ref()?.after.as_deref() {
        Some(after) => Version::of(says.split_once(after)?.1.trim_start()),
        None => Version::first_in(says),
    }
}

fn of_release(key: Option<&str>, text: &str) -> Option<Version> {
    let Some(key) = key else { return Version::first_in(text) };
    let mut lines = text.lines().filter_map(|line| line.split_once('='));
    let (_, value) = lines.find(|(name, _)| name.trim() == key)?;
    Version::first_in(value.trim().trim_matches('"'))
}

/// A process that is made of an example of that product.
pub fn process_of(product: &str, example: &Example) -> Process {
    let text_of = |text: &Option<String>| {
        text.iter().map(|text| (product.to_owned(), text.clone())).collect()
    };
    let package = example.package.as_deref().and_then(|text| text.split_once(' '));
    let package = package.map(|(name, version)| (name.to_owned(), version.to_owned()));
    let packages = package.into_iter().collect();
    let name = file_name(&example.exe).to_owned();
    let first = || vec![example.exe.clone()];
    Process {
        pid: 1,
        name,
        exe: example.exe.clone(),
        arguments: match example.arguments.is_empty() {
            true => first(),
            false => example.arguments.clone(),
        },
        libraries: example.libraries.clone(),
        version_sources: VersionSources {
            packages,
            release: text_of(&example.release),
            says: text_of(&example.says),
            go: example.go.clone(),
        },
        ..Process::default()
    }
}

/// A product that runs: one version of it, and all of its processes.
#[derive(Clone, Debug)]
pub struct Running<'a> {
    /// The product.
    pub product: &'a Product,
    /// Its version.
    pub version: Option<Version>,
    /// Its processes; none where the product is the machine itself.
    pub processes: Vec<&'a Process>,
}

/// The products of a host, by id and version. A product of which two versions run is there twice.
pub fn running<'a>(book: &'a Book, processes: &'a [Process]) -> Vec<Running<'a>> {
    let mut found: Vec<Running<'a>> = Vec::new();
    for product in book.products() {
        let first = found.len();
        if product.host {
            found.push(Running { product, version: None, processes: Vec::new() });
            continue;
        }
        for process in processes.iter().filter(|process| is_product(product, process)) {
            let version = version(product, process);
            let known = found.get_mut(first..).unwrap_or_default();
            match known.iter_mut().find(|known| known.version == version) {
                Some(known) => known.processes.push(process),
                None => found.push(Running { product, version, processes: vec![process] }),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(exe: &str, arguments: &[&str], libraries: &[&str]) -> Process {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        Process {
            exe: exe.into(),
            arguments: owned(arguments),
            libraries: owned(libraries),
            ..Process::default()
        }
    }

    #[test]
    fn a_product_is_recognised_by_name_and_by_what_it_runs() {
        let owned = |one: &str| vec![one.to_owned()];
        let by_name = Product { programs: owned("redis-*"), ..Product::default() };
        assert!(is_product(&by_name, &process("/usr/bin/redis-server", &[], &[])));
        assert!(is_product(&by_name, &process("/usr/bin/python3", &["/opt/redis-x"], &[])));
        assert!(!is_product(&by_name, &process("/usr/bin/java", &["java", "redis-server"], &[])));
        let both = Product {
            programs: owned("java"),
            arguments: owned("org.example.*"),
            ..Product::default()
        };
        let java = ["java", "-Xmx1g", "org.example.Main"];
        assert!(is_product(&both, &process("/opt/jdk/bin/java", &java, &[])));
        assert!(!is_product(&both, &process("/opt/jdk/bin/java", &["java", "x"], &[])));
        let library = Product { libraries: owned("libjemalloc.so*"), ..Product::default() };
        assert!(is_product(&library, &process("/bin/x", &[], &["/usr/lib/libjemalloc.so.2"])));
        assert!(!is_product(&Product::default(), &process("/bin/x", &[], &[])), "nothing named");
    }

    #[test]
    fn the_version_of_the_package_comes_before_what_the_program_says() {
        let product = Product {
            packages: vec!["redis-server".into()],
            query: Some(super::super::rule::Query {
                arguments: vec!["--version".into()],
                after: Some("v=".into()),
            }),
            ..Product::default()
        };
        let mut process = process("/usr/bin/redis-server", &[], &[]);
        let says = "Redis server v=6.2.6 sha=0".to_owned();
        process.version_sources.says = [(String::new(), says)].into();
        let shown = |process: &Process| version(&product, process).map(|found| found.to_string());
        assert_eq!(shown(&process).as_deref(), Some("6.2.6"));
        let package = ("redis-server".to_owned(), "5:7.0.15-1".to_owned());
        process.version_sources.packages = vec![package];
        assert_eq!(shown(&process).as_deref(), Some("7.0.15"));
        process.version_sources = VersionSources::default();
        assert_eq!(shown(&process), None);
    }
}
