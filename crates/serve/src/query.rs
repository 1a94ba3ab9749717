//! What follows the question mark of a URL: `name=value` pairs (application/x-www-form-urlencoded).

/// Pairs, as they were meant.
pub(crate) type Pairs = Vec<(String, String)>;

/// Reads them. What is no UTF-8 becomes replacement characters; a sign that is half an escape is
/// itself.
pub(crate) fn pairs(query: &str) -> Pairs {
    let whole = query.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
    };
    whole.map(pair).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escape = (first == b'%').then(|| after.get(..2).and_then(byte)).flatten();
        bytes.push(match (first, escape) {
            (_, Some(byte)) => byte,
            (b'+', _) => b' ',
            (other, _) => other,
        });
        rest = if escape.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn byte(digits: &[u8]) -> Option<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
    Some(digit(digits.first()?)? << 4 | digit(digits.get(1)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(query: &str) -> Vec<(String, String)> {
        pairs(query)
    }

    #[test]
    fn pairs_are_read_as_browsers_write_them() {
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(read("pid=7&text=a+b%26%3d%C3%A9"), [own("pid", "7"), own("text", "a b&=é")]);
        assert_eq!(read("&&a&=b"), [own("a", ""), own("", "b")]);
        assert_eq!(read("x=%zz%4&y=%"), [own("x", "%zz%4"), own("y", "%")]);
        assert_eq!(read("x=%ff%00"), [own("x", "\u{fffd}\0")]);
        assert_eq!(read(""), []);
    }

    proptest! {
        #[test]
        fn no_query_panics_and_escaped_text_comes_back(any in ".*", text in ".*") {
            let _ = pairs(&any);
            let escaped: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let read = pairs(&format!("t={escaped}"));
            prop_assert_eq!(&read[0].1, &text);
        }
    }
}
