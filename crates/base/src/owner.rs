//! Who changes kernel settings, and which: what a trail of old values is told about its owner.

/// Where trails of old values and the journal are, unless another directory is named.
pub const STATE_DIR: &str = "/var/lib/hugewise";

/// Directory of the settings of transparent huge pages below the root.
pub const THP_DIR: &str = "sys/kernel/mm/transparent_hugepage";
/// The file that the kernel changes on its own when transparent huge pages are switched.
pub const MIN_FREE: &str = "proc/sys/vm/min_free_kbytes";

/// An owner of settings.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// Name of its trail in the state directory.
    pub trail: &'static str,
    /// Whether a file, by its path below the root, is one of its settings. Nothing else is ever
    /// written, whoever wrote the trail.
    pub owns: fn(&str) -> bool,
    /// Whether its values hold over reboots, because configuration files write them again.
    pub over_reboots: bool,
}
