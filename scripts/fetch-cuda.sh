#!/bin/bash
# fetch-cuda.sh [FOLDER]: brings what khalc's PTX is tested with, and no Debian release has, into FOLDER (deps):
#   cuda/ptxas      NVIDIA's assembler, of the toolkit's newest major version, whose licence is NVIDIA's
# The package is NVIDIA's own on PyPI; ptxas alone is taken out of it. Does nothing, and asks no network, when it is there
# already. Where it can't be had that is said and left out; the exit status is 0 all the same, and the tests that need it
# say so.
set -euo pipefail
cd "$(dirname "$0")/.."
deps=${1:-deps}
mkdir -p "$deps/cuda"
ptxas=$(cd "$deps" && pwd)/cuda/ptxas

wheel=nvidia-cuda-nvcc==13.5.37
case "$(uname -sm)" in
"Linux x86_64")
    platform=manylinux_2_17_x86_64
    hash=f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7 ;;
"Linux aarch64")
    platform=manylinux_2_17_aarch64
    hash=588eda18eb5076ae859fe272844b526459228af22df0b117f54eec3aa82bc9c8 ;;
*)
    echo "setup: left out: ptxas: it is known here for Linux on x86-64 and AArch64 only" >&2
    exit 0 ;;
esac
# What the file was made from stands beside it.
[ -x "$ptxas" ] && [ "$(cat "$ptxas.from" 2>/dev/null)" = "$wheel" ] && exit 0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
quietly() { timeout 600 "$@" >"$scratch/log" 2>&1; }

fetch() {
    local pip=(python3 -m pip) file
    "${pip[@]}" --version >/dev/null 2>&1 || pip=(pip3)
    command -v "${pip[0]}" >/dev/null || { echo "pip is missing (Debian: python3-pip)" >"$scratch/log"; return 1; }
    quietly "${pip[@]}" download --disable-pip-version-check --quiet --no-deps --only-binary :all: --python-version 3.11 \
        --platform $platform --timeout 30 --retries 2 --dest "$scratch" "$wheel" || return 1
    file=$(echo "$scratch"/*.whl)
    echo "$hash  $file" | sha256sum --check --status || { echo "the checksum of $wheel differs" >"$scratch/log"; return 1; }
    quietly python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, open(sys.argv[2], "wb") as out:
    out.write(wheel.read("nvidia/cu13/bin/ptxas"))' "$file" "$scratch/ptxas" || return 1
    # It replaces what is there only when it is whole, and runs.
    chmod 755 "$scratch/ptxas"
    quietly "$scratch/ptxas" --version || return 1
    install -m 755 "$scratch/ptxas" "$ptxas.new"
    mv "$ptxas.new" "$ptxas"
    echo "$wheel" >"$ptxas.from"
}
echo "setup: fetching ptxas ($wheel)"
: >"$scratch/log"
fetch || echo "setup: left out: ptxas ($wheel): $(tail -n 1 "$scratch/log" | cut -c 1-200)" >&2
