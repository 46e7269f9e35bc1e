"""The Python wheel: made by pip of the finished build folder, installed into a fresh virtual
environment, and used there as a command and as a module. Nothing is compiled or downloaded.

wheel_test.py CMAKE BUILD PROGRAM PYTHON: of an environment with scikit-build-core, as scripts/test.sh
makes it. Exits with 77 if it has none.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))
import markdown  # noqa: E402

CMAKE, BUILD, PROGRAM, PYTHON = sys.argv[1:5]
del sys.argv[1:5]
SOURCE = Path(__file__).resolve().parents[2]
EXIT_SKIPPED = 77
INDEX_TAKES_BYTES = 100 * 10**6  # PyPI, for one file


def run(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **options)


def succeed(*command, **options):
    done = run(*command, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done


def environment(**variables):
    """Of a user who has set nothing. A GPU that is there is hidden."""
    kept = ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
    return {"PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "",
            **{name: os.environ[name] for name in kept if name in os.environ}, **variables}


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="hgemm-tune-test.")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        succeed(PYTHON, "-m", "pip", "wheel", SOURCE, "--no-build-isolation", "--no-index",
                "--no-deps", "--wheel-dir", cls.folder / "wheels",
                "-C", f"build-dir={cls.folder / 'build'}",
                "-C", f"cmake.define.HGEMM_FINISHED_BUILD={BUILD}")
        [cls.wheel] = (cls.folder / "wheels").iterdir()
        cls.venv = cls.new_venv("a venv")
        cls.install(cls.venv)
        cls.changed = cls.new_venv("a changed venv")  # each test undoes what it changes
        cls.install(cls.changed)
        cls.work = cls.folder / "work"
        cls.work.mkdir()

    @classmethod
    def new_venv(cls, name):
        # To copy pip takes seconds; the builder's serves every environment.
        succeed(sys.executable, "-m", "venv", "--without-pip", cls.folder / name)
        return cls.folder / name

    @classmethod
    def pip(cls, venv, *arguments):
        succeed(PYTHON, "-m", "pip", "--python", venv / "bin/python", *arguments)

    @classmethod
    def install(cls, venv):
        cls.pip(venv, "install", "--no-index", "--no-deps", cls.wheel)

    def setUp(self):
        for path in self.work.iterdir():
            path.unlink()

    def command(self, *arguments, venv=None, **variables):
        return run((venv or self.venv) / "bin/hgemm-tune", *arguments, cwd=self.work,
                   env=environment(HOME=str(self.work), **variables))

    def python(self, code, venv=None, **variables):
        """Runs the lines of `code`, with the modules that they use and `failure(function)`."""
        lines = ("import dataclasses, json, pathlib, hgemm_tune\n"
                 "def failure(function):\n"
                 "    try: function()\n"
                 "    except Exception as error:\n"
                 "        exit_code = getattr(error, 'exit_code', None)\n"
                 "        return [type(error).__name__, str(error), exit_code]\n")
        return run((venv or self.venv) / "bin/python", "-c", lines + code, cwd=self.work,
                   env=environment(HOME=str(self.work), **variables))

    def values(self, code, **more):
        done = self.python(code, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def program(self, *arguments):
        return run(PROGRAM, *arguments, cwd=self.work, env=environment(HOME=str(self.work)))

    def installed(self, venv):
        [package] = venv.glob("lib/python3*/site-packages/hgemm_tune")
        return package

    # ---- What is in it ----

    def test_it_serves_every_python_3_of_this_platform(self):
        self.assertRegex(self.wheel.name, r"^hgemm_tune-[\d.]+-py3-none-linux_\w+\.whl$")
        self.assertLess(self.wheel.stat().st_size, INDEX_TAKES_BYTES)
        with zipfile.ZipFile(self.wheel) as archive:
            [metadata] = (archive.read(name).decode() for name in archive.namelist()
                          if name.endswith(".dist-info/METADATA"))
            names = archive.namelist()
        self.assertIn("Requires-Python: >=3.10\n", metadata)
        for package in ("nvidia-cublas", "nvidia-cuda-nvrtc", "nvidia-cuda-cupti"):
            self.assertRegex(metadata, rf"Requires-Dist: {package}.*extra == .cuda.")
        for name in ("hgemm_tune/py.typed", "licenses/LICENSE", "licenses/packaging/copyright"):
            self.assertTrue(any(path.endswith(name) for path in names), name)

    def test_every_database_that_the_program_opens_is_in_it(self):
        opened = set()
        for source in (SOURCE / "src").rglob("*.cpp"):
            text = source.read_text()
            if "recorded_databases(" in text or "recorded_races(" in text:
                opened.update(re.findall(r'"([\w-]+\.db)"', text))
        self.assertIn("tune.db", opened)
        there = {str(path.relative_to(SOURCE)) for path in (SOURCE / "results").glob("*/*.db")
                 if path.name in opened}
        share = self.installed(self.venv) / "share/hgemm-tune"
        shipped = {str(path.relative_to(share)) for path in share.glob("results/*/*")}
        self.assertEqual(shipped, there)

    def test_recorded_bundles_are_in_it(self):
        recorded = {f"{path.parent.name}.hgb" for path in SOURCE.glob("results/*/tokens.hgb")}
        self.assertIn("h200.hgb", recorded)
        shipped = self.installed(self.venv) / "shipped"
        self.assertEqual({path.name for path in shipped.iterdir()}, recorded)
        rows, refused = self.values(
            "print(json.dumps([len(hgemm_tune.shipped('NVIDIA H200').rows),"
            " failure(lambda: hgemm_tune.shipped('NVIDIA H20'))]))")
        self.assertGreater(rows, 0)
        self.assertEqual(refused[0], "HgemmTuneError")
        self.assertIn("no bundle for NVIDIA H20 came with this package, only for NVIDIA H200",
                      refused[1])

    def test_a_folder_that_is_no_build_folder_is_refused(self):
        refused = run(CMAKE, "-S", SOURCE, "-B", self.folder / "refused",
                      f"-DHGEMM_FINISHED_BUILD={self.folder / 'nothing'}")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("nothing is no build folder;", " ".join(refused.stderr.split()))

    def test_uninstalling_leaves_nothing(self):
        venv = self.new_venv("left")
        before = files_below(venv)
        self.install(venv)
        self.assertEqual(self.command("--version", venv=venv).returncode, 0)
        self.assertEqual(self.python("", venv=venv).returncode, 0)
        self.pip(venv, "uninstall", "--yes", "hgemm-tune")
        self.assertEqual(files_below(venv), before)

    # ---- The command ----

    def test_command_is_the_program(self):
        version = self.command("--version")
        self.assertEqual(version.stdout, self.program("--version").stdout)
        for arguments in (("best", "--recorded", "--shapes", "llama7b"),
                          ("plan", "--space", "smoke"), ("best", "--db", "none.db")):
            ours, expected = self.command(*arguments), self.program(*arguments)
            self.assertEqual((ours.returncode, ours.stdout, ours.stderr),
                             (expected.returncode, expected.stdout, expected.stderr))

    def test_command_works_through_a_link(self):
        link = self.work / "tuner"
        link.symlink_to(self.venv / "bin/hgemm-tune")
        best = run(link, "best", "--recorded", "--shapes", "llama7b", cwd="/", env=environment())
        self.assertEqual(best.returncode, 0, best.stderr)

    def test_command_draws_with_the_python_that_it_is_installed_for(self):
        venv = self.changed
        for module in ("matplotlib", "numpy"):  # here only found, not loaded
            path = self.installed(venv).parent / f"{module}.py"
            path.touch()
            self.addCleanup(path.unlink)
        code = ("from hgemm_tune.command import environment\n"
                "print(json.dumps(environment().get('HGEMM_TUNE_PYTHON')))")
        self.assertEqual(self.values(code, venv=venv), str(venv / "bin/python"))
        self.assertIsNone(self.values(code))
        self.assertEqual(self.values(code, venv=venv, HGEMM_TUNE_PYTHON="another"), "another")

    # ---- The libraries of CUDA ----

    def test_wheels_of_nvidia_come_before_the_system(self):
        program = self.installed(self.changed) / "bin/hgemm-tune"
        listed = {**environment(), "LD_TRACE_LOADED_OBJECTS": "1"}
        listed.pop("LD_LIBRARY_PATH", None)
        system = dict(re.findall(r"(lib(?:cublas|cublasLt|nvrtc)\.so\S+) => (/\S+)",
                                 succeed(program, env=listed).stdout))
        self.assertEqual(len(system), 3)
        nvidia = self.installed(self.changed).parent / "nvidia"
        folder = nvidia / "cu13/lib"
        folder.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, nvidia)
        for name, path in system.items():
            (folder / name).symlink_to(path)
        found = succeed(program, env=listed).stdout
        for name in system:
            [path] = re.findall(rf"{re.escape(name)} => (.+) \(", found)
            self.assertEqual(Path(os.path.normpath(path)), folder / name)

    def test_without_libraries_the_next_step_is_said(self):
        venv = self.changed
        program = self.installed(venv) / "bin/hgemm-tune"
        kept = shutil.move(program, self.folder / "kept")
        self.addCleanup(shutil.move, kept, program)
        # A library of this name is on no machine.
        code = Path(kept).read_bytes()
        program.write_bytes(code.replace(b"libnvrtc.so.13\0", b"libnvrtc.so.00\0"))
        program.chmod(0o755)
        command = self.command("--version", venv=venv)
        self.assertEqual(command.returncode, 1)
        self.assertRegex(command.stderr,
                         r"^hgemm-tune: libnvrtc\.so\.00 not found; install .*nvidia-cuda-nvrtc")
        kind, message, exit_code = self.values(
            "print(json.dumps(failure(lambda: hgemm_tune.best(recorded=True))))", venv=venv)
        self.assertEqual((kind, exit_code), ("HgemmTuneError", None))
        self.assertEqual(f"hgemm-tune: {message}\n", command.stderr)
        program.unlink()
        self.assertRegex(self.command("--version", venv=venv).stderr,
                         r"^hgemm-tune: /.*/hgemm-tune: No such file or directory; install the ")

    # ---- The module ----

    def test_libraries_of_bundles_and_of_torch_load(self):
        header = (SOURCE / "runtime/torch/operators.h").read_text()
        [abi] = re.findall(r"HGEMM_TORCH_ABI = (\d+)", header)
        registered, why_not, failed = self.values(
            "import ctypes\n"
            "from hgemm_tune.bundles import library_beside_runtime\n"
            "torch = library_beside_runtime('libhgemm_tune_torch.so', 'hgemm_torch_abi', "
            f"{abi})\n"
            "torch.hgemm_torch_error.restype = ctypes.c_char_p\n"
            "print(json.dumps([torch.hgemm_torch_register(), torch.hgemm_torch_error().decode(),"
            " failure(lambda: hgemm_tune.load('none.hgb'))]))")
        self.assertEqual((registered, why_not), (1, "import torch first"))
        self.assertEqual(failed[0], "HgemmTuneError")
        self.assertIn("none.hgb", failed[1])

    def test_plug_ins_are_found_and_need_a_variable(self):
        for group in ("vllm.general_plugins", "sglang.srt.plugins"):
            loaded = self.values("import importlib.metadata, sys\n"
                                 f"[found] = importlib.metadata.entry_points(group='{group}')\n"
                                 "found.load()()\n"
                                 "print(json.dumps([found.name, 'torch' in sys.modules]))")
            self.assertEqual(loaded, ["hgemm_tune", False])

    def test_versions_agree(self):
        version = re.match(r"hgemm-tune (\S+)", self.program("--version").stdout)[1]
        self.assertEqual(self.values("print(json.dumps(hgemm_tune.__version__))"), version)
        self.assertTrue(self.wheel.name.startswith(f"hgemm_tune-{version}-"))

    def test_examples_of_the_manual_run(self):
        blocks = [block for path in (SOURCE / "docs").glob("*.md")
                  for block in markdown.Page(path.read_text()).blocks if (block.language, block.words) == ("python", [])]
        self.assertTrue(blocks)
        for block in blocks:
            done = self.python(block.text)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout)

    def test_best_gives_the_rows_of_the_command(self):
        rows = self.values(
            "print(json.dumps([dataclasses.asdict(row) for row in"
            " hgemm_tune.best('llama7b.yaml', recorded=True, regime='burst')]))")
        expected = self.program("best", "--recorded", "--shapes", "llama7b.yaml", "--regime",
                                "burst", "--format", "json")
        self.assertTrue(rows)
        self.assertEqual(rows, json.loads(expected.stdout))

    def test_best_reads_more_rows_than_a_pipe_holds(self):
        rows = self.values("rows = hgemm_tune.best(recorded=True)\n"
                           "print(json.dumps([row.problem for row in rows]))")
        printed = self.program("best", "--recorded", "--format", "json").stdout
        self.assertGreater(len(printed), 65536)
        self.assertEqual(rows, [row["problem"] for row in json.loads(printed)])

    def test_fields_are_those_of_the_program(self):
        written = succeed(SOURCE / "scripts/write_python_fields.py", PROGRAM)
        self.assertEqual((SOURCE / "python/hgemm_tune/best_fields.py").read_text(), written.stdout,
                         "run scripts/write_reference.sh")

    def test_shapes_in_every_form(self):
        (self.work / "mine.yaml").write_text("shapes:\n  - {m: 64, n: 4096, k: 4096}\n")
        problems = self.values(
            "def problems(shapes):\n"
            "    rows = hgemm_tune.best(shapes, recorded=True, regime=['burst', 'sustained'])\n"
            "    return sorted({row.problem for row in rows})\n"
            "print(json.dumps([problems(shapes) for shapes in (\n"
            "    '64x4096x4096', (64, 4096, 4096), [(64, 4096, 4096)], pathlib.Path('mine.yaml'),\n"
            "    ['64x4096x4096', (4096, 4096, 4096)])]))")
        self.assertEqual(problems, 4 * [["64x4096x4096"]] + [["4096x4096x4096", "64x4096x4096"]])

    def test_what_is_no_shape_is_refused(self):
        empty, short, number = self.values(
            "print(json.dumps([failure(lambda: hgemm_tune.best(shapes, recorded=True))"
            " for shapes in ([], [(1, 2)], [3, '4x4x4'])]))")
        for kind, message, _ in (empty, short, number):
            self.assertEqual(kind, "ValueError")
        self.assertIn("(1, 2) is no shape: write (m, n, k)", short[1])

    def test_errors_are_the_commands_own(self):
        for call, arguments in (
                ("hgemm_tune.best(db='none.db')", ("best", "--db", "none.db")),
                ("hgemm_tune.best('llama7b', recorded=True, regime='slow')",
                 ("best", "--recorded", "--shapes", "llama7b", "--regime", "slow")),
                ("hgemm_tune.tune((64, 64, 64), budget='5s')",
                 ("tune", "--shapes", "64x64x64", "--budget", "5s"))):
            kind, message, exit_code = self.values(f"print(json.dumps(failure(lambda: {call})))")
            expected = self.program(*arguments)
            self.assertEqual(kind, "HgemmTuneError")
            self.assertEqual((f"hgemm-tune: {message}\n", exit_code),
                             (expected.stderr, expected.returncode))

    def test_options_of_other_forms_are_refused(self):
        kind, message, _ = self.values(
            "print(json.dumps(failure(lambda: hgemm_tune.best(recorded=True, predict=True))))")
        self.assertEqual(kind, "TypeError")
        self.assertIn("run the command hgemm-tune best", message)

    def test_tune_says_whence_its_rows_are(self):
        code = ("results = hgemm_tune.tune('4096x4096x4096'{})\n"
                "print(json.dumps([[row.problem for row in results.rows], results.messages]))")
        for more, shown in (("", True), (", progress=False", False)):
            done = self.python(code.format(more))
            self.assertEqual(done.returncode, 0, done.stderr)
            problems, messages = json.loads(done.stdout)
            self.assertEqual(problems, ["4096x4096x4096"])
            self.assertIn("nothing is measured now. Recorded on NVIDIA", messages)
            self.assertEqual(done.stderr, messages if shown else "")

    def test_interrupted_tune_stops_the_program_by_one_signal_and_waits(self):
        program = self.work / "program"
        program.write_text("#!/bin/sh\n[ -n \"$LD_TRACE_LOADED_OBJECTS\" ] && exit 0\n"
                           "trap 'echo stopped >>signals; exit 143' TERM INT\n"
                           "echo ready >&2\nwhile :; do sleep 0.05; done\n")
        program.chmod(0o755)
        done = self.python(
            "import os, signal, sys, hgemm_tune.command, hgemm_tune.tuning\n"
            "program = pathlib.Path('program').resolve()\n"
            "hgemm_tune.command.PROGRAM = hgemm_tune.tuning.PROGRAM = program\n"
            "class Interrupting:\n"
            "    def write(self, text):\n"
            "        if 'ready' in text: os.killpg(0, signal.SIGINT)\n"  # as a terminal does
            "    def flush(self): pass\n"
            "os.setpgid(0, 0)\n"
            "sys.stderr = Interrupting()\n"
            "try: hgemm_tune.tune('1x1x1')\n"
            "except KeyboardInterrupt: print(json.dumps(pathlib.Path('signals').read_text()))")
        self.assertEqual(json.loads(done.stdout), "stopped\n", done.stderr)


def has_builder():
    return Path(PYTHON).exists() and run(PYTHON, "-c", "import scikit_build_core").returncode == 0


if __name__ == "__main__":
    if not has_builder():
        print(f"no scikit-build-core in {PYTHON}; scripts/test.sh installs it")
        sys.exit(EXIT_SKIPPED)
    unittest.main()
