#!/usr/bin/env bash
# Usage: scripts/check_export.sh OUTPUT [SHAPES]   (on a Hopper GPU, from a finished build folder)
# Checks whether exported kernels are as fast in another project as when they were tuned, on this
# card and today. Measures the recorded results again (those of llama7b.yaml, or SHAPES, for which a
# kernel of hgemm-tune is the answer) by their own commands, exports the new results, and runs
# examples/ with that package. Shapes for which cuBLAS is the answer have nothing to export. OUTPUT
# gets tuned-vs-exported.md, the database, the package's table and the output of the examples. A
# measurement takes about 20 s; an interrupted run continues where it stopped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output=${1:?usage: scripts/check_export.sh OUTPUT [SHAPES]}
shapes=${2:-llama7b.yaml}
mkdir -p "$output"
output=$(cd "$output" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build/hgemm-tune export --format json -o "$work" --recorded --shapes "$shapes" >/dev/null
cp "$work/hgemm_tuned.json" "$output/recorded.json"
ours=$(scripts/check_export.py commands "$output/recorded.json")
mapfile -t commands <<<"$ours"
for i in "${!commands[@]}"; do
  echo "row $((i + 1)) of ${#commands[@]}, ${SECONDS} s: ${commands[i]}" >&2
  read -ra words <<<"${commands[i]}"
  # The command skips results of this card and these kernels that are in the database already.
  build/hgemm-tune "${words[@]:1}" --db "$output/tuned.db" --require-gpu \
    >>"$output/tune.txt" 2>"$work/tune.err" || { cat "$work/tune.err" >&2; exit 1; }
done
echo "measured in $SECONDS s; now the examples" >&2

build/hgemm-tune export --format cpp -o "$work/hgemm_tuned" --db "$output/tuned.db" \
  --shapes "$shapes" >/dev/null
outcome=0  # exit code of the examples; without PyTorch the CMake times are still worth a table
examples/run.sh "$output" "$work/hgemm_tuned" >"$output/run.txt" 2>&1 || outcome=1
((outcome == 0)) || tail -n 20 "$output/run.txt" >&2
scripts/check_export.py table "$output" | tee "$output/tuned-vs-exported.md"
echo "all in $SECONDS s" >&2
exit $outcome
