"""The bundle that ships with the package, on a GPU of its model: that torch.ops.hgemm_tune computes
every row of it with its kernel, and right. And the plug-ins' list of misses, with real ones.

shipped_test.py BUILD PROGRAM. Exits with 77 where torch 2.11, or a GPU that a bundle ships for, is
missing (tests/pytorch/support.py).
"""

import logging
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pytorch"))
import support  # noqa: E402

BUILD, PROGRAM = support.arguments()
if __name__ == "__main__":
    support.require_torch()

import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402

if not torch.cuda.is_available():
    support.skip("no GPU")
_folder = support.temporary_folder()
FOLDER = Path(_folder.name)
support.make_package(FOLDER, BUILD)
import hgemm_tune  # noqa: E402
from hgemm_tune import serving  # noqa: E402

#: by the names of GPUs that they were made for
SHIPPED = {"NVIDIA H200": FOLDER / "hgemm_tune/shipped/h200.hgb"}
BUNDLE = SHIPPED.get(torch.cuda.get_device_name())
if BUNDLE is None:
    support.skip(f"no bundle ships for {torch.cuda.get_device_name()}")


def setUpModule():
    torch.manual_seed(2)
    torch.backends.cuda.matmul.allow_tf32 = False
    unittest.addModuleCleanup(_folder.cleanup)


def operands(n, k, rows):
    return (torch.randn(rows, k, dtype=torch.bfloat16, device="cuda"),
            torch.randn(n, k, dtype=torch.bfloat16, device="cuda").mul_(k**-0.5))


class Shipped(unittest.TestCase):
    def setUp(self):
        self.bundle = hgemm_tune.load(BUNDLE)
        self.bundle.prepare(torch.cuda.current_device(), any_driver=True)
        self.addCleanup(self.bundle.close)
        self.addCleanup(hgemm_tune.use, None)
        hgemm_tune.use(self.bundle, only_gains=False)

    @torch.no_grad()
    def test_every_row_is_computed_by_its_kernel_and_right(self):
        self.assertGreater(len(self.bundle.rows), 50)
        for count, row in enumerate(self.bundle.rows):
            with self.subTest(row["problem"]):
                x, weight = operands(row["n"], row["k"], row["m"])
                product = F.linear(x.float(), weight.float())
                if row["epilogue"] == "swiglu":
                    y = torch.ops.hgemm_tune.gated_linear(x, weight, "silu")
                    gates, ups = product.chunk(2, -1)
                    expected = F.silu(gates) * ups
                else:
                    bias = None
                    if row["epilogue"] == "bias":
                        bias = torch.randn(row["n"], dtype=torch.bfloat16, device="cuda")
                        product += bias.float()
                    y = torch.ops.hgemm_tune.linear(x, weight, bias)
                    expected = product
                self.assertEqual(y.shape, expected.shape)
                self.assertLess(support.error(y, expected), 0.02)
                self.assertEqual(hgemm_tune.calls().tuned, count + 1, "a kernel computed it")


class Serving(unittest.TestCase):
    def test_what_an_engine_asks_for_in_vain_is_listed(self):
        folder = FOLDER / "misses"
        self.addCleanup(serving.stop)
        with mock.patch.dict(os.environ, HGEMM_TUNE_BUNDLE=str(BUNDLE),
                             HGEMM_TUNE_ANY_DRIVER="1", HGEMM_TUNE_MISSES=str(folder)):
            self.assertTrue(serving.start("it", logging.getLogger("hgemm_tune.test")))
        with torch.inference_mode():
            for _ in range(3):
                for n, rows in ((72, 5), (64, 7)):
                    x, weight = operands(n, 4096, rows)
                    y = serving.linear(None, x, weight)
                    torch.testing.assert_close(y, F.linear(x, weight))
        serving.stop()
        [kept] = folder.glob("misses-*.yaml")
        self.assertIn("m: 5, n: 72, k: 4096, weight: 3", kept.read_text())
        self.assertIn("m: 7, n: 64, k: 4096, weight: 3", kept.read_text())


if __name__ == "__main__":
    unittest.main()
