#!/bin/bash
# Tests khalc as a program.
#   run.sh golden KHALC CLANG [--update]
#       golden/x.cl beside x.ir (and x.h, x.c, x.wgsl, x.ptx.c where they are there): what --emit=ir, header, c, wgsl and
#       ptx-c print. PTX itself is another one with each version of LLVM, and left out of x.c.
#   run.sh error KHALC CLANG [--update]
#       error/x.cl beside x.err: a line for each error, "LINE:COLUMN KC0020 goto" ("-" for the place where there is none),
#       in the order in which khalc prints them. Never the texts.
#   run.sh usage KHALC CLANG
#       command lines, hostile inputs, output files.
#   run.sh ptx KHALC CLANG PTXAS FILE...
#       what --emit=ptx prints of each file is assembled for the oldest and the newest device that ptxas knows. Kernels with
#       printf are left out.
# The first line of a .cl file may give options: `// options: -DN=4`. --update writes the expected files.
set -uo pipefail
part=$1 khalc=$2 clang=$3 update=${4:-}
ptxas=${4:-}
files=("${@:5}")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
failures=0
count=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# compare WHAT EXPECTED-FILE ACTUAL-FILE
compare() {
    if [ "$update" = --update ]; then
        cmp -s "$2" "$3" || cp "$3" "$2"
    elif ! diff -u "$2" "$3" >"$work/diff"; then
        head -n 60 "$work/diff" >&2
        fail "$1"
    fi
}

options_of() {
    sed -n '1s,^// options: ,,p' "$1"
}

golden() {
    for source in golden/*.cl; do
        local base=${source%.cl}
        # shellcheck disable=SC2046
        for form in ir header c wgsl ptx-c; do
            local extension=$form targets=
            [ $form = header ] && extension=h
            [ $form = ptx-c ] && extension=ptx.c
            [ $form = c ] && targets=--targets=cpu,wgsl
            [ $form = ir ] || [ -e "$base.$extension" ] || continue
            count=$((count + 1))
            if "$khalc" --clang="$clang" --emit=$form $targets $(options_of "$source") "$source" >"$work/out" 2>"$work/err"; then
                compare "$source --emit=$form" "$base.$extension" "$work/out"
            else
                cat "$work/err" >&2
                fail "$source --emit=$form: khalc refuses it"
            fi
        done
    done
}

# Places, numbers and names of the diagnostics that are on the standard input. Clang's own lines have no such end.
ids() {
    sed -nE -e 's/^[^:]*:([0-9]+):([0-9]+): (error|warning): .*\[(KC[0-9]+ [a-z0-9-]+)\]$/\1:\2 \4/p' \
        -e t -e 's/^[^:]*: (error|warning): .*\[(KC[0-9]+ [a-z0-9-]+)\]$/- \2/p' \
        -e t -e 's/^[^:]*: [^:]*: .*\[(KC[0-9]+ [a-z0-9-]+)\]$/- \1/p'
}

errors() {
    for source in error/*.cl; do
        local base=${source%.cl}
        count=$((count + 1))
        # shellcheck disable=SC2046
        "$khalc" --clang="$clang" $(options_of "$source") "$source" -o "$work/out" >"$work/stdout" 2>"$work/err"
        local status=$?
        [ $status = 1 ] || { cat "$work/err" >&2; fail "$source: exit status $status, not 1"; }
        if [ -s "$work/stdout" ] || compgen -G "$work/out*" >/dev/null; then
            fail "$source: something was written"
            rm -f "$work"/out*
        fi
        ids <"$work/err" >"$work/ids"
        [ -s "$work/ids" ] || { cat "$work/err" >&2; fail "$source: no diagnostic with an id"; }
        compare "$source" "$base.err" "$work/ids"
    done
}

# ---- usage ----------------------------------------------------------------------------------------------

# expect STATUS ID ARGUMENT...: that status, a diagnostic of that name ("" for none), and no file left in the folder.
expect() {
    local status=$1 id=$2
    shift 2
    count=$((count + 1))
    rm -rf "$work/folder"
    mkdir "$work/folder"
    (cd "$work/folder" && "${khalc_command[@]}" "$@") >"$work/stdout" 2>"$work/err" </dev/null
    local got=$?
    if [ $got != "$status" ]; then
        cat "$work/err" >&2
        fail "khalc $*: exit status $got, not $status"
    elif [ -n "$id" ] && ! grep -q "\[KC[0-9]* $id\]\$" "$work/err"; then
        cat "$work/err" >&2
        fail "khalc $*: no diagnostic '$id'"
    fi
    if [ "$status" != 0 ] && [ -n "$(ls -A "$work/folder")" ]; then
        fail "khalc $*: it left $(ls -A "$work/folder")"
    fi
}

# expect_files FILE...: exactly these are in the folder
expect_files() {
    local files
    files=$(ls -A "$work/folder" | tr '\n' ' ')
    [ "$files" = "$* " ] || fail "expected the files $*, and found $files"
}

wrong_command_lines() {
    expect 2 usage
    expect 2 usage "$good"
    expect 2 usage -o k
    expect 2 usage "$good" -o
    expect 2 usage "$good" "$good" -o k
    expect 2 usage "$good" -o k -o l
    expect 2 usage "$good" -o k --no-such-option
    expect 2 usage "$good" -o k -x
    expect 2 usage "$good" -o k -
    expect 2 usage "$good" -o k -I
    expect 2 usage "$good" -o k -D
    expect 2 usage "$good" -o k -U
    expect 2 usage "$good" -o k -include
    expect 2 usage "$good" -o k -D ""
    expect 2 usage "$good" -o k -MF k.d
    expect 2 usage "$good" -o k -MD -MF
    expect 2 usage "$good" -o k -MD -MF a.d -MF b.d
    expect 2 usage "$good" -o k --clang=
    expect 2 usage "$good" -o k --clang=a --clang=b
    expect 2 usage "$good" -o k --emit=
    expect 2 usage "$good" -o k --emit=exe
    expect 2 usage "$good" --emit=ir --emit=c
    expect 2 usage "$good" --emit=ir -MD
    expect 2 usage "$good" -o k --size-t=16
    expect 2 usage "$good" -o k --targets=
    expect 2 usage "$good" -o k --targets=cpu,
    expect 2 usage "$good" -o k --targets=cpu,opengl
    expect 2 usage "$good" -o k --targets=cpu --targets=wgsl
    expect 2 usage "$good" -o k --ptx=
    expect 2 usage "$good" -o k --ptx=75,
    expect 2 usage "$good" -o k --ptx=75,75
    expect 2 usage "$good" -o k --ptx=sm_75
    expect 2 usage "$good" -o k --ptx=7.5
    expect 2 usage "$good" -o k --ptx=35
    expect 2 usage "$good" -o k --ptx=75 --ptx=90
    expect 2 usage "$good" -o k --libclc=
    expect 2 usage "$good" -o k --libclc=a --libclc=b
    expect 2 usage "$good" -o k -Wl,-z
    expect 2 usage "$good" -o k -Wp,-MD,stolen
    expect 2 usage "$good" -o k -W
    expect 2 usage "" -o k
    expect 2 usage -o k --
    expect 2 usage -o k -- "$good" -w
    for name in 1k k-l k.l "k l" float class new khal khal_k KHAL_K _K __k main exp sinf index time memcpy size_t uint8_t ""; do
        expect 2 name "$good" -o "./$name"
    done
    expect 2 name "$good" -o ünï
}

right_command_lines() {
    expect 0 "" --help
    grep -q "^usage: khalc" "$work/stdout" || fail "--help does not help"
    expect 0 "" --version
    grep -qE '^khalc [0-9]+\.[0-9]+\.[0-9]+$' "$work/stdout" || fail "--version does not tell it"
    expect 0 "" "$good" -o k
    expect_files k.khal.c k.khal.h
    expect 0 "" -ok "$good"
    expect_files k.khal.c k.khal.h
    expect 0 "" "$good" -o k -MD
    expect_files k.khal.c k.khal.d k.khal.h
    grep -q "good.cl" "$work/folder/k.khal.d" || fail "the dependencies lack the source"
    expect 0 "" "$good" -o k -MD -MF deps
    expect_files deps k.khal.c k.khal.h
    expect 0 "" -o k -- "$good"
    expect 0 "" -o k -I "$work" -D N=3 -DM -U M -include "$work/header.h" -cl-std=CL1.2 -Wall -w "$good"
    expect 0 "" --emit=ir "$good"
    grep -q scale "$work/stdout" || fail "--emit=ir prints no kernel"
    expect 0 "" --emit=header "$good"
    grep -q scale_args "$work/stdout" || fail "--emit=header prints no launcher"
    expect 0 "" --emit=c "$good" -o k.c
    expect_files k.c
    expect 0 "" --emit=ir --size-t=32 "$good"
    mkdir "$work/-dash"
    cp "$good" "$work/-dash/-good.cl"
    (cd "$work/-dash" && "${khalc_command[@]}" -o k -- -good.cl) || fail "a file that looks like an option"
    # A name with what make and the shell take for their own.
    cp "$good" "$work/a \$b#c'.cl"
    expect 0 "" "$work/a \$b#c'.cl" -o k -MD
    grep -qF 'a\ $$b\#c'"'" "$work/folder/k.khal.d" || fail "a dependency is not quoted"
    # The same input gives the same output.
    expect 0 "" "$good" -o k
    cp "$work/folder/k.khal.c" "$work/folder/k.khal.h" "$work"
    expect 0 "" "$good" -o k
    cmp "$work/k.khal.c" "$work/folder/k.khal.c" && cmp "$work/k.khal.h" "$work/folder/k.khal.h" ||
        fail "two runs differ"
}

# What a target can't have is an error where the target is named, else a warning, and takes no other kernel along.
targets() {
    printf '__kernel void wide(__global double* p) { *p = 1; }\n%s\n' "$(cat "$good")" >"$work/wide.cl"
    expect 0 target-double "$work/wide.cl" -o k
    grep -q 'warning: .*target-double' "$work/err" || fail "a kernel that WGSL can't have is no warning"
    grep -q '{\.reason = "[^"]*wide\.cl:1:' "$work/folder/k.khal.c" || fail "the library does not tell why"
    grep -q '^    {\.source = khal_wgsl_source_1, \.entry = "scale"' "$work/folder/k.khal.c" ||
        fail "one kernel that WGSL can't have takes the other along"
    expect 0 "" "$work/wide.cl" -o k -w
    [ ! -s "$work/err" ] || fail "-w does not silence the warning"
    expect 1 target-double "$work/wide.cl" -o k --targets=cpu,wgsl
    expect 1 target-double "$work/wide.cl" --emit=wgsl
    expect 0 "" "$work/wide.cl" -o k --targets=cpu
    ! grep -q WGSL "$work/folder/k.khal.c" || fail "--targets=cpu has WGSL"
    expect 0 "" "$good" -o k --targets=wgsl
    ! grep -q KHAL_CPU "$work/folder/k.khal.c" || fail "--targets=wgsl has code for the CPU"
    expect 0 "" "$good" --emit=wgsl
    grep -q '^fn scale(' "$work/stdout" || fail "--emit=wgsl prints no kernel"
    printf '__kernel void k(__global int* p) { *p = 1 %% (int)(sizeof(size_t) / 8); }\n' >"$work/width.cl"
    expect 0 "" "$work/width.cl" -o k -w
    printf 'struct s { char n[sizeof(size_t)]; int i; };\n__kernel void k(__global int* p, struct s s) { *p = s.i; }\n' >"$work/layout.cl"
    expect 1 target-size "$work/layout.cl" -o k --targets=wgsl
    printf 'typedef int wide_only[sizeof(size_t) == 8 ? 1 : -1];\n%s\n' "$(cat "$good")" >"$work/assert.cl"
    expect 1 target-size "$work/assert.cl" -o k --targets=wgsl
    expect 0 target-size "$work/assert.cl" -o k
}

# PTX: libclc, compute capabilities, what is left out. Without libclc only what needs none is tested.
ptx_targets() {
    printf '__kernel void tell(__global int* p) { printf("%%d", *p); }\n%s\n' "$(cat "$good")" >"$work/tell.cl"
    : >"$work/no-bitcode"
    expect 0 "" "$good" --emit=ptx-c --libclc="$work/none"
    grep -q 'KHAL_PTX_ENTRY void khal_ptx_run_0(.*__asm__("scale");' "$work/stdout" || fail "--emit=ptx-c prints no kernel"
    expect 1 libclc "$good" --emit=ptx --libclc="$work/none"
    expect 1 libclc "$good" -o k --targets=cpu,ptx --libclc="$work/none"
    expect 1 libclc "$good" --emit=ptx --libclc="$work/no-bitcode"
    expect 0 libclc "$good" -o k --libclc="$work/none"
    grep -q 'warning: PTX is left out' "$work/err" || fail "a missing libclc is no warning"
    ! grep -q KHAL_FORMAT_PTX "$work/folder/k.khal.c" || fail "there is PTX without libclc"
    expect 0 "" "$good" -o k -w --libclc="$work/none"
    [ ! -s "$work/err" ] || fail "-w does not silence the warning"
    expect 0 "" "$good" -o k --targets=cpu,wgsl --libclc="$work/none"
    [ ! -s "$work/err" ] || fail "libclc is looked for where there is no PTX"
    khalc_command=(env KHAL_LIBCLC="$work/none" "$khalc" --clang="$clang")
    expect 1 libclc "$good" --emit=ptx
    khalc_command=("$khalc" --clang="$clang")
    if ! "$khalc" --clang="$clang" --emit=ptx "$good" >"$work/good.ptx" 2>"$work/err"; then
        grep -q '\[KC[0-9]* libclc\]$' "$work/err" || { cat "$work/err" >&2; fail "no PTX"; }
        return
    fi
    grep -qx '\.target sm_75' "$work/good.ptx" || fail "PTX is not for compute capability 7.5"
    grep -qx '\.version 6\.3' "$work/good.ptx" || fail "PTX is not of the oldest version that has 7.5"
    expect 0 "" "$good" -o k --targets=ptx --ptx=75,90
    grep -q '\.level = 75, .*khal_ptx_75' "$work/folder/k.khal.c" && grep -q '\.level = 90, .*khal_ptx_90' "$work/folder/k.khal.c" ||
        fail "there is no code for each compute capability"
    grep -q '{\.entry = "scale", \.grid_entry = "scale$grid"}' "$work/folder/k.khal.c" || fail "the entry points are not named"
    ! grep -q KHAL_FORMAT_CPU "$work/folder/k.khal.c" || fail "--targets=ptx has code for the CPU"
    expect 1 target-printf "$work/tell.cl" -o k --targets=ptx
    expect 0 target-printf "$work/tell.cl" -o k
    grep -q 'warning: kernel .tell. is left out of PTX' "$work/err" || fail "a kernel that PTX can't have is no warning"
    grep -q '{\.reason = "[^"]*tell\.cl:1:[^"]*PTX' "$work/folder/k.khal.c" || fail "the library does not tell why"
    { printf 'typedef struct { int a[1020]; } s;\n__kernel void k(s v'; for ((i = 0; i < 40; i++)); do printf ', __global int* p%d' $i; done
        echo ') { *p0 = v.a[7]; }'; } >"$work/arguments.cl"
    expect 1 target-limit "$work/arguments.cl" -o k --targets=ptx
    # A clang that fails, one that is too old for a device, and one that crashes before it has read anything.
    khalc_command=("$khalc")
    fake 'case "$*" in *--version*) echo "clang version 19.1.7";; *nvptx64*) exit 1;; *) exec '"$clang"' "$@";; esac'
    expect 1 internal "$good" --emit=ptx --clang="$work/fake" --libclc="$work/no-bitcode"
    expect 1 clang-missing "$good" --emit=ptx --ptx=100 --clang="$work/fake" --libclc="$work/no-bitcode"
    fake 'case "$*" in *--version*) echo "clang version 19.1.7";; *nvptx64*) echo "f: error: no such thing" >&2; kill -SEGV $$;; *) exec '"$clang"' "$@";; esac'
    expect 1 internal "$big" --emit=ptx --clang="$work/fake" --libclc="$work/no-bitcode"
    grep -q 'no such thing' "$work/err" || fail "clang's words are not in the error"
    khalc_command=("$khalc" --clang="$clang")
}

# <khal/kernel.h> is found without -I, an installed one before that of the source tree, and -I goes before both.
kernel_header() {
    local keep=("${khalc_command[@]}")
    printf '#include <khal/kernel.h>\n%s\n' "$(cat "$good")" >"$work/with_header.cl"
    expect 0 "" "$work/with_header.cl" -o k -MD
    grep -q 'khal/kernel\.h' "$work/folder/k.khal.d" || fail "kernel.h is no dependency"
    mkdir -p "$work/prefix/bin" "$work/prefix/include/khal" "$work/links" "$work/own/khal"
    cp "$khalc" "$work/prefix/bin/khalc"
    ln -s ../prefix/bin/khalc "$work/links/khalc"
    echo '#define SCALE 12345' >"$work/prefix/include/khal/kernel.h"
    echo '#define SCALE 54321' >"$work/own/khal/kernel.h"
    for program in "$work/prefix/bin/khalc" "$work/links/khalc"; do
        khalc_command=("$program" --clang="$clang")
        expect 0 "" "$work/with_header.cl" --emit=ir
        grep -q 12345 "$work/stdout" || fail "an installed khalc does not find its kernel.h"
        expect 0 "" "$work/with_header.cl" --emit=ir -I "$work/own"
        grep -q 54321 "$work/stdout" || fail "-I does not go before khal's own headers"
    done
    khalc_command=("${keep[@]}")
}

hostile_inputs() {
    expect 1 input "$work/missing.cl" -o k
    expect 1 input "$work" -o k
    : >"$work/empty.cl"
    expect 1 no-kernel "$work/empty.cl" -o k
    printf 'void helper(void) {}\n' >"$work/helper.cl"
    expect 1 no-kernel "$work/helper.cl" -o k
    head -c 20000 "$clang" >"$work/binary.cl"
    expect 1 source "$work/binary.cl" -o k
    head -c 3000 /dev/zero >"$work/zeros.cl"
    expect 1 "" "$work/zeros.cl" -o k
    printf '\xff\xfe\x00\x01__kernel void \xc3(' >"$work/bytes.cl"
    expect 1 "" "$work/bytes.cl" -o k
    # deep nesting is an error of clang's or khalc's, never a crash
    { printf '__kernel void k(__global int* p) { *p = '; head -c 20000 /dev/zero | tr '\0' '('; echo '; }'; } >"$work/deep.cl"
    expect 1 "" "$work/deep.cl" -o k
    { printf '__kernel void k(__global int* p) { *p = 1'; for ((i = 0; i < 1200; i++)); do printf ' + *p'; done; echo '; }'; } \
        >"$work/long.cl"
    expect 1 nesting "$work/long.cl" -o k
    printf '#include "self.cl"\n' >"$work/self.cl"
    expect 1 source "$work/self.cl" -o k
    printf '__kernel void f(__global int* p) { *p = 1; }\n__kernel void f_args(__global int* p) { *p = 1; }\n' >"$work/clash.cl"
    expect 1 name "$work/clash.cl" -o k
    printf '__kernel void load(__global int* p) { *p = 1; }\n' >"$work/load.cl"
    expect 1 name "$work/load.cl" -o k
    printf '__kernel void f(__local int* p, int p_count, __global int* o) { *o = p_count + *p; }\n' >"$work/member.cl"
    expect 1 name "$work/member.cl" -o k
    expect 2 usage $'line\nbreak.cl' -o k
    expect 1 source "$good" -o k -DSCALE='#'
    expect 1 source "$good" -o k -include missing.h
    expect 1 source "$good" -o k -cl-std=nonsense
    # clang's own stack is not endless
    { printf '__kernel void k(__global int* p) { *p = '; for ((i = 0; i < 5000; i++)); do printf -- '-~'; done; echo '*p; }'; } \
        >"$work/unary.cl"
    expect 1 "" "$work/unary.cl" -o k
}

# A clang of the test's own.
fake() {
    printf '#!/bin/sh\n%s\n' "$1" >"$work/fake"
    chmod +x "$work/fake"
}

clangs() {
    local keep=("${khalc_command[@]}")
    khalc_command=("$khalc")
    expect 1 clang-missing "$good" -o k --clang="$work/no-clang"
    expect 1 clang-missing "$good" -o k --clang="$work"
    khalc_command=(env -u KHAL_CLANG PATH="$work/none" "$khalc")
    expect 1 clang-missing "$good" -o k
    khalc_command=(env -u KHAL_CLANG PATH= "$khalc")
    expect 1 clang-missing "$good" -o k
    khalc_command=(env KHAL_CLANG="$work/no-clang" "$khalc")
    expect 1 clang-missing "$good" -o k
    khalc_command=(env KHAL_CLANG="$clang" "$khalc")
    expect 0 "" "$good" -o k
    khalc_command=("$khalc")
    fake 'echo "Debian clang version 15.0.7"'
    expect 1 clang-missing "$good" -o k --clang="$work/fake"
    fake 'case "$*" in *--version*) echo "clang version 19.1.7";; *) exit 1;; esac'
    expect 1 "" "$good" -o k --clang="$work/fake"
    fake 'case "$*" in *--version*) echo "clang version 19.1.7";; *) kill -SEGV $$;; esac'
    expect 1 clang-failed "$good" -o k --clang="$work/fake"
    fake 'case "$*" in *--version*) echo "clang version 19.1.7";; *) echo "{ \"kind\": [";; esac'
    expect 1 clang-failed "$good" -o k --clang="$work/fake"
    fake 'case "$*" in *--version*) echo "clang version 19.1.7";; *) ;; esac'
    expect 1 clang-failed "$good" -o k --clang="$work/fake"
    fake 'case "$*" in *--version*) echo "clang version 19.1.7";; *) head -c 100000 /dev/zero;; esac'
    expect 1 clang-failed "$good" -o k --clang="$work/fake"
    fake 'case "$*" in *--version*) echo "clang version 19.1.7";; *) cat;; esac'
    expect 1 clang-failed "$good" -o k --clang="$work/fake"
    fake 'case "$*" in *--version*) echo "clang version 19.1.7";; *) exec >&- 2>&- 3>&-;; esac'
    expect 1 clang-failed "$good" -o k --clang="$work/fake"
    fake 'echo "a compiler"'
    expect 1 clang-missing "$good" -o k --clang="$work/fake"
    khalc_command=("${keep[@]}")
}

output_files() {
    expect 1 output "$good" -o no-such-folder/k
    : >"$work/file"
    expect 1 output "$good" -o "$work/file/k"
    expect 1 output "$good" --emit=ir -o "$work/file/k"
    expect 1 output "$good" -o /proc/k
    # One of the two outputs can't be written: the other is not either, and what was there stays.
    for blocked in h c; do
        rm -rf "$work/blocked"
        mkdir -p "$work/blocked/k.khal.$blocked"
        expect 1 output "$good" -o "$work/blocked/k"
        [ "$(ls -A "$work/blocked")" = "k.khal.$blocked" ] || fail "a blocked output left $(ls -A "$work/blocked")"
    done
    rm -rf "$work/blocked"
    mkdir "$work/blocked"
    expect 1 output "$good" -o "$work/blocked/k" -MD -MF "$work/file/d"
    [ -z "$(ls -A "$work/blocked")" ] || fail "a blocked dependency file left $(ls -A "$work/blocked")"
    # After an error, an older output is as it was.
    echo old >"$work/blocked/k.khal.h"
    expect 1 source "$work/binary.cl" -o "$work/blocked/k"
    [ "$(cat "$work/blocked/k.khal.h")" = old ] || fail "an error changed an older output"
    expect 0 "" "$good" -o "$work/blocked/k"
    grep -q scale_args "$work/blocked/k.khal.h" || fail "an older output was not replaced"
    # Root may write everywhere; everyone else meets a folder that is read-only.
    if [ "$(id -u)" != 0 ]; then
        chmod a-w "$work/blocked"
        expect 1 output "$good" -o "$work/blocked/l"
        chmod u+w "$work/blocked"
    fi
    # A file system that is full, as far as one can be made: the size of files is limited.
    khalc_command=(bash -c 'ulimit -f 1; exec "$0" "$@"' "$khalc" --clang="$clang")
    expect 1 output "$big" -o k
    khalc_command=("$khalc" --clang="$clang")
    if [ -e /dev/full ]; then
        "$khalc" --clang="$clang" --emit=ir "$good" >/dev/full 2>"$work/err"
        grep -q "\[KC[0-9]* output\]" "$work/err" || fail "a full standard output is not noticed"
    fi
    # What is no file is written to, never replaced.
    mkfifo "$work/pipe"
    cat "$work/pipe" >"$work/piped" &
    expect 0 "" "$good" --emit=header -o "$work/pipe"
    wait $!
    [ -p "$work/pipe" ] || fail "a pipe was replaced by a file"
    grep -q scale_args "$work/piped" || fail "nothing came out of the pipe"
    # Closed descriptors: an output must not get the number of standard output or error.
    khalc_command=(bash -c 'exec "$0" "$@" >&- 2>&- <&-' "$khalc" --clang="$clang")
    expect 1 "" "$good" --emit=ir
    expect 0 "" "$good" -o k
    expect_files k.khal.c k.khal.h
    grep -q scale_args "$work/folder/k.khal.h" || fail "with descriptors closed, the header is something else"
    khalc_command=("$khalc" --clang="$clang")
    cp "$good" "$work/blocked/s.khal.c"
    expect 1 usage "$work/blocked/s.khal.c" -o "$work/blocked/s"
    cmp "$good" "$work/blocked/s.khal.c" || fail "the source was overwritten"
    expect 1 usage "$good" -o k -MD -MF k.khal.h
}

# Entry points of both kinds for each kernel, and no access through generic addresses in kernels that have no need of any.
check_entries() {
    local entries grids
    entries=$(grep -c '^\.visible \.entry [^$]*($' "$1")
    grids=$(grep -c '^\.visible \.entry .*\$grid($' "$1")
    [ "$entries" -gt 0 ] && [ "$entries" = "$grids" ] || fail "$2: $entries entry points, and $grids for grids"
    ! grep -q '//' "$1" || fail "$2: comments are left"
    ! grep -qE '^(call|\.func|\.extern \.func).*(memcpy|memset|memmove)' "$1" || fail "$2: a function that nobody has"
}

ptx() {
    for source in "${files[@]}"; do
        local name=${source##*/}
        count=$((count + 1))
        if ! "$khalc" --clang="$clang" -w --targets=cpu,ptx --emit=ptx $(options_of "$source") "$source" >"$work/out.ptx" \
            2>"$work/err" && ! grep -q target-printf "$work/err"; then
            cat "$work/err" >&2
            fail "$source: no PTX"
            continue
        fi
        [ -s "$work/out.ptx" ] || continue # printf alone
        check_entries "$work/out.ptx" "$name"
        for arch in sm_75 sm_120; do
            "$ptxas" -O0 -arch=$arch "$work/out.ptx" -o "$work/out.cubin" 2>"$work/err" && [ -s "$work/out.cubin" ] ||
                { head -n 5 "$work/err" >&2; fail "$name: ptxas refuses the PTX for $arch"; }
        done
    done
}

usage() {
    khalc_command=("$khalc" --clang="$clang")
    good="$work/good.cl"
    printf '#ifndef SCALE\n#define SCALE 2\n#endif\n__kernel void scale(__global int* p)\n{\n    p[get_global_id(0)] *= SCALE;\n}\n' \
        >"$good"
    echo '#define HEADER 1' >"$work/header.h"
    big="$work/big.cl"
    for ((i = 0; i < 60; i++)); do
        echo "__kernel void k$i(__global int* p) { p[get_global_id(0)] += $i; }"
    done >"$big"
    wrong_command_lines
    right_command_lines
    targets
    ptx_targets
    kernel_header
    hostile_inputs
    clangs
    output_files
}

cd "$here" || exit 1
shopt -s nullglob
case $part in
golden) golden ;;
error) errors ;;
usage) usage ;;
ptx) ptx ;;
*) echo "usage: run.sh golden|error|usage|ptx KHALC CLANG [--update]" >&2; exit 2 ;;
esac
echo "$part: $count runs, $failures failed"
[ $failures = 0 ] && [ $count != 0 ]
