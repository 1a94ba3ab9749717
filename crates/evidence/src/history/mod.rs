//! A machine's history on disk: samples one after the other, each packed with the one before as
//! its dictionary, in a file a day.
//!
//! [`frame`] is the format of one sample, [`index`] what a file holds as far as it is whole, and
//! [`time`] how users name a moment. Packing, and files, are of those who call.

pub mod frame;
pub mod index;
pub mod time;
