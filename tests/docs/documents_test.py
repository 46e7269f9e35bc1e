"""README, CONTRIBUTING, SECURITY and docs/: every command, path, link and option that they print.

documents_test.py PROGRAM NVCC [unittest's arguments]. docs/README.md has the conventions. Nothing here needs a
GPU: one that is there is hidden from the program.
"""

import ast
import concurrent.futures
import csv
import io
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import markdown

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "analysis"))
import headline  # noqa: E402
PROGRAM = None
NVCC = None

PAGES = [SOURCE / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(
    (SOURCE / "docs").rglob("*.md"))
# Written by the program: what they print is its help, whose options are checked.
REFERENCE = sorted((SOURCE / "docs/reference").glob("*.md"))
# Findings: their links and paths are checked, and what they print is not run again.
FINDINGS = sorted((SOURCE / "analysis").glob("*.md"))

# What the commands of a page find in the folder that they run in.
DATABASES = {
    "hgemm-tune.db": "headline-safe.db",
    "monday.db": "repeat-a.db",
    "tuesday.db": "repeat-b.db",
    "llama.db": "budget-20s.db",
    "square.db": "budget-60s.db",
}
FOLDERS = ("configs", "examples", "results", "scripts")

# How a command says that it needs a GPU; docs/guide.md has the longest form.
NO_GPU = re.compile(r"no Hopper GPU|on a Hopper GPU|no NVIDIA driver|NVIDIA driver .*finds no GPU")

# How a command says that it needs a cluster, or the run folder of a sweep on one.
NO_SLURM = re.compile(r"there is no run.json in it|there is no \w+ on PATH; run this where jobs are submitted")

TOP_FOLDERS = ("analysis|cmake|configs|docs|examples|kernels|package|packaging|python|results|"
               "runtime|scripts|src|tests")
PATH = re.compile(rf"(?<![\w./-])(?:{TOP_FOLDERS})/[\w./*<>+-]*[\w/*>]")
TEST_FILE = re.compile(r"^[a-z]+/(?:[a-z]+/)*\w+_(?:test|fuzz)\.(?:cpp|py)$")
OTHER_TOOLS = {"apt-get", "cpack", "docker", "dpkg", "export", "man", "pip", "podman", "source", "sudo"}


# ---- Without running anything ----


def is_placeholder(path):
    """`x` in a recipe is the name of what is added; so is what stands in angle brackets."""
    return "<" in path or any(re.match(r"x([._].*)?$", part) for part in Path(path).parts)


def missing_paths(page, source=SOURCE):
    """"LINE: PATH" of every path in the text that does not exist."""
    found = []
    for line, text in page.prose:
        for path in PATH.findall(re.sub(r"\]\([^)]*\)", "]", text)):
            if not is_placeholder(path) and not any(source.glob(path.rstrip("/"))):
                found.append(f"{line}: {path}")
    for line, code in page.inline_code():
        if TEST_FILE.match(code) and not is_placeholder(code):
            if not (source / "tests" / code).exists() and not (source / code).exists():
                found.append(f"{line}: tests/{code}")
    return found


def broken_links(page, path):
    """"LINE: TARGET" of every link that leads nowhere: no such file, or no such heading in it."""
    found = []
    for line, target in page.links():
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        aim = (path.parent / file).resolve() if file else path
        if file and not aim.exists():
            found.append(f"{line}: {target}: there is no such file")
        elif anchor and aim.suffix == ".md":
            anchors = page.anchors if aim == path else markdown.Page(aim.read_text()).anchors
            if anchor not in anchors:
                found.append(f"{line}: {target}: there is no such heading")
    return found


def bad_sentences(page):
    return [f"{line}: {start}" for line, start in page.sentences() if start.startswith("Of ")]


class Options:
    """Which options each command of the program has, by its own help."""

    def __init__(self, help_of):
        top = help_of([])
        subcommands = re.search(r"^Subcommands:\n((?:  \S.*\n(?:   .*\n)*)+)", top, re.M)
        self.of = {name: self._in(help_of([name]))
                   for name in re.findall(r"^  ([a-z]\S*)", subcommands[1], re.M)}
        self.of["tune"] = self._in(help_of(["tune"]))  # the default command, which no list names
        self.of[""] = self._in(top)
        self.all = set().union(*self.of.values())

    @staticmethod
    def _in(text):
        return set(re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", text)) | {"--help", "--version"}

    def unknown(self, code):
        """What inline code names that the program does not have: a list of words."""
        words = code.split()
        while words and (words[0].endswith("hgemm-tune") or "=" in words[0]):
            words.pop(0)
        if not words:
            return []
        command = "" if words[0].startswith("-") else words.pop(0)
        options = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
        if command not in self.of:
            return [command]
        known = self.of[command] if command else self.all
        return [option for option in options if option not in known]

    def unknown_in(self, page):
        found = []
        for line, code in page.inline_code():
            first = code.split()[0]
            is_program = re.match(r"(\S*/)?hgemm-tune$", first) and len(code.split()) > 1
            is_command = first in self.of and re.search(r" --?[a-z]", code)
            if is_program or is_command or re.match(r"--[a-z][\w-]*", code):
                found += [f"{line}: {word} in `{code}`" for word in self.unknown(code)]
        return found


# ---- Commands that are not run ----


def presets(kind):
    content = json.loads((SOURCE / "CMakePresets.json").read_text())
    return {preset["name"] for preset in content[kind]}


def why_no_script(path):
    if not path.is_file():
        return "there is no such file"
    if not os.access(path, os.X_OK):
        return "it is not executable"
    if path.suffix == ".py":
        ast.parse(path.read_text())
        return None
    done = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
    return done.stderr or None


def why_not_set_up(command):
    """What is wrong with a command that is too long, or too bold, for a test; or None."""
    for part in re.split(r"\s*(?:&&|\|)\s*", command):
        words = part.split()
        while "=" in words[0]:
            words.pop(0)
        first = words[0]
        if first.startswith(("scripts/", "examples/")):
            if reason := why_no_script(SOURCE / first):
                return f"{first}: {reason}"
        elif first.startswith("build/tests/"):
            if not any((SOURCE / "tests").rglob(Path(first).name + ".cpp")):
                return f"{first}: there is no such test"
        elif first in ("cmake", "ctest"):
            kind = ("testPresets" if first == "ctest" else
                    "buildPresets" if "--build" in words else "configurePresets")
            if "--preset" in words and words[words.index("--preset") + 1] not in presets(kind):
                return f"{part}: there is no such preset"
            if "--target" in words:
                target = words[words.index("--target") + 1]
                if target.endswith("_test") and not any((SOURCE / "tests").rglob(target + ".cpp")):
                    return f"{part}: there is no such test"
        elif first not in OTHER_TOOLS:
            return f"{part}: neither the program, nor a script, nor a known tool"
        for word in words:
            if re.match(rf"(?:{TOP_FOLDERS})/", word) and not (SOURCE / word).exists():
                return f"{word}: there is no such file"
    return None


# ---- Commands that are run ----


class Folder:
    """Where the commands of one page run, one after another."""

    def __init__(self, path):
        self.path = path
        self.home = path / "home"
        self.work = path / "work"
        bin_folder = path / "bin"
        for folder in (self.home, self.work, bin_folder):
            folder.mkdir(parents=True)
        (self.work / "build").symlink_to(PROGRAM.parent)
        (bin_folder / "hgemm-tune").symlink_to(PROGRAM)
        for name in FOLDERS:
            (self.work / name).symlink_to(SOURCE / name)
        for name, recorded in DATABASES.items():
            shutil.copyfile(SOURCE / "results/h200" / recorded, self.work / name)
        self.written = []  # names of files that blocks of the page hold
        self.environment = dict(os.environ, CUDA_VISIBLE_DEVICES="", HOME=str(self.home),
                                COLUMNS="120", PATH=f"{bin_folder}:{os.environ['PATH']}")
        self.environment.pop("XDG_CACHE_HOME", None)

    def write(self, name, text):
        (self.work / name).write_text(text)
        self.written.append(name)

    def run(self, command, timeout=600):
        return subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.work,
                              env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=timeout)


def why_wrong(command, done, needs_gpu, needs_slurm=False):
    """What is wrong with the outcome of a command that was run, or None."""
    said = (done.stderr.strip() or done.stdout.strip())[-600:]
    if done.returncode == 0:
        return None
    if needs_slurm and NO_SLURM.search(done.stderr):
        return None
    if not needs_gpu:
        return f"`{command}` exits with {done.returncode}: {said}"
    if done.returncode != 1 or not NO_GPU.search(done.stderr + done.stdout):
        return f"`{command}` exits with {done.returncode}, and not for want of a GPU: {said}"
    return None


class Once:
    """Pages repeat commands; one that reads no file of its page is run for the first of them only."""

    def __init__(self):
        self._lock = threading.Lock()
        self._run = set()

    def is_first(self, command, needs_gpu, files):
        if any(name in command for name in files):
            return True
        with self._lock:
            known = (command, needs_gpu) in self._run
            self._run.add((command, needs_gpu))
            return not known


ONCE = Once()


def run_shell_block(block, folder):
    needs_gpu = "gpu" in block.words
    for command in markdown.commands(block.text):
        if not ONCE.is_first(command, needs_gpu, folder.written):
            continue
        if re.match(r"(build/)?hgemm-tune\b", command):
            reason = why_wrong(command, folder.run(command), needs_gpu, "slurm" in block.words)
        else:
            reason = why_not_set_up(command)
        if reason:
            yield reason


def read_yaml_block(block, folder):
    name = block.value("file") or f"line{block.line}.yaml"
    folder.write(name, block.text)
    is_space = re.search(r"^grids:", block.text, re.M)
    command = f"build/hgemm-tune plan --space {name}" if is_space else (
        f"build/hgemm-tune plan --space smoke --shapes {name}")
    if reason := why_wrong(command, folder.run(command), needs_gpu=False):
        yield reason


def read_json_block(block, folder):
    json.loads(block.text)
    if name := block.value("file"):
        folder.write(name, block.text)
    yield from ()


def nothing(_block, _folder):
    yield from ()


def runner_of(block):
    """What tests a block; None if nothing knows its language or its words."""
    runners = {
        ("sh",): run_shell_block,
        ("sh", "gpu"): run_shell_block,
        ("sh", "slurm"): run_shell_block,
        ("yaml",): read_yaml_block,
        ("json",): read_json_block,
        ("cmake",): nothing,  # CodeOfPages builds these two
        ("cpp",): nothing,
        ("mermaid",): nothing,
        ("python",): nothing,  # tests/packaging/wheel_test.py runs these
        ("python", "torch"): nothing,  # tests/pytorch/operator_test.py runs these
        ("text",): nothing,
    }
    words = [word for word in block.words if not word.startswith("file=")]
    return runners.get((block.language, *words))


def run_page(path):
    """(page, line, what is wrong) for each block of a page that does not do what it says."""
    found = []
    name = path.relative_to(SOURCE)
    with tempfile.TemporaryDirectory(prefix="documents.") as scratch:
        folder = Folder(Path(scratch))
        for block in markdown.Page(path.read_text()).blocks:
            runner = runner_of(block)
            if runner is None:
                words = " ".join([block.language, *block.words])
                found.append(f"{name}:{block.line}: nothing tests a block of `{words}`")
                continue
            found += [f"{name}:{block.line}: {reason}" for reason in runner(block, folder)]
    return found


# ---- The tests ----


class Checks(unittest.TestCase):
    """The checks themselves, on made-up pages: each can fail."""

    def test_paths(self):
        page = markdown.Page("See src/gone.cpp, `docs/README.md`, kernels/x/config.h, "
                             "`a/b_test.cpp` and src/base/*.cpp.\n")
        self.assertEqual(missing_paths(page), ["1: src/gone.cpp", "1: tests/a/b_test.cpp"])

    def test_links(self):
        page = markdown.Page("# A `b`, c\n[x](#a-b-c) [y](#gone) [z](gone.md)\n"
                             "[`code`](gone.h) <img src=\"gone.png\"> [w](https://a.b)\n")
        self.assertEqual([one.split(": ", 1)[1].split(":")[0]
                          for one in broken_links(page, SOURCE / "made-up.md")],
                         ["#gone", "gone.md", "gone.h", "gone.png"])

    def test_sentences(self):
        page = markdown.Page("Some. Of these, none.\n- Of those\n\n| Of a | Off |\nfull. Often.\n")
        self.assertEqual(len(bad_sentences(page)), 3)

    def test_commands(self):
        block = markdown.Page("```sh gpu\na --b  # c\n\n# d\ne \\\n    --f\n```\n").blocks[0]
        self.assertEqual((block.language, block.words), ("sh", ["gpu"]))
        self.assertEqual(list(markdown.commands(block.text)), ["a --b", "e --f"])

    def test_blocks_that_nothing_knows(self):
        for info in ("bash", "sh maybe", ""):
            self.assertIsNone(runner_of(markdown.Page(f"```{info}\n```\n").blocks[0]), info)

    def test_set_up(self):
        self.assertIsNone(why_not_set_up("scripts/test.sh"))
        self.assertIsNone(why_not_set_up("cmake --preset release && build/tests/label_test"))
        for wrong in ("scripts/gone.sh", "cmake --preset gone", "build/tests/gone_test",
                      "cmake --build --preset release --target gone_test", "make"):
            self.assertIsNotNone(why_not_set_up(wrong), wrong)

    def test_options(self):
        options = Options(lambda words: "  --one\n" if words else
                          "  --top\n\nSubcommands:\n  best   Shows\n  plan  Counts\n")
        self.assertEqual(options.unknown("hgemm-tune best --one --gone -x=3"), ["--gone", "-x"])
        self.assertEqual(options.unknown("build/hgemm-tune gone"), ["gone"])
        self.assertEqual(options.unknown("--top"), [])
        page = markdown.Page("`best --gone`, `best`, `--nowhere`, `hgemm-tune other`\n")
        self.assertEqual(len(options.unknown_in(page)), 3)

    def test_repeated_commands(self):
        once = Once()
        self.assertTrue(once.is_first("best", False, []))
        self.assertFalse(once.is_first("best", False, ["my.yaml"]))
        self.assertTrue(once.is_first("best", True, []))
        self.assertTrue(once.is_first("plan my.yaml", False, ["my.yaml"]))
        self.assertTrue(once.is_first("plan my.yaml", False, ["my.yaml"]))

    def test_outcomes(self):
        def done(code, err):
            return subprocess.CompletedProcess([], code, stdout="", stderr=err)

        self.assertIsNone(why_wrong("c", done(0, ""), needs_gpu=False))
        self.assertIsNotNone(why_wrong("c", done(1, "no Hopper GPU"), needs_gpu=False))
        self.assertIsNone(why_wrong("c", done(1, "no Hopper GPU"), needs_gpu=True))
        self.assertIsNotNone(why_wrong("c", done(2, "no Hopper GPU"), needs_gpu=True))
        self.assertIsNotNone(why_wrong("c", done(1, "disk full"), needs_gpu=True))
        no_run = "x.sweep: there is no run.json in it"
        self.assertIsNotNone(why_wrong("c", done(2, no_run), needs_gpu=True))
        self.assertIsNone(why_wrong("c", done(2, no_run), needs_gpu=False, needs_slurm=True))
        self.assertIsNotNone(why_wrong("c", done(2, "no such option"), needs_gpu=False, needs_slurm=True))


class Documents(unittest.TestCase):
    def each(self, check):
        found = [f"{path.relative_to(SOURCE)}:{one}" for path in PAGES + FINDINGS
                 for one in check(markdown.Page(path.read_text()), path)]
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_the_front_page_is_short(self):
        self.assertLessEqual((SOURCE / "README.md").stat().st_size, 8192)

    def test_every_page_is_in_the_index(self):
        index = (SOURCE / "docs/README.md").read_text()
        for path in PAGES:
            name = path.relative_to(SOURCE / "docs") if SOURCE / "docs" in path.parents else None
            if name and str(name) != "README.md":
                self.assertIn(f"({name})", index)

    def test_every_path_exists(self):
        self.each(lambda page, path: missing_paths(page))

    def test_every_link_leads_somewhere(self):
        self.each(broken_links)

    def test_every_entry_of_the_notebook_is_in_its_index(self):
        text = (SOURCE / "analysis/kernel-notes.md").read_text()
        entries = sorted(markdown.slug(title) for title in re.findall(r"^### (.*)$", text, re.M))
        linked = sorted(target[1:] for _, target in markdown.Page(text).links()
                        if target.startswith("#"))
        self.assertTrue(entries)
        self.assertEqual(entries, linked)

    def test_no_sentence_begins_with_of(self):
        self.each(lambda page, path: bad_sentences(page))

    @staticmethod
    def options():
        return Options(lambda words: subprocess.run(
            [PROGRAM, *words, "--help"], capture_output=True, text=True, check=True).stdout)

    def test_every_option_in_the_text_exists(self):
        options = self.options()
        options.all |= {"--preset", "--install", "--prefix"}  # cmake's
        self.each(lambda page, path: options.unknown_in(page))

    def test_every_option_in_the_examples_of_help_exists(self):
        options, examples, found = self.options(), 0, []
        for path in REFERENCE:
            for block in markdown.Page(path.read_text()).blocks:
                for line in markdown.commands(block.text):
                    command = re.split(r"\s{2,}|\s[|>]", line)[0]
                    if block.language == "text" and command.startswith("hgemm-tune"):
                        examples += 1
                        found += [f"{path.name}:{block.line}: {word} in `{command}`"
                                  for word in options.unknown(command)]
        self.assertGreater(examples, 20)
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_every_command_does_what_it_says(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            pages = [path for path in PAGES if path not in REFERENCE]
            found = [one for page in pool.map(run_page, pages) for one in page]
        self.assertFalse(found, "\n" + "\n".join(found))


class WithoutAGpu(unittest.TestCase):
    """docs/guide.md quotes the error and the first line that users meet there."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="documents.")
        self.addCleanup(scratch.cleanup)
        self.folder = Folder(Path(scratch.name))

    @staticmethod
    def without_reason(text):
        return " ".join(re.sub(r"\([^)]*\)", "()", text).split())

    def test_the_error_is_as_documented(self):
        done = self.folder.run("build/hgemm-tune tune --shapes llama7b.yaml --budget 20s")
        self.assertEqual(done.returncode, 1)
        guide = markdown.Page((SOURCE / "docs/guide.md").read_text())
        self.assertIn(self.without_reason(done.stderr),
                      [self.without_reason(block.text) for block in guide.blocks])

    def test_the_first_line_of_an_answer_says_so(self):
        done = self.folder.run("build/hgemm-tune tune --shapes 8192x8192x8192")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("No Hopper GPU here"), done.stdout[:200])
        self.assertIn("`No Hopper GPU here`", (SOURCE / "docs/guide.md").read_text())


class Headline(unittest.TestCase):
    """The numbers of the front page are those that its two commands print."""

    def ratios(self, command):
        words = command.split()[1:] + ["--format", "csv"]
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True, cwd=SOURCE)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def setUp(self):
        self.text = (SOURCE / "README.md").read_text()
        by_pdl = {command.split()[-1]: command for block in markdown.Page(self.text).blocks
                  for command in markdown.commands(block.text) if " --pdl " in command}
        self.without, self.allowed = (self.ratios(by_pdl[kind]) for kind in ("off", "safe"))
        self.assertEqual({row["pdl"] for row in self.without}, {"off"})
        every = self.without + self.allowed
        self.assertEqual({row["effort"] for row in every}, {"full"})
        self.assertEqual({row["regime"] for row in every}, {"sustained"})

    def test_geomeans(self):
        lines = re.findall(r"^\| (M = \d+|squares) \| (.*) \|$", self.text, re.M)
        without, allowed = headline.groups(self.without), headline.groups(self.allowed)
        self.assertEqual([name for name, _ in lines], list(without))
        for name, cells in lines:
            self.assertEqual(cells.split(" | "), [
                f"{statistics.geometric_mean([float(row[column]) for row in rows[name]]):.3f}"
                for rows in (without, allowed) for column in ("ratio_cublas", "ratio_cublaslt")], name)

    def test_the_figure_shows_the_same(self):
        rows = {"off": self.without, "safe": self.allowed}
        for name in ("headline.png", "headline-dark.png"):
            picture = (SOURCE / "results/h200" / name).read_bytes()
            self.assertIn(b"tEXtDescription\0" + headline.summary(rows).encode(), picture,
                          f"{name} is stale: run analysis/headline.py")

    def test_shapes_where_cublas_is_ahead_are_named(self):
        text = " ".join(self.text.split())
        allowed = {row["problem"]: row for row in self.allowed}
        self.assertEqual(set(allowed), {row["problem"] for row in self.without})
        for row in self.without:
            ratios = [float(of["ratio_cublas"]) for of in (row, allowed[row["problem"]])]
            if min(ratios) < 1:
                self.assertIn(f"{row['problem']} ({ratios[0]:.3f}, {ratios[1]:.3f})", text)


class CodeOfPages(unittest.TestCase):
    """CMake and C++ of the pages, against a package as `export` writes it."""

    PROJECT = """cmake_minimum_required(VERSION 3.22)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90a)
endif()
project(consumer LANGUAGES CXX CUDA)
add_library(your_target STATIC target.cpp)
"""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="documents.")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        subprocess.run([PROGRAM, "export", "--format", "cpp", "-o", self.folder / "hgemm_tuned", "--recorded",
                        "--shapes", "4096x4096x4096"], check=True, capture_output=True)
        self.blocks = [block for path in PAGES for block in markdown.Page(path.read_text()).blocks]

    def run_tool(self, *command):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_cmake_configures(self):
        texts = {block.text for block in self.blocks if block.language == "cmake"}
        self.assertEqual(len(texts), 1, "one project is configured: all pages say the same")
        (self.folder / "target.cpp").write_text("#include <hgemm_tuned.h>\n")
        (self.folder / "CMakeLists.txt").write_text(self.PROJECT + texts.pop())
        self.run_tool("cmake", "-S", ".", "-B", "build", "-G", "Ninja", f"-DCMAKE_CUDA_COMPILER={NVCC}")

    def test_cpp_compiles(self):
        snippets = [block.text for block in self.blocks if block.language == "cpp"]
        self.assertTrue(snippets)
        text = "#include <hgemm_tuned.h>\n#include <hgemm_bundle.h>\n#include <cstddef>\n"
        for number, snippet in enumerate(snippets):
            text += (f"void example{number}(cudaStream_t stream, int m, int n, int k, const void* a, "
                     "const void* b, void* d, void* workspace) {\n"
                     f"{re.sub('^#include.*$', '', snippet, flags=re.M)}}}\n")
        (self.folder / "snippets.cpp").write_text(text)
        self.run_tool(NVCC, "-std=c++20", "-Ihgemm_tuned/include", f"-I{SOURCE}/runtime/include",
                      "-c", "snippets.cpp", "-o", "snippets.o")


if __name__ == "__main__":
    PROGRAM, NVCC = Path(sys.argv[1]).resolve(), sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
