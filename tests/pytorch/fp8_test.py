"""examples/pytorch/fp8.py without a GPU: how it quantises, which scales it hands to the operator
and to torch._scaled_mm, what it compares results with, and what it says. The operator is computed
here from what docs/fp8.md says of scales in memory. tests/gpu/pytorch_test.py runs the real one.

fp8_test.py BUILD PROGRAM. Exits with 77 where torch 2.11 is missing (support.py).
"""

import contextlib
import io
import math
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

import support

BUILD, PROGRAM = support.arguments()
support.require_torch()
os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a GPU that is there is hidden

EXAMPLES = support.SOURCE / "examples/pytorch"
sys.path.insert(0, str(EXAMPLES))
import block  # noqa: E402
import fp8  # noqa: E402
import linear  # noqa: E402
import package  # noqa: E402
import torch  # noqa: E402
from torch.utils import cpp_extension  # noqa: E402

E4M3 = torch.float8_e4m3fn
SHAPES = ((6, 200, 384), (5, 130, 304), (128, 128, 128), (1, 3, 16))  # M, N, K
SCALED = fp8.SCALINGS[1:]
OF_BLOCKS = [scaling for scaling in SCALED if scaling.endswith("blocks")]


def setUp(test):
    torch.manual_seed(1)


def normal(*shape):
    """Of blocks that differ by up to a factor of 8, so that another block's scale is another."""
    rows = 2.0 ** torch.randint(0, 4, (shape[0], 1))
    columns = 2.0 ** torch.randint(0, 4, (1, up(shape[1], 128) // 128))
    return torch.randn(*shape) * rows * columns.repeat_interleave(128, 1)[:, : shape[1]]


def up(value, to):
    return math.ceil(value / to) * to


def operands(m, n, k, scaling):
    return (fp8.Quantised(normal(m, k), scaling, False),
            fp8.Quantised(normal(n, k) * k**-0.5, scaling, True))


def largest_of(matrix, row, column):
    """The largest magnitude of the block (slices) over the largest number of e4m3."""
    return matrix[row, column].abs().max().item() / 448


# ---- The operator, as the documents describe it ----


def factors(scaling, memory, rows, k, is_weight):
    """A factor for each row and each 128 of K, of scales as they lie in memory."""
    blocks = math.ceil(k / 128)
    flat = [*memory.flatten().tolist()]

    def at(row, block):
        if scaling == "none":
            return 1.0
        if scaling in ("tensor", "rows"):
            return flat[row if scaling == "rows" else 0]
        if is_weight and scaling in ("blocks", "packed_blocks"):
            return flat[(up(blocks, 4) if scaling == "blocks" else blocks) * (row // 128) + block]
        return flat[up(rows, 4) * block + row]

    return torch.tensor([[at(row, block) for block in range(blocks)] for row in range(rows)],
                        dtype=torch.float64)


def product(a, b, of_a, of_b):
    """The sums of each 128 of K times their factors."""
    total = torch.zeros(a.size(0), b.size(0), dtype=torch.float64)
    for block in range(of_a.size(1)):
        part = slice(128 * block, 128 * (block + 1))
        sums = a[:, part].double() @ b[:, part].double().t()
        total += sums * of_a[:, block, None] * of_b[None, :, block]
    return total


def scaled_linear(x, weight, scale_a, scale_b, scaling, fast_sums, workspace):
    for scale in (scale_a, scale_b):
        assert scale.is_contiguous() and scale.dtype == torch.float32
    of_a = factors(scaling, scale_a, x.size(0), x.size(1), False)
    of_b = factors(scaling, scale_b, weight.size(0), x.size(1), True)
    return product(x, weight, of_a, of_b).bfloat16()


def scaled_workspace_bytes(x, weight, scale_a, scale_b, scaling, fast_sums):
    return 1000 * x.size(0) + fast_sums


def define_operators():
    """Those which fp8.py calls with tensors, by the schemas of operators.cpp."""
    source = (EXAMPLES / "operators.cpp").read_text()
    schemas = ["".join(re.findall(r'"([^"]*)"', words))
               for words in re.findall(r'library\.def\(\s*((?:"[^"]*"\s*)+)\)', source)]
    library = torch.library.Library("hgemm_tuned", "DEF")
    for function in (scaled_linear, scaled_workspace_bytes):
        [schema] = [s for s in schemas if s.startswith(function.__name__ + "(")]
        library.define(schema)
        library.impl(function.__name__, function, "CPU")
    return library


_library = define_operators()


# ---- Quantising ----


class Quantising(unittest.TestCase):
    setUp = setUp

    def check(self, matrix, rows, columns):
        """Of each block alone: its factor, and that values are the nearest ones of e4m3."""
        values, scale = fp8.quantised(matrix, rows, columns)
        self.assertEqual((values.dtype, values.shape), (E4M3, matrix.shape))
        self.assertTrue(values.is_contiguous())
        height, width = (math.ceil(size / of) for size, of in zip(matrix.shape, (rows, columns)))
        self.assertEqual((scale.dtype, scale.shape), (torch.float32, (height, width)))
        back = fp8.dequantised(values, scale, rows, columns)
        self.assertEqual((back.dtype, back.shape), (torch.float32, matrix.shape))
        for i in range(height):
            for j in range(width):
                of = slice(i * rows, (i + 1) * rows), slice(j * columns, (j + 1) * columns)
                factor = max(largest_of(matrix.float(), *of), 1e-4 / 448)
                self.assertAlmostEqual(scale[i, j].item() / factor, 1, delta=1e-6)
                torch.testing.assert_close(back[of], values[of].float() * factor)
                # Half a unit of three bits of fraction, or of the steps of 2^-9 below them.
                exact = matrix[of].float()
                wrong, allowed = (back[of] - exact).abs(), exact.abs() * 2**-4
                allowed = allowed.clamp(min=2**-10 * factor) * 1.001
                self.assertTrue((wrong <= allowed).all(), (i, j))
        return values, scale

    def test_every_block_has_the_factor_of_its_largest_value(self):
        for m, _, k in SHAPES:
            for rows, columns in ((m, k), (1, k), (1, 128), (128, 128)):
                with self.subTest(m=m, k=k, rows=rows, columns=columns):
                    values, _ = self.check(normal(m, k), rows, columns)
                    self.assertEqual(values.float().abs().max(), 448)

    def test_a_rest_below_128_is_a_block(self):
        matrix = normal(130, 300)
        _, before = self.check(matrix, 128, 128)
        matrix[129, 299] = 1e4
        _, after = self.check(matrix, 128, 128)
        self.assertEqual((before != after).nonzero().tolist(), [[1, 2]])
        self.assertEqual(before.shape, (2, 3))

    def test_zeros_stay_zeros(self):
        matrix = normal(6, 384)
        matrix[2] = 0
        matrix[4, 128:256] = 0
        for rows, columns in ((1, 384), (1, 128)):
            values, scale = self.check(matrix, rows, columns)
            self.assertTrue((values.float()[matrix == 0] == 0).all())
            self.assertTrue(torch.isfinite(scale).all() and (scale > 0).all())
        self.check(torch.zeros(3, 130), 128, 128)

    def test_neither_large_nor_small_values_become_nan(self):
        for dtype, size in ((torch.float32, 3e38), (torch.bfloat16, 3e38), (torch.float16, 6e4),
                            (torch.float32, 1e-30), (torch.float16, 1e-5)):
            with self.subTest(dtype=dtype, size=size):
                matrix = torch.randn(4, 256).clamp(-1, 1).to(dtype) * size
                values, scale = self.check(matrix, 1, 128)
                self.assertTrue(torch.isfinite(values.float()).all())
                self.assertTrue(torch.isfinite(scale).all())

    def test_each_scaling_has_its_blocks(self):
        matrix = torch.zeros(200, 384)
        expected = {"none": (200, 384), "tensor": (200, 384), "rows": (1, 384),
                    "blocks": (1, 128), "row_blocks": (1, 128), "packed_blocks": (1, 128)}
        self.assertEqual(tuple(expected), fp8.SCALINGS)
        for scaling, block_of in expected.items():
            self.assertEqual(fp8.block_of(scaling, False, matrix), block_of)
            of_weight = (128, 128) if scaling in ("blocks", "packed_blocks") else block_of
            self.assertEqual(fp8.block_of(scaling, True, matrix), of_weight)

    def test_without_scales_values_are_converted_alone(self):
        x = fp8.Quantised(torch.tensor([[1.0, -3.3, 0.0, 448.0]]), "none", False)
        self.assertEqual(x.values.float().tolist(), [[1.0, -3.25, 0.0, 448.0]])
        self.assertEqual(x.exact().tolist(), x.values.float().tolist())
        self.assertEqual((x.ours.numel(), x.ours.dtype), (0, torch.float32))


# ---- Scales in memory ----


class Layouts(unittest.TestCase):
    setUp = setUp

    def test_scales_of_blocks_lie_where_the_document_says(self):
        text = (support.SOURCE / "docs/fp8.md").read_text()
        self.assertIn("For M = 6, N = 200, K = 384 there are 3", text)
        places = dict(re.findall(r"^\| ([^|]+) \|[^|]*\| `scale_[ab]\[(.*)\]` \|$", text, re.M))
        cases = []
        for name, place in places.items():
            of_weight = re.match(r"`(\w+)`", name)  # or of A, with each of them
            cases += ([(of_weight[1], True, place)] if of_weight else
                      [(scaling, False, place) for scaling in OF_BLOCKS])
        self.assertLessEqual({("blocks", True), ("row_blocks", True), ("blocks", False)},
                             {case[:2] for case in cases})
        for scaling, is_weight, place in cases:
            with self.subTest(scaling=scaling, is_weight=is_weight, place=place):
                self.check(scaling, is_weight, place.replace("/", "//"))

    def check(self, scaling, is_weight, place):
        matrix = normal(200 if is_weight else 6, 384)
        memory = fp8.Quantised(matrix, scaling, is_weight).ours.flatten()
        shared = 128 if is_weight and scaling != "row_blocks" else 1
        for i in range(matrix.size(0)):
            rows = slice(i // shared * shared, i // shared * shared + shared)
            for l in range(3):
                found = memory[eval(place, {"i": i, "l": l})].item()
                expected = largest_of(matrix, rows, slice(128 * l, 128 * l + 128))
                self.assertAlmostEqual(found / expected, 1, delta=1e-6)

    def test_scales_have_the_shapes_that_the_operator_takes(self):
        for m, n, k in SHAPES:
            blocks = math.ceil(k / 128)
            of_a = (blocks, up(m, 4))
            expected = {"none": ((0,), (0,)), "tensor": ((1,), (1,)), "rows": ((m,), (n,)),
                        "blocks": (of_a, (math.ceil(n / 128), up(blocks, 4))),
                        "row_blocks": (of_a, (blocks, up(n, 4))),
                        "packed_blocks": (of_a, (math.ceil(n / 128), blocks))}
            for scaling, shapes in expected.items():
                with self.subTest(m=m, n=n, k=k, scaling=scaling):
                    pair = operands(m, n, k, scaling)
                    self.assertEqual(tuple(tuple(of.ours.shape) for of in pair), shapes)
                    for of in pair:
                        self.assertTrue(of.ours.is_contiguous())
                        self.assertEqual(of.ours.dtype, torch.float32)

    def test_scaled_mm_is_given_the_same_scales(self):
        def scaled_mm(a, b, scale_a, scale_b, out_dtype, use_fast_accum):
            """With a scale for each so many rows and columns as its shape says."""
            def scaled(matrix, scale):
                if scale.dim() == 0:
                    return matrix.double() * scale
                for dim in (0, 1):
                    each = 128 if scale.size(dim) < matrix.size(dim) and scale.size(dim) > 1 else \
                        matrix.size(dim) // scale.size(dim)
                    scale = scale.repeat_interleave(each, dim).narrow(dim, 0, matrix.size(dim))
                return matrix.double() * scale
            self.assertEqual((out_dtype, use_fast_accum), (torch.bfloat16, True))
            self.assertEqual(b.stride(0), 1)
            if scale_a.dim() and scale_a.size(1) > 1:  # the order that cuBLASLt has
                self.assertEqual((scale_a.stride(0), scale_b.stride(b_neighbours)), (1, 1))
            return scaled(a, scale_a) @ scaled(b, scale_b)

        for scaling in fp8.SCALINGS:
            b_neighbours = 1 if scaling == "row_blocks" else 0
            with self.subTest(scaling=scaling), mock.patch.object(torch, "_scaled_mm", scaled_mm):
                x, weight = operands(6, 200, 384, scaling)
                y = fp8.theirs(weight, scaling, True)(x)
                self.assertLess(fp8.error(y, x.exact() @ weight.exact().t()), 1e-4)


# ---- The layer and its reference ----


class Layer(unittest.TestCase):
    setUp = setUp

    def test_it_computes_the_product_of_the_dequantised_matrices(self):
        for m, n, k in SHAPES:
            for scaling in fp8.SCALINGS:
                with self.subTest(m=m, n=n, k=k, scaling=scaling):
                    x, weight = operands(m, n, k, scaling)
                    expected = x.exact() @ weight.exact().t()
                    if scaling in OF_BLOCKS:  # padding may hold anything
                        x.ours[:, m:] = math.nan
                        used = n if scaling == "row_blocks" else math.ceil(k / 128)
                        weight.ours[:, used:] = math.nan
                    y = fp8.TunedLinear(weight, scaling, False)(x)
                    self.assertEqual((y.shape, y.dtype), ((m, n), torch.bfloat16))
                    self.assertLessEqual(fp8.error(y, expected), fp8.tolerance(k, False, False))

    def test_the_reference_is_near_the_product_that_was_quantised(self):
        x, weight = normal(32, 512), normal(256, 512)
        exact = x @ weight.t()
        errors = {}
        for scaling in SCALED:
            reference = (fp8.Quantised(x, scaling, False).exact()
                         @ fp8.Quantised(weight, scaling, True).exact().t())
            errors[scaling] = ((reference - exact).norm() / exact.norm()).item()
            self.assertGreater(errors[scaling], 0.005, "8 bits are not exact")
            self.assertLess(errors[scaling], 0.05)

    def test_wrong_scales_are_beyond_the_tolerance(self):
        def beyond(change):
            x, weight = operands(6, 200, 384, scaling)
            expected = x.exact() @ weight.exact().t()
            change(x, weight)
            y = fp8.TunedLinear(weight, scaling, True)(x)
            return not fp8.error(y, expected) <= fp8.tolerance(384, True, True)  # nor if it is NaN

        for scaling in SCALED:
            with self.subTest(scaling=scaling):
                self.assertFalse(beyond(lambda x, weight: None))
                self.assertTrue(beyond(lambda x, weight: x.ours.mul_(1.05)))
                self.assertTrue(beyond(lambda x, weight: weight.values.view(torch.uint8).sub_(1)))
                if scaling != "tensor":
                    self.assertTrue(beyond(lambda x, weight: x.ours.copy_(x.ours.flip(-1))))
                if scaling in OF_BLOCKS:
                    self.assertTrue(beyond(lambda x, weight: x.ours.copy_(x.ours.flip(0))))
                self.assertTrue(beyond(lambda x, weight: x.ours.fill_(math.nan)))

    def test_fast_sums_are_allowed_a_larger_error(self):
        rounding = 2**-8
        for k in (512, 16384):
            promoted, fast = (fp8.tolerance(k, is_fast, True) for is_fast in (False, True))
            self.assertGreater(promoted, rounding)
            self.assertGreaterEqual(fast, promoted)
            self.assertEqual(fp8.tolerance(k, True, False) - rounding, (fast - rounding) / 2)
        self.assertGreater(fast, 2 * promoted, "at K = 16384")
        self.assertEqual(promoted, fp8.tolerance(512, False, True), "at any K")

    def test_a_workspace_has_what_the_operator_asks_for(self):
        for fast_sums in (False, True):
            x, weight = operands(6, 200, 384, "rows")
            with mock.patch.object(fp8.Workspace, "reserve") as reserve:
                fp8.TunedLinear(weight, "rows", fast_sums).reserve(x)
            reserve.assert_called_once_with(6000 + fast_sums)


# ---- What it prints ----


ROW = {"error": 0.001, "tolerance": 0.004, "right": True, "quantising": 0.0371, "us": 2.5,
       "their_us": 3.0, "their_ratio": (1.2, 1.1, 1.3), "bf16_us": 5.0,
       "bf16_ratio": (2.0, 1.9, 2.1), "why_none": ""}


class Program(unittest.TestCase):
    def run_main(self, shapes, rows):
        """main() with an operator that was tuned for these shapes: exit code and output."""
        tuned = mock.Mock(**{"scaled_shapes.return_value": [n for shape in shapes for n in shape],
                             "scaled_selected.return_value": "bm128"})
        out = io.StringIO()
        with contextlib.ExitStack() as patches:
            patches.enter_context(contextlib.redirect_stdout(out))
            for target, name, value in ((fp8, "load_arguments", lambda: None),
                                        (fp8, "measure", mock.Mock(side_effect=rows)),
                                        (torch.ops, "hgemm_tuned", tuned),
                                        (torch.cuda, "get_device_name", lambda: "H200")):
                patches.enter_context(mock.patch.object(target, name, value))
            code = fp8.main()
            measured = [call.args for call in fp8.measure.call_args_list]
        return code, out.getvalue(), measured

    def test_a_row_for_each_shape(self):
        refused = {key: value for key, value in ROW.items() if not key.startswith("their")}
        refused["why_none"] = "no such scales"
        code, out, measured = self.run_main([(16, 64, 32, 0, 1), (6, 200, 384, 3, 0)],
                                            [ROW, refused])
        self.assertEqual(code, 0)
        self.assertEqual(measured, [(16, 64, 32, "none", True), (6, 200, 384, "blocks", False)])
        self.assertIn("| 16x64x32.e4m3.accfast | `bm128` | 2.50 | 3.00 | 1.200 [1.100, 1.300] "
                      "| 5.00 | 2.000 [1.900, 2.100] | 0.25 | 0.0371 |\n", out)
        self.assertIn("| 6x200x384.e4m3.scaling-blocks | `bm128` | 2.50 | - | - | 5.00 |", out)
        self.assertIn("torch._scaled_mm refused 6x200x384.e4m3.scaling-blocks: no such scales", out)
        self.assertIn("\n0 wrong\n", out)

    def test_a_wrong_result_fails(self):
        wrong = {"error": 0.01, "tolerance": 0.004, "right": False, "quantising": 0.03}
        code, out, _ = self.run_main([(6, 200, 384, 2, 0), (7, 200, 384, 2, 0)], [wrong, ROW])
        self.assertEqual(code, 1)
        self.assertIn("| 6x200x384.e4m3.scaling-rows | `bm128` | - | - | - | - | - "
                      "| 2.50 WRONG |", out)
        self.assertIn("\n1 wrong\n", out)

    def test_a_package_without_such_shapes(self):
        code, out, _ = self.run_main([], [])
        self.assertEqual(code, 1)
        self.assertIn("no shapes with e4m3 operands", out)
        for name in re.findall(r"fp8[\w-]*\.yaml", out):
            self.assertTrue((support.SOURCE / "configs/shapes" / name).is_file(), name)


class Arguments(unittest.TestCase):
    def setUp(self):
        temporary = support.temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def said(self, *arguments, example=fp8):
        """What an example says when it gives up, before anything is compiled."""
        with mock.patch.object(sys, "argv", ["fp8.py", *map(str, arguments)]), \
                mock.patch.object(cpp_extension, "load") as compiled, \
                self.assertRaises(SystemExit) as left:
            example.main()
        compiled.assert_not_called()
        return left.exception.code

    def test_a_package_or_a_library_that_is_missing_is_named(self):
        exported = self.folder / "exported"
        library = exported / "build/libhgemm_tuned.a"
        for example in (fp8, linear, block):
            for arguments in ((), (exported,), (exported, library, "more")):
                self.assertEqual(self.said(*arguments, example=example),
                                 "usage: python fp8.py PACKAGE LIBRARY")
            message = self.said(exported, library, example=example)
            self.assertIn(f"{exported} is not the folder of an exported package", message)
            self.assertIn(f"hgemm-tune export --format cpp -o {exported}", message)
        self.export(exported)
        for example in (fp8, linear, block):
            message = self.said(exported, library, example=example)
            self.assertIn(f"there is no library {library}; build it: cmake -S {exported}", message)
        self.assertIn("no library", self.said(exported, exported))
        with self.assertRaisesRegex(FileNotFoundError, "no library"):
            package.load(exported, library)

    def test_paths_from_here_are_found_from_where_the_operators_are_linked(self):
        self.export(self.folder / "exported")
        library = self.folder / "libhgemm_tuned.a"
        library.touch()
        before = Path.cwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        ready = mock.Mock()
        with mock.patch.object(cpp_extension, "load") as compiled, \
                mock.patch.object(torch.ops, "hgemm_tuned", ready), \
                mock.patch.object(sys, "argv", ["fp8.py", "exported", "libhgemm_tuned.a"]):
            package.load_arguments()
        options = compiled.call_args.kwargs
        [include] = options["extra_include_paths"]
        self.assertTrue(Path(include, "hgemm_tuned.h").is_file() and Path(include).is_absolute())
        self.assertTrue(Path(options["extra_ldflags"][0]).samefile(library))
        self.assertTrue(Path(options["extra_ldflags"][0]).is_absolute())
        self.assertEqual(options["sources"], [str(EXAMPLES / "operators.cpp")])
        ready.prepare.assert_called_once_with()

    @staticmethod
    def export(folder):
        done = subprocess.run([PROGRAM, "export", "--format", "cpp", "-o", folder, "--recorded",
                               "--shapes", "16x12288x4096"], text=True,
                              capture_output=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    unittest.main()
