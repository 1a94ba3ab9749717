//! What a step of a ladder is, and how ladders are written down.

use serde::Serialize;

/// How far a remedy reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Changes nothing.
    Look,
    /// One program, by its own switch.
    Program,
    /// One service, by its unit or cgroup.
    Service,
    /// Every program of the machine; can be put back at once.
    Machine,
    /// The machine's hardware, size or place.
    Hardware,
}

impl Reach {
    /// In a word.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Program => "program",
            Self::Service => "service",
            Self::Machine => "machine",
            Self::Hardware => "hardware",
        }
    }
}

/// When a remedy is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// From this version of Linux on.
    Linux(u32, u32),
    /// Where a disk mostly reads.
    Reads,
    /// Where a disk mostly writes.
    Writes,
    /// Where a disk answers slowly by itself.
    SlowDisk,
    /// Where a disk answers as fast as such disks do.
    SoundDisk,
    /// Where no profile of the kernel was given.
    Unprofiled,
    /// Where interrupts are mostly the hardware's.
    Hardware,
    /// Where they are not.
    Software,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// How far it reaches.
    pub reach: Reach,
    /// What to do.
    pub what: &'static str,
    /// The command.
    pub command: &'static str,
    /// How to see that it helped.
    pub verify: &'static str,
    /// When it can be done, and helps.
    #[serde(skip)]
    pub when: When,
}

macro_rules! when {
    () => {
        When::Always
    };
    ($($when:tt)+) => {
        When::$($when)+
    };
}

macro_rules! ladders {
    ($($name:ident { $(
        $([$($when:tt)+])? $reach:ident $what:literal, $command:literal, $verify:literal;
    )* })*) => {
        $(pub(in crate::diagnose) const $name: &[Remedy] = &[$(Remedy {
            reach: Reach::$reach,
            what: $what,
            command: $command,
            verify: $verify,
            when: when!($($($when)+)?),
        },)*];)*
    };
}
