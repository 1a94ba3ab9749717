//! The list of all explanations.

use crate::diagnose::explanation::Explanation;

macro_rules! list {
    ($($($file:ident).+ $variant:ident $key:literal,)+) => {
        /// All of them, in the order in which they are asked.
        pub(in crate::diagnose) const ALL: &[&Explanation] =
            &[$(&super::$($file)::+::EXPLANATION),+];
    };
}
super::explained!(list);
