//! The answer for people: 80 columns, the conclusion first. Pure.

pub(crate) mod advice;
mod parts;
mod source;
mod trackers;

pub(crate) use self::source::Source;

use self::advice::{Advice, something_is_missing};
use self::parts::{KEY_WIDTH, STATE_WIDTH, push};
use crate::render::colour::Paint;
use crate::render::text::wrap;
use hugewise_linux::probe::{
    CgroupVersion, Features, Mechanism, MemoryLimit, Need, OwnCgroup, State,
};
use hugewise_linux::track::Found;

/// Everything, as text that ends with a newline.
pub(crate) fn render(
    features: &Features,
    trackers: &[Found],
    advice: &[Advice],
    source: Source<'_>,
    paint: Paint,
) -> String {
    let mut out = String::new();
    headline(&mut out, features, source, paint);
    for (need, title) in [
        (Need::Required, "What 'hugewise manage' needs"),
        (Need::Useful, "What makes it better"),
        (Need::Unused, "Seen, but not used by this version"),
    ] {
        push(&mut out, "");
        let head = format!("{:<KEY_WIDTH$} {:<STATE_WIDTH$} {}", "mechanism", "state", "used for");
        push(&mut out, &paint.bold(title));
        push(&mut out, &paint.dim(&format!("  {head}")));
        for mechanism in features.mechanisms.iter().filter(|m| m.need == need) {
            row(&mut out, mechanism, paint);
        }
    }
    push(&mut out, "");
    trackers::section(&mut out, trackers, paint);
    push(&mut out, "");
    rights(&mut out, features, paint);
    push(&mut out, "");
    push(&mut out, &paint.bold("What to do next"));
    for advice in advice {
        out.push_str(&wrap("  ", &advice.problem));
        out.push_str(&wrap("  ", &advice.remedy));
        for command in &advice.commands {
            // Never broken: commands are there to be copied.
            push(&mut out, &format!("    {command}"));
        }
    }
    out
}

fn headline(out: &mut String, features: &Features, source: Source<'_>, paint: Paint) {
    let release = features.kernel_release.as_deref().unwrap_or("of unknown release");
    let release: String = release.chars().filter(|c| !c.is_control()).take(40).collect();
    let verdict = &features.verdict;
    let sure = if verdict.not_proven.is_empty() { "proven" } else { "NOT PROVEN" };
    let tier = verdict.tier.map_or_else(|| "unknown".to_owned(), |tier| format!("{tier:?}"));
    let complete = !something_is_missing(features);
    let head = wrap("", &format!("Linux {release}: tier {tier}, {sure}"));
    let head = head.trim_end();
    push(out, &if complete { paint.good(head) } else { paint.warn(head) });
    if let Some(tier) = verdict.tier {
        out.push_str(&wrap("", &format!("Tier {tier:?} is {}.", tier.meaning())));
    }
    match source {
        Source::Tree(path) => {
            let path = path.display();
            out.push_str(&wrap(
                "",
                &format!("Read from {path}: by version only, nothing was proven."),
            ));
        }
        Source::Live => {
            for why in &verdict.not_proven {
                out.push_str(&wrap("  ", &format!("not proven, by version only: {why}")));
            }
        }
    }
    let can = match (complete, source) {
        (true, _) => "Everything that 'hugewise manage' needs is here.".to_owned(),
        (false, Source::Live) => {
            let names: Vec<&str> = missing(features).collect();
            let how = if features.has("remote_collapse") { "not fully work" } else { "not work" };
            let names = names.join(", ");
            format!("'hugewise manage' would {how} here and now; missing or unproven: {names}.")
        }
        (false, Source::Tree(_)) => "What is needed could not all be confirmed.".to_owned(),
    };
    out.push_str(&wrap("", &can));
}

fn missing(features: &Features) -> impl Iterator<Item = &str> {
    let needed = features.mechanisms.iter().filter(|m| m.need == Need::Required);
    let mechanisms = needed.filter(|m| m.state != State::Present).map(|m| m.key);
    let namespace = (features.privileges.initial_userns != Some(true)).then_some("user namespace");
    features.privileges.missing().into_iter().chain(namespace).chain(mechanisms)
}

fn row(out: &mut String, mechanism: &Mechanism, paint: Paint) {
    let (word, why) = match &mechanism.state {
        State::Present => ("yes", None),
        State::Absent(why) => ("absent", Some(why)),
        State::Refused(why) => ("refused", Some(why)),
        State::Unknown(why) => ("unknown", Some(why)),
    };
    let state = format!("{word:<STATE_WIDTH$}");
    let state = match (&mechanism.state, mechanism.need) {
        (State::Present, _) => paint.good(&state),
        (_, Need::Required) => paint.bad(&state),
        (_, Need::Useful) => paint.warn(&state),
        (_, Need::Unused) => paint.dim(&state),
    };
    let key = mechanism.key;
    out.push_str(&wrap(&format!("  {key:<KEY_WIDTH$} {state} "), mechanism.used_for));
    let indent = "      ";
    if let Some(why) = why {
        out.push_str(&wrap(indent, &format!("why: {why}")));
        if mechanism.need != Need::Unused {
            out.push_str(&wrap(indent, &format!("without: {}", mechanism.without)));
        }
    }
    if let Some(detail) = &mechanism.detail {
        wrap(indent, detail).lines().for_each(|line| push(out, &paint.dim(line)));
    }
}

fn rights(out: &mut String, features: &Features, paint: Paint) {
    push(out, &paint.bold("Privileges and surroundings"));
    let privileges = &features.privileges;
    let uid = privileges.uid.map_or_else(|| "unknown".to_owned(), |uid| uid.to_string());
    let mut say = |key: &str, value: &str| {
        out.push_str(&wrap(&format!("  {key:<KEY_WIDTH$} "), value));
    };
    say("effective user id", &uid);
    for cap in &privileges.caps {
        let word = match cap.held {
            Some(true) => "yes",
            Some(false) if cap.need == Need::Required => "MISSING",
            Some(false) => "no",
            None => "unknown",
        };
        let optional = if cap.need == Need::Required { "" } else { ", optional" };
        say(cap.name, &format!("{word}: {}{optional}", cap.used_for));
    }
    let yes_no = |answer: Option<bool>| match answer {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    say("initial user namespace", yes_no(privileges.initial_userns));
    let lockdown = features.lockdown.as_deref().unwrap_or("unknown (not shown in /sys)");
    say("lockdown", &format!("{lockdown}; hugewise works under all of them"));
    say("container", features.container.as_deref().unwrap_or("no sign of one"));
    say("cgroup", &cgroup(features.cgroup));
    say("virtual machine", yes_no(features.hypervisor));
}

fn cgroup(own: OwnCgroup) -> String {
    let version = match own.version {
        Some(CgroupVersion::V1) => "version 1",
        Some(CgroupVersion::V2) => "version 2",
        Some(CgroupVersion::Hybrid) => "version 1 for memory (hybrid)",
        None => "unknown version",
    };
    let limit = match own.memory_limit {
        Some(MemoryLimit::Unlimited) => "no memory limit".to_owned(),
        Some(MemoryLimit::Bytes(bytes)) => {
            format!("own memory limit {}", hugewise_base::units::Bytes(bytes))
        }
        None => "memory limit unknown".to_owned(),
    };
    format!("{version}, {limit}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use hugewise_linux::probe::{Capability, Privileges, Tier, Verdict};
    use hugewise_manager::snapshot::ThpMode;

    /// A machine on which nothing is missing.
    pub(crate) fn features() -> Features {
        let present = |(key, need)| Mechanism {
            key,
            state: State::Present,
            detail: None,
            need,
            used_for: "a purpose that fits the line",
            without: "something else",
        };
        let cap = |name| Capability { name, held: Some(true), need: Need::Required, used_for: "" };
        let mechanisms = [
            ("thp", Need::Required),
            ("remote_collapse", Need::Required),
            ("contents_unchanged", Need::Required),
            ("settings_writable", Need::Required),
            ("psi_memory", Need::Useful),
            ("damon", Need::Unused),
        ];
        Features {
            kernel_release: Some("6.18.44-test".into()),
            kernel_version: Some((6, 18)),
            verdict: Verdict { tier: Some(Tier::A), not_proven: vec![] },
            thp_mode: Some(ThpMode::Madvise),
            mechanisms: mechanisms.map(present).to_vec(),
            privileges: Privileges {
                uid: Some(0),
                caps: vec![cap("CAP_SYS_NICE"), cap("CAP_SYS_PTRACE")],
                initial_userns: Some(true),
            },
            lockdown: None,
            container: None,
            cgroup: OwnCgroup { version: None, memory_limit: None },
            hypervisor: None,
        }
    }

    /// The same with one mechanism in another state.
    pub(crate) fn with(key: &str, state: &State) -> Features {
        let mut all = features();
        all.mechanisms.iter_mut().filter(|m| m.key == key).for_each(|m| m.state = state.clone());
        all
    }

    fn shown(features: &Features) -> String {
        let advice = advice::for_features(features, Source::Live);
        render(features, &[], &advice, Source::Live, Paint::plain())
    }

    #[test]
    fn the_conclusion_comes_first() {
        let text = shown(&features());
        assert!(text.starts_with("Linux 6.18.44-test: tier A, proven\nTier A is "), "{text}");
        assert!(text.contains("Everything that 'hugewise manage' needs is here."), "{text}");
    }

    #[test]
    fn what_is_missing_says_why_and_what_happens_without() {
        let why = "a reason that is so long that it cannot stand in one line of the terminal";
        let text = shown(&with("psi_memory", &State::Absent(why.into())));
        assert!(text.contains("why: a reason"), "{text}");
        assert!(text.contains("without: something else"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= crate::render::text::WIDTH),
            "{text}"
        );
        let refused = shown(&with("remote_collapse", &State::Refused("EPERM (1)".into())));
        let refused = refused.replace('\n', " ");
        assert!(refused.contains("unproven: remote_collapse."), "{refused}");
    }
}
