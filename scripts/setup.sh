#!/bin/bash
# Installs from Debian's packages what building and testing need and what is missing. Does nothing, and asks no network,
# when all is there.
set -euo pipefail

packages=(cmake ninja-build gcc g++ libc6-dev pkg-config
    clang-19 libclang-rt-19-dev
    libjsmn-dev libxxhash-dev libcmocka-dev libpng-dev libjpeg62-turbo-dev
    python-matplotlib-data)

missing=()
have_all_tools=true
if command -v dpkg-query >/dev/null; then
    for package in "${packages[@]}"; do
        status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
        [ "$status" = "install ok installed" ] || missing+=("$package")
    done
else
    for tool in cmake ninja cc pkg-config; do
        command -v $tool >/dev/null || have_all_tools=false
    done
    if ! $have_all_tools; then
        echo "setup: this is no Debian; please install what these Debian packages hold: ${packages[*]}" >&2
        exit 1
    fi
    exit 0
fi

[ ${#missing[@]} = 0 ] && exit 0
if [ "$(id -u)" != 0 ]; then
    echo "setup: missing packages; as root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
    # Without these nothing can be built; without the others some parts are left out, and the build says which.
    for tool in cmake ninja cc; do
        command -v $tool >/dev/null || exit 1
    done
    exit 0
fi

echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$log" 2>&1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! install; then
    apt-get update -qq
    install || { cat "$log" >&2; exit 1; }
fi
