//! A service that runs already, as its users see it.

use super::groups::{LOAD, MEASUREMENT, joined};
use crate::kind::{Demand, Kind, count, params, text};
use crate::load::Target;
use crate::machine::MACHINE;

params! {
    /// Parameters of `service`.
    Service {
        target: String = text(""),
            "Where it answers: http://127.0.0.1:8080/path, redis://127.0.0.1:6379 or \
             redis+unix:///path. Without it nothing is asked, and only the machine is watched.";
        settle_ms: u64 = count(2000, 0, 600_000),
            "Time between a change and what is measured of it, ms.";
        guard_p99_ms: u64 = count(0, 0, 600_000),
            "A run is ended when 1 % of the requests take longer, ms; 0: never.";
        guard_failed_percent: u64 = count(0, 0, 100),
            "A run is ended when more of the requests fail, percent; 0: never.";
    }
}

impl Demand for Service {
    fn fault(&self, _memory_limit_mib: Option<u64>) -> Option<String> {
        let guards = self.guard_p99_ms > 0 || self.guard_failed_percent > 0;
        match self.target.parse::<Target>() {
            _ if self.target.is_empty() && guards => {
                Some("a guard of service needs a target: only then are there requests".into())
            }
            _ if self.target.is_empty() => None,
            Ok(_) => None,
            Err(error) => Some(format!("'target' of service: {error}")),
        }
    }

    fn takes_load(&self) -> bool {
        !self.target.is_empty()
    }
}

pub(super) const SERVICE: Kind = Kind {
    name: "service",
    about: "A service that runs already: requests of [load] where it has a target, and what the \
            machine counts meanwhile, by the keys of recordings.",
    params: Service::PARAMS,
    metrics: joined![LOAD, MACHINE],
    ..MEASUREMENT
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Value;
    use std::collections::BTreeMap;

    #[test]
    fn a_target_is_on_this_machine_and_a_guard_needs_one() {
        let with = |given: &[(&str, Value)]| {
            let given: BTreeMap<_, _> =
                given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            Service::read(&SERVICE.values(&given).expect("allowed")).expect("all parameters")
        };
        let target = |text: &str| ("target", Value::Text(text.into()));
        assert_eq!(with(&[]).fault(None), None);
        assert!(!with(&[]).takes_load());
        let redis = with(&[target("redis://127.0.0.1:6379")]);
        assert!(redis.fault(None).is_none() && redis.takes_load());
        let far = with(&[target("http://example.org/")]).fault(None);
        assert!(far.is_some_and(|fault| fault.contains("'target' of service")));
        let guarded = with(&[("guard_p99_ms", Value::Count(5))]).fault(None);
        assert!(guarded.is_some_and(|fault| fault.contains("needs a target")));
    }
}
