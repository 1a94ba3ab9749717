//! The journal file: one JSON line a record, the time first.
//!
//! The manager never stops for its journal. A line that cannot be written is dropped and counted,
//! and the next one that can be written starts on a line of its own.

use hugewise_base::calendar::{self, DAY_S};
use hugewise_base::count::counted;
use hugewise_console::exit;
use hugewise_console::exit::refused;
use hugewise_console::say::note;
use hugewise_linux::save::{self, SaveError};
use hugewise_linux::trust;
use hugewise_manager::record::Record;
use rustix::fs::OFlags;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Its name in the state directory, unless another file is named.
pub const JOURNAL: &str = "journal.jsonl";
/// Lines are collected up to this size, then written even without a `flush`.
const BUFFER_BYTES: usize = 64 << 10;
/// A failing journal is reported on stderr at most this often.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(60);

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    max_bytes: u64,
    /// `None` after a rotation that could not open the new file; opening is tried again.
    file: Option<File>,
    /// Size of the file.
    size: u64,
    /// Whole lines that wait to be written.
    pending: Vec<u8>,
    /// The file ends in the middle of a line.
    torn: bool,
    lost: u64,
    complained: Option<Instant>,
    /// Nothing is written.
    absent: bool,
}

/// What stands in the file.
#[derive(Serialize)]
struct Line<'a> {
    time: &'a str,
    #[serde(flatten)]
    record: &'a Record,
}

impl Journal {
    /// Opens `path` for appending and creates it (mode 0640) where it is missing.
    ///
    /// # Errors
    /// The file cannot be opened, or is not one that root may trust: exit code 6 for the latter.
    pub fn open(path: &Path, max_bytes: u64) -> anyhow::Result<Self> {
        let mut journal = Self::with_file(path, max_bytes, None);
        journal.reopen()?;
        Ok(journal)
    }

    /// No journal: where nothing is done, and there is no place for one.
    pub fn absent() -> Self {
        let mut journal = Self::with_file(Path::new(""), 0, None);
        journal.absent = true;
        journal
    }

    fn with_file(path: &Path, max_bytes: u64, file: Option<File>) -> Self {
        Self {
            path: path.to_path_buf(),
            max_bytes,
            file,
            size: 0,
            pending: Vec::new(),
            torn: false,
            lost: 0,
            complained: None,
            absent: false,
        }
    }

    /// Appends one record. It reaches the file at the next [`Journal::flush`], or before.
    pub fn write(&mut self, record: &Record) {
        if self.absent {
            return;
        }
        let time = rfc3339(SystemTime::now());
        let mut line = match serde_json::to_vec(&Line { time: &time, record }) {
            Ok(line) => line,
            Err(error) => return self.drop_lines(1, &error.to_string()),
        };
        line.push(b'\n');
        let filled = self.size + self.pending.len() as u64;
        // An empty file takes any line: rotating it would not help.
        if filled > 0 && filled + line.len() as u64 > self.max_bytes {
            self.flush();
            if self.size > 0
                && let Err(error) = self.rotate()
            {
                return self.drop_lines(1, &format!("it is full, and {error:#}"));
            }
        }
        self.pending.extend_from_slice(&line);
        if self.pending.len() >= BUFFER_BYTES {
            self.flush();
        }
    }

    /// Writes what was collected. What cannot be written is dropped and counted.
    pub fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut bytes = std::mem::take(&mut self.pending);
        let first = usize::from(self.torn);
        if self.torn {
            bytes.insert(0, b'\n');
        }
        let (done, result) = match self.reopen() {
            Ok(file) => write_all(file, &bytes),
            Err(error) => (0, Err(io::Error::other(format!("{error:#}")))),
        };
        self.size += done as u64;
        if done > 0 {
            self.torn = bytes[done - 1] != b'\n';
        }
        if let Err(error) = result {
            let rest = &bytes[done.max(first)..];
            let lines = rest.iter().filter(|&&b| b == b'\n').count();
            self.drop_lines(lines as u64, &error.to_string());
        }
        bytes.clear();
        self.pending = bytes;
    }

    /// Records that could not be written since the start.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The file, opened (again) where it is not open.
    fn reopen(&mut self) -> anyhow::Result<&mut File> {
        if self.file.is_none() {
            let mut file = open_checked(&self.path)?;
            (self.size, self.torn) = end_of(&mut file)
                .map_err(|e| anyhow::anyhow!("cannot read {}: {e}", self.path.display()))?;
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| anyhow::anyhow!("the journal is not open"))
    }

    /// Moves the file to `.1`, which is replaced, and begins a new one.
    fn rotate(&mut self) -> anyhow::Result<()> {
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        std::fs::rename(&self.path, &old).map_err(|e| {
            let (from, to) = (self.path.display(), Path::new(&old).display());
            anyhow::anyhow!("cannot rename {from} to {to}: {e}")
        })?;
        self.file = None;
        (self.size, self.torn) = (0, false);
        self.reopen().map(|_| ())
    }

    fn drop_lines(&mut self, lines: u64, why: &str) {
        self.lost += lines;
        if self.complained.is_some_and(|when| when.elapsed() < COMPLAINT_INTERVAL) {
            return;
        }
        self.complained = Some(Instant::now());
        let (path, lost) = (self.path.display(), counted(self.lost, "record", "records"));
        note(&format!(
            "journal {path}: {why}; {lost} lost so far; the manager keeps running and \
             tries again with the next records (free space on that disk, or give --journal FILE)"
        ));
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Writes as much as possible; says how much that was.
fn write_all(file: &mut File, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut done = 0;
    while done < bytes.len() {
        match file.write(&bytes[done..]) {
            Ok(0) => return (done, Err(io::ErrorKind::WriteZero.into())),
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (done, Err(error)),
        }
    }
    (done, Ok(()))
}

/// Opens for appending, and checks what was opened, not what the path led to before.
fn open_checked(path: &Path) -> anyhow::Result<File> {
    // NONBLOCK and NOCTTY: opening somebody's FIFO or terminal must not hang or take effect.
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY;
    let shown = path.display();
    let link = rustix::io::Errno::LOOP.raw_os_error();
    let file = save::open(path, flags, 0o640).map_err(|error| match error {
        SaveError::Io { error, .. } if error.raw_os_error() == Some(link) => {
            let advice = "give the path of a plain file with --journal FILE";
            exit::coded(
                exit::REFUSED,
                format!("journal {shown} is a symbolic link, and links are not followed: {advice}"),
            )
        }
        SaveError::Io { error, .. } => {
            anyhow::anyhow!(
                "cannot open journal {shown}: {error}; give another with --journal FILE"
            )
        }
        error => refused(error),
    })?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(exit::coded(
            exit::REFUSED,
            format!("journal {shown} is not a regular file: give the path of one with --journal"),
        ));
    }
    trust::check("journal", path, &meta)?;
    trust::check_alone("journal", path, &meta)?;
    Ok(file)
}

/// The size of a file, and whether it ends in the middle of a line.
fn end_of(file: &mut File) -> io::Result<(u64, bool)> {
    let size = file.metadata()?.len();
    if size == 0 {
        return Ok((0, false));
    }
    let mut last = [0u8];
    file.seek(SeekFrom::Start(size - 1))?;
    file.read_exact(&mut last)?;
    Ok((size, last != *b"\n"))
}

/// `2026-01-31T23:59:59.123Z`.
pub fn rfc3339(time: SystemTime) -> String {
    let ms = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    };
    let (s, ms) = (ms.div_euclid(1000), ms.rem_euclid(1000));
    let (days, s) = (s.div_euclid(DAY_S), s.rem_euclid(DAY_S));
    let (year, month, day) = calendar::date(days);
    let (hour, minute, second) = (s / 3600, s / 60 % 60, s % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use serde_json::Value;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn record(error: &str) -> Record {
        Record::Reload { error: Some(error.to_owned()) }
    }

    fn lines(path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).expect("readable");
        assert!(text.is_empty() || text.ends_with('\n'), "{text}");
        text.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect()
    }

    #[test]
    fn times_read_as_rfc_3339() {
        assert_eq!(rfc3339(UNIX_EPOCH), "1970-01-01T00:00:00.000Z");
        let at = UNIX_EPOCH + Duration::from_millis(1_709_210_096_789);
        assert_eq!(rfc3339(at), "2024-02-29T12:34:56.789Z");
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_millis(1)), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn a_line_is_json_with_the_time_first() {
        let dir = Scratch::new();
        let path = dir.join("journal.jsonl");
        let mut journal = Journal::open(&path, 1 << 20).expect("opens");
        journal.write(&record("one\ntwo"));
        journal.write(&Record::Reload { error: None });
        journal.flush();
        let text = fs::read_to_string(&path).expect("readable");
        assert!(text.starts_with("{\"time\":\"2"), "{text}");
        let lines = lines(&path);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["record"], "reload");
        assert_eq!(lines[0]["error"], "one\ntwo");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
        assert_eq!(journal.lost(), 0);
    }

    #[test]
    fn a_later_journal_appends_and_mends_a_torn_line() {
        let dir = Scratch::new();
        let path = dir.join("j");
        Journal::open(&path, 1 << 20).expect("opens").write(&record("a"));
        let mut file = fs::OpenOptions::new().append(true).open(&path).expect("opens");
        file.write_all(b"{\"time\":\"half").expect("writes");
        Journal::open(&path, 1 << 20).expect("opens").write(&record("b"));
        let text = fs::read_to_string(&path).expect("readable");
        let good: Vec<_> =
            text.lines().filter(|l| serde_json::from_str::<Value>(l).is_ok()).collect();
        assert_eq!((text.lines().count(), good.len()), (3, 2), "{text}");
    }

    #[test]
    fn it_rotates_once_and_stays_below_its_limit() {
        let dir = Scratch::new();
        let path = dir.join("j");
        let mut journal = Journal::open(&path, 4096).expect("opens");
        for n in 0..500 {
            journal.write(&record(&format!("number {n}")));
        }
        journal.flush();
        let old = dir.join("j.1");
        assert!(fs::metadata(&path).expect("there").len() <= 4096);
        assert!(fs::metadata(&old).expect("there").len() <= 4096);
        let (old, new) = (lines(&old), lines(&path));
        assert!(old.len() > 20);
        assert_eq!(new.last().expect("lines")["error"], "number 499");
        assert_eq!(fs::read_dir(dir.path()).expect("there").count(), 2);
        assert_eq!(journal.lost(), 0);
    }

    #[test]
    fn a_line_beyond_the_limit_is_written_all_the_same() {
        let dir = Scratch::new();
        let path = dir.join("j");
        let mut journal = Journal::open(&path, 64).expect("opens");
        journal.write(&record(&"x".repeat(200_000)));
        journal.write(&record("y"));
        journal.flush();
        assert_eq!(lines(&path).len(), 1);
        assert_eq!(journal.lost(), 0);
    }

    #[test]
    fn a_rotation_that_fails_costs_lines_only() {
        let dir = Scratch::new();
        let path = dir.join("j");
        // A directory that is not empty cannot be replaced by a file.
        fs::create_dir_all(dir.join("j.1/x")).expect("created");
        let mut journal = Journal::open(&path, 4096).expect("opens");
        for n in 0..100 {
            journal.write(&record(&format!("number {n}")));
        }
        journal.flush();
        assert!(journal.lost() > 0);
        assert!(fs::metadata(&path).expect("there").len() <= 4096);
        fs::remove_dir_all(dir.join("j.1")).expect("removed");
        let lost = journal.lost();
        journal.write(&record("again"));
        journal.flush();
        assert_eq!(journal.lost(), lost);
        assert_eq!(lines(&path).len(), 1);
    }

    #[test]
    fn a_full_disk_drops_and_counts() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("opens");
        let mut journal = Journal::with_file(Path::new("/dev/full"), 1 << 20, Some(full));
        for _ in 0..3 {
            journal.write(&record("x"));
        }
        journal.flush();
        assert_eq!(journal.lost(), 3);
        journal.write(&record(&"x".repeat(BUFFER_BYTES)));
        assert_eq!(journal.lost(), 4);
        journal.file = None;
        journal.path = PathBuf::from("/nonexistent/j");
        journal.write(&record("x"));
        journal.flush();
        assert_eq!(journal.lost(), 5);
    }

    #[test]
    fn writing_resumes_on_a_fresh_line_when_space_is_freed() {
        use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
        let dir = Scratch::new();
        let size = Some(c"size=64k");
        if mount("none", dir.path(), "tmpfs", MountFlags::empty(), size).is_err() {
            eprintln!("skipped: mounting needs root");
            return;
        }
        let path = dir.join("j");
        fs::write(dir.join("ballast"), vec![0; 50_000]).expect("fits");
        let mut journal = Journal::open(&path, 1 << 20).expect("opens");
        for n in 0..500 {
            journal.write(&record(&format!("number {n}")));
            journal.flush();
        }
        let lost = journal.lost();
        assert!((1..500).contains(&lost), "{lost}");
        fs::remove_file(dir.join("ballast")).expect("removed");
        journal.write(&record("again"));
        journal.flush();
        assert_eq!(journal.lost(), lost);
        let text = fs::read_to_string(&path).expect("readable");
        let good = text.lines().filter(|l| serde_json::from_str::<Value>(l).is_ok()).count() as u64;
        drop(journal);
        unmount(dir.path(), UnmountFlags::DETACH).expect("unmounts");
        assert_eq!(good, 500 - lost + 1);
        assert!(text.lines().last().is_some_and(|l| l.contains("again")));
    }

    #[test]
    fn what_root_may_not_trust_is_refused() {
        let dir = Scratch::new();
        let refused = |path: &Path| {
            let error = Journal::open(path, 1 << 20).expect_err("refused");
            assert_eq!(exit::of_error(&error), exit::REFUSED, "{error:#}");
            error.to_string()
        };
        symlink(dir.join("target"), dir.join("link")).expect("linked");
        assert!(refused(&dir.join("link")).contains("symbolic link"));
        assert!(!dir.join("target").exists());
        assert!(refused(Path::new("/dev/null")).contains("regular file"));
        fs::write(dir.join("precious"), "as it was\n").expect("written");
        fs::hard_link(dir.join("precious"), dir.join("other")).expect("linked");
        assert!(refused(&dir.join("other")).contains("another name"));
        assert_eq!(fs::read_to_string(dir.join("precious")).expect("readable"), "as it was\n");
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let path = dir.join("j");
        fs::write(&path, "").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("root");
        assert!(refused(&path).contains("changed by others"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("root");
        std::os::unix::fs::chown(&path, Some(65_534), None).expect("root");
        assert!(refused(&path).contains("belong to root"));
        symlink(dir.path(), dir.join("folder")).expect("linked");
        std::os::unix::fs::lchown(dir.join("folder"), Some(65_534), None).expect("root");
        assert!(refused(&dir.join("folder/new")).contains("belongs to another user"));
        assert!(!dir.join("new").exists());
    }

    #[test]
    fn a_directory_that_is_missing_is_an_error_with_advice() {
        let error = Journal::open(Path::new("/nonexistent/j"), 1).expect_err("missing");
        assert!(error.to_string().contains("--journal FILE"), "{error:#}");
    }
}
