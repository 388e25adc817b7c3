#!/bin/bash
# Builds three times (optimised, with AddressSanitizer and UBSan, with ThreadSanitizer) and runs all their tests as one run of
# ctest. test.sh [-j N]. With KHAL_WERROR=ON in the environment, warnings are errors.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=2
werror=${KHAL_WERROR:-OFF}
[ "${1:-}" = -j ] && jobs=$2

cmake_options="-DKHAL_WERROR=$werror" scripts/build.sh build release -j "$jobs"
folders=(build)
for preset in asan tsan; do
    cmake_options="-DKHAL_WERROR=$werror" scripts/build.sh build-$preset $preset -j "$jobs"
    folders+=(build-$preset)
done

mkdir -p build/all
for folder in "${folders[@]}"; do
    echo "subdirs(\"$PWD/$folder\")"
done >build/all/CTestTestfile.cmake
ctest --test-dir build/all -j "$jobs" --output-on-failure
