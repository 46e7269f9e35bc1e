#!/usr/bin/env bash
# Records results/<GPU>/headline.db, the README's figures, from a finished build folder on a machine
# with a Hopper GPU: the layers of Llama 2 7B and squares, tuned at full effort with any kernel and
# once more without programmatic dependent launch. Takes 17 minutes on an H200. An interrupted
# recording continues where it stopped, in recording-headline*.db.
#   scripts/record_headline.sh [OUTPUT]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

for pdl in weights off; do
  for shapes in llama7b square; do
    "$program" --shapes $shapes.yaml --pdl $pdl --budget 100configs --require-gpu \
      --db recording-headline-$pdl.db >/dev/null
  done
done
"$program" merge recording-headline-weights.db recording-headline-off.db -o headline.db
rm recording-headline-weights.db recording-headline-off.db
"$root/scripts/write_results.py" .
