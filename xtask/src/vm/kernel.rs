//! Gets a stock Debian kernel, once, into `target/vm/<series>/vmlinuz`.

use super::apt::Apt;
use super::error::{Error, Result, failed};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Kernels for small virtual machines.
const AMD64: &str = "-cloud-amd64";
const ARM64: &str = "-cloud-arm64";
/// With base pages of 16 KiB.
const ARM64_16K: &str = "-arm64-16k";

/// Series, the Debian suite that has it, and what its version begins and ends with.
const SERIES: [(&str, &str, &str, &str); 7] = [
    ("5.10", "bullseye", "5.10.", AMD64),
    ("6.1", "bookworm", "6.1.", AMD64),
    ("6.12", "bookworm", "6.12.", AMD64),
    ("newest", "trixie-backports", "", AMD64),
    ("arm64-6.12", "bookworm", "6.12.", ARM64),
    ("arm64-16k", "bookworm", "6.12.", ARM64_16K),
    ("arm64-newest", "trixie-backports", "", ARM64),
];

/// Whether a series is of arm64, and not of x86-64.
pub fn is_arm64(series: &str) -> bool {
    series.starts_with("arm64")
}

/// Where kernels and scratch folders live.
pub fn cache() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| crate::workspace_root().join("target"), PathBuf::from);
    target.join("vm")
}

/// The kernel image of a series, downloaded when it is not there yet.
pub fn fetch(series: &str) -> Result<PathBuf> {
    let Some(&(_, suite, prefix, flavour)) = SERIES.iter().find(|(name, ..)| *name == series)
    else {
        let known: Vec<&str> = SERIES.iter().map(|(name, ..)| *name).collect();
        return Err(failed(format!("unknown kernel '{series}': take one of {}", known.join(", "))));
    };
    let image = cache().join(series).join("vmlinuz");
    if image.is_file() {
        return Ok(image);
    }
    let scratch = Scratch::new()?;
    let architectures: &[&str] = if is_arm64(series) { &["arm64"] } else { &["amd64"] };
    let apt = Apt::set_up(&scratch.0, suite, architectures)?;
    let names = apt.package_names("linux-")?;
    let package = choose(&names, prefix, flavour).ok_or_else(|| {
        Error::Unavailable(format!("Debian's {suite} has no kernel of series {series}"))
    })?;
    let unpacked = apt.unpack(&[&format!("{package}:{}", architectures[0])])?;
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
        // `vmlinuz`, `vmlinuz-6.12.117`, `vmlinuz.unsigned`.
        name.strip_prefix("vmlinuz").is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

/// The newest package that holds a kernel whose version begins with `prefix` and which ends with
/// `flavour`. New Debian
/// releases split the image off (`linux-binary-...`): that one is preferred, being smaller.
fn choose(names: &str, prefix: &str, flavour: &str) -> Option<String> {
    let candidates = names.lines().filter_map(|name| {
        let binary = ["linux-binary-unsigned-", "linux-binary-"];
        let (split, rest) = match binary.iter().find_map(|start| name.strip_prefix(start)) {
            Some(rest) => (true, rest),
            None => (false, name.strip_prefix("linux-image-")?),
        };
        let rest = rest.strip_suffix("-unsigned").unwrap_or(rest);
        let version = rest.strip_suffix(flavour)?;
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
        linux-image-7.3.4+deb13-cloud-amd64-dbg\nlinux-image-6.12.117+deb12-arm64-16k-dbg\n\
        linux-image-6.12.117+deb12-arm64-16k\nlinux-image-6.12.99+deb12-arm64-16k\n\
        linux-binary-unsigned-7.3.4+deb13-cloud-arm64\n";

    #[test]
    fn the_newest_package_is_chosen_by_number() {
        let chosen = |prefix| choose(NAMES, prefix, AMD64).unwrap();
        assert_eq!(chosen("6.1."), "linux-image-6.1.0-56-cloud-amd64-unsigned");
        assert_eq!(chosen("6.12."), "linux-image-6.12.117+deb12-cloud-amd64-unsigned");
        assert_eq!(chosen(""), "linux-binary-7.3.4+deb13-cloud-amd64");
        assert_eq!(choose(NAMES, "5.10.", AMD64), None);
    }

    #[test]
    fn each_kind_of_arm64_has_its_own() {
        let chosen = |prefix, flavour| choose(NAMES, prefix, flavour).unwrap();
        assert_eq!(chosen("6.12.", ARM64_16K), "linux-image-6.12.117+deb12-arm64-16k");
        assert_eq!(chosen("", ARM64), "linux-binary-unsigned-7.3.4+deb13-cloud-arm64");
        assert_eq!(choose(NAMES, "6.12.", ARM64), None);
    }
}
