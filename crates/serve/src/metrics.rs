//! In which form a scraper wants its metrics (RFC 9110, `Accept`).

/// Whether OpenMetrics is wanted: where it is named, and nothing says that the text of Prometheus
/// is liked better.
pub(crate) fn wants_open(accept: &str) -> bool {
    let (mut open, mut text) = (0, 0);
    for item in accept.split(',') {
        let mut parts = item.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(1000, thousandths);
        if media.eq_ignore_ascii_case("application/openmetrics-text") {
            open = open.max(weight);
        } else if media.eq_ignore_ascii_case("text/plain") {
            text = text.max(weight);
        }
    }
    open > 0 && open >= text
}

/// A weight (`1`, `0.25`) in thousandths, as exact as HTTP has them; what is none is 0.
fn thousandths(weight: &str) -> u32 {
    let (whole, rest) = weight.split_once('.').unwrap_or((weight, ""));
    let digits = rest.len() <= 3 && rest.bytes().all(|byte| byte.is_ascii_digit());
    match (whole, digits) {
        ("0", true) => format!("{rest:0<3}").parse().unwrap_or(0),
        ("1", true) => 1000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_form_is_the_one_that_is_liked_best() {
        // Prometheus 2.53 and 3.5.
        let scraper = "application/openmetrics-text;version=1.0.0;q=0.8,\
                       application/openmetrics-text;version=0.0.1;q=0.75,\
                       text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert!(wants_open(scraper));
        assert!(wants_open("Application/OpenMetrics-Text"));
        assert!(!wants_open("text/plain;version=0.0.4"));
        assert!(!wants_open("text/plain, application/openmetrics-text;q=0.5"));
        assert!(!wants_open("application/openmetrics-text;q=0"));
        assert!(!wants_open("application/openmetrics-text; q=nonsense"));
        for plain in ["", "*/*", "text/html,application/xhtml+xml", ";;,,"] {
            assert!(!wants_open(plain), "{plain}");
        }
    }

    proptest! {
        #[test]
        fn no_header_panics(accept in ".*") {
            let _ = wants_open(&accept);
        }
    }
}
