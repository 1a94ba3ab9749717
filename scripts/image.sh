#!/usr/bin/env bash
# The image, run by podman as the DaemonSets of dist/kubernetes ask for it: the manager with their
# capabilities and mounts and without one of them, which 'hugewise doctor' has to name, and both as
# pods by 'podman kube play'. Nothing is changed: the manager's DaemonSet is a dry run.
#   image.sh [IMAGE.oci.tar]     this one, or the newest for this machine in target/dist
# Needs root and podman; says what is missing and ends with 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() { echo "image: SKIPPED: $1"; exit 77; }
fail() { echo "image: FAILED: $1"; exit 1; }
step() { echo "image: $1" >&2; }
[ "$(id -u)" = 0 ] || skip "it needs root"
command -v podman >/dev/null || skip "no podman: apt-get install podman"

work=$(mktemp -d)
podman=(podman --root "$work/storage" --runroot "$work/run" --cgroup-manager cgroupfs)
end() {
    "${podman[@]}" pod rm --all --force --time 5 >/dev/null 2>&1 || true
    "${podman[@]}" rm --all --force --time 5 >/dev/null 2>&1 || true
    umount "$work/storage/overlay" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

# Limits of this shell: podman's own need CAP_SYS_RESOURCE. crun does not know cgroups of both
# versions side by side, and runc does.
{
    echo "[containers]"
    echo "default_ulimits=[\"nofile=$(ulimit -Sn):$(ulimit -Hn)\",\"nproc=20000:20000\"]"
    echo "[engine]"
    [ ! -d /sys/fs/cgroup/unified ] || ! command -v runc >/dev/null || echo 'runtime="runc"'
} >"$work/containers.conf"
export CONTAINERS_CONF=$work/containers.conf

case $(uname -m) in x86_64) machine=amd64 ;; aarch64) machine=arm64 ;; *) machine=$(uname -m) ;; esac
packed=${1:-$(find target/dist -name "*-$machine.oci.tar" -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2)}
[ -n "$packed" ] || fail "no image: make package"
"${podman[@]}" load --quiet --input "$packed" >"$work/loaded"
image=$(sed -n 's/^Loaded image: *//p' "$work/loaded")
"${podman[@]}" run --rm --network none "$image" --version >"$work/said" 2>&1 || {
    cat "$work/said"
    skip "podman runs no container here"
}

manifest=dist/kubernetes/manage/daemonset.yaml
mkdir -p "$work/host/var/lib/hugewise" "$work/host/run/hugewise" "$work/config"
cp dist/kubernetes/manage/hugewise.toml "$work/config/"
# The manifest's members, of which there is one each.
added=$(sed -n 's/.*add: \[\(.*\)\].*/\1/p' "$manifest" | tr -d ' ')
as_asked=(run --rm --network none --pid host --user 0 --read-only --cap-drop all
    --security-opt no-new-privileges
    --volume "$work/config:/etc/hugewise:ro"
    --volume "$work/host/var/lib/hugewise:/var/lib/hugewise"
    --volume "$work/host/run/hugewise:/run/hugewise"
    --volume /sys/kernel/mm/transparent_hugepage:/sys/kernel/mm/transparent_hugepage)
doctor() { # CAPABILITIES EXIT-CODE WHAT-IT-SAYS
    local code=0
    "${podman[@]}" "${as_asked[@]}" --cap-add "$1" "$image" doctor >"$work/said" 2>&1 || code=$?
    if [ "$code" != "$2" ] || ! grep -q "$3" "$work/said"; then
        cat "$work/said"
        fail "doctor ends with $code, and does not say: $3"
    fi
}
step "what the manager's pod may is enough"
doctor "$added" 0 'Nothing is missing\.'
for one in ${added//,/ }; do
    step "... and doctor says what it costs to lack $one"
    rest=$(tr , '\n' <<<"$added" | grep -vx "$one" | paste -sd ,)
    if [ "$one" = CHECKPOINT_RESTORE ]; then
        # Without it private memory is managed all the same.
        doctor "$rest" 0 "CAP_$one  *no: "
        continue
    fi
    doctor "$rest" 5 "Missing: CAP_$one\."
    grep -q "'hugewise manage' would not \(fully \)\?work here" "$work/said" || fail "it does not say"
done

# Waits until a container says a text.
says() { # CONTAINER TEXT
    for _ in $(seq 40); do
        "${podman[@]}" logs "$1" >"$work/said" 2>&1 || true
        ! grep -q "$2" "$work/said" || return 0
        sleep 0.5
    done
    cat "$work/said"
    fail "$1 does not say: $2"
}

step "the manager sees the programs of the machine, as a dry run"
as_asked[1]=--detach
"${podman[@]}" run --detach --interactive --name program --network none "$image" \
    lab workload bloat --kind arena --mib 256 >/dev/null
"${podman[@]}" "${as_asked[@]}" --name dry --cap-add "$added" "$image" \
    manage --config=/etc/hugewise/hugewise.toml --dry-run >/dev/null
says dry 'hugewise: [1-9][0-9]* process'
"${podman[@]}" rm --force --time 2 dry program >/dev/null

step "podman plays the manager's pod"
# The DaemonSet's pod, with the image that was loaded, and its state not on this machine. (Podman 4.3
# knows no hostPID there: it then sees its own processes only.)
{
    printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: manage}\n'
    awk '/^    spec:$/ { inside = 1 } inside { print substr($0, 5) }' "$manifest" |
        sed "s|image: hugewise$|image: $image\n      imagePullPolicy: Never|
             s|hostPath: {path: /\(var\|run\)/|hostPath: {path: $work/host/\1/|"
    printf -- '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: hugewise-config}\n'
    printf 'data:\n  hugewise.toml: |\n'
    sed 's/^/    /' dist/kubernetes/manage/hugewise.toml
} >"$work/manage.yaml"
"${podman[@]}" kube play "$work/manage.yaml" >"$work/said" 2>&1 || { cat "$work/said"; fail "kube play"; }
says manage-hugewise 'hugewise: [0-9]* process'
"${podman[@]}" pod rm --force --time 10 manage >/dev/null

step "the page's pod may do nothing, and answers"
# Not by 'kube play': podman 4.3 knows neither status.podIP nor subPath of a secret.
token=0123456789abcdef0123456789abcdef
install -m 0440 -g 65532 /dev/stdin "$work/token" <<<"$token"
"${podman[@]}" run --detach --name page --network host --user 65532:65532 --read-only --cap-drop all \
    --security-opt no-new-privileges --volume "$work/token:/etc/hugewise/token:ro" "$image" \
    serve --listen=127.0.0.1:9917 --host=127.0.0.1 --token-file=/etc/hugewise/token >/dev/null
says page 'http://'
page() { # EXIT-CODE OPTION...: asks for metrics
    local wanted=$1 code
    shift
    code=$(curl --silent --output "$work/metrics" --write-out '%{http_code}' "$@" \
        http://127.0.0.1:9917/metrics)
    [ "$code" = "$wanted" ] || fail "the page answers $code instead of $wanted"
}
page 401
page 200 --header "Authorization: Bearer $token"
grep -q '^hugewise_' "$work/metrics" || fail "no metrics"
echo "image: all of it works"
