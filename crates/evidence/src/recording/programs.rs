//! Programs of which several listings tell, and that are to be known again.

/// Most programs that are distinguished; what comes later counts as one more of its kind.
const PROGRAMS_MAX: usize = 1000;

/// A program that a listing named.
#[derive(Debug)]
struct Program {
    host: usize,
    kind: &'static str,
    /// Something inside of the process that no other one has, and its number.
    identity: Option<u64>,
    pid: Option<u32>,
    name: String,
}

impl Program {
    /// Whether both are of the same process, as far as they say: what knows neither is taken to be
    /// of the one that was named before.
    fn is_same(&self, identity: Option<u64>, pid: Option<u32>) -> bool {
        match (self.identity.zip(identity), self.pid.zip(pid)) {
            (Some((one, other)), _) => one == other,
            (None, Some((one, other))) => one == other,
            (None, None) => true,
        }
    }
}

/// The programs of all inputs.
#[derive(Debug, Default)]
pub(super) struct Programs(Vec<Program>);

impl Programs {
    /// The name of a program of a machine, by which listings of the same process are joined: its
    /// kind, with its number where that is known, or counted where there are several.
    pub(super) fn name(
        &mut self,
        (host, kind): (usize, &'static str),
        identity: Option<u64>,
        pid: Option<u32>,
    ) -> String {
        let own = |program: &&mut Program| program.host == host && program.kind == kind;
        let mut all = self.0.iter_mut().rev().filter(own);
        if let Some(known) = all.find(|program| program.is_same(identity, pid)) {
            known.identity = known.identity.or(identity);
            known.pid = known.pid.or(pid);
            return known.name.clone();
        }
        let others = self.0.iter().filter(|program| program.host == host && program.kind == kind);
        let name = match (pid, others.count()) {
            (Some(pid), _) => format!("{kind} {pid}"),
            (None, 0) => kind.to_owned(),
            (None, others) => format!("{kind} no. {}", others + 1),
        };
        if self.0.len() < PROGRAMS_MAX {
            self.0.push(Program { host, kind, identity, pid, name: name.clone() });
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_again_by_what_it_says() {
        let mut out = Programs::default();
        assert_eq!(out.name((0, "java"), Some(1), None), "java");
        assert_eq!(out.name((0, "java"), Some(1), Some(4711)), "java");
        assert_eq!(out.name((0, "java"), None, Some(4711)), "java");
        assert_eq!(out.name((0, "java"), Some(2), None), "java no. 2");
        assert_eq!(out.name((0, "java"), Some(3), Some(80)), "java 80");
        assert_eq!(out.name((0, "java"), None, None), "java 80");
        assert_eq!(out.name((0, "go"), None, None), "go");
        assert_eq!(out.name((1, "java"), Some(1), None), "java");
    }
}
