#!/usr/bin/env bash
# Packs a static program into an OCI image (image-spec 1.0), one layer, as a tar archive that
# podman, skopeo and docker load. The same program and time give the same bytes.
#   oci.sh PROGRAM ARCHITECTURE VERSION OUTPUT.tar      (SOURCE_DATE_EPOCH: the time in it)
set -euo pipefail
program=$1 architecture=$2 version=$3 output=$4
epoch=${SOURCE_DATE_EPOCH:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
image=$work/image
blobs=$image/blobs/sha256
mkdir -p "$blobs" "$work/layer/usr/bin"

pack() { # DIRECTORY: its entries as a tar archive, always the same
    tar -C "$1" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -cf - .
}

blob() { # FILE: moved among the blobs; its digest and size as members of a descriptor
    local digest size
    digest=$(sha256sum "$1" | cut -d' ' -f1)
    size=$(stat -c %s "$1")
    mv "$1" "$blobs/$digest"
    printf '"digest":"sha256:%s","size":%s' "$digest" "$size"
}

install -m 0755 "$program" "$work/layer/usr/bin/hugewise"
pack "$work/layer" >"$work/layer.tar"
plain=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
gzip -9n "$work/layer.tar"
layer=$(blob "$work/layer.tar.gz")

printf '%s' "{\"created\":\"$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)\",\
\"architecture\":\"$architecture\",\"os\":\"linux\",\
\"config\":{\"Entrypoint\":[\"/usr/bin/hugewise\"],\"Cmd\":[\"--help\"],\
\"Labels\":{\"org.opencontainers.image.title\":\"hugewise\",\
\"org.opencontainers.image.version\":\"$version\"}},\
\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:$plain\"]}}" >"$work/config"
config=$(blob "$work/config")
type=application/vnd.oci.image
printf '%s' "{\"schemaVersion\":2,\"mediaType\":\"$type.manifest.v1+json\",\
\"config\":{\"mediaType\":\"$type.config.v1+json\",$config},\
\"layers\":[{\"mediaType\":\"$type.layer.v1.tar+gzip\",$layer}]}" >"$work/manifest"
manifest=$(blob "$work/manifest")
printf '%s' "{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":\"$type.manifest.v1+json\",$manifest,\
\"annotations\":{\"org.opencontainers.image.ref.name\":\"hugewise:$version\"}}]}" >"$image/index.json"
printf '{"imageLayoutVersion":"1.0.0"}' >"$image/oci-layout"
pack "$image" >"$output"
