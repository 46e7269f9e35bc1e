"""check_export.sh with a program and examples that only write what the real ones do."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "scripts"))
import check_export  # noqa: E402

# Logs its commands; "measures" into the database by leaving a line there.
PROGRAM = """#!/usr/bin/env bash
here=$(dirname "$0")
echo "$*" >>"$here/calls"
while (($#)); do
  case $1 in
    export) export=1 ;;
    --format) format=$2 ;;
    -o) output=$2 ;;
    --db) db=$2 ;;
    --config) config=$2 ;;
  esac
  shift
done
if [[ -z ${export-} ]]; then
  [[ ! -e $here/broken ]] || { echo "the GPU is gone" >&2; exit 1; }
  echo "$config" >>"$db"
else
  mkdir -p "$output"
  [[ $format == json ]] && table=recorded || table=tuned
  cp "$here/$table.json" "$output/hgemm_tuned.json"
fi
"""
EXAMPLES = """#!/usr/bin/env bash
here=$(dirname "$0")
cp "$2/hgemm_tuned.json" "$here"/*.md "$1"
exit "$(cat "$here/code")"
"""
CMAKE = """NVIDIA H200, 132 SMs

| shape | config | gain proven | us | tuned us | x cuBLAS | SM MHz | cuBLAS SM MHz |
|---|---|---|---:|---:|---:|---:|---:|
| 64x64x64 | `fast` | yes | 10.05 | 10.00 | 1.090 [1.080, 1.100] | 1800 | 1830 |
| 128x64x64 | `lost` | no | 20.60 | 20.00 | 0.980 [0.970, 0.990] | 1755 | 1790 |
| geomean of 2 | | | | | 1.034 | | |
"""
PYTORCH = """NVIDIA H200, PyTorch 2

| shape | config | runs | us | F.linear us | x F.linear | error / tolerance |
|---|---|---|---:|---:|---:|---:|
| 64x64x64 | `fast` | ours | 9.90 | 11.00 | 1.111 [1.110, 1.112] | 0.65 |
| 128x64x64 | `lost` | cuBLAS | 19.00 | 19.00 | 1.000 [0.990, 1.010] | 0.65 |
| geomean of 2 | | | | | 1.054 | |
"""


def row(m, label, time_us, ratio, gain, dtype="bf16"):
    shape = {"m": m, "n": 64, "k": 64, "dtype": dtype, "lda": 64, "ldb": 64, "ldd": 64}
    return shape | {
        "label": label,
        "time_us": time_us,
        "sm_mhz": 1800.0,
        "ratio_cublas": ratio,
        "gain": gain,
        "command": f"hgemm-tune --shapes {m}x64x64 --config {label} --regime sustained",
    }


class CheckExport(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("build", "examples", "scripts"):
            (self.root / name).mkdir()
        for name in ("check_export.sh", "check_export.py"):
            shutil.copy(SOURCE / "scripts" / name, self.root / "scripts")
        for path, text in (("build/hgemm-tune", PROGRAM), ("examples/run.sh", EXAMPLES)):
            (self.root / path).write_text(text)
            (self.root / path).chmod(0o755)
        recorded = [
            row(64, "fast", 9.0, 1.2, True),
            row(128, "lost", 19.0, 1.1, True),
            row(256, "slow", 30.0, 0.9, False),
        ]
        tuned = [row(64, "fast", 10.0, 1.1, True), row(128, "lost", 20.0, 0.99, False)]
        self.write("build/recorded.json", json.dumps({"rows": recorded}))
        self.write("build/tuned.json", json.dumps({"rows": tuned}))
        self.write("examples/cmake.md", CMAKE)
        self.write("examples/pytorch.md", PYTORCH)
        self.write("examples/code", "0")
        self.output = self.root / "out"

    def write(self, path, text):
        (self.root / path).write_text(text)

    def check(self):
        script = self.root / "scripts" / "check_export.sh"
        return subprocess.run(
            [script, self.output], capture_output=True, text=True, env=os.environ, check=False
        )

    def table(self):
        lines = (self.output / "tuned-vs-exported.md").read_text().splitlines()
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
        header = cells[0]
        return {row[0]: dict(zip(header, row)) for row in cells if len(row) == len(header)}

    def test_measures_only_what_is_a_kernel_of_ours_and_says_how_far_it_is(self):
        outcome = self.check()
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertEqual((self.output / "tuned.db").read_text(), "fast\nlost\n")
        self.assertRegex(outcome.stderr, r"row 1 of 2, \d+ s: hgemm-tune --shapes 64x64x64")
        self.assertRegex(outcome.stderr, r"row 2 of 2, \d+ s: hgemm-tune --shapes 128x64x64")

    def test_compares_times_and_ratios_shape_by_shape(self):
        outcome = self.check()
        table = self.table()
        fast = table["64x64x64"]
        self.assertEqual(fast["tuned us"], "10.00")
        self.assertEqual(fast["CMake slower"], "+0.50 %")
        self.assertEqual(fast["PyTorch slower"], "-1.00 %")
        self.assertEqual(fast["CMake slower to cuBLAS"], "+0.92 %")
        self.assertEqual(fast["PyTorch slower to cuBLAS"], "-0.99 %")
        # PyTorch ran cuBLAS for it: its 19 us are not our kernel's.
        lost = table["128x64x64"]
        self.assertEqual(lost["runs"], "cuBLAS today")
        self.assertEqual((lost["CMake slower"], lost["PyTorch us"]), ("+3.00 %", "-"))
        # At a slower clock: 20.60 us x 1755 MHz beside 20.00 x 1800.
        self.assertEqual((lost["tuned SM MHz"], lost["CMake SM MHz"]), ("1800", "1755"))
        self.assertEqual(fast["CMake slower in cycles"], "+0.50 %")
        self.assertEqual(lost["CMake slower in cycles"], "+0.43 %")
        self.assertEqual(table["256x64x64"]["runs"], "cuBLAS")
        for line in (
            "- CMake, time: largest +3.00 % (128x64x64), median +1.75 %, within 1 % at 1 of 2",
            "- CMake, cycles: largest +0.50 % (64x64x64), median +0.46 %, within 1 % at 2 of 2",
            "- PyTorch, time: largest -1.00 % (64x64x64), median -1.00 %, within 1 % at 1 of 1",
        ):
            self.assertIn(line, outcome.stdout)
        self.assertNotIn("PyTorch, cycles", outcome.stdout)

    def test_one_config_may_be_the_answer_of_several_types(self):
        types = {"bf16": 10.0, "fp16": 11.0, "bf16.dfp32": 12.0}
        rows = [row(64, "fast", us, 1.1, True, dtype) for dtype, us in types.items()]
        self.write("build/recorded.json", json.dumps({"rows": rows}))
        self.write("build/tuned.json", json.dumps({"rows": rows}))
        header = "| shape | config | us | x cuBLAS |\n|---|---|---:|---:|\n"
        lines = zip(("64x64x64", "64x64x64.fp16", "64x64x64.dfp32"), types.values())
        printed = (f"| {shape} | `fast` | {us} | 1.1 |\n" for shape, us in lines)
        self.write("examples/cmake.md", header + "".join(printed))
        outcome = self.check()
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        for shape in ("64x64x64", "64x64x64.fp16", "64x64x64.dfp32"):
            self.assertEqual(self.table()[shape]["CMake slower"], "+0.00 %", shape)

    def test_without_a_clock_cycles_are_not_known(self):
        self.write("examples/cmake.md", CMAKE.replace("SM MHz", "of before"))
        outcome = self.check()
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertEqual(self.table()["64x64x64"]["CMake slower in cycles"], "-")
        self.assertIn("- CMake, cycles: not known", outcome.stdout)

    def test_goes_on_in_the_same_database(self):
        self.write("build/broken", "")
        broken = self.check()
        self.assertNotEqual(broken.returncode, 0)
        self.assertIn("the GPU is gone", broken.stderr)
        (self.root / "build" / "broken").unlink()
        self.output.mkdir(exist_ok=True)
        (self.output / "tuned.db").write_text("of before\n")
        self.assertEqual(self.check().returncode, 0)
        self.assertEqual((self.output / "tuned.db").read_text(), "of before\nfast\nlost\n")

    def test_an_example_that_did_not_run_leaves_the_other_ones_times(self):
        self.write("examples/pytorch.md", "ModuleNotFoundError: No module named 'torch'\n")
        self.write("examples/code", "1")
        outcome = self.check()
        self.assertEqual(outcome.returncode, 1)
        self.assertEqual(self.table()["64x64x64"]["CMake slower"], "+0.50 %")
        self.assertIn("- PyTorch, time: not known", outcome.stdout)

    def test_reads_what_the_examples_printed_on_an_h200(self):
        folder = SOURCE / "results" / "h200" / "export"
        cmake = check_export.printed(folder / "cmake.md", "x cuBLAS")
        pytorch = check_export.printed(folder / "pytorch.md", "x F.linear")
        self.assertEqual((len(cmake), len(pytorch)), (21, 20))  # PyTorch ran cuBLAS at one
        where = (
            "1x11008x4096",
            "bm8.bn64.bk128.q4.c1x1.swap1.d1.linear.tma.single.bf16.p128",
        )
        self.assertEqual(cmake[where], (22.24, 1.067, 1797))
        self.assertEqual(pytorch[where], (22.28, 1.084, None))


if __name__ == "__main__":
    unittest.main()
