#!/usr/bin/env bash
# Usage: scripts/check_export.sh OUTPUT [SHAPES]   (on a Hopper GPU, from a finished build folder)
# Whether exported kernels are as fast in another project as when they were tuned, on this card and
# today: measures the recorded results (of llama7b.yaml, or SHAPES) that are kernels of ours again
# by their own commands, exports what that found and runs examples/ with it. Shapes that cuBLAS
# answers have nothing to export. OUTPUT gets tuned-vs-exported.md, the database, the package's table
# and what the examples printed. A measurement takes about 20 s; one that was stopped goes on where
# it was.
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
  # What is in the database already, of this card and these kernels, the command passes over.
  build/hgemm-tune "${words[@]:1}" --db "$output/tuned.db" --require-gpu \
    >>"$output/tune.txt" 2>"$work/tune.err" || { cat "$work/tune.err" >&2; exit 1; }
done
echo "measured in $SECONDS s; now the examples" >&2

build/hgemm-tune export --format cpp -o "$work/hgemm_tuned" --db "$output/tuned.db" \
  --shapes "$shapes" >/dev/null
outcome=0  # of the examples: without PyTorch the other's times are still worth a table
examples/run.sh "$output" "$work/hgemm_tuned" >"$output/run.txt" 2>&1 || outcome=1
((outcome == 0)) || tail -n 20 "$output/run.txt" >&2
scripts/check_export.py table "$output" | tee "$output/tuned-vs-exported.md"
echo "all in $SECONDS s" >&2
exit $outcome
