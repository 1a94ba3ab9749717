#!/usr/bin/env bash
# Makes what is handed out, in target/dist: a tarball, a container image, a Debian package and an RPM
# around one static program.
# The same commit gives the same bytes.
#   PROGRAM=FILE   this program instead of one built for it
#   MACHINE=NAME   the machine that it is for, as uname -m calls it, where that is another one
#   OUTPUT=DIR     another place
#   VERSION=TEXT   another version than the workspace has
#   ONLY=packages  neither tarball nor image
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

own=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
version=${VERSION:-$own}
machine=${MACHINE:-$(uname -m)}
case $machine in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *) architecture=$machine ;;
esac
# Times inside the archives: those of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
output=${OUTPUT:-target/dist}
mkdir -p "$output"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

root=$work/root
make --no-print-directory install PREFIX=/usr DESTDIR="$root" ${PROGRAM:+PROGRAM="$PROGRAM"} >&2
doc=$root/usr/share/doc/hugewise
install -d "$doc"
install -m 0644 README.md ARCHITECTURE.md SPEC.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$doc"
cp -R docs "$doc/docs"
find "$doc" -type f -exec chmod 0644 {} +
find "$doc" -type d -exec chmod 0755 {} +

tarball() {
    local name=hugewise-$version-$machine-linux
    cp -a "$root/usr" "$work/$name"
    tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        -cf - "$name" | gzip -9n >"$output/$name.tar.gz"
    echo "$output/$name.tar.gz"
}

image() {
    local image=$output/hugewise-$version-$architecture.oci.tar
    scripts/oci.sh "$root/usr/bin/hugewise" "$architecture" "$version" "$image"
    echo "$image"
}

if [ "${ONLY:-}" != packages ]; then
    tarball
    image
fi

# The packages. Those that start others come first: a socket would start its service again.
UNITS=$(cd dist && echo *.socket *.timer *.service)
export UNITS
gzip -9n "$root"/usr/share/man/man1/*.1
package() { # TOOL SCRIPT ARCHITECTURE OUTPUT
    if ! command -v "$1" >/dev/null; then
        echo "dist: no $(basename "$4"): $1 is not installed" >&2
        return 0
    fi
    "$2" "$root" "$3" "$version" "$4"
    echo "$4"
}
package rpmbuild scripts/rpm.sh "$machine" "$output/hugewise-$version-1.$machine.rpm"
package dpkg-deb scripts/deb.sh "$architecture" "$output/hugewise_${version}_$architecture.deb"
