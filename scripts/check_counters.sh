#!/usr/bin/env bash
# Checks the counters of `hgemm-tune counters` against Nsight Compute, on a GPU machine that has
# ncu. Both read the same kernel and shape after the same launches. Prints every metric; fails if
# one that does not depend on timing differs by more than 2 %.
#   scripts/check_counters.sh [SHAPE [CONFIG,...]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=$PWD/build/hgemm-tune
shape=${1:-8192x8192x8192}
configs=${2:-bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist}
ncu=${NCU:-$(command -v ncu || echo "${CUDA_HOME:-/usr/local/cuda}/bin/ncu")}
[[ -x $ncu ]] || { echo "No ncu here: install Nsight Compute, or name it in \$NCU" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" counters --require-gpu --shapes "$shape" --config "$configs" --db "$work/study.db" \
  --format csv >"$work/ours.csv"

# Hardware metrics have a double underscore; the others are computed from them.
metrics=$(python3 - "$work/ours.csv" <<'PYTHON'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
print(",".join(dict.fromkeys(r["source"] for r in rows if "__" in r["source"])))
PYTHON
)
# Application replay runs the program again for each pass, so that each pass finds the same state of
# the L2. Kernel replay would save and restore memory between passes.
for label in ${configs//,/ } cublas; do
  "$ncu" --csv --print-units base --replay-mode application --clock-control none \
    --cache-control none --profile-from-start off --target-processes application-only \
    --metrics "$metrics" "$program" launch --shapes "$shape" --config "$label" \
    >"$work/$label.csv" || { cat "$work/$label.csv" >&2; exit 1; }
done

python3 - "$work" <<'PYTHON'
import csv, pathlib, sys

# Fixed by the kernel and the shape. A kernel that spins on a barrier executes more or fewer
# instructions.
STABLE = {"wgmma_warp_instructions", "instructions", "tensor_flop", "wgmma_wavefronts", "l2_to_sm",
          "l2_to_sm_tma", "l2_to_sm_multicast", "sm_to_l2"}
LIMIT = 2.0

def read_ncu(path):
    """Sums over the kernels of the launch: cuBLAS may need two (split-K)."""
    lines = [line for line in open(path) if line.startswith('"')]
    values, kernels = {}, set()
    for row in csv.DictReader(lines):
        kernels.add((row["ID"], row["Kernel Name"]))
        value = float(row["Metric Value"].replace(",", ""))
        values.setdefault(row["Metric Name"], []).append(value)
    return values, kernels

work = pathlib.Path(sys.argv[1])
ours = list(csv.DictReader(open(work / "ours.csv")))
bad = compared = 0
for label in dict.fromkeys(row["label"] for row in ours):
    values, kernels = read_ncu(work / f"{label}.csv")
    print(f"\n{label}: {', '.join(name for _, name in sorted(kernels))}")
    print(f"{'metric':<28} {'ours':>16} {'ncu':>16} {'difference':>10}")
    for row in (r for r in ours if r["label"] == label and "__" in r["source"]):
        metric, value = row["metric"], float(row["value"])
        found = values.get(row["source"])
        if not found:
            print(f"{metric:<28} {value:>16.6g} {'-':>16}")
            bad += metric in STABLE
            continue
        theirs = sum(found)
        if theirs == value:
            difference = 0.0
        else:
            difference = 100 * (value - theirs) / theirs if theirs else float("inf")
        verdict = ""
        if metric in STABLE:
            compared += 1
            verdict = "ok" if abs(difference) <= LIMIT else "DIFFERS"
            bad += verdict != "ok"
        note = " (of several kernels)" if len(found) > 1 and not row["source"].endswith(".sum") else ""
        print(f"{metric:<28} {value:>16.6g} {theirs:>16.6g} {difference:>9.2f}% {verdict}{note}")
print(f"\n{compared} figures that timing does not move were compared, {bad} differ by more than {LIMIT} %")
sys.exit(1 if bad or not compared else 0)
PYTHON
