//! What nearly every question uses: answers, what was seen, thresholds, what is missing, fields.

pub(super) use crate::diagnose::answer::{Answer, Evidence, Ground, Missing, Verdict};
pub(super) use crate::diagnose::context::{Context, Line};
pub(super) use crate::diagnose::interval::Interval;
pub(super) use crate::diagnose::missing::*;
pub(super) use crate::diagnose::reading::{Reading, least, least_by, most, most_by, sum};
pub(super) use crate::diagnose::threshold::Threshold as T;
pub(super) use crate::diagnose::write;
pub(super) use crate::recording::{
    Field, Host, Point, Recording, Series, Socket, SocketState, SourceId, SourceKind, Span, Stamp,
    Subject, Unit,
};
