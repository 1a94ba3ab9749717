//! HugeTLB plans over made machines: sums, choices, warnings, files, verification.

#[path = "hugetlb/checks.rs"]
mod checks;
#[path = "hugetlb/machine.rs"]
mod machine;
#[path = "hugetlb/plans.rs"]
mod plans;
#[path = "hugetlb/properties.rs"]
mod properties;
#[path = "hugetlb/warnings.rs"]
mod warnings;
