//! `/proc/PID/cmdline` of the few programs whose arguments size shared memory. Arguments may
//! contain passwords: nothing else of them leaves this module.

/// Beginnings of Java's arguments that take a size behind them.
const JAVA_SIZES: [&str; 4] = ["-Xmx", "-Xms", "-Xmn", "-Xss"];

/// Java's argument for running without compilers: it makes the code cache smaller.
const JAVA_INTERPRETED: &str = "-Xint";

/// Names behind `-XX:` that say how large a Java program's memory is and which pages it wants.
const JAVA_FLAGS: [&str; 29] = [
    "UseLargePages",
    "UseLargePagesInMetaspace",
    "UseSHM",
    "UseHugeTLBFS",
    "UseTransparentHugePages",
    "LargePageSizeInBytes",
    "ReservedCodeCacheSize",
    "SegmentedCodeCache",
    "UseG1GC",
    "UseParallelGC",
    "UseSerialGC",
    "UseZGC",
    "UseShenandoahGC",
    "MaxHeapSize",
    "InitialHeapSize",
    "MaxRAM",
    "MaxRAMPercentage",
    "InitialRAMPercentage",
    "AlwaysPreTouch",
    "MaxMetaspaceSize",
    "CompressedClassSpaceSize",
    "ParallelGCThreads",
    "ThreadStackSize",
    "NewRatio",
    "NewSize",
    "MaxNewSize",
    "G1HeapRegionSize",
    "TieredCompilation",
    "TieredStopAtLevel",
];

/// Java's arguments whose value is the next argument (java(1)).
const JAVA_PAIRS: [&str; 13] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-reads",
    "--add-exports",
    "--add-opens",
    "--limit-modules",
    "--patch-module",
    "--enable-native-access",
];

/// Java's arguments behind which the program's own begin, but for a name.
const JAVA_LAST: [&str; 3] = ["-jar", "-m", "--module"];

/// Longest argument that is recorded, in bytes: the names above with a number.
const FLAG_BYTES_MAX: usize = 64;

fn arguments(cmdline: &[u8]) -> impl Iterator<Item = &[u8]> {
    cmdline.split(|byte| *byte == 0).skip(1)
}

/// Those arguments of a Java program that size its memory. Ends where the program's own begin:
/// they may be alike.
pub fn java_memory_flags(cmdline: &[u8]) -> Vec<String> {
    let mut flags = Vec::new();
    let mut rest = arguments(cmdline);
    while let Some(bytes) = rest.next() {
        // What is no text is no flag of ours.
        let argument = std::str::from_utf8(bytes).unwrap_or("-");
        if JAVA_PAIRS.contains(&argument) {
            rest.next();
        } else if JAVA_LAST.contains(&argument) || !argument.starts_with(['-', '@']) {
            break;
        } else if is_java_memory_flag(argument) {
            flags.push(argument.to_owned());
        }
    }
    flags
}

fn is_java_memory_flag(argument: &str) -> bool {
    if argument.len() > FLAG_BYTES_MAX || argument == JAVA_INTERPRETED {
        return argument == JAVA_INTERPRETED;
    }
    let sized = |value: &str| {
        value.starts_with(|first: char| first.is_ascii_digit())
            && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
    };
    if let Some(value) = JAVA_SIZES.iter().find_map(|start| argument.strip_prefix(start)) {
        return sized(value);
    }
    let Some(flag) = argument.strip_prefix("-XX:") else { return false };
    match (flag.strip_prefix(['+', '-']), flag.split_once('=')) {
        (Some(name), _) => JAVA_FLAGS.contains(&name),
        (None, Some((name, value))) => JAVA_FLAGS.contains(&name) && sized(value),
        (None, None) => false,
    }
}

/// The directory that a PostgreSQL server was started with (`-D`, postgres(1)), where it is an
/// absolute path.
pub fn postgres_directory(cmdline: &[u8]) -> Option<String> {
    let mut found = None;
    let mut rest = arguments(cmdline);
    while let Some(argument) = rest.next() {
        match argument.strip_prefix(b"-D") {
            Some(b"") => found = rest.next(),
            Some(path) => found = Some(path),
            None => {}
        }
    }
    let path = std::str::from_utf8(found?).ok()?;
    path.starts_with('/').then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(words: &str) -> Vec<u8> {
        words.split(' ').flat_map(|word| word.bytes().chain([0])).collect()
    }

    #[test]
    fn keeps_what_sizes_a_java_heap_and_nothing_else() {
        let cmdline = joined(
            "java -server -Xmx4g -Xms512m -Xss1m -XX:+UseLargePages -XX:-UseSHM \
             -XX:MaxRAMPercentage=75.0 -Xint -Xmn1g -XX:LargePageSizeInBytes=1g -XX:OnError=secret \
             -Dpassword=secret -Xmxsecret -XX:MaxHeapSize=secret -cp -Xmx1g -XX:+UseZGC @argfile \
             -XX:MaxHeapSize=1g;secret -XX:Flags=secret -XX:ReservedCodeCacheSize=240m Main -Xmx8g",
        );
        let wanted = [
            "-Xmx4g",
            "-Xms512m",
            "-Xss1m",
            "-XX:+UseLargePages",
            "-XX:-UseSHM",
            "-XX:MaxRAMPercentage=75.0",
            "-Xint",
            "-Xmn1g",
            "-XX:LargePageSizeInBytes=1g",
            "-XX:+UseZGC",
            "-XX:ReservedCodeCacheSize=240m",
        ];
        assert_eq!(java_memory_flags(&cmdline), wanted);
        assert_eq!(java_memory_flags(&joined("java -jar a.jar -Xmx4g")), [""; 0]);
        assert_eq!(java_memory_flags(b"-Xmx4g"), [""; 0]);
        assert_eq!(java_memory_flags(b"java\0-D\xff\0-Xmx4g"), ["-Xmx4g"]);
    }

    #[test]
    fn finds_the_directory_of_a_postgresql_server() {
        let of = |words: &str| postgres_directory(&joined(words));
        assert_eq!(of("postgres -D /var/lib/pg -c a=b").as_deref(), Some("/var/lib/pg"));
        assert_eq!(of("/usr/bin/postgres -D/pg").as_deref(), Some("/pg"));
        assert_eq!(of("postgres -D data"), None);
        assert_eq!(of("postgres -c a=b"), None);
        assert_eq!(postgres_directory(b"postgres: writer \0-D"), None);
    }
}
