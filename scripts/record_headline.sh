#!/usr/bin/env bash
# Records results/<GPU>/headline-safe.db and headline-off.db from a finished build folder on a
# machine with a Hopper GPU: what short tunes of the layers of Llama 2 7B and of squares find, with
# safe programmatic dependent launch and without it. Each winner is raced at full effort, alone with
# the libraries, and its energy is measured. headline-safe.db has the README's figures with PDL.
# Takes 22 minutes on an H200. An interrupted recording continues where it stopped, in recording-*.db.
#   scripts/record_headline.sh [OUTPUT]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

for pdl in safe off; do
  found=recording-found-$pdl.db
  if [[ ! -e $found ]]; then
    tuning=recording-tuning-$pdl.db
    "$program" --shapes llama7b.yaml --budget 60s --pdl $pdl --require-gpu --db $tuning >/dev/null
    "$program" --shapes square.yaml --budget 20s --pdl $pdl --require-gpu --db $tuning >/dev/null
    mv $tuning $found
  fi
  "$program" best --db $found --pdl $pdl --format csv --columns m,n,k,label | tail -n +2 |
    while IFS=, read -r m n k config; do
      "$program" --shapes "${m}x${n}x$k" --config "$config" --pdl $pdl --energy --require-gpu \
        --db recording-headline-$pdl.db </dev/null >/dev/null
    done
done
for pdl in safe off; do mv recording-headline-$pdl.db headline-$pdl.db; done
rm recording-found-{safe,off}.db
"$root/scripts/write_results.py" .
