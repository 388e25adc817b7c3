#!/bin/bash
# Installs from Debian's packages what building and testing need and what is missing, and brings with fetch-webgpu.sh and
# fetch-cuda.sh what Debian does not have. Does nothing, and asks no network, when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(cmake ninja-build gcc g++ libc6-dev pkg-config
    clang-19 libclang-rt-19-dev libclc-19
    libjsmn-dev libxxhash-dev libcmocka-dev libpng-dev libjpeg62-turbo-dev
    python-matplotlib-data)
if [ "$(uname -m)" = x86_64 ]; then
    packages+=(libvulkan1)
    if grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
        # What the lavapipe that fetch-webgpu.sh unpacks links to.
        packages+=(libllvm15 libdrm2 libexpat1 libwayland-client0 libx11-xcb1 libxcb1 libxcb-dri3-0 libxcb-present0
            libxcb-randr0 libxcb-shm0 libxcb-sync1 libxcb-xfixes0 libxshmfence1 libzstd1 zlib1g)
    else
        packages+=(mesa-vulkan-drivers)
    fi
    # What the WebGPU libraries, and below ptxas, are fetched with.
    [ -e deps/webgpu/libwgpu_native.so ] || python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip)
    [ -e deps/webgpu/libwebgpu_dawn.so ] || command -v npm >/dev/null || packages+=(npm)
fi

case "$(uname -m)" in
x86_64 | aarch64) [ -e deps/cuda/ptxas ] || python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip) ;;
esac

missing=()
if ! command -v dpkg-query >/dev/null; then
    for tool in cmake ninja cc pkg-config; do
        command -v $tool >/dev/null && continue
        echo "setup: this is no Debian; please install what these Debian packages hold: ${packages[*]}" >&2
        exit 1
    done
    exit 0
fi
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing+=("$package")
done

if [ ${#missing[@]} != 0 ] && [ "$(id -u)" != 0 ]; then
    echo "setup: missing packages; as root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
    # Without these nothing can be built; without the others some parts are left out, and the build says which.
    for tool in cmake ninja cc; do
        command -v $tool >/dev/null || exit 1
    done
elif [ ${#missing[@]} != 0 ]; then
    echo "setup: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    install() { apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$log" 2>&1; }
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if ! install; then
        apt-get update -qq
        install || { cat "$log" >&2; exit 1; }
    fi
fi
scripts/fetch-webgpu.sh
scripts/fetch-cuda.sh
