//! Takes Debian packages apart, without installing them.
//!
//! apt works in a folder of its own: it takes only the mirror's address from this machine's
//! configuration and leaves its package lists alone. Debian's signature is checked as always.

use super::error::{Error, Result, failed};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The addresses of Debian mirrors in apt's source files, in either of their two forms.
fn mirrors(sources: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in sources.lines().filter(|l| !l.trim_start().starts_with('#')) {
        for word in line.split_whitespace().map(|w| w.trim_end_matches('/')) {
            let debian = word.ends_with("/debian") || word.ends_with("/debian-security");
            if debian && word.contains("://") && !found.iter().any(|f| f == word) {
                found.push(word.to_string());
            }
        }
    }
    found
}

fn read_sources() -> String {
    let apt = Path::new("/etc/apt");
    let folder = fs::read_dir(apt.join("sources.list.d")).into_iter().flatten().flatten();
    let files = folder.map(|e| e.path()).chain([apt.join("sources.list")]);
    files.filter_map(|path| fs::read_to_string(path).ok()).collect::<Vec<_>>().join("\n")
}

/// apt with sources, lists and cache in one folder.
#[derive(Debug)]
pub(crate) struct Apt {
    folder: PathBuf,
    /// Architectures whose packages it knows, in Debian's words.
    architectures: &'static [&'static str],
}

impl Apt {
    /// Takes the list of packages of a suite.
    pub(crate) fn set_up(
        folder: &Path,
        suite: &str,
        architectures: &'static [&'static str],
    ) -> Result<Self> {
        for program in ["apt-get", "dpkg-deb"] {
            if Command::new(program).arg("--version").output().is_err() {
                let reason = format!("no {program}: kernels come as Debian packages");
                return Err(Error::Unavailable(reason));
            }
        }
        let mirrors = mirrors(&read_sources());
        if !mirrors.iter().any(|m| m.ends_with("/debian")) {
            let reason = "no Debian mirror in this machine's apt sources to take a kernel from";
            return Err(Error::Unavailable(reason.into()));
        }
        for sub in ["lists/partial", "cache/archives/partial", "sources"] {
            fs::create_dir_all(folder.join(sub)).map_err(failed)?;
        }
        let text: String = mirrors.iter().filter_map(|m| stanza(m, suite)).collect();
        fs::write(folder.join("sources/guest.sources"), text).map_err(failed)?;
        let apt = Self { folder: folder.to_path_buf(), architectures };
        apt.call("apt-get", &["update", "-q"])?;
        Ok(apt)
    }

    /// Names of packages, a line each, that begin so.
    pub(crate) fn package_names(&self, start: &str) -> Result<String> {
        let output = self.call("apt-cache", &["pkgnames", start])?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The first package that this one depends on and whose name begins so.
    pub(crate) fn dependency(&self, package: &str, start: &str) -> Result<String> {
        let output = self.call("apt-cache", &["depends", package])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        let found = names.map(str::trim).find(|name| name.starts_with(start)).map(str::to_owned);
        found.ok_or_else(|| failed(format!("{package} depends on no package {start}*")))
    }

    /// Downloads packages and unpacks them without installing anything.
    pub(crate) fn unpack(&self, packages: &[&str]) -> Result<PathBuf> {
        self.call("apt-get", &[&["download", "-q"], packages].concat())?;
        let files = fs::read_dir(&self.folder).map_err(failed)?.flatten();
        let debs = files.map(|entry| entry.path());
        let debs = debs.filter(|path| path.extension() == Some(OsStr::new("deb")));
        let unpacked = self.folder.join("unpacked");
        let mut count = 0;
        for deb in debs {
            check(Command::new("dpkg-deb").arg("-x").arg(deb).arg(&unpacked))?;
            count += 1;
        }
        if count < packages.len() {
            let all = packages.join(" ");
            return Err(failed(format!("apt-get download left {count} files for {all}")));
        }
        Ok(unpacked)
    }

    fn call(&self, program: &str, arguments: &[&str]) -> Result<Output> {
        let folder = self.folder.display();
        let options = [
            "Dir::Etc::SourceList=/dev/null".to_string(),
            format!("Dir::Etc::SourceParts={folder}/sources"),
            format!("Dir::State::Lists={folder}/lists"),
            "Dir::State::Status=/dev/null".to_string(),
            format!("Dir::Cache={folder}/cache"),
            "Acquire::Languages=none".to_string(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_string(),
            // The folder belongs to the caller, so apt's own user could not write into it.
            "APT::Sandbox::User=".to_string(),
            "APT::Update::Error-Mode=any".to_string(),
        ];
        let mut command = Command::new(program);
        let architectures = self.architectures.iter();
        let architectures = architectures.map(|name| format!("APT::Architectures::={name}"));
        for option in options.into_iter().chain(architectures) {
            command.args(["-o", &option]);
        }
        check(command.args(arguments).current_dir(&self.folder))
    }
}

/// One source in apt's deb822 form; security fixes have a mirror of their own, except for suites
/// that are no releases.
fn stanza(mirror: &str, suite: &str) -> Option<String> {
    let security = mirror.ends_with("-security");
    let suite = match (security, suite) {
        (true, "bookworm") => "bookworm-security",
        (true, _) => return None,
        (false, suite) => suite,
    };
    let head = format!("Types: deb\nURIs: {mirror}\nSuites: {suite}\nComponents: main\n");
    let key =
        if Path::new(KEYRING).exists() { format!("Signed-By: {KEYRING}\n") } else { String::new() };
    Some(format!("{head}{key}\n"))
}

/// Runs a command; a failure is most often the network, so that tests skip with its last words.
fn check(command: &mut Command) -> Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| failed(format!("cannot start {name}: {e}")))?;
    if output.status.success() {
        return Ok(output);
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(Error::Unavailable(format!("{name} failed: {words}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_are_found_in_both_forms() {
        let sources = "Types: deb\nURIs: http://a.example/debian\nSuites: bookworm\n\
            # deb http://b.example/debian x main\n\
            deb [signed-by=/k] https://c.example/debian-security/ x main\n\
            deb https://d.example/other x main\nURIs: http://a.example/debian\n";
        let expected = ["http://a.example/debian", "https://c.example/debian-security"];
        assert_eq!(mirrors(sources), expected);
    }

    #[test]
    fn security_fixes_come_from_their_own_suite() {
        let security = stanza("http://a.example/debian-security", "bookworm").unwrap();
        assert!(security.contains("Suites: bookworm-security\n"));
        assert_eq!(stanza("http://a.example/debian-security", "trixie-backports"), None);
    }
}
