//! Who changes kernel settings, and which: what a trail of old values is told about its owner.

/// Where trails of old values and the journal are, unless another directory is named.
pub const STATE_DIR: &str = "/var/lib/hugewise";

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
