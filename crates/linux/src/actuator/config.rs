//! What an actuator is built from.

use hugewise_manager::limits::making::Making;
use serde::{Deserialize, Serialize};

/// What an actuator takes from the configuration; it is fixed while the actuator lives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ActuatorConfig {
    /// `promote.allow_under_never`: an operator's `never` is meant for faults only.
    pub allow_under_never: bool,
    /// `promote.mixed_nodes`: regions whose pages lie on several NUMA nodes are promoted, too, as
    /// an interleaving policy means it.
    pub mixed_nodes: bool,
    /// `promote.make_blocks`: whether the kernel is asked although no block is free.
    pub making: Making,
    /// `watermark.fmfi_high`: from there on a node's free blocks are too scarce to waste any.
    pub fmfi_high: f64,
    /// `controller.warm_cpu_percent`: CPU time that warming ahead may take in a thread of the idle
    /// scheduling class, percent of a core.
    pub warm_cpu_percent: f64,
}

impl Default for ActuatorConfig {
    /// One that refuses what an operator may allow, makes no blocks, and warms nothing ahead.
    fn default() -> Self {
        Self {
            allow_under_never: false,
            mixed_nodes: false,
            making: Making::NEVER,
            fmfi_high: 1.0,
            warm_cpu_percent: 0.0,
        }
    }
}
