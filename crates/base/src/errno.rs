//! The kernel's error numbers that this crate names: the same on every architecture
//! (Linux `include/uapi/asm-generic/errno-base.h`). A pure crate has no libc to take them from.

/// Operation not permitted.
pub const EPERM: i32 = 1;
/// No such process.
pub const ESRCH: i32 = 3;
/// Try again.
pub const EAGAIN: i32 = 11;
/// Out of memory.
pub const ENOMEM: i32 = 12;
/// Permission denied.
pub const EACCES: i32 = 13;
/// Device or resource busy.
pub const EBUSY: i32 = 16;
/// Invalid argument.
pub const EINVAL: i32 = 22;
