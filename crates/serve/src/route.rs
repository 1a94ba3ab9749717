//! Which question a path and its query are. Pure.

use crate::content::{Question, Search, Wanted};
use crate::metrics::wants_open;
use crate::query::pairs;
use hyper::Uri;

/// Most letters of what is searched for.
const LONGEST_TEXT: usize = 200;

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The page itself.
    Page,
    /// A question for the content.
    Ask(Question),
    /// Nowhere.
    Nowhere,
    /// It is not understood, for this reason.
    Wrong(String),
}

/// Reads a request's target; `accept` is what it says of the form that it wants.
pub(crate) fn route(uri: &Uri, accept: &str) -> Route {
    let query = uri.query().unwrap_or_default();
    let asked = match uri.path() {
        "/" => return Route::Page,
        "/metrics" => return Route::Ask(Question::Metrics { open: wants_open(accept) }),
        "/api/v1/status" => {
            Fields::of(query, &["at", "sort", "filter"]).and_then(|fields| fields.status())
        }
        "/api/v1/history" => Fields::of(query, &[]).map(|_| Question::History),
        "/api/v1/findings" => {
            let at = Fields::of(query, &["at"]).and_then(|fields| fields.moment());
            at.map(|at_ms| Question::Findings { at_ms })
        }
        "/api/v1/flame" => {
            let at = Fields::of(query, &["at"]).and_then(|fields| fields.moment());
            at.map(|at_ms| Question::Flame { at_ms })
        }
        "/api/v1/journal" => {
            Fields::of(query, &["pid", "text", "at"]).and_then(|fields| fields.journal())
        }
        "/api/v1/map" => Fields::of(query, &["pid"]).and_then(|fields| fields.map()),
        _ => return Route::Nowhere,
    };
    asked.map_or_else(Route::Wrong, Route::Ask)
}

/// What a query gives, each name once and none that is not known.
struct Fields(Vec<(String, String)>);

impl Fields {
    fn of(query: &str, known: &[&str]) -> Result<Self, String> {
        let pairs = pairs(query);
        for (place, (name, _)) in pairs.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(format!("An unknown parameter; there are: {known}."));
            }
            if pairs.iter().take(place).any(|(before, _)| before == name) {
                return Err(format!("The parameter '{name}' is given twice."));
            }
        }
        Ok(Self(pairs))
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    fn pid(&self) -> Result<Option<u32>, String> {
        let wrong = |_| "'pid' must be a number.".to_owned();
        self.get("pid").map(|text| text.parse().map_err(wrong)).transpose()
    }

    fn map(&self) -> Result<Question, String> {
        let pid = self.pid()?.ok_or("Whose? Give 'pid=NUMBER'.")?;
        Ok(Question::Map { pid })
    }

    fn journal(&self) -> Result<Question, String> {
        let (pid, text, at_ms) = (self.pid()?, self.text("text")?, self.at_ms()?);
        Ok(Question::Journal(Search { pid, text, at_ms }))
    }

    fn text(&self, name: &str) -> Result<Option<String>, String> {
        match self.get(name) {
            Some(text) if text.chars().count() > LONGEST_TEXT => {
                Err(format!("'{name}' may have {LONGEST_TEXT} letters at most."))
            }
            text => Ok(text.map(str::to_owned)),
        }
    }

    fn at_ms(&self) -> Result<Option<i64>, String> {
        let wrong = |_| "'at' must be milliseconds since 1970, UTC.".to_owned();
        self.get("at").map(|text| text.parse().map_err(wrong)).transpose()
    }

    fn moment(&self) -> Result<i64, String> {
        Ok(self.at_ms()?.ok_or("When? Give 'at=MILLISECONDS'.")?)
    }

    fn status(&self) -> Result<Question, String> {
        let (sort, filter) = (self.text("sort")?, self.text("filter")?);
        Ok(Question::Status(Wanted { at_ms: self.at_ms()?, sort, filter }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(target: &str) -> Route {
        route(&target.parse().expect("a URI"), "")
    }

    #[test]
    fn each_path_is_one_question() {
        assert_eq!(of("/"), Route::Page);
        assert_eq!(of("/?token=x"), Route::Page);
        assert_eq!(of("/api/v1/status"), Route::Ask(Question::Status(Wanted::default())));
        assert_eq!(of("/api/v1/map?pid=7"), Route::Ask(Question::Map { pid: 7 }));
        let wanted = Wanted { at_ms: Some(7), sort: Some("huge:asc".into()), filter: None };
        let asked = of("/api/v1/status?sort=huge%3Aasc&at=7&filter=");
        assert_eq!(asked, Route::Ask(Question::Status(wanted)));
        let findings = Route::Ask(Question::Findings { at_ms: 7 });
        assert_eq!(of("/api/v1/findings?at=7"), findings);
        assert_eq!(of("/api/v1/flame?at=7"), Route::Ask(Question::Flame { at_ms: 7 }));
        let search = Search { pid: Some(7), text: Some("a b".into()), at_ms: None };
        assert_eq!(of("/api/v1/journal?text=a+b&pid=7"), Route::Ask(Question::Journal(search)));
        let open = "application/openmetrics-text";
        let metrics = route(&"/metrics?collect%5B%5D=x".parse().expect("a URI"), open);
        assert_eq!(metrics, Route::Ask(Question::Metrics { open: true }));
    }

    #[test]
    fn what_is_not_understood_leads_nowhere() {
        for path in ["/x", "/api/v1", "/api/v1/status/", "//", "/..%2f", "/API/v1/status"] {
            assert_eq!(of(path), Route::Nowhere, "{path}");
        }
        let long = format!("/api/v1/status?filter={}", "x".repeat(201));
        for (target, why) in [
            ("/api/v1/map", "Whose"),
            ("/api/v1/map?pid=-1", "number"),
            ("/api/v1/map?pid=4294967296", "number"),
            ("/api/v1/map?pid=1&pid=2", "twice"),
            ("/api/v1/map?pid=1&path=/etc/shadow", "there are: pid"),
            ("/api/v1/history?x", "there are: none"),
            ("/api/v1/status?at=noon", "milliseconds"),
            ("/api/v1/journal?pid=x", "number"),
            ("/api/v1/findings", "When"),
            ("/api/v1/flame", "When"),
            ("/api/v1/flame?at=7&search=x", "there are: at"),
            (&long, "at most"),
        ] {
            let Route::Wrong(said) = of(target) else { panic!("{target}") };
            assert!(said.contains(why), "{target}: {said}");
        }
    }
}
