//! The machine as far as its facts bound it: what a quantity is at least and at most, whichever
//! columns a listing has.

pub(super) mod bounds;
pub(super) mod memory;
