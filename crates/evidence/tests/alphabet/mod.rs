//! Texts made of the pieces of which formats are made: of such, readers take more than the first
//! line, and what they meet in it stands in places where nobody expects it.

/// The pieces of a format; the first one begins it.
pub(crate) type Pieces = &'static [&'static str];

/// What stands in every format somewhere.
const SHARED: Pieces = &[
    "\n",
    "\n\n",
    "\n   ",
    "\n\t",
    " ",
    "0",
    "7",
    "12.5",
    "3,25",
    "-1",
    "18446744073709551616",
    "99999999999999999999999999999999.9",
    "1e308",
    "nan",
    ":",
    ",",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "'",
    "{",
    "}",
    "->",
    "\u{a0}",
    "\u{fc}\u{2192}",
    "2031-02-03 04:05:06.789 UTC ",
    "9999-12-31T23:59:59.999+0000",
];

/// Logs of collections, of statements, and profiles.
pub(crate) const FORMATS: [Pieces; 14] = [
    // Java before 9.
    &[
        "2.5: [GC (Allocation Failure) ",
        "2031-02-03T04:05:06.789+0800: 2.5: ",
        "[Full GC (System.gc()) ",
        "[GC pause (G1 Evacuation Pause) (young), 0.75 secs]",
        "[GC concurrent-mark-start]",
        "[CMS-concurrent-sweep: 0.1/0.2 secs]",
        "[PSYoungGen: 65536K->10720K(76288K)]",
        " (promotion failed)",
        " (concurrent mode failure)",
        "[Class Histogram:",
        " 65536K->10728K(251392K), 0.5 secs]",
        ", 9,5000000 secs] ",
        "[Times: user=0.05 sys=0.90, real=0.95 secs]",
        "   [Ref Proc: 71.3 ms]",
        "   [Object Copy (ms): Min: 1.0, Avg: 2.0, Max: 400.0, Diff: 3, Sum: 9]",
        "   [Eden: 1.5G(2.0G)->0.0B(2.0G) Heap: 1.5G(4.0G)->1.0G(4.0G)]",
        "{Heap before GC invocations=3 (full 0):\n",
        "Total time for which application threads were stopped: 3.1 seconds, Stopping threads \
         took: 0.1 seconds\n",
        "   1:   44   5656  [Ljava.lang.Object;\n",
    ],
    // Unified logging.
    &[
        "[12.345s][info][gc] GC(3) Pause Young (Normal) 12M->3M(64M) 345.6ms\n",
        "[2031-02-03T04:05:06.789+0000][12345ms][info][gc,heap] ",
        "[0.1s][info][safepoint] Safepoint \"Cleanup\", Time since last: 1 ns, Reaching safepoint: \
         5 ns, Total: 900000000 ns\n",
        "GC(4) ",
        "GC(18446744073709551615) ",
        "Pause Full (G1 Humongous Allocation) 99M->98M(100M) 9999.9ms\n",
        "Pause Degenerated GC (Mark) 5M->4M(9M) 700.5ms",
        "Concurrent Mark 5.0ms",
        "User=0.05s Sys=0.90s Real=0.95s\n",
        "Phase 4: Compact heap 120.1ms\n",
        "To-space exhausted\n",
        "Allocation Stall (main) 90.5ms\n",
        "Entering safepoint region: HeapDumper\n",
        "Version: 17.0.1+12-LTS (release)\n",
        "Y: ",
    ],
    // OpenJ9.
    &[
        "<verbosegc version=\"x\">\n",
        "<exclusive-start id=\"1\" timestamp=\"2031-02-03T04:05:06.7\">\n",
        "<gc-start id=\"2\" type=\"global\" timestamp=\"",
        "<gc-end id=\"4\" type=\"global\" durationms=\"1200.5\" usertimems=\"80\" \
         systemtimems=\"9\">\n",
        "<mem-info id=\"5\" free=\"16777216\" total=\"67108864\" />\n",
        "<exclusive-end id=\"6\" durationms=\"1210.25\" />\n",
        "<sys-start reason=\"explicit\">\n",
        "<af type=\"tenured\" id=\"1\" timestamp=\"Jan 02 03:04:05 2031\" intervalms=\"0.5\">\n",
        "<timesms mark=\"900\" sweep=\"50\" compact=\"1\" total=\"951\" />\n",
        "<tenured freebytes=\"99\" totalbytes=\"9\" />\n",
        "<time totalms=\"960\" />\n",
        "</af>\n",
        "id=\"",
        "=\"",
    ],
    // Machines with a line a collection.
    &[
        "<GC(1): GC cycle started Tue Jan  7 08:09:10 2031\n",
        "[memory ] 3.25-3.5: GC 900K->300K (2048K), 250.125 ms\n",
        "[memory ][Tue Jan  7 08:09:10 2031][00077] [YC#3] ",
        "7.0-8.0: OC 9KB->3KB (9KB), 0.4 s, sum of pauses 90.5 ms, longest pause 70.25 ms.\n",
        "<AF[1]: Allocation Failure. need 64 bytes, 7 ms since last AF>\n",
        "<GC(1): freed 500 bytes, 55% free (500/900), in 1200 ms>\n",
        "<GC(1): mark: 1100 ms, sweep: 90 ms, compact: 10 ms>\n",
        "<AF[1]: completed in 1250 ms>\n",
        "<GC: 1 9.25 1 64 32 90 0 100 0 0 20 30 40 200 7 7 9 0.125 >\n",
        "<GC: ",
        "<CON[1]: ",
    ],
    // The slow log of MySQL.
    &[
        "# Time: 2031-02-03T04:05:06.5Z\n# Query_time: 2.5  Lock_time: 0.5 Rows_sent: 2\n",
        "# User@Host: a[a] @ h [192.0.2.1]  Id: 3\n",
        "# Query_time: 99999999999  Lock_time: 1.5  Rows_sent: 1  Rows_examined: 9000000\n",
        "# Tmp_disk_tables: 5 Tmp_table_sizes: 900\n",
        "# Last_errno: 1205\n",
        "SET timestamp=5;\n",
        "use shop;\n",
        "select * from t where a = 'x\\' and b in (1, 2, 'y')",
        "/* ",
        " */",
        "-- ",
        "$tag$",
        ";\n",
        "# administrator command: Quit;\n",
        "/usr/sbin/mysqld, Version: 8.0.1 (x). started with:\n",
    ],
    // PostgreSQL, as text.
    &[
        "2031-02-03 04:05:06.789 UTC [77] a@b LOG:  duration: 9500.1 ms  statement: select 1\n",
        "2031-02-03 04:05:06.789 UTC [77] a@b ",
        "Feb  3 04:05:06 db7 postgres[77]: [4-2] #011",
        "LOG:  ",
        "ERROR:  deadlock detected\n",
        "DETAIL:  Process holding the lock: 70. Wait queue: 77, 78.\n",
        "STATEMENT:  ",
        "duration: 5.5 ms  execute s1: ",
        "process 77 still waiting for ShareLock on transaction 5 after 1000.1 ms\n",
        "process 77 acquired ShareLock on transaction 5 after 9400.1 ms\n",
        "temporary file: path \"x\", size 900000000\n",
        "automatic vacuum of table \"a.b.c\": index scans: 0\n\ttuples: 0 removed, 5 remain, 9 are \
         dead but not yet removable\n\tsystem usage: CPU: user: 1.5 s, elapsed: 9.5 s\n",
        "checkpoint complete: wrote 5 buffers; write=1 s, sync=2 s, total=3 s\n",
        "checkpoints are occurring too frequently (9 seconds apart)\n",
    ],
    // As CSV.
    &[
        "2031-02-03 04:05:06.7 UTC,\"a\",\"b\",77,\"[local]\",6,1,\"SELECT\",2031-02-03 04:00:00 \
         UTC,3/4,0,LOG,00000,\"duration: 1500.25 ms  statement: select 1\",,,,,,,,,\"psql\"\n",
        "2031-02-03 04:05:06.7 UTC,\"a\",\"b\",77,\"[local]\",6,1,\"x\",2031-02-03 04:00:00 \
         UTC,3/4,0,LOG,00000,\"",
        "\"\"",
        "\",,,,,,,,,\"psql\"\n",
        ",,,",
        ",ERROR,40P01,",
    ],
    // As JSON, and that of others around it.
    &[
        "{\"timestamp\":\"2031-02-03 04:05:06.789 CET\",\"pid\":77,\"error_severity\":\"LOG\",\
         \"message\":\"duration: 1500.25 ms  statement: select 1\"}\n",
        "{\"record\":",
        "{\"textPayload\":\"2031-02-03 04:05:06 UTC [77]: LOG:  ",
        "\"error_severity\":\"",
        "\\u0000",
        "\\\"",
        "}\n",
        "\"}\n",
    ],
    // PgBouncer.
    &[
        "2031-02-03 04:05:06.789 UTC [78] LOG C-0x5: shop/app@192.0.2.9:5 login attempt: db=shop \
         user=app tls=no\n",
        "2031-02-03 04:05:06.789 UTC [78] LOG ",
        "Feb  3 04:05:06 db7 pgbouncer[78]: ",
        "C-0x5: shop/app@192.0.2.9:5 ",
        "closing because: client close request (age=5s)\n",
        "stats: 5 xacts/s, 6 queries/s, in 7 B/s, out 8 B/s, xact 9000 us, query 900 us, wait 70 \
         us\n",
        "pooler error: no more connections allowed\n",
    ],
    // MongoDB.
    &[
        "{\"t\":{\"$date\":\"2031-02-03T04:05:06.789+00:00\"},\"s\":\"I\",\"c\":\"COMMAND\",\
         \"msg\":\"Slow query\",\"attr\":{\"type\":\"command\",\"ns\":\"a.b\",\"command\":\
         {\"find\":\"b\",\"filter\":{\"pw\":\"x\"}},\"durationMillis\":412}}\n",
        "2031-02-03T04:05:06.789+0000 I COMMAND [conn7] command a.b command: find { a: 1 } \
         planSummary: COLLSCAN docsExamined:70 nreturned:2 152ms\n",
        "{\"t\":{\"$date\":\"",
        "\"attr\":{",
        "\"locks\":{\"Global\":{\"timeAcquiringMicros\":{\"r\":2500}}}",
        "[[[[",
    ],
    // perf script.
    &[
        "web 1/2 [003] 1.5: 250000 cycles: \n\tffffffff9a0011aa clear_page+0x7 ([kernel])\n",
        "# ========\n# captured on: Monday\n# nrcpus online : 6\n",
        "swapper     0 [012] 9.1:  sched:sched_switch: ",
        "\tffffffff9a0022bb do_anonymous_page+0x1f ([kernel.kallsyms])\n",
        "\t    5581aa01 Map<K, V (*)(int)>::grow+0x9 (/opt/x (deleted))\n",
        "  map.cpp:31\n",
        "PERF_RECORD_LOST lost 18446744073709551615\n",
        "\t0 [unknown] ([unknown])\n",
        "cpu-clock: ",
    ],
    // Folded stacks.
    &[
        "java;main;run;asm_exc_page_fault_[k];clear_page_[k] 12\n",
        ";main",
        ";",
        "_[k]",
        ";-;",
        " 0\n",
        " 18446744073709551615\n",
    ],
    // Maps of bpftrace.
    &[
        "@[\n    clear_page_erms+7\n    asm_exc_page_fault+34\n, java]: 12\n",
        "Attaching 1 probe...\n",
        "@x[",
        "    do_anonymous_page+31\n",
        ", java, 12]: ",
        "]: count 3, average 4, total 12\n",
        "@us: \n[1K, 2K)            12 |@@@@      |\n",
        "[2M, 4M)  5 |@|\n",
    ],
    // Lists of bcc.
    &[
        "Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n",
        "    b'clear_page_erms'\n",
        "    main\n",
        "    --\n",
        "    -                java (4120)\n",
        "        12\n",
        "    -  ",
        "Tracing off-CPU time (us) of all threads by user + kernel stack\n",
    ],
];

/// The text that choices make: the first one takes the format, the others its pieces, those of all
/// formats, or now and then one of another format.
pub(crate) fn text(choices: &[u8]) -> String {
    let (first, rest) = choices.split_first().unwrap_or((&0, &[]));
    let mut format = FORMATS[usize::from(*first) % FORMATS.len()];
    let mut out = format[0].to_owned();
    for (at, choice) in rest.iter().enumerate() {
        let choice = usize::from(*choice);
        // Twice as often its own.
        let all = 2 * format.len() + SHARED.len();
        match choice % (all + 1) {
            own if own < 2 * format.len() => out.push_str(format[own / 2]),
            shared if shared < all => out.push_str(SHARED[shared - 2 * format.len()]),
            _ => {
                format = FORMATS[at % FORMATS.len()];
                out.push('\n');
                out.push_str(format[0]);
            }
        }
    }
    out
}

/// A profile of pprof as choices make it: fields of messages in messages, compressed as not at all.
pub(crate) fn pprof(choices: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    for pair in choices.chunks(2) {
        let (field, value) = (pair[0] % 16, pair.get(1).copied().unwrap_or(0));
        match pair[0] >> 4 {
            // A number, small or the largest.
            0..6 => message.extend([field << 3, value & 0x7f]),
            6 => {
                message.push(field << 3);
                message.extend([0xff; 9]);
                message.push(1);
            }
            // Texts, some of them frames.
            7 | 8 => {
                let texts = ["", "samples", "count", "cpu", "nanoseconds", "main", "[vdso]", "\n"];
                let text = texts[usize::from(value) % texts.len()].as_bytes();
                message.extend([field << 3 | 2, u8::try_from(text.len()).unwrap_or(0)]);
                message.extend(text);
            }
            // All so far as a field of another message.
            9..14 if message.len() < 128 => {
                let inner = std::mem::take(&mut message);
                message.extend([field << 3 | 2, u8::try_from(inner.len()).unwrap_or(0)]);
                message.extend(inner);
            }
            _ => message.extend([field << 3 | (value & 7), value]),
        }
    }
    message.truncate(usize::from(u16::MAX));
    let length = u16::try_from(message.len()).unwrap_or(0);
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1];
    out.extend(length.to_le_bytes());
    out.extend((!length).to_le_bytes());
    out.extend(message);
    out.extend([0; 8]);
    out
}
