#!/usr/bin/env bash
# Runs the experiments that show what hugewise costs and gains, one after another; each prints its
# tables and keeps its runs in bench-results/NAME. One that cannot run here is skipped with its
# reason, and so is a part of one (exit code 5: partial); one that fails does not stop the others,
# and is an error in the end.
#   BENCH="scan promote"  only these: names, or beginnings before a '-'
#   QUICK=1               less of everything, for a first look
#   NOISY=1               also on a busy machine; the results say so
#   CONTINUE=1            go on with what was interrupted; else earlier results are moved away
#   HUGEWISE=FILE         this program instead of one built to be installed
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all="scan promote rest scale tail recover redis-bloat memcached-table bloat diagnose"
folder=crates/lab/experiments
results=bench-results

if [ "$(id -u)" != 0 ]; then
    echo "bench: needs root: hugewise acts on the memory of other processes" >&2
    exit 1
fi

names=()
for word in ${BENCH:-$all}; do
    case $word in */* | *..*) echo "bench: '$word' is no name" >&2; exit 2 ;; esac
    found=()
    for file in "$folder/$word.toml" "$folder/$word"-*.toml; do
        [ -e "$file" ] && found+=("$(basename "$file" .toml)")
    done
    if [ ${#found[@]} -gt 0 ]; then
        names+=("${found[@]}")
    else
        echo "bench: no experiment '$word' in $folder" >&2
        exit 2
    fi
done

program=${HUGEWISE:-}
if [ -z "$program" ]; then
    cargo build --profile dist -p hugewise || exit
    target=${CARGO_TARGET_DIR:-target}
    program=$target/${CARGO_BUILD_TARGET:+$CARGO_BUILD_TARGET/}dist/hugewise
fi

quick=() noisy=() ending=
[ -n "${QUICK:-}" ] && quick=(--quick) && ending=-quick
[ -n "${NOISY:-}" ] && noisy=(--noisy)

# Old results are kept, but never mixed with those of another build.
make_room() {
    [ -e "$1" ] && [ -z "${CONTINUE:-}" ] || return 0
    local earlier=$results/earlier
    mkdir -p "$earlier" && mv -- "$1" "$earlier/$(basename "$1")-$(date +%Y%m%d-%H%M%S)"
}

# Why an experiment cannot run here: a program is missing, or its baseline is impossible.
obstacle() {
    local said
    # It ends with an error code where there is an obstacle.
    said=$("$program" lab setup "$1" "${quick[@]}" 2>&1)
    grep -E '^(Missing: |hugewise: the baseline )' <<<"$said"
}

trap 'echo "bench: interrupted; CONTINUE=1 goes on"; exit 130' INT TERM
ran=() partial=() skipped=() failed=()
for name in "${names[@]}"; do
    printf '\n## %s\n\n' "$name"
    if why=$(obstacle "$name"); then
        # The first line, without its mark.
        why=${why%%$'\n'*} why=${why#Missing: }
        printf 'Skipped: %s\n' "${why%;}"
        skipped+=("$name")
        continue
    fi
    output=$results/$name$ending
    make_room "$output" || exit
    "$program" lab run "$name" "${quick[@]}" "${noisy[@]}" --output "$output"
    code=$?
    case $code in
        0) ran+=("$name") ;;
        5) partial+=("$name") ;;
        *) echo "bench: $name ended with exit code $code" && failed+=("$name") ;;
    esac
done

printf '\n%d run, %d in part%s' ${#ran[@]} ${#partial[@]} "${partial[*]:+ (${partial[*]})}"
printf ', %d skipped' ${#skipped[@]}
printf ', %d failed%s\n' ${#failed[@]} "${failed[*]:+: ${failed[*]}}"
some=$((${#ran[@]} + ${#partial[@]}))
[ ${#failed[@]} = 0 ] && [ $some = 0 ] && echo "bench: nothing was run"
[ ${#failed[@]} = 0 ] && [ $some -gt 0 ]
