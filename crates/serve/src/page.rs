//! The page: one document with everything in it, so that nothing is loaded from anywhere.

/// Stands where each answer has a secret of its own: scripts and styles without it are not run.
const NONCE: &str = "@NONCE@";

/// The document, and what asks for the token where somebody comes without.
#[derive(Debug)]
pub(crate) struct Pages {
    page: String,
    unlock: String,
}

impl Pages {
    pub(crate) fn new() -> Self {
        let style = include_str!("../page/style.css");
        let whole = |document: &str, script: &str| {
            document.replace("@STYLE@", style).replace("@SCRIPT@", script)
        };
        Self {
            page: whole(include_str!("../page/index.html"), SCRIPT),
            unlock: whole(include_str!("../page/unlock.html"), include_str!("../page/unlock.js")),
        }
    }

    pub(crate) fn page(&self, nonce: &str) -> String {
        self.page.replace(NONCE, nonce)
    }

    pub(crate) fn unlock(&self, nonce: &str) -> String {
        self.unlock.replace(NONCE, nonce)
    }
}

/// The page's own code.
const SCRIPT: &str = include_str!("../page/page.js");

/// What a browser may do with a document of this server: run what carries the nonce, and ask this
/// server. No text becomes code or markup (`trusted-types`).
pub(crate) fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_whole_and_load_nothing() {
        let pages = Pages::new();
        for text in [pages.page("n0nce"), pages.unlock("n0nce")] {
            assert!(!text.contains("@NONCE@") && !text.contains("@SCRIPT@"));
            assert!(text.contains("<script nonce=\"n0nce\">"), "{text}");
            assert!(text.contains("<style nonce=\"n0nce\">"), "{text}");
            // Nothing from elsewhere, and nothing that turns text into markup or code.
            let foreign = ["http://", "https://", "src=\"", "@import", "url("];
            let unsafe_ways = ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write"];
            let code = [" eval(", "new Function", "onclick=", "style=\""];
            for word in foreign.iter().chain(&unsafe_ways).chain(&code) {
                assert!(!text.contains(word), "{word}");
            }
        }
    }
}
