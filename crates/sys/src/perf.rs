//! `perf_event_open`: samples of what each CPU runs, on the kernel's own clock, and the kernel's
//! trace events.

use std::ffi::CStr;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::errno::Errno;

/// `struct perf_event_attr` in its third form, which every kernel from 4.1 on takes
/// (`include/uapi/linux/perf_event.h`, `PERF_ATTR_SIZE_VER3`).
#[repr(C)]
#[derive(Default)]
struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    frequency_hz: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
}

/// `PERF_ATTR_SIZE_VER3`.
const ATTR_BYTES: u32 = 96;
const _: () = assert!(size_of::<Attr>() == ATTR_BYTES as usize);

/// `PERF_TYPE_SOFTWARE` and `PERF_COUNT_SW_CPU_CLOCK`: needs no counters of the processor, which
/// virtual machines rarely have.
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
/// `PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN`.
const CLOCK_SAMPLE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5;
/// `PERF_TYPE_TRACEPOINT`, and `PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW`.
const TRACEPOINT: u32 = 2;
const TRACE_SAMPLE: u64 = 1 << 1 | 1 << 2 | 1 << 10;
/// `PERF_EVENT_IOC_SET_FILTER`.
const SET_FILTER: libc::c_ulong = 0x4008_2406;
/// Bits of the flags: `freq` (a rate, no period), ...
const FREQUENCY: u64 = 1 << 10;
/// ... `use_clockid` (times are those of the clock that `clockid` names), ...
const CLOCKID: u64 = 1 << 25;
/// ... `exclude_idle`, `comm` (programs' names), `exclude_guest`, `exclude_callchain_user`.
const CLOCK_FLAGS: u64 = FREQUENCY | CLOCKID | 1 << 7 | 1 << 9 | 1 << 20 | 1 << 22;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOEXEC: libc::c_ulong = 1 << 3;

/// Where `struct perf_event_mmap_page` has `data_head` and `data_tail`, in bytes.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

/// `struct perf_event_header`, and the records that are understood.
const HEADER_BYTES: usize = 8;
const RECORD_LOST: u32 = 2;
const RECORD_COMM: u32 = 3;
const RECORD_SAMPLE: u32 = 9;
/// Addresses from here on are marks in a chain of calls (`PERF_CONTEXT_MAX`, -4095).
const MARKS_FROM: u64 = u64::MAX - 4094;
/// `PERF_RECORD_MISC_CPUMODE_MASK` and `PERF_RECORD_MISC_KERNEL`.
const MODE_MASK: u16 = 7;
const MODE_KERNEL: u16 = 1;

/// What one record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// What a CPU ran at a tick of the clock.
    Sample {
        /// The process.
        pid: u32,
        /// Its thread.
        tid: u32,
        /// On the monotonic clock, in nanoseconds.
        at_ns: u64,
        /// Addresses in the kernel, the innermost function first; empty: outside of the kernel.
        kernel: Vec<u64>,
    },
    /// A process took this name.
    Name {
        /// The process.
        pid: u32,
        /// The thread that took it.
        tid: u32,
        /// The name, as bytes.
        name: Vec<u8>,
    },
    /// So many records found no room.
    Lost(u64),
}

/// Samples of what one CPU runs; they stop on drop.
#[derive(Debug)]
pub struct CpuClock(Ring);

impl CpuClock {
    /// Begins to sample everything that `cpu` runs but its idle task, `frequency_hz` times a
    /// second. `pages`, a power of two, is how many pages of records the kernel keeps until they
    /// are read.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` without `CAP_PERFMON` (or `CAP_SYS_ADMIN`) where
    /// `kernel.perf_event_paranoid` asks for it; `ENODEV` for a CPU that is offline; `EINVAL` for
    /// a rate above `kernel.perf_event_max_sample_rate`; `ENOSYS` without the kernel's `perf`.
    pub fn open(cpu: u32, frequency_hz: u64, pages: usize) -> Result<Self, Errno> {
        let attr = Attr {
            kind: SOFTWARE,
            size: ATTR_BYTES,
            config: CPU_CLOCK,
            frequency_hz,
            sample_type: CLOCK_SAMPLE,
            flags: CLOCK_FLAGS,
            clockid: libc::CLOCK_MONOTONIC,
            ..Attr::default()
        };
        Ring::open(&attr, cpu, pages).map(Self)
    }

    /// Hands over the records since the last call, the oldest first.
    pub fn drain(&mut self, mut each: impl FnMut(Record)) {
        self.0.drain(|bytes| {
            if let Some(record) = parse(bytes) {
                each(record);
            }
        });
    }
}

/// What one record of [`Tracepoint`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The process in which it happened.
    pub pid: u32,
    /// On the monotonic clock, in nanoseconds.
    pub at_ns: u64,
    /// The event's own fields, as its `format` file orders them.
    pub raw: Vec<u8>,
}

/// One of the kernel's trace events on one CPU, each time it happens; it stops on drop.
#[derive(Debug)]
pub struct Tracepoint(Ring);

impl Tracepoint {
    /// Begins to record the event `id` (its `id` file in tracefs) on `cpu`, where its fields
    /// meet `filter`, as `Documentation/trace/events.rst` writes it.
    ///
    /// # Errors
    /// As [`CpuClock::open`]; `EINVAL` for a filter that the kernel does not take.
    pub fn open(id: u64, filter: &CStr, cpu: u32, pages: usize) -> Result<Self, Errno> {
        let attr = Attr {
            kind: TRACEPOINT,
            size: ATTR_BYTES,
            config: id,
            // Not a rate here: after each one.
            frequency_hz: 1,
            sample_type: TRACE_SAMPLE,
            flags: CLOCKID,
            clockid: libc::CLOCK_MONOTONIC,
            ..Attr::default()
        };
        let ring = Ring::open(&attr, cpu, pages)?;
        // SAFETY: the kernel copies the text, which ends with a zero and lives through the call.
        // WHY UNSAFE: neither std nor rustix knows this request.
        let answer = unsafe { libc::ioctl(ring.fd.as_raw_fd(), SET_FILTER, filter.as_ptr()) };
        if answer == 0 { Ok(Self(ring)) } else { Err(Errno::last()) }
    }

    /// Hands over the records since the last call, the oldest first.
    pub fn drain(&mut self, mut each: impl FnMut(Trace)) {
        self.0.drain(|bytes| {
            if let Some(trace) = parse_trace(bytes) {
                each(trace);
            }
        });
    }
}

/// Records that the kernel writes of one CPU; it stops on drop.
#[derive(Debug)]
struct Ring {
    fd: OwnedFd,
    start: NonNull<u8>,
    len: usize,
    page: usize,
}

impl Ring {
    fn open(attr: &Attr, cpu: u32, pages: usize) -> Result<Self, Errno> {
        let cpu = libc::c_int::try_from(cpu).map_err(|_| Errno(libc::EINVAL))?;
        let (all, alone): (libc::c_int, libc::c_int) = (-1, -1);
        // SAFETY: the kernel reads the 64 bytes that `size` states, which live through the call.
        // WHY UNSAFE: neither std nor rustix knows this system call.
        let fd = unsafe {
            libc::syscall(libc::SYS_perf_event_open, ptr::from_ref(attr), all, cpu, alone, CLOEXEC)
        };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(Errno::last)?;
        // SAFETY: the kernel just made this descriptor, and nothing else knows it.
        // WHY UNSAFE: the call above gives a plain number.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let page = rustix::param::page_size();
        let len = page * (pages + 1);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: without MAP_FIXED and with no address asked for, the kernel picks a range that
        // nothing else uses.
        // WHY UNSAFE: std has no way to map memory.
        let mapped =
            unsafe { mmap(ptr::null_mut(), len, protection, MapFlags::SHARED, fd.as_fd(), 0) };
        let mapped = mapped.map_err(|error| Errno(error.raw_os_error()))?;
        let start = NonNull::new(mapped.cast::<u8>()).ok_or(Errno::NOMEM)?;
        Ok(Self { fd, start, len, page })
    }

    /// Hands over the records since the last call with their headers, the oldest first.
    fn drain(&mut self, mut each: impl FnMut(&[u8])) {
        // The kernel writes the records before it moves the head (`Acquire`), and reuses their
        // room only when the tail has passed them (`Release`).
        let head = self.place(HEAD_AT).load(Ordering::Acquire);
        let mut tail = self.place(TAIL_AT).load(Ordering::Relaxed);
        while tail + HEADER_BYTES as u64 <= head {
            let size = u16::from_ne_bytes(self.copy(tail + 6)) as usize;
            if size < HEADER_BYTES || tail + size as u64 > head {
                tail = head;
                break;
            }
            let record: Vec<u8> =
                (0..size as u64).map(|at| u8::from_ne_bytes(self.copy(tail + at))).collect();
            each(&record);
            tail += size as u64;
        }
        self.place(TAIL_AT).store(tail, Ordering::Release);
    }

    fn bytes(&self) -> &[AtomicU8] {
        let start: *const AtomicU8 = self.start.as_ptr().cast();
        // SAFETY: the kernel mapped `len` bytes at `start`, readable and writable, until `self` is
        // dropped; it writes into them at any time, which is why each is an atomic.
        // WHY UNSAFE: a mapping is not an object Rust knows.
        unsafe { std::slice::from_raw_parts(start, self.len) }
    }

    fn place(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at + size_of::<AtomicU64>() <= self.page);
        let place: *const AtomicU64 = self.start.as_ptr().wrapping_add(at).cast();
        // SAFETY: the place lies in the first page of the mapping, at a multiple of eight, and
        // stays mapped while `self` lives; the kernel changes it as one word.
        // WHY UNSAFE: a mapping is not an object Rust knows.
        unsafe { &*place }
    }

    /// Bytes at a position of the ring, which may go over its end.
    fn copy<const N: usize>(&self, at: u64) -> [u8; N] {
        let ring = &self.bytes()[self.page..];
        // Its length is a power of two.
        let last = ring.len() as u64 - 1;
        let place = |by: usize| usize::try_from(at.wrapping_add(by as u64) & last).unwrap_or(0);
        std::array::from_fn(|by| ring[place(by)].load(Ordering::Relaxed))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the range is the one that was mapped, and no reference into it is left.
        // WHY UNSAFE: std has no way to unmap memory.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

fn word<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Reads a record with its header; `None`: it is of another kind, or broken.
fn parse(bytes: &[u8]) -> Option<Record> {
    let kind = u32::from_ne_bytes(word(bytes, 0)?);
    let mode = u16::from_ne_bytes(word(bytes, 4)?) & MODE_MASK;
    let number = |at| Some(u32::from_ne_bytes(word(bytes, at)?));
    let long = |at| Some(u64::from_ne_bytes(word(bytes, at)?));
    match kind {
        RECORD_SAMPLE => {
            let pid = number(HEADER_BYTES + offset_of!(SampleHead, pid))?;
            let tid = number(HEADER_BYTES + offset_of!(SampleHead, tid))?;
            let at_ns = long(HEADER_BYTES + offset_of!(SampleHead, at_ns))?;
            let calls = long(HEADER_BYTES + offset_of!(SampleHead, calls))?;
            let first = HEADER_BYTES + size_of::<SampleHead>();
            let room = (bytes.len() - first) / 8;
            let calls = usize::try_from(calls).ok()?.min(room);
            let chain = (0..calls).filter_map(|call| long(first + call * 8));
            let chain = chain.filter(|address| *address < MARKS_FROM);
            let kernel = if mode == MODE_KERNEL { chain.collect() } else { Vec::new() };
            Some(Record::Sample { pid, tid, at_ns, kernel })
        }
        RECORD_COMM => {
            let name = bytes.get(HEADER_BYTES + 8..)?.split(|byte| *byte == 0).next()?.to_vec();
            Some(Record::Name { pid: number(HEADER_BYTES)?, tid: number(HEADER_BYTES + 4)?, name })
        }
        RECORD_LOST => Some(Record::Lost(long(HEADER_BYTES + 8)?)),
        _ => None,
    }
}

/// What a sample of the clock begins with, as [`CLOCK_SAMPLE`] orders it.
#[repr(C)]
struct SampleHead {
    ip: u64,
    pid: u32,
    tid: u32,
    at_ns: u64,
    calls: u64,
}

/// What a sample of a trace event begins with, as [`TRACE_SAMPLE`] orders it.
#[repr(C)]
struct TraceHead {
    pid: u32,
    tid: u32,
    at_ns: u64,
    raw_bytes: u32,
}

/// Where the event's own fields begin: there is no gap before them.
const RAW_AT: usize = HEADER_BYTES + offset_of!(TraceHead, raw_bytes) + 4;

/// Reads a record of a trace event; `None`: it is of another kind, or broken.
fn parse_trace(bytes: &[u8]) -> Option<Trace> {
    if u32::from_ne_bytes(word(bytes, 0)?) != RECORD_SAMPLE {
        return None;
    }
    let number = |at| Some(u32::from_ne_bytes(word(bytes, HEADER_BYTES + at)?));
    let at = HEADER_BYTES + offset_of!(TraceHead, at_ns);
    let len = usize::try_from(number(offset_of!(TraceHead, raw_bytes))?).ok()?;
    let raw = bytes.get(RAW_AT..)?;
    Some(Trace {
        pid: number(offset_of!(TraceHead, pid))?,
        at_ns: u64::from_ne_bytes(word(bytes, at)?),
        raw: raw.get(..len.min(raw.len()))?.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, mode: u16, body: &[u8]) -> Vec<u8> {
        let size = u16::try_from(HEADER_BYTES + body.len()).expect("a short record");
        let head = [&kind.to_ne_bytes()[..], &mode.to_ne_bytes(), &size.to_ne_bytes()].concat();
        [head, body.to_vec()].concat()
    }

    fn sample(calls: u64, chain: &[u64]) -> Vec<u8> {
        let mut body = 7_u64.to_ne_bytes().to_vec();
        body.extend([11_u32.to_ne_bytes(), 12_u32.to_ne_bytes()].concat());
        body.extend(13_u64.to_ne_bytes());
        body.extend(calls.to_ne_bytes());
        chain.iter().for_each(|address| body.extend(address.to_ne_bytes()));
        body
    }

    #[test]
    fn chains_are_the_kernels_and_have_no_marks() {
        // -128 is PERF_CONTEXT_KERNEL.
        let chain = [u64::MAX - 127, 0xffff_ffff_8100_0010, 0xffff_ffff_8100_0000];
        let bytes = record(RECORD_SAMPLE, MODE_KERNEL, &sample(3, &chain));
        let kernel = chain[1..].to_vec();
        assert_eq!(parse(&bytes), Some(Record::Sample { pid: 11, tid: 12, at_ns: 13, kernel }));
        let outside = record(RECORD_SAMPLE, 2, &sample(0, &[]));
        assert_eq!(
            parse(&outside),
            Some(Record::Sample { pid: 11, tid: 12, at_ns: 13, kernel: Vec::new() })
        );
    }

    #[test]
    fn broken_records_end_nothing() {
        // More calls than there is room for.
        let bytes = record(RECORD_SAMPLE, MODE_KERNEL, &sample(u64::MAX, &[5]));
        assert_eq!(
            parse(&bytes),
            Some(Record::Sample { pid: 11, tid: 12, at_ns: 13, kernel: vec![5] })
        );
        for kind in [RECORD_SAMPLE, RECORD_COMM, RECORD_LOST, 77] {
            for len in 0..20 {
                let _ = parse(&record(kind, MODE_KERNEL, &vec![0xff; len]));
            }
        }
        assert_eq!(parse(&[]), None);
    }

    #[test]
    fn trace_events_are_whole_or_left_out() {
        let mut body = [11_u32.to_ne_bytes(), 12_u32.to_ne_bytes()].concat();
        body.extend(13_u64.to_ne_bytes());
        body.extend(4_u32.to_ne_bytes());
        body.extend(*b"rawXpad");
        let said = parse_trace(&record(RECORD_SAMPLE, MODE_KERNEL, &body));
        let raw = b"rawX".to_vec();
        assert_eq!(said, Some(Trace { pid: 11, at_ns: 13, raw }));
        for len in 0..20 {
            assert_eq!(parse_trace(&record(RECORD_SAMPLE, 0, &body[..len])), None, "{len}");
        }
        assert_eq!(parse_trace(&record(RECORD_LOST, 0, &body)), None);
    }

    #[test]
    fn names_end_at_their_zero() {
        let body = [&3_u32.to_ne_bytes()[..], &4_u32.to_ne_bytes(), b"redis\0\0\0"].concat();
        let name = Record::Name { pid: 3, tid: 4, name: b"redis".to_vec() };
        assert_eq!(parse(&record(RECORD_COMM, 0, &body)), Some(name));
    }
}
