//! How long tasks wait for a CPU.

use super::*;

#[test]
fn waits_for_a_cpu_are_tasks_that_wait() {
    let text = |ns: u64| {
        format!("version 15\ntimestamp 9\ncpu0 0 0 0 0 0 0 5 {ns} 7\ncpu1 0 0 0 0 0 0 5 100 7\n")
    };
    let recording = two("/proc/schedstat", &text(1_000_000_000), &text(5_000_000_000));
    // 4 s in 2 s.
    assert_eq!(machine(&recording, Field::RunDelay), [2.0]);
}

#[test]
fn threads_of_a_process_wait_together() {
    let files = |at: i64, waited_ms: u64| {
        let ns = waited_ms * 1_000_000;
        let texts = [format!("10 {ns} 5\n"), format!("10 {} 5\n", 2 * ns), "10".to_owned()];
        let stat = stat('S', 0, [0, 0, 0, 0], 9);
        let all = [
            ("/proc/7/stat", stat.as_str()),
            ("/proc/7/task/7/schedstat", texts[0].as_str()),
            ("/proc/7/task/8/schedstat", texts[1].as_str()),
            ("/proc/7/task/9/schedstat", texts[2].as_str()),
        ];
        sample(at, HEADER, &all)
    };
    let recording = read(&[files(0, 100), files(2, 500)]);
    // 400 and 800 ms in 2 s.
    let subject = Subject::process(Some(7), "a b");
    check(&recording, &subject, &[(Field::ProcRunDelay, 60.0)]);
    // Another thread under a number that was one's before has waited less.
    let recording = read(&[files(0, 500), files(2, 100)]);
    assert_eq!(values(&recording.hosts[0], Field::ProcRunDelay, &subject), [0.0; 0]);
}
