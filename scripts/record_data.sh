#!/usr/bin/env bash
# Records results/<GPU>/data.db: what the content of A and B does to the time of one config and of
# the libraries at 8192x8192x8192, in both regimes. Needs a finished build folder and a Hopper GPU.
#   scripts/record_data.sh [OUTPUT]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

for data in normal uniform integers sparse zeros; do
  "$program" --shapes 8192x8192x8192 --data $data --regime both --require-gpu \
    --config bm256.bn200.bk64.q3.c2x1.coop2.d0.group8.tma.persist.pdl.fixed --db data.db >/dev/null
done
