#!/usr/bin/env bash
# Records results/<GPU>/accuracy.db ($1: another folder) on this machine, from a finished build
# folder: the errors of sums at the shapes of accuracy.yaml, with scales, and with D in bf16, how
# many bits a wgmma keeps of a sum, and what promoting sums costs. Then the pages of results.json.
# Takes minutes of a GPU. The cost, which comes last, is in cycles: nobody else may work on the GPU
# then. An interrupted recording goes on where it stopped, in recording-accuracy.db.
#   cmake --build build && scripts/record_accuracy.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

study() {  # <command> [<option>...]
  local code=0
  "$program" "$@" --db recording-accuracy.db --require-gpu || code=$?
  ((code <= 1)) || exit "$code"  # 1: the failed studies are in the table, and named on stderr
}

study accuracy
study accuracy --shapes 1024x1024x4096.e4m3.scaling-rows,1024x1024x4096.e4m3.scaling-blocks
study accuracy --shapes 1024x1024x16384.e4m3.scaling-row_blocks
study accuracy --shapes 1024x1024x4096,1024x1024x4096.e4m3 --keep-d
study micro --only accumulator
study micro --only promoted
mv recording-accuracy.db accuracy.db
"$root/scripts/write_results.py" .
