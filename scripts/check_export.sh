#!/usr/bin/env bash
# Usage: scripts/check_export.sh OUTPUT [SHAPES]   (on a Hopper GPU, from a finished build folder)
# Whether exported kernels are as fast in another project as when they were tuned, on this card and
# today: exports the recorded results (of llama7b.yaml, or SHAPES), measures each row again by its own
# command, exports what that found and runs examples/ with it. OUTPUT gets the database, the package's
# table and what the examples printed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output=${1:?usage: scripts/check_export.sh OUTPUT [SHAPES]}
shapes=${2:-llama7b.yaml}
mkdir -p "$output"
output=$(cd "$output" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build/hgemm-tune export --format json -o "$work" --recorded --shapes "$shapes"
sed -n 's/^ *"command": "hgemm-tune \(.*\)"$/\1/p' "$work/hgemm_tuned.json" | while read -r arguments; do
  # Words of ours, without spaces in them.
  # shellcheck disable=SC2086
  build/hgemm-tune $arguments --db "$output/tuned.db" --require-gpu </dev/null >>"$output/tune.txt"
done
build/hgemm-tune export --format cpp -o "$work/hgemm_tuned" --db "$output/tuned.db"
examples/run.sh "$output" "$work/hgemm_tuned"
