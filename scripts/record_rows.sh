#!/usr/bin/env bash
# Records results/<GPU>/rows-to-512.db ($1: another folder) on this machine, from a finished build
# folder: every number of rows up to 512 with one weight, and every sixteenth with the layers of
# three models, tuned with safe PDL at the pace of a default tune. Takes 35 minutes of a GPU; all
# GPUs share it. An interrupted recording continues where it stopped. Prints what is behind the
# libraries, and the largest step from one number of rows to the next. $2: the number of GPUs, if
# not all of this machine.
#   cmake --build build && scripts/record_rows.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"

seconds=2074  # of a GPU: 2.4 for each of 864 shapes
budget=$((seconds / ${2:-$(nvidia-smi -L | grep -c '^GPU')}))s
"$program" --devices all --shapes rows-to-512.yaml --regime burst --budget $budget --require-gpu \
  --db "$output/rows-to-512.db" >/dev/null
"$program" best --db "$output/rows-to-512.db" --regime burst --format json |
  analysis/row_steps.py
