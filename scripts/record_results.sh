#!/usr/bin/env bash
# Records results/<GPU>/ anew on this machine, from a finished build folder: sweeps the public shapes
# in the quick space (three to four minutes on an H200), then writes the tables. A recording that was
# stopped goes on in recording.db, which replaces tune.db when it is complete.
#   cmake --build build && scripts/record_results.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

for shapes in llama7b square seeds; do
  "$program" --shapes "$shapes.yaml" --require-gpu --db recording.db >/dev/null
done
mv recording.db tune.db
printf '%s\n' "$environment" >environment.json
"$program" best --db tune.db --format md >best.md
"$program" best --db tune.db --format csv >best.csv
cat best.md
