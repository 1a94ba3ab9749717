//! Gets a stock Debian kernel, once, into `target/vm/<series>/vmlinuz`.
//!
//! apt works in a folder of its own: it takes only the mirror's address from this machine's
//! configuration and leaves its package lists alone. Debian's signature is checked as always.

use super::error::{Error, Result, failed};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Series, the Debian suite that has it, and what its version begins with.
const SERIES: [(&str, &str, &str); 4] = [
    ("5.10", "bullseye", "5.10."),
    ("6.1", "bookworm", "6.1."),
    ("6.12", "bookworm", "6.12."),
    ("newest", "trixie-backports", ""),
];

/// Where kernels and scratch folders live.
pub fn cache() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| crate::workspace_root().join("target"), PathBuf::from);
    target.join("vm")
}

/// The kernel image of a series, downloaded when it is not there yet.
pub fn fetch(series: &str) -> Result<PathBuf> {
    let Some(&(_, suite, prefix)) = SERIES.iter().find(|(name, ..)| *name == series) else {
        let known: Vec<&str> = SERIES.iter().map(|(name, ..)| *name).collect();
        return Err(failed(format!("unknown kernel '{series}': take one of {}", known.join(", "))));
    };
    let image = cache().join(series).join("vmlinuz");
    if image.is_file() {
        return Ok(image);
    }
    let scratch = Scratch::new()?;
    let apt = Apt::set_up(&scratch.0, suite)?;
    let names = apt.package_names()?;
    let package = choose(&names, prefix).ok_or_else(|| {
        Error::Unavailable(format!("Debian's {suite} has no cloud kernel of series {series}"))
    })?;
    let unpacked = apt.unpack(&package)?;
    let vmlinuz = find_image(&unpacked)
        .ok_or_else(|| failed(format!("no kernel image in package {package}: look inside")))?;
    // Renamed into place, so that a second process never sees half a file.
    fs::create_dir_all(cache().join(series)).map_err(failed)?;
    fs::write(cache().join(series).join("package"), format!("{package}\n")).map_err(failed)?;
    fs::rename(vmlinuz, &image).map_err(failed)?;
    Ok(image)
}

/// `boot/vmlinuz-*`, or in new Debian releases `usr/lib/modules/*/vmlinuz`.
fn find_image(unpacked: &Path) -> Option<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let list = fs::read_dir(folder).into_iter().flatten().flatten();
        list.map(|entry| entry.path()).collect()
    };
    let modules = entries(&unpacked.join("usr/lib/modules"));
    let files = modules.iter().flat_map(|folder| entries(folder));
    files.chain(entries(&unpacked.join("boot"))).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == "vmlinuz" || name.starts_with("vmlinuz-")
    })
}

/// The newest package that holds a cloud kernel whose version begins with `prefix`. New Debian
/// releases split the image off (`linux-binary-...`): that one is preferred, being smaller.
fn choose(names: &str, prefix: &str) -> Option<String> {
    let candidates = names.lines().filter_map(|name| {
        let (split, rest) = match name.strip_prefix("linux-binary-") {
            Some(rest) => (true, rest),
            None => (false, name.strip_prefix("linux-image-")?),
        };
        let rest = rest.strip_suffix("-unsigned").unwrap_or(rest);
        let version = rest.strip_suffix("-cloud-amd64")?;
        let numbered = version.starts_with(|c: char| c.is_ascii_digit());
        let key = (numbers(version), split, name.len());
        (numbered && version.starts_with(prefix)).then(|| (key, name.to_string()))
    });
    candidates.max().map(|(_, name)| name)
}

/// `6.12.117+deb12` as 6, 12, 117, 12.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

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
struct Apt {
    folder: PathBuf,
}

impl Apt {
    fn set_up(folder: &Path, suite: &str) -> Result<Self> {
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
        let apt = Self { folder: folder.to_path_buf() };
        apt.call("apt-get", &["update", "-q"])?;
        Ok(apt)
    }

    fn package_names(&self) -> Result<String> {
        let output = self.call("apt-cache", &["pkgnames", "linux-"])?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Downloads a package and unpacks it without installing anything.
    fn unpack(&self, package: &str) -> Result<PathBuf> {
        self.call("apt-get", &["download", "-q", package])?;
        let deb = fs::read_dir(&self.folder)
            .map_err(failed)?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.extension() == Some(OsStr::new("deb")))
            .ok_or_else(|| failed(format!("apt-get download left no file for {package}")))?;
        let unpacked = self.folder.join("unpacked");
        let mut command = Command::new("dpkg-deb");
        check(command.arg("-x").arg(deb).arg(&unpacked))?;
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
        for option in options {
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

/// A folder of this process alone, removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = cache().join(format!("tmp-{}-{count}", std::process::id()));
        fs::create_dir_all(&path)
            .map_err(|e| failed(format!("cannot create '{}': {e}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str = "linux-image-6.1.0-9-cloud-amd64-unsigned\n\
        linux-image-6.1.0-56-cloud-amd64-unsigned\nlinux-image-6.1.0-56-amd64\n\
        linux-image-6.12.117+deb12-cloud-amd64\nlinux-image-6.12.117+deb12-cloud-amd64-unsigned\n\
        linux-image-6.12.99+deb12-cloud-amd64\nlinux-image-cloud-amd64\n\
        linux-image-7.3.4+deb13-cloud-amd64\nlinux-binary-7.3.4+deb13-cloud-amd64\n\
        linux-image-7.3.4+deb13-cloud-amd64-dbg\n";

    #[test]
    fn the_newest_package_is_chosen_by_number() {
        let chosen = |prefix| choose(NAMES, prefix).unwrap();
        assert_eq!(chosen("6.1."), "linux-image-6.1.0-56-cloud-amd64-unsigned");
        assert_eq!(chosen("6.12."), "linux-image-6.12.117+deb12-cloud-amd64-unsigned");
        assert_eq!(chosen(""), "linux-binary-7.3.4+deb13-cloud-amd64");
        assert_eq!(choose(NAMES, "5.10."), None);
    }

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
