#!/usr/bin/env bash
# Records the races against other people's kernels: results/<GPU>/referee.db (squares and the prefill
# layers of Llama 2 7B at full effort, with the winners of headline-safe.db and headline-off.db),
# results/<GPU>/grid.db (200 shapes of CUDA-L2's grid in burst and as single calls, in brief) and
# results/<GPU>/data.db (what the data does to the time). Needs a finished build folder, a machine
# with Hopper GPUs, which are all used, and the peers that examples/peers/build.sh has built into
# the folder PEERS. An interrupted recording goes on where it stopped.
#   scripts/record_referee.sh PEERS [OUTPUT]
set -euo pipefail
peers=$(cd "${1:?usage: scripts/record_referee.sh PEERS [OUTPUT]}" && pwd)
shift
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

named=()
for name in cutlass deep_gemm triton torch_matmul; do
  [[ -e $peers/$name.so ]] && named+=(--peer "$peers/$name.so")
done
race() { "$program" race --devices all --require-gpu "$@" >/dev/null; }

# The winners with and without PDL meet the peers.
[[ -e recording-referee.db ]] || "$program" merge "$root/results/h200/headline-safe.db" \
  "$root/results/h200/headline-off.db" -o recording-referee.db >/dev/null
for shapes in square llama7b-prefill; do
  for pdl in off weights; do
    race "${named[@]}" --shapes $shapes --pdl $pdl --budget 100configs --db recording-referee.db
  done
done
# Races without a peer give no verdict.
python3 "$root/scripts/keep_races_with_peers.py" recording-referee.db recording-peers.db
"$program" merge recording-peers.db -o referee.db >/dev/null

cuda_l2=(--peer "$peers/cuda_l2.so:$peers/cuda_l2")
for pdl in off weights; do
  race "${cuda_l2[@]}" --shapes grid --regime burst --pdl $pdl --budget 110s --db grid.db
done
race "${cuda_l2[@]}" --shapes grid --regime single --pdl off --budget 110s --db grid.db

"$root/scripts/record_data.sh" "$output"
rm recording-referee.db recording-peers.db
"$root/scripts/write_results.py" .
