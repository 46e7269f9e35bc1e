#!/usr/bin/env bash
# examples/run.sh OUTPUT [PACKAGE [BLOCK_PACKAGE]]: builds and runs the examples on a Hopper GPU, and
# writes their output to OUTPUT/cmake.md, OUTPUT/pytorch.md and OUTPUT/block.md. A package is a
# folder that `hgemm-tune export --format cpp` wrote. Without any, the recorded results of
# llama7b.yaml are exported and, for the block, those of results/h200/block.db. With PACKAGE alone
# the block is left out. $PYTHON (python3) needs PyTorch with CUDA 13; without it the PyTorch
# examples only report that PyTorch is missing, and the exit code is 1.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
output=${1:?usage: examples/run.sh OUTPUT [PACKAGE [BLOCK_PACKAGE]]}
mkdir -p "$output"
output=$(cd "$output" && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export_cpp() { "$here/../build/hgemm-tune" export --format cpp -o "$@" >/dev/null; }
package=${2:-} block=${3:-}
if (($# < 2)); then
  package=$work/package block=$work/block
  export_cpp "$package" --recorded --shapes llama7b.yaml
  export_cpp "$block" --db "$here/../results/h200/block.db" --shapes block.yaml
fi
package=$(cd "$package" && pwd)
if [[ -n $block ]]; then block=$(cd "$block" && pwd); fi
cp "$package/hgemm_tuned.json" "$output"

began=$SECONDS
cmake -S "$here/cmake" -B "$work/build" -G Ninja -DHGEMM_TUNED_DIR="$package" >"$output/build.txt"
cmake --build "$work/build" >>"$output/build.txt"
if [[ -n $block ]]; then
  cmake -S "$block" -B "$work/block_build" -G Ninja >>"$output/build.txt"
  cmake --build "$work/block_build" >>"$output/build.txt"
fi
echo "built in $((SECONDS - began)) s" | tee -a "$output/build.txt"

outcome=0
"$work/build/example" >"$output/cmake.md" 2>&1 || outcome=1
# with_torch OUTPUT SCRIPT PACKAGE LIBRARY
with_torch() {
  if ! "$python" -c 'import torch' 2>"$1"; then
    echo "no PyTorch for $python: that example did not run" | tee -a "$1"
    return 1
  fi
  TORCH_EXTENSIONS_DIR=$work/torch_$2 TORCH_CUDA_ARCH_LIST=9.0a "$python" "$here/pytorch/$2" \
    "$3" "$4" >"$1" 2>&1
}
with_torch "$output/pytorch.md" linear.py "$package" \
  "$work/build/hgemm_tuned/libhgemm_tuned.a" || outcome=1
[[ -z $block ]] ||
  with_torch "$output/block.md" block.py "$block" "$work/block_build/libhgemm_tuned.a" || outcome=1
echo "all in $((SECONDS - began)) s" | tee -a "$output/build.txt"
for example in cmake pytorch ${block:+block}; do
  echo "== $example"
  tail -n 40 "$output/$example.md"
done
exit $outcome
