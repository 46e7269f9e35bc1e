"""cmake/libraries.cmake on this machine's packages, and on those of others: shared libraries alone,
in a prefix of their own, with the names that newer releases give their targets."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parent / "libraries"
CMAKE = sys.argv.pop(1)
OURS = r"lib(?:yaml-cpp|SQLiteCpp|sqlite3|fmt)\.so"

CONFIG = """
add_library({target} SHARED IMPORTED)
set_target_properties({target} PROPERTIES IMPORTED_LOCATION {prefix}/lib/{file}
  INTERFACE_INCLUDE_DIRECTORIES {prefix}/include)
set({package}_VERSION {version})
"""


def run(*command):
    return subprocess.run(
        [str(word) for word in command], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Libraries(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hgemm-tune-test.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def configure(self, name, *options):
        return run(CMAKE, "-S", PROJECT, "-B", self.folder / name, "-G", "Ninja", *options)

    def built(self, name, *options):
        """The program's path, and what it prints."""
        configured = self.configure(name, *options)
        self.assertEqual(configured.returncode, 0, configured.stdout)
        made = run(CMAKE, "--build", self.folder / name)
        self.assertEqual(made.returncode, 0, made.stdout)
        program = self.folder / name / "uses_libraries"
        ran = run(program)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertIn("libraries 3\n", ran.stdout)
        return program, ran.stdout

    def shared_libraries(self, program):
        """File name -> path of those of our libraries that are loaded."""
        lines = run("ldd", program).stdout
        return {m[1]: Path(m[2]) for m in re.finditer(rf"({OURS}\S*) => (\S+)", lines)}

    def test_static_libraries_are_preferred(self):
        configured = self.configure("static").stdout
        program, _ = self.built("static")
        for name in ("yaml-cpp", "SQLiteCpp", "sqlite3"):
            if f"lib{name}.a" in configured:
                self.assertNotIn(f"lib{name}.so", run("ldd", program).stdout)
        if Path("/etc/debian_version").exists():  # its packages have all of them
            self.assertEqual(self.shared_libraries(program), {})

    def make_prefix(self):
        """An installation as conda's are: shared libraries and their headers, in one folder."""
        program, _ = self.built("shared", "-DHGEMM_STATIC=OFF")
        found = self.shared_libraries(program)
        prefix = self.folder / "prefix"
        (prefix / "lib").mkdir(parents=True)
        (prefix / "include").mkdir()
        for name, path in found.items():
            os.symlink(path, prefix / "lib" / name)
            stem = name[: name.index(".so") + 3]
            if stem != name:
                os.symlink(name, prefix / "lib" / stem)
        headers = self.include_folder("sqlite3.h")
        for name in ("yaml-cpp", "SQLiteCpp", "fmt", "sqlite3.h"):
            os.symlink(headers / name, prefix / "include" / name)
        if not (prefix / "lib/libSQLiteCpp.so").exists():  # Debian has no shared one
            archive = self.configure("static").stdout
            archive = re.search(r"SQLiteCpp: (\S+\.a)", archive)[1]
            linked = run("c++", "-shared", "-o", prefix / "lib/libSQLiteCpp.so",
                         "-Wl,-soname,libSQLiteCpp.so", "-Wl,--whole-archive", archive,
                         "-Wl,--no-whole-archive", f"-L{prefix}/lib", "-lsqlite3",
                         f"-Wl,-rpath,{prefix}/lib")
            self.assertEqual(linked.returncode, 0, linked.stdout)
        os.symlink(prefix / "lib/libyaml-cpp.so", prefix / "lib/libfmt.so")  # linked by nobody
        for package, target, file, version in (
                ("yaml-cpp", "yaml-cpp::yaml-cpp", "libyaml-cpp.so", "0.8.0"),
                ("SQLiteCpp", "SQLiteCpp", "libSQLiteCpp.so", "3.3.3"),
                ("fmt", "fmt::fmt", "libfmt.so", "11.0.2")):
            folder = prefix / "lib/cmake" / package
            folder.mkdir(parents=True)
            (folder / f"{package}Config.cmake").write_text(CONFIG.format(
                target=target, prefix=prefix, file=file, package=package, version=version))
            (folder / f"{package}ConfigVersion.cmake").write_text(
                f"set(PACKAGE_VERSION {version})\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
        return prefix

    def include_folder(self, header):
        (self.folder / "empty.cpp").write_text(f"#include <{header}>\n")
        used = run("c++", "-M", self.folder / "empty.cpp").stdout
        return Path(re.search(rf"\S+/{re.escape(header)}", used)[0]).parent

    def test_a_prefix_with_shared_libraries_and_newer_names(self):
        prefix = self.make_prefix()
        program, printed = self.built("prefix", f"-DCMAKE_PREFIX_PATH={prefix}")
        found = self.shared_libraries(program)
        self.assertEqual({path.parent for path in found.values()}, {prefix / "lib"}, found)
        self.assertEqual(len(found), 3, found)
        self.assertIn("fmt is header-only", printed)

    def test_what_is_missing_is_named_with_its_packages(self):
        for package, debian, conda in (("yaml-cpp", "libyaml-cpp-dev", "yaml-cpp"),
                                       ("SQLiteCpp", "libsqlitecpp-dev", "sqlitecpp"),
                                       ("SQLite3", "libsqlite3-dev", "sqlite"),
                                       ("CLI11", "libcli11-dev", "cli11")):
            configured = self.configure("missing", "--fresh",
                                        f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON")
            self.assertNotEqual(configured.returncode, 0)
            text = " ".join(configured.stdout.split())
            self.assertIn(f"{package} was not found", text)
            self.assertIn(f"apt-get install {debian} ", text)
            self.assertIn("dnf install '", text)
            self.assertIn(f"conda install -c conda-forge {conda} ", text)


if __name__ == "__main__":
    unittest.main()
