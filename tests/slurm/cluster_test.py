#!/usr/bin/env python3
"""Sweeps on a real Slurm whose nodes, tasks and controller are killed at random moments.

cluster_test.py FAKE_TUNE [--seed N] [--keep]

Exits with 77, and the reason, where Slurm is not installed or does not start.
"""

import argparse
import json
import os
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time

import cluster
from cluster import wait_for

SHAPES = 200
SHARDS = 40
POISON = "96x96x96"
# Its task aborts there, so the sweep of 200 shapes has one more.
CONFIGS = ",".join(f"bm128.bn{n}.bk64.q4.c1x1.coop2.d1.linear.tma.persist" for n in (64, 128, 256))


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def contents(database):
    """What a database says, apart from where and when: {(shape, regime, label): {(status, times)}}."""
    found = {}
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        rows = db.execute(
            "SELECT problem.key, regime, label, status, group_concat(time_us) FROM trial "
            "JOIN race ON race.id = race_id JOIN problem ON problem.id = problem_id "
            "JOIN candidate ON candidate.id = candidate_id LEFT JOIN sample ON trial_id = trial.id "
            "GROUP BY trial.id")
        for shape, regime, label, status, times in rows:
            distinct = tuple(sorted(set((times or "").split(","))))
            found.setdefault((shape, regime, label), set()).add((status, distinct))
    db.close()
    return found


def races_of(run):
    """Race -> number of published files."""
    counts = {}
    for path in (run / "results").glob("*.db"):
        race = path.name.split("-", 1)[1].rpartition("-")[0]
        counts[race] = counts.get(race, 0) + 1
    return counts


class Test:
    def __init__(self, program, seed):
        self.program = program
        self.random = random.Random(seed)
        self.slurm = cluster.Cluster()
        self.folder = self.slurm.folder / "work"
        self.one = self.slurm.local / "one.db"
        self.events = {}

    def run(self, *arguments, code=0, **variables):
        environment = dict(self.slurm.environment, COLUMNS="120", **variables)
        done = subprocess.run([str(self.program), *map(str, arguments)], cwd=self.folder, text=True,
                              env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=200,
                              check=False)
        if code is not None and done.returncode != code:
            raise AssertionError(f"{' '.join(map(str, arguments))} exits with {done.returncode}: "
                                 f"{done.stdout[-1500:]}{done.stderr[-1500:]}")
        return done

    def best(self, database):
        rows = json.loads(self.run("best", "--db", database, "--format", "json").stdout)
        return sorted((row["problem"], row["label"], row["time_us"], row["ratio_cublas"],
                       row["ratio_cublaslt"], tuple(row["ties"])) for row in rows)

    def write_shapes(self, name, sizes, more=()):
        lines = [f"  - {{m: {m}, n: 256, k: 512, tag: t{m}}}" for m in sizes]
        lines += [f"  - {shape}" for shape in more]
        (self.folder / name).write_text("shapes:\n" + "\n".join(lines) + "\n")

    def shard_minutes(self, shapes, shards):
        """What gives so many shards; and a dry run makes and submits nothing."""
        before = sorted(self.folder.iterdir())
        text = self.run("--shapes", shapes, "--config", CONFIGS, "--executor", "slurm", "--dry-run",
                        "--shard-minutes", 1000, "--partition", "gpu", PATH="/nonexistent").stdout
        check(sorted(self.folder.iterdir()) == before, "a dry run wrote something")
        check("sbatch --parsable --array=1" in text and "#SBATCH --partition=gpu" in text, text)
        match = re.search(r"about ([\d.e+-]+) GPU hours", text)
        return float(match[1]) * 60 / (shards - 0.5)

    def submit(self, shapes, run, shards, *more, **variables):
        minutes = self.shard_minutes(shapes, shards)
        self.run("--shapes", shapes, "--config", CONFIGS, "--seed", 1, "--db", f"{run}.db", "--executor",
                 "slurm", "--run", run, "--shard-minutes", minutes, "--no-follow", *more, **variables)
        return self.folder / run

    def note(self, event):
        self.events[event] = self.events.get(event, 0) + 1

    # ---- The sweep with faults ----

    def unfinished(self, run, total):
        done = len(races_of(run)) + len(list((run / "set-aside").glob("*.json")))
        return total - done

    def races_in_hand(self, run, attempt):
        return {path.name.rpartition("@")[0] for path in run.glob(f"attempts/*/*@{attempt}")}

    def kill_task(self, run, struck):
        """A task of its own, not twice at one race: that would be the race's fault."""
        tasks = list(self.slurm.tasks_at_work().items())
        self.random.shuffle(tasks)
        for pid, attempt in tasks:
            races = self.races_in_hand(run, attempt)
            if not races or races & struck or f"{POISON}-sustained" in races:
                continue
            cluster.kill(pid)
            # The race may have ended before the kill, and the next one begun.
            struck |= races | self.races_in_hand(run, attempt)
            self.note("tasks killed")
            return True
        return False

    def faults(self, run):
        """Functions, in random order, of which each does harm once."""
        struck = set()
        slurm = self.slurm

        def lose_node(node, returns_at_once):
            def act():
                if not slurm.on_node(node)[0]:
                    return False
                slurm.kill_node(node)
                self.note("nodes lost")
                if returns_at_once:
                    slurm.start_node(node)
                else:
                    dead.append(node)
                return True
            return act

        def update(node, state, noted):
            """Down: its tasks are requeued. Drain: they end, and no others begin until heal()."""
            def act():
                if not slurm.on_node(node)[0]:
                    return False
                slurm.ask("scontrol", "update", f"nodename={node}", f"state={state}", "reason=test")
                self.note(noted)
                return True
            return act

        def requeue():
            running = [task for task in slurm.running() if task[1] != "N/A"]
            if not running:
                return False
            job, index, *_ = self.random.choice(running)
            if slurm.ask("scontrol", "requeue", f"{job}_{index}").returncode == 0:
                self.note("tasks requeued")
            return True

        def reach_limit():
            """What Slurm sends before the time limit."""
            running = [task for task in slurm.running() if task[1] != "N/A"]
            if not running:
                return False
            job, index, *_ = self.random.choice(running)
            slurm.ask("scancel", "--batch", "--signal=USR2", f"{job}_{index}")
            self.note("limits reached")
            return True

        def kill():
            return self.kill_task(run, struck)

        def restart():
            slurm.stop_controller()
            slurm.start_controller()
            self.note("controllers restarted")
            return True

        dead = []
        nodes = list(cluster.NODES)
        self.random.shuffle(nodes)
        # The one that stays away comes first: it takes Slurm half a minute to believe it.
        first = lose_node(nodes[0], False)
        others = [lose_node(nodes[1], True), update(nodes[2], "down", "nodes set down"),
                  update(nodes[2], "drain", "nodes drained"), requeue, requeue, kill, kill, kill, restart,
                  reach_limit]
        self.random.shuffle(others)
        return [first, *others], dead

    def harm(self, run, total):
        """Does harm until all of it is done, and waits until the sweep is complete."""
        acts, dead = self.faults(run)
        patience = time.monotonic() + 180
        next_act = time.monotonic() + 0.5
        while self.unfinished(run, total) > 0:
            check(time.monotonic() < patience, f"{self.unfinished(run, total)} of {total} races are missing:\n"
                  + self.run("slurm", "status", run).stdout + str(self.slurm.queue()) + str(self.slurm.nodes()))
            if acts and time.monotonic() > next_act:
                act = acts.pop(0)
                if not act():
                    acts.insert(1, act)  # not now
                next_act = time.monotonic() + self.random.uniform(0.1, 0.8)
            states = self.slurm.nodes()
            for node in list(dead):
                if states.get(node, "").startswith("down"):
                    self.slurm.start_node(node)
                    dead.remove(node)
            self.heal(states)
            time.sleep(0.2)
        return dead

    def heal(self, states):
        """What an admin does: drained nodes come back; and after a controller lost the state of a job
        that it had just started, the job is released."""
        for node, state in states.items():
            if state.startswith("drain"):
                self.slurm.ask("scontrol", "update", f"nodename={node}", "state=resume")
        for job, index, state, reason in self.slurm.queue():
            if state == "PENDING" and "held" in reason.lower():
                self.slurm.ask("scontrol", "release", job if index == "N/A" else f"{job}_{index}")

    def sweep_with_faults(self):
        sizes = [64 + 16 * i for i in range(SHAPES)]
        self.write_shapes("all.yaml", sizes)
        self.write_shapes("poisoned.yaml", sizes, [POISON])
        self.run("--shapes", "all.yaml", "--config", CONFIGS, "--seed", 1, "--db", self.one)
        begin = time.monotonic()
        run = self.submit("poisoned.yaml", "faults.sweep", SHARDS, "--gpus-per-node", 1,
                          HGEMM_FAKE_STEP_MS="8", HGEMM_FAKE_POISON=POISON)
        dead = self.harm(run, SHAPES + 1)
        self.events["races"] = SHAPES
        self.events["seconds"] = round(time.monotonic() - begin)
        for node in dead:
            self.slurm.start_node(node)

        done = self.run("slurm", "merge", run, code=1)  # one race is set aside
        check(f"{POISON}-sustained" in done.stderr, done.stderr)
        aside = [path.stem for path in (run / "set-aside").glob("*.json")]
        check(aside == [f"{POISON}-sustained"], f"set aside: {aside}")
        counts = races_of(run)
        check(len(counts) == SHAPES, f"{len(counts)} races")
        twice = {race: count for race, count in counts.items() if count > 1}
        lost = self.events.get("nodes lost", 0) * 2
        check(len(twice) <= lost, f"published twice: {twice}, with {lost} attempts lost")
        expected = contents(self.one)
        found = contents(run / "table.db")
        check(found == expected, f"{len(found)} trials differ from the {len(expected)} of one machine")
        check(self.best(run / "table.db") == self.best(self.one), "the best tables differ")
        status = self.run("slurm", "status", run).stdout
        check(f"{SHAPES} of {SHAPES + 1} done" in status and "1 set aside" in status, status)
        # To merge again changes nothing.
        check(self.run("slurm", "merge", run, code=1).stdout == done.stdout, "a second merge differs")

    # ---- Cancel and resume ----

    def cancel_and_resume(self):
        wait_for("all nodes are up",
                 lambda: all(state in ("idle", "mix", "alloc", "comp") for state in self.slurm.nodes().values())
                 or self.heal(self.slurm.nodes()))
        sizes = [64 + 16 * i for i in range(30)]
        self.write_shapes("small.yaml", sizes)
        run = self.submit("small.yaml", "cancel.sweep", 10, "--gpus-per-node", 2, "--array-limit", 2,
                          "--compile-partition", "cpu", HGEMM_FAKE_STEP_MS="4")
        wait_for("some races are done", lambda: len(races_of(run)) >= 3)
        self.leave_alone(run)
        self.run("slurm", "cancel", run)
        jobs = {job["id"] for job in json.loads((run / "jobs.json").read_text())}
        wait_for("no job is left", lambda: not [task for task in self.slurm.queue() if task[0] in jobs])
        cancelled = races_of(run)
        check(3 <= len(cancelled) < 30, f"{len(cancelled)} races before the cancel")
        again = self.run("--shapes", "small.yaml", "--executor", "slurm", "--run", "cancel.sweep", code=2)
        check("slurm resume" in again.stderr, again.stderr)
        done = self.run("slurm", "resume", run, "--follow", HGEMM_FAKE_STEP_MS="4")
        counts = races_of(run)
        check(len(counts) == 30 and set(counts.values()) == {1}, f"{counts}")
        check("measured" not in done.stderr, done.stderr)
        expected = {key: value for key, value in contents(self.one).items()
                    if int(key[0].split("x")[0]) in sizes}
        check(contents(self.folder / "cancel.sweep.db") == expected, "the resumed sweep differs")
        more = self.run("slurm", "resume", run)
        check("every race is done" in more.stderr, more.stderr)

    def leave_alone(self, run):
        """Ctrl-C ends the display and nothing else."""
        follower = subprocess.Popen([str(self.program), "slurm", "status", str(run), "--follow"],
                                    cwd=self.folder, env=self.slurm.environment, text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE)
        line = follower.stderr.readline()
        check("races done" in line, line)
        follower.send_signal(signal.SIGINT)
        _, said = follower.communicate(timeout=60)
        check(follower.returncode == 130 and "the run goes on" in said, f"{follower.returncode}: {said}")

    def errors(self):
        done = self.run("--shapes", "small.yaml", "--config", CONFIGS, "--executor", "slurm", "--run", "e1",
                        "--partition", "nosuch", code=1)
        check("nosuch" in done.stderr and "sinfo" in done.stderr and "slurm resume" in done.stderr, done.stderr)
        done = self.run("--shapes", "small.yaml", "--config", CONFIGS, "--executor", "slurm", "--run", "e2",
                        code=1, PATH="/nonexistent")
        check("login node" in done.stderr and not (self.folder / "e2").exists(), done.stderr)

    def all(self):
        self.slurm.start()
        self.folder.mkdir()
        for part in (self.sweep_with_faults, self.cancel_and_resume, self.errors):
            begin = time.monotonic()
            part()
            print(f"{part.__name__}: {time.monotonic() - begin:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true", help="keep the folder of the cluster")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    begin = time.monotonic()
    test, failed = None, True
    try:
        test = Test(options.program.resolve(), seed)
        test.all()
        failed = False
    except cluster.Unavailable as why:
        print(f"skipped: {why}")
        return 77
    finally:
        if test is not None:
            test.slurm.stop(keep=options.keep or (failed and "CI" not in os.environ))
            if failed:
                print(f"events: {test.events}; the folder: {test.slurm.folder}")
    print(f"{test.events}; all in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
