#!/usr/bin/env bash
# Runs every test of the workspace and adds the test binaries up: what was skipped and why, what
# failed with the beginning of its message (a terminal's screen has 24 lines), and as the last line
# `N passed, N failed, N skipped`. Fails when a test failed or when none ran.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

CARGO_TERM_COLOR=never cargo test --workspace --no-fail-fast "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

echo
grep -aE '^test .* \.\.\. ignored' "$log" | sed 's/^test /skipped: /; s/ *\.\.\. ignored,\{0,1\} */: /'
grep -aE '^test .* \.\.\. FAILED' "$log" | sed 's/^test /FAILED: /; s/ *\.\.\. FAILED.*//'
# Both harnesses head a message with `---- NAME ... ----`.
awk '/^---- .* ----$/ { left = 30 } /^failures:|^test result/ { left = 0 } left > 0 && NF { print "  " substr($0, 1, 300); left-- }' "$log"
awk -v status="$status" '
    /^test result: / {
        for (i = 2; i <= NF; i++) {
            if ($i == "passed;") passed += $(i - 1)
            if ($i == "failed;") failed += $(i - 1)
            if ($i == "ignored;") skipped += $(i - 1)
        }
    }
    END {
        if (status != 0 && failed == 0) print "cargo test itself failed: see above"
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit (status != 0 || failed > 0 || passed == 0)
    }' "$log"
