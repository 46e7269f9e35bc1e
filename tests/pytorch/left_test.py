"""Calls of the operator that torch computes at once (python/hgemm_tune/left.py), without a GPU: that
only these never reach the operator, and that results and errors are its own. tests/gpu has kernels.

left_test.py BUILD PROGRAM. Exits with 77 where torch 2.11 is missing (support.py).
"""

import copy
import unittest

import support

BUILD, PROGRAM, _folder = support.begin_without_gpu()

import hgemm_tune.pytorch  # noqa: E402
import torch  # noqa: E402
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
        hgemm_tune.pytorch._left.forget()
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
    def test_parameters_may_become_attributes(self):
        layer = torch.nn.Linear(64, 32, dtype=torch.bfloat16)
        tuned, x = copy.deepcopy(layer), normal(5, 64)
        tuned.__class__ = hgemm_tune.pytorch.TunedLinear
        for name in ("weight", "bias"):
            value = getattr(tuned, name).detach()
            delattr(tuned, name)
            setattr(tuned, name, value)
            for grad in (False, True):
                with torch.set_grad_enabled(grad):
                    torch.testing.assert_close(tuned(x), layer(x), rtol=0, atol=0)


if __name__ == "__main__":
    unittest.main()
