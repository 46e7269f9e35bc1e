#!/usr/bin/env bash
# Records results/<GPU>/sms.db ($1: another folder) on this machine, from a finished build
# folder: three tiles on all SMs and on the fewest, and one on 120 and 100 SMs, at shapes that the
# power cap limits. Takes four minutes on an H200; an interrupted recording continues where it
# stopped.
#   cmake --build build && scripts/record_sms.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"

wide=bm128.bn256.bk64.q4.c2x1.coop2.d0.group8.overlap.persist
tall=bm256.bn192.bk64.q3.c1x2.coop2.d0.group8.tma.persist
hilbert=bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist
squares=4096x4096x4096,8192x8192x8192
prefill=2048x12288x4096,2048x4096x4096,2048x32000x4096,2048x4096x11008,2048x11008x4096
"$program" --require-gpu --db "$output/sms.db" --shapes "$squares,$prefill" --config \
  "$wide,$wide.smsfew,$tall,$tall.smsfew,$hilbert,$hilbert.smsfew,$wide.sms120,$wide.sms100"
scripts/write_results.py "$output"
