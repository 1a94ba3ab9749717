//! Levels of lines of logs.

/// How bad a line is by its own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::recording) enum LogLevel {
    /// For those who write the program.
    Debug,
    /// What is done.
    Info,
    /// Something is odd.
    Warning,
    /// Something failed.
    Error,
}

/// Words of levels.
// tidy: table
const LEVELS: [(&str, LogLevel); 25] = [
    ("TRACE", LogLevel::Debug),
    ("FINE", LogLevel::Debug),
    ("VERBOSE", LogLevel::Debug),
    ("DEBUG", LogLevel::Debug),
    ("DBG", LogLevel::Debug),
    ("INFO", LogLevel::Info),
    ("INFORMATION", LogLevel::Info),
    ("LOG", LogLevel::Info),
    ("NOTE", LogLevel::Info),
    ("NOTICE", LogLevel::Info),
    ("HINT", LogLevel::Info),
    ("DETAIL", LogLevel::Info),
    ("STDERR", LogLevel::Info),
    ("WARN", LogLevel::Warning),
    ("WARNING", LogLevel::Warning),
    ("ERROR", LogLevel::Error),
    ("ERR", LogLevel::Error),
    ("SEVERE", LogLevel::Error),
    ("FAILURE", LogLevel::Error),
    ("CRIT", LogLevel::Error),
    ("CRITICAL", LogLevel::Error),
    ("FATAL", LogLevel::Error),
    ("ALERT", LogLevel::Error),
    ("EMERG", LogLevel::Error),
    ("PANIC", LogLevel::Error),
];

/// The level of a word in capitals, where it is one.
pub(in crate::recording) fn named(word: &str) -> Option<LogLevel> {
    LEVELS.iter().find(|(name, _)| *name == word).map(|(_, level)| *level)
}
