#!/usr/bin/env bash
# Records results/<GPU>/truth.db ($1: another folder) on this machine, from a finished build folder:
# every config of the space `full`, at the shapes by which searches are judged. Takes over an hour
# on an H200; an interrupted recording continues where it stopped (on the same card), in
# recording-truth.db.
#   cmake --build build && scripts/record_truth.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

tune() { "$program" --space full --budget all --require-gpu --db recording-truth.db "$@" >/dev/null; }

for shapes in square llama7b-prefill llama7b-decode; do tune --shapes "$shapes.yaml"; done
squares=512x512x512,1024x1024x1024,2048x2048x2048,4096x4096x4096
tune --regime burst --shapes "$squares,2048x4096x4096,2048x11008x4096"
mv recording-truth.db truth.db
"$root/scripts/write_results.py" .
