//! What a user writes about a load.

use super::number::{print_time, time};
use super::profile::{LONGEST_STEP, Profile, ProfileError};
use super::target::{Target, TargetError};
use hugewise_base::units::Ns;
use serde::{Deserialize, Serialize};

/// The most connections. Ours: each is a file descriptor here and at the server.
pub const MOST_CONNECTIONS: u32 = 10_000;
/// The largest value, Redis' own limit being 512 MB.
pub const LARGEST_VALUE_BYTES: u32 = 64 << 20;
/// The highest number of keys. Ours: keys are printed with twelve digits.
pub const MOST_KEYS: u64 = 999_999_999_999;

/// The longest time a command of the user's may take, in seconds: a day, as steps may.
pub const LONGEST_COMMAND_S: u64 = 24 * 3600;

/// A load, as in a configuration file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// The server: see [`Target`]. An experiment leaves it out, as it starts the server itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The steps in their order: see [`super::profile::GRAMMAR`]. A command has its own.
    #[serde(default)]
    pub steps: Vec<String>,
    /// Connections, opened before the begin. A request needs one of its own.
    #[serde(default = "default_connections")]
    pub connections: u32,
    /// How arrivals are spread.
    #[serde(default)]
    pub arrivals: ArrivalKind,
    /// Requests of each user that arrives. Steps in requests have no users.
    #[serde(default = "one")]
    pub requests_per_user: u32,
    /// Time between a user's answer and the next request.
    #[serde(default)]
    pub think_time: ThinkTime,
    /// What is asked of Redis.
    #[serde(default)]
    pub operations: Operations,
    /// Keys of Redis, each as likely as the others.
    #[serde(default = "default_keys")]
    pub keys: u64,
    /// Length of a value in bytes. Values are random: they do not compress and are never zero.
    #[serde(default = "default_value_bytes")]
    pub value_bytes: u32,
    /// Whether every key is set before the begin. Without it a GET may find nothing.
    #[serde(default)]
    pub preload: bool,
    /// Time from its intended start after which a request has failed, in milliseconds.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
    /// Requests that may wait for a connection, and users that may think, at the same time. More
    /// of them fail by name, so that a stalled server cannot fill this machine's memory.
    #[serde(default = "default_waiting")]
    pub max_waiting: u32,
    /// Decides arrivals, keys, values and think times.
    #[serde(default = "one_seed")]
    pub seed: u64,
    /// Who sends: see [`LoadSpec::sender`].
    #[serde(default)]
    pub tool: Tool,
    /// A program of the user's that sends the load, and its arguments; see [`super::command`].
    #[serde(default)]
    pub command: Vec<String>,
    /// The file that it writes: a path from its working directory, where `*` stands for anything
    /// within a name; of several the newest.
    #[serde(default)]
    pub results: String,
    /// Its working directory; an empty one of the run where this is empty.
    #[serde(default)]
    pub directory: String,
    /// Exit codes that are no failure, as that of k6 whose thresholds were crossed.
    #[serde(default = "zero")]
    pub ok_codes: Vec<u8>,
    /// It is ended after so long, in seconds.
    #[serde(default = "default_longest_s")]
    pub longest_s: u64,
}

fn zero() -> Vec<u8> {
    vec![0]
}
const fn default_longest_s() -> u64 {
    3600
}
const fn default_connections() -> u32 {
    50
}
const fn one() -> u32 {
    1
}
const fn one_seed() -> u64 {
    1
}
const fn default_keys() -> u64 {
    100_000
}
const fn default_value_bytes() -> u32 {
    1024
}
const fn default_timeout_ms() -> u64 {
    10_000
}
const fn default_waiting() -> u32 {
    100_000
}

/// How arrivals are spread over a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalKind {
    /// The same gap between all.
    #[default]
    Even,
    /// Independent of each other, as those of many users are; bursts happen.
    Poisson,
}

/// Who sends the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Tool {
    /// This program.
    #[default]
    Own,
    /// Gatling, for HTTP.
    Gatling,
    /// A program of the user's.
    Command,
}

impl Tool {
    /// The name of the setting, and of the tool in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Gatling => "gatling",
            Self::Command => "command",
        }
    }
}

impl From<Tool> for &'static str {
    fn from(tool: Tool) -> Self {
        tool.name()
    }
}

impl TryFrom<String> for Tool {
    type Error = SpecError;

    fn try_from(text: String) -> Result<Self, SpecError> {
        let known =
            [Self::Own, Self::Gatling, Self::Command].into_iter().find(|tool| tool.name() == text);
        known.ok_or_else(|| SpecError::Tool(text.chars().take(80).collect()))
    }
}

/// Shares of Redis' operations, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operations {
    /// `GET`.
    pub get_percent: u8,
    /// `SET`.
    pub set_percent: u8,
}

impl Default for Operations {
    fn default() -> Self {
        Self { get_percent: 90, set_percent: 10 }
    }
}

/// Time between a user's answer and the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum ThinkTime {
    /// None.
    #[default]
    None,
    /// Always the same.
    Constant(Ns),
    /// Exponentially distributed with this mean.
    Exponential(Ns),
}

impl From<ThinkTime> for String {
    fn from(think: ThinkTime) -> Self {
        match think {
            ThinkTime::None => "none".into(),
            ThinkTime::Constant(time) => format!("constant {}", print_time(time)),
            ThinkTime::Exponential(mean) => format!("exponential {}", print_time(mean)),
        }
    }
}

impl TryFrom<String> for ThinkTime {
    type Error = SpecError;

    fn try_from(text: String) -> Result<Self, SpecError> {
        let wrong = || SpecError::ThinkTime(text.chars().take(80).collect());
        if text == "none" {
            return Ok(Self::None);
        }
        let (kind, time_text) = text.split_once(' ').ok_or_else(wrong)?;
        let time = time(time_text).filter(|time| *time <= LONGEST_STEP).ok_or_else(wrong)?;
        match kind {
            "constant" => Ok(Self::Constant(time)),
            "exponential" => Ok(Self::Exponential(time)),
            _ => Err(wrong()),
        }
    }
}

/// Why a load is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// See there.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// See there.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// Think time in another form.
    #[error("think_time '{0}': allowed are 'none', 'constant 100 ms' and 'exponential 100 ms'")]
    ThinkTime(String),
    /// Nobody of this name sends.
    #[error(
        "tool '{0}': allowed are 'own' (hugewise itself, HTTP and Redis; the default) and \
        'gatling' (HTTP); your own tool is 'command = [\"k6\", \"run\", ...]' with 'results'"
    )]
    Tool(String),
    /// Shares that are no whole.
    #[error("operations: get_percent {0} and set_percent {1} are not 100 together")]
    Percent(u8, u8),
    /// Keys, where there are none.
    #[error("preload = true sets keys of Redis, and the target is {0}")]
    Preload(String),
    /// What users do, and nobody who does it.
    #[error(
        "requests_per_user and think_time are of users, and no step brings users: \
        'ramp 100 users over 200 s' does"
    )]
    NoUsers,
    /// A command without what it needs.
    #[error("a load that is a command needs '{0}'")]
    Lacks(&'static str),
    /// What only a command has.
    #[error("'{0}' is a setting of a load with 'command'")]
    NoCommand(&'static str),
    /// What a command decides itself.
    #[error("'{0}' and 'command' exclude each other: what a command sends is in its own files")]
    Decided(&'static str),
    /// A directory that depends on where hugewise was started.
    #[error("directory '{0}': wanted an absolute path")]
    Relative(String),
    /// A number out of its range.
    #[error("{name} = {value}: allowed are {low} to {high}")]
    Range {
        /// The setting.
        name: &'static str,
        /// What it is.
        value: u64,
        /// The least that is allowed.
        low: u64,
        /// The most that is allowed.
        high: u64,
    },
}

impl LoadSpec {
    /// A load with every setting at its default.
    pub fn new(target: &str, steps: &[&str]) -> Self {
        Self {
            target: target.to_owned(),
            steps: steps.iter().map(|step| (*step).to_owned()).collect(),
            connections: default_connections(),
            arrivals: ArrivalKind::default(),
            requests_per_user: one(),
            think_time: ThinkTime::default(),
            operations: Operations::default(),
            keys: default_keys(),
            value_bytes: default_value_bytes(),
            preload: false,
            timeout_ms: default_timeout_ms(),
            max_waiting: default_waiting(),
            seed: one_seed(),
            tool: Tool::default(),
            command: Vec::new(),
            results: String::new(),
            directory: String::new(),
            ok_codes: zero(),
            longest_s: default_longest_s(),
        }
    }

    /// Who sends.
    pub fn sender(&self) -> Tool {
        if self.command.is_empty() { self.tool } else { Tool::Command }
    }

    /// The server and the steps, after every setting was checked. Of a command the steps are not
    /// known, and their time is the longest that it may take.
    pub fn check(&self) -> Result<(Target, Profile), SpecError> {
        let target: Target = self.target.parse()?;
        if self.sender() == Tool::Command {
            return self.check_command().map(|profile| (target, profile));
        }
        self.check_no_command()?;
        let profile = Profile::parse(&self.steps)?;
        let Operations { get_percent, set_percent } = self.operations;
        if u16::from(get_percent) + u16::from(set_percent) != 100 {
            return Err(SpecError::Percent(get_percent, set_percent));
        }
        for (name, value, high) in [
            ("connections", u64::from(self.connections), u64::from(MOST_CONNECTIONS)),
            ("requests_per_user", u64::from(self.requests_per_user), 1_000_000),
            ("keys", self.keys, MOST_KEYS),
            ("value_bytes", u64::from(self.value_bytes), u64::from(LARGEST_VALUE_BYTES)),
            ("timeout_ms", self.timeout_ms, 600_000),
            ("max_waiting", u64::from(self.max_waiting), 10_000_000),
        ] {
            if value < 1 || value > high {
                return Err(SpecError::Range { name, value, low: 1, high });
            }
        }
        if self.preload && !target.is_redis() {
            return Err(SpecError::Preload(target.to_string()));
        }
        let users = self.requests_per_user > 1 || self.think_time != ThinkTime::None;
        if users && profile.users() == 0 {
            return Err(SpecError::NoUsers);
        }
        Ok((target, profile))
    }

    fn check_no_command(&self) -> Result<(), SpecError> {
        let plain = Self::new("", &[]);
        let given = [
            ("results", self.results != plain.results),
            ("directory", self.directory != plain.directory),
            ("ok_codes", self.ok_codes != plain.ok_codes),
            ("longest_s", self.longest_s != plain.longest_s),
        ];
        let first = given.iter().find(|(_, given)| *given);
        first.map_or(Ok(()), |(name, _)| Err(SpecError::NoCommand(name)))
    }

    /// Keys and values of Redis are not the command's: they are set before it begins.
    fn check_command(&self) -> Result<Profile, SpecError> {
        let plain = Self::new("", &[]);
        let given = [
            ("tool", !matches!(self.tool, Tool::Own | Tool::Command)),
            ("steps", self.steps != plain.steps),
            ("connections", self.connections != plain.connections),
            ("arrivals", self.arrivals != plain.arrivals),
            ("requests_per_user", self.requests_per_user != plain.requests_per_user),
            ("think_time", self.think_time != plain.think_time),
            ("operations", self.operations != plain.operations),
            ("timeout_ms", self.timeout_ms != plain.timeout_ms),
            ("max_waiting", self.max_waiting != plain.max_waiting),
        ];
        if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
            return Err(SpecError::Decided(name));
        }
        for (name, missing) in [
            ("command", self.command.first().is_none_or(String::is_empty)),
            ("results", self.results.is_empty()),
            ("ok_codes", self.ok_codes.is_empty()),
        ] {
            if missing {
                return Err(SpecError::Lacks(name));
            }
        }
        let directory = self.directory.as_str();
        if !directory.is_empty() && !directory.starts_with('/') {
            return Err(SpecError::Relative(directory.chars().take(80).collect()));
        }
        let (value, high) = (self.longest_s, LONGEST_COMMAND_S);
        if value < 1 || value > high {
            return Err(SpecError::Range { name: "longest_s", value, low: 1, high });
        }
        Ok(Profile::untold(Ns::s(value)))
    }

    /// How long a request may take from its intended start.
    pub const fn timeout(&self) -> Ns {
        Ns::ms(self.timeout_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<LoadSpec, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn two_settings_are_enough() {
        let text = r#"{"target": "redis://localhost", "steps": ["constant 10/s for 1 s"]}"#;
        let spec = read(text).expect("two settings");
        assert_eq!(spec, LoadSpec::new("redis://localhost", &["constant 10/s for 1 s"]));
        let (target, profile) = spec.check().expect("allowed");
        assert_eq!((target.is_redis(), profile.arrivals()), (true, 10));
        let back = serde_json::to_string(&spec).expect("plain data");
        assert_eq!(read(&back), Ok(spec));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let unknown = read(r#"{"target": "redis://localhost", "steps": [], "conections": 5}"#);
        assert!(unknown.expect_err("a typing error").contains("conections"));
        let think = r#"{"target": "redis://localhost", "steps": [], "think_time": "long"}"#;
        assert!(read(think).expect_err("no think time").contains("think_time 'long'"));
        let mut spec = LoadSpec::new("redis://localhost", &["peak 1 at once"]);
        spec.operations.set_percent = 20;
        assert_eq!(spec.check(), Err(SpecError::Percent(90, 20)));
        spec.operations.set_percent = 10;
        spec.connections = 0;
        let error = spec.check().expect_err("no connection").to_string();
        assert_eq!(error, "connections = 0: allowed are 1 to 10000");
        spec.connections = 1;
        spec.requests_per_user = 2;
        assert_eq!(spec.check(), Err(SpecError::NoUsers));
        spec.steps = vec!["peak 1 users at once".into()];
        assert!(spec.check().is_ok());
        (spec.preload, spec.target) = (true, "http://localhost/".into());
        assert_eq!(spec.check(), Err(SpecError::Preload("http://127.0.0.1:80/".into())));
    }

    #[test]
    fn a_tool_that_is_none_says_which_there_are() {
        let load = |tool: &str| {
            read(&format!(r#"{{"target": "http://localhost", "steps": [], "tool": "{tool}"}}"#))
        };
        for tool in [Tool::Own, Tool::Gatling, Tool::Command] {
            let spec = load(tool.name()).expect("one that there is");
            assert_eq!(spec.tool, tool);
            let text = serde_json::to_string(&spec).expect("plain data");
            assert!(text.contains(&format!(r#""tool":"{}""#, tool.name())), "{text}");
        }
        for gone in ["memtier", "wrk2", "k6"] {
            let error = load(gone).expect_err("gone");
            for said in [&format!("tool '{gone}'"), "'own'", "'gatling'", "'command ="] {
                assert!(error.contains(said), "{error}");
            }
        }
    }

    #[test]
    fn a_command_decides_what_it_sends() {
        let load = |more: &str| {
            let text = format!(r#"{{"target": "http://localhost", "results": "out.json" {more}}}"#);
            read(&text).expect("well-formed")
        };
        let error = |more: &str| load(more).check().expect_err(more).to_string();
        let command = r#", "command": ["k6", "run", "--out", "json=out.json", "script.js"]"#;
        let (_, profile) = load(command).check().expect("allowed");
        assert_eq!((profile.time(), profile.arrivals()), (Ns::s(3600), 0));
        assert_eq!(load(command).sender(), Tool::Command);
        assert_eq!(error(""), "'results' is a setting of a load with 'command'");
        assert!(error(r#", "tool": "command""#).contains("needs 'command'"));
        assert!(error(r#", "command": [""]"#).contains("needs 'command'"));
        let with = |more: &str| error(&format!("{command}{more}"));
        for name in ["steps", "connections", "think_time"] {
            let value = match name {
                "steps" => r#"["peak 1 at once"]"#,
                "connections" => "7",
                _ => r#""constant 1 s""#,
            };
            let said = with(&format!(r#", "{name}": {value}"#));
            assert!(said.contains(&format!("'{name}' and 'command' exclude")), "{said}");
        }
        assert!(with(r#", "tool": "gatling""#).contains("'tool' and 'command' exclude"));
        assert!(with(r#", "directory": "here""#).contains("absolute path"));
        assert!(with(r#", "longest_s": 0"#).contains("longest_s = 0: allowed are 1 to 86400"));
        assert!(with(r#", "ok_codes": []"#).contains("needs 'ok_codes'"));
    }

    #[test]
    fn think_times_survive_printing() {
        for text in ["none", "constant 100 ms", "exponential 1.5 s"] {
            let think = ThinkTime::try_from(text.to_owned()).expect("allowed");
            let printed = String::from(think);
            assert_eq!(ThinkTime::try_from(printed), Ok(think));
        }
    }
}
