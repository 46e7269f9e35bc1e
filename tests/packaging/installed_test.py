"""The program as others get it: by cmake --install into a prefix, and as a Debian package that is
unpacked into an empty root. Each is run from another folder, with no setting of this machine."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, CPACK, BUILD = sys.argv[1:4]
del sys.argv[1:4]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **options)


class Installed:
    """What any installation must do; `prefix()` makes one."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="hgemm-tune-test.")
        cls.folder = Path(cls.temporary.name)
        cls.prefix = cls.make_prefix()
        cls.work = cls.folder / "work"
        cls.work.mkdir()

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def program(self, *arguments, **variables):
        environment = {"HOME": str(self.work), "PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "",
                       **variables}
        # Where CUDA may be, and what builds with sanitizers need.
        for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS",
                     "TSAN_OPTIONS"):
            if name in os.environ:
                environment[name] = os.environ[name]
        return run(self.prefix / "bin/hgemm-tune", *arguments, cwd=self.work, env=environment)

    def test_best_answers_from_the_results_beside_it(self):
        best = self.program("best", "--recorded", "--shapes", "llama7b", "--format", "json")
        self.assertEqual(best.returncode, 0, best.stderr)
        rows = json.loads(best.stdout)
        self.assertTrue(rows)
        self.assertTrue(all("H200" in row["gpu"] for row in rows if row["label"]))

    def test_plan_knows_its_spaces(self):
        plan = self.program("plan", "--space", "smoke", "--format", "json")
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertGreater(json.loads(plan.stdout)["valid"], 0)

    def test_report_draws_with_the_scripts_beside_it(self):
        # To draw takes a minute, which other tests spend: this Python says what it was to run.
        python = self.folder / "python"
        python.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>"{self.folder}/arguments"\n'
                          'for word; do case $word in *.py) exit 1;; esac; done\n')
        python.chmod(0o755)
        self.program("report", "--db", self.prefix / "share/hgemm-tune/results/h200/sms.db", "-o",
                     "page", HGEMM_TUNE_PYTHON=str(python))
        arguments = (self.folder / "arguments").read_text().splitlines()
        self.assertIn(str(self.prefix / "share/hgemm-tune/analysis/report.py"), arguments)
        self.assertTrue((self.prefix / "share/hgemm-tune/analysis/report.py").is_file())

    def test_doctor_names_the_files_of_this_installation(self):
        doctor = self.program("doctor")
        self.assertIn(doctor.returncode, (0, 1))
        self.assertRegex(doctor.stdout,
                         rf"(?m)^ok +shipped files +{re.escape(str(self.prefix))}/")

    def test_man_page_and_completion_are_this_programs(self):
        share = self.prefix / "share"
        pages = list((share / "man/man1").glob("hgemm-tune.1*"))
        self.assertEqual(len(pages), 1)
        text = pages[0].read_bytes()
        if pages[0].suffix == ".gz":
            text = gzip.decompress(text)
        self.assertEqual(text.decode(), self.program("help", "--format", "man").stdout)
        for shell, path in (("bash", "bash-completion/completions/hgemm-tune"),
                            ("zsh", "zsh/site-functions/_hgemm-tune"),
                            ("fish", "fish/vendor_completions.d/hgemm-tune.fish")):
            self.assertEqual((share / path).read_text(),
                             self.program("help", "--format", shell).stdout)

    def test_licences_are_there(self):
        documents = self.prefix / "share/doc/hgemm-tune"
        self.assertIn("Apache License", (documents / "LICENSE").read_text())
        copyrights = (documents / "copyright").read_text()
        for library in ("CLI11", "fmt", "nlohmann-json", "SQLiteCpp", "sqlite3", "xxHash",
                        "yaml-cpp"):
            self.assertIn(f"Files: {library}\n", copyrights)


class FromInstall(Installed, unittest.TestCase):
    @classmethod
    def make_prefix(cls):
        prefix = cls.folder / "a prefix"
        installed = run(CMAKE, "--install", BUILD, "--prefix", prefix)
        assert installed.returncode == 0, installed.stderr
        return prefix


@unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb here")
class FromDebianPackage(Installed, unittest.TestCase):
    @classmethod
    def make_prefix(cls):
        made = run(CPACK, "--config", Path(BUILD) / "CPackConfig.cmake",
                   "-B", cls.folder / "package")
        assert made.returncode == 0, made.stdout + made.stderr
        [cls.package] = (cls.folder / "package").glob("*.deb")
        root = cls.folder / "root"
        unpacked = run("dpkg-deb", "-x", cls.package, root)
        assert unpacked.returncode == 0, unpacked.stderr
        return root / "usr"

    def field(self, name):
        return run("dpkg-deb", "-f", self.package, name).stdout.strip()

    def test_its_name_and_what_it_needs(self):
        version = re.match(r"hgemm-tune (\S+)", self.program("--version").stdout)[1]
        self.assertEqual(self.field("Package"), "hgemm-tune")
        self.assertEqual(self.field("Version"), version)
        self.assertRegex(self.package.name, rf"^hgemm-tune_{re.escape(version)}_\w+\.deb$")
        # Depends: what the dynamic linker needs, but for CUDA's, which come from anywhere.
        for package in ("libc6", "libstdc++6", "libgcc-s1"):
            self.assertRegex(self.field("Depends"), rf"\b{re.escape(package)}\b")
        for package in ("libcublas-13-", "cuda-nvrtc-13-", "python3-matplotlib"):
            self.assertIn(package, self.field("Recommends"))
        linked = run("objdump", "-p", self.prefix / "bin/hgemm-tune").stdout
        needed = re.findall(r"NEEDED +(lib[\w+-]+)", linked)
        known = {"libc", "libm", "libdl", "libpthread", "librt", "libstdc++", "libgcc_s",
                 "libnvrtc", "libcublas", "libcublasLt", "libasan", "libubsan", "libtsan"}
        if "yaml-cpp" not in " ".join(needed):  # static libraries, as Debian has them
            self.assertLessEqual(set(needed), known)

    def test_it_lies_below_usr_and_belongs_to_root(self):
        listed = run("dpkg-deb", "-c", self.package).stdout.splitlines()
        self.assertTrue(listed)
        for line in listed:
            mode, owner, _, _, _, path = line.split(None, 5)
            self.assertEqual(owner, "root/root", line)
            self.assertTrue(path == "./" or path.startswith("./usr/"), line)
            self.assertNotIn("w", mode[5:], line)


if __name__ == "__main__":
    unittest.main()
