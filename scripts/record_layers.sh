#!/usr/bin/env bash
# Records in results/<GPU> ($1: another folder), from a finished build folder, what tunes of a
# transformer's other products find: layers with epilogues, gates or a second output, batches, and
# 8-bit operands.
# Each database ($2 and so on: these alone) has both regimes, or with NAME:REGIME that one. Winners of
# batches are raced once more at full effort, alone with the libraries. decode-fused.db has a chain of
# its layers, too, and fp8.db and fp8-blocks.db what quantising A takes. fp8-layers.db has the whole
# lists of layers with 8-bit operands, with 5 to 6 s a shape. On machines with several GPUs, name
# other databases or regimes on each:
#   CUDA_VISIBLE_DEVICES=0 scripts/record_layers.sh results/h200 batched:burst gated
# The budgets of the tunes are 61 minutes together. A database that exists is added to. Then
# scripts/write_results.py <folder> writes the tables.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"

# Shapes that nobody had in mind when the kernels were made.
unseen_epilogues=4096x14336x4096.bias-gelu_erf,1000x5120x1280.bias-gelu,512x4096x14336.cbf16
unseen_epilogues+=,8192x1280x5120.cbf16.bias,64x11008x4096.bias-gelu,64x4096x11008.cbf16
unseen_epilogues+=,256x4096x4096.cbf16.bias,300x3072x768.bias-gelu_erf,4096x4096x4096.fp16.relu
unseen_epilogues+=,128x3584x18944.cbf16
unseen_gated=33x1000x512.swiglu,700x3000x1000.geglu-interleaved,5x12288x4096.swiglu
unseen_gated+=,129x8192x1024.reglu,2000x2730x777.swiglu,256x14336x4096.fp16.swiglu
unseen_gated+=,1024x1024x1024.dfp32.swiglu,48x57344x8192.swiglu,300x28672x4096.layoutNN.swiglu
unseen_gated+=,4096x4096x4096.bilinear,1x57344x8192.swiglu-interleaved,512x512x8192.geglu_erf

fp8=4096x4096x4096.e4m3,8192x8192x8192.e4m3,4096x4096x4096.e4m3.accfast
fp8+=,8192x8192x8192.e4m3.accfast,16x7168x2048.e4m3.scaling-tensor
fp8+=,64x4096x7168.e4m3.scaling-tensor,4096x2112x7168.e4m3.scaling-tensor
fp8+=,4096x7168x16384.e4m3.scaling-rows,1x7168x2048.e4m3.scaling-rows
fp8+=,64x7168x16384.e4m3.scaling-rows,256x4096x7168.e4m3.scaling-rows
fp8+=,2048x57344x8192.e4m3.scaling-rows.swiglu
fp8+=,4096x4096x4096.e4m3.de4m3.scaling-tensor,4096x4608x7168.e4m3.de4m3.scaling-tensor.swiglu
fp8+=,16x7168x2048.e4m3.de4m3.scaling-tensor
# DeepGEMM's list of shapes, and few rows.
fp8_blocks=4096x7168x16384.e4m3.scaling-blocks,4096x4096x7168.e4m3.scaling-blocks
fp8_blocks+=,4096x24576x1536.e4m3.scaling-blocks,4096x2112x7168.e4m3.scaling-blocks
fp8_blocks+=,4096x7168x2048.e4m3.scaling-blocks,4096x32768x512.e4m3.scaling-blocks
fp8_blocks+=,128x7168x16384.e4m3.scaling-blocks,64x7168x16384.e4m3.scaling-blocks
fp8_blocks+=,64x4096x7168.e4m3.scaling-blocks,16x4096x7168.e4m3.scaling-blocks
fp8_blocks+=,4096x4096x7168.e4m3.scaling-row_blocks

# tune <shapes> <budget>: into `db`, in `regime`. Where the time was over before some races began, the
# same command goes on with them.
tune() {
  local turn
  for turn in 1 2 3; do
    "$program" --require-gpu --devices 0 --db "$db" --regime "$regime" --shapes "$1" --budget "$2" \
      >/dev/null && return
  done
  return 1
}

race_winners() {
  "$program" best --db "$db" --regime "$regime" --format csv --columns problem,label | tail -n +2 |
    while IFS=, read -r problem config; do
      "$program" --require-gpu --devices 0 --db "$db" --regime "$regime" --shapes "$problem" \
        --config "$config" </dev/null >/dev/null
    done
}

record() {
  case $1 in
    epilogues) tune epilogues.yaml 60s && tune "$unseen_epilogues" 40s ;;
    training-added) tune training-added.yaml 60s ;;
    training-aux) tune training-aux.yaml 40s ;;
    gated) tune gated.yaml 60s && tune "$unseen_gated" 45s ;;
    batched) tune batched.yaml 120s && race_winners ;;
    fp8) tune "$fp8" 100s ;;
    fp8-blocks) tune "$fp8_blocks" 100s ;;
    fp8-layers) tune fp8.yaml 600s && tune fp8-rows.yaml 300s && tune fp8-blocks.yaml 250s ;;
    decode-fused) tune llama7b-decode-fused.yaml 60s ;;
    *) echo "unknown: $1" >&2; return 2 ;;
  esac
}

names=("${@:2}")
if ((${#names[@]} == 0)); then
  names=(epilogues training-added training-aux gated batched decode-fused fp8 fp8-blocks fp8-layers)
fi
for name in "${names[@]}"; do
  regimes=(sustained burst)
  [[ $name == *:* ]] && regimes=("${name#*:}")
  for regime in "${regimes[@]}"; do
    db=$output/${name%:*}.db
    record "${name%:*}"
  done
  if [[ $name == decode-fused ]]; then
    "$program" chain --shapes llama7b-decode-fused.yaml --db "$output/decode-fused.db" >/dev/null
  elif [[ $name == fp8 ]]; then
    "$program" quantise --shapes "$fp8" --db "$output/fp8.db" --require-gpu >/dev/null
  elif [[ $name == fp8-blocks ]]; then
    "$program" quantise --shapes "$fp8_blocks" --db "$output/fp8-blocks.db" --require-gpu >/dev/null
  fi
done
