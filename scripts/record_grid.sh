#!/usr/bin/env bash
# Records results/<GPU>/grid-tuned.db, few-tiles.db and gpc.db ($1: another folder) on this machine,
# from a finished build folder. The first has the 200 shapes of configs/shapes/grid.yaml in burst at the
# pace of a default tune, without PDL and with safe PDL: 16 minutes on an H200 and 16 CPUs. The
# second has what analysis/kernel-notes.md says of few tiles with a long K: counters and probes of
# our kernels and cuBLAS's, and orders of tiles: a minute. The third has kernels whose clusters are
# numbered by their GPC beside the same ones without that: two minutes. An interrupted recording goes
# on where it stopped.
#   cmake --build build && scripts/record_grid.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
cd "$output"

for pdl in off safe; do
  "$program" --require-gpu --shapes grid --regime burst --pdl $pdl --budget 480s \
    --db grid-tuned.db >/dev/null
done

spaces=$(mktemp -d)
trap 'rm -r "$spaces"' EXIT
orders='[linear, group1, group2, group3, group4, group5, group6, group8, ngroup2, ngroup3, ngroup4,
  ngroup8, hilbert, snake2, snake4, nsnake2, nsnake4]'
cat >"$spaces/orders.yaml" <<X
name: orders
grids:
  - {bm: 64, bn: 128, schedule: coop1, bk: 128, q: 4, cluster: [1x1, 2x1, 1x2], order: $orders, scheduler: single, fixed: 1}
  - {bm: 64, bn: 128, schedule: coop1, bk: 128, q: [2, 3], cluster: [1x1, 2x1, 1x2], scheduler: single, fixed: 1}
  - {bm: 64, bn: 128, schedule: coop1, bk: 128, q: 4, cluster: [1x1, 2x1, 1x2], promotion: [64, 128], scheduler: single, fixed: 1}
  - {bm: 64, bn: 128, schedule: coop1, bk: 128, q: 4, cluster: [2x2, 4x1, 1x4], scheduler: single, fixed: 1}
  - {bm: 64, bn: 128, schedule: [coop1, cols2], bk: 128, q: 4, cluster: [1x1, 2x1, 1x2], scheduler: single, fixed: 1}
  - {bm: 64, bn: 128, schedule: [coop1, cols2], bk: 64, q: 8, cluster: [1x1, 2x1, 1x2], scheduler: single, fixed: 1}
  - {bm: 64, bn: 128, swap: 1, schedule: coop2, bk: 64, q: 8, cluster: [1x1, 2x1, 1x2], scheduler: single, fixed: 1}
X
cat >"$spaces/parts.yaml" <<X
name: parts
grids:
  - {bm: 64, bn: 128, schedule: [coop1, cols2], bk: 128, q: 4, cluster: [1x1, 2x1, 1x2], order: [linear, group4], scheduler: split4, store: direct, fixed: 1}
  - {bm: 64, bn: 128, schedule: cols2, bk: 64, q: 9, cluster: [1x1, 2x1, 1x2], scheduler: split4, store: direct, fixed: 1}
  - {bm: 64, bn: 128, schedule: [coop1, cols2], bk: 128, q: 4, scheduler: [csplit2, csplit4], fixed: 1}
X
tune() { "$program" --require-gpu --regime burst --pdl off --db few-tiles.db "$@" >/dev/null; }
tune --shapes 1024x1024x4096.fp16 --space "$spaces/orders.yaml" --budget 40s
tune --shapes 512x512x8192.fp16 --space "$spaces/parts.yaml" --budget 20s

# study <command> <shapes> <configs> [option...]
study() {
  "$program" "$1" --require-gpu --db few-tiles.db --shapes "$2" --config "$3" "${@:4}" >/dev/null
}
pair=bm64.bn128.bk128.q4.c2x1
one=$pair.coop1.d1.linear.tma.single.fixed
two=$pair.cols2.d1.linear.tma.single.fixed
hilbert=bm64.bn128.bk128.q4.c1x2.coop1.d1.hilbert.tma.single.fixed
late=$pair.coop1.d1.linear.overlap.persist.fixed
large=bm128.bn256.bk64.q4.c1x2.coop2.d1.linear.direct
study counters 1024x1024x4096.fp16 "$one,$two,$hilbert,$late"
study probe 1024x1024x4096.fp16 "$one,$two"
study counters 512x512x8192.fp16 bm64.bn128.bk128.q4.c1x2.coop1.d1.linear.direct.split4.fixed \
  --cublaslt
study counters 1024x512x16384.fp16,2048x512x12288.fp16 "$large.split4,$large.split8"

cat >"$spaces/gpc-whole.yaml" <<'X'
name: gpc-whole
grids:
  - {bm: 64, bn: 128, schedule: coop1, bk: 128, q: 4, cluster: [1x1, 2x1, 1x2], order: [linear, group4, group2, hilbert], scheduler: single, fixed: 1, gpc: [0, 1]}
  - {bm: 128, bn: 128, schedule: coop2, bk: 128, q: 3, d: 0, order: [linear, group2, group4, hilbert], scheduler: csplit2, fixed: 1, gpc: [0, 1]}
  - {bm: 128, bn: 128, schedule: coop2, bk: 64, q: 6, order: [linear, group2, group4, hilbert], scheduler: csplit2, fixed: 1, gpc: [0, 1]}
  - {bm: 64, bn: 128, schedule: cols2, bk: 64, q: 8, cluster: [1x1, 2x1], order: [linear, group4, hilbert], scheduler: single, fixed: 1, gpc: [0, 1]}
X
cat >"$spaces/gpc-parts.yaml" <<'X'
name: gpc-parts
grids:
  - {bm: 64, bn: 128, schedule: coop1, bk: 128, q: 4, cluster: [1x1, 1x2], order: [linear, hilbert], scheduler: split4, store: direct, fixed: 1, gpc: [0, 1]}
  - {bm: 128, bn: 128, schedule: coop2, bk: 128, q: 3, d: [0, 1], order: [linear, hilbert, group2], scheduler: [split8, split4], store: direct, fixed: 1, gpc: [0, 1]}
  - {bm: 128, bn: 128, schedule: coop2, bk: 64, q: 7, order: [linear, hilbert], scheduler: split8, store: direct, fixed: 1, gpc: [0, 1]}
  - {bm: 128, bn: 256, schedule: coop2, bk: 64, q: 4, cluster: [1x1, 1x2], order: [linear, hilbert, group2], scheduler: [split4, split8], store: direct, fixed: 1, gpc: [0, 1]}
  - {bm: 64, bn: 64, schedule: coop1, bk: 128, q: 6, cluster: [1x1, 2x1], order: [linear, hilbert], scheduler: [split8, split4], store: direct, fixed: 1, gpc: [0, 1]}
  - {bm: 64, bn: 64, schedule: coop1, bk: 128, q: 6, cluster: [1x1, 2x1], order: [linear, hilbert], scheduler: [csplit4, csplit2], fixed: 1, gpc: [0, 1]}
  - {bm: 128, bn: 128, schedule: coop2, bk: 128, q: 3, order: [linear, hilbert, group2], scheduler: [csplit2, csplit4], fixed: 1, gpc: [0, 1]}
  - {bm: 64, bn: 128, schedule: coop1, bk: 128, q: 4, cluster: [1x1, 2x1], order: [linear, hilbert, group2], scheduler: [csplit2, csplit4], fixed: 1, gpc: [0, 1]}
X
numbered() {
  "$program" --require-gpu --regime burst --pdl off --db gpc.db --shapes "$1" \
    --space "$spaces/$2.yaml" --budget 20s >/dev/null
}
numbered 1024x1024x4096.fp16 gpc-whole
for shape in 1024x512x16384 2048x512x4096 512x512x8192 256x1024x16384 2048x512x12288; do
  numbered $shape.fp16 gpc-parts
done
