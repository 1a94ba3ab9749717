#!/usr/bin/env bash
# Makes an RPM of an installed tree. The same tree and time give the same bytes.
#   rpm.sh ROOT MACHINE VERSION OUTPUT.rpm      (SOURCE_DATE_EPOCH: the time in it)
# UNITS names the units.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$1 machine=$2 version=$3 output=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# A percent sign begins a macro.
shared() {
    printf 'UNITS="%s"\nPROGRAM=/usr/bin/hugewise\n' "$UNITS"
    sed 's/%/%%/g' dist/package/maintain.sh
}
{
    cat <<END
Name: hugewise
Version: $version
Release: 1
Summary: Huge pages, used wisely
License: MIT OR Apache-2.0
AutoReqProv: no

%description
Promotes well-used memory of running programs to huge pages in the background,
within budgets, and takes waste back. Finds out why a machine spends time in
the kernel, and sizes HugeTLB pools.

%install
cp -a '$root/usr' %{buildroot}/usr

%posttrans
$(shared)
upgraded

%preun
$(shared)
if [ "\$1" = 0 ]; then remove; fi

%postun
if [ "\$1" = 0 ]; then
$(shared)
removed
fi

%files
END
    # Its own directories, and those of shells that may not be there.
    (cd "$root" && find usr -type d \( -name hugewise -o -path '*/hugewise/*' \
        -o -path 'usr/share/fish*' -o -path 'usr/share/zsh*' \) \
        -printf '%%dir "/%p"\n' | LC_ALL=C sort)
    (cd "$root" && find usr -type f -printf '"/%p"\n' | LC_ALL=C sort)
} >"$work/hugewise.spec"

# No scripts of a distribution go over the files, and nothing tells where and when it was made.
rpmbuild -bb --quiet --target "$machine-linux" --define "_topdir $work" \
    --define '__os_install_post %{nil}' --define 'debug_package %{nil}' \
    --define '_build_id_links none' --define '_buildhost localhost' \
    --define 'use_source_date_epoch_as_buildtime 1' \
    --define 'clamp_mtime_to_source_date_epoch 1' \
    --define '_binary_payload w6.xzdio' "$work/hugewise.spec" >&2
mv "$work"/RPMS/*/hugewise-*.rpm "$output"
