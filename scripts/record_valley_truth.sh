#!/usr/bin/env bash
# Records random points of the whole space on this machine, from a finished build folder: what
# `replay --db` judges searches by where no hand-written list was recorded, and what shows where the
# cost model errs. $1: another folder. 1,250 points at each of four shapes, in burst, in points.db;
# the points of a family are drawn evenly. Takes ten minutes on an H200.
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

# One of each kind: few rows, the valley, few tiles of a long K, prefill.
shapes=16x4096x4096,129x4096x4096,256x256x16384,2048x4096x4096
piece=250
# A larger number of points goes on after those of a smaller one.
for ((points = piece; points <= 1250; points += piece)); do
  echo "$points points" >&2
  "$program" --shapes "$shapes" --strategy random --budget "${points}configs" --regime burst \
    --require-gpu --db recording-points.db "$@" >/dev/null
done
mv recording-points.db points.db
