"""Calls of the operator that fall back to torch at once (python/hgemm_tune/fallback.py), without a
GPU: that only these never reach it, and that results and errors are its own. tests/gpu has kernels.

fallback_test.py BUILD PROGRAM. Exits with 77 where torch 2.11 is missing (support.py).
"""

import copy
import io
import unittest
from unittest import mock

import support

BUILD, PROGRAM, _folder = support.begin_without_gpu()

import hgemm_tune.pytorch  # noqa: E402
import torch  # noqa: E402
from hgemm_tune import fallback as fallback_module  # noqa: E402
from hgemm_tune.fallback import Fallbacks, Shapes  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.nn import functional as F  # noqa: E402

linear = torch.ops.hgemm_tune.linear
ACTIVATIONS = hgemm_tune.pytorch.ACTIVATIONS


def setUpModule():
    torch.manual_seed(1)
    unittest.addModuleCleanup(_folder.cleanup)


def normal(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, dtype=dtype)


def reaches_operator(call):
    """What a call returns, and whether the operator's kernel ran."""
    with torch.profiler.profile() as profile:
        result = call()
    return result, any(event.key.startswith("hgemm_tune::_linear")
                       for event in profile.key_averages())


class KnownCalls(unittest.TestCase):
    def setUp(self):
        hgemm_tune.pytorch._fallbacks.forget()
        self.x, self.weight, self.bias = normal(5, 64), normal(32, 64), normal(32)

    def check(self, expected, reaches, *arguments):
        y, has_reached = reaches_operator(lambda: linear(*arguments))
        torch.testing.assert_close(y, expected, rtol=0, atol=0)
        self.assertEqual(has_reached, reaches)

    @torch.no_grad()
    def know(self, *arguments):
        linear(*arguments)

    @torch.no_grad()
    def test_the_second_call_is_torchs(self):
        for activation, function in ACTIVATIONS.items():
            for bias in (None, self.bias):
                expected = function(F.linear(self.x, self.weight, bias))
                for reaches in (True, False, False):
                    self.check(expected, reaches, self.x, self.weight, bias, activation)

    @torch.no_grad()
    def test_other_shapes_and_types_are_not_known(self):
        self.know(self.x, self.weight)
        for x, weight in ((normal(6, 64), self.weight), (self.x.half(), self.weight.half()),
                          (normal(1, 5, 64), self.weight), (self.x, normal(33, 64))):
            self.check(F.linear(x, weight), True, x, weight)

    @torch.no_grad()
    def test_other_orders_are_the_operators(self):
        self.know(self.x, self.weight)
        for x, weight in ((normal(64, 5).t(), self.weight), (self.x, normal(64, 32).t())):
            self.check(F.linear(x, weight), True, x, weight)

    def test_gradients_are_the_operators(self):
        self.know(self.x, self.weight)
        weight = self.weight.clone().requires_grad_()
        self.check(F.linear(self.x, weight), True, self.x, weight)
        linear(self.x, weight).sum().backward()
        torch.testing.assert_close(weight.grad, self.x.sum(0).expand(32, 64))

    @torch.no_grad()
    def test_errors_are_the_operators(self):
        self.know(self.x, self.weight)
        self.know(self.x, self.weight, self.bias)
        for arguments, reason in (((self.x, self.weight.float()), "one dtype and device"),
                                  ((self.x, self.weight, normal(31)), "vector of the weight's"),
                                  ((self.x, self.weight, normal(1)), "vector of the weight's"),
                                  ((self.x, self.weight, None, "tanh"), "name relu, gelu")):
            for _ in range(2):
                with self.assertRaisesRegex(RuntimeError, reason):
                    linear(*arguments)

    @torch.no_grad()
    def test_a_traced_graph_has_the_operator(self):
        self.know(self.x, self.weight)
        graph = make_fx(lambda x, weight: torch.ops.hgemm_tune._linear(x, weight))(
            self.x, self.weight)
        self.assertIn("hgemm_tune._linear", graph.code)

    @torch.no_grad()
    def test_autocast_asks_for_the_type(self):
        x, weight = self.x.float(), self.weight.float()
        self.know(x, weight)
        with torch.autocast("cpu", torch.bfloat16):
            self.check(F.linear(self.x, self.weight), True, x, weight)

    def test_transformed_calls_are_torchs(self):
        tangent = normal(5, 64)
        for known in (False, True):
            if known:
                self.know(self.x, self.weight)
            _, ours = torch.func.jvp(lambda x: linear(x, self.weight), (self.x,), (tangent,))
            torch.testing.assert_close(ours, F.linear(tangent, self.weight), rtol=0, atol=0)
            many = normal(3, 5, 64)
            ours = torch.vmap(lambda x: linear(x, self.weight))(many)
            torch.testing.assert_close(ours, F.linear(many, self.weight))


class PatchedLayers(unittest.TestCase):
    def setUp(self):
        hgemm_tune.pytorch._fallbacks.forget()
        self.layer = torch.nn.Linear(64, 32, dtype=torch.bfloat16)
        self.tuned = copy.deepcopy(self.layer)
        self.tuned.__class__ = hgemm_tune.pytorch.TunedLinear

    def check(self, x, reaches, tuned=None):
        y, has_reached = reaches_operator(lambda: (tuned or self.tuned)(x))
        torch.testing.assert_close(y, self.layer(x), rtol=0, atol=0)
        self.assertEqual(has_reached, reaches)

    def test_what_torch_computes_does_not_reach_the_operator(self):
        with torch.no_grad():
            self.check(normal(5, 64), False)
            self.check(normal(2, 5, 64), False)
            self.check(normal(64, 5).t(), True)
        self.check(normal(5, 64), True)

    @torch.no_grad()
    def test_another_bundle_is_asked_anew(self):
        asked = []
        with mock.patch.object(hgemm_tune.pytorch._fallbacks, "of",
                               lambda shapes: asked.append(shapes)):
            for _ in range(2):
                self.check(normal(5, 64), True)  # as where a bundle has a kernel
            self.check(normal(6, 64), True)
            hgemm_tune.pytorch._fallbacks.forget()
            self.check(normal(5, 64), True)
        self.assertEqual([shapes.x[0] for shapes in asked], [5, 6, 5])
        self.assertEqual({shapes[1:] for shapes in asked},
                         {((32, 64), (32,), torch.bfloat16, False, None)})

    @torch.no_grad()
    def test_copies_find_out_for_themselves(self):
        self.check(normal(5, 64), False)
        file = io.BytesIO()
        torch.save(self.tuned, file)
        file.seek(0)
        for copied in (copy.deepcopy(self.tuned), torch.load(file, weights_only=False)):
            self.assertIsNot(copied._fallbacks, self.tuned._fallbacks)
            self.assertEqual(len(copied._fallbacks), 0)
            self.check(normal(5, 64), False, copied)
        self.assertEqual(hgemm_tune.unpatch(self.tuned), 1)
        self.assertEqual(vars(self.tuned).keys(), vars(self.layer).keys())

    @torch.no_grad()
    def test_errors_are_the_operators(self):
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, "as many columns as the weight"):
                self.tuned(normal(5, 63))
            with self.assertRaisesRegex(RuntimeError, "one dtype and device"):
                self.tuned(normal(5, 64).float())

    def test_parameters_may_become_attributes(self):
        x = normal(5, 64)
        for name in ("weight", "bias"):
            value = getattr(self.tuned, name).detach()
            delattr(self.tuned, name)
            setattr(self.tuned, name, value)
            for grad in (False, True):
                with torch.set_grad_enabled(grad):
                    torch.testing.assert_close(self.tuned(x), self.layer(x), rtol=0, atol=0)


class Counted(unittest.TestCase):
    """As on a CUDA device, with a runtime that takes notes."""

    def setUp(self):
        self.glue = mock.Mock()
        self.told = []
        self.glue.hgemm_torch_falls_back.side_effect = lambda call: call.m == 5
        self.glue.hgemm_torch_count_fallbacks.side_effect = (
            lambda call, count: self.told.append((call.m, call.n, call.k, call.is_bf16,
                                                  call.has_bias, call.activation, count)))
        self.fallbacks = Fallbacks(self.glue, ACTIVATIONS)

    def known(self, rows, dtype=torch.bfloat16, is_cuda=True, activation=None):
        return self.fallbacks.of(Shapes(torch.Size((rows, 64)), torch.Size((32, 64)), None, dtype,
                                        is_cuda, activation))

    def test_the_runtime_is_asked_once_and_told_of_each_call(self):
        self.assertIsNone(self.known(6), "it has a kernel")
        counted = self.known(5, activation="silu")
        x, weight = normal(5, 64), normal(32, 64)
        for _ in range(3):
            counted.linear(x, weight, None)
        self.assertIs(self.known(5, activation="silu"), counted)
        self.assertEqual(self.glue.hgemm_torch_falls_back.call_count, 2)
        for expected in ([(5, 32, 64, 1, 0, b"silu", 3)], []):
            self.fallbacks.tell()
            self.assertEqual(self.told, expected)
            self.told.clear()
        counted.linear(x, weight, None)
        self.assertIsNone(counted.linear(x.t(), weight, None), "another layout is not counted")
        self.fallbacks.forget()
        self.assertEqual(self.told, [(5, 32, 64, 1, 0, b"silu", 1)])
        self.assertIsNot(self.known(5, activation="silu"), counted)

    def test_types_without_kernels_are_not_asked_for(self):
        x, weight = normal(6, 64), normal(32, 64)
        self.known(6, torch.float32).linear(x, weight, None)
        self.known(6, is_cuda=False).linear(x, weight, None)
        self.assertIsNone(self.known(5, torch.float32, activation="tanh"), "no activation's name")
        self.glue.hgemm_torch_falls_back.assert_not_called()
        self.fallbacks.tell()
        self.assertEqual(self.told, [(6, 32, 64, 0, 0, None, 1)], "calls on CPUs are not counted")

    def test_of_many_shapes_all_are_found_anew(self):
        first = self.known(5)
        first.linear(normal(5, 64), normal(32, 64), None)
        with mock.patch.object(fallback_module, "_MOST", 3):
            for rows in (6, 7, 8):
                self.known(rows)
        self.assertEqual(self.told, [(5, 32, 64, 1, 0, None, 1)])
        self.assertIsNot(self.known(5), first)


if __name__ == "__main__":
    unittest.main()
