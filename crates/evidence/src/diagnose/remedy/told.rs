//! What to do about what functions, calls, lines of interrupts and settings name by themselves.

use super::step::{Reach, Remedy, When};

ladders! {
    HIGH_ORDER {
        Look "see how large the blocks are, and who asks for larger ones",
            "cat /proc/buddyinfo; dmesg -T | grep 'page allocation failure'",
            "the right columns are 0; 'order:N' asks for 2^N pages";
        Program "let the program that asks be content with less: smaller network rings and MTU, \
            vmalloc instead of one block",
            "ethtool -g DEV; ip link show DEV", "dmesg: no more failures";
        Machine "compact now, once", "echo 1 > /proc/sys/vm/compact_memory",
            "the right columns of /proc/buddyinfo rise, kswapd0 comes to rest";
        Machine "keep more free for such requests: 1 to 2 % of memory",
            "sysctl vm.min_free_kbytes=KIB  # 1 % of MemTotal", "dmesg: no more failures";
    }
    SLOW_CLOCK {
        Look "see which clock is in use, and why no better one",
            "cat /sys/devices/system/clocksource/clocksource0/*_clocksource; dmesg -T | grep -iE \
                'tsc|clocksource'",
            "current: hpet or acpi_pm; 'Marking TSC unstable'";
        Program "read the time less often: log timestamps, tracing, statistics by sampling",
            "perf trace -s -e clock_gettime -p PID -- sleep 10", "fewer calls a second";
        Machine "go back to a fast clock: tsc, or kvm-clock, hyperv and xen in virtual machines. \
            If the kernel gave it up, the host or its firmware is to be mended first",
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
            "%system falls: sar -u 1 10";
    }
    FUTEX {
        Look "see which lock, by the program's own functions",
            "perf record -g -p PID -- sleep 10; perf report --stdio --no-children -S futex_wake",
            "one function of the program above most calls";
        Program "fewer threads: no more than the CPUs, and not all at one lock",
            "nproc; ls /proc/PID/task | wc -l", "vmstat 1 10: cs and sy fall, the rate rises";
        Program "split the lock, hold it for less, or take one that spins for a moment first",
            "valgrind --tool=drd --exclusive-threshold=10 PROGRAM", "fewer futex calls: strace -c";
    }
    IRQ_STORM {
        Look "see what the device and its driver say", "dmesg -T | grep -iE 'irq|nobody cared' | \
            tail; cat /proc/interrupts", "its name at the end of the line; others on the same line";
        Program "a newer driver, or without the device that shares the line",
            "modinfo DRIVER | head; lspci -vv -s SLOT | grep -iE 'interrupt|msi'",
            "the line grows by some thousands a second at most";
        Machine "take the device off: nothing needs it, or until it is mended",
            "echo 1 > /sys/bus/pci/devices/SLOT/remove", "mpstat -P ALL 1 10: %irq near 0";
        Hardware "its firmware, another slot or another card", "lspci -vv -s SLOT", "the line is \
            quiet";
    }
    SLAB_CACHE {
        Look "see which cache", "slabtop -o -s c | head -20; cat /proc/sys/fs/dentry-state",
            "dentry: names of files; the fifth number is of names that do not exist";
        Program "find who looks up so many names: a search path, a cache of temporary files",
            "perf trace -s -e openat,newfstatat,access -a -- sleep 10",
            "one program, mostly ENOENT";
        Machine "let the kernel give them up sooner, or now",
            "sysctl vm.vfs_cache_pressure=200; echo 2 > /proc/sys/vm/drop_caches",
            "SReclaimable in /proc/meminfo falls";
    }
    LOAD {
        Look "see whether tasks run or wait, and which",
            "vmstat 1 10; ps -eo state,pid,wchan:32,comm | awk 'NR == 1 || /^[RD]/' | head -50",
            "many R: the CPUs are short; many D: a disk, a file server or a lock";
        Look "record it while it lasts", "hugewise record --for 60s -o FILE; hugewise \
            diagnose FILE", "this finding is replaced by a closer one";
    }
    MIN_FREE {
        Look "see what it is now", "sysctl vm.min_free_kbytes; grep -A4 'zone ' /proc/zoneinfo | \
            grep -E 'zone|free|min'", "min is a good part of the zone";
        Machine "put it back: 0.5 to 1 % of memory", "sysctl vm.min_free_kbytes=67584  # and in \
            /etc/sysctl.d", "available in 'free -m' rises at once";
    }
}
