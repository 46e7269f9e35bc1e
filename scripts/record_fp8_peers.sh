#!/usr/bin/env bash
# Records the races of 8-bit operands against other people's kernels: referee-fp8.db in the folder
# results/<GPU> ($2: another one), with the layers that DeepGEMM publishes at all numbers of rows of
# fp8-blocks.yaml, and the shapes of fp8.db that CUTLASS computes. The winners of fp8-layers.db,
# fp8-blocks.db and fp8.db there meet the peers at full effort. Shapes that these lack are tuned
# first. Needs a finished build folder, a Hopper GPU, of which it uses one, and the folder PEERS with
# what examples/peers/build.sh built:
#   export CUTLASS_DIR=... DEEP_GEMM_DIR=... PEERS="cutlass_fp8 deep_gemm_fp8"
#   export DEEP_GEMM_LAYERS="7168_16384 4096_7168 24576_1536 2112_7168 7168_2048 32768_512"
#   examples/peers/build.sh peers
# DeepGEMM races with the kernels for the layer if these were built, as it builds them itself.
# An interrupted recording goes on where it stopped. $3 and so on: these regimes alone, which are
# added to referee-fp8.db.
#   scripts/record_fp8_peers.sh PEERS [OUTPUT [REGIME...]]
set -euo pipefail
peers=$(cd "${1:?usage: scripts/record_fp8_peers.sh PEERS [OUTPUT [REGIME...]]}" && pwd)
regimes=("${@:3}")
((${#regimes[@]})) || regimes=(sustained burst)
set -- "${@:2:1}"
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

# Tuned and raced one group after the other: an interruption leaves whole groups.
layers="7168x16384 4096x7168 24576x1536 2112x7168 7168x2048 32768x512"
groups=(
  "$(printf '4096x%s.e4m3.scaling-blocks ' $layers)"
  "4096x4096x4096.e4m3 8192x8192x8192.e4m3"
  "$(printf '1x%s.e4m3.scaling-blocks ' $layers)"
  "$(printf '16x%s.e4m3.scaling-blocks ' $layers)"
  "$(printf '64x%s.e4m3.scaling-blocks ' $layers)"
  "$(printf '128x%s.e4m3.scaling-blocks ' $layers)"
  "$(printf '1024x%s.e4m3.scaling-blocks ' $layers)"
  "$(printf '8192x%s.e4m3.scaling-blocks ' $layers)"
  # DeepGEMM's kernel for scales of every row stores fp32.
  "4096x4096x7168.e4m3.dfp32.scaling-row_blocks 4096x4096x7168.e4m3.scaling-row_blocks"
  "4096x4096x4096.e4m3.accfast 8192x8192x8192.e4m3.accfast 64x4096x7168.e4m3.scaling-tensor"
  "4096x2112x7168.e4m3.scaling-tensor 4096x7168x16384.e4m3.scaling-rows 64x7168x16384.e4m3.scaling-rows"
)

db=recording-fp8.db
known=()
for name in fp8-layers fp8-blocks fp8 referee-fp8; do
  if [[ -e $name.db ]]; then known+=("$name.db"); fi
done
if [[ ! -e $db ]] && ((${#known[@]})); then
  "$program" merge --mixed "${known[@]}" -o $db >/dev/null
fi

winner() {
  [[ -e $db ]] || return 0
  "$program" best --db $db --regime "$regime" --shapes "$1" --format csv --columns label |
    sed -n 2p
}

race() {
  local shape=$1 layer named=() config
  config=$(winner "$shape")
  if [[ -z $config ]]; then
    echo "$shape, $regime: no config won; it is left out" >&2
    return
  fi
  layer=${shape#*x}
  layer=${layer%%.*}
  for library in "cutlass_fp8=$peers/cutlass_fp8.so" \
    "deep_gemm_fp8=$peers/deep_gemm_fp8_${layer/x/_}.so" "deep_gemm_fp8=$peers/deep_gemm_fp8.so"; do
    [[ -e ${library#*=} && " ${named[*]-} " != *" ${library%%=*}="* ]] && named+=(--peer "$library")
  done
  "$program" race --require-gpu --devices 0 --db $db --regime "$regime" --shapes "$shape" \
    --config "$config" "${named[@]}" >/dev/null
}

# Races of many rows take longer.
seconds_to_tune() {
  if [[ $1 == 4096x* || $1 == 8192x* ]]; then echo 24; else echo 12; fi
}

for regime in "${regimes[@]}"; do
  for group in "${groups[@]}"; do
    new=()
    budget_s=0
    for shape in $group; do
      [[ -n $(winner "$shape") ]] && continue
      new+=("$shape")
      budget_s=$((budget_s + $(seconds_to_tune "$shape")))
    done
    if ((${#new[@]})); then
      "$program" tune --require-gpu --devices 0 --db $db --regime "$regime" \
        --shapes "$(IFS=,; echo "${new[*]}")" --budget ${budget_s}s >/dev/null
    fi
    for shape in $group; do race "$shape"; done
  done
done

# Races without a peer give no verdict.
python3 "$root/scripts/keep_races_with_peers.py" $db recording-peers.db
rm -f referee-fp8.db
"$program" merge --mixed recording-peers.db -o referee-fp8.db >/dev/null
rm $db recording-peers.db
"$root/scripts/write_results.py" .
