#!/usr/bin/env bash
# examples/run.sh OUTPUT [PACKAGE]: builds and runs both examples on a Hopper GPU, and writes their
# output to OUTPUT/cmake.md and OUTPUT/pytorch.md. PACKAGE is a folder that `hgemm-tune export
# --format cpp` wrote; by default the recorded llama7b results are exported. $PYTHON (python3) needs
# PyTorch with CUDA 13; without it the PyTorch example only reports that PyTorch is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
output=${1:?usage: examples/run.sh OUTPUT [PACKAGE]}
mkdir -p "$output"
output=$(cd "$output" && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

package=${2:-}
if [[ -z $package ]]; then
  package=$work/hgemm_tuned
  "$here/../build/hgemm-tune" export --format cpp -o "$package" --recorded --shapes llama7b.yaml \
    >/dev/null
fi
package=$(cd "$package" && pwd)
cp "$package/hgemm_tuned.json" "$output"

began=$SECONDS
cmake -S "$here/cmake" -B "$work/build" -G Ninja -DHGEMM_TUNED_DIR="$package" >"$output/build.txt"
cmake --build "$work/build" >>"$output/build.txt"
echo "built in $((SECONDS - began)) s" | tee -a "$output/build.txt"

outcome=0
"$work/build/example" >"$output/cmake.md" 2>&1 || outcome=1
if "$python" -c 'import torch' 2>"$output/pytorch.md"; then
  TORCH_EXTENSIONS_DIR=$work/torch TORCH_CUDA_ARCH_LIST=9.0a "$python" "$here/pytorch/linear.py" \
    "$package" "$work/build/hgemm_tuned/libhgemm_tuned.a" >"$output/pytorch.md" 2>&1 || outcome=1
else
  echo "no PyTorch for $python: that example did not run" | tee -a "$output/pytorch.md"
  outcome=1
fi
echo "all in $((SECONDS - began)) s" | tee -a "$output/build.txt"
for example in cmake pytorch; do
  echo "== $example"
  tail -n 40 "$output/$example.md"
done
exit $outcome
