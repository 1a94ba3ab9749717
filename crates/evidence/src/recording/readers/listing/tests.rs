use super::super::check::{all_understood, machine, read, values};
use super::*;

const MIB: f64 = 1_048_576.0;

fn container(name: &str) -> Subject {
    Subject::Cgroup(format!("of {name}"))
}

/// The values of a text that is understood as a whole.
fn told(text: &str, field: Field, subject: &Subject) -> Vec<f64> {
    let recording = read(text);
    all_understood(&recording);
    values(&recording, field, subject)
}

#[test]
fn containers_of_each_tool() {
    let docker = "CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O     \
                  BLOCK I/O        PIDS\n\
                  91bb0a7e55c1   billing   212.07%   700.5MiB / 1.5GiB     45.61%    9.1GB / 3kB \
                  0B / 1.2MB       61\n\
                  0aa1c27e9912   idle      --        -- / --           --    \
                  --               --\n";
    let billing = container("billing");
    let recording = read(docker);
    assert_eq!(values(&recording, Field::CgroupCpu, &billing), [212.07]);
    assert_eq!(values(&recording, Field::CgroupMemory, &billing), [700.5 * MIB]);
    assert_eq!(values(&recording, Field::CgroupMemoryMax, &billing), [1536.0 * MIB]);
    let old = "CONTAINER           CPU %               MEM USAGE / LIMIT     MEM %     NET I/O   \
               BLOCK I/O   PIDS\n91bb0a7e55c1  3.1%  64MiB / 128MiB  50%  1kB / 0B  0B / 0B  4\n";
    assert_eq!(told(old, Field::CgroupMemory, &container("91bb0a7e55c1")), [64.0 * MIB]);
    let podman = "ID            NAME        CPU %       MEM USAGE / LIMIT  MEM %   NET IO       \
                  BLOCK IO           PIDS        CPU TIME       AVG CPU %\n\
                  4b1c0e8d77aa  billing     9.80%       393.7MB / 8.051GB  4.89%   17kB / 1.2kB \
                  49.68MB / 232.6MB  69          10m2.724575s   8.58%\n";
    assert_eq!(told(podman, Field::CgroupMemory, &billing), [393.7e6]);
    assert!(told(podman, Field::CgroupCpu, &billing).is_empty(), "a mean since its start");
    let crictl = "CONTAINER       NAME       CPU %     MEM        DISK       INODES\n\
                  0b1d2c3e4f5a6   billing    101.22    512.3MB    8.194kB    21\n";
    assert_eq!(told(crictl, Field::CgroupCpu, &billing), [101.22]);
}

#[test]
fn nodes_and_pods_of_a_cluster() {
    let nodes = "NAME     CPU(cores)   CPU%        MEMORY(bytes)   MEMORY%\n\
                 blade-7  7810m        97%         9011Mi          61%\n\
                 blade-8  <unknown>    <unknown>   <unknown>       <unknown>\n";
    let blade = Subject::Named("node blade-7".to_owned());
    assert_eq!(told(nodes, Field::ClusterCpu, &blade), [97.0]);
    let newer = nodes.replace("CPU%", "CPU(%)").replace("MEMORY%", "MEMORY(%)");
    assert_eq!(told(&newer, Field::ClusterMemoryPercent, &blade), [61.0]);
    let pods = "NAMESPACE   NAME            CPU(cores)   MEMORY(bytes)\n\
                pay         ledger-6b-x2x   1503m        902Mi\n";
    assert_eq!(told(pods, Field::CgroupCpu, &container("ledger-6b-x2x")), [150.3]);
    let parts = "POD            NAME     CPU(cores)   MEMORY(bytes)\n\
                 ledger-6b-x2x  sidecar  3m           41Mi\n";
    assert_eq!(told(parts, Field::CgroupMemory, &container("ledger-6b-x2x/sidecar")), [41.0 * MIB]);
}

#[test]
fn rows_that_lost_their_heading_are_of_one_listing_alone() {
    let row =
        "91bb0a7e55c1  billing  212.07%  700.5MiB / 1.5GiB  45.61%  9.1GB / 3kB  0B / 1MB  61\n";
    assert_eq!(told(row, Field::CgroupCpu, &container("billing")), [212.07]);
    // A namespace and a pod, or a pod and its container.
    let pod = "pay   ledger-6b-x2x   1503m   902Mi\n";
    assert!(read(pod).sources.is_empty());
    let typed = format!("$ kubectl top pods -A | grep ledger\n{pod}");
    assert_eq!(told(&typed, Field::CgroupCpu, &container("ledger-6b-x2x")), [150.3]);
    let ps = "$ ps aux | grep java\n\
              app  4120  1.2 31.0 9120000 5242880 ?  Dsl  Nov20  88:12 /usr/bin/java -jar a.jar\n";
    let java = Subject::process(Some(4120), "java");
    assert_eq!(told(ps, Field::ProcRss, &java), [5120.0 * MIB]);
    assert_eq!(told(ps, Field::ProcBlocked, &java), [1.0]);
    for prose in ["about 5% of 20% is 1%", "it took 250m and 512Mi", "CPU % and MEM are high"] {
        assert!(read(&format!("{prose}\n")).sources.is_empty(), "{prose}");
    }
}

#[test]
fn processes_on_the_screen_of_htop() {
    let text = "  PID USER      PRI  NI  VIRT   RES   SHR S CPU% MEM%   TIME+  Command\n\
                \u{20}4120 app        20   0 28.1G 6144M  8120 D 14.2 78.1 99h12:00 \
                \u{251c}\u{2500} java -X\n\
                \u{20}  44 root       20   0     0     0     0 R 99.1  0.0 41:02.22 kswapd0\n";
    let java = Subject::process(Some(4120), "java");
    assert_eq!(told(text, Field::ProcRss, &java), [6144.0 * MIB]);
    assert_eq!(told(text, Field::ProcBlocked, &java), [1.0]);
    assert_eq!(told(text, Field::ProcCpu, &Subject::process(Some(44), "kswapd0")), [99.1]);
}

#[test]
fn top_and_ps_of_busybox() {
    let text = "Mem: 1900000K used, 90000K free, 1200K shrd, 900K buff, 51200K cached\n\
                CPU:   2% usr  61% sys   0% nic  36% idle   0% io   0% irq   1% sirq\n\
                Load average: 4.10 3.90 3.80 3/310 8121\n  \
                PID  PPID USER     STAT   VSZ %VSZ CPU %CPU COMMAND\n   \
                41     2 root     RW       0   0%   1  48% [kswapd0]\n  \
                820     1 root     S    1388m  70%   0   4% /usr/bin/player -a\n";
    let recording = read(text);
    all_understood(&recording);
    assert_eq!(machine(&recording, Field::MemFree), [90_000.0 * 1024.0]);
    assert_eq!(machine(&recording, Field::CpuSystem), [61.0]);
    assert_eq!(machine(&recording, Field::Load5), [3.9]);
    let kswapd = Subject::process(Some(41), "kswapd0");
    assert_eq!(values(&recording, Field::ProcShare, &kswapd), [48.0]);
    let ps = "PID   USER     TIME  COMMAND\n    1 root      0:02 /app/server\n   41 root     41:12 \
              [kswapd0]\n";
    assert_eq!(told(ps, Field::ProcCpuTime, &kswapd), [2_472_000.0]);
}

#[test]
fn a_command_with_arguments_may_stand_before_other_columns() {
    let text = "  PID CMD                         RSS STAT\n\
                4120 /usr/bin/java -jar a.jar  524288 Dl\n  44 [kswapd0]  0 R\n";
    let java = Subject::process(Some(4120), "java");
    assert_eq!(told(text, Field::ProcRss, &java), [512.0 * MIB]);
    assert_eq!(told(text, Field::ProcBlocked, &java), [1.0]);
}

#[test]
fn kernel_objects() {
    let top = " Active / Total Objects (% used)    : 3153376 / 3177888 (99.2%)\n \
               Active / Total Size (% used)       : 566715.09K / 1024.00K (99.3%)\n \
               Minimum / Average / Maximum Object : 0.01K / 0.18K / 50.28K\n\n  \
               OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME                   \n\
               345618 345582  99%    0.19K  16458       21     65832K dentry                 \n";
    let dentry = Subject::Named("dentry".to_owned());
    assert_eq!(told(top, Field::SlabCache, &dentry), [65_832.0 * 1024.0]);
    assert_eq!(machine(&read(top), Field::Slab), [MIB]);
    let file = "slabinfo - version: 2.1\n\
                # name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : \
                tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> \
                <sharedavail>\n\
                dentry  900 1000 192 21 2 : tunables 0 0 0 : slabdata 512 512 0\n";
    assert_eq!(told(file, Field::SlabCache, &dentry), [4.0 * MIB]);
}

#[test]
fn segments_with_their_users() {
    let text = "\n------ Shared Memory Segments --------\n\
                key        shmid      owner      perms      bytes      nattch     status      \n\
                0x00000000 4          oracle     600        10737418240 244        dest   \n\n";
    let segment = Subject::Segment("4".into());
    assert_eq!(told(text, Field::SegmentBytes, &segment), [10_737_418_240.0]);
    assert_eq!(told(text, Field::SegmentAttached, &segment), [244.0]);
    let makers = "shmid owner cpid lpid\n4 oracle 812 9000\n";
    assert!(told(makers, Field::SegmentBytes, &segment).is_empty());
}

#[test]
fn what_is_counted_for_interfaces_and_connections() {
    let text = "Kernel Interface table\n\
                Iface      MTU    RX-OK RX-ERR RX-DRP RX-OVR    TX-OK TX-ERR TX-DRP TX-OVR Flg\n\
                ens3      1500   400000      3     17   9000   200000      0      0      0 BMRU\n";
    let ens3 = Subject::Interface("ens3".to_owned());
    assert_eq!(told(text, Field::NetMissedCount, &ens3), [9000.0]);
    assert_eq!(told(text, Field::NetRxPacketCount, &ens3), [400_000.0]);
    let table = "entries  searched found new invalid ignore delete delete_list insert \
                 insert_failed \
                 drop early_drop icmp_error expect_new expect_create expect_delete \
                 search_restart\n\
                 0003ffff 0 0 0 0 0 0 0 0 00000010 00000020 0000000a 0 0 0 0 0\n\
                 0003ffff 0 0 0 0 0 0 0 0 00000001 00000002 00000000 0 0 0 0 0\n";
    assert_eq!(told(table, Field::ConntrackDropCount, &Subject::Machine), [34.0]);
    assert_eq!(told(table, Field::ConntrackFailCount, &Subject::Machine), [17.0]);
}

#[test]
fn events_of_processes() {
    let starts = "TIME(s) PCOMM            PID    PPID   RET ARGS\n\
                  1.204   sed              9001   9000     0 /bin/sed -e s/a/b/ x\n\
                  1.209   sed              9002   9000     0 /bin/sed -e s/a/c/ x\n\
                  1.301   sh               9003   9000     0\n";
    let sed = Subject::process(None, "sed");
    assert_eq!(told(starts, Field::ProcStarts, &sed), [2.0]);
    let traced = "Attaching 2 probes...\nTIME(ms)   PID   ARGS\n\
                  2460       3404  sed -n p\n2471       3405  sed -n q\n";
    assert_eq!(values(&read(traced), Field::ProcStarts, &sed), [2.0]);
    let slow = "Tracing ext4 operations slower than 10 ms\n\
                TIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME\n\
                02:31:07 mariadbd       8102   S 0       0          48.20 ib_logfile0\n";
    let database = Subject::process(Some(8102), "mariadbd");
    assert_eq!(told(slow, Field::ProcRequest, &database), [48.2]);
    let waits = "TIME     COMM             TID           LAT(us)\n\
                 04:16:32 worker-3         877           10321\n";
    let worker = Subject::process(Some(877), "worker-3");
    assert_eq!(told(waits, Field::RunDelayEvent, &worker), [10.321]);
}

#[test]
fn what_innodb_says_of_itself() {
    let text = "History list length 912004\n\
                Pending normal aio reads: [3, 0, 0, 0] , aio writes: [0, 0, 0, 0] ,\n\
                Pending flushes (fsync) log: 2; buffer pool: 0\n\
                8 queries inside InnoDB, 41 queries in queue\n\
                ---TRANSACTION 4214, ACTIVE 812 sec fetching rows\n\
                ------- TRX HAS BEEN WAITING 31 SEC FOR THIS LOCK TO BE GRANTED:\n\
                --Thread 140 has waited at row0purge.cc line 861 for 12.00 seconds the \
                semaphore:\n";
    let recording = read(text);
    let server = Subject::Service("mysql".to_owned());
    for (field, value) in [
        (Field::UndoLength, 912_004.0),
        (Field::PoolQueue, 41.0),
        (Field::TransactionTime, 812_000.0),
    ] {
        assert_eq!(values(&recording, field, &server), [value], "{field:?}");
    }
    for (part, ms) in [("row lock", 31_000.0), ("semaphore", 12_000.0)] {
        let part = Subject::part("mysql", part);
        assert_eq!(values(&recording, Field::SessionWait, &part), [ms]);
    }
}

#[test]
fn swap_space_by_swapon_and_the_kernel() {
    let text = "$ swapon\n\
        NAME      TYPE       SIZE USED PRIO\n\
        /dev/dm-7 partition    3G   1G   -2\n\
        /swap     file         1G   0B   -3\n";
    let recording = read(text);
    all_understood(&recording);
    let gib = 1_073_741_824.0;
    assert_eq!(machine(&recording, Field::SwapTotal), [4.0 * gib]);
    assert_eq!(machine(&recording, Field::SwapFree), [3.0 * gib]);
    let text = "Filename    Type        Size    Used  Priority\n\
        /dev/dm-7   partition   2048    1024  -2\n";
    let recording = read(text);
    all_understood(&recording);
    assert_eq!(machine(&recording, Field::SwapFree), [1_048_576.0]);
}

#[test]
fn a_name_of_a_column_may_come_twice() {
    let text = "              capacity     operations     bandwidth\n\
        pool        alloc   free   read  write   read  write\n\
        ----------  -----  -----  -----  -----  -----  -----\n\
        lake        1.81T  3.64T     12   1.5K   2.0M  44.0M\n\
        \x20 sdk           -      -     12   1.5K   2.0M  44.0M\n";
    let recording = read(text);
    all_understood(&recording);
    let pool = Subject::Named("lake".to_owned());
    assert_eq!(values(&recording, Field::DiskReads, &pool), [12.0]);
    assert_eq!(values(&recording, Field::DiskWrites, &pool), [1536.0]);
    assert_eq!(values(&recording, Field::DiskReadBytes, &pool), [2_097_152.0]);
}

#[test]
fn listings_without_a_fact_are_read_all_the_same() {
    all_understood(&read(
        "$ w\n 10:25:20 up 16:03,  2 users,  load average: 0.00, 0.01, 0.05\n\
        USER     TTY      FROM             LOGIN@   IDLE   JCPU   PCPU WHAT\n\
        ann      ttyS0                     Fri18   32:16   2.66s  2.66s -bash\n\
        ann      pts/0    10.9.8.7         09:53    8.00s  0.10s  0.00s ssh there\n\
        $ route -n\nKernel IP routing table\n\
        Destination     Gateway         Genmask         Flags Metric Ref    Use Iface\n\
        0.0.0.0         10.9.8.1        0.0.0.0         UG    100    0        0 eth7\n",
    ));
}
