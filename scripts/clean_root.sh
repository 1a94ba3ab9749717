#!/usr/bin/env bash
# Installs the Debian package into a clean Debian root as a stranger would: the program answers, the
# unit verifies, manual pages and completions are found, and a purge leaves nothing.
#   clean_root.sh [PROGRAM]     this program instead of one built for it
# Needs root, debootstrap and a package mirror; says what is missing and ends with 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() { echo "clean_root: SKIPPED: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "it needs root"
command -v debootstrap >/dev/null || skip "no debootstrap: apt-get install debootstrap"

work=$(mktemp -d)
root=$work/root
end() {
    umount "$root/proc" "$root/sys" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

PROGRAM=${1:-} OUTPUT=$work/dist scripts/dist.sh >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
debootstrap --variant=minbase --include=systemd,man-db "$release" "$root" >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log"; skip "debootstrap failed"; }
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
cp "$work"/dist/*.deb "$root/hugewise.deb"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
# What is part of the system, and not its logs and caches.
listed() { (cd "$root" && find . -xdev \( -path ./var/log -o -path ./var/cache \) -prune -o -print | sort); }
listed >"$work/before"

step() { echo "clean_root: $1" >&2; shift; "$@"; }
step "the package installs" inside dpkg -i /hugewise.deb >/dev/null
step "the program answers" inside hugewise --version
step "... and says what the kernel allows" inside hugewise doctor >"$work/doctor" || [ $? = 5 ]
step "the unit verifies" inside systemd-analyze verify hugewise.service
step "the manual page is found" inside man -w hugewise-manage >/dev/null
step "a shell completes" test -s "$root/usr/share/bash-completion/completions/hugewise"
# Every example that the README and the tutorial print to be run, with the exit code that it may
# end with.
examples() { # FILE: its blocks '```sh run', one file each in $work/examples
    awk -v out="$work/examples/$(basename "$1" .md)" '
        /^ *```sh run/ {
            inside = 1
            code = match($0, /exits-[0-9]+/) ? "-" substr($0, RSTART, RLENGTH) : ""
            file = out "-" ++n code ".sh"
            next
        }
        /^ *```/ { inside = 0 }
        inside { print > file }' "$1"
}
mkdir "$work/examples" "$root/try"
examples README.md
examples docs/tutorial.md
for example in "$work"/examples/*.sh; do
    name=$(basename "$example")
    cp "$example" "$root/try/$name"
    echo "clean_root: the example $name works as printed" >&2
    may=$(sed -n 's/.*-exits-\([0-9]*\)\.sh$/\1/p' <<<"$name")
    code=0
    inside sh -c "cd /try && sh -e ./$name" >"$work/said" 2>&1 || code=$?
    if [ "$code" != 0 ] && [ "$code" != "${may:-0}" ]; then
        cat "$example" "$work/said"
        echo "clean_root: it ended with $code"
        exit 1
    fi
done
rm -rf "$root/try"
inside install -d /etc/hugewise /var/lib/hugewise
mkdir "$work/image" "$work/empty"
tar -C "$work/image" -xf "$work"/dist/*.oci.tar
for blob in "$work"/image/blobs/sha256/*; do
    # Of its blobs one is a layer, the others are JSON.
    tar -C "$work/empty" -xzf "$blob" 2>/dev/null || true
done
step "the image runs with nothing else in it" chroot "$work/empty" /usr/bin/hugewise --version
step "the purge works" inside dpkg --purge hugewise >/dev/null
listed >"$work/after"
# dpkg keeps a copy of its list of packages.
if left=$(diff "$work/before" "$work/after" | grep -v '/var/lib/dpkg/' | grep '^[<>]'); then
    echo "clean_root: the purge left or took away:"
    echo "$left"
    exit 1
fi
echo "clean_root: nothing is left"
