#!/bin/sh
# demo.sh [BUILD]: runs the examples on every device that khal-info finds, and prints a line for each. The pictures go to
# BUILD/demo. Exits with 1 when an example fails somewhere.
set -u
build=${1:-$(cd "$(dirname "$0")/.." && pwd)/build}
photograph=${KHAL_PHOTOGRAPH:-/usr/share/matplotlib/mpl-data/sample_data/grace_hopper.jpg}
for program in khal-info quickstart reduce nbody; do
    if [ ! -x "$build/$program" ]; then
        echo "demo.sh: $build/$program is not there: build first (make)" >&2
        exit 1
    fi
done
mkdir -p "$build/demo" || exit 1

devices=$("$build/khal-info" | sed -n '/: not available:/d; s/^\([0-9][0-9]*\): \([a-z]*\): .*/\1 \2/p' | grep -v ' noop$')
if [ -z "$devices" ]; then
    echo "demo.sh: khal-info finds no device" >&2
    exit 1
fi

status=0
seen=" "
while read -r index backend; do
    name=$backend
    case $seen in *" $backend "*) name=$backend-$index ;; esac
    seen="$seen$backend "
    for example in quickstart reduce nbody; do
        "$build/$example" --device "$index" || status=1
    done
    if [ ! -x "$build/edges" ]; then
        echo "edges was not built: it needs libjpeg and libpng" >&2
    elif [ ! -r "$photograph" ]; then
        echo "edges: there is no $photograph (Debian: python-matplotlib-data); KHAL_PHOTOGRAPH may name another" >&2
        status=1
    elif "$build/edges" --device "$index" "$photograph" "$build/demo/edges-$name.png"; then
        echo "wrote $build/demo/edges-$name.png"
    else
        status=1
    fi
done <<END
$devices
END
exit $status
