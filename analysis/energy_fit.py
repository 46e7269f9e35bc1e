#!/usr/bin/env python3
"""The energies in src/model/cost.h, fitted to races at the power cap.

  analysis/energy_fit.py PROGRAM DATABASE...

PROGRAM is build/hgemm-tune: `plan --explain` counts what each config multiplies and moves. Of each
config that was measured alone at the cap (the own pace of src/measure/protocol.h) the energy above
idling is its power less IDLE_W, times its time. Fitted by least squares of the relative error,
none negative: pJ per FLOP, byte of shared memory and byte from L2 at REFERENCE_MHZ, growing with the
clock to EXPONENT, and pJ per byte of memory, whatever the SM clock. Configs that cut K are left out:
what their sums move is not counted.
"""

import json
import math
import re
import sqlite3
import statistics
import subprocess
import sys
from collections import defaultdict

IDLE_W = 120.0
REFERENCE_MHZ = 1500.0
EXPONENT = 1.5
TERMS = ("flops", "smem_bytes", "l2_bytes", "dram_bytes")
CAPPED_W = 0.97  # of the limit: less was not held by the cap

FINALISTS = """
SELECT m, n, k, label, avg(time_us), avg(sm_mhz), avg(power_w)
FROM sample JOIN trial ON trial.id = sample.trial_id JOIN race ON race.id = trial.race_id
  JOIN run ON run.id = race.run_id JOIN environment ON environment.id = run.environment_id
  JOIN shape ON shape.id = race.shape_id JOIN candidate ON candidate.id = trial.candidate_id
WHERE pace = 'own' AND regime = 'sustained' AND label LIKE 'bm%.bf16%'
GROUP BY trial.id HAVING avg(power_w) > ? * max(power_limit_w)
"""


def finalists(databases):
    """By shape: (label, us, MHz, W)."""
    by_shape = defaultdict(list)
    for path in databases:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            for m, n, k, *rest in connection.execute(FINALISTS, (CAPPED_W,)):
                by_shape[(m, n, k)].append(tuple(rest))
    return by_shape


def traffic_of(program, shape, labels):
    labels = [label for label in labels if not re.search(r"\.(c?split\d+|stream)\b", label)]
    if not labels:
        return {}
    command = [program, "plan", "--explain", "--format", "json"]
    command += ["--shapes", "x".join(map(str, shape)), "--config", ",".join(sorted(labels))]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {row["label"]: row["traffic"] for row in rows if row["traffic"]}


def solve(matrix, vector):
    """Gauss-Jordan; the matrix is small and positive definite."""
    size = len(vector)
    rows = [list(row) + [value] for row, value in zip(matrix, vector)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for r in range(size):
            if r != i:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i])]
    return [row[-1] for row in rows]


def fit(rows):
    """Coefficients by term; what would be negative is left out, the most negative first."""
    terms = list(range(len(TERMS)))
    while True:
        matrix = [[sum(row[i] * row[j] for row in rows) for j in terms] for i in terms]
        found = solve(matrix, [sum(row[i] for row in rows) for i in terms])
        if min(found) >= 0:
            return [dict(zip(terms, found)).get(i, 0.0) for i in range(len(TERMS))]
        terms.pop(found.index(min(found)))


def main():
    program, databases = sys.argv[1], sys.argv[2:]
    rows, shapes = [], []
    for shape, measured in sorted(finalists(databases).items()):
        traffic = traffic_of(program, shape, {label for label, *_ in measured})
        for label, us, mhz, watts in measured:
            if label not in traffic:
                continue
            # pJ: W x us is uJ.
            energy = (watts - IDLE_W) * us * 1e6
            scale = (mhz / REFERENCE_MHZ) ** EXPONENT
            factors = (scale, scale, scale, 1.0)
            rows.append([traffic[label][t] * f / energy for t, f in zip(TERMS, factors)])
            shapes.append(shape)
    found = fit(rows)
    errors = [sum(a * b for a, b in zip(row, found)) - 1 for row in rows]
    spread = math.sqrt(statistics.fmean(e * e for e in errors))
    print(f"{len(rows)} configs at {len(set(shapes))} shapes; relative error {100 * spread:.1f} %")
    for term, value in zip(TERMS, found):
        print(f"{term:10} {value:8.3g} pJ")
    print("shape, configs, mean error, deviation")
    for shape in sorted(set(shapes)):
        of_shape = [e for e, s in zip(errors, shapes) if s == shape]
        name = "x".join(map(str, shape))
        mean, deviation = statistics.fmean(of_shape), statistics.pstdev(of_shape)
        print(f"{name:18} {len(of_shape):3} {100 * mean:+6.1f} % {100 * deviation:5.1f} %")


if __name__ == "__main__":
    main()
