//! An HTTP server under load.

use crate::lab::kind::{Default, Kind, Param, Params};
use crate::lab::load::Target;

/// Name of the kind.
pub(super) const NAME: &str = "http";

const fn text(name: &'static str, default: &'static str, help: &'static str) -> Param {
    Param { name, default: Default::Text(default), help }
}

/// See the module's text.
pub(super) const HTTP: Kind = Kind {
    name: NAME,
    about: "An HTTP server under the requests of [load]: a program, or one that runs already.",
    params: &[
        text("program", "", "The program of the server."),
        Param {
            name: "args",
            default: Default::Texts,
            help: "Its arguments. {port} and {dir} stand for a free port of the loopback address \
                   and an empty directory.",
        },
        text("path", "/", "What is fetched."),
        text("ready_path", "", "What is fetched until the server answers; as 'path' if empty."),
        text("url", "", "Instead of a program: a server that runs on this machine."),
    ],
    metrics: &[
        "p50_us",
        "p99_us",
        "p999_us",
        "worst_us",
        "offered_per_s",
        "achieved_per_s",
        "failed_share_percent",
        "service.p50_us",
        "service.p99_us",
        "knee_per_s",
        "bend_per_s",
        "kernel_cpu_percent",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
        "manager_cpu_s",
        "promoted",
        "demoted",
        "failed",
    ],
    programs: &[],
};

/// What a workload needs of its experiment and has not got.
pub(super) fn fault(params: &Params) -> Option<String> {
    let (program, url) = (params.text("program"), params.text("url"));
    let has_port = params.texts("args").iter().any(|arg| arg.contains("{port}"));
    let is_path = |name| params.text(name).is_empty() || params.text(name).starts_with('/');
    if program.is_empty() == url.is_empty() {
        let said = "http needs either 'program', which it starts, or 'url' of a server that runs";
        return Some(said.into());
    }
    if url.is_empty() && !has_port {
        let said = "'args' of http must say {port}: the program learns from it where to listen";
        return Some(said.into());
    }
    if !(is_path("path") && is_path("ready_path")) {
        return Some("'path' and 'ready_path' of http begin with '/'".into());
    }
    match url.parse() {
        _ if url.is_empty() => None,
        Ok(Target::Http(..)) => None,
        Ok(_) => Some(format!("'url' of http is '{url}' and must begin with http://")),
        Err(error) => Some(format!("'url' of http: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::kind::Value;
    use std::collections::BTreeMap;

    #[test]
    fn what_is_served_must_be_known() {
        let with = |name: &str, value: &str| {
            let given = BTreeMap::from([(name.to_owned(), Value::Text(value.into()))]);
            HTTP.params(&given).expect("allowed")
        };
        let url = |url: &str| fault(&with("url", url));
        assert_eq!(url("http://127.0.0.1:8080/"), None);
        assert!(url("").is_some_and(|fault| fault.contains("either 'program'")));
        assert!(url("http://example.org/").is_some_and(|fault| fault.contains("'url' of http:")));
        assert!(url("redis://127.0.0.1").is_some_and(|fault| fault.contains("begin with http:")));
        let program = with("program", "server");
        assert!(fault(&program).is_some_and(|fault| fault.contains("{port}")));
    }
}
