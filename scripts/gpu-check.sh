#!/bin/bash
# Runs tests and measurements on a machine with a GPU, which needs no compiler but nvcc, and that only to compare with.
#   gpu-check.sh prepare [FOLDER] [cuda] [webgpu]   here: builds what it takes for the backends (cuda) into FOLDER (gpu), for
#                                                   x86-64 Linux
#   gpu-check.sh run FOLDER [PART ...]              there: logs go to $OUT (FOLDER/out), what came out to standard output
# PARTs, each of which ends in $LIMIT seconds (540):
#   correctness   khal-info, the conformance suite, unit tests and examples on CUDA
#   sanitizer     the conformance suite under compute-sanitizer's memcheck and racecheck; $TOOLS names others too
#   numbers       khal-bench cuda, beside what nvcc and clang make of the kernels
#   two           what needs two GPUs
#   webgpu        khal-info, the suite and khal-bench with each WebGPU library; or webgpu-info, webgpu-cts, webgpu-bench alone
# In the environment: JOBS, how many suites run at once; SUITES, of the conformance suite, all otherwise; SHARE, I/N of each
# suite's cases; FILTER, a pattern for their names; LIBRARIES, of "wgpu_native webgpu_dawn"; VK_DRIVER_FILES, the Vulkan
# driver. Exits with 1 when a test failed or a measurement did not run, with 3 when all is well but for what there was no
# time for.
set -uo pipefail

fail() {
    echo "gpu-check.sh: $*" >&2
    exit 1
}

# ---- here ---------------------------------------------------------------------------------------

prepare() {
    cd "$(dirname "$0")/.." || exit 1
    local folder=gpu library targets programs stage
    case ${1:-} in '' | cuda | webgpu) ;; *) folder=$1; shift ;; esac
    [ $# -gt 0 ] || set -- cuda
    scripts/setup.sh || exit 1
    # The kernels' CPU code, most of what is compiled, is not run there.
    cmake_options="-DKHAL_KERNEL_COMPILE_OPTIONS=-O0;-g0;-DKHAL_CPU_BASE_ONLY" \
        scripts/build.sh build-gpu release --target khalc || exit 1
    programs="khal-info khal-bench khal-cts quickstart reduce nbody edges"
    # Not those that look for a stand-in or the corpus of the fuzzers where they were built.
    targets=$(cmake --build build-gpu --target help | grep -Eo '^unit-[a-z_0-9]+' | grep -Ev 'unit-(cuda_|webgpu_|wg_dispatch|reflect_cuda)')
    # shellcheck disable=SC2086
    cmake --build build-gpu -j "$(nproc)" --target khal-info khal-bench khal-cts demo $targets || exit 1
    stage=$(mktemp -d) || exit 1
    # shellcheck disable=SC2064
    trap "rm -rf '$stage'" EXIT
    mkdir -p "$stage/lib" "$stage/unit"
    for program in $programs; do
        [ -x "build-gpu/$program" ] && { strip -o "$stage/$program" "build-gpu/$program" || exit 1; }
    done
    for program in $targets; do
        strip -o "$stage/unit/${program#unit-}" "build-gpu/tests/$program" || exit 1
    done
    cp -P build-gpu/libkhal.so* "$stage/lib/" && strip "$stage"/lib/libkhal.so.*.*.* || exit 1
    for library in $(ldd "$stage"/khal-* "$stage"/edges "$stage"/unit/* 2>/dev/null | sed -n 's/.* => \(\/\S*\) (.*/\1/p' | sort -u); do
        case ${library##*/} in
        libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | libkhal.so.*) ;;
        *) cp -L "$library" "$stage/lib/" || exit 1 ;;
        esac
    done
    for backend in "$@"; do
        case $backend in
        cuda) prepare_cuda "$stage" ;;
        webgpu) prepare_webgpu "$stage" ;;
        *) fail "there is no backend $backend to prepare for" ;;
        esac
    done
    rm -rf "$folder"
    mkdir -p "$folder" || exit 1
    tar -C "$stage" -czf "$folder/programs.tar.gz" . || exit 1
    cp scripts/gpu-check.sh "$folder/"
    du -sh "$folder"
    [ "$(du -sm "$folder" | cut -f1)" -le 64 ] || fail "$folder is over 64 MiB"
}

# The kernels of the benchmark, as nvcc is to compile them there, and as clang makes PTX of the OpenCL C itself.
prepare_cuda() {
    local stage=$1 clang libclc photograph=/usr/share/matplotlib/mpl-data/sample_data/grace_hopper.jpg
    cp tools/khal-bench/cuda_kernels.cu "$stage/" || exit 1
    clang=$(sed -n 's/^KHAL_CLANG:[A-Z]*=//p' build-gpu/CMakeCache.txt)
    libclc=$(ls /usr/lib/clc/nvptx64--nvidiacl.bc /usr/share/clc/nvptx64--nvidiacl.bc 2>/dev/null | head -n 1)
    [ -n "$libclc" ] || fail "there is no nvptx64--nvidiacl.bc (Debian: libclc-19)"
    "${clang:-clang-19}" -x cl -cl-std=CL1.2 -target nvptx64-nvidia-nvcl -march=sm_75 -O3 -S -Wno-linker-warnings \
        -Xclang -mlink-builtin-bitcode -Xclang "$libclc" tools/khal-bench/kernels.cl -o "$stage/opencl.ptx" || exit 1
    [ ! -r "$photograph" ] || cp "$photograph" "$stage/photograph.jpg"
}

prepare_webgpu() {
    local stage=$1 library
    for library in wgpu_native webgpu_dawn; do
        cp "deps/webgpu/lib$library.so" "$stage/lib/" || exit 1
    done
    # A machine with a driver may have no loader for it; and this one is known to fit.
    library=$(ldconfig -p | sed -n 's/^\s*libvulkan\.so\.1 .*x86-64.* => //p' | head -n 1)
    [ -z "$library" ] || cp -L "$library" "$stage/lib/libvulkan.so.1"
}

# ---- there --------------------------------------------------------------------------------------

run() {
    local folder part
    folder=$(cd "$1" && pwd) || exit 1
    shift
    [ $# -gt 0 ] || set -- correctness
    out=${OUT:-$folder/out}
    mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
    unpack "$folder"
    export LD_LIBRARY_PATH=$programs/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}:/usr/local/nvidia/lib64
    export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-$programs}
    export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$programs/cache}
    for part in "$@"; do
        status=0 late=false
        deadline=$(($(date +%s) + ${LIMIT:-540}))
        echo "==== $part"
        case $part in
        correctness) need_cuda; correctness ;;
        sanitizer) need_cuda; sanitizer ;;
        numbers) need_cuda; numbers ;;
        two) need_cuda; two ;;
        webgpu) webgpu info cts bench ;;
        webgpu-info | webgpu-cts | webgpu-bench) webgpu "${part#webgpu-}" ;;
        *) echo "gpu-check.sh: no part is named $part" >&2; exit 2 ;;
        esac
        [ $status = 0 ] || failed=true
        ! $late || unfinished=true
    done
    ! $failed || exit 1
    ! $unfinished || exit 3
}
failed=false unfinished=false

# Once for each state of the folder, outside it: what carries it to the machine may replace it.
unpack() {
    local archive=$1/programs.tar.gz name
    [ -r "$archive" ] || fail "$archive is not there: prepare it first"
    name=$(cksum <"$archive" | tr -d ' ')
    programs=${TMPDIR:-/tmp}/khal-gpu-check-$name
    [ ! -e "$programs/unpacked" ] || return 0
    mkdir -p "$programs" || exit 1
    tar -C "$programs" -xzf "$archive" || fail "$archive can't be unpacked"
    touch "$programs/unpacked"
}

# Counts the CUDA devices; ends here where there is none.
need_cuda() {
    local text
    [ -e "$programs/cuda_kernels.cu" ] || fail "this folder was prepared without CUDA (prepare FOLDER cuda)"
    text=$(timeout 60 "$programs/khal-info" --backend cuda 2>&1)
    cuda_count=$(grep '^[0-9][0-9]*: cuda: ' <<<"$text" | grep -vc ': not available: ')
    [ "$cuda_count" -gt 0 ] || fail "there is no CUDA device here: $(tail -n 1 <<<"$text")"
}

left() { echo $((deadline - $(date +%s))); }

# Runs a command with its output in log $1 under a heading, and prints a line about it, with the end of the output where it
# failed.
step() {
    local log=$1 name=$2 begin from rc
    shift 2
    begin=$(date +%s)
    echo "---- $name" >>"$log"
    from=$(wc -l <"$log")
    timeout "$(($(left) > 1 ? $(left) : 1))" "$@" >>"$log" 2>&1
    rc=$?
    [ $rc = 0 ] || status=1
    echo "$name: $([ $rc = 0 ] && echo passed || echo "exit status $rc") ($(($(date +%s) - begin)) s)"
    [ $rc = 0 ] || tail -n "+$((from + 1))" "$log" | tail -n 5 | cut -c 1-400
    return $rc
}

# ---- CUDA ---------------------------------------------------------------------------------------

correctness() {
    local log=$out/correctness.log example test
    "$programs/khal-info" >"$log" 2>&1
    cat "$log"
    for test in "$programs"/unit/*; do
        step "$log" "unit ${test##*/}" "$test"
    done
    for example in quickstart reduce nbody; do
        step "$log" "example $example" "$programs/$example" --device cuda
    done
    if [ -x "$programs/edges" ] && [ -r "$programs/photograph.jpg" ]; then
        step "$log" "example edges" "$programs/edges" --device cuda "$programs/photograph.jpg" "$programs/edges.png"
    fi
    export KHAL_CTS_REQUIRE=cuda
    run_suites "$log" cuda || status=1
}

sanitizer() {
    local sanitizer tool
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
    [ -n "$sanitizer" ] || fail "there is no compute-sanitizer here"
    export KHAL_CTS_REQUIRE=cuda
    for tool in ${TOOLS:-memcheck racecheck}; do
        : >"$out/$tool.log"
        # What the API is asked for in vain is no fault of a kernel: the suite does so on purpose.
        run_suites "$out/$tool.log" cuda "$sanitizer" --tool "$tool" --error-exitcode 86 --print-limit 20 --report-api-errors no ||
            status=1
        grep -hE '=========.*(Invalid|Race|hazard|Barrier error|Uninitialized|out of bounds)' "$out/$tool.log" | sort | uniq -c |
            sort -rn | head -n 20
    done
}

numbers() {
    local log=$out/numbers.log
    export KHAL_BENCH_OPENCL=$programs/opencl.ptx
    if command -v nvcc >/dev/null; then
        nvcc -O3 -arch=native -cubin "$programs/cuda_kernels.cu" -o "$programs/nvcc.cubin" &&
            export KHAL_BENCH_NVCC=$programs/nvcc.cubin
    else
        echo "there is no nvcc here to compare with"
    fi
    : >"$log"
    step "$log" "khal-bench cuda" "$programs/khal-bench" cuda
    grep -v '^{"bench"' "$log"
    grep '^{"bench"' "$log" >"$out/numbers.json"
}

two() {
    local log=$out/two.log
    [ "$cuda_count" -ge 2 ] || fail "two CUDA devices are needed, and there is $cuda_count"
    : >"$log"
    export KHAL_CTS_REQUIRE=cuda
    step "$log" "two devices in one process" "$programs/khal-cts" --device cuda --filter '*.two_devices' --verbose
    grep -E 'two_devices|passed,' "$log"
    grep -q '^[1-9][0-9]* passed, 0 failed, 0 skipped$' "$log" || status=1
}

# ---- WebGPU -------------------------------------------------------------------------------------

webgpu() {
    local library part log rc
    if [ -z "${VK_DRIVER_FILES:-}" ] && ! ls /etc/vulkan/icd.d/*.json /usr/share/vulkan/icd.d/*.json >/dev/null 2>&1; then
        VK_DRIVER_FILES=$(find /usr /etc /opt -name '*_icd*.json' -path '*icd.d*' 2>/dev/null | paste -sd :)
        [ -n "$VK_DRIVER_FILES" ] && export VK_DRIVER_FILES VK_ICD_FILENAMES="$VK_DRIVER_FILES"
    fi
    echo "driver files: ${VK_DRIVER_FILES:-those of the system}"
    for library in ${LIBRARIES:-wgpu_native webgpu_dawn}; do
        [ -e "$programs/lib/lib$library.so" ] || fail "this folder was prepared without WebGPU (prepare FOLDER webgpu)"
        export KHAL_WEBGPU_LIBRARY=$programs/lib/lib$library.so KHAL_CTS_REQUIRE=webgpu
        for part in "$@"; do
            log=$out/$library-$part.log
            : >"$log"
            case $part in
            info) step "$log" "$library: khal-info" "$programs/khal-info" --backend webgpu ;;
            bench) step "$log" "$library: khal-bench" "$programs/khal-bench" webgpu ;;
            cts) echo "$library:"; run_suites "$log" webgpu || status=1; continue ;;
            esac
            cat "$log"
        done
    done
}

# ---- the conformance suite ----------------------------------------------------------------------

# run_suites LOG DEVICE [COMMAND ...]: suites side by side, each with a log, put together at the end of LOG; a line for each
# that did not end well. With a command in front, all cases of a suite run in one process.
run_suites() {
    local log=$1 device=$2 suites logs suite rc
    shift 2
    suites=${SUITES:-$("$programs/khal-cts" --list-suites)}
    logs=$(mktemp -d)
    printf '%s\n' $suites | xargs -P "${JOBS:-8}" -I{} bash "$0" suite "$programs" "$logs" "$deadline" "$device" {} "$@"
    for suite in $suites; do
        echo "---- $suite: $(cat "$logs/$suite.end")"
        cat "$logs/$suite"
    done >"$logs/all"
    cat "$logs/all" >>"$log"
    grep -h '^FAIL' "$logs/all" | head -n 40
    for suite in $suites; do
        rc=$(cut -d' ' -f1 "$logs/$suite.end")
        case $rc in
        0 | none) ;;
        late | 124) late=true; echo "$suite: $(cat "$logs/$suite.end")" ;;
        *) echo "$suite: exit status $(cat "$logs/$suite.end"); $(tail -n 1 "$logs/$suite")" ;;
        esac
    done
    awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { suites++; p += $1; f += $3; s += $5 }
        /^========= (ERROR|RACECHECK) SUMMARY: / { sums++; errors += $4 }
        /^---- / { if ($3 == "late" || $3 == "124") late++; else if ($3 == "none") none++; else if ($3 != "0") bad++ }
        END { printf "%d suites: %d passed, %d failed, %d skipped", suites, p, f, s
              if (sums) printf "; compute-sanitizer found %d errors in %d suites", errors, sums
              printf "; %d suites did not end well, for %d there was no time%s\n", bad, late, late ? " (SHARE, SUITES)" : ""
              exit f > 0 || bad > 0 || errors > 0 || suites + late == 0 }' "$logs/all"
    rc=$?
    rm -rf "$logs"
    return $rc
}

# One suite: output to LOGS/SUITE, its exit status and seconds to LOGS/SUITE.end; "late" where there was no time to begin,
# "none" where no case was chosen.
suite() {
    local programs=$1 logs=$2 deadline=$3 device=$4 suite=$5 begin rc options=()
    shift 5
    begin=$(date +%s)
    : >"$logs/$suite"
    if [ $((deadline - begin)) -lt 5 ]; then
        echo "late: it did not begin" >"$logs/$suite.end"
        return
    fi
    [ $# = 0 ] || options+=(--no-fork)
    [ -z "${SHARE:-}" ] || options+=(--part "$SHARE")
    [ -z "${FILTER:-}" ] || options+=(--filter "$FILTER")
    timeout -k 5 $((deadline - begin)) "$@" "$programs/khal-cts" --device "$device" --suite "$suite" --verbose "${options[@]}" \
        >"$logs/$suite" 2>&1
    rc=$?
    [ $rc != 137 ] || rc=124
    ! grep -q '^khal-cts: no case has that name$' "$logs/$suite" || rc=none
    echo "$rc after $(($(date +%s) - begin)) s" >"$logs/$suite.end"
}

case ${1:-} in
prepare) shift; prepare "$@" ;;
run) shift; [ $# -gt 0 ] || { echo "gpu-check.sh: run which folder?" >&2; exit 2; }; run "$@" ;;
suite) shift; suite "$@" ;; # of run_suites
*) sed -n '2,17s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
