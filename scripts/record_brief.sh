#!/usr/bin/env bash
# Records what a default tune prints, and what a race at full effort says of the same kernels: a
# tune of llama7b.yaml in its 60 seconds with an empty compile cache, one with a full cache, and
# races of the second one's winners, each alone with the libraries. Writes brief-cold.db,
# brief-warm.db and brief-full.db into results/<GPU> ($1: another folder), from a finished build
# folder with a results.json. Takes seven minutes on an H100. Nothing else may run on the GPU.
#   cmake --build build && scripts/record_brief.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT

tune() { "$program" --require-gpu --devices 0 --cache-dir "$cache" --db "$output/brief-$1.db" "${@:2}" >/dev/null; }
rm -f "$output"/brief-{cold,warm,full}.db
tune cold --shapes llama7b.yaml
tune warm --shapes llama7b.yaml
"$program" best --db "$output/brief-warm.db" --format csv --columns m,n,k,label | tail -n +2 |
  while IFS=, read -r m n k config; do
    tune full --shapes "${m}x${n}x$k" --config "$config" </dev/null
  done
scripts/write_results.py "$output"
