//! What `hugewise hugetlb apply` did ([`done`]), left for `verify` ([`saved`]), and how it goes
//! back ([`revert`]).

pub(crate) mod done;
pub(crate) mod revert;
pub(crate) mod saved;
