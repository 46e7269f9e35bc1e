"""Layers of one input as one product (python/hgemm_tune/layers.py), without a GPU, where torch
computes it: which layers are one, that they compute what they did, and when each is computed alone.

layers_test.py BUILD PROGRAM. Exits with 77 where torch 2.11 is missing (support.py).
"""

import copy
import io
import unittest
from pathlib import Path
from unittest import mock

import support

BUILD, PROGRAM, _folder = support.begin_without_gpu()
FOLDER = Path(_folder.name)

import hgemm_tune  # noqa: E402
import hgemm_tune.pytorch  # noqa: E402
import torch  # noqa: E402
from hgemm_tune import inductor  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def setUpModule():
    torch.manual_seed(1)
    support.export(PROGRAM, FOLDER / "tuned.hgb", "16x12288x4096")
    unittest.addModuleCleanup(_folder.cleanup)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.bfloat16)


class Attention(torch.nn.Module):
    def __init__(self, bias=False):
        super().__init__()
        for name, outputs in (("q_proj", 64), ("k_proj", 16), ("v_proj", 16)):
            setattr(self, name, torch.nn.Linear(32, outputs, bias=bias, dtype=torch.bfloat16))

    def forward(self, x, other=None):
        other = x if other is None else other
        return torch.cat([self.q_proj(x), self.k_proj(other), self.v_proj(other)], -1)


class Feedforward(torch.nn.Module):
    def __init__(self, activation=torch.nn.SiLU, bias=False):
        super().__init__()
        self.gate_proj = torch.nn.Linear(32, 48, bias=bias, dtype=torch.bfloat16)
        self.up_proj = torch.nn.Linear(32, 48, bias=bias, dtype=torch.bfloat16)
        self.down_proj = torch.nn.Linear(48, 32, bias=False, dtype=torch.bfloat16)
        self.act_fn = activation()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class Clamped(Feedforward):
    """What shows only with large values."""

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)).clamp(max=10) * self.up_proj(x))


class Sparse(Feedforward):
    def __init__(self, kept):
        super().__init__()
        self.kept = kept

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x) * self.kept)


class UpsFirst(Feedforward):
    def forward(self, x):
        return self.down_proj(self.gate_proj(x) * self.act_fn(self.up_proj(x)))


class OneProduct(unittest.TestCase):
    """Layers of one input as one product, which torch computes here."""

    def setUp(self):
        self.bundle = hgemm_tune.load(FOLDER / "tuned.hgb")
        self.addCleanup(self.bundle.close)
        self.addCleanup(hgemm_tune.use, None)
        self.products = []

    def tuned_for(self, *products, gain=True):
        """The bundle says so."""
        self.bundle.rows[:] = [
            {**self.bundle.rows[0], "m": 4, "n": n, "k": k, "lda": k, "ldb": k, "gain": gain,
             "ldd": n if epilogue in ("plain", "bias") else n // 2, "epilogue": epilogue}
            for n, k, epilogue in products]

    def computed(self, module, *inputs):
        """The result, and the outputs of each product that it took."""
        outputs = []

        class Noted(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                result = function(*args, **(kwargs or {}))
                if "hgemm_tune" in str(function) or "mm" in str(function):
                    outputs.append(result.shape[-1])
                return result

        with Noted():
            return module(*inputs), outputs

    def check(self, module, expected_outputs, *inputs):
        """That a patched module computes what it did, by products of so many outputs."""
        inputs = inputs or (normal(2, 3, 32),)
        with torch.no_grad():
            hgemm_tune.unpatch(module)
            expected = module(*inputs)
            report = hgemm_tune.patch(module, self.bundle)
            for _ in range(2):
                result, outputs = self.computed(module, *inputs)
                torch.testing.assert_close(result, expected, rtol=0.02, atol=0.02)
            self.assertEqual(outputs, expected_outputs)
        return report

    def test_queries_keys_and_values(self):
        for bias in (False, True):
            module = Attention(bias)
            names = list(module.state_dict())
            self.tuned_for((96, 32, "bias" if bias else "plain"))
            report = self.check(module, [96])
            self.assertEqual(len(report.replaced), 3)
            self.assertIn("k_proj  16x32  q_proj+k_proj+v_proj in one product, replaced: m=4 1.",
                          str(report))
            self.assertEqual(list(module.state_dict()), names)
            with torch.inference_mode():
                self.assertEqual(self.computed(module, normal(5, 32))[1], [96])
            self.assertEqual(hgemm_tune.unpatch(module), 3)
            self.assertIs(type(module.k_proj), torch.nn.Linear)
            self.assertFalse({"_siblings", "_place"} & vars(module.k_proj).keys())

    def test_gate_and_up(self):
        activations = {"swiglu": torch.nn.SiLU, "geglu_erf": torch.nn.GELU, "reglu": torch.nn.ReLU,
                       "geglu": lambda: torch.nn.GELU(approximate="tanh"),
                       "bilinear": torch.nn.Identity}
        for word, activation in activations.items():
            with self.subTest(word):
                module = Feedforward(activation)
                self.tuned_for((96, 32, word))
                report = self.check(module, [48, 32])
                self.assertEqual([layer.name for layer in report.replaced],
                                 ["gate_proj", "up_proj"])
                self.assertIn(f"gate_proj+up_proj, {word} in one product", str(report))
                self.assertIsInstance(module, Feedforward)
                self.assertEqual(hgemm_tune.unpatch(module), 2)
                self.assertIs(type(module), Feedforward)

    def test_what_is_no_such_block_is_left(self):
        self.tuned_for((96, 32, "swiglu"))
        for module in (UpsFirst(), Feedforward(bias=True), Feedforward(torch.nn.Tanh), Clamped(),
                       Feedforward(torch.nn.ReLU6)):
            self.assertEqual(self.check(module, [48, 48, 32]).replaced, ())
        both = torch.nn.Sequential(Sparse(1), Sparse(0.5))  # one class
        self.assertEqual([layer.name for layer in self.check(both, [48, 32, 48, 48, 32]).replaced],
                         ["0.gate_proj", "0.up_proj"])
        both = torch.nn.Sequential(Feedforward(torch.nn.GELU),
                                   Feedforward(lambda: torch.nn.GELU(approximate="tanh")))
        self.tuned_for((96, 32, "geglu"))
        self.assertEqual([layer.name for layer in self.check(both, [48, 48, 32, 48, 32]).replaced],
                         ["1.gate_proj", "1.up_proj"])
        self.tuned_for((96, 32, "swiglu"))
        module = Feedforward()
        module.forward = module.forward
        self.assertEqual(self.check(module, [48, 48, 32]).replaced, ())
        calls = []
        module = Feedforward()
        module.register_forward_hook(lambda *_: calls.append(1))
        drawn = torch.random.get_rng_state()
        self.check(module, [48, 32])
        self.assertEqual(len(calls), 3, "nobody is called with what finds out what a block is")
        hgemm_tune.patch(module, self.bundle)
        torch.manual_seed(3)
        before = torch.random.get_rng_state()
        hgemm_tune.patch(module, self.bundle)
        self.assertTrue(torch.equal(torch.random.get_rng_state(), before))
        torch.random.set_rng_state(drawn)
        module.act_fn.register_forward_hook(lambda *_: calls.append(1))
        self.check(module, [48, 48, 32])

    def test_only_where_the_table_has_a_gain(self):
        self.tuned_for((96, 32, "plain"), (96, 32, "swiglu"), gain=False)
        self.assertEqual(self.check(Attention(), [64, 16, 16]).replaced, ())
        self.assertEqual(self.check(Feedforward(), [48, 48, 32]).replaced, ())
        self.tuned_for((64, 32, "plain"))
        self.assertEqual([layer.name for layer in self.check(Attention(), [64, 16, 16]).replaced],
                         ["q_proj"])
        module = Attention()
        self.tuned_for((96, 32, "plain"))
        hgemm_tune.patch(module, self.bundle, fuse=False)
        self.assertEqual(self.computed(module, normal(5, 32))[1], [64, 16, 16])

    def test_misses_are_those_of_the_one_product(self):
        module = torch.nn.ModuleList([Attention(), Feedforward()])
        self.tuned_for((64, 8, "plain"))
        report = hgemm_tune.patch(module, self.bundle, count_misses=True)
        self.assertEqual([layer.counted for layer in report.layers], [True] * 6)
        self.assertIn("0.k_proj  16x32  q_proj+k_proj+v_proj in one product, misses counted: "
                      "nothing was tuned for it", str(report))
        with torch.no_grad():
            self.assertEqual(self.computed(module[0], normal(5, 32))[1], [96])
            self.assertEqual(self.computed(module[1], normal(5, 32))[1], [48, 32])
        self.tuned_for((64, 32, "plain"))
        report = hgemm_tune.patch(module[0], self.bundle, count_misses=True)
        self.assertEqual([layer.replaced for layer in report.layers], [True, False, False])

    def test_gradients_see_each_layer_and_a_change_of_weights_counts(self):
        module = torch.nn.Sequential(Feedforward(), Attention())
        self.tuned_for((96, 32, "plain"), (96, 32, "swiglu"))
        x = normal(3, 32)
        expected = module(x)
        expected.sum().backward()
        gradients = [parameter.grad.clone() for parameter in module.parameters()]
        module.zero_grad()
        hgemm_tune.patch(module, self.bundle)
        y = module(x)
        torch.testing.assert_close(y, expected)
        y.sum().backward()
        for parameter, gradient in zip(module.parameters(), gradients):
            torch.testing.assert_close(parameter.grad, gradient)
        with torch.no_grad():
            for parameter in module.parameters():  # a step of training reaches the whole
                parameter.mul_(0.5)
            halved, outputs = self.computed(module, x)
            self.assertEqual(outputs, [48, 32, 96])
            hgemm_tune.unpatch(module)
            torch.testing.assert_close(halved, module(x), rtol=0.02, atol=0.02)

    def test_a_compiled_model_has_one_product_in_one_graph(self):
        module, x = torch.nn.Sequential(Feedforward(), Attention(True)), normal(3, 32)
        self.tuned_for((96, 32, "bias"), (96, 32, "swiglu"))
        for dynamic in (False, True):
            for grad in (False, True):
                with torch.set_grad_enabled(grad), self.subTest(dynamic=dynamic, grad=grad):
                    hgemm_tune.unpatch(module)
                    expected = module(x)
                    hgemm_tune.patch(module, self.bundle)
                    compiled, names = support.compiled(module, dynamic=dynamic)
                    for rows in (3, 5, 3):
                        result = compiled(torch.cat([x, x])[:rows])
                        torch.testing.assert_close(result[:3], expected, rtol=0.02, atol=0.02)
                    for name in ("_siblings", "_gated_siblings"):
                        self.assertEqual(f"hgemm_tune.{name}.default" in names, not grad)
                    self.assertIsNone(module[1].q_proj._siblings._kept)
        with torch.no_grad():  # no address of a weight is in the graph
            compiled, _ = support.compiled(module)
            compiled(x)
            moved = {name: value + 1 for name, value in module.state_dict().items()}
            module.load_state_dict(moved, assign=True)
            result = compiled(x)
            hgemm_tune.unpatch(module)
            torch.testing.assert_close(result, module(x), rtol=0.02, atol=0.02)

    @torch.no_grad()
    def test_one_row_is_left_to_inductor_while_it_is_enabled(self):
        module, x = torch.nn.Sequential(Feedforward(), Attention()), normal(5, 32)
        self.tuned_for((96, 32, "plain"), (96, 32, "swiglu"), (32, 48, "plain"))
        hgemm_tune.patch(module, self.bundle)
        self.addCleanup(inductor.disable)
        ours = {f"hgemm_tune.{name}.default"
                for name in ("_siblings", "_gated_siblings", "_linear")}
        for enabled, invariant in ((True, False), (False, False), (True, True)):
            inductor.disable()
            if enabled:
                inductor.enable()
            for rows in (1, 5):
                with (self.subTest(enabled=enabled, invariant=invariant, rows=rows),
                      mock.patch.dict(self.bundle.manifest, batch_invariant=invariant)):
                    compiled, names = support.compiled(module, dynamic=False)
                    torch.testing.assert_close(compiled(x[:rows]), module(x[:rows]), rtol=0.02,
                                               atol=0.02)
                    left = enabled and not invariant and rows == 1
                    self.assertEqual({name for name in names if name.startswith("hgemm_tune.")},
                                     set() if left else ours)
                    calls = len(names)
                    inductor.disable()
                    compiled(x[:rows])
                    self.assertEqual(len(names), calls, "a graph stays what it is")
                    if enabled:
                        inductor.enable()
        attention = Attention(bias=True)
        self.tuned_for((96, 32, "bias"))
        hgemm_tune.patch(attention, self.bundle)
        compiled, names = support.compiled(attention, dynamic=False)
        compiled(x[:1])
        self.assertIn("hgemm_tune._siblings.default", names, "no reduction with a bias")

    def test_other_inputs_and_weights_that_were_moved(self):
        module, x = Attention(), normal(5, 32)
        self.tuned_for((96, 32, "plain"))
        self.check(module, [64, 16, 16], x, normal(5, 32))  # cross-attention, at the second call
        hgemm_tune.patch(module, self.bundle)
        with torch.no_grad():
            expected = F.linear(x + 1, module.k_proj.weight)
            module.q_proj(x)
            x += 1  # the same tensor, with other values
            torch.testing.assert_close(module.k_proj(x), expected, rtol=0, atol=0)
        for move in (copy.deepcopy, lambda moved: moved.to(torch.float32).to(torch.bfloat16),
                     lambda moved: moved.load_state_dict(
                         {name: value.clone() for name, value in moved.state_dict().items()},
                         assign=True) and moved):
            module = Attention()
            hgemm_tune.patch(module, self.bundle)
            moved = move(module)
            with torch.no_grad():
                result = moved(x)
                hgemm_tune.unpatch(moved)
                torch.testing.assert_close(result, moved(x), rtol=0, atol=0)

    def test_what_replaces_a_layer_later_is_called(self):
        class Wrapper(torch.nn.Module):  # as an adapter has it
            def __init__(self, layer):
                super().__init__()
                self.layer = layer

            @property
            def weight(self):
                return self.layer.weight

            bias = None
            _forward_hooks = _forward_pre_hooks = {}

            def forward(self, x):
                return self.layer(x) + 1

        def with_bias(block):
            block.up_proj = torch.nn.Linear(32, 48, dtype=torch.bfloat16)

        def another_gate(block):
            block.act_fn = torch.nn.Tanh()

        def wrapped(block):
            block.gate_proj = Wrapper(block.gate_proj)

        def another_forward(block):
            inner = block.up_proj.forward
            block.up_proj.forward = lambda x: inner(x) + 1

        x = normal(5, 32)
        self.tuned_for((96, 32, "swiglu"))
        for change in (with_bias, another_gate, wrapped, another_forward):
            with self.subTest(change.__name__), torch.no_grad():
                block = Feedforward()
                hgemm_tune.patch(block, self.bundle)
                change(block)
                expected = block.down_proj(block.act_fn(block.gate_proj(x)) * block.up_proj(x))
                torch.testing.assert_close(block(x), expected, rtol=0, atol=0)

    def test_calls_in_another_order(self):
        self.tuned_for((96, 32, "plain"))
        x, module, cached = normal(5, 32), Attention(), Attention()
        with torch.inference_mode():
            hgemm_tune.patch(module, self.bundle)
            for _ in range(3):
                x.normal_()
                for name in ("k_proj", "q_proj", "v_proj"):
                    layer = getattr(module, name)
                    torch.testing.assert_close(layer(x), F.linear(x, layer.weight))
            hgemm_tune.patch(cached, self.bundle)  # where keys and values come from a cache
            outputs = [self.computed(cached.q_proj, x)[1] for _ in range(4)]
            self.assertEqual(outputs, [[96], [96], [64], [64]])
            self.assertIsNone(cached.q_proj._siblings._kept)
        module = Attention()
        hgemm_tune.patch(module, self.bundle)
        replica = module.q_proj._replicate_for_data_parallel()
        replica.weight, replica.bias = module.q_proj.weight.detach().clone(), None
        with torch.no_grad():
            self.assertEqual(self.computed(replica, x.clone())[1], [64])

    def test_models_are_copied_pickled_and_given_back(self):
        self.tuned_for((96, 32, "plain"), (96, 32, "swiglu"))
        model, x = torch.nn.Sequential(Feedforward(), Attention()), normal(5, 32)
        with torch.inference_mode():
            hgemm_tune.patch(model, self.bundle)
        model(x).sum().backward()  # parameters are what can be trained
        stored = io.BytesIO()
        torch.save(model, stored)
        stored.seek(0)
        with torch.no_grad():
            expected = model(x)
            model[1].q_proj(normal(5, 32).requires_grad_())  # results that wait
            for other in (torch.load(stored, weights_only=False), copy.deepcopy(model)):
                self.assertIsInstance(other[0], Feedforward)
                torch.testing.assert_close(other(x), expected, rtol=0.02, atol=0.02)
                self.assertEqual(hgemm_tune.unpatch(other), 5)
        torch.nn.utils.parametrize.register_parametrization(model[0].gate_proj, "weight",
                                                            torch.nn.Identity())
        with torch.no_grad():
            for change in (lambda: hgemm_tune.patch(model, self.bundle),
                           lambda: hgemm_tune.unpatch(model)):
                change()
                torch.testing.assert_close(model(x), expected, rtol=0.02, atol=0.02)

    def test_what_differs_is_no_product(self):
        self.tuned_for((96, 32, "bias"))
        module = Attention(True)
        module.k_proj.bias = torch.nn.Parameter(module.k_proj.bias.detach().float())
        self.assertEqual(hgemm_tune.patch(module, self.bundle).replaced, ())
        self.assertEqual(module.q_proj.bias.dtype, torch.bfloat16)
        self.tuned_for((96, 32, "swiglu"))

        class Named(Feedforward):
            def forward(self, hidden_states, scale=1):
                y = self.act_fn(self.gate_proj(hidden_states)) * self.up_proj(hidden_states)
                return self.down_proj(y) * scale

        block, x = Named(), normal(5, 32)
        with torch.no_grad():
            expected = block(x, scale=2), block(x)
            self.assertEqual(len(hgemm_tune.patch(block, self.bundle).replaced), 2)
            torch.testing.assert_close(block(hidden_states=x, scale=2), expected[0])
            torch.testing.assert_close(block(x), expected[1], rtol=0.02, atol=0.02)
        op = torch.ops.hgemm_tune._gated_siblings
        with self.assertRaisesRegex(RuntimeError, "as many outputs"):
            op(x, normal(48, 32), normal(50, 32), "silu")
        meta = torch.nn.Parameter(torch.empty(16, 32, dtype=torch.bfloat16, device="meta"))
        module = Attention()  # as where a weight is loaded when its layer runs
        self.tuned_for((96, 32, "plain"))
        hgemm_tune.patch(module, self.bundle)
        module.k_proj.weight = meta
        with torch.no_grad():
            self.assertEqual(self.computed(module.q_proj, x)[1], [64])

    def test_a_hook_sees_its_layer(self):
        module, seen = Feedforward(), []
        self.tuned_for((96, 32, "swiglu"))
        hgemm_tune.patch(module, self.bundle)
        handle = module.up_proj.register_forward_hook(lambda *_: seen.append(1))
        with torch.no_grad():
            self.assertEqual(self.computed(module, normal(5, 32))[1], [48, 48, 32])
            handle.remove()
            self.assertEqual(self.computed(module, normal(5, 32))[1], [48, 32])
        self.assertEqual(len(seen), 1)


if __name__ == "__main__":
    unittest.main()
