use super::*;
use crate::recording::readers::check::{read, values};

const FOUR_CPUS: &str = "\
top - 00:12:28 up 32 days,  4:22,  3 users,  load average: 9.89, 7.87, 4.71
Tasks: 217 total,   1 running, 216 sleeping,   0 stopped,   0 zombie
%Cpu0  :  0.0 us,  4.0 sy,  0.0 ni, 34.8 id, 61.2 wa,  0.0 hi,  0.0 si,  0.0 st
%Cpu1  :  0.0 us,  4.7 sy,  0.0 ni, 27.8 id, 67.6 wa,  0.0 hi,  0.0 si,  0.0 st
%Cpu2  :  0.0 us,  6.1 sy,  0.0 ni,  0.0 id, 93.9 wa,  0.0 hi,  0.0 si,  0.0 st
%Cpu3  :  0.0 us,  7.6 sy,  0.0 ni,  3.4 id, 82.8 wa,  0.0 hi,  6.2 si,  0.0 st
KiB Mem :  3589572 total,    82288 free,   775472 used,  2731812 buff/cache
KiB Swap:  8388604 total,  8036400 free,   352204 used.  2282192 avail Mem

We can see that the share of time in wait is high here.
";

#[test]
fn one_frame_with_single_cpus_also_gives_their_mean() {
    let recording = read(FOUR_CPUS);
    let host = &recording.hosts[0];
    assert_eq!(values(&recording, Field::CpuIowait, &Subject::Cpu(2)), [93.9]);
    let mean = values(&recording, Field::CpuIowait, &Subject::Machine);
    assert!((mean[0] - (61.2 + 67.6 + 93.9 + 82.8) / 4.0).abs() < 1e-9, "{mean:?}");
    assert_eq!(values(&recording, Field::CpuCount, &Subject::Machine), [4.0]);
    assert_eq!(values(&recording, Field::Load5, &Subject::Machine), [7.87]);
    assert_eq!(values(&recording, Field::MemTotal, &Subject::Machine), [3_589_572.0 * 1024.0]);
    assert_eq!(values(&recording, Field::MemAvailable, &Subject::Machine), [2_282_192.0 * 1024.0]);
    let point = host.series(Field::Tasks, &Subject::Machine).expect("tasks").points[0];
    assert_eq!((point.value, point.at), (217.0, Stamp::of_day(0, 12, 28)));
    assert_eq!(recording.unrecognised[0].first_line, 10);
    assert_eq!(recording.problems, []);
}

const TWO_FRAMES: &str = "\
top - 23:59:59 up 11 min,  0 user,  load average: 3,71, 2,41, 1,11
Tasks:  72 total,   3 running,  68 sleeping,   0 stopped,   1 zombie
%Cpu(s): 40,0 us, 60,0 sy,  0,0 ni,  0,0 id,  0,0 wa,  0,0 hi,  0,0 si,  0,0 st
MiB Mem :  24105,6 total,  23281,7 free,    912,7 used,     81,7 buff/cache
MiB Swap:      0,0 total,      0,0 free,      0,0 used.  23192,9 avail Mem

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
  12013 root      20   0  601604   1,2g    904 R  12,0   0,4   0:13.76 stress-ng-vm

top - 00:00:01 up 11 min,  0 user,  load average: 3,71, 2,41, 1,11
Tasks:  72 total,   3 running,  68 sleeping,   0 stopped,   1 zombie
%Cpu(s):  0,0 us,100,0 sy,  0,0 ni,  0,0 id,  0,0 wa,  0,0 hi,  0,0 si,  0,0 st

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
  12013 root      20   0  601604 104564    904 D  94,1   0,4   0:13.76 /usr/bin/java -Dx=y
...
     45 root      20   0       0      0      0 S   0,0   0,0   0:00.00 [kswapd0]
";

#[test]
fn the_first_of_several_frames_is_since_boot_and_left_out() {
    let recording = read(TWO_FRAMES);
    let host = &recording.hosts[0];
    assert_eq!(values(&recording, Field::CpuSystem, &Subject::Machine), [100.0]);
    assert_eq!(values(&recording, Field::Load1, &Subject::Machine), [3.71, 3.71]);
    let vm = Subject::process(Some(12013), "stress-ng-vm");
    assert_eq!(values(&recording, Field::ProcCpu, &vm), [0.0; 0]);
    assert_eq!(values(&recording, Field::ProcRss, &vm), [1.2 * 1_073_741_824.0]);
    let java = Subject::process(Some(12013), "java");
    assert_eq!(values(&recording, Field::ProcCpu, &java), [94.1]);
    assert_eq!(values(&recording, Field::ProcBlocked, &java), [1.0]);
    assert_eq!(values(&recording, Field::ProcCpu, &Subject::process(Some(45), "kswapd0")), [0.0]);
    let loads = &host.series(Field::Load1, &Subject::Machine).expect("loads").points;
    assert_eq!(loads[1].at.expect("a time").0 - loads[0].at.expect("a time").0, 2);
    assert_eq!((recording.unrecognised, recording.problems), (vec![], vec![]));
}

#[test]
fn old_and_new_layouts_are_read() {
    let old = read(
        "top - 10:00:00 up 1 day,  1 user,  load average: 0.00, 0.01, 0.05\n\
         Cpu(s):  1.0%us,  2.5%sy,  0.0%ni, 95.5%id,  1.0%wa,  0.0%hi,  0.0%si,  0.0%st\n\
         Mem:   2074844k total,  1987784k used,    87060k free,     1234k buffers\n\
         Swap:  2096472k total,        0k used,  2096472k free,   512000k cached\n",
    );
    assert_eq!(values(&old, Field::CpuSystem, &Subject::Machine), [2.5]);
    assert_eq!(values(&old, Field::Cached, &Subject::Machine), [512_000.0 * 1024.0]);
    assert_eq!(values(&old, Field::SwapFree, &Subject::Machine), [2_096_472.0 * 1024.0]);
    let wide = read(
        "%Cpu0  :  5.3 us, 10.5 sy,  0.0 ni, 84.2 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st    \
         %Cpu1  :  1.0 us,  9.0 sy,  0.0 ni, 90.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n",
    );
    assert_eq!(values(&wide, Field::CpuSystem, &Subject::Cpu(1)), [9.0]);
    assert_eq!(values(&wide, Field::CpuSystem, &Subject::Machine), [9.75]);
}

#[test]
fn what_top_cut_or_drew_is_told_and_not_guessed() {
    let text = "KiB Mem : 13192900+total, 1234567+free,  775472 used,  2731812 buff/cache\n\
                %Cpu0  :   1.0/2.0     3[||||      ]\n";
    let recording = read(text);
    // The digit that was cut is the last one: the sizes fit together with a zero for it.
    assert_eq!(values(&recording, Field::MemTotal, &Subject::Machine), [131_929_000.0 * 1024.0]);
    assert_eq!(recording.problems.len(), 1);
    let torn = read("KiB Mem : 1319290+total, 12345678+free,  775472 used,  2731812 buff/cache\n");
    assert_eq!(torn.problems.len(), 1);
    assert!(torn.hosts[0].series.is_empty());
}

#[test]
fn rows_whose_head_a_filter_took_are_in_the_usual_columns() {
    let frame = |clock: &str, cpu: &str| {
        format!(
            "top - {clock} up 12:05,  0 user,  load average: 1.48, 1.40, 1.18\n\
             %Cpu(s): 60.0 us, 40.0 sy,  0.0 ni,  0.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\
             \x20  38 root      39  19       0      0      0 R  {cpu}   0.0   0:26.23 khugepaged\n"
        )
    };
    let recording = read(&(frame("04:30:58", "12.0") + &frame("04:30:59", "71,5")));
    assert_eq!(recording.unrecognised, []);
    let daemon = Subject::process(Some(38), "khugepaged");
    assert_eq!(values(&recording, Field::ProcCpu, &daemon), [71.5]);
    // A sentence is no row.
    let recording =
        read(&(frame("04:30:58", "12.0") + "38 machines have 39 19 disks, and 0 S a b c d e\n"));
    assert_eq!(recording.unrecognised.len(), 1);
}
