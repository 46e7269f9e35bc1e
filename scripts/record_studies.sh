#!/usr/bin/env bash
# Records the studies of results/<GPU>/ anew on this machine, from a finished build folder: the
# microbenchmarks, the ladder, chains, the probe and the counters, into study.db, and their tables.
# An interrupted recording continues where it stopped, in recording-study.db.
#   cmake --build build && scripts/record_studies.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

study() {  # <command> [<option>...]
  local code=0
  "$program" "$@" --db recording-study.db --require-gpu || code=$?
  ((code <= 1)) || exit "$code"  # 1: the failed studies are in the table, and named on stderr
}

shapes=8192x8192x8192,4096x4096x4096,2048x11008x4096,64x4096x11008,16x4096x4096
study micro
study ladder --steps hopper
study ladder --steps cuda_core,tensor_core --shape 4096x4096x4096
study ladder --steps cuda_core --shape 4096x4096x4096 --dtype fp32
study chain --shapes llama7b-decode.yaml
# First: a timeline is part of its study, and is measured anew where it is missing.
"$program" probe --shapes 4096x4096x4096 --db recording-study.db --require-gpu --trace trace.json \
  >/dev/null
study probe --shapes "$shapes"
study counters --shapes "$shapes" --cublaslt
mv recording-study.db study.db
"$root/scripts/write_results.py" .
