#!/usr/bin/env python3
"""Leaves no 2 MiB of free memory in one piece, until standard input ends.

    holes.py KEEP_MIB

Takes all memory that is available but KEEP_MIB, lets pipes hold a page of each MiB of it, and gives
the rest back. A page in a pipe cannot be moved: compaction works and makes no huge page. Prints
'ready' when that is so. Needs root: so many pipes are more than another user may have.
"""
import ctypes
import fcntl
import mmap
import os
import resource
import select
import sys

PAGE = mmap.PAGESIZE
STRIDE = 1 << 20
# Pages in one pipe; also the most of one call (UIO_MAXIOV is 1024).
PIPE_PAGES = 256
# Compaction makes a block now and then all the same.
TAKES_MAX = 1000
POPULATE_WRITE = 23  # Linux 5.14; Python has no name for it
LIBC = ctypes.CDLL(None, use_errno=True)


class Piece(ctypes.Structure):
    """A `struct iovec`."""
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


def available():
    with open("/proc/meminfo", encoding="ascii") as file:
        lines = dict(line.split(":") for line in file)
    return int(lines["MemAvailable"].split()[0]) << 10


def hold(addresses):
    """A pipe that holds a page at each of these addresses."""
    out, into = os.pipe()
    fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, PIPE_PAGES * PAGE)
    pieces = (Piece * len(addresses))(*(Piece(at, PAGE) for at in addresses))
    if LIBC.vmsplice(into, pieces, ctypes.c_size_t(len(addresses)), 0) != len(addresses) * PAGE:
        raise OSError(ctypes.get_errno(), "vmsplice")
    return out, into


def whole_blocks():
    """Free blocks of 2 MiB and more."""
    with open("/proc/buddyinfo", encoding="ascii") as file:
        orders = [[int(count) for count in line.split()[4:]] for line in file]
    return sum(count << order for zone in orders for order, count in enumerate(zone[9:]))


def taken(whole):
    """Whole blocks, as huge pages: what is free in one piece somebody else needs as well."""
    piece = mmap.mmap(-1, whole << 21, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    piece.madvise(mmap.MADV_HUGEPAGE)
    piece.madvise(POPULATE_WRITE)
    return piece


def can_take():
    with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
        return "[never]" not in file.read()


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    size = (available() - (int(sys.argv[1]) << 20)) // STRIDE * STRIDE
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    # Touching them by Python would take minutes.
    memory.madvise(POPULATE_WRITE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    pages = range(start, start + size, STRIDE)
    pipes = [hold(pages[at:at + PIPE_PAGES]) for at in range(0, len(pages), PIPE_PAGES)]
    memory.madvise(mmap.MADV_DONTNEED)
    others, said = [], False
    while True:
        whole = whole_blocks() if can_take() else 0
        if whole and len(others) < TAKES_MAX:
            others.append(taken(whole))
            continue
        if not said:
            print("ready", flush=True)
            said = True
        if select.select([sys.stdin], [], [], 0.5)[0]:
            break
    del pipes


main()
