#!/usr/bin/env python3
"""Shows the gain of the axis sms: each config on fewer SMs beside itself on all of them.

Reads the races of a database (default: results/h200/sms.db, which scripts/record_sms.sh records)
and prints a Markdown table. The final rounds are at the own pace, where the power cap sets each
candidate's clock. Configs that were eliminated in the screening are compared by its rested rounds,
where the clock is free. A ratio is the time on all SMs over the time on fewer, for samples of one
round of one race. Its interval is a 95 % bootstrap of the median.
"""
import argparse
import collections
import pathlib
import random
import sqlite3
import statistics

SAMPLES = """
SELECT problem.key, candidate.label, sample.pace, sample.round, sample.time_us, sample.sm_mhz
FROM sample
JOIN trial ON trial.id = sample.trial_id
JOIN race ON race.id = trial.race_id
JOIN problem ON problem.id = race.problem_id
JOIN candidate ON candidate.id = trial.candidate_id
WHERE trial.status = 'ok'
"""
PROVENANCE = """
SELECT gpu_name, driver, cuda, cublas, min(substr(started_utc, 1, 10)), max(git_revision)
FROM environment JOIN run ON run.environment_id = environment.id GROUP BY environment.id
"""


def interval(ratios, draws=4000, seed=1):
    rng = random.Random(seed)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]


def series(database):
    """(problem, label, pace) -> round -> mean time of its samples, and the median clock."""
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    clocks = collections.defaultdict(list)
    for problem, label, pace, turn, time_us, sm_mhz in database.execute(SAMPLES):
        times[problem, label, pace][turn].append(time_us)
        clocks[problem, label, pace].append(sm_mhz)
    means = {key: {turn: statistics.mean(values) for turn, values in turns.items()}
             for key, turns in times.items()}
    return means, {key: statistics.median(values) for key, values in clocks.items()}


def rows(means, clocks):
    for problem, label, pace in means:
        base, found, sms = label.partition(".sms")
        if not found:
            continue
        # The final, if both are in it.
        paces = [p for p in ("own", "shared", "rested")
                 if (problem, label, p) in means and (problem, base, p) in means]
        if not paces or pace != paces[0]:
            continue
        all_sms, fewer = means[problem, base, pace], means[problem, label, pace]
        ratios = [all_sms[turn] / fewer[turn] for turn in fewer if turn in all_sms]
        low, high = interval(ratios)
        yield (f"| {problem} | {base} | {sms} | {pace} | {statistics.median(fewer.values()):.2f} | "
               f"{statistics.median(ratios):.4f} [{low:.4f}, {high:.4f}] | {len(ratios)} | "
               f"{clocks[problem, base, pace]:.0f} | {clocks[problem, label, pace]:.0f} |")


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database", nargs="?", default=here / "results/h200/sms.db")
    database = sqlite3.connect(f"file:{parser.parse_args().database}?mode=ro&immutable=1", uri=True)
    for gpu, driver, cuda, cublas, date, revision in database.execute(PROVENANCE):
        print(f"{gpu}, driver {driver}, CUDA {cuda}, cuBLAS {cublas}, {date}, sustained, "
              f"program {revision}\n")
    print("| problem | config on all SMs | sms | pace | time us | x all SMs | rounds | "
          "MHz on all | MHz |\n|---|---|---|---|---:|---:|---:|---:|---:|")
    for row in sorted(rows(*series(database))):
        print(row)


if __name__ == "__main__":
    main()
