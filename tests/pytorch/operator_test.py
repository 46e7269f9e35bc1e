"""torch.ops.hgemm_tune and patched models without a GPU, where torch computes what the operator is
asked for: results, gradients, torch.compile, reports. tests/gpu/pytorch_test.py runs the kernels.

operator_test.py BUILD PROGRAM. Exits with 77 where torch 2.11 is missing (support.py).
"""

import contextlib
import copy
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import unittest
import warnings
from pathlib import Path
from unittest import mock

import support

sys.path.insert(0, str(support.SOURCE / "tests/docs"))
import markdown  # noqa: E402

BUILD, PROGRAM, _folder = support.begin_without_gpu()
FOLDER = Path(_folder.name)

import hgemm_tune  # noqa: E402
import hgemm_tune.pytorch  # noqa: E402
import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402

linear = torch.ops.hgemm_tune.linear
N, K = 12288, 4096
SHAPES = f"16x{N}x{K},2048x{N}x{K}"  # recorded, each with a gain
ACTIVATIONS = {None: lambda y: y, "relu": F.relu, "silu": F.silu, "gelu": F.gelu,
               "gelu_tanh": lambda y: F.gelu(y, approximate="tanh")}


def setUpModule():
    torch.manual_seed(1)
    support.export(PROGRAM, FOLDER / "tuned.hgb", SHAPES)
    unittest.addModuleCleanup(_folder.cleanup)


def normal(*shape, dtype=torch.bfloat16, **options):
    return torch.randn(*shape, dtype=dtype, **options)


class Operator(unittest.TestCase):
    def check(self, x, weight, bias=None, activation=None):
        ours = linear(x, weight, bias, activation)
        theirs = ACTIVATIONS[activation](F.linear(x, weight, bias))
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
        self.assertTrue(ours.is_contiguous())
        return ours

    def test_it_is_torchs_linear_layer(self):
        weight, bias = normal(32, 64), normal(32)
        for grad in (False, True):
            with torch.set_grad_enabled(grad):
                for shape in ((64,), (5, 64), (2, 3, 64), (2, 1, 3, 64), (0, 64)):
                    self.check(normal(*shape), weight)
                    self.check(normal(*shape), weight, bias)
                for activation in ACTIVATIONS:
                    self.check(normal(5, 64), weight, bias, activation)
                    self.check(normal(5, 64), weight, None, activation)

    @torch.no_grad()
    def test_operands_may_lie_in_other_orders(self):
        weight = normal(32, 64)
        self.check(normal(64, 5).t(), weight)
        self.check(normal(5, 64), normal(64, 32).t())
        self.check(normal(64, 5).t(), normal(64, 32).t())
        self.check(normal(3, 5, 64).transpose(0, 1), weight)
        self.check(normal(5, 128)[:, ::2], weight)
        self.check(normal(1, 64).expand(5, 64), weight)
        self.check(normal(5, 80)[:, 8:72], normal(40, 96)[8:, 32:])

    def test_what_does_not_fit_is_refused_with_a_reason(self):
        x, weight = normal(5, 64), normal(32, 64)
        for grad in (False, True):
            for arguments, reason in (((x, normal(32, 63)), "as many columns as the weight"),
                                      ((x, normal(64)), "as many columns as the weight"),
                                      ((x, weight.float()), "one dtype and device"),
                                      ((x, weight, normal(31)), "vector of the weight's outputs"),
                                      ((x, weight, normal(32).half()), "one dtype and device"),
                                      ((x, weight, None, "tanh"), "name relu, gelu, gelu_tanh")):
                with torch.set_grad_enabled(grad), self.subTest(grad=grad, reason=reason):
                    with self.assertRaisesRegex(RuntimeError, reason):
                        linear(*arguments)

    def test_gradients_are_right(self):
        double = {"dtype": torch.float64, "requires_grad": True}
        for shape in ((64,), (5, 8), (2, 3, 8)):
            x, weight, bias = (normal(*sizes, **double) for sizes in (shape, (4, shape[-1]), (4,)))
            for activation in (None, "gelu", "silu"):
                self.assertTrue(torch.autograd.gradcheck(
                    lambda *given: linear(*given, activation), (x, weight, bias)))
            self.assertTrue(torch.autograd.gradgradcheck(linear, (x, weight)))
        x.grad = None
        linear(x.detach(), weight).sum().backward()
        self.assertIsNone(x.grad)
        self.assertIsNotNone(weight.grad)

    def test_torch_has_nothing_against_its_registration(self):
        for requires_grad in (False, True):
            operands = [normal(*shape, dtype=torch.float32, requires_grad=requires_grad)
                        for shape in ((2, 3, 64), (32, 64), (32,))]
            torch.library.opcheck(torch.ops.hgemm_tune._linear_with_grad.default, operands)
            if not requires_grad:
                for activation in ("relu", None):
                    torch.library.opcheck(torch.ops.hgemm_tune._linear.default,
                                          (*operands, activation))

    def test_a_gated_layer_is_torchs_gates_times_ups(self):
        gated = torch.ops.hgemm_tune.gated_linear
        weight = normal(32, 64)
        for name, activation in ACTIVATIONS.items():
            for shape in ((64,), (5, 64), (2, 3, 64), (0, 64)):
                x = normal(*shape)
                gates, ups = F.linear(x, weight).chunk(2, -1)
                for grad in (False, True):
                    with torch.set_grad_enabled(grad):
                        y = gated(x, weight, name)
                    torch.testing.assert_close(y, activation(gates) * ups, rtol=0, atol=0)
                    self.assertTrue(y.is_contiguous())
        for grad in (False, True):
            with torch.set_grad_enabled(grad):
                with self.assertRaisesRegex(RuntimeError, "as many gates as ups"):
                    gated(normal(5, 64), normal(31, 64), "silu")
                with self.assertRaisesRegex(RuntimeError, "as many columns as the weight"):
                    gated(normal(5, 63), weight, "silu")
                with torch.autocast("cpu", torch.bfloat16):
                    y = gated(normal(5, 64).float(), weight.float(), "silu")
                self.assertEqual(y.dtype, torch.bfloat16)
        double = {"dtype": torch.float64, "requires_grad": True}
        self.assertTrue(torch.autograd.gradcheck(
            lambda *given: gated(*given, "silu"), (normal(5, 8, **double), normal(4, 8, **double))))
        torch.library.opcheck(torch.ops.hgemm_tune._gated_linear.default,
                              (normal(2, 3, 64), weight, "silu"))
        compiled, names = support.compiled(lambda x: gated(x, weight, "silu"))
        with torch.no_grad():
            x = normal(5, 64)
            torch.testing.assert_close(compiled(x), gated(x, weight, "silu"), rtol=0, atol=0)
        self.assertEqual(names, ["hgemm_tune._gated_linear.default"])
        with self.product_raises(torch.OutOfMemoryError("CUDA out of memory")), torch.no_grad():
            with self.assertRaisesRegex(torch.OutOfMemoryError, "^CUDA out of memory"):
                gated(normal(5, 64), weight, "silu")

    def test_compiles_into_one_graph_in_which_it_stays_whole(self):
        weight, bias = normal(32, 64, requires_grad=True), normal(32)

        def layers(x):
            return linear(x, weight, bias, "silu") * 2

        for dynamic in (False, True):
            for grad in (False, True):
                with torch.set_grad_enabled(grad), self.subTest(dynamic=dynamic, grad=grad):
                    compiled, names = support.compiled(layers, dynamic=dynamic)
                    for m in (5, 7):
                        x = normal(2, m, 64)
                        torch.testing.assert_close(compiled(x), layers(x), rtol=0, atol=0)
                    name = "_linear_with_grad" if grad else "_linear"
                    self.assertIn(f"hgemm_tune.{name}.default", names)
        compiled, _ = support.compiled(layers)
        x = normal(5, 64)
        ours, theirs = (torch.autograd.grad(f(x).float().sum(), weight)[0]
                        for f in (compiled, layers))
        torch.testing.assert_close(ours, theirs)

    def test_autocast_asks_for_the_type(self):
        x, weight, bias = (normal(*sizes, dtype=torch.float32)
                           for sizes in ((5, 64), (32, 64), (32,)))
        for grad in (False, True):
            with torch.set_grad_enabled(grad), torch.autocast("cpu", torch.bfloat16):
                self.assertEqual(self.check(x, weight, bias).dtype, torch.bfloat16)
                self.assertEqual(self.check(x.double(), weight.double()).dtype, torch.float64)
                compiled, _ = support.compiled(lambda x: linear(x, weight, bias, "relu"))
                torch.testing.assert_close(compiled(x), linear(x, weight, bias, "relu"))
                with self.assertRaises(RuntimeError):
                    linear(x.int(), weight, bias)

    @contextlib.contextmanager
    def product_raises(self, error, times=1000):
        """torch's own product of matrices on a CPU raises the error, so many times."""
        raised = []

        def mm(a, b):
            if len(raised) < times:
                raised.append(error)
                raise error
            return torch.einsum("mk,kn->mn", a.float(), b.float()).to(a.dtype)

        library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it replaces torch's
            library.impl("mm", mm, "CPU")
        try:
            yield raised
        finally:
            library._destroy()

    def test_errors_of_torch_are_what_they_are(self):
        x, weight = normal(5, 64), normal(32, 64)
        huge = normal(1, 64).expand(2**42, 64)
        layer = torch.nn.Linear(64, 32, bias=False, dtype=torch.bfloat16)
        layer.__class__ = hgemm_tune.pytorch.TunedLinear
        compiled, _ = support.compiled(lambda x, weight: linear(x, weight, None, "relu"))
        compiled(x, weight)
        compiled(huge[:5], weight)
        calls = [linear, linear.default, compiled, lambda x, _: layer(x)]
        error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")
        for grad in (False, True):
            for index, call in enumerate(calls):
                with torch.set_grad_enabled(grad), self.subTest(grad=grad, call=index):
                    with self.assertRaisesRegex(RuntimeError, "t allocate memory: you tried to"):
                        call(huge, weight)
                    with self.product_raises(error):
                        with self.assertRaisesRegex(torch.OutOfMemoryError, "^CUDA out of memory"):
                            call(x, weight)
            with torch.set_grad_enabled(grad):
                with self.assertRaisesRegex(NotImplementedError, "not implemented for 'Bool'"):
                    linear(x.bool(), weight.bool())
                with torch.autocast("cpu", torch.bfloat16), self.product_raises(error):
                    with self.assertRaises(torch.OutOfMemoryError):
                        linear(x.float(), weight.float())

    def test_what_torch_can_compute_by_now_is_computed(self):
        x, weight, bias = normal(5, 64), normal(32, 64), normal(32)
        expected = F.gelu(F.linear(x, weight))
        for grad in (False, True):
            with torch.set_grad_enabled(grad):
                with self.product_raises(torch.OutOfMemoryError("once"), 1) as raised:
                    ours = linear(x, weight, activation="gelu")
            torch.testing.assert_close(ours, expected)
            self.assertEqual(len(raised), 1)

    def test_inference_mode(self):
        with torch.inference_mode():
            self.check(normal(5, 64), normal(32, 64), normal(32), "gelu")


class Special(torch.nn.Linear):
    pass


class SpecialTensor(torch.Tensor):
    pass


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layer = lambda k, n, **options: torch.nn.Linear(
            k, n, bias=options.pop("bias", False), dtype=options.pop("dtype", torch.bfloat16))
        self.up = layer(K, N)
        self.with_bias = layer(K, N, bias=True)
        self.other = layer(K, 8)
        self.fp32 = layer(8, 8, dtype=torch.float32)
        self.special = Special(8, 8, dtype=torch.bfloat16)
        self.quantised = layer(8, 8)
        self.quantised.weight = torch.nn.Parameter(normal(8, 8).as_subclass(SpecialTensor))
        self.hooked = layer(8, 8)
        self.hooked.forward = self.hooked.forward


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = Model()

    def setUp(self):
        self.bundle = hgemm_tune.load(FOLDER / "tuned.hgb")
        self.addCleanup(self.bundle.close)
        self.addCleanup(hgemm_tune.use, None)
        self.addCleanup(hgemm_tune.unpatch, self.model)

    def test_report_says_what_was_replaced_and_why_not(self):
        report = hgemm_tune.patch(self.model, self.bundle)
        [up] = report.replaced
        self.assertEqual((up.name, up.n, up.k, up.reason), ("up", N, K, ""))
        self.assertEqual([gain.m for gain in up.gains], [16, 2048])
        self.assertTrue(all(gain.is_proven and gain.ratio > 1 for gain in up.gains))
        reasons = {layer.name: layer.reason for layer in report.layers}
        for name, reason in (("with_bias", "nothing was tuned"), ("other", "nothing was tuned"),
                             ("fp32", "float32, not bf16 or fp16"), ("special", "it is a Special"),
                             ("quantised", "its weight is a SpecialTensor"),
                             ("hooked", "replaced its forward")):
            self.assertIn(reason, reasons[name])
        self.assertRegex(str(report), r"^1 of 7 linear layers replaced\nup  12288x4096  "
                                      r"replaced: m=16 1\.\d+x, m=2048 1\.\d+x\nwith_bias ")

    def test_layers_that_were_not_tuned_can_be_counted(self):
        report = hgemm_tune.patch(self.model, self.bundle, count_misses=True)
        self.assertEqual([layer.name for layer in report.replaced], ["up"])
        self.assertEqual([layer.name for layer in report.layers if layer.counted],
                         ["with_bias", "other"])
        self.assertIn("\nother  8x4096  misses counted: nothing was tuned for it\n", str(report))
        x = normal(3, K)
        with torch.no_grad():
            torch.testing.assert_close(self.model.other(x), F.linear(x, self.model.other.weight),
                                       rtol=0, atol=0)
        self.assertEqual(hgemm_tune.unpatch(self.model), 3)

    def test_without_a_proven_gain_a_layer_is_left_alone(self):
        for row in self.bundle.rows:
            row["gain"] = False
        report = hgemm_tune.patch(self.model, self.bundle)
        self.assertEqual(report.replaced, ())
        self.assertIn("cuBLAS is as fast at all tuned numbers of rows (16, 2048)",
                      report.layers[0].reason)
        with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, "only_gains=True, which is one for"):
            hgemm_tune.patch(self.model, only_gains=False)
        hgemm_tune.use(None)
        report = hgemm_tune.patch(self.model, self.bundle, only_gains=False)
        self.assertEqual(len(report.replaced), 1)
        self.assertEqual(len(hgemm_tune.patch(self.model).replaced), 1, "as the one in use")
        hgemm_tune.use(None)
        report = hgemm_tune.patch(self.model, self.bundle)
        self.assertEqual(report.replaced, (), "and is given back")
        self.assertIs(type(self.model.up), torch.nn.Linear)

    def test_a_batch_invariant_bundle_computes_all_layers_that_it_has(self):
        self.assertFalse(self.bundle.batch_invariant)
        support.export(PROGRAM, FOLDER / "invariant.hgb", SHAPES, "--batch-invariant")
        bundle = hgemm_tune.load(FOLDER / "invariant.hgb")
        self.addCleanup(bundle.close)
        self.addCleanup(hgemm_tune.use, None)
        self.assertTrue(bundle.batch_invariant)
        self.assertFalse(any("split" in row["label"] for row in bundle.rows))
        for row in bundle.rows:
            row["gain"] = False
        report = hgemm_tune.patch(self.model, bundle)
        self.assertTrue(report.batch_invariant)
        self.assertEqual([layer.name for layer in report.replaced], ["up"])
        self.assertRegex(str(report), "^1 of 7 linear layers replaced, batch-invariant: by kernels "
                                      "at every number of rows, gain or not\n")
        self.assertEqual(len(hgemm_tune.pytorch.proven_products(bundle)), 1)

    def test_a_transposed_weight_is_left_alone(self):
        layer = torch.nn.Linear(8, 16, bias=False, dtype=torch.bfloat16)
        layer.weight = torch.nn.Parameter(normal(8, 16).t())
        [reported] = hgemm_tune.patch(layer, self.bundle).layers
        self.assertEqual(reported.reason, "its weight is not contiguous")
        self.assertIs(type(layer), torch.nn.Linear)

    def test_other_ways_to_differentiate_are_torchs(self):
        hgemm_tune.patch(self.model, self.bundle)
        x, tangent, weight = normal(3, K), normal(3, K), self.model.up.weight.detach()
        self.assertIs(type(self.model.up), hgemm_tune.pytorch.TunedLinear)
        of_x = lambda x: torch.func.functional_call(self.model.up, {"weight": weight}, (x,))
        _, ours = torch.func.jvp(of_x, (x,), (tangent,))
        torch.testing.assert_close(ours, F.linear(tangent, weight), rtol=0, atol=0)
        gradient = torch.func.grad(lambda x: of_x(x).float().sum())(x)
        torch.testing.assert_close(gradient, torch.ones(3, N, dtype=x.dtype) @ weight)
        with torch.autograd.forward_ad.dual_level(), torch.no_grad():
            dual = torch.autograd.forward_ad.make_dual(x, tangent)
            _, ours = torch.autograd.forward_ad.unpack_dual(self.model.up(dual))
        torch.testing.assert_close(ours, F.linear(tangent, weight), rtol=0, atol=0)

    def test_layers_stay_what_they_were(self):
        x = normal(3, K)
        def addresses():
            return {name: value.data_ptr() for name, value in self.model.state_dict().items()}

        state = addresses()
        with torch.no_grad():
            expected = self.model.up(x)
            hgemm_tune.patch(self.model, self.bundle)
            self.assertIsInstance(self.model.up, torch.nn.Linear)
            for up in (self.model.up, copy.deepcopy(self.model.up)):
                self.assertIs(type(up), hgemm_tune.pytorch.TunedLinear)
                torch.testing.assert_close(up(x), expected, rtol=0, atol=0)
            moved = copy.deepcopy(self.model.up).to(torch.float32)
            torch.testing.assert_close(moved(x.float()), F.linear(x.float(), moved.weight))
        self.assertEqual(addresses(), state)
        self.model.up(x).sum().backward()
        self.assertIsNotNone(self.model.up.weight.grad)
        self.model.up.weight.grad = None
        stored = io.BytesIO()
        torch.save(self.model.up.state_dict(), stored)

    def test_unpatch_gives_every_layer_back(self):
        hgemm_tune.patch(self.model, self.bundle)
        self.assertEqual(hgemm_tune.unpatch(self.model), 1)
        self.assertEqual(hgemm_tune.unpatch(self.model), 0)
        self.assertIs(type(self.model.up), torch.nn.Linear)
        self.assertIs(type(self.model.special), Special)

    def test_a_patched_layer_compiles_into_one_graph(self):
        hgemm_tune.patch(self.model, self.bundle)
        torch._dynamo.reset()
        with torch.no_grad():
            compiled = torch.compile(self.model.up, fullgraph=True, backend="aot_eager")
            x = normal(3, K)
            torch.testing.assert_close(compiled(x), self.model.up(x), rtol=0, atol=0)

    def test_one_bundle_is_in_use(self):
        hgemm_tune.use(self.bundle)
        self.assertEqual(hgemm_tune.calls(), (0, 0))
        self.assertEqual(len(hgemm_tune.patch(self.model).replaced), 1)
        with hgemm_tune.load(FOLDER / "tuned.hgb") as other:
            for bundle in (other, FOLDER / "none.hgb"):
                with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, "is in use already"):
                    hgemm_tune.patch(self.model, bundle)
        for path in (self.bundle.path, str(self.bundle.path)):
            self.assertEqual(len(hgemm_tune.patch(self.model, path).replaced), 1, "as it is in use")
        with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, r"use\(None\) first"):
            self.bundle.close()

    def test_bundles_say_what_they_hold(self):
        self.assertEqual([(row["m"], row["n"], row["k"]) for row in self.bundle.rows],
                         [(16, N, K), (2048, N, K)])
        self.assertEqual(self.bundle.valid_for["gpu"], "NVIDIA H200")
        self.assertIn("shapes: []", self.bundle.misses())
        with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, "no.such.hgb"):
            hgemm_tune.load("no.such.hgb")
        with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, "driver"):
            self.bundle.prepare()
        self.bundle.close()
        for call in (self.bundle.misses, lambda: hgemm_tune.patch(self.model, self.bundle)):
            with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, "the bundle is closed"):
                call()

    def test_a_llama_computes_the_same(self):
        if importlib.util.find_spec("transformers") is None:
            self.skipTest("no transformers")
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(vocab_size=64, hidden_size=K, intermediate_size=N, num_hidden_layers=1,
                             num_attention_heads=32, num_key_value_heads=2)
        model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
        tokens = torch.arange(6)[None]
        with torch.no_grad():
            expected = model(tokens).logits
            report = hgemm_tune.patch(model, self.bundle)
            self.assertEqual({layer.name.rsplit(".")[-1] for layer in report.replaced},
                             {"gate_proj", "up_proj"})
            torch.testing.assert_close(model(tokens).logits, expected, rtol=0, atol=0)
        self.assertEqual(hgemm_tune.unpatch(model), 2)


@contextlib.contextmanager
def on_gpu(name, refused=None):
    """As if this were a machine with such a GPU; the mock of Bundle.prepare(), which refuses it if
    there is a reason."""
    error = refused and hgemm_tune.HgemmTuneError(refused)
    with (mock.patch.multiple(torch.cuda, is_available=lambda: True, current_device=lambda: 3,
                              get_device_name=lambda: name),
          mock.patch.object(hgemm_tune.Bundle, "prepare", side_effect=error) as prepare):
        yield prepare


class Machines(unittest.TestCase):
    """Bundles given by file, and that of the package, where they can be used and where not."""

    def setUp(self):
        self.model = torch.nn.Sequential(torch.nn.Linear(4096, 4096, bias=False),
                                         torch.nn.Linear(8, 8)).to(torch.bfloat16)
        self.addCleanup(hgemm_tune.use, None)
        hgemm_tune.pytorch._opened.clear()

    def expect_left_alone(self, reason, *given):
        self.model[0].__class__ = hgemm_tune.pytorch.TunedLinear  # as patched before
        with self.assertLogs("hgemm_tune", "WARNING") as logged:
            report = hgemm_tune.patch(self.model, *given)
        self.assertEqual(len(logged.output), 1)
        self.assertRegex(logged.output[0], f"torch computes all linear layers: {reason}")
        self.assertRegex(str(report), f"^0 of 2 linear layers replaced\n0  4096x4096  left alone: "
                                      f"{reason}.*\n1  8x8  left alone: {reason}")
        self.assertIs(type(self.model[0]), torch.nn.Linear)
        self.assertIsNone(hgemm_tune.pytorch._in_use)

    def test_a_file_is_opened(self):
        layer = torch.nn.Linear(K, N, bias=False, dtype=torch.bfloat16, device="meta")
        self.assertEqual(len(hgemm_tune.patch(layer, FOLDER / "tuned.hgb").replaced), 1)
        self.assertEqual(len(hgemm_tune.patch(layer).replaced), 1, "it is in use")

    def test_a_damaged_or_missing_file_is_a_warning(self):
        damaged = FOLDER / "damaged.hgb"
        content = bytearray((FOLDER / "tuned.hgb").read_bytes())
        content[len(content) // 2] ^= 1
        damaged.write_bytes(content)
        with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, "is damaged"):
            hgemm_tune.load(damaged)
        self.expect_left_alone(f"{damaged} is damaged: ", damaged)
        self.expect_left_alone("none.hgb: cannot be read: ", "none.hgb")

    def test_another_gpu_or_driver_is_a_warning(self):
        path = FOLDER / "tuned.hgb"
        for why in ("this GPU is NVIDIA H100 NVL with", "the driver is 590.1, and"):
            with on_gpu("NVIDIA H200", why), hgemm_tune.load(path) as bundle:
                self.expect_left_alone(f"{path}: {why}", bundle)
                with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, f"^{why}"):
                    hgemm_tune.use(bundle)
                self.expect_left_alone(f"{path}: {why}", path)
                self.expect_left_alone(f".*/shipped/h200.hgb: {why}")

    def test_that_no_bundle_came_with_the_package_is_a_warning(self):
        self.expect_left_alone("no bundle is in use, and there is no GPU here")
        with on_gpu("NVIDIA L4"):
            self.expect_left_alone("no bundle for NVIDIA L4 came with this package")

    def test_the_bundle_of_the_package_is_taken_on_its_gpu(self):
        with on_gpu("NVIDIA H200") as prepare, self.assertNoLogs("hgemm_tune"):
            [layer] = hgemm_tune.patch(self.model).replaced
        self.assertEqual((layer.name, layer.n, layer.k), ("0", 4096, 4096))
        self.assertTrue(any(gain.is_proven for gain in layer.gains))
        prepare.assert_called_once_with(3)
        bundle, only_gains = hgemm_tune.pytorch._in_use
        self.assertEqual((bundle.path.name, only_gains), ("h200.hgb", True))
        x = normal(2, 4096)
        self.assertTrue(torch.equal(self.model[0](x), F.linear(x, self.model[0].weight)))
        hgemm_tune.use(None)
        with on_gpu("NVIDIA H200"):
            hgemm_tune.patch(self.model)
        self.assertIs(hgemm_tune.pytorch._in_use[0], bundle, "it was opened once")


class Import(unittest.TestCase):
    def test_the_package_alone_does_not_import_torch(self):
        code = ("import sys, hgemm_tune\n"
                "hgemm_tune.load(sys.argv[1]).close()\n"
                "assert 'torch' not in sys.modules\n"
                "hgemm_tune.patch\n"
                "assert 'torch' in sys.modules")
        done = subprocess.run([sys.executable, "-c", code, FOLDER / "tuned.hgb"], text=True,
                              capture_output=True, env={**os.environ, "PYTHONPATH": str(FOLDER)})
        self.assertEqual(done.returncode, 0, done.stderr)


class Libraries(unittest.TestCase):
    """The package's two libraries, one of which is linked with the other."""

    def setUp(self):
        folder = support.temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.lib = self.folder / "hgemm_tune/lib"
        for part in ("hgemm_tune", "hgemm_tune-0.dist-info"):
            shutil.copytree(FOLDER / part, self.folder / part)
        # One of the same name elsewhere, as another installation has it.
        self.others = self.folder / "others"
        self.others.mkdir()
        shutil.copy(self.lib / "libhgemm_tune.so", self.others)

    def run_python(self, code):
        return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": str(self.folder),
                                   "LD_LIBRARY_PATH": str(self.others)})

    def expect_refused(self, reason, before=""):
        done = self.run_python(before + "import hgemm_tune.pytorch")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr.splitlines()[-1], f"HgemmTuneError: .*{reason}")

    def test_they_are_those_of_the_package_wherever_others_are(self):
        done = self.run_python("import hgemm_tune.pytorch\nprint(open('/proc/self/maps').read())")
        self.assertEqual(done.returncode, 0, done.stderr)
        loaded = {line.split()[-1] for line in done.stdout.splitlines() if "libhgemm" in line}
        self.assertEqual(loaded, {str(path) for path in self.lib.iterdir()})

    def test_a_missing_one_is_named(self):
        for name in ("libhgemm_tune_torch.so", "libhgemm_tune.so"):
            (self.lib / name).unlink()
            self.expect_refused(f"lib/{name}: cannot open shared object .*; install the package")

    def test_one_of_another_version_is_named(self):
        shutil.copy(self.lib / "libhgemm_tune.so", self.lib / "libhgemm_tune_torch.so")
        self.expect_refused("lib/libhgemm_tune_torch.so is of another version than this package; "
                            "install the package")
        self.expect_refused("lib/libhgemm_tune.so is of another version than this package; "
                            "install the package", "import hgemm_tune.bundles as b; b._ABI = 0; ")

    def test_bundles_are_not_shared_with_another_that_is_loaded_already(self):
        before = f"import ctypes; ctypes.CDLL({str(self.others / 'libhgemm_tune.so')!r}); "
        self.expect_refused("has loaded another libhgemm_tune.so than", before)


class Manual(unittest.TestCase):
    def test_examples_run(self):
        pages = [support.SOURCE / "README.md", *(support.SOURCE / "docs").glob("*.md")]
        blocks = [block for path in pages
                  for block in markdown.Page(path.read_text()).blocks
                  if (block.language, block.words) == ("python", ["torch"])]
        self.assertTrue(blocks)
        (FOLDER / "llama.hgb").symlink_to(FOLDER / "tuned.hgb")
        for block in blocks:
            done = subprocess.run([sys.executable, "-c", block.text], text=True, cwd=FOLDER,
                                  capture_output=True,
                                  env={**os.environ, "PYTHONPATH": str(FOLDER)})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout)
            self.assertNotIn("False", done.stdout)


if __name__ == "__main__":
    unittest.main()
