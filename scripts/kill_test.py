#!/usr/bin/env python3
"""Kills the program at random moments, and checks the files and processes that remain.

    scripts/kill_test.py [--count 500] [--seed N] [--build build] [--only tune,merge,...]

Each kill ends one process by SIGKILL between its start and the time that it takes undisturbed.
Then:
  tune     the database opens, SQLite finds it intact, and it has everything that was reported as
           committed; the same tune again does the rest, and has nothing twice
  merge    the same; the target has its old contents, or all of the merge
  export   the folder has the old package or the new one, each file complete; after another export
           it has the new one and nothing else
  report   like export
  compile  no child process outlives the program; after another run with the same cache, every
           cubin is the same as from an empty cache
Exit code 1 if any check failed; the files of that run are kept then.

tune and compile run in build/tests/kill/kill_subject (a fake GPU, a fake compiler), the rest in the
program itself. No GPU is needed.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of ten kills; report takes seconds each.
SHARES = ["tune"] * 4 + ["merge"] * 2 + ["export"] * 2 + ["compile"] * 2


class Found(Exception):
    """A check that failed."""


def check(holds, what):
    if not holds:
        raise Found(what)


def run(command, **keywords):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **keywords)
    if done.returncode != 0:
        raise Found(f"exit code {done.returncode} of {' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def content_of(folder):
    """Every file below the folder, by its path; None if there is no such folder."""
    if not folder.exists():
        return None
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def processes_with(word):
    """Process ids whose command line holds the word."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        except OSError:
            pass  # it has ended
    return found


class Scenario:
    """One kind of run: prepared once, then killed again and again, each time in a fresh folder."""

    def __init__(self, programs, folder, randomness):
        self.program, self.subject, self.results = programs
        self.folder = folder
        self.random = randomness
        folder.mkdir()
        self.prepare()
        began = time.monotonic()
        self.seconds = 0
        place = self.fresh("undisturbed")
        run(self.command(place))
        self.seconds = time.monotonic() - began
        self.complete(place)
        shutil.rmtree(place)

    def fresh(self, name):
        place = self.folder / name
        place.mkdir()
        self.lay_out(place)
        return place

    def kill_once(self, number):
        place = self.fresh(str(number))
        delay = self.random.uniform(0, 1.05 * self.seconds)
        with open(place / "said", "wb") as said, open(place / "errors", "wb") as errors:
            process = subprocess.Popen([str(word) for word in self.command(place)],
                                       stdout=said, stderr=errors)
            try:
                process.wait(delay)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            killed = process.wait() == -signal.SIGKILL
        try:
            check(killed or process.returncode == 0,
                  f"exit code {process.returncode}: {(place / 'errors').read_text()}")
            self.look(place, (place / "said").read_text(errors="replace"), killed)
            run(self.command(place))
            self.complete(place)
        except Found as found:
            raise Found(f"{type(self).__name__} killed after {delay:.4f} s of {self.seconds:.4f} s, "
                        f"in {place}: {found}") from found
        shutil.rmtree(place)
        return killed

    # What a kind of run says of itself.
    def prepare(self):
        pass

    def lay_out(self, place):
        pass

    def command(self, place):
        raise NotImplementedError

    def look(self, place, said, killed):
        raise NotImplementedError

    def complete(self, place):
        raise NotImplementedError

    # Databases.
    def trials(self, database):
        """{(race, label): (samples, what was found)}"""
        lines = run([self.subject, "dump", database]).splitlines()
        check(lines and lines[-1] == "intact", "SQLite finds the database damaged")
        found = {}
        for line in lines[:-1]:
            _, race, label, samples, *rest = line.split(" ")
            check((race, label) not in found, f"{label} twice in one race")
            found[race, label] = (int(samples), tuple(rest))
        return found


class Tune(Scenario):
    def prepare(self):
        self.expected = None

    def command(self, place):
        return [self.subject, "tune", place / "tune.db"]

    def look(self, place, said, killed):
        whole_lines = [line.split(" ") for line in said.split("\n")[:-1]]
        database = place / "tune.db"
        trials = {}
        if database.exists() and database.stat().st_size > 0:
            # A kill during creation may leave an empty file, which counts as a new database.
            try:
                trials = self.trials(database)
            except Found:
                if database.stat().st_size > 0 or whole_lines:
                    raise
        for _, race, label, samples in whole_lines:
            check((race, label) in trials, f"the committed trial of {label} is lost")
            check(trials[race, label][0] >= int(samples), f"committed samples of {label} are lost")

    def complete(self, place):
        ended = {}
        for (_, label), (_, (problem, regime, status)) in self.trials(place / "tune.db").items():
            if label.startswith("cublas"):
                continue  # measured again beside what is missing
            check((problem, regime, label) not in ended, f"{label} was measured twice at {problem}")
            ended[problem, regime, label] = status
        if self.expected is None:
            self.expected = ended
        check(ended == self.expected, "tuning on does not end as tuning at once does")


class Merge(Scenario):
    def prepare(self):
        for name in ("old.db", "new.db"):
            run([self.subject, "tune", self.folder / name])
        self.old = self.trials(self.folder / "old.db")
        self.new = self.old | self.trials(self.folder / "new.db")
        check(len(self.new) > len(self.old), "there is nothing to merge")

    def lay_out(self, place):
        shutil.copy(self.folder / "old.db", place / "merged.db")

    def command(self, place):
        return [self.program, "merge", self.folder / "new.db", "-o", place / "merged.db"]

    def look(self, place, said, killed):
        check(self.trials(place / "merged.db") in (self.old, self.new), "half of a merge")

    def complete(self, place):
        check(self.trials(place / "merged.db") == self.new, "the merge is not complete")


class Export(Scenario):
    """A package of the shipped results over an older one of the same files."""

    def arguments(self, which):
        return ["export", "--recorded", "--format", "cpp", "--shapes", "llama7b-prefill.yaml",
                "--regime", "burst" if which == "old" else "sustained"]

    def write(self, which, folder):
        run([self.program, *self.arguments(which), "-o", folder])

    def content(self, folder):
        return content_of(folder)

    def prepare(self):
        self.known = {}
        for which in ("old", "new"):
            self.write(which, self.folder / which)
            self.known[which] = self.content(self.folder / which)
        check(self.known["old"] != self.known["new"], "both are the same")
        self.same_files = self.known["old"].keys() == self.known["new"].keys()

    def lay_out(self, place):
        shutil.copytree(self.folder / "old", place / "out")

    def command(self, place):
        return [self.program, *self.arguments("new"), "-o", place / "out"]

    def look(self, place, said, killed):
        content = self.content(place / "out")
        check(content is not None, "the folder is gone")
        check(self.same_files, "old and new have other files: nothing can be said of the whole")
        for name, text in content.items():
            check(text in (self.known["old"].get(name), self.known["new"].get(name)),
                  f"{name} is neither old nor new")
        check(content in self.known.values(), "a part of the files is old and a part is new")

    def complete(self, place):
        check(self.content(place / "out") == self.known["new"], "what is written again is not complete")
        beside = {path.name for path in place.iterdir()} - {"out", "said", "errors"}
        check(not beside, f"left beside it: {beside}")


class Report(Export):
    def arguments(self, which):
        return ["report", "--db", self.results / ("sms.db" if which == "old" else "hundred.db")]

    def content(self, folder):
        """Without what is of one run: when it was, and the folder in its command line."""
        content = content_of(folder)
        own = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|"
                         + re.escape(str(self.folder).encode()) + rb"[\w./]*")
        return content and {name: own.sub(b"", text) for name, text in content.items()}


class Compile(Scenario):
    def prepare(self):
        self.reference = sorted(run([self.subject, "compile", self.folder / "reference"]).splitlines())
        check(self.reference, "nothing is compiled")

    def command(self, place):
        return [self.subject, "compile", place / "cache"]

    def look(self, place, said, killed):
        for line in said.split("\n")[:-1]:
            check(line in self.reference, f"a wrong cubin: {line}")
        patience = time.monotonic() + 30
        while processes_with(str(place)):  # they are killed with their parent
            check(time.monotonic() < patience, "a child process lives on")
            time.sleep(0.01)

    def complete(self, place):
        again = sorted(run(self.command(place)).splitlines())
        check(again == self.reference, "the cache gives another cubin")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--only", help="kinds, with commas; report is killed only if named, or by 500")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    programs = (options.build / "hgemm-tune", options.build / "tests/kill/kill_subject",
                options.build / "share/hgemm-tune/results/h200")
    for program in programs:
        if not program.exists():
            sys.exit(f"there is no {program}: build the targets hgemm-tune, kill_subject and share")

    kinds = options.only.split(",") if options.only else list(SHARES)
    sequence = [kinds[i % len(kinds)] for i in range(options.count)]
    if not options.only and options.count >= 500:
        sequence[::50] = ["report"] * len(sequence[::50])
    known = {"tune": Tune, "merge": Merge, "export": Export, "report": Report, "compile": Compile}
    for kind in set(sequence):
        if kind not in known:
            sys.exit(f"there is no kind {kind}: {', '.join(known)}")
    randomness = random.Random(seed)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hgemm_kill.", dir=memory))
    scenarios, counts, failures = {}, {}, []
    for number, kind in enumerate(sequence):
        try:
            if kind not in scenarios:
                scenarios[kind] = known[kind](programs, folder / kind, randomness)
            killed = scenarios[kind].kill_once(number)
            total, in_time = counts.get(kind, (0, 0))
            counts[kind] = (total + 1, in_time + killed)
        except Found as found:
            failures.append(str(found))
            print(f"FAILED (seed {seed}, kill {number}): {found}", flush=True)
            if kind not in scenarios:
                break  # it does not work at all
    for kind, (total, in_time) in sorted(counts.items()):
        print(f"{kind}: {total} runs good, {in_time} of them killed before they had ended")
    if failures:
        print(f"{len(failures)} of {len(sequence)} failed; kept: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
