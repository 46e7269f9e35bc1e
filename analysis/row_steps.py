#!/usr/bin/env python3
"""How even are the times of a weight's kernels from one number of rows to the next?

    build/hgemm-tune best --db rows.db --regime burst --format json | analysis/row_steps.py

Prints a row for each weight, kind of problem and regime with several numbers of rows: the lowest ratio to
the better of cuBLAS and cuBLASLt, how many ratios are below 0.98, and the largest step of the time
from one number of rows to the next.
"""

import json
import sys
from collections import defaultdict

BEHIND = 0.98


def least_ratio(row):
    ratios = [row[f"ratio_{library}"] for library in ("cublas", "cublaslt")]
    return min((ratio for ratio in ratios if ratio is not None), default=None)


def main():
    weights = defaultdict(list)
    for row in json.load(sys.stdin):
        if row["time_us"] is not None:
            kind = (row["dtype"], row.get("layout"), row.get("c_dtype"), row.get("epilogue"))
            weights[row["n"], row["k"], kind, row["regime"]].append(row)
    print("| weight | regime | rows | least x best library | below 0.98 | largest step |")
    print("|---|---|---:|---:|---:|---:|")
    in_order = sorted(weights.items(), key=lambda item: (*item[0][:2], str(item[0])))
    for (n, k, (dtype, *others), regime), rows in in_order:
        if len(rows) < 2:
            continue
        rows.sort(key=lambda row: row["m"])
        rated = [(least_ratio(row), row["m"]) for row in rows if least_ratio(row) is not None]
        steps = [(after["time_us"] / before["time_us"] - 1, before["m"], after["m"])
                 for before, after in zip(rows, rows[1:])]
        step, before, after = max(steps)
        least = f"{min(rated)[0]:.3f} at {min(rated)[1]}" if rated else "-"
        behind = sum(ratio < BEHIND for ratio, _ in rated)
        plain = (None, "TN", "none", "plain")
        kind = " ".join([dtype, *(word for word in others if word not in plain)])
        print(f"| {n} x {k} {kind} | {regime} | {len(rows)} | {least} | {behind} "
              f"| {100 * step:+.1f} % from {before} to {after} |")


if __name__ == "__main__":
    main()
