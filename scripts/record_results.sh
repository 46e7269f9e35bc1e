#!/usr/bin/env bash
# Records results/<GPU>/ anew on this machine, from a finished build folder. Tunes the public shapes
# in the quick space in both regimes, and all but seeds.yaml once more from scratch to see what
# repeats. Tunes the decode shapes in the spaces decode and decode-pdl, every number of rows up to
# 128 in the space rows (both regimes too), and the odd sizes. Then writes the tables. An
# interrupted recording continues where it stopped (on the same card), in recording*.db. In the end
# tune.db has everything but the rows (rows.db), decode.db and decode-pdl.db have the results of
# their spaces, and repeat-a.db and repeat-b.db the two tunes that are compared.
#   cmake --build build && scripts/record_results.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

# tune <database> <regime> <shapes> <space> [<option>...]: all of the space
tune() {
  local db=$1 regime=$2 shapes=$3 space=$4
  shift 4
  "$program" --shapes "$shapes.yaml" --regime "$regime" --space "$space" --budget all \
    --require-gpu --db "$db" "$@" >/dev/null
}

for regime in sustained burst; do
  for db in recording.db recording-repeat.db; do
    for shapes in llama7b square; do tune $db $regime "$shapes" quick; done
  done
done
cp recording.db repeat-a.db
cp recording-repeat.db repeat-b.db
for shapes in square llama7b-prefill; do tune recording.db sustained "$shapes" quick --energy; done
tune recording.db both seeds quick
tune recording.db sustained odd quick
tune recording-rows.db both rows rows
for space in decode decode-pdl; do
  tune "recording-$space.db" both llama7b-decode "$space"
done
mv recording.db tune.db
for space in decode decode-pdl; do
  mv "recording-$space.db" "$space.db"
  "$program" merge "$space.db" -o tune.db  # from which the program answers where there is no GPU
done
rm recording-repeat.db
mv recording-rows.db rows.db  # of one kind of config: not among those that answer
"$root/scripts/write_results.py" .
