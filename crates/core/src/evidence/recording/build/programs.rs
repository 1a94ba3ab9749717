//! Programs of which several listings tell, and that are to be known again.

use super::Builder;

/// Most programs that are told apart; what comes later counts as one more of its kind.
const PROGRAMS_MAX: usize = 1000;

/// A program of which a listing told.
#[derive(Debug)]
pub(super) struct Program {
    host: usize,
    kind: &'static str,
    /// Something inside of the process that no other one has, and its number.
    identity: Option<u64>,
    pid: Option<u32>,
    name: String,
}

impl Program {
    /// Whether both are of the same process, as far as they say: what knows neither is taken to be
    /// of the one that was told of before.
    fn is_same(&self, identity: Option<u64>, pid: Option<u32>) -> bool {
        match (self.identity.zip(identity), self.pid.zip(pid)) {
            (Some((one, other)), _) => one == other,
            (None, Some((one, other))) => one == other,
            (None, None) => true,
        }
    }
}

impl Builder {
    /// The name of a program by which listings of the same process are joined: its kind, with its
    /// number where that is known, or counted where there are several.
    pub fn program(
        &mut self,
        kind: &'static str,
        identity: Option<u64>,
        pid: Option<u32>,
    ) -> String {
        let host = self.current_host();
        let own = |program: &&mut Program| program.host == host && program.kind == kind;
        let mut all = self.programs.iter_mut().rev().filter(own);
        if let Some(known) = all.find(|program| program.is_same(identity, pid)) {
            known.identity = known.identity.or(identity);
            known.pid = known.pid.or(pid);
            return known.name.clone();
        }
        let others =
            self.programs.iter().filter(|program| program.host == host && program.kind == kind);
        let name = match (pid, others.count()) {
            (Some(pid), _) => format!("{kind} {pid}"),
            (None, 0) => kind.to_owned(),
            (None, others) => format!("{kind} no. {}", others + 1),
        };
        if self.programs.len() < PROGRAMS_MAX {
            self.programs.push(Program { host, kind, identity, pid, name: name.clone() });
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_again_by_what_it_says() {
        let mut out = Builder::new();
        assert_eq!(out.program("java", Some(1), None), "java");
        assert_eq!(out.program("java", Some(1), Some(4711)), "java");
        assert_eq!(out.program("java", None, Some(4711)), "java");
        assert_eq!(out.program("java", Some(2), None), "java no. 2");
        assert_eq!(out.program("java", Some(3), Some(80)), "java 80");
        assert_eq!(out.program("java", None, None), "java 80");
        assert_eq!(out.program("go", None, None), "go");
    }
}
