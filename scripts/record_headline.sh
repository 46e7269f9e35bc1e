#!/usr/bin/env bash
# Records what the README shows, from a finished build folder on a machine with a Hopper GPU: the
# layers of Llama-2 7B and square shapes, tuned with any kernel (headline.db) and without programmatic
# dependent launch (headline-pdl-off.db), at full effort. A recording that was stopped goes on.
#   scripts/record_headline.sh [OUTPUT [REGIME...]]      # REGIME: sustained or burst; default: sustained
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
shift $(($# > 0))
regimes=("$@")
[[ $# -gt 0 ]] || regimes=(sustained)
cd "$output"

for regime in "${regimes[@]}"; do
  for pdl in weights off; do
    db=headline.db
    [[ $pdl == weights ]] || db=headline-pdl-off.db
    for shapes in llama7b square; do
      "$program" --shapes $shapes.yaml --regime "$regime" --pdl $pdl --budget 2% --require-gpu \
        --db $db >/dev/null
    done
  done
done
"$root/scripts/write_results.py" .
