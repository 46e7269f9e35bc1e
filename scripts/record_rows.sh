#!/usr/bin/env bash
# Records results/<GPU>/rows-of-layers.db and rows-to-512.db ($1: another folder) on this machine,
# from a finished build folder: every sixteenth number of rows up to 512 with the layers of three
# models, and every number of rows with one weight, tuned with safe PDL at the pace of a default
# tune. Takes 35 minutes of a GPU; all GPUs share it. An interrupted recording keeps what it has,
# and the same command goes on. Prints what is behind the libraries, and the largest step from one
# number of rows to the next. $2: the number of GPUs, if not all of this machine.
#   cmake --build build && scripts/record_rows.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"

gpus=${2:-$(nvidia-smi -L | grep -c '^GPU')}
record() {
  local shapes=$1 gpu_seconds=$2  # 2.4 for each shape
  "$program" --devices all --shapes "$shapes.yaml" --regime burst --budget $((gpu_seconds / gpus))s \
    --require-gpu --db "$output/$shapes.db" >/dev/null
  "$program" best --db "$output/$shapes.db" --regime burst --format json | analysis/row_steps.py
}
record rows-of-layers 845
record rows-to-512 1229
