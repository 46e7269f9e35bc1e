"""row_steps_test.py: what is behind, and the largest step, of each weight."""

import json
import subprocess
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "analysis/row_steps.py"


def row(m, time_us, cublas=1.1, cublaslt=1.1, n=4096):
    return {"m": m, "n": n, "k": 4096, "dtype": "bf16", "regime": "burst", "time_us": time_us,
            "ratio_cublas": cublas, "ratio_cublaslt": cublaslt}


def printed(rows):
    run = subprocess.run(["python3", "-B", SCRIPT], input=json.dumps(rows), check=True,
                         capture_output=True, text=True)
    return run.stdout.splitlines()[2:]


class RowSteps(unittest.TestCase):
    def test_names_the_lowest_ratio_and_the_largest_step(self):
        rows = [row(3, 11.5, cublaslt=0.97), row(1, 10.0), row(2, 10.1, cublas=0.979)]
        self.assertEqual(printed(rows), ["| 4096 x 4096 bf16 | burst | 3 | 0.970 at 3 | 2 "
                                         "| +13.9 % from 2 to 3 |"])

    def test_weights_do_not_mix_and_single_shapes_have_no_step(self):
        rows = [row(1, 10.0), row(2, 9.0), row(1, 99.0, n=8192)]
        self.assertEqual(printed(rows), ["| 4096 x 4096 bf16 | burst | 2 | 1.100 at 1 | 0 "
                                         "| -10.0 % from 1 to 2 |"])

    def test_rows_without_a_time_or_a_ratio_do_not_count(self):
        rows = [row(1, 10.0, cublas=None), row(2, 10.0, None, None), row(3, None)]
        self.assertEqual(printed(rows), ["| 4096 x 4096 bf16 | burst | 2 | 1.100 at 1 | 0 "
                                         "| +0.0 % from 1 to 2 |"])


if __name__ == "__main__":
    unittest.main()
