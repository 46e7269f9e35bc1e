#!/usr/bin/env bash
# Records random points of the whole space on this machine, from a finished build folder: what
# `replay --db` judges searches by where no hand-written list was recorded, and what shows where the
# cost model errs. $1: another folder. 5,000 points at four shapes and 1,000 at twelve between decode
# and prefill ("the valley"), in recording-valley.db; the points of a family are drawn evenly.
#
# Each shape is raced in pieces of 250 points, each a race of its own with cuBLAS in it, and all
# shapes get their first piece before any gets its second one. So a recording that is stopped has
# some of everything, and the same command goes on with the rest (on the same card). Arguments after
# the folder are given to the tune: --jobs, --devices.
#   cmake --build build && scripts/record_valley_truth.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
shift $(($# > 0 ? 1 : 0))
cd "$output"

# The four are one of each kind: few rows, the valley, few tiles of a long K, prefill.
most=16x4096x4096,129x4096x4096,256x256x16384,2048x4096x4096
valley=96x4096x4096,144x8192x8192,160x12288x4096,200x8192x8192,256x4096x4096,256x8192x12288
valley+=,320x4096x11008,384x384x8192,512x256x16384,512x4096x4096,768x4096x4096,1024x128x16384
piece=250

# record <shapes> <points>: up to so many points of each shape. A larger number goes on after the
# points of a smaller one.
record() {
  "$program" --shapes "$1" --strategy random --budget "$2configs" --require-gpu \
    --db recording-valley.db "${@:3}" >/dev/null
}

for ((points = piece; points <= 5000; points += piece)); do
  echo "$points points" >&2
  record "$most" "$points" "$@"
  if ((points <= 1000)); then record "$valley" "$points" "$@"; fi
done
mv recording-valley.db valley.db
