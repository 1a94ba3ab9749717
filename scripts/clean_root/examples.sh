# shellcheck shell=bash disable=SC2154 # variables of clean_root.sh
# Every example that a page prints to be run, with the exit code that it may end with. Sourced by
# clean_root.sh.
examples() { # PAGE: its blocks '```sh run', in the root
    local example name code may
    rm -rf "$work/examples"
    mkdir -p "$work/examples" "$root/try"
    awk -v out="$work/examples/$(basename "$1" .md)" '
        /^ *```sh run/ {
            inside = 1
            code = match($0, /exits-[0-9]+/) ? "-" substr($0, RSTART, RLENGTH) : ""
            file = out "-" ++n code ".sh"
            next
        }
        /^ *```/ { inside = 0 }
        inside { print > file }' "$1"
    for example in "$work"/examples/*.sh; do
        name=$(basename "$example")
        cp "$example" "$root/try/$name"
        echo "clean_root: the example $name works as printed" >&2
        may=$(sed -n 's/.*-exits-\([0-9]*\)\.sh$/\1/p' <<<"$name")
        code=0
        inside sh -c "cd /try && sh -e ./$name" >"$work/said" 2>&1 || code=$?
        if [ "$code" != 0 ] && [ "$code" != "${may:-0}" ]; then
            cat "$example" "$work/said"
            fail "it ended with $code"
        fi
    done
    rm -rf "$root/try"
}
