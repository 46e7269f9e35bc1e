#!/usr/bin/env bash
# From a fresh Debian 12 machine with the CUDA 13 toolkit to the main job's result.
# Without a Hopper GPU the result comes from the recorded runs. Arguments replace the shapes:
#   scripts/quickstart.sh --shapes 4096x4096x4096
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

cmake --build --preset release --target hgemm-tune share
(($#)) || set -- --shapes llama7b.yaml
exec "$root/build/hgemm-tune" "$@"
