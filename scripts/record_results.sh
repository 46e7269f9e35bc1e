#!/usr/bin/env bash
# Records results/<GPU>/ anew on this machine, from a finished build folder: tunes the public shapes in
# the quick space in both regimes, then all but seeds.yaml once more from scratch, to see what repeats,
# and writes the tables. A recording that was stopped goes on where it was (on the same card), in
# recording.db and recording-repeat.db, which replace tune.db and repeat.db when all is complete.
#   cmake --build build && scripts/record_results.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

# tune <database> <regime> <shapes> [<option>...]
tune() {
  local db=$1 regime=$2 shapes=$3
  shift 3
  "$program" --shapes "$shapes.yaml" --regime "$regime" --require-gpu --db "$db" "$@" >/dev/null
}

for regime in sustained burst; do
  for db in recording.db recording-repeat.db; do
    for shapes in llama7b square; do tune $db $regime "$shapes"; done
  done
done
for shapes in square llama7b-prefill; do tune recording.db sustained "$shapes" --energy; done
tune recording.db both seeds
mv recording.db tune.db
mv recording-repeat.db repeat.db

printf '%s\n' "$environment" >environment.json
"$program" best --db tune.db --format md >best.md
"$program" best --db tune.db --format csv >best.csv
"$program" compare tune.db repeat.db --format md >repeatability.md
cat best.md repeatability.md
