//! Remedies for threads that wait inside of their program.

use super::step::{Reach, Remedy, When};

ladders! {
    DEADLOCK {
        Look "see who holds what", "jstack -l PID | grep -A 30 'Found one Java-level deadlock'",
            "each thread waits for what the next one holds";
        Program "take the locks in the same order everywhere, or one lock for both; \
            tryLock with a time where that cannot be",
            "jstack PID | grep -c deadlock", "0 under the same load";
        Service "until then restart it: a deadlock does not end by itself",
            "systemctl restart SERVICE", "jstack PID | grep -c deadlock: 0";
    }
    POOL_LIMIT {
        Look "see who uses what is short, and for how long",
            "for i in 1 2 3; do jstack -l PID; sleep 5; done > threads.txt; hugewise diagnose \
                threads.txt",
            "whether the same threads keep it, and what they wait for";
        Program "give it back sooner: no other service, file or user waited for while a \
            connection is held; a limit that names leaks (HikariCP leakDetectionThreshold, Tomcat \
            removeAbandonedTimeout, c3p0 unreturnedConnectionTimeout)",
            "jstack PID | grep -c 'HikariPool.getConnection'", "fewer threads wait";
        Program "make what its users wait for faster: the slowest statements first",
            "psql -c 'select query, calls, mean_exec_time from pg_stat_statements order by \
                total_exec_time desc limit 10'",
            "the same load with fewer in use";
        Program "a larger pool, where its users are short, and the database and the CPUs have \
            room: HikariCP maximumPoolSize, Tomcat maxActive, DBCP maxTotal, c3p0 maxPoolSize",
            "psql -c 'show max_connections'  # all pools of all instances together stay below",
            "no thread waits for a connection, and response times fall";
    }
    THREAD_LOCK {
        Look "see who holds it, and what it does meanwhile",
            "for i in 1 2 3; do jstack -l PID; sleep 5; done > threads.txt; hugewise diagnose \
                threads.txt",
            "the holder, and whether it is the same one";
        Program "hold it for less: no query, file, log line or sleep inside of it",
            "jstack PID | grep -c BLOCKED", "fewer threads are BLOCKED";
        Program "split it: a lock for each key, a concurrent collection, a lock for readers; \
            for logs an asynchronous appender",
            "jstack PID | grep -c BLOCKED", "fewer threads are BLOCKED at the same load";
    }
    SERVICE_WAIT {
        Look "see how long its answers take, on its own side",
            "ss -tnp", "no bytes wait in Send-Q: the other side has the question, and is slow";
        Program "limits for waiting: a time-out for connecting and for reading, a circuit breaker, \
            so that one slow service does not take all threads",
            "jstack PID | grep -c -e socketRead0 -e NioSocketImpl", "fewer threads wait in reads";
        Program "ask less: several questions in one, a cache, answers that may come later",
            "jstack PID | grep -c -e socketRead0 -e NioSocketImpl", "fewer threads wait in reads";
    }
    WORKERS_FULL {
        Look "see what they do", "for i in 1 2 3; do jstack -l PID; sleep 5; done > threads.txt; \
            hugewise diagnose threads.txt", "what most of them wait for";
        Program "make that faster first: more threads only wait in more places",
            "jstack PID | grep -A 1 'http-nio' | grep -c RUNNABLE", "threads without work";
        Program "more of them, where the CPUs and what they wait for have room: Tomcat \
            maxThreads, Jetty maxThreads, Undertow worker-threads",
            "ss -tln | grep PORT  # Recv-Q: connections that nobody took", "Recv-Q 0";
    }
}
