#!/usr/bin/env bash
# Makes a Debian package: scripts/package.sh [folder=.]
# Sets up, builds into build/ without tests, and writes hgemm-tune_VERSION_ARCHITECTURE.deb to the
# folder.
set -euo pipefail
mkdir -p "${1:-.}"
folder=$(cd "${1:-.}" && pwd)
set --
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh" -DBUILD_TESTING=OFF
cmake --build --preset release
cpack --config build/CPackConfig.cmake -B "$folder"
rm -rf "$folder/_CPack_Packages"
