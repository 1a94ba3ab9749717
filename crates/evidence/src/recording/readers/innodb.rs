//! `SHOW ENGINE INNODB STATUS`: whole, with the lines of it that `data/listings.tsv` knows. It has
//! statements in it, of which nothing is kept.

use super::listing::put_line;
use super::prelude::*;

/// What its first and its last line say.
const BEGINS: &str = "INNODB MONITOR OUTPUT";
const ENDS: &str = "END OF INNODB MONITOR OUTPUT";

/// Most lines of one: the server cuts it at 1 MiB (`MAX_INNODB_STATUS_SIZE`).
const LINES_MAX: usize = 50_000;

fn is_rule(line: &str) -> bool {
    line.starts_with("===") && line.trim_end().bytes().all(|byte| byte == b'=')
}

/// Lines above the first one: a rule, and of `\G` the row's number, its type, its name.
const ABOVE_MAX: usize = 6;

/// Begins at its first line, or at what stands above that.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let above = is_rule(line) || line.starts_with("***") && line.contains("1. row");
    let first = |by: usize| lines.ahead(by).contains(BEGINS) && !lines.ahead(by).contains(ENDS);
    let ours = (0..=if above { ABOVE_MAX } else { 0 }).any(first);
    ours.then(|| lines.begin(SourceKind::Mysql, Status { lines: 0, ended: false }, out))
}

struct Status {
    lines: usize,
    ended: bool,
}

impl Reader for Status {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        self.lines += 1;
        if self.lines > LINES_MAX || self.ended && !is_rule(line) {
            return Taken::No;
        }
        self.ended |= line.contains(ENDS);
        put_line(line, out);
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn a_status_is_read_whole_and_without_statements() {
        let (stars, rule) = ("*".repeat(27), "=".repeat(37));
        let text = format!(
            "{stars} 1. row {stars}\n  Type: InnoDB\n  Name:\nStatus:\n{rule}\n310203  4:05:06 \
             INNODB MONITOR OUTPUT\n{rule}\nsrv_master_thread loops: 5 1_second\n\n---TRANSACTION \
             42, ACTIVE (PREPARED) 41 sec\n---TRANSACTION 0 43, ACTIVE 95 sec, process no 7\n\
             update t set pw = 'hunter2'\n------- TRX HAS BEEN WAITING 31 SEC FOR THIS LOCK TO BE \
             GRANTED:\n----------------------------\nEND OF INNODB MONITOR OUTPUT\n{rule}\n"
        );
        let recording = read(&text);
        all_understood(&recording);
        assert!(!format!("{recording:?}").contains("hunter2"));
        let server = Subject::Service("mysql".to_owned());
        assert_eq!(values(&recording, Field::TransactionTime, &server), [41_000.0, 95_000.0]);
        let lock = Subject::part("mysql", "row lock");
        assert_eq!(values(&recording, Field::SessionWait, &lock), [31_000.0]);
    }
}
