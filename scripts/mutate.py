#!/usr/bin/env python3
"""Plants faults in the sources, one at a time, and lists those that no test notices.

    scripts/mutate.py [PATH...] [--count 40] [--seed N] [--again] [--jobs N] [--work build-mutate]

PATH is a file or a folder of TESTED below (default: all of them). From all single-line faults that
the operators can plant there, --count are chosen by --seed (0: all). Each is planted in a copy of
the tree in --work, the test executables of its folder are built again, and run until one fails:

  killed        a test failed, or crashed
  timed out     a test took ten times as long as without the fault: noticed, too
  survived      none noticed: a missing test, or code that does the same (read the list)
  not compiled  the compiler refused it: says nothing

Results are appended to WORK/results.jsonl, and a fault in that file is not planted again, so the
same command continues where it stopped. WORK/report.md lists the survivors with their change.
Exit code 0; 1 if the tests fail without any fault.
"""

import argparse
import contextlib
import difflib
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What is mutated, and the tests that must notice: folders of tests/, or single tests.
TESTED = {
    "src/store": ["tests/store"],
    "src/search": ["tests/search"],
    "src/worker": ["tests/worker"],
    "src/base": ["tests/base", "tests/search/referee_test.cpp"],
    "src/base/statistics.cpp": ["tests/base/statistics_test.cpp", "tests/search/referee_test.cpp"],
    "src/results": ["tests/results"],
    "src/results/best.cpp": ["tests/results/best_test.cpp", "tests/results/contest_test.cpp",
                             "tests/output/best_table_test.cpp",
                             "tests/results/recorded_best_test.cpp"],
    "src/output/export/fallback.h": ["tests/output/export/fallback_test.cpp"],
    "src/gemm": ["tests/gemm"],
    "src/record": ["tests/record"],
    "src/tune": ["tests/tune"],
    "kernels/common/extents.h": ["tests/kernels/rules_test.cpp"],
    "kernels/tiled/rules.h": ["tests/kernels/rules_test.cpp", "tests/kernels/config_test.cpp"],
    "kernels/swap_ab/rules.h": ["tests/kernels/rules_test.cpp", "tests/kernels/config_test.cpp"],
    "kernels/gemv/rules.h": ["tests/kernels/rules_test.cpp", "tests/kernels/config_test.cpp"],
}

# Headers that all sources include, and whose tests call them: only the tests are built again.
ALONE = ("kernels/",)

# Operators: what is found in code (binary operators stand between spaces), and what it becomes.
SWAPS = [
    ("boundary", r" < ", " <= "), ("boundary", r" <= ", " < "),
    ("boundary", r" > ", " >= "), ("boundary", r" >= ", " > "),
    ("equality", r" == ", " != "), ("equality", r" != ", " == "),
    ("logic", r" && ", " || "), ("logic", r" \|\| ", " && "),
    ("arithmetic", r" \+ ", " - "), ("arithmetic", r" - ", " + "),
    ("arithmetic", r" \* ", " / "), ("arithmetic", r" / ", " * "), ("arithmetic", r" % ", " * "),
    ("arithmetic", r" \+= ", " -= "), ("arithmetic", r" -= ", " += "),
    ("step", r"\+\+", "--"), ("step", r"(?<!-)--(?!-)", "++"),
    ("return", r"\breturn true;", "return false;"), ("return", r"\breturn false;", "return true;"),
    ("extreme", r"\bstd::min\b", "std::max"), ("extreme", r"\bstd::max\b", "std::min"),
    ("extreme", r"\bmin_element\b", "max_element"), ("extreme", r"\bmax_element\b", "min_element"),
]
NUMBER = re.compile(r"(?<![\w.])(\d+(?:'\d+)*(?:\.\d+)?)(?![\w.'])")
CONDITION = re.compile(r"^(\s*(?:\} else )?(?:if|while) \()([^;]+)(\)(?: \{| return\b.*;| continue;| break;| throw\b.*)?)$")
STATEMENT = re.compile(r"^\s*(?!return\b|throw\b|break\b|continue\b|using\b|if\b|for\b|while\b|else\b|"
                       r"case\b|default\b|static\b|const\b|auto\b|struct\b|class\b|template\b|"
                       r"namespace\b|public\b|private\b|enum\b|typedef\b|do\b|goto\b)"
                       r"[a-z_*(][\w.:>()\[\]*-]*(?:\(.*\)| [+*/|&-]?= .*|\+\+|--);$")
RETURN = re.compile(r"^(\s*return )(?!true;|false;|\{\};)([^;]+);$")


def masked(text):
    """The text with comments, strings and characters replaced by blanks of the same length."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])\'',
                         re.DOTALL)
    return pattern.sub(lambda m: re.sub(r"[^\n]", "\x01", m.group()), text)


def mutants_of_line(line, code, before):
    """(operator, new line) of every fault in a line; `code` is the line masked."""
    if not code.strip() or code.lstrip().startswith("#") or "static_assert" in code:
        return
    for operator, pattern, replacement in SWAPS:
        for match in re.finditer(pattern, code):
            yield operator, line[:match.start()] + replacement + line[match.end():]
    for match in NUMBER.finditer(code):
        text = match.group(1)
        value = float(text) if "." in text else int(text.replace("'", ""))
        for other in ([value + 1, value - 1, value * 10] if value not in (0, 1) else [1 - value]):
            if isinstance(value, int) and other < 0:
                continue
            yield "constant", line[:match.start()] + repr(other) + line[match.end():]
    if condition := CONDITION.match(code):
        begin, end = condition.span(2)
        inner = code[begin:end]
        if inner.count("(") == inner.count(")") and " = " not in inner:
            yield "negate", line[:begin] + "!(" + line[begin:end] + ")" + line[end:]
    starts = before.rstrip().endswith((";", "{", "}", ":")) or not before.strip()
    if starts and STATEMENT.match(code) and code.count("(") == code.count(")"):
        yield "delete", re.match(r"\s*", line).group() + ";"
    if starts and RETURN.match(code) and code.count("(") == code.count(")"):
        yield "return", RETURN.sub(r"\1{};", code)


def mutants_of(path):
    """Every fault that can be planted in a file, as a dictionary."""
    text = (ROOT / path).read_text()
    lines, codes = text.split("\n"), masked(text).split("\n")
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    before = ""
    found = []
    for number, (line, code) in enumerate(zip(lines, codes), 1):
        visible = code.replace("\x01", " ").rstrip()
        code = code.rstrip("\x01 ") if "//" in line else code
        for operator, new in mutants_of_line(line, code.ljust(len(line), " ") if "//" in line else code, before):
            if new != line:
                found.append({"file": path, "sources": digest, "line": number, "operator": operator,
                              "old": line, "new": new})
        if visible.strip():
            before = visible
    return found


def key_of(mutant):
    return json.dumps([mutant[name] for name in ("file", "sources", "line", "new")])


def files_of(path):
    if (ROOT / path).is_file():
        return [path]
    return sorted(str(file.relative_to(ROOT)) for file in (ROOT / path).rglob("*")
                  if file.suffix in (".cpp", ".h"))


@functools.cache  # the tree may be edited meanwhile
def tests_of(path):
    """Stems of the tests that must notice a fault in a file: by its longest known prefix."""
    for parent in [path, *map(str, pathlib.PurePath(path).parents)]:
        if parent in TESTED:
            stems = []
            for entry in TESTED[parent]:
                place = ROOT / entry
                files = [place] if place.is_file() else sorted(place.glob("*_test.cpp"))
                stems += [file.stem for file in files]
            return stems
    sys.exit(f"{path}: no tests are named for it in TESTED (scripts/mutate.py)")


class Tree:
    """A copy of the tree with a build folder, in which one file at a time is changed."""

    def __init__(self, work, jobs):
        self.tree, self.build, self.jobs = work / "tree", work / "tree/build", jobs
        self.seconds = {}
        self.noticed = {}  # by test, and by file and test: how many faults it was the first to notice
        memory = pathlib.Path("/dev/shm")  # tests that write wait for disks most of their time
        self.folder = tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)
        self.scratch = pathlib.Path(self.folder.name)
        self.scratch.chmod(0o755)  # some tests go on as another user

    def set_up(self):
        """Copies the files that git knows (in their current state), and configures.

        The build folder is in the tree, as in a checkout, and has test.sh's flags, so that ccache
        has most of it.
        """
        names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                               cwd=ROOT, check=True, capture_output=True, text=True).stdout
        wanted = {name for name in names.split("\0") if name and (ROOT / name).is_file()}
        for name in wanted:
            self.write(name, (ROOT / name).read_bytes())
        for place in self.tree.iterdir():
            for file in [] if place == self.build else [place, *place.rglob("*")]:
                if file.is_file() and str(file.relative_to(self.tree)) not in wanted:
                    file.unlink()
        if not (self.build / "build.ninja").exists():
            launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", "-DCMAKE_CUDA_COMPILER_LAUNCHER=ccache"]
            nvcc = shutil.which("nvcc") or os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"),
                                                        "bin/nvcc")
            subprocess.run(["cmake", "-G", "Ninja", "-S", self.tree, "-B", self.build,
                            "-DBUILD_TESTING=ON", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON",
                            "-DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST",
                            f"-DCMAKE_CUDA_COMPILER={nvcc}",
                            *(launcher if shutil.which("ccache") else [])],
                           check=True, stdout=subprocess.DEVNULL)

    def write(self, name, content):
        """Writes only if the text differs, because ninja goes by the times of files."""
        file = self.tree / name
        if file.exists() and file.read_bytes() == content:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(file, ignore_errors=True)
        file.write_bytes(content)
        if (ROOT / name).exists():
            shutil.copymode(ROOT / name, file)

    def compile(self, stems):
        done = subprocess.run(["ninja", "-C", str(self.build), f"-j{self.jobs}", *stems],
                              capture_output=True, text=True)
        return done.returncode == 0, done.stdout

    def run(self, stem, limit):
        """"passed", "failed" or "timed out"."""
        began = time.monotonic()
        child = subprocess.Popen([self.build / "tests" / stem, "--gtest_brief=1", "--gtest_fail_fast"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.build / "tests",
                                 env={**os.environ, "TMPDIR": str(self.scratch)}, start_new_session=True)
        try:
            code = child.wait(limit)
        except subprocess.TimeoutExpired:
            return "timed out"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # what it started, too
            child.wait()
            for left in self.scratch.iterdir():
                shutil.rmtree(left, ignore_errors=True)
        self.seconds.setdefault(stem, time.monotonic() - began)
        return "passed" if code == 0 else "failed"

    def compile_alone(self, stem):
        """Only the test itself, with the library as it was."""
        commands = subprocess.run(["ninja", "-C", str(self.build), "-t", "commands", f"tests/{stem}"],
                                  check=True, capture_output=True, text=True).stdout.splitlines()
        mine = [command for command in commands
                if f" -o tests/CMakeFiles/{stem}.dir/" in command or f" -o tests/{stem} " in command]
        return subprocess.run(" && ".join(mine), shell=True, cwd=self.build, capture_output=True).returncode == 0

    def forget_alone(self, stem):
        """What compile_alone() wrote: ninja does not know what it was made from."""
        (self.build / "tests" / stem).unlink(missing_ok=True)
        for file in (self.build / f"tests/CMakeFiles/{stem}.dir").rglob("*.o"):
            file.unlink()

    def judge(self, mutant):
        """The tests one by one, those first that noticed most so far: most faults need only one."""
        stems = sorted(tests_of(mutant["file"]),
                       key=lambda stem: (-self.noticed.get((mutant["file"], stem), 0),
                                         -self.noticed.get(stem, 0), self.seconds.get(stem, 6)))
        alone = mutant["file"].startswith(ALONE)
        file = self.tree / mutant["file"]
        original, times = file.read_bytes(), file.stat()
        lines = original.decode().split("\n")
        lines[mutant["line"] - 1] = mutant["new"]
        self.write(mutant["file"], "\n".join(lines).encode())
        try:
            for number, stem in enumerate(stems):
                if alone:
                    compiled = self.compile_alone(stem)
                elif number < 2:  # the first; then all others at once
                    compiled, _ = self.compile(stems[number:number + 1] if number == 0 else stems[1:])
                if not compiled:
                    return "not compiled", ""
                outcome = self.run(stem, max(20, 10 * self.seconds.get(stem, 6)))
                if outcome != "passed":
                    self.count(mutant["file"], stem)
                    return ("killed" if outcome == "failed" else outcome), stem
            return "survived", ""
        finally:
            self.write(mutant["file"], original)
            if alone:
                os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
                for stem in stems:
                    self.forget_alone(stem)

    def count(self, file, stem):
        for key in ((file, stem), stem):
            self.noticed[key] = self.noticed.get(key, 0) + 1


def report(results, path):
    counts = {}
    for result in results:
        counts[result["outcome"]] = counts.get(result["outcome"], 0) + 1
    noticed = counts.get("killed", 0) + counts.get("timed out", 0)
    judged = noticed + counts.get("survived", 0)
    lines = ["# Planted faults", "", "| outcome | faults |", "|---|---:|"]
    lines += [f"| {outcome} | {count} |" for outcome, count in sorted(counts.items())]
    lines += ["", f"Noticed: {noticed} of {judged} that compile"
                  + (f" ({100 * noticed / judged:.0f} %)." if judged else "."), ""]
    by_file = {}
    for result in results:
        by_file.setdefault(result["file"], []).append(result["outcome"])
    lines += ["| file | noticed | survived |", "|---|---:|---:|"]
    for file, outcomes in sorted(by_file.items()):
        survived = outcomes.count("survived")
        lines.append(f"| {file} | {len(outcomes) - survived - outcomes.count('not compiled')} | {survived} |")
    lines += ["", "## Survivors", ""]
    for result in sorted(results, key=lambda r: (r["file"], r["line"])):
        if result["outcome"] == "survived":
            change = list(difflib.ndiff([result["old"].strip()], [result["new"].strip()]))
            lines += [f"{result['file']}:{result['line']} ({result['operator']})", "```diff",
                      *[row.rstrip() for row in change if row[0] in "+-"], "```", ""]
    path.write_text("\n".join(lines))
    return lines[4:7 + len(counts)], judged - noticed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--count", type=int, default=40, help="how many faults; 0: all that there are")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build-mutate")
    parser.add_argument("--again", action="store_true",
                        help="plant those again that survived: there are new tests")
    parser.add_argument("--list", action="store_true", help="only say how many faults there are")
    options = parser.parse_args()

    files = sorted({file for path in (options.paths or TESTED) for file in files_of(path.rstrip("/"))})
    mutants = [mutant for file in files for mutant in mutants_of(file)]
    if options.list:
        for file in files:
            print(f"{sum(m['file'] == file for m in mutants):5} {file}")
        print(f"{len(mutants):5} in all")
        return 0
    # An order that one edited line does not change for the others.
    mutants.sort(key=lambda mutant: hashlib.sha256(
        json.dumps([options.seed, mutant["file"], mutant["old"], mutant["new"]]).encode()).digest())
    chosen = mutants[:options.count] if options.count else mutants

    options.work.mkdir(parents=True, exist_ok=True)
    log = options.work / "results.jsonl"
    known = {}
    if log.exists():
        for line in log.read_text().splitlines():
            result = json.loads(line)
            known[key_of(result)] = result
    if options.again:
        known = {key: result for key, result in known.items() if result["outcome"] != "survived"}
    missing = [mutant for mutant in chosen if key_of(mutant) not in known]
    print(f"{len(mutants)} faults can be planted, {len(chosen)} are chosen (seed {options.seed}), "
          f"{len(chosen) - len(missing)} of them known", flush=True)
    if missing:
        tree = Tree(options.work.resolve(), options.jobs)
        tree.set_up()
        stems = sorted({stem for mutant in missing for stem in tests_of(mutant["file"])})
        compiled, output = tree.compile(stems)
        if not compiled:
            print(output, file=sys.stderr)
            return 1
        for stem in stems:
            if tree.run(stem, 600) != "passed":
                print(f"{stem} fails without any fault: mend it first", file=sys.stderr)
                return 1
        for result in known.values():
            if result["by"]:
                tree.count(result["file"], result["by"])
        for number, mutant in enumerate(missing, 1):
            began = time.monotonic()
            outcome, by = tree.judge(mutant)
            known[key_of(mutant)] = {**mutant, "outcome": outcome, "by": by}
            with open(log, "a") as file:
                file.write(json.dumps(known[key_of(mutant)]) + "\n")
            print(f"[{number}/{len(missing)}] {outcome:12} {mutant['file']}:{mutant['line']} "
                  f"{mutant['operator']} {by} ({time.monotonic() - began:.0f} s)", flush=True)
        tree.compile(stems)
        tree.folder.cleanup()
    results = [known[key_of(mutant)] for mutant in chosen]
    summary, survivors = report(results, options.work / "report.md")
    print("\n".join(summary))
    print(f"{survivors} survived: {options.work / 'report.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
