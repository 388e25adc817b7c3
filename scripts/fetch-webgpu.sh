#!/bin/bash
# fetch-webgpu.sh [FOLDER]: brings what the WebGPU backend is tested with, and no Debian release has, into FOLDER (deps):
#   webgpu/libwgpu_native.so      wgpu-native
#   webgpu/libwebgpu_dawn.so      Dawn
#   vulkan/lavapipe_icd.json      a Vulkan driver on the CPU: Mesa's lavapipe, 24 or later
# Does nothing, and asks no network, for what is there already. What can't be had is named and left out; the exit status
# is 0 all the same, and the tests that need it say so.
set -euo pipefail
cd "$(dirname "$0")/.."
deps=${1:-deps}
mkdir -p "$deps/webgpu" "$deps/vulkan"
deps=$(cd "$deps" && pwd)

wheel=wgpu==0.32.0
wheel_hash=6499a31b5a29a10b4f1089fea4a0806411f42605fa86b6c0b543a07ca0de8568
package=bun-webgpu-linux-x64@0.1.7
package_hash=8badfecdad4e726ac12be4f29771f4cbd7ce7683b4418316a547c5bda94fb798

left_out() { echo "setup: left out: $1: $2" >&2; }
# What a file was made from stands beside it.
is_there() { [ -e "$1" ] && [ "$(cat "$1.from" 2>/dev/null)" = "$2" ]; }
has_hash() { echo "$2  $1" | sha256sum --check --status; }
quietly() { timeout 300 "$@" >"$scratch/log" 2>&1; }
reason() { tail -n 1 "$scratch/log" | cut -c 1-200; }

wgpu_native=$deps/webgpu/libwgpu_native.so dawn=$deps/webgpu/libwebgpu_dawn.so lavapipe=$deps/vulkan/lavapipe_icd.json
codename=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
# Debian 12's own lavapipe cuts long loops off; a later one is among its backports.
lavapipe_from=installed
[ "$codename" = bookworm ] && lavapipe_from=bookworm-backports
is_there "$wgpu_native" "$wheel" && is_there "$dawn" "$package" && is_there "$lavapipe" "$lavapipe_from" && exit 0

if [ "$(uname -sm)" != "Linux x86_64" ]; then
    left_out "WebGPU libraries and lavapipe" "they are known here for Linux on x86-64 only"
    exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"

fetch_wgpu_native() {
    local pip=(python3 -m pip) file
    "${pip[@]}" --version >/dev/null 2>&1 || pip=(pip3)
    command -v "${pip[0]}" >/dev/null || { echo "pip is missing (Debian: python3-pip)" >"$scratch/log"; return 1; }
    mkdir "$scratch/wheel"
    quietly "${pip[@]}" download --disable-pip-version-check --quiet --no-deps --only-binary :all: --python-version 3.11 \
        --platform manylinux_2_28_x86_64 --timeout 30 --retries 2 --dest "$scratch/wheel" "$wheel" || return 1
    file=$(echo "$scratch"/wheel/*.whl)
    has_hash "$file" $wheel_hash || { echo "the checksum of $wheel differs" >"$scratch/log"; return 1; }
    quietly python3 -m zipfile -e "$file" "$scratch/wheel" || return 1
    install -m 755 "$scratch/wheel/wgpu/resources/libwgpu_native-release.so" "$wgpu_native"
    echo "$wheel" >"$wgpu_native.from"
}

fetch_dawn() {
    command -v npm >/dev/null || { echo "npm is missing (Debian: npm)" >"$scratch/log"; return 1; }
    mkdir "$scratch/package"
    (cd "$scratch/package" && quietly npm pack --silent "$package") || return 1
    local file
    file=$(echo "$scratch"/package/*.tgz)
    has_hash "$file" $package_hash || { echo "the checksum of $package differs" >"$scratch/log"; return 1; }
    quietly tar -xzf "$file" -C "$scratch/package" || return 1
    install -m 755 "$scratch/package/package/libwebgpu_wrapper.so" "$dawn"
    echo "$package" >"$dawn.from"
}

write_icd() {
    printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' "$1" >"$lavapipe"
    echo "$lavapipe_from" >"$lavapipe.from"
}

fetch_lavapipe() {
    local mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg options folder=$scratch/apt
    if [ "$lavapipe_from" = installed ]; then
        local library
        library=$(ls /usr/lib/*/libvulkan_lvp.so /usr/lib/libvulkan_lvp.so 2>/dev/null | head -n 1)
        [ -n "$library" ] || { echo "libvulkan_lvp.so is missing (Debian: mesa-vulkan-drivers)" >"$scratch/log"; return 1; }
        write_icd "$library"
        return
    fi
    # The mirror is the one that this machine takes its own release from.
    mirror=$(apt-get indextargets --format '$(REPO_URI)|$(RELEASE)|$(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
        sed -n "s/|$codename|main\$//p" | head -n 1)
    [ -n "$mirror" ] || { echo "no source of $codename main among apt's" >"$scratch/log"; return 1; }
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/files"
    options=
    [ -r $keyring ] && options="[signed-by=$keyring] "
    echo "deb $options$mirror $codename-backports main" >"$folder/sources.list"
    local apt=(apt-get -q -oDir::Etc::SourceList="$folder/sources.list" -oDir::Etc::SourceParts=/dev/null
        -oDir::State::Lists="$folder/lists" -oDir::Cache="$folder/cache" -oAcquire::Retries=2)
    [ "$(id -u)" = 0 ] && apt+=(-oAPT::Sandbox::User=root)
    quietly "${apt[@]}" update || return 1
    (cd "$folder/files" && quietly "${apt[@]}" download "mesa-vulkan-drivers/$codename-backports") || return 1
    quietly dpkg -x "$folder"/files/mesa-vulkan-drivers_*.deb "$folder/files" || return 1
    install -m 644 "$folder"/files/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so "$deps/vulkan/libvulkan_lvp.so"
    local missing
    missing=$(ldd "$deps/vulkan/libvulkan_lvp.so" | sed -n 's/^[[:space:]]*\(.*\) => not found.*/\1/p' | tr '\n' ' ')
    [ -z "$missing" ] || { echo "libvulkan_lvp.so needs $missing" >"$scratch/log"; return 1; }
    write_icd ./libvulkan_lvp.so
}

bring() { # FILE FROM NAME FUNCTION
    is_there "$1" "$2" && return
    echo "setup: fetching $3"
    : >"$scratch/log"
    $4 || left_out "$3" "$(reason)"
}
bring "$wgpu_native" "$wheel" "wgpu-native ($wheel)" fetch_wgpu_native
bring "$dawn" "$package" "Dawn ($package)" fetch_dawn
bring "$lavapipe" "$lavapipe_from" "lavapipe ($lavapipe_from)" fetch_lavapipe
