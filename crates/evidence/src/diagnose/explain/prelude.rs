//! What nearly every explanation uses.

pub(super) use super::sockets::{Connections, in_state, most_named, observed};
pub(super) use crate::diagnose::answer::{Answer, Evidence};
pub(super) use crate::diagnose::cause::{Cause, Severity};
pub(super) use crate::diagnose::context::{Context, Line};
pub(super) use crate::diagnose::explanation::Explanation;
pub(super) use crate::diagnose::machine;
pub(super) use crate::diagnose::missing::*;
pub(super) use crate::diagnose::reading::{Reading, most};
pub(super) use crate::diagnose::remedy::{Reach, Remedy, When};
pub(super) use crate::diagnose::threshold::Threshold as T;
pub(super) use crate::diagnose::write;
pub(super) use crate::recording::{
    Field, Protocol, Socket, SocketState, SourceKind, Subject, Unit,
};
