#!/bin/sh
# demo.sh [BUILD]: runs the examples on every device that khal-info finds, and prints a line for each; on WebGPU with each
# library of deps/, or with the one that KHAL_WEBGPU_LIBRARY names. The pictures go to BUILD/demo. Exits with 1 when an
# example fails somewhere.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build}
photograph=${KHAL_PHOTOGRAPH:-/usr/share/matplotlib/mpl-data/sample_data/grace_hopper.jpg}
for program in khal-info quickstart reduce nbody; do
    if [ ! -x "$build/$program" ]; then
        echo "demo.sh: $build/$program is not there: build first (make)" >&2
        exit 1
    fi
done
mkdir -p "$build/demo" || exit 1
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$(cd "$build/demo" && pwd)}" # what some drivers ask for, and complain about

status=0
any=false

# Runs the examples on device $1; $2 names it in file names.
run() {
    any=true
    "$build/khal-info" | awk -v index_is="$1:" '
        /^[0-9]/ { here = $1 == index_is; if (here) { sub(/^[0-9]*: /, ""); text = $0 } }
        here && $1 == "driver" { sub(/^ *driver */, ""); text = text ", " $0 }
        END { print text ":" }'
    for example in quickstart reduce nbody; do
        "$build/$example" --device "$1" || status=1
    done
    if [ ! -x "$build/edges" ]; then
        echo "edges was not built: it needs libjpeg and libpng" >&2
    elif [ ! -r "$photograph" ]; then
        echo "edges: there is no $photograph (Debian: python-matplotlib-data); KHAL_PHOTOGRAPH may name another" >&2
        status=1
    elif "$build/edges" --device "$1" "$photograph" "$build/demo/edges-$2.png"; then
        echo "wrote $build/demo/edges-$2.png"
    else
        status=1
    fi
}

# "index backend" of each device that can be opened.
devices() {
    "$build/khal-info" | sed -n '/: not available:/d; s/^\([0-9][0-9]*\): \([a-z]*\): .*/\1 \2/p' | grep -v ' noop$'
}

# Runs on the devices of the backend that the pattern names; $2 goes into file names where it is not empty.
run_all() {
    seen=" "
    while read -r index backend; do
        case $backend in $1) ;; *) continue ;; esac
        name=${2:-$backend}
        case $seen in *" $backend "*) name=$name-$index ;; esac
        seen="$seen$backend "
        run "$index" "$name"
    done <<LIST
$(devices)
LIST
}

run_all '[!w]*' ''
if [ -n "${KHAL_WEBGPU_LIBRARY:-}" ]; then
    run_all webgpu ''
else
    lavapipe=$root/deps/vulkan/lavapipe_icd.json
    for library in "$root/deps/webgpu/libwgpu_native.so" "$root/deps/webgpu/libwebgpu_dawn.so"; do
        [ -r "$library" ] || continue
        export KHAL_WEBGPU_LIBRARY="$library"
        # A processor that stands in for a GPU is driven by the lavapipe that is known to do it right.
        if [ -z "${VK_DRIVER_FILES:-}" ] && [ -r "$lavapipe" ] &&
            ! "$build/khal-info" --backend webgpu 2>/dev/null | grep -q '^ *type  *[a-z]* GPU$'; then
            export VK_DRIVER_FILES="$lavapipe" VK_ICD_FILENAMES="$lavapipe"
        fi
        name=$(basename "$library" .so)
        run_all webgpu "webgpu-${name#lib}"
    done
fi

if ! $any; then
    echo "demo.sh: khal-info finds no device" >&2
    exit 1
fi
exit $status
