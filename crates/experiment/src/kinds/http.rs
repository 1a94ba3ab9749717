//! An HTTP server under load.

use super::groups::{LOAD, MANAGER, SERVER, joined, memory};
use crate::kind::User;
use crate::kind::{Demand, Kind, Named, params, text, texts, word};
use crate::load::Target;
use crate::machine::MACHINE;

params! {
    /// Parameters of `http`.
    Http {
        program: String = text(""), "The program of the server.";
        args: Vec<String> = texts(),
            "Its arguments. {port} and {dir} stand for a free port of the loopback address \
             and an empty directory.";
        path: String = text("/"), "What is fetched.";
        ready_path: String = text(""),
            "What is fetched until the server answers; as 'path' if empty.";
        url: String = text(""), "Instead of a program: a server that runs on this machine.";
        user: User = word(),
            "Who runs it where hugewise is root: a user of the experiment's own, without \
             privileges, or root, for a program that needs it and may do anything here.";
    }
}

impl Demand for Http {
    fn fault(&self, _memory_limit_mib: Option<u64>) -> Option<String> {
        let Self { program, url, .. } = self;
        let has_port = self.args.iter().any(|arg| arg.contains("{port}"));
        let is_path = |path: &str| path.is_empty() || path.starts_with('/');
        if program.is_empty() == url.is_empty() {
            let said =
                "http needs either 'program', which it starts, or 'url' of a server that runs";
            return Some(said.into());
        }
        if url.is_empty() && !has_port {
            let said = "'args' of http must say {port}: the program learns from it where to listen";
            return Some(said.into());
        }
        if !(is_path(&self.path) && is_path(&self.ready_path)) {
            return Some("'path' and 'ready_path' of http begin with '/'".into());
        }
        match url.parse() {
            _ if url.is_empty() => None,
            Ok(Target::Http(..)) => None,
            Ok(_) => Some(format!("'url' of http is '{url}' and must begin with http://")),
            Err(error) => Some(format!("'url' of http: {error}")),
        }
    }

    fn takes_load(&self) -> bool {
        true
    }

    fn program(&self) -> Option<Named<'_>> {
        let named = Named { program: &self.program, args: &self.args, needs: &[], user: self.user };
        Some(named).filter(|named| !named.program.is_empty())
    }
}

pub(super) const HTTP: Kind = Kind {
    name: "http",
    about: "An HTTP server under the requests of [load]: a program, or one that runs already.",
    params: Http::PARAMS,
    metrics: joined![LOAD, memory!(""), MANAGER, MACHINE],
    ..SERVER
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Value;
    use std::collections::BTreeMap;

    #[test]
    fn what_is_served_must_be_known() {
        let with = |name: &str, value: &str| {
            let given = BTreeMap::from([(name.to_owned(), Value::Text(value.into()))]);
            Http::read(&HTTP.values(&given).expect("allowed")).expect("all parameters")
        };
        let url = |url: &str| with("url", url).fault(None);
        assert_eq!(url("http://127.0.0.1:8080/"), None);
        assert!(url("").is_some_and(|fault| fault.contains("either 'program'")));
        assert!(url("http://example.org/").is_some_and(|fault| fault.contains("'url' of http:")));
        assert!(url("redis://127.0.0.1").is_some_and(|fault| fault.contains("begin with http:")));
        let program = with("program", "server");
        assert!(program.fault(None).is_some_and(|fault| fault.contains("{port}")));
    }
}
