//! Remedies for what the kernel's log says, and for limits that programs run into.

use super::step::{Reach, Remedy, When};

ladders! {
    STORAGE_FAILS {
        Look "see which device, and what is left of the way to it",
            "dmesg -T | grep -iE 'I/O error|offline|failing path|abort|reset' | tail -50; \
                multipath -ll; lsblk", "one device, or all paths of one";
        Look "see what the device says of itself",
            "smartctl -a /dev/DEV  # nvme smart-log /dev/DEV",
            "reallocated or pending sectors, media errors, or no answer at all";
        Service "stop what writes there before the file system does it, and copy what can be read",
            "ddrescue /dev/DEV IMAGE MAP", "the copy is complete";
        Hardware "mend the path (switch, cable, target), or replace the device",
            "multipath -ll; cat /sys/block/DEV/device/state", "running, and no new lines in dmesg";
    }
    DISK_FLUSH {
        Look "see who asks for it", "perf trace -s -e fsync,fdatasync,sync_file_range -a -- sleep \
            10", "one program has most of the calls";
        Program "fewer of them: group commit, larger transactions; or answer before it is safe, \
            where the last moments may be lost (PostgreSQL: synchronous_commit=off)",
            "iostat -x 1 10", "f/s falls at the same rate of transactions";
        Hardware "a disk or controller with a cache that survives power loss: it need not flush",
            "cat /sys/block/DEV/queue/write_cache", "f_await below 1 ms";
    }
    DIRTY_LIMIT {
        Look "see who writes, and how much waits", "iotop -obP -n 5; grep -E 'Dirty|Writeback' \
            /proc/meminfo", "one program";
        Program "write less, elsewhere or past the page cache (O_DIRECT)", "iotop -obP -n 5",
            "Dirty falls";
        Service "stop only the one that writes most", "systemctl set-property --runtime SERVICE \
            IOWriteBandwidthMax='DEV 20M'", "the others no longer wait in balance_dirty_pages";
        Machine "less at once, earlier: short stops in place of long ones", "sysctl \
            vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456", "Dirty stays below it";
        Hardware "a disk that keeps up", "iostat -xz 1 10", "%util below 70";
    }
    FILESYSTEM_ERRORS {
        Look "see which one, and since when", "dmesg -T | grep -iE 'ext4|xfs|btrfs|read-only' | \
            head; findmnt -O ro", "one device";
        Look "see whether the device below is sound", "smartctl -a /dev/DEV", "media errors: it is \
            the device";
        Service "stop its users, unmount, check", "umount /MOUNT; fsck -f /dev/DEV  # xfs_repair \
            /dev/DEV", "a second run finds nothing";
    }
    LOCKUPS {
        Look "see in which function", "dmesg -T | grep -A25 -iE 'soft lockup|detected stall'",
            "the same function each time: a driver or lock; another one each time: the host stops \
                the machine";
        Look "in a virtual machine: compare with snapshots, backups and moves, and see what the \
            host takes", "sar -u ALL 1 60", "the same minutes; %steal is high";
        Service "no snapshots with memory, fewer of them, at a quiet time; no more virtual CPUs \
            than the host has", "dmesg -T | grep -c 'soft lockup'", "no new lines";
        Machine "a newer kernel or driver, where it is one function", "uname -r", "no new lines";
    }
    HEAT {
        Look "see how hot, and how fast", "sensors; turbostat --quiet --interval 5 \
            --num_iterations 2; ipmitool sdr type fan",
            "MHz below what is rated; a fan that stands still";
        Look "count on", "grep -r . /sys/devices/system/cpu/cpu*/thermal_throttle/ | grep -v :0",
            "the counts grow";
        Hardware "fans, dust, air flow, thermal paste; in a rack the machine beside it",
            "sensors", "no new lines in dmesg, MHz as rated";
    }
    AUDIT_BACKLOG {
        Look "see how far behind it is, and what is recorded", "auditctl -s; auditctl -l; \
            ausearch -ts recent --raw | aureport -x --summary | head", "one rule has most records";
        Program "see whether auditd keeps up: its disk, and flush in auditd.conf", "ps -o \
            pid,stat,wchan:32,comm -C auditd; grep -E 'flush|freq' /etc/audit/auditd.conf",
            "it sleeps in a read, not in a write";
        Machine "drop the rule that records everything ('-S all')", "auditctl -d RULE",
            "auditctl -s: backlog falls to 0";
        Machine "do not let programs wait, and take more at once", "auditctl --backlog_wait_time \
            0; auditctl -b 65536", "auditctl -s: lost no longer grows";
    }
    NEIGHBOURS {
        Look "see how many, and on which network", "ip -s neigh | wc -l; ip neigh | awk '{print \
            $3}' | sort | uniq -c", "as many as gc_thresh3";
        Machine "a larger table", "sysctl net.ipv4.neigh.default.gc_thresh1=4096 \
            net.ipv4.neigh.default.gc_thresh2=8192 net.ipv4.neigh.default.gc_thresh3=16384  # \
            net.ipv6.neigh.default as well", "dmesg: no more overflows";
        Hardware "smaller networks, with routers between them", "ip route", "fewer neighbours";
    }
    CARD_HANGS {
        Look "see which, and what it counts", "ethtool -i DEV; ethtool -S DEV | grep -iE \
            'err|drop|timeout|reset'", "counters grow";
        Machine "without offloads, to see whether they are why", "ethtool -K DEV tso off gso off",
            "no new lines in dmesg";
        Machine "a newer driver, firmware or kernel", "ethtool -i DEV", "no new lines in dmesg";
        Hardware "cable, port of the switch, then the card", "ethtool DEV", "the link stays up";
    }
    TCP_MEMORY {
        Look "see how much, and whose", "cat /proc/net/sockstat; sysctl net.ipv4.tcp_mem; ss \
            -tmn | head", "mem near the third value of tcp_mem (in pages); one program's queues";
        Program "read faster, or keep fewer connections with full queues", "ss -tn | awk '$2+$3 > \
            100000'", "mem in sockstat falls";
        Machine "allow more, where memory is free", "sysctl net.ipv4.tcp_mem='MIN MID MAX'",
            "dmesg: no more 'out of memory'";
    }
    HARDWARE_ERRORS {
        Look "see which part", "dmesg -T | grep -iE 'edac|hardware error|aer' | tail -30; \
            ras-mc-ctl --errors; ipmitool sel list | tail", "one module, slot or bus";
        Hardware "replace it; until then move the work away", "ras-mc-ctl --error-count",
            "no new errors";
    }
    KERNEL_BUG {
        Look "see where", "dmesg -T | grep -A40 -iE 'BUG:|Oops|general protection'",
            "the function and the module at its top";
        Machine "start again soon: what failed may hold locks; then a newer kernel or driver",
            "uname -r; cat /proc/sys/kernel/tainted", "no new lines";
    }
    LOG_ERRORS {
        Look "see when, and whether it goes on", "dmesg -T --level=err,warn | tail -50",
            "lines of the time in question";
    }
    ENTROPY {
        Look "see who waits", "cat /proc/sys/kernel/random/entropy_avail; ps -eLo \
            pid,stat,wchan:32,comm | grep random", "below 64, and tasks in random_read";
        Program "take random numbers that do not wait: /dev/urandom", "java \
            -Djava.security.egd=file:/dev/./urandom ...", "it starts in seconds";
        Machine "feed the kernel", "systemctl enable --now rngd  # or haveged",
            "entropy_avail above 1000";
        Hardware "give the virtual machine a source: virtio-rng; or Linux 5.6 and later",
            "cat /sys/class/misc/hw_random/rng_current", "virtio_rng.0";
    }
    CGROUP_MEMORY {
        Look "see how often, and of what its memory is", "cat /sys/fs/cgroup/CGROUP/memory.events; \
            sleep 10; cat /sys/fs/cgroup/CGROUP/memory.events; grep -E '^(anon|file|slab)' \
            /sys/fs/cgroup/CGROUP/memory.stat", "'max' grows; anon is nearly all of it";
        Program "let the program use less: its heap below the limit, with room for page cache",
            "cat /sys/fs/cgroup/CGROUP/memory.current", "'max' no longer grows";
        Service "or a larger limit: memory of the pod, MemoryMax of the unit, docker update -m",
            "systemctl set-property --runtime SERVICE MemoryMax=SIZE", "memory.pressure near 0";
    }
    PORTS_EXHAUSTED {
        Look "see to whom", "ss -Htan state time-wait | awk '{print $4}' | sort | uniq -c | sort \
            -n | tail -5; sysctl net.ipv4.ip_local_port_range",
            "one address and port has nearly all";
        Program "keep connections and use them again: a pool, keep-alive, persistent connections",
            "ss -s", "timewait falls";
        Service "more addresses of the peer, or of this machine", "ss -tan | awk '{print $5}' | \
            sort | uniq -c | sort -n | tail -3", "fewer to each";
        Machine "take closed ones again, for connections that this machine opens", "sysctl \
            net.ipv4.tcp_tw_reuse=1", "no more 'Cannot assign requested address'";
        Machine "more ports", "sysctl net.ipv4.ip_local_port_range='10240 65535'", "the same";
    }
    OPEN_FILES {
        Look "see how many, of what", "grep 'open files' /proc/PID/limits; ls /proc/PID/fd | wc \
            -l; ls -l /proc/PID/fd | awk '{print $NF}' | cut -d: -f1 | sort | uniq -c | sort -n \
                | tail",
            "as many as the limit; sockets: connections; one file again and again: a leak";
        Program "close what is not needed, or let the program allow itself more", "nginx -T | grep \
            worker_rlimit_nofile", "no new lines in its log";
        Service "a higher limit, then restart it", "systemctl edit SERVICE  # [Service] \
            LimitNOFILE=65536", "grep 'open files' /proc/PID/limits";
        Machine "where it is the machine's limit", "sysctl fs.file-max=2000000; cat \
            /proc/sys/fs/file-nr", "the first number stays below the third";
    }
}
