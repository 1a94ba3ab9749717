//! What people look at. Pure: values in, text out; `cmd` reads and prints.

#![cfg_attr(not(test), allow(dead_code, reason = "each command uses a part of the common tools"))]

pub(crate) mod paint;
