#!/bin/bash
# run.sh CMAKE BUILD WORK: installs the build folder BUILD into an empty prefix under WORK, and uses what is there.
set -euo pipefail
cmake=$1 build=$2 work=$3
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work"
mkdir -p "$work"
prefix="$work/a prefix"
fail() { echo "package: $*" >&2; exit 1; }
check_run() {
    [ "$("$@")" = "doubled 1000 values" ] || fail "$* does not work"
}

"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log"
# The tree can be moved: nothing in it knows where it was first.
mv "$prefix" "$work/prefix"
prefix="$work/prefix"
libdir=$(dirname "$(find "$prefix" -name khal.pc)")/..
for file in bin/khalc bin/khal-info include/khal/khal.h include/khal/errors.def include/khal/kernel.h include/khal/cpu.h \
    share/man/man1/khalc.1 share/man/man1/khal-info.1; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done
[ "$("$prefix/bin/khalc" --version)" = "khalc 0.1.0" ] || fail "khalc --version"
"$prefix/bin/khal-info" >"$work/info.log" || fail "khal-info does not run"
grep -qi cpu "$work/info.log" || fail "khal-info does not list the CPU"
if grep -rIl --include='*.cmake' --include='*.pc' --include='*.h' -e "$build" -e "$work" "$prefix"; then
    fail "these installed files know the build folder"
fi

echo "find_package"
with_cxx=OFF
[ -n "${CXX:-}" ] && with_cxx=ON
"$cmake" -S "$here/project" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DKHAL_TEST_CXX=$with_cxx \
    -DCMAKE_BUILD_TYPE=Release >"$work/configure.log" 2>&1 || { cat "$work/configure.log"; fail "configure"; }
"$cmake" --build "$work/cmake" >"$work/build.log" 2>&1 || { cat "$work/build.log"; fail "build"; }
check_run "$work/cmake/shared"
check_run "$work/cmake/static"
[ $with_cxx = ON ] && check_run "$work/cmake/cxx"
# A change in a file that the kernels include is noticed: with the dependency file touched, khalc runs again.
cp -r "$here/project" "$work/source"
"$cmake" -S "$work/source" -B "$work/again" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
"$cmake" --build "$work/again" >/dev/null
sleep 1
echo '#define SCALE(x) ((x) * FACTOR + 1)' >"$work/source/factor.h"
"$cmake" --build "$work/again" >/dev/null
if "$work/again/shared" 2>/dev/null; then
    fail "a change in an included file was not noticed"
fi

if [ -n "${KHAL_PKG_CONFIG:-}" ]; then
    echo "pkg-config"
    export PKG_CONFIG_PATH="$libdir/pkgconfig"
    pc() { "$KHAL_PKG_CONFIG" "$@" khal; }
    mkdir "$work/pc"
    cd "$work/pc"
    "$(pc --variable=khalc)" -DFACTOR=2 "$here/project/kernels.cl" -o doubled
    cflags=$(pc --cflags) libs=$(pc --libs) static_libs=$(pc --libs --static)
    # shellcheck disable=SC2086
    ${CC:-cc} -O2 $cflags -I. "$here/project/main.c" doubled.khal.c $libs -Wl,-rpath,"$libdir" -o shared
    check_run ./shared
    # shellcheck disable=SC2086
    ${CC:-cc} -O2 $cflags -I. "$here/project/main.c" doubled.khal.c ${static_libs/-lkhal/-l:libkhal.a} -o static
    check_run ./static
fi
