#!/bin/bash
# Runs the WebGPU tests and measurements on a machine with a GPU that has no compiler.
#   gpu-check.sh prepare [FOLDER]              here: builds what it takes into FOLDER (gpu), for x86-64 Linux
#   gpu-check.sh run FOLDER [OUT] [PART ...]   there: logs go to OUT (FOLDER/out), a table of what came out to the end of
#                                              standard output; PARTs of info, cts, bench; all otherwise
# LIBRARIES in the environment, of "wgpu_native webgpu_dawn", chooses libraries; JOBS how many suites run at once;
# VK_DRIVER_FILES the driver. Exits with 1 when a test failed or a measurement did not run.
set -uo pipefail

prepare() {
    cd "$(dirname "$0")/.." || exit 1
    local folder=${1:-gpu} library
    scripts/setup.sh || exit 1
    # The kernels' CPU code, most of what is compiled, is not run there.
    cmake_options="-DKHAL_KERNEL_COMPILE_OPTIONS=-O0;-g0;-DKHAL_CPU_BASE_ONLY" \
        scripts/build.sh build-gpu release -j "$(nproc)" --target khal-info --target khal-bench --target khal-cts || exit 1
    rm -rf "$folder"
    mkdir -p "$folder/lib"
    for program in khal-info khal-bench khal-cts; do
        strip -o "$folder/$program" "build-gpu/$program" || exit 1
    done
    cp -P build-gpu/libkhal.so* "$folder/lib/" && strip "$folder"/lib/libkhal.so.*.*.* || exit 1
    for library in wgpu_native webgpu_dawn; do
        cp "deps/webgpu/lib$library.so" "$folder/lib/" || exit 1
    done
    # A machine with a driver may have no loader for it; and this one is known to fit.
    library=$(ldconfig -p | sed -n 's/^\s*libvulkan\.so\.1 .*x86-64.* => //p' | head -n 1)
    [ -n "$library" ] && cp -L "$library" "$folder/lib/libvulkan.so.1"
    library=$(ldd build-gpu/khal-bench | sed -n 's/^\s*libgomp\.so\.1 => \(\S*\).*/\1/p')
    [ -n "$library" ] && cp -L "$library" "$folder/lib/"
    cp scripts/gpu-check.sh "$folder/"
    du -sh "$folder"
}

run() {
    local folder out status=0
    folder=$(cd "$1" && pwd) || exit 1
    shift
    out=$folder/out
    case ${1:-} in '' | info | cts | bench) ;; *) out=$1; shift ;; esac
    [ $# -gt 0 ] || set -- info cts bench
    mkdir -p "$out" || exit 1
    out=$(cd "$out" && pwd)
    export LD_LIBRARY_PATH=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-$out}
    if [ -z "${VK_DRIVER_FILES:-}" ] && ! ls /etc/vulkan/icd.d/*.json /usr/share/vulkan/icd.d/*.json >/dev/null 2>&1; then
        VK_DRIVER_FILES=$(find /usr /etc /opt -name '*_icd*.json' -path '*icd.d*' 2>/dev/null | paste -sd :)
        [ -n "$VK_DRIVER_FILES" ] && export VK_DRIVER_FILES VK_ICD_FILENAMES="$VK_DRIVER_FILES"
    fi
    echo "driver files: ${VK_DRIVER_FILES:-those of the system}"
    for library in ${LIBRARIES:-wgpu_native webgpu_dawn}; do
        export KHAL_WEBGPU_LIBRARY=$folder/lib/lib$library.so KHAL_CTS_REQUIRE=webgpu
        for part in "$@"; do
            local log=$out/$library-$part.log
            case $part in
            info) timeout 60 "$folder/khal-info" --backend webgpu >"$log" 2>&1 ;;
            bench) timeout 400 "$folder/khal-bench" webgpu >"$log" 2>&1 ;;
            cts) run_cts "$folder" "$log" ;;
            *) echo "gpu-check.sh: no part is named $part" >&2; exit 2 ;;
            esac
            local rc=$?
            [ $rc = 0 ] || status=1
            echo "== $library: $part: exit status $rc"
            case $part in cts) grep -h '^FAIL' "$log" | head -n 40; tail -n 1 "$log" ;; *) cat "$log" ;; esac
        done
    done
    exit $status
}

# Suites side by side, each with a log, put together at the end.
run_cts() {
    local folder=$1 log=$2 logs
    logs=$(mktemp -d)
    export folder logs
    "$folder/khal-cts" --list-suites | xargs -P "${JOBS:-8}" -I{} bash -c \
        'timeout 500 "$folder/khal-cts" --device webgpu --suite {} --verbose >"$logs/{}" 2>&1 || echo "exit status $?" >>"$logs/{}"'
    for suite in $("$folder/khal-cts" --list-suites); do
        echo "---- $suite"
        cat "$logs/$suite"
    done >"$log"
    rm -rf "$logs"
    awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { suites++; p += $1; f += $3; s += $5 } /^exit status/ { bad++ }
        END { printf "%d suites: %d passed, %d failed, %d skipped; %d suites did not end well\n", suites, p, f, s, bad
              exit f > 0 || bad > 0 || suites == 0 }' "$log" >"$log.sum"
    local rc=$?
    cat "$log.sum" >>"$log"
    rm -f "$log.sum"
    return $rc
}

case ${1:-} in
prepare) shift; prepare "$@" ;;
run) shift; [ $# -gt 0 ] || { echo "gpu-check.sh: run which folder?" >&2; exit 2; }; run "$@" ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
