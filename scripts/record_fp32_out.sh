#!/usr/bin/env bash
# Records results/<GPU>/fp32-out.db ($1: another folder) on this machine, from a finished build
# folder: products that are kept in fp32, tuned within 250 s beside cublasGemmEx and
# cuBLASLt with the same types.
#   cmake --build build && scripts/record_fp32_out.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
"$program" --require-gpu --db "$output/fp32-out.db" --shapes fp32-out --budget 250s
scripts/write_results.py "$output"
