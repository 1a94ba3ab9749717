//! What stands before a line that something else has carried: syslog, Kubernetes.

/// What stands before each line of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Prefix {
    /// Nothing.
    #[default]
    None,
    /// syslog: `<134>Feb  6 12:14:14 host haproxy[14389]: `, as of RFC 3164 and of rsyslog.
    Syslog,
    /// The container runtimes of Kubernetes: `2016-10-06T00:17:09.669794202Z stdout F `.
    Container,
}

/// How far behind the start of a line such a head ends, at most.
const HEAD_MAX: usize = 200;

impl Prefix {
    /// What stands before most of these lines.
    pub(super) fn of(lines: &[&[u8]]) -> Self {
        let most = |strip: fn(&[u8]) -> Option<&[u8]>| {
            lines.iter().filter(|line| strip(line).is_some()).count() * 2 > lines.len()
        };
        if most(container) {
            Self::Container
        } else if most(syslog) {
            Self::Syslog
        } else {
            Self::None
        }
    }

    /// The line without it.
    pub(super) fn strip(self, line: &[u8]) -> &[u8] {
        let stripped = match self {
            Self::None => None,
            Self::Syslog => syslog(line),
            Self::Container => container(line),
        };
        stripped.unwrap_or(line)
    }

    /// The line without whichever it has.
    pub(super) fn any(line: &[u8]) -> &[u8] {
        container(line).or_else(|| syslog(line)).unwrap_or(line)
    }
}

/// Behind `program[pid]: ` or `program: `, which stands behind a time and a host.
fn syslog(line: &[u8]) -> Option<&[u8]> {
    let head = line.get(..line.len().min(HEAD_MAX))?;
    let end = head.windows(2).position(|pair| pair == b": ")?;
    let before = head.get(..end)?;
    let words = before.split(|c| *c == b' ').filter(|word| !word.is_empty()).count();
    let tag = before.rsplit(|c| *c == b' ').next()?;
    let is_tag = |c: &u8| c.is_ascii_alphanumeric() || b"_-./[]".contains(c);
    let priority = before.starts_with(b"<");
    let begins = |c: &u8| c.is_ascii_alphabetic() || c.is_ascii_digit();
    let head = (3..=6).contains(&words) && (priority || before.first().is_some_and(begins));
    let real = head && tag.first().is_some_and(u8::is_ascii_alphabetic) && tag.iter().all(is_tag);
    real.then(|| line.get(end + 2..).unwrap_or_default().trim_ascii_start())
}

/// Behind the time, the stream and whether the line is whole (`F`).
fn container(line: &[u8]) -> Option<&[u8]> {
    let mut words = line.splitn(4, |c| *c == b' ');
    let (time, stream, whole) = (words.next()?, words.next()?, words.next()?);
    let is_time = time.len() >= 20 && time.get(10) == Some(&b'T');
    let is_stream = matches!(stream, b"stdout" | b"stderr") && matches!(whole, b"F" | b"P");
    words.next().filter(|_| is_time && is_stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_told_from_lines() {
        let own: &[u8] = b"10.0.0.9 - - [10/Oct/2000:13:55:36 -0700] \"GET /a: b HTTP/1.0\" 200 2";
        assert_eq!(Prefix::of(&[own, own]), Prefix::None);
        let carried = b"Sep 12 10:00:00 web nginx: 10.0.0.9 - -";
        assert_eq!(Prefix::of(&[carried]), Prefix::Syslog);
        assert_eq!(Prefix::any(carried), b"10.0.0.9 - -");
        assert_eq!(Prefix::any(own), own);
        assert_eq!(Prefix::any(b""), b"");
    }
}
