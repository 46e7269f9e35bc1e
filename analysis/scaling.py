#!/usr/bin/env python3
"""How a sweep of 10,000 shapes scales from 1 to 512 GPUs: a simulation with recorded race times.

    analysis/scaling.py PROGRAM [DATABASE]

PROGRAM is hgemm-tune, which predicts the races; DATABASE is a recording of whole races at full
effort within a budget (default: results/h200/one-card.db). Each simulated race is one of the
recorded ones, drawn at random: its recorded duration is what it takes, its predicted duration is
what it is dealt by.
Needs Python 3 and no GPU.
"""
import argparse
import collections
import datetime
import heapq
import json
import pathlib
import random
import sqlite3
import statistics
import subprocess

RACES = 10_000
GPUS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
RUNS = 5
SEED = 27

# A Slurm task: the scheduler starts it, the program opens the GPU, and kernels come from a cache.
# The scheduler's part was measured on one machine with three nodes (below a second when idle); ten
# seconds are what busy clusters take to clean up after one job and start the next.
TASK_START_S = 10
SHORTEST_SHARD_S = 60
WAYS = {"even, 5 min": (5, False), "even, 15 min": (15, False), "tapered, 15 min": (15, True)}

RACES_OF_RUNS = """
SELECT run_id, command_line, key, race.started_utc FROM race
JOIN run ON run.id = run_id JOIN problem ON problem.id = problem_id
WHERE effort = 'full' ORDER BY run_id, race.id"""


def predicted(program, command_line, keys):
    """Predicted seconds of each race of a recorded command, by the problem's key."""
    words = command_line.split()
    options = dict(zip(words, words[1:]))
    arguments = [item for name in ("--space", "--budget", "--pdl") if name in options
                 for item in (name, options[name])]
    # The shapes are those that were raced: a recorded file of shapes need not be there.
    text = subprocess.run([program, "plan", "--gpus", "1", "--format", "json", "--shapes",
                           ",".join(keys), *arguments],
                          check=True, capture_output=True, text=True).stdout
    return {shape["shape"]: shape["race_s"] for shape in json.loads(text)["shapes"]}


def recorded_races(program, path):
    """(predicted, recorded) seconds of each race but the last of each run."""
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    runs = collections.defaultdict(list)
    for run, command_line, key, started in database.execute(RACES_OF_RUNS):
        start = datetime.datetime.fromisoformat(started.replace("Z", "+00:00"))
        runs[run, command_line].append((key, start))
    pairs = []
    for (_, command_line), races in runs.items():
        if "--budget" not in command_line or len(races) < 2:
            continue
        expected = predicted(program, command_line, [key for key, _ in races])
        for (key, start), (_, following) in zip(races, races[1:]):
            pairs.append((expected[key], (following - start).total_seconds()))
    return pairs


def one_queue(races, gpus):
    """Makespan where each free GPU takes the race that is predicted to be the longest."""
    free = [0.0] * gpus
    for _, seconds in sorted(races, reverse=True):
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def taper(races, gpus, longest_s):
    """Shards whose sizes shrink: each is a half of what is left for a GPU, within limits."""
    shards, left_s = [], sum(expected for expected, _ in races)
    size_s = 0.0
    for expected, seconds in sorted(races, reverse=True):
        if not shards or size_s >= min(longest_s, max(SHORTEST_SHARD_S, left_s / gpus / 2)):
            shards.append(0.0)
            left_s -= size_s
            size_s = 0.0
        shards[-1] += seconds
        size_s += expected
    return shards


def even(races, _, shard_s):
    """Shards of equal predicted time: the longest race goes into the emptiest shard."""
    count = max(1, round(sum(expected for expected, _ in races) / shard_s))
    shards = [(0.0, number, 0.0) for number in range(count)]
    for expected, seconds in sorted(races, reverse=True):
        predicted_s, number, recorded_s = heapq.heappop(shards)
        heapq.heappush(shards, (predicted_s + expected, number, recorded_s + seconds))
    return [recorded_s for _, _, recorded_s in sorted(shards, reverse=True)]


def tasks(make_shards, longest_s):
    """Makespan of Slurm tasks of one GPU, each with a shard, in the order of the shards."""
    def makespan(races, gpus):
        free = [0.0] * gpus
        for seconds in make_shards(races, gpus, longest_s):
            heapq.heappush(free, heapq.heappop(free) + TASK_START_S + seconds)
        return max(free)
    return makespan


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("database", nargs="?", default=here / "results/h200/one-card.db")
    arguments = parser.parse_args()
    pairs = recorded_races(arguments.program, arguments.database)
    ratios = [recorded / expected for expected, recorded in pairs]
    times = [recorded for _, recorded in pairs]
    print(f"{len(pairs)} recorded races: {min(times):.0f} to {max(times):.0f} s, "
          f"mean {statistics.mean(times):.1f} s; recorded by predicted time: geometric mean "
          f"{statistics.geometric_mean(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}\n")
    generator = random.Random(SEED)
    sweeps = [[generator.choice(pairs) for _ in range(RACES)] for _ in range(RUNS)]

    def efficiency(gpus, makespan):
        shares = [sum(race[1] for race in races) / gpus / makespan(races, gpus) for races in sweeps]
        return f"{100 * statistics.mean(shares):.1f} %"

    ways = {"one queue": one_queue}
    for name, (minutes, tapers) in WAYS.items():
        ways[name] = tasks(taper if tapers else even, 60 * minutes)
    print("| GPUs | hours | " + " | ".join(ways) + " |")
    print("|---:" * (len(ways) + 2) + "|")
    for gpus in GPUS:
        hours = statistics.mean(one_queue(races, gpus) for races in sweeps) / 3600
        cells = [efficiency(gpus, makespan) for makespan in ways.values()]
        print(f"| {gpus} | {hours:.2f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
