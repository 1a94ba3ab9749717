//! Any moment of what was recorded: of a history, of a file, or of a capture of an earlier build.

use super::pack::unpack;
use super::{DayFile, captured};
use anyhow::Context;
use hugewise_base::count::counted;
use hugewise_base::format::{FIRST, LaterVersion};
use hugewise_evidence::history::frame::{FORMAT, HEAD_BYTES, Head, find, version_of};
use hugewise_evidence::history::index::{Index, Place, at_or_before};
use hugewise_evidence::recording::readers::capture::sample;
use hugewise_linux::regular;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that are searched at a time for the next frame behind damage.
const SEARCH_BYTES: usize = 1 << 20;

/// Most problems that are listed.
const PROBLEMS_MAX: usize = 32;

/// A moment that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SampleRef {
    /// When: milliseconds since 1970-01-01 UTC.
    pub(crate) at_ms: i64,
    place: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// A frame of a file.
    Frame { file: usize, number: usize },
    /// A file of its own, of a capture of an earlier build.
    Sample(usize),
}

/// What was recorded, by moments. There is one at least.
#[derive(Debug)]
pub(crate) struct History {
    files: Vec<(PathBuf, File, Index)>,
    samples: Vec<PathBuf>,
    moments: Vec<SampleRef>,
    /// What is wrong with it, for the user.
    pub(crate) problems: Vec<String>,
    /// The text that was read last: mostly the next one's dictionary.
    last: Option<(At, Vec<u8>)>,
}

impl History {
    /// Whether [`History::open`] is for this path: a directory with files of samples, or such
    /// a file.
    ///
    /// A pipe is none: what is read from it to find out would be gone.
    pub(crate) fn is_recording(path: &Path) -> bool {
        if regular::is_directory(path) {
            return day_files(path).is_ok_and(|files| !files.is_empty())
                || captured::files(path).is_ok_and(|files| !files.is_empty());
        }
        let known = |start| version_of(start).is_some() || start == captured::ZSTD_MAGIC;
        start_of(path).is_ok_and(known)
    }

    /// Opens a history, a file of samples, or a capture of an earlier build.
    ///
    /// # Errors
    /// Where nothing was recorded there, or it cannot be read.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let mut past = Self {
            files: Vec::new(),
            samples: Vec::new(),
            moments: Vec::new(),
            problems: Vec::new(),
            last: None,
        };
        past.read(path).with_context(|| {
            format!("cannot read '{}': 'hugewise record' writes a history", path.display())
        })?;
        if past.problems.len() > PROBLEMS_MAX {
            let more = past.problems.len() - PROBLEMS_MAX;
            let more = counted(more, "more problem like these", "more problems like these");
            past.problems.truncate(PROBLEMS_MAX);
            past.problems.push(format!("and {more}"));
        }
        anyhow::ensure!(
            !past.moments.is_empty(),
            "nothing was recorded in '{}': 'hugewise record' writes a history, or a file with \
             '-o'{}",
            path.display(),
            past.problems.first().map(|why| format!(" ({why})")).unwrap_or_default()
        );
        Ok(past)
    }

    fn read(&mut self, path: &Path) -> io::Result<()> {
        let mut is_captured = false;
        let mut files = vec![path.to_path_buf()];
        if regular::is_directory(path) {
            files = day_files(path)?;
            if files.is_empty() {
                is_captured = true;
                let numbered = captured::files(path)?;
                self.problems = captured::gaps(path, &numbered);
                files.extend(numbered.into_iter().map(|(_, file)| file));
            }
        } else {
            is_captured = start_of(path)? == captured::ZSTD_MAGIC;
        }
        for file in files {
            let read = if is_captured { self.sample(&file) } else { self.frames(&file) };
            if let Err(why) = read {
                self.problems.push(format!("'{}' is left out: {why:#}", file.display()));
            }
        }
        Ok(())
    }

    /// Takes a file of one sample.
    fn sample(&mut self, path: &Path) -> anyhow::Result<()> {
        let text = captured::text(path)?;
        let header = sample::header_of(&text);
        let header = header.map_err(|why| anyhow::anyhow!("it is no sample: {why}"))?;
        let place = At::Sample(self.samples.len());
        self.moments.push(SampleRef { at_ms: header.at_ms, place });
        self.samples.push(path.to_path_buf());
        Ok(())
    }

    /// Takes a file of frames.
    fn frames(&mut self, path: &Path) -> anyhow::Result<()> {
        check_version(path)?;
        let file = regular::open(path)?;
        let index = index(&file)?;
        if index.damaged_bytes() > 0 {
            let bytes = counted(index.damaged_bytes(), "byte", "bytes");
            self.problems.push(format!("'{}': {bytes} of it are damaged", path.display()));
        }
        let numbers = 0..index.places().len();
        let (whole, torn): (Vec<_>, Vec<_>) = numbers.partition(|n| index.chain(*n).is_some());
        if !torn.is_empty() {
            let moments = counted(torn.len(), "moment", "moments");
            let why = "a sample before is damaged";
            self.problems.push(format!("'{}': {moments} left out: {why}", path.display()));
        }
        let of = self.files.len();
        let moments = whole.into_iter().map(|number| SampleRef {
            at_ms: index.places()[number].head.at_ms,
            place: At::Frame { file: of, number },
        });
        self.moments.extend(moments);
        self.files.push((path.to_path_buf(), file, index));
        Ok(())
    }

    /// The moments, in the order in which they were recorded.
    pub(crate) fn moments(&self) -> &[SampleRef] {
        &self.moments
    }

    /// The last moment that is not after this time; the first one where all are.
    pub(crate) fn at(&self, at_ms: i64) -> usize {
        at_or_before(self.moments.iter().map(|moment| moment.at_ms), at_ms).unwrap_or(0)
    }

    /// The text of a sample.
    ///
    /// # Errors
    /// Where it is damaged, or cannot be read.
    pub(crate) fn text(&mut self, moment: SampleRef) -> anyhow::Result<&[u8]> {
        if self.last.as_ref().is_none_or(|(place, _)| *place != moment.place) {
            let text = match moment.place {
                At::Sample(number) => captured::text(&self.samples[number])?,
                At::Frame { file, number } => self.frame(file, number)?,
            };
            let header = sample::header_of(&text).ok();
            let is = header.is_some_and(|header| header.at_ms == moment.at_ms);
            anyhow::ensure!(is, "a sample of another time stands here");
            self.last = Some((moment.place, text));
        }
        Ok(self.last.as_ref().map_or(&[], |(_, text)| text))
    }

    /// Unpacks a frame, and before it the frames that it needs.
    fn frame(&mut self, of: usize, number: usize) -> anyhow::Result<Vec<u8>> {
        let (path, file, index) = self.files.get(of).context("no such file")?;
        let chain = index.chain(number).context("a sample before is damaged")?;
        let known = self.last.take().and_then(|(place, text)| match place {
            At::Frame { file, number } if file == of && chain.contains(&number) => {
                Some((number, text))
            }
            _ => None,
        });
        let (from, mut text) = match known {
            Some((known, text)) => (known + 1, text),
            None => (*chain.start(), Vec::new()),
        };
        for place in &index.places()[from..=number] {
            let unpacked = unpacked(file, place, &text);
            text = unpacked.with_context(|| {
                format!("'{}' is damaged at byte {}", path.display(), place.offset)
            })?;
        }
        Ok(text)
    }
}

fn unpacked(file: &File, place: &Place, before: &[u8]) -> anyhow::Result<Vec<u8>> {
    let head = &place.head;
    let mut packed = vec![0; usize::try_from(head.packed_bytes)?];
    file.read_exact_at(&mut packed, place.packed())?;
    anyhow::ensure!(head.is_of_packed(&packed), "its sum is another one");
    let before = if head.number == 0 { &[][..] } else { before };
    let text = unpack(&packed, before, usize::try_from(head.text_bytes)?)?;
    anyhow::ensure!(head.is_of_text(&text), "its text is another one");
    Ok(text)
}

/// Whether this program reads the frames of a file. One that is empty, or damaged where it begins,
/// may be of any version.
///
/// # Errors
/// It is of a later version.
pub(super) fn check_version(path: &Path) -> Result<(), LaterVersion> {
    let found = start_of(path).ok().and_then(version_of);
    FORMAT.check(found.unwrap_or(FIRST))
}

/// How a regular file begins.
fn start_of(path: &Path) -> io::Result<[u8; 4]> {
    let mut start = [0; 4];
    regular::open(path)?.read_exact(&mut start)?;
    Ok(start)
}

/// The day files of a directory, the oldest first.
fn day_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for file in regular::entries(path)? {
        let name = file.file_name().and_then(|name| name.to_str());
        if let Some(day) = name.and_then(DayFile::parse) {
            files.push((day, file));
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, file)| file).collect())
}

/// The frames of a file. Behind damage the next whole head is searched.
pub(super) fn index(file: &File) -> io::Result<Index> {
    let length = file.metadata()?.len();
    let mut index = Index::default();
    let mut offset = 0;
    while let Some(place) = next(file, offset, length)? {
        offset = place.end();
        index.push(place);
    }
    index.close(length);
    Ok(index)
}

/// The first frame at or behind this place that is in the file as a whole.
fn next(file: &File, mut offset: u64, length: u64) -> io::Result<Option<Place>> {
    let mut head = [0; HEAD_BYTES];
    let mut window = Vec::new();
    while offset.saturating_add(HEAD_BYTES as u64) <= length {
        file.read_exact_at(&mut head, offset)?;
        if let Some(head) = Head::parse(&head) {
            let place = Place { offset, head };
            if place.end() <= length {
                return Ok(Some(place));
            }
        }
        // A head's place is at least one byte further.
        let from = offset + 1;
        let left = usize::try_from(length - from).unwrap_or(usize::MAX);
        window.resize(left.min(SEARCH_BYTES), 0);
        file.read_exact_at(&mut window, from)?;
        offset = match find(&window) {
            Some(at) => from + at as u64,
            // The head may begin in this window and end in the next.
            None => from + (window.len().saturating_sub(HEAD_BYTES - 1)).max(1) as u64,
        };
    }
    Ok(None)
}
