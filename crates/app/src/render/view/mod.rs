//! The views, a module each: what is shown of a value as text, JSON, HTML or SVG.

pub(crate) mod advise;
pub(crate) mod bill;
pub(crate) mod diagnosis;
pub(crate) mod doctor;
pub(crate) mod fleet;
pub(crate) mod freeze;
pub(crate) mod hugetlb;
pub(crate) mod investigate;
pub(crate) mod journal;
pub(crate) mod lab;
pub(crate) mod limit;
pub(crate) mod map;
pub(crate) mod metrics;
pub(crate) mod placement;
pub(crate) mod regret;
pub(crate) mod response;
pub(crate) mod revert;
pub(crate) mod rules;
pub(crate) mod signature;
pub(crate) mod simulate;
pub(crate) mod stages;
pub(crate) mod status;
pub(crate) mod thp;
pub(crate) mod top;
