#!/usr/bin/env python3
"""The energies in src/families/cost.h, fitted to races at the power cap.

  analysis/energy_fit.py PROGRAM DATABASE...

PROGRAM is build/hgemm-tune: `merge` reads databases of any version, and `plan --explain` counts the
FLOP and bytes of each config. The energy above idling is (power - IDLE_W) x time, for each config that
was measured alone at the cap (the own pace of src/device/protocol.h). The fit minimises the squared
relative error with non-negative coefficients: pJ per FLOP, per byte of shared memory and per byte from
L2 at REFERENCE_MHZ, which grow with the clock to the power EXPONENT, and pJ per byte of memory, which do
not depend on the SM clock. Configs that cut K are left out, because the bytes of their sums are not
counted.
"""

import json
import math
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from contextlib import closing
from pathlib import Path

IDLE_W = 120.0
REFERENCE_MHZ = 1500.0
EXPONENT = 1.5
TERMS = ("flops", "smem_bytes", "l2_bytes", "dram_bytes")
CAPPED_W = 0.97  # share of the limit; a config below it was not held by the cap

# A library's trials have no kernel.
FINALISTS = """
SELECT key, label, avg(time_us), avg(sm_mhz), avg(power_w)
FROM sample JOIN trial ON trial.id = sample.trial_id JOIN race ON race.id = trial.race_id
  JOIN run ON run.id = race.run_id JOIN environment ON environment.id = run.environment_id
  JOIN problem ON problem.id = race.problem_id JOIN candidate ON candidate.id = trial.candidate_id
WHERE pace = 'own' AND regime = 'sustained' AND kernel_id IS NOT NULL
  AND a_dtype = 'bf16' AND d_dtype = 'bf16'
GROUP BY trial.id HAVING avg(power_w) > ? * max(power_limit_w)
ORDER BY m, n, k, key
"""


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def finalists(program, databases):
    """By problem: (label, us, MHz, W). In a copy, as this reads only today's tables and labels."""
    by_problem = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        merged = Path(folder) / "merged.db"
        output_of(program, "merge", "--mixed", *databases, "-o", merged)
        with closing(sqlite3.connect(merged)) as connection:
            for problem, *rest in connection.execute(FINALISTS, (CAPPED_W,)):
                by_problem[problem].append(tuple(rest))
    return by_problem


def traffic_of(program, problem, labels):
    labels = [label for label in labels if not re.search(r"\.(c?split\d+|stream)\b", label)]
    if not labels:
        return {}
    command = [program, "plan", "--explain", "--format", "json"]
    rows = json.loads(output_of(*command, "--shapes", problem, "--config", ",".join(sorted(labels))))
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
    rows, problems = [], []
    for problem, measured in finalists(program, databases).items():
        traffic = traffic_of(program, problem, {label for label, *_ in measured})
        for label, us, mhz, watts in measured:
            if label not in traffic:
                continue
            # pJ: W x us is uJ.
            energy = (watts - IDLE_W) * us * 1e6
            scale = (mhz / REFERENCE_MHZ) ** EXPONENT
            factors = (scale, scale, scale, 1.0)
            rows.append([traffic[label][t] * f / energy for t, f in zip(TERMS, factors)])
            problems.append(problem)
    found = fit(rows)
    errors = [sum(a * b for a, b in zip(row, found)) - 1 for row in rows]
    spread = math.sqrt(statistics.fmean(e * e for e in errors))
    print(f"{len(rows)} configs at {len(set(problems))} shapes; relative error {100 * spread:.1f} %")
    for term, value in zip(TERMS, found):
        print(f"{term:10} {value:8.3g} pJ")
    print("shape, configs, mean error, deviation")
    for problem in dict.fromkeys(problems):
        of_problem = [e for e, p in zip(errors, problems) if p == problem]
        mean, deviation = statistics.fmean(of_problem), statistics.pstdev(of_problem)
        print(f"{problem:18} {len(of_problem):3} {100 * mean:+6.1f} % {100 * deviation:5.1f} %")


if __name__ == "__main__":
    main()
