"""packaging/Containerfile cannot be built everywhere: what it says of this repository is so."""

import fnmatch
import os
import re
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def stages():
    """For each FROM its image, and the instructions below it as (name, text)."""
    text = (SOURCE / "packaging/Containerfile").read_text()
    text = re.sub(r"(?m)^#.*\n", "", text).replace("\\\n", " ")
    values = dict(re.findall(r"(?m)^ARG (\w+)=(\S+)", text))
    found = []
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append((re.sub(r"\$\{(\w+)\}", lambda m: values[m[1]], rest), []))
        elif name and name != "ARG":
            found[-1][1].append((name, " ".join(rest.split())))
    return found


def packages_of_setup():
    script = (SOURCE / "scripts/setup.sh").read_text()
    listed = re.search(r"(?s)^packages=\((.*?)\$\{", script, re.M)
    return set(listed[1].split())


class Container(unittest.TestCase):
    def test_images_have_the_cuda_that_cmake_asks_for(self):
        least = re.search(r"CUDAToolkit (\d+)\.(\d+)", (SOURCE / "cmake/cuda.cmake").read_text())
        kinds = []
        for image, _ in stages():
            match = re.match(r"docker\.io/nvidia/cuda:(\d+)\.(\d+)\.\d+-(\w+)-ubuntu", image)
            self.assertTrue(match, image)
            self.assertEqual(match[1], least[1])
            self.assertGreaterEqual(int(match[2]), int(least[2]))
            kinds.append(match[3])
        self.assertEqual(kinds, ["devel", "runtime"])

    def test_the_build_is_that_of_the_scripts(self):
        _, build = stages()[0]
        commands = [text for name, text in build if name == "RUN"]
        self.assertEqual(len(commands), 1)
        script = SOURCE / commands[0].split()[0]
        self.assertTrue(os.access(script, os.X_OK), script)
        self.assertIn("/setup.sh", script.read_text())
        for name, text in build:
            self.assertNotIn("apt-get", text, "setup.sh alone knows what building needs")
            if name == "COPY":
                for source in text.split()[:-1]:
                    self.assertTrue((SOURCE / source).exists(), source)

    def test_it_runs_what_the_package_installs(self):
        build, run = (instructions for _, instructions in stages())
        folder = next(text.split()[-1] for name, text in build if name == "RUN")
        copied = next(text for name, text in run if name == "COPY")
        self.assertEqual(copied, f"--from=build {folder} {folder}")
        installs = next(text for name, text in run if name == "RUN")
        words = re.search(r"apt-get install (.*?) &&", installs)[1].split()
        words = [word for word in words if not word.startswith("-")]
        self.assertIn(f"{folder}/hgemm-tune_*.deb", words)
        others = {word for word in words if not word.endswith(".deb")}
        self.assertLessEqual(others, packages_of_setup())
        recommended = (SOURCE / "cmake/install.cmake").read_text()
        for package in others:
            self.assertIn(package, recommended)
        entry = next(text for name, text in run if name == "ENTRYPOINT")
        self.assertEqual(entry, '["hgemm-tune"]')

    def test_nothing_of_the_repository_is_left_out(self):
        tracked = subprocess.run(["git", "-C", str(SOURCE), "ls-files"], text=True,
                                 capture_output=True).stdout.splitlines()
        for pattern in (SOURCE / ".dockerignore").read_text().split():
            for path in tracked:
                parts = path.split("/")
                begins = ["/" + "/".join(parts[: i + 1]) for i in range(len(parts))]
                self.assertFalse(any(fnmatch.fnmatch(begin, pattern) for begin in begins),
                                 f"{pattern} leaves out {path}")


if __name__ == "__main__":
    unittest.main()
