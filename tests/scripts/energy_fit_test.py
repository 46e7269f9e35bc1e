"""energy_fit_test.py PROGRAM: the cost model's energies are those that recorded races give."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDED = [ROOT / "results/h200" / name for name in ("tune.db", "truth.db", "sustained-again.db")]
PROGRAM = sys.argv.pop(1)
ROUNDED = 0.01  # to two or three figures in cost.h


class EnergyFit(unittest.TestCase):
    def test_gives_what_the_model_has(self):
        command = [ROOT / "analysis/energy_fit.py", PROGRAM, *RECORDED]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        fitted = dict(re.findall(r"^(\w+) +([0-9.]+) pJ$", printed, re.MULTILINE))
        header = (ROOT / "src/families/cost.h").read_text()
        self.assertEqual(set(fitted), {"flops", "smem_bytes", "l2_bytes", "dram_bytes"})
        for term in fitted:
            in_model = float(re.search(rf"pj_per_{term[:-1]} = ([0-9.]+);", header)[1])
            self.assertAlmostEqual(in_model / float(fitted[term]), 1, delta=ROUNDED, msg=term)


if __name__ == "__main__":
    unittest.main()
