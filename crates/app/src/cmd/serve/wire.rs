//! Between the process that answers HTTP and the one that knows: a question is one line of JSON, an
//! answer a line of JSON with the length of the body that follows.

use anyhow::{Context, ensure};
use hugewise_serve::{Kind, Question, Reply, Verdict};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Read, Write};

/// A longer line is no question: what can be asked has 200 letters of text twice, at most.
const LINE_MAX: u64 = 8 << 10;
/// A longer answer is none: a map of 1 TiB has some MiB.
const BODY_MAX: u64 = 256 << 20;

/// What the front is told at first.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    /// What whoever asks has to know.
    pub(super) token: String,
    /// The user and group that it has to become.
    pub(super) user: Option<(u32, u32)>,
}

/// What the front says at first: that it answers, or why it does not.
pub(super) type Begun = Result<(), String>;

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    verdict: Verdict,
    kind: Kind,
    length: u64,
}

/// Writes a value as a line.
pub(super) fn say(to: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)?;
    Ok(to.flush()?)
}

/// The next line; `None` at the end.
///
/// # Errors
/// A line that is too long, or is not what is expected.
pub(super) fn hear<T: for<'a> Deserialize<'a>>(
    from: &mut impl BufRead,
) -> anyhow::Result<Option<T>> {
    let mut line = Vec::new();
    from.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

/// Answers.
pub(super) fn reply(to: &mut impl Write, reply: &Reply) -> anyhow::Result<()> {
    let Reply { verdict, kind, body } = reply;
    say(to, &Head { verdict: *verdict, kind: *kind, length: body.len() as u64 })?;
    to.write_all(body.as_bytes())?;
    Ok(to.flush()?)
}

/// Asks, and waits for the answer.
pub(super) fn ask(
    to: &mut impl Write,
    from: &mut impl BufRead,
    question: &Question,
) -> anyhow::Result<Reply> {
    say(to, question)?;
    let Head { verdict, kind, length } = hear(from)?.context("no answer")?;
    ensure!(length <= BODY_MAX, "an answer of {length} bytes");
    let mut body = String::new();
    from.by_ref().take(length).read_to_string(&mut body)?;
    ensure!(body.len() as u64 == length, "half an answer");
    Ok(Reply { verdict, kind, body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_answer_comes_as_it_was_given() {
        let given = Reply { verdict: Verdict::Absent, kind: Kind::Text, body: "é\n\n{".into() };
        let (mut asked, mut answers) = (Vec::new(), Vec::new());
        reply(&mut answers, &given).expect("written");
        let question = Question::Map { pid: 7 };
        let got = ask(&mut asked, &mut answers.as_slice(), &question).expect("whole");
        assert_eq!(got, given);
        let heard: Option<Question> = hear(&mut asked.as_slice()).expect("a question");
        assert_eq!(heard, Some(question));
        assert!(
            ask(&mut Vec::new(), &mut &answers[..answers.len() - 1], &Question::History).is_err()
        );
        assert!(ask(&mut Vec::new(), &mut &b""[..], &Question::History).is_err());
        assert_eq!(hear::<Question>(&mut &b""[..]).expect("the end"), None);
    }

    proptest! {
        #[test]
        fn whatever_the_front_says_is_a_question_or_an_error(bytes: Vec<u8>) {
            let _ = hear::<Question>(&mut bytes.as_slice());
        }
    }
}
