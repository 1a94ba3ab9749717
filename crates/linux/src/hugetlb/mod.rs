//! HugeTLB pools of a machine: their files, what grows and gives them back, and the configuration
//! files that keep them over a reboot. What to do is decided in `hugewise_core::hugetlb`.

pub mod kept;
pub mod pool;
pub mod postgres;
