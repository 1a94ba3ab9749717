use super::super::check::{all_understood, read, values};
use crate::recording::{Field, Recording, Subject};

/// Java 17, `jstack -l`: one thread of a pool of Tomcat has the lock that another waits for.
const LOCKED: &str = "\
2026-11-26 08:40:02
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):

Threads class SMR info:
_java_thread_list=0x00007f1bd0001a30, length=3, elements={
0x00007f1c1c02a4a0, 0x00007f1c1c3e3a20, 0x00007f1c1c3e9ac0
}

\"Reference Handler\" #2 daemon prio=10 os_prio=0 cpu=0.24ms elapsed=30.11s tid=0x00007f1c1c3e3a20 \
nid=0x7b1f waiting on condition  [0x00007f1bfc0fe000]
   java.lang.Thread.State: RUNNABLE
\tat java.lang.ref.Reference.waitForReferencePendingList(java.base@17.0.15/Native Method)

   Locked ownable synchronizers:
\t- None

\"http-nio-8080-exec-1\" #45 daemon prio=5 os_prio=0 cpu=41.20ms elapsed=29.90s \
tid=0x00007f1c1c3e9ac0 nid=0x7b3e waiting on condition  [0x00007f1bd3bfb000]
   java.lang.Thread.State: TIMED_WAITING (sleeping)
\tat java.lang.Thread.sleep(java.base@17.0.15/Native Method)
\tat com.shop.Stock.reserve(Stock.java:12)
\t- locked <0x00000000e0c0b5d8> (a com.shop.Stock)
\tat com.shop.Shop$1.doGet(Shop.java:40)
\tat jakarta.servlet.http.HttpServlet.service(HttpServlet.java:564)
\tat org.apache.tomcat.util.net.SocketProcessorBase.run(SocketProcessorBase.java:52)
\tat java.lang.Thread.run(java.base@17.0.15/Thread.java:840)

\"http-nio-8080-exec-2\" #46 daemon prio=5 os_prio=0 cpu=1.20ms elapsed=29.90s \
tid=0x00007f1c1c3ebac0 nid=0x7b3f waiting for monitor entry  [0x00007f1bd3afa000]
   java.lang.Thread.State: BLOCKED (on object monitor)
\tat com.shop.Stock.reserve(Stock.java:12)
\t- waiting to lock <0x00000000e0c0b5d8> (a com.shop.Stock)
\tat com.shop.Shop$1.doGet(Shop.java:40)
\tat jakarta.servlet.http.HttpServlet.service(HttpServlet.java:564)
\tat org.apache.tomcat.util.net.SocketProcessorBase.run(SocketProcessorBase.java:52)
\tat java.lang.Thread.run(java.base@17.0.15/Thread.java:840)

\"http-nio-8080-exec-3\" #47 daemon prio=5 os_prio=0 cpu=1.20ms elapsed=29.90s \
tid=0x00007f1c1c3edac0 nid=0x7b40 waiting on condition  [0x00007f1bd39f9000]
   java.lang.Thread.State: WAITING (parking)
\tat jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)
\t- parking to wait for  <0x00000000e0d0b5d8> \
(a java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject)
\tat java.util.concurrent.locks.LockSupport.park(java.base@17.0.15/LockSupport.java:341)
\tat java.util.concurrent.LinkedBlockingQueue.take(java.base@17.0.15/LinkedBlockingQueue.java:435)
\tat org.apache.tomcat.util.threads.TaskQueue.take(TaskQueue.java:117)
\tat java.util.concurrent.ThreadPoolExecutor.getTask(java.base@17.0.15/ThreadPoolExecutor.java:1062)
\tat java.lang.Thread.run(java.base@17.0.15/Thread.java:840)

   Locked ownable synchronizers:
\t- None

\"VM Thread\" os_prio=0 cpu=4.17ms elapsed=30.13s tid=0x00007f1c1c3df9c0 nid=0x7b1e runnable  

\"GC Thread#0\" os_prio=0 cpu=12.50ms elapsed=30.14s tid=0x00007f1c1c0567f0 nid=0x7b19 runnable  

\"VM Periodic Task Thread\" os_prio=0 cpu=14.81ms elapsed=30.05s tid=0x00007f1c1c42a0e0 nid=0x7b26 \
waiting on condition  

JNI global refs: 17, weak refs: 0

";

fn part(name: &str) -> Subject {
    Subject::part("java", name)
}

fn group(group: &str, what: &str) -> Subject {
    let (service, group, what) = ("java".to_owned(), group.to_owned(), what.to_owned());
    Subject::Threads { service, group, what }
}

fn whole(recording: &Recording, field: Field) -> Vec<f64> {
    values(recording, field, &Subject::Service("java".to_owned()))
}

#[test]
fn threads_by_pool_state_lock_and_holder() {
    let recording = read(LOCKED);
    all_understood(&recording);
    assert_eq!(whole(&recording, Field::Threads), [4.0]);
    assert_eq!(whole(&recording, Field::ThreadsBusy), [2.0]);
    assert_eq!(values(&recording, Field::ThreadsInState, &part("BLOCKED")), [1.0]);
    assert_eq!(values(&recording, Field::PoolActive, &part("http-nio-8080-exec")), [2.0]);
    assert_eq!(values(&recording, Field::PoolIdle, &part("http-nio-8080-exec")), [1.0]);
    let lock = "com.shop.Stock in com.shop.Stock.reserve";
    assert_eq!(values(&recording, Field::ThreadsLocked, &part(lock)), [1.0]);
    let holder = "sleeps in com.shop.Stock.reserve";
    assert_eq!(values(&recording, Field::LockHolders, &group(lock, holder)), [1.0]);
    let doing = group("http-nio-8080-exec", "wait for a lock");
    assert_eq!(values(&recording, Field::ThreadsDoing, &doing), [1.0]);
    let stays = group(lock, "http-nio-8080-exec-1");
    assert_eq!(values(&recording, Field::ThreadStays, &stays), [41.2]);
    assert_eq!(whole(&recording, Field::CollectorsCpu), [12.5]);
    assert_eq!(whole(&recording, Field::ServerUptime), [30_110.0]);
}

#[test]
fn dumps_one_after_another_are_moments_of_one_process() {
    let later = LOCKED.replace("08:40:02", "08:40:07");
    let other = later.replace("0x00007f1c1c3e3a20 nid", "0x00007faaaaaaaa20 nid");
    let directly = format!("{LOCKED}{later}");
    let typed =
        format!("app1$ jstack -l 812\n{LOCKED}app1$ sleep 5; jstack -l 812\n{later}app1$\n");
    let logged = format!("starting\n{LOCKED}2026-11-26 08:40:05 INFO Shop : served 5\n{later}");
    for (text, name) in [(directly, "java"), (typed, "java 812"), (logged, "java")] {
        let recording = read(&text);
        let subject = Subject::Service(name.to_owned());
        let host = &recording.hosts[0];
        let series = &host.series[&Field::Threads][&subject];
        let points: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.value).collect();
        assert_eq!(points, [4.0, 4.0], "{text}");
    }
    let recording = read(&format!("{LOCKED}{other}"));
    let names: Vec<String> = recording.hosts[0]
        .subjects(Field::Threads)
        .map(|(subject, _)| subject.to_string())
        .collect();
    assert_eq!(names, ["java", "java no. 2"]);
}

#[test]
fn what_a_log_puts_before_or_between_the_lines_is_passed_over() {
    let journal: String =
        LOCKED.lines().map(|line| format!("Nov 26 08:40:02 app1 java[812]: {line}\n")).collect();
    let compose: String = LOCKED.lines().map(|line| format!("app-1  | {line}\n")).collect();
    for text in [journal, compose] {
        let recording = read(&text);
        assert_eq!(whole(&recording, Field::Threads), [4.0], "{text}");
    }
    let between = LOCKED.replace(
        "\tat com.shop.Shop$1.doGet",
        "2026-11-26 08:40:02.123  INFO 812 --- [exec-9] Shop : served\n\tat com.shop.Shop$1.doGet",
    );
    let recording = read(&between);
    assert_eq!(whole(&recording, Field::Threads), [4.0]);
    assert_eq!(recording.unrecognised, []);
    let [problem] = &recording.problems[..] else { panic!("{:?}", recording.problems) };
    assert!(problem.text.starts_with("2 lines of something else"), "{}", problem.text);
}

#[test]
fn a_deadlock_is_named_by_its_threads() {
    let text = format!(
        "{LOCKED}\nFound one Java-level deadlock:\n=============================\n\
         \"Thread-1\":\n  waiting to lock monitor 0x00007f1bc4003f60 (object 0x00000000e0c0b5d8, a \
         java.lang.Object),\n  which is held by \"Thread-0\"\n\n\"Thread-0\":\n  waiting to lock \
         monitor 0x00007f1bc4003e80 (object 0x00000000e0c0b5e8, a java.lang.Object),\n  which is \
         held by \"Thread-1\"\n\nJava stack information for the threads listed above:\n\
         ===================================================\n\"Thread-1\":\n\
         \tat com.shop.Ledger.debit(Ledger.java:5)\n\t- waiting to lock <0x00000000e0c0b5d8> (a \
         java.lang.Object)\n\nFound 1 deadlock.\n\n"
    );
    let recording = read(&text);
    all_understood(&recording);
    assert_eq!(values(&recording, Field::ThreadsDeadlocked, &part("Thread-1, Thread-0")), [2.0]);
}

#[test]
fn json_of_virtual_threads() {
    let thread = |number: u32, state: &str, rest: &str, stack: &str| {
        format!(
            "{{\"tid\":{number},\"name\":\"\",\"virtual\":true,\"state\":\"{state}\",{rest}\
             \"stack\":[{stack}\"java.base/java.lang.VirtualThread.run(VirtualThread.java:309)\"]}}"
        )
    };
    let park = "\"java.base/java.lang.VirtualThread.park(VirtualThread.java:596)\",\
                \"java.base/java.util.concurrent.locks.LockSupport.park(LockSupport.java:369)\",\
                \"java.base/java.util.concurrent.locks.ReentrantLock.lock(Lock.java:322)\",\
                \"com.shop.Seats.book(Seats.java:9)\",";
    let blocker = "\"parkBlocker\":{\"object\":\
                   \"java.util.concurrent.locks.ReentrantLock$NonfairSync@1f2e\"},";
    let waits: Vec<String> = (30..50).map(|n| thread(n, "WAITING", blocker, park)).collect();
    let text = format!(
        "{{\"threadDump\":{{\"processId\":812,\"time\":\"2026-11-26T08:40:02.123Z\",\
         \"runtimeVersion\":\"25+36-LTS\",\"threadContainers\":[{{\"container\":\"<root>\",\
         \"parent\":null,\"owner\":null,\"threads\":[{}],\"threadCount\":20}}]}}}}",
        waits.join(",")
    );
    let recording = read(&text);
    all_understood(&recording);
    let lock = "java.util.concurrent.locks.ReentrantLock in com.shop.Seats.book";
    let subject = Subject::part("java 812", lock);
    assert_eq!(values(&recording, Field::ThreadsLocked, &subject), [20.0]);
}

#[test]
fn json_of_spring_boot() {
    let frame = |class: &str, method: &str| {
        format!("{{\"className\":\"{class}\",\"methodName\":\"{method}\",\"lineNumber\":5}}")
    };
    let thread = |name: &str, state: &str, rest: &str| {
        let frames = [frame("com.shop.Stock", "reserve"), frame("java.lang.Thread", "run")];
        format!(
            "{{\"threadName\":\"{name}\",\"threadState\":\"{state}\",{rest},\"stackTrace\":[{}]}}",
            frames.join(",")
        )
    };
    let lock = "{\"className\":\"com.shop.Stock\",\"identityHashCode\":77}";
    let blocked = format!("\"lockName\":\"com.shop.Stock@4d\",\"lockInfo\":{lock}");
    let holds = format!("\"lockedMonitors\":[{lock}]");
    let text = format!(
        "{{\"threads\":[{},{},{}]}}",
        thread("exec-1", "RUNNABLE", &holds),
        thread("exec-2", "BLOCKED", &blocked),
        thread("exec-3", "BLOCKED", &blocked)
    );
    let recording = read(&text);
    all_understood(&recording);
    let lock = "com.shop.Stock in com.shop.Stock.reserve";
    assert_eq!(values(&recording, Field::ThreadsLocked, &part(lock)), [2.0]);
    let holder = group(lock, "runs in com.shop.Stock.reserve");
    assert_eq!(values(&recording, Field::LockHolders, &holder), [2.0]);
}

#[test]
fn virtual_threads_and_event_loops_are_no_full_pool() {
    let thread = |name: &str, frames: &[&str]| {
        let frames: String =
            frames.iter().map(|frame| format!("\tat {frame}(X.java:1)\n")).collect();
        format!(
            "\"{name}\" #9 prio=5 os_prio=0 tid=0x7f01 nid=0x5 runnable\n   \
             java.lang.Thread.State: RUNNABLE\n{frames}\n"
        )
    };
    let handler = "io.netty.channel.AbstractChannelHandlerContext.invokeChannelRead";
    let mut text: String = (0..12)
        .map(|n| thread(&format!("loop-{n}"), &["com.shop.Page.get", handler]))
        .chain((12..16).map(|n| thread(&format!("loop-{n}"), &["sun.nio.ch.EPoll.wait"])))
        .collect();
    let service = "jakarta.servlet.http.HttpServlet.service";
    text.extend((0..12).map(|n| {
        let frames = ["com.shop.Page.get", service, "java.lang.VirtualThread.run"];
        thread(&format!("handler-{n}"), &frames)
    }));
    let recording = read(&text);
    all_understood(&recording);
    let of = |field: Field, name: &str| values(&recording, field, &part(name));
    assert_eq!(
        (of(Field::PoolActive, "loop"), of(Field::PoolIdle, "loop")),
        (vec![12.0], vec![4.0])
    );
    assert_eq!(of(Field::PoolActive, "handler"), [0.0; 0]);
}

/// Java 11 prints `waiting to re-lock` of threads that wait to be notified.
#[test]
fn who_waits_to_be_notified_waits_for_no_lock() {
    let text = "\
\"exec-1\" #19 daemon prio=8 os_prio=0 cpu=2.19ms elapsed=11.19s tid=0x00007f43a0293800 nid=0x29fe \
in Object.wait()  [0x00007f4368910000]
   java.lang.Thread.State: TIMED_WAITING (on object monitor)
        at java.lang.Object.wait(java.base@11.0.9/Native Method)
        - waiting to re-lock in wait() <0x0000000621213d60> (a com.shop.Queue)
        at com.shop.Queue.next(Queue.java:148)
        at java.util.concurrent.ThreadPoolExecutor.runWorker(java.base@11.0.9/X.java:1114)
        at java.lang.Thread.run(java.base@11.0.9/Thread.java:834)
";
    let recording = read(text);
    all_understood(&recording);
    assert_eq!(whole(&recording, Field::ThreadsBusy), [0.0]);
}

#[test]
fn what_is_no_dump_is_none() {
    for text in [
        "\"main\" is the thread\nand more\n",
        "4711:\nall is well\n",
        "2026-11-26 08:40:02\nup\n",
        "{\"threadDump\": 5}",
        "{\"threads\": [5]}",
        "\tat com.shop.Main.main(Main.java:5)\n",
    ] {
        let recording = read(text);
        assert!(recording.sources.is_empty(), "{text}");
    }
}
