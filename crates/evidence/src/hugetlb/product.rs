//! Programs that can put their memory on HugeTLB pages: how each is recognised, its own switch,
//! and what it does when there are too few pages. One table.

use serde::{Deserialize, Serialize};

use super::facts::{ObjectKind, Process};

/// What happens when the pool is too small for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// Its own switch.
    pub switch: &'static str,
    /// What it does with one page fewer than it needs.
    pub short: &'static str,
}

macro_rules! products {
    ($($variant:ident $name:literal, switch: $switch:literal, short: $short:literal;)*) => {
        /// A program that can use HugeTLB pages.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Product {
            $(#[doc = $name] $variant,)*
        }

        impl Product {
            /// What is known of it.
            pub const fn about(self) -> About {
                match self {
                    $(Self::$variant => About {
                        name: $name, switch: $switch, short: $short,
                    },)*
                }
            }
        }
    };
}

products! {
    Oracle "Oracle Database",
        switch: "use_large_pages = ONLY, and no memory_target (AMM)",
        short: "ONLY: does not start; TRUE: takes what there is and mixes in 4 KiB pages";
    PostgreSql "PostgreSQL",
        switch: "huge_pages = on",
        short: "on: does not start; try: runs on 4 KiB pages and says nothing";
    Java "Java",
        switch: "-XX:+UseLargePages",
        short: "what does not fit runs on 4 KiB pages, with a warning at its start; not so ZGC: it \
            does not start, or, where -Xms is below -Xmx, starts and runs out of memory later";
    Qemu "QEMU",
        switch: "-object memory-backend-memfd,hugetlb=on (libvirt: <hugepages/>)",
        short: "the guest does not start";
}

impl Product {
    /// The product of a process, by its program and name.
    pub fn of(process: &Process) -> Option<Self> {
        let program = process.program.as_deref().unwrap_or(&process.name);
        let named = |name: &str| program == name || process.name == name;
        if named("oracle") || process.name.starts_with("ora_") || process.name.starts_with("oracle")
        {
            Some(Self::Oracle)
        } else if named("postgres") || named("postmaster") {
            Some(Self::PostgreSql)
        } else if named("java") {
            Some(Self::Java)
        } else if program.starts_with("qemu-system") || named("qemu-kvm") {
            Some(Self::Qemu)
        } else {
            None
        }
    }

    /// Its id among the rules of products (`advice`); `None`: there are none.
    pub const fn rules(self) -> Option<&'static str> {
        match self {
            Self::Oracle => Some("oracle"),
            Self::PostgreSql => Some("postgresql"),
            Self::Java => Some("hotspot"),
            Self::Qemu => None,
        }
    }

    /// Whether the product's switch puts this kind of memory on HugeTLB pages.
    pub const fn moves(self, kind: &ObjectKind) -> bool {
        match self {
            Self::Oracle => matches!(kind, ObjectKind::SysV(_)),
            // With shared_memory_type = sysv it never takes huge pages
            // (docs/measurements.md#hugetlb-accounting).
            Self::PostgreSql => matches!(kind, ObjectKind::SharedAnonymous),
            Self::Qemu => matches!(kind, ObjectKind::Memfd),
            // Its heap is private memory: its flags say how much (see `java`).
            Self::Java => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_recognised() {
        let of = |name: &str, program: Option<&str>| {
            Product::of(&Process {
                name: name.into(),
                program: program.map(Into::into),
                ..Process::default()
            })
        };
        assert_eq!(of("ora_pmon_orcl", Some("oracle")), Some(Product::Oracle));
        assert_eq!(of("oracle_4711_orc", None), Some(Product::Oracle));
        assert_eq!(of("postgres", None), Some(Product::PostgreSql));
        assert_eq!(of("main", Some("java")), Some(Product::Java));
        assert_eq!(of("CPU 0/KVM", Some("qemu-system-x86_64")), Some(Product::Qemu));
        assert_eq!(of("redis-server", Some("redis-server")), None);
        assert!(!Product::Oracle.moves(&ObjectKind::Posix), "AMM");
        assert!(!Product::PostgreSql.moves(&ObjectKind::SysV(1)));
        assert!(Product::PostgreSql.moves(&ObjectKind::SharedAnonymous));
        assert!(Product::Java.about().short.contains("not so ZGC"));
    }
}
