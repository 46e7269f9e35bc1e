#!/usr/bin/env bash
# Records results/<GPU>/tokens.json and tokens.md ($1: another folder) on a machine with a Hopper
# GPU, from a finished build folder: tokens per second of three models in Transformers, plain, by
# torch.compile and patched. Their layers (configs/shapes/tokens.yaml) are tuned first within $2
# (300s), on all GPUs, into tokens.db there. The kernels are tokens.hgb, which wheels of this source
# hold (hgemm_tune.shipped). Runs in the python3, or in the Python that HGEMM_TORCH_PYTHON names, that
# has torch and Transformers; nothing is downloaded.
# Further arguments are given to examples/pytorch/tokens.py, so that a part is measured alone, since
# torch.compile alone takes minutes for each model and batch:
#   scripts/record_tokens.sh results/h200 300s --models Mistral-7B --batches 1,8 --prefill 0
# Each result is added to tokens.json at once, in place of an older one of the same step. While
# recording-tokens.hgb is there, the next call takes the kernels from it and tunes nothing.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
budget=${2:-300s}
python=$(command -v "${HGEMM_TORCH_PYTHON:-python3}")
[[ $python == /* ]] || python=$PWD/$python

# The package as a wheel of the build folder holds it, without the program, which is here.
package=$(mktemp -d)
trap 'rm -rf "$package"' EXIT
cp -r python/hgemm_tune "$package"
mkdir "$package/hgemm_tune/lib" "$package/hgemm_tune-0.dist-info"
cp build/runtime/*.so "$package/hgemm_tune/lib"
printf 'Metadata-Version: 2.1\nName: hgemm-tune\nVersion: 0\n' \
  >"$package/hgemm_tune-0.dist-info/METADATA"
export PYTHONPATH=$package${PYTHONPATH:+:$PYTHONPATH}
cd "$output"

# Where the time was over before some races began, the same command goes on with them.
tune() {
  local turn
  for turn in 1 2 3; do
    "$program" --require-gpu --devices all --db tokens.db --shapes tokens.yaml --regime sustained \
      --budget "$budget" >/dev/null && return
  done
  return 1
}

if [[ ! -e recording-tokens.hgb ]]; then
  tune
  "$program" export --format bundle -o recording-tokens.hgb --db tokens.db --shapes tokens.yaml
fi
"$python" "$root/examples/pytorch/tokens.py" --bundle recording-tokens.hgb --json tokens.json "${@:3}"
"$python" "$root/examples/pytorch/tokens.py" --table tokens.json >recording-tokens.md
mv recording-tokens.md tokens.md
cp recording-tokens.hgb tokens.hgb
