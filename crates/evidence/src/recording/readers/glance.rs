//! What a line holds, seen once: most formats cannot begin at most lines, and that shows by the
//! letters in it, long before its words are looked at.
//!
//! Everything here errs on one side: what it says of a line may let a format try in vain, and never
//! keeps one from a line at which it begins. A test compares both on every text of the tests.

/// What a line holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Glance<'a> {
    /// The ASCII letters in it, as bits.
    bytes: u128,
    /// How many bytes are of other letters: some of these are blanks.
    others: usize,
    /// Words, including what somebody wrote behind the line.
    words: usize,
    /// Its first and last byte that are no blank, and its length between these.
    first: u8,
    last: u8,
    length: usize,
    colons: usize,
    /// Words before the first colon, and whether something follows that without a blank.
    head_words: usize,
    glued: bool,
    /// The line itself.
    pub(super) text: &'a str,
    /// Whether what was typed before says what may follow.
    pub(super) awaited: bool,
}

/// The bits of some letters; a blank is none.
#[inline(always)]
pub(super) const fn bits(letters: &str) -> u128 {
    let (mut all, mut at) = (0, 0);
    while at < letters.len() {
        let byte = letters.as_bytes()[at];
        if byte != b' ' {
            all |= 1 << (byte & 127);
        }
        at += 1;
    }
    all
}

const fn is_blank(byte: u8) -> bool {
    (byte == b' ') | (byte.wrapping_sub(0x09) < 5)
}

impl<'a> Glance<'a> {
    /// Without a branch for each byte: most of them come at the ends of words, and these are where
    /// no processor expects them.
    pub(super) fn of(text: &'a str, awaited: bool) -> Self {
        let line = text.as_bytes();
        let (mut low, mut high) = (0_u64, 0_u64);
        let (mut words, mut colons, mut others, mut before) = (0, 0, 0, true);
        for byte in line {
            let (bit, upper) = (1 << (byte & 63), u64::from(byte >> 6 & 1).wrapping_neg());
            low |= bit & !upper;
            high |= bit & upper;
            let blank = is_blank(*byte);
            words += usize::from(before & !blank);
            colons += usize::from(*byte == b':');
            others += usize::from(*byte > 127);
            before = blank;
        }
        let begin = line.iter().position(|byte| !is_blank(*byte)).unwrap_or(line.len());
        let end = line.iter().rposition(|byte| !is_blank(*byte)).map_or(begin, |last| last + 1);
        let inner = line.get(begin..end).unwrap_or_default();
        let (first, last) = (inner.first().copied(), inner.last().copied());
        let bytes = u128::from(high) << 64 | u128::from(low);
        let (first, last, length) = (first.unwrap_or(0), last.unwrap_or(0), inner.len());
        let mut all = Self { bytes, others, words, first, last, length, colons, ..Self::default() };
        (all.text, all.awaited) = (text, awaited);
        if colons > 0 {
            all.head();
        }
        all
    }

    /// Looks at what stands before the first colon.
    fn head(&mut self) {
        let line = self.text.as_bytes();
        let at = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let mut before = true;
        for byte in line.iter().take(at) {
            let blank = is_blank(*byte);
            self.head_words += usize::from(before & !blank);
            before = blank;
        }
        self.glued = line.get(at + 1).is_some_and(|next| !is_blank(*next));
    }

    /// Whether all of these letters are in it.
    #[inline(always)]
    pub(super) const fn has(&self, letters: &'static str) -> bool {
        self.has_bits(bits(letters))
    }

    /// Whether these words are in it.
    #[inline(always)]
    pub(super) fn holds(&self, words: &'static str) -> bool {
        self.has(words) && self.text.contains(words)
    }

    /// The same of [`bits`].
    #[inline(always)]
    pub(super) const fn has_bits(&self, wanted: u128) -> bool {
        self.bytes & wanted == wanted
    }

    /// Whether any of these letters is in it.
    #[inline(always)]
    pub(super) const fn any(&self, letters: &'static str) -> bool {
        self.bytes & bits(letters) != 0
    }

    /// Whether it begins with one of these, or with a letter that is not ASCII.
    #[inline(always)]
    pub(super) const fn begins(&self, letters: &'static str) -> bool {
        self.first > 127 || bits(letters) & (1 << self.first) != 0
    }

    /// Whether it begins with a letter, Latin or not.
    pub(super) const fn begins_with_letter(&self) -> bool {
        self.begins("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    }

    /// Whether it begins with a digit.
    pub(super) const fn begins_with_digit(&self) -> bool {
        self.begins("0123456789")
    }

    /// Whether it ends with one of these; unknown, and so yes, where something else may be written
    /// behind it.
    #[inline(always)]
    pub(super) const fn ends(&self, letters: &'static str) -> bool {
        self.is_open() || bits(letters) & (1 << (self.last & 127)) != 0
    }

    /// Whether it ends with a digit.
    pub(super) const fn ends_with_digit(&self) -> bool {
        self.ends("0123456789")
    }

    /// Whether it may have this number of words.
    pub(super) const fn words_min(&self, least: usize) -> bool {
        self.words + self.others >= least
    }

    /// Whether it may have no more than this number of words.
    pub(super) const fn words_max(&self, most: usize) -> bool {
        self.is_open() || self.words <= most
    }

    /// Whether it may be no longer than this.
    pub(super) const fn length_max(&self, most: usize) -> bool {
        self.others > 0 || self.length <= most
    }

    /// Whether it has this number of colons.
    pub(super) const fn colons_min(&self, least: usize) -> bool {
        self.colons >= least
    }

    /// Whether it has a colon, and at most this number of words before that.
    pub(super) const fn is_named(&self, most: usize) -> bool {
        self.colons > 0 && (self.others > 0 || self.head_words <= most)
    }

    /// Whether it has more words than this number, the last of them with the first colon of the
    /// line.
    pub(super) const fn is_named_behind(&self, words: usize) -> bool {
        self.colons > 0 && self.head_words + self.others > words
    }

    /// The same, with a blank or nothing behind the colon.
    pub(super) const fn is_named_apart(&self, most: usize) -> bool {
        self.is_named(most) && (self.others > 0 || !self.glued)
    }

    /// Whether there are no ASCII letters but these, digits and Latin letters.
    #[inline(always)]
    pub(super) const fn only(&self, letters: &'static str) -> bool {
        let latin = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let blanks = (1 << b' ') | (0b1_1111 << 0x09);
        self.bytes & !(bits(letters) | bits(latin) | blanks) == 0
    }

    /// Whether words, or its end, may be other ones than they seem.
    const fn is_open(&self) -> bool {
        self.others > 0 || self.has("<-")
    }

    /// Whether there are letters that are not ASCII.
    pub(super) const fn foreign(&self) -> bool {
        self.others > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Builder;
    use std::path::Path;

    #[test]
    fn a_line_is_seen_as_it_is() {
        let line = Glance::of("  KiB Mem : 5 used", false);
        assert!(line.has("KMu:") && !line.has("x") && line.any("x5") && line.begins_with_letter());
        assert!(line.is_named(2) && !line.is_named(1) && line.is_named_apart(2));
        assert!(line.words_min(5) && !line.words_min(6) && line.words_max(5));
        assert!(line.ends("d") && !line.ends_with_digit() && line.length_max(16));
        let other = Glance::of("5 \u{2192}\u{a0}y:x", false);
        assert!(other.ends("q") && other.words_max(1) && other.is_named(0), "unknown");
        assert!(!Glance::of("", false).begins("a"));
    }

    /// In tests every format is tried on every line, and one that begins at a line it is kept from
    /// ends the test (`readers::find`).
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the texts of the tests are files")]
    fn no_text_of_the_tests_has_a_format_that_is_kept_from_its_line() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")];
        let mut texts = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_none_or(|end| end != "rs") {
                    // What follows in a long one is more of the same.
                    let bytes = std::fs::read(path).expect("a file");
                    let start = &bytes[..bytes.len().min(16 << 10)];
                    texts += usize::from(Builder::new().read("x", start).is_ok());
                }
            }
        }
        assert!(texts > 100, "{texts}");
    }
}
