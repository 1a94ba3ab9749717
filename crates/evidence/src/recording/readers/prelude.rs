//! What nearly every reader uses: the trait, the lines, the words of a line, and the place to put
//! values.

pub(super) use super::reader::{LINES_AROUND, Lines, PastBlanks, PastGaps, Reader, Taken};
pub(super) use super::words::{
    are_names, binary_factor, command_name, count, date, elided, joined, number, number_and_unit,
    plain, time_of_day, words,
};
pub(super) use crate::recording::{
    Builder, Clock, Field, Protocol, SocketState, SourceKind, Stamp, Subject,
};
