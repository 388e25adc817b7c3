#!/bin/bash
# build.sh FOLDER PRESET [cmake --build option ...]: configures FOLDER with a preset of CMakePresets.json, and builds.
# cmake_options in the environment is for configuring.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1 preset=$2
shift 2
# shellcheck disable=SC2086
cmake --preset "$preset" -B "$folder" ${cmake_options:-} >"$folder.configure.log" 2>&1 || { cat "$folder.configure.log"; exit 1; }
grep -A9 'khal: ' "$folder.configure.log" || true
rm -f "$folder.configure.log"
cmake --build "$folder" "$@"
