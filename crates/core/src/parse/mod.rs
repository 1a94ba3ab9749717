//! stub
pub mod size;
