//! Collects what the readers understand into a [`Recording`].

mod chains;
mod counts;
mod pages;
mod typed;

use std::collections::{BTreeMap, BTreeSet};

use super::count_samples::CountSamples;
use super::counted::settle;
use super::expected::Expected;
use super::finish::{date_the_undated, drop_absent_available, join_in_time, sort_by_time};
use super::programs::Programs;
use super::{
    Clock, Field, Host, Point, Problem, Protocol, Quote, Recording, Restart, Series, Socket,
    SocketState, Source, SourceId, SourceKind, Stamp, Subject, Unrecognised,
};
use hugewise_base::parse::PROBLEMS_MAX;

/// Most values a recording takes: 24 bytes each, so about 120 MB. A day of `sar` at one minute
/// with all reports on 2 CPUs has half a million.
pub const POINTS_MAX: usize = 5_000_000;

/// How many values a series counts as, beside its own: its name and places take some 800 bytes.
const SERIES_POINTS: usize = 16;

/// Most series a recording takes. A machine with 1,000 CPUs has 10,000 of processor time.
pub const SERIES_MAX: usize = 200_000;

/// Most sockets a recording takes.
const SOCKETS_MAX: usize = hugewise_base::parse::tcp_table::SOCKETS_MAX;

/// Most sources: blocks of some tool's text. A file a day for years, or hundreds of pastes, has
/// fewer.
const SOURCES_MAX: usize = 20_000;

/// Most machines.
const HOSTS_MAX: usize = 1024;

/// Most settings of all machines. A sample of `hugewise record` has about 100.
const SETTINGS_MAX: usize = 100_000;

/// Most restarts of all machines.
const RESTARTS_MAX: usize = 100_000;

/// Most notes about one input on where something was left out of it.
const CUTS_MAX: usize = 32;

/// Longest setting that is recorded, in bytes.
const SETTING_BYTES_MAX: usize = 4096;

/// A series in the making. Only for the [`Builder`] that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesId(usize);

#[derive(Debug)]
struct Open {
    host: usize,
    field: Field,
    subject: Subject,
    series: Series,
}

/// Longest name of a machine (`HOST_NAME_MAX`).
const HOST_CHARS_MAX: usize = 64;

/// Longest command that is kept: options of listings stand at its start.
const COMMAND_CHARS_MAX: usize = 400;

/// After this many lines in a row that nobody knows, what was typed before them is forgotten: each
/// format that a command may print is tried on each line.
const UNKNOWN_LINES_MAX: usize = 10_000;

/// Collects values. Readers of one text call [`Builder::begin`] first, then put.
#[derive(Debug, Default)]
pub struct Builder {
    out: Recording,
    open: Vec<Open>,
    /// By host, source, field and subject.
    index: BTreeMap<(SourceId, Field), BTreeMap<Subject, usize>>,
    /// Values, with what series count as.
    points: usize,
    sockets: usize,
    settings: usize,
    restarts: usize,
    input: String,
    /// What was typed before the listing that is read now, where a prompt shows it.
    command: String,
    /// What it is about to print.
    expected: Expected,
    /// The container that it was run in.
    container: Option<String>,
    /// The file that a heading names, since then.
    heading: String,
    /// The cgroup's folder in which commands are typed.
    folder: Option<String>,
    /// Of the current input, too.
    samples: CountSamples,
    /// Machines whose listings follow, each below its name.
    awaited: BTreeSet<String>,
    /// Programs of all inputs.
    programs: Programs,
    /// Of the current input.
    problems: usize,
    cuts: usize,
    /// Whether what is said now is left out: it would have a source or machine of its own.
    closed: bool,
    host: Option<usize>,
    /// What a machine is called that nobody names.
    otherwise: Option<String>,
    /// Places of the named machines.
    by_name: BTreeMap<String, usize>,
    /// The machine before a shell prompt named another one.
    before_prompt: Option<Option<usize>>,
    source: Option<SourceId>,
    line: usize,
    full: bool,
}

impl Builder {
    /// Nothing collected yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// From here on everything is from this input: a file as the user named it. Its machine is
    /// unknown until [`Builder::host`] says.
    pub fn input(&mut self, name: &str) {
        name.clone_into(&mut self.input);
        (self.host, self.source, self.line) = (None, None, 0);
        (self.problems, self.cuts, self.closed) = (0, 0, false);
        self.before_prompt = None;
        self.forget_command();
        (self.container, self.folder) = (None, None);
        self.samples = CountSamples::default();
        self.awaited.clear();
    }

    /// From here on everything is about the machine of this name: to be called before
    /// [`Builder::begin`].
    pub fn host(&mut self, name: &str) {
        let name = name.trim();
        if name.is_empty() {
            return;
        }
        (self.source, self.before_prompt) = (None, None);
        let found = self.named(name);
        self.closed = found.is_none() && self.out.hosts.len() >= HOSTS_MAX;
        if self.closed {
            self.host = None;
            return self.say_full();
        }
        let host = found.unwrap_or_else(|| self.new_host(Some(name.to_owned())));
        self.host = Some(host);
    }

    /// A machine that the next inputs do not name is called so, instead of being one for all of
    /// them.
    pub fn otherwise_named(&mut self, name: &str) {
        self.otherwise = Some(name.to_owned());
    }

    /// The machine of this name. A prompt has its first part only, a listing often all of it: one
    /// without a domain is the one machine whose name begins so.
    fn named(&mut self, name: &str) -> Option<usize> {
        if let Some(found) = self.by_name.get(name) {
            return Some(*found);
        }
        let short = name.split_once('.').map(|(short, _)| short);
        let domain = short.is_some();
        let found = match short {
            Some(short) => *self.by_name.get(short)?,
            None => {
                // '/' is the next letter after '.': all of `name.*`.
                let (from, to) = (format!("{name}."), format!("{name}/"));
                let mut all = self.by_name.range(from..to).map(|(_, host)| *host);
                all.next().filter(|_| all.next().is_none())?
            }
        };
        self.by_name.insert(name.to_owned(), found);
        if let (true, Some(host)) = (domain, self.out.hosts.get_mut(found)) {
            host.name = Some(name.to_owned());
        }
        Some(found)
    }

    /// Like [`Builder::host`], for a name that only a shell prompt gives. It is valid until prose
    /// follows: what an article shows after that may be from another machine.
    pub(crate) fn host_of_prompt(&mut self, name: &str) {
        let before = self.before_prompt.unwrap_or(self.host);
        self.host(name);
        self.before_prompt = Some(before);
    }

    fn new_host(&mut self, name: Option<String>) -> usize {
        let at = self.out.hosts.len();
        if let Some(name) = &name {
            self.by_name.insert(name.clone(), at);
        }
        self.out.hosts.push(Host { name, ..Host::default() });
        at
    }

    /// The machine that is spoken of; where none is given, an unnamed one for all inputs, or the
    /// one that they are [otherwise named](Self::otherwise_named) by.
    fn current_host(&mut self) -> usize {
        if let Some(host) = self.host {
            return host;
        }
        let name = self.otherwise.clone().filter(|_| self.out.hosts.len() < HOSTS_MAX);
        let found = match &name {
            Some(name) => self.by_name.get(name).copied(),
            None => self.out.hosts.iter().position(|host| host.name.is_none()),
        };
        let host = found.unwrap_or_else(|| self.new_host(name));
        self.host = Some(host);
        host
    }

    /// A block in this format begins at `line`.
    pub fn begin(&mut self, kind: SourceKind, line: usize) {
        // The machine may be one too many already.
        self.closed = (self.closed && self.host.is_none()) || self.out.sources.len() >= SOURCES_MAX;
        if self.closed {
            self.source = None;
            return self.say_full();
        }
        let host = self.current_host();
        let id = SourceId(u32::try_from(self.out.sources.len()).unwrap_or(u32::MAX));
        let input = self.input.clone();
        self.out.sources.push(Source { input, kind, line, host, clock: Clock::Local });
        self.source = Some(id);
    }

    /// Like [`Builder::begin`], but continues with the latest block of this input if that is one of
    /// the same format and machine: for lines that others may interrupt, such as a log's.
    pub fn resume(&mut self, kind: SourceKind, line: usize) {
        if self.closed && self.host.is_none() {
            return;
        }
        let host = self.current_host();
        let latest = self.out.sources.len().checked_sub(1);
        let source = latest.and_then(|at| self.out.sources.get(at));
        let same = source.is_some_and(|source| {
            source.kind == kind && source.host == host && source.input == self.input
        });
        if same {
            self.source = latest.and_then(|at| u32::try_from(at).ok()).map(SourceId);
        } else {
            self.begin(kind, line);
        }
    }

    /// Says on whose clock the times of the current block are.
    pub fn clock(&mut self, clock: Clock) {
        if let Some(id) = self.source
            && let Some(source) = self.out.sources.get_mut(id.0 as usize)
        {
            source.clock = clock;
        }
    }

    /// The line that is read now, for problems.
    pub(crate) fn at_line(&mut self, line: usize) {
        self.line = line;
    }

    /// The line that is read now.
    pub(crate) const fn line(&self) -> usize {
        self.line
    }

    /// `None` when there is no room for it: what is said then is left out.
    fn current_source(&mut self) -> Option<SourceId> {
        if self.source.is_none() && !self.closed {
            self.begin(SourceKind::Capture, self.line);
        }
        self.source
    }

    /// The series to which [`Builder::push`] adds. `None` when the recording is full.
    pub fn series(&mut self, field: Field, subject: &Subject) -> Option<SeriesId> {
        let source = self.current_source()?;
        let of_field = self.index.entry((source, field)).or_default();
        if let Some(found) = of_field.get(subject) {
            return Some(SeriesId(*found));
        }
        if self.open.len() >= SERIES_MAX || self.points >= POINTS_MAX {
            self.say_full();
            return None;
        }
        self.points += SERIES_POINTS;
        let id = self.open.len();
        of_field.insert(subject.clone(), id);
        let host = self.out.sources.get(source.0 as usize).map_or(0, |source| source.host);
        let series = Series { source, later: Vec::new(), points: Vec::new() };
        self.open.push(Open { host, field, subject: subject.clone(), series });
        Some(SeriesId(id))
    }

    /// Adds a value. One that is no finite number is left out: it says nothing.
    pub fn push(&mut self, id: SeriesId, at: Option<Stamp>, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.points >= POINTS_MAX {
            self.say_full();
            return;
        }
        if let Some(open) = self.open.get_mut(id.0) {
            open.series.points.push(Point { at, value });
            self.points += 1;
        }
    }

    /// [`Builder::series`] and [`Builder::push`] in one. The second look at a count gives its rate,
    /// too, where the time in between is known.
    pub fn put(&mut self, field: Field, subject: &Subject, at: Option<Stamp>, value: f64) {
        let Some(id) = self.series(field, subject) else { return };
        self.push(id, at, value);
        let Some(grows) = field.rate().filter(|_| at.is_none()) else { return };
        if let Some(rate) = self.grown(field, subject, (value, None)) {
            self.put(grows, subject, None, rate);
        }
    }

    /// Puts a value that may not be known.
    pub(crate) fn put_known(
        &mut self,
        field: Field,
        subject: &Subject,
        at: Option<Stamp>,
        value: Option<f64>,
    ) {
        if let Some(value) = value {
            self.put(field, subject, at, value);
        }
    }

    /// A setting, by path or name. The last one said wins.
    pub fn setting(&mut self, name: &str, text: &str) {
        let Some(source) = self.current_source() else { return };
        let text: String = text.trim().chars().take(SETTING_BYTES_MAX).collect();
        let host = self.current_host();
        let Some(host) = self.out.hosts.get_mut(host) else { return };
        if let Some(known) = host.settings.get_mut(name) {
            *known = Quote { source, text };
        } else if self.settings < SETTINGS_MAX {
            self.settings += 1;
            host.settings.insert(name.to_owned(), Quote { source, text });
        } else {
            self.say_full();
        }
    }

    /// A setting that somebody speaks of: the setting itself, where it was shown, says more.
    pub fn setting_unless_known(&mut self, name: &str, text: &str) {
        let host = self.current_host();
        let known = self.out.hosts.get(host).is_some_and(|host| host.settings.contains_key(name));
        if !known {
            self.setting(name, text);
        }
    }

    /// A row of `netstat` or `ss`: queues in this order: received, sent.
    pub fn socket(
        &mut self,
        (protocol, state): (Option<Protocol>, SocketState),
        queues: (u64, u64),
        ends: (&str, &str),
        program: Option<&str>,
    ) {
        if self.sockets >= SOCKETS_MAX {
            self.say_full();
            return;
        }
        let Some(source) = self.current_source() else { return };
        self.sockets += 1;
        let host = self.current_host();
        let socket = Socket {
            source,
            protocol,
            state,
            receive_queue: queues.0,
            send_queue: queues.1,
            local: ends.0.to_owned(),
            remote: ends.1.to_owned(),
            program: program.map(str::to_owned),
        };
        if let Some(host) = self.out.hosts.get_mut(host) {
            host.sockets.push(socket);
        }
    }

    /// The machine, or its recorder, was started again.
    pub fn restart(&mut self, at: Option<Stamp>) {
        if self.restarts >= RESTARTS_MAX || self.closed {
            return self.say_full();
        }
        self.restarts += 1;
        let host = self.current_host();
        if let Some(host) = self.out.hosts.get_mut(host) {
            host.restarts.push(Restart { at });
        }
    }

    fn say_full(&mut self) {
        if !self.full {
            self.full = true;
            let text = format!(
                "too much for one diagnosis (more than {POINTS_MAX} values, {SERIES_MAX} series, \
                 {SOCKETS_MAX} sockets, {SOURCES_MAX} blocks of text, {HOSTS_MAX} machines, \
                 {SETTINGS_MAX} settings or {RESTARTS_MAX} restarts): the rest is left out; give \
                 fewer files, or a part"
            );
            self.out.problems.push(Problem { input: self.input.clone(), line: None, text });
        }
    }

    /// Something the user should know about the line that is read now.
    pub fn problem(&mut self, text: impl Into<String>) {
        let line = Some(self.line).filter(|line| *line > 0);
        self.push_problem(line, text.into());
    }

    /// Something the user should know about the whole input.
    pub fn input_problem(&mut self, text: impl Into<String>) {
        self.push_problem(None, text.into());
    }

    /// Something that was left out of the input because there is too much of it. It is reported
    /// however many problems the input has.
    pub fn cut(&mut self, text: impl Into<String>) {
        if self.cuts < CUTS_MAX {
            self.cuts += 1;
            let (input, text) = (self.input.clone(), text.into());
            self.out.problems.push(Problem { input, line: None, text });
        }
    }

    fn push_problem(&mut self, line: Option<usize>, text: String) {
        self.problems += 1;
        if self.problems <= PROBLEMS_MAX {
            self.out.problems.push(Problem { input: self.input.clone(), line, text });
        } else if self.problems == PROBLEMS_MAX + 1 {
            self.cut(format!("more than {PROBLEMS_MAX} problems in it: the others are not listed"));
        }
    }

    /// A line that no reader understood; neighbours are reported as one stretch.
    pub fn unrecognised(&mut self, line: usize, text: &str) {
        self.between(text);
        if let Some(last) = self.out.unrecognised.last_mut()
            && last.input == self.input
            && last.last_line + 1 >= line
        {
            last.last_line = line;
            if line - last.first_line >= UNKNOWN_LINES_MAX {
                self.forget_command();
            }
            return;
        }
        if self.out.unrecognised.len() >= PROBLEMS_MAX {
            // The stretch grows over what was understood in between, rather than growing the list.
            if let Some(last) = self.out.unrecognised.last_mut().filter(|l| l.input == self.input) {
                last.last_line = line;
            }
            return;
        }
        let part = Unrecognised::of_line(&self.input, line, text);
        self.out.unrecognised.push(part);
    }

    /// Whether anything of the current input was understood.
    pub fn understood(&self) -> bool {
        self.out.sources.iter().any(|source| source.input == self.input)
    }

    /// The recording: unnamed inputs joined to the machine's name where there is just one, days
    /// counted from the date where there is just one.
    pub fn finish(mut self) -> Recording {
        self.join_unnamed();
        self.date_undated();
        for open in self.open {
            if open.series.points.is_empty() {
                continue;
            }
            if let Some(host) = self.out.hosts.get_mut(open.host) {
                let of_field = host.series.entry(open.field).or_default();
                of_field.entry(open.subject).or_default().push(open.series);
            }
        }
        date_the_undated(&mut self.out);
        settle(&mut self.out);
        let sources = &self.out.sources;
        for host in &mut self.out.hosts {
            for all in host.series.values_mut().flat_map(BTreeMap::values_mut) {
                all.iter_mut().for_each(sort_by_time);
                join_in_time(all, sources);
            }
        }
        drop_absent_available(&mut self.out);
        self.out
    }

    /// Text without a machine's name, beside text of one machine, is taken to be about it.
    fn join_unnamed(&mut self) {
        let hosts = &mut self.out.hosts;
        let Some(unnamed) = hosts.iter().position(|host| host.name.is_none()) else { return };
        if hosts.len() != 2 {
            return;
        }
        let other = hosts.remove(unnamed);
        let host = &mut hosts[0];
        for (name, quote) in other.settings {
            host.settings.entry(name).or_insert(quote);
        }
        host.sockets.extend(other.sockets);
        host.restarts.extend(other.restarts);
        host.settings_in_pages.extend(other.settings_in_pages);
        host.several_page_sizes |= other.several_page_sizes;
        if let Some((told, bytes)) = other.base_page {
            host.told_base_page(told, bytes);
        }
        for source in &mut self.out.sources {
            source.host = 0;
        }
        for open in &mut self.open {
            open.host = 0;
        }
    }

    /// Times without a date, beside times of a single day, are taken to be of that day.
    fn date_undated(&mut self) {
        let mut days: BTreeMap<usize, BTreeSet<i64>> = BTreeMap::new();
        for open in &self.open {
            let first_and_last = [open.series.points.first(), open.series.points.last()];
            let stamps = first_and_last.into_iter().flatten().filter_map(|point| point.at);
            let of_host = days.entry(open.host).or_default();
            of_host.extend(stamps.filter(|stamp| stamp.has_date()).map(Stamp::day));
        }
        for open in &mut self.open {
            let one = days.get(&open.host).filter(|days| days.len() == 1);
            let Some(day) = one.and_then(BTreeSet::first).copied() else { continue };
            for at in open.series.points.iter_mut().filter_map(|point| point.at.as_mut()) {
                if !at.has_date() {
                    *at = at.days_later(day);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(builder: &mut Builder, input: &str, at: i64, value: f64) {
        builder.input(input);
        builder.begin(SourceKind::SarText, 1);
        let stamp = Stamp::midnight(2026, 11, 22).map(|day| Stamp(day.0 + at));
        builder.put(Field::CpuIdle, &Subject::Machine, stamp, value);
        builder.put(Field::CpuIdle, &Subject::Machine, stamp.map(|s| Stamp(s.0 + 60)), value);
    }

    #[test]
    fn a_file_a_day_is_one_series() {
        let mut builder = Builder::new();
        put(&mut builder, "second", 7200, 2.0);
        put(&mut builder, "first", 600, 1.0);
        let recording = builder.finish();
        let series = &recording.hosts[0].series[&Field::CpuIdle][&Subject::Machine];
        assert_eq!(series.len(), 1);
        let values: Vec<f64> = series[0].points.iter().map(|point| point.value).collect();
        assert_eq!(values, [1.0, 1.0, 2.0, 2.0]);
        assert_eq!((series[0].source, series[0].later[0].1), (SourceId(1), SourceId(0)));
    }

    #[test]
    fn two_views_of_the_same_time_stay_apart() {
        let mut builder = Builder::new();
        put(&mut builder, "one", 600, 1.0);
        put(&mut builder, "other", 630, 2.0);
        let recording = builder.finish();
        assert_eq!(recording.hosts[0].series[&Field::CpuIdle][&Subject::Machine].len(), 2);
    }
}
