"""The plug-ins of vLLM and SGLang without a GPU: who computes a linear layer, what is logged, and
that nothing stays replaced. It runs beside stand-ins (stand_ins/), and where vLLM or SGLang is
installed again beside that. Neither is run on a GPU here.

plugins_test.py BUILD PROGRAM. Exits with 77 where torch 2.11 is missing (support.py).
"""

import contextlib
import importlib
import importlib.machinery
import logging
import os
import re
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

import contract
import support

BUILD, PROGRAM, _folder = support.begin_without_gpu()
FOLDER = Path(_folder.name)
STAND_INS = Path(__file__).resolve().parent / "stand_ins"
# Names the package to be tested as it is installed, without a stand-in for either.
REAL = os.environ.get("HGEMM_TEST_REAL_ENGINE")
for variable in ("HGEMM_TUNE_BUNDLE", "HGEMM_TUNE_MISSES", "VLLM_BATCH_INVARIANT"):
    os.environ.pop(variable, None)

if not REAL:
    sys.path.insert(0, str(STAND_INS))
import hgemm_tune  # noqa: E402
import torch  # noqa: E402
from hgemm_tune import serving  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

N, K = 12288, 4096
BUNDLE = FOLDER / "tuned.hgb"


def setUpModule():
    unittest.addModuleCleanup(_folder.cleanup)
    torch.manual_seed(1)
    support.export(PROGRAM, BUNDLE, f"16x{N}x{K}")
    # There is no GPU, so torch computes what the operator is asked for.
    patched = mock.patch.object(serving, "_DEVICE_TYPES", ("cpu",))
    patched.start()
    unittest.addModuleCleanup(patched.stop)


class Operators(TorchDispatchMode):
    """Notes which operators are called."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(function.name())
        return function(*args, **(kwargs or {}))


def installed(package):
    """The folder of the real package, if it is installed."""
    path = [entry for entry in sys.path if Path(entry or ".").resolve() != STAND_INS]
    found = importlib.machinery.PathFinder.find_spec(package, path)
    return Path(found.submodule_search_locations[0]).parent if found else None


def entry_point(group):
    """What pyproject.toml names to the engines: module and function."""
    text = (support.SOURCE / "pyproject.toml").read_text()
    section = text.split(f'[project.entry-points."{group}"]\n')[1]
    return re.match(r'hgemm_tune = "([\w.]+):(\w+)"\n', section).groups()


class Engine:
    """Tests for either engine."""

    def setUp(self):
        self.layer = torch.nn.Module()
        self.layer.weight = torch.nn.Parameter(torch.randn(N, K, dtype=torch.bfloat16),
                                               requires_grad=False)
        self.other = torch.nn.Module()
        self.other.weight = torch.nn.Parameter(torch.randn(8, K, dtype=torch.bfloat16),
                                               requires_grad=False)
        self.x = torch.randn(3, K, dtype=torch.bfloat16)
        self.bias = torch.randn(N, dtype=torch.bfloat16)
        self.addCleanup(serving.stop)

    def named(self, path=BUNDLE, **more):
        return mock.patch.dict(os.environ, {"HGEMM_TUNE_BUNDLE": str(path), **more})

    def check(self, method, is_tuned, layer=None, x=None, bias=None):
        """That a layer's result is right, and that the operator computed it, or did not."""
        layer, x = layer or self.layer, self.x if x is None else x
        with torch.inference_mode(), Operators() as operators:
            y = method.apply(layer, x, bias)
        expected = torch.nn.functional.linear(x, layer.weight, bias)
        torch.testing.assert_close(y, expected, rtol=0, atol=0)
        self.assertEqual("hgemm_tune::linear" in operators.names, is_tuned, operators.names)

    def compiled_operators(self, method):
        """Those of a graph that torch.compile makes of two layers, for any number of rows."""
        names = []

        def note(graph, _):
            names.extend(str(node.target) for node in graph.graph.nodes
                         if node.op == "call_function")
            return graph.forward

        def forward(x):
            return method.apply(self.layer, x), method.apply(self.other, x)

        torch._dynamo.reset()
        with torch.inference_mode():
            compiled = torch.compile(forward, fullgraph=True, dynamic=True, backend=note)
            for ours, theirs in zip(compiled(self.x), forward(self.x), strict=True):
                torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
        return names

    def test_its_plug_in_is_named_to_it(self):
        module, function = entry_point(self.GROUP)
        self.assertTrue(callable(getattr(importlib.import_module(module), function)))

    def test_without_the_variable_nothing_is_imported(self):
        module, function = entry_point(self.GROUP)
        code = (f"import sys, {module}\n"
                f"{module}.{function}()\n"
                f"assert not {{'torch', '{self.PACKAGE}'}} & set(sys.modules)")
        done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": str(FOLDER)})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_stand_in_is_what_the_plug_in_needs(self):
        self.assertEqual(contract.broken(self.PACKAGE, STAND_INS), [])

    def test_a_contract_can_be_broken(self):
        self.assertEqual(len(contract.broken(self.PACKAGE, FOLDER)),
                         len(contract.FACTS[self.PACKAGE]))

    def test_the_installed_package_is_what_the_plug_in_needs(self):
        folder = installed(self.PACKAGE)
        if folder is None:
            self.skipTest(f"{self.PACKAGE} is not installed")
        self.assertEqual(contract.broken(self.PACKAGE, folder), [])

    def test_with_the_installed_package(self):
        if REAL or installed(self.PACKAGE) is None:
            self.skipTest(f"{self.PACKAGE} is not installed")
        probe = subprocess.run([sys.executable, "-c", f"import {self.NEEDS}"], text=True,
                               capture_output=True)
        if probe.returncode != 0:
            self.skipTest(f"{self.NEEDS} cannot be imported: "
                          f"{(probe.stderr.splitlines() or ['?'])[-1]}")
        done = subprocess.run([sys.executable, "-B", __file__, BUILD, PROGRAM,
                               type(self).__name__],
                              text=True, capture_output=True,
                              env={**os.environ, "HGEMM_TEST_REAL_ENGINE": self.PACKAGE})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_bundle_that_cannot_be_used_leaves_all_to_the_engine(self):
        with self.named(FOLDER / "none.hgb"), self.assertLogs(self.LOG, "WARNING") as logged:
            with self.active() as method:
                self.check(method, is_tuned=False)
        [line] = logged.output
        self.assertRegex(line, r"computes all linear layers, since .*none\.hgb cannot be used")

    def test_a_bundle_without_a_gain_leaves_all_to_the_engine(self):
        opened = hgemm_tune.load(BUNDLE)
        for row in opened.rows:
            row["gain"] = False
        with mock.patch.object(serving, "load", return_value=opened), self.named(), \
                self.assertLogs(self.LOG, "WARNING") as logged, self.active() as method:
            self.check(method, is_tuned=False)
        self.assertIn("has a proven gain", logged.output[0])
        with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, "the bundle is closed"):
            opened.misses()

    def test_kernels_compute_what_was_tuned(self):
        with self.named(), self.assertLogs(self.LOG, "INFO") as logged, self.active() as method:
            self.check(method, is_tuned=True)
            self.check(method, is_tuned=True, x=torch.randn(2, 3, K, dtype=torch.bfloat16))
            self.check(method, is_tuned=False, bias=self.bias)  # it has none with a bias
            self.check(method, is_tuned=False, layer=self.other)
            self.other.weight = torch.nn.Parameter(torch.randn(N, K), requires_grad=False)
            self.check(method, is_tuned=False, layer=self.other, x=self.x.float())
        ours = [line for line in logged.output if "hgemm-tune" in line]
        self.assertEqual(len(ours), 1, "once in a process")
        self.assertRegex(ours[0], rf"tuned\.hgb compute unquantised linear layers of {N}x{K} where")

    def test_what_was_not_tuned_is_counted_if_misses_are_listed(self):
        with self.named(HGEMM_TUNE_MISSES=str(FOLDER / "misses")), \
                self.assertLogs(self.LOG, "INFO") as logged, self.active() as method:
            self.check(method, is_tuned=True)
            self.check(method, is_tuned=True, layer=self.other)
            self.other.weight = torch.nn.Parameter(torch.randn(8, K), requires_grad=False)
            self.check(method, is_tuned=False, layer=self.other, x=self.x.float())
        self.assertRegex(" ".join(logged.output), r"misses of .*tuned\.hgb are listed in .*\.yaml")

    def test_graphs_of_torch_compile_have_the_operator(self):
        with self.named(), self.active() as method:
            names = self.compiled_operators(method)
        self.assertEqual(len(names), 2)
        self.assertEqual(names[0], "hgemm_tune.linear.default")
        self.assertIn("linear", names[1])
        self.assertNotIn("hgemm_tune", names[1])


@unittest.skipIf(REAL, f"{REAL} is tested")
class Serving(unittest.TestCase):
    """As if there were GPUs, of which the process has chosen number 3."""

    LOG = logging.getLogger("hgemm_tune.test")

    def setUp(self):
        self.addCleanup(serving.stop)
        for name, value in (("is_available", True), ("current_device", 3)):
            patched = mock.patch.object(torch.cuda, name, lambda value=value: value)
            patched.start()
            self.addCleanup(patched.stop)

    def test_kernels_are_loaded_on_the_gpu_of_the_process(self):
        for variables, flags in (({}, (False, False)),
                                 ({"HGEMM_TUNE_ANY_GPU": "1"}, (True, False)),
                                 ({"HGEMM_TUNE_ANY_DRIVER": "1"}, (False, True))):
            serving.stop()
            with mock.patch.object(hgemm_tune.Bundle, "prepare") as prepare, \
                    mock.patch.dict(os.environ, HGEMM_TUNE_BUNDLE=str(BUNDLE), **variables):
                self.assertTrue(serving.start("it", self.LOG))
            self.assertEqual(prepare.mock_calls[0],
                             mock.call(3, any_gpu=flags[0], any_driver=flags[1]))

    def test_a_bundle_for_another_gpu_is_refused_and_closed(self):
        refused = hgemm_tune.HgemmTuneError("it is for another GPU")
        opened = hgemm_tune.load(BUNDLE)
        with mock.patch.object(hgemm_tune.Bundle, "prepare", side_effect=refused), \
                mock.patch.object(serving, "load", return_value=opened), \
                self.assertLogs(self.LOG, "WARNING") as logged:
            self.assertFalse(serving.start("it", self.LOG))
            self.assertFalse(serving.start("it", self.LOG))
        self.assertEqual(len(logged.output), 1, "once in a process")
        self.assertIn("another GPU", logged.output[0])
        self.assertEqual(serving.digest(), "")
        with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, "the bundle is closed"):
            opened.misses()


    def listed(self, folder, texts):
        """A started process that keeps its list in the folder: what bundle.misses() says next."""
        self.enterContext(mock.patch.object(hgemm_tune.Bundle, "prepare"))
        self.enterContext(mock.patch.object(hgemm_tune.Bundle, "misses", lambda _: texts[-1]))
        self.enterContext(mock.patch.dict(os.environ, HGEMM_TUNE_BUNDLE=str(BUNDLE),
                                          HGEMM_TUNE_MISSES=str(folder)))
        self.enterContext(mock.patch.object(serving.Misses, "_SECONDS", 0.01))
        serving.start("it", self.LOG)

    def test_misses_are_listed_while_it_runs_and_at_its_end(self):
        folder, texts = FOLDER / "lists" / "of" / "misses", ["first"]
        self.listed(folder, texts)
        [kept] = self.until(lambda: list(folder.glob("misses-*.yaml")))
        self.assertEqual(kept.read_text(), "first")
        self.assertRegex(kept.name, rf"-{os.getpid()}\.yaml$")
        texts.append("second")
        self.until(lambda: kept.read_text() == "second")
        counting = serving.digest()
        with mock.patch.object(serving.Misses, "_SECONDS", 1000):
            texts.append("last")
            serving.stop()
        self.assertEqual(kept.read_text(), "last")
        self.assertEqual([path.name for path in folder.iterdir()], [kept.name])
        with mock.patch.dict(os.environ, HGEMM_TUNE_MISSES=""):
            serving.start("it", self.LOG)
        self.assertNotEqual(serving.digest(), counting, "compiled graphs are others")

    def test_a_list_that_cannot_be_kept_stops_nothing(self):
        with self.assertLogs(self.LOG, "WARNING") as logged:
            self.listed(BUNDLE / "no folder", ["first"])
            self.until(lambda: logged.output)
            serving.stop()
        self.assertEqual(len(logged.output), 1)
        self.assertIn("the list of misses is not kept", logged.output[0])

    def until(self, found):
        """Waits for it, and returns it."""
        for _ in range(1000):
            if result := found():
                return result
            time.sleep(0.01)
        self.fail("it did not come within 10 s")


@unittest.skipIf(REAL == "sglang", "SGLang is tested")
class Vllm(Engine, unittest.TestCase):
    PACKAGE, GROUP, LOG = "vllm", "vllm.general_plugins", "vllm.hgemm_tune"
    NEEDS = "vllm.model_executor.layers.vocab_parallel_embedding"

    def setUp(self):
        super().setUp()
        layers = "vllm.model_executor.layers"
        self.linear = importlib.import_module(f"{layers}.linear")
        self.embedding = importlib.import_module(f"{layers}.vocab_parallel_embedding")
        self.envs = importlib.import_module("vllm.envs")
        self.plugin = importlib.import_module("hgemm_tune.vllm")
        platform = importlib.import_module("vllm.platforms").current_platform
        cuda = mock.patch.object(type(platform), "is_cuda", lambda self: True)
        cuda.start()
        self.addCleanup(cuda.stop)
        self.addCleanup(self.plugin.unregister)

    @contextlib.contextmanager
    def active(self):
        self.plugin.register()
        yield self.linear.UnquantizedLinearMethod()

    def names(self):
        return [vars(module)["dispatch_unquantized_gemm"]
                for module in (self.linear, self.embedding)]

    def test_it_may_be_registered_again(self):
        before = self.names()
        with self.named():
            self.plugin.register()
            once = self.names()
            self.plugin.register()
        self.assertEqual(self.names(), once)
        self.assertNotIn(before[0], once)
        self.plugin.unregister()
        self.assertEqual(self.names(), before)

    def test_unregistering_leaves_nothing(self):
        before, factors = self.names(), self.envs.compile_factors()
        with self.named(), self.active() as method:
            self.check(method, is_tuned=True)
            self.plugin.unregister()
            self.check(method, is_tuned=False)  # a layer that was made before
            self.check(self.linear.UnquantizedLinearMethod(), is_tuned=False)
        self.assertEqual(self.names(), before)
        self.assertEqual(self.envs.compile_factors(), factors)
        self.assertEqual(serving.digest(), "")

    def test_it_is_computed_for_lm_head_too(self):
        with self.named(), self.active():
            self.check(self.embedding.UnquantizedEmbeddingMethod(), is_tuned=True)
            names = self.compiled_operators(self.embedding.UnquantizedEmbeddingMethod())
        self.assertIn("hgemm_tune.linear.default", names)

    def test_compiled_graphs_are_kept_apart(self):
        without = self.envs.compile_factors()
        with self.named(), self.active():
            tuned = self.envs.compile_factors()
            self.assertEqual(tuned["HGEMM_TUNE_BUNDLE"], serving.digest())
        self.assertNotEqual(tuned, without)
        self.assertEqual({name: tuned[name] for name in without}, without)

    def test_batch_invariance_is_vllms(self):
        before = self.names()
        with self.named(VLLM_BATCH_INVARIANT="1"), self.assertLogs(self.LOG, "INFO") as logged:
            self.plugin.register()
        self.assertEqual(self.names(), before)
        self.assertIn("VLLM_BATCH_INVARIANT is set", logged.output[0])

    def test_kernels_that_vllm_chose_stay(self):
        def theirs(layer, x, weight, bias=None):
            return torch.nn.functional.linear(x, weight, bias)

        def dispatch(linear_backend="auto"):
            return theirs

        with mock.patch.object(self.linear, "dispatch_unquantized_gemm", dispatch):
            with self.named(), self.active() as method:
                self.assertIs(method._gemm_impl, theirs)
            self.plugin.unregister()

    def test_without_the_operator_it_starts_all_the_same(self):
        before = self.names()
        with self.named(), mock.patch.dict(sys.modules, {"hgemm_tune.serving": None}), \
                self.assertLogs(self.LOG, "WARNING") as logged:
            self.plugin.register()
        self.assertEqual(self.names(), before)
        self.assertIn("vLLM computes all linear layers", logged.output[0])

    def test_another_vllm_is_left_alone(self):
        del self.embedding.dispatch_unquantized_gemm
        utils = importlib.import_module("vllm.model_executor.layers.utils")
        self.addCleanup(setattr, self.embedding, "dispatch_unquantized_gemm",
                        utils.dispatch_unquantized_gemm)
        with self.named(), self.assertLogs(self.LOG, "WARNING") as logged:
            self.plugin.register()
        self.assertIs(self.linear.dispatch_unquantized_gemm, utils.dispatch_unquantized_gemm)
        self.assertIn("in another way than 0.33", logged.output[0])

    def test_a_vllm_whose_function_is_asked_otherwise_is_left_alone(self):
        def dispatch():
            return None

        with mock.patch.object(self.linear, "dispatch_unquantized_gemm", dispatch), \
                self.named(), self.assertLogs(self.LOG, "WARNING") as logged:
            self.plugin.register()
            self.assertIs(self.linear.dispatch_unquantized_gemm, dispatch)
        self.assertIn("in another way than 0.33", logged.output[0])


@unittest.skipIf(REAL == "vllm", "vLLM is tested")
class Sglang(Engine, unittest.TestCase):
    PACKAGE, GROUP, LOG = "sglang", "sglang.srt.plugins", "sglang.hgemm_tune"
    NEEDS = "sglang.srt.layers.quantization.unquant"

    def setUp(self):
        super().setUp()
        self.unquant = importlib.import_module("sglang.srt.layers.quantization.unquant")
        self.plugin = importlib.import_module("hgemm_tune.sglang")
        self.registry = importlib.import_module("sglang.srt.plugins.hook_registry").HookRegistry
        # The registry cannot take a hook back, so each test gives back what it wraps.
        methods = self.unquant.UnquantizedLinearMethod
        for name in ("apply", "create_weights"):
            self.addCleanup(setattr, methods, name, vars(methods)[name])
        for collection in (self.registry._hooks, self.registry._patched):
            self.addCleanup(collection.clear)
        self.addCleanup(vars(self.plugin).update, _unquant=None, _serving=None)

    @contextlib.contextmanager
    def active(self):
        self.plugin.register()
        self.registry.apply_hooks()
        method = self.unquant.UnquantizedLinearMethod()
        for _ in range(2):  # of a model there are many
            method.create_weights(torch.nn.Module(), 8, [4, 4], 8, 8, torch.bfloat16)
        yield method

    def test_it_may_be_registered_again(self):
        with self.named():
            self.plugin.register()
            self.plugin.register()
        self.assertEqual([len(hooks) for hooks in self.registry._hooks.values()], [1, 1])

    def test_without_the_variable_nothing_is_registered(self):
        with self.active() as method:
            self.check(method, is_tuned=False)
        self.assertFalse(self.registry._hooks)

    def test_without_the_operator_nothing_is_registered(self):
        with self.named(), mock.patch.dict(sys.modules, {"hgemm_tune.serving": None}):
            with self.assertRaises(ImportError):
                self.plugin.register()
        self.assertFalse(self.registry._hooks)

    def test_weights_are_made_as_before(self):
        made = torch.nn.Module()
        with self.named(), self.active() as method:
            method.create_weights(layer=made, input_size_per_partition=8,
                                  output_partition_sizes=[4, 4], input_size=8, output_size=8,
                                  params_dtype=torch.bfloat16)
        self.assertEqual(made.weight.shape, (8, 8))

    def test_kernels_that_the_user_chose_stay(self):
        gemv = self.unquant.Bf16GemmBackend("gemv")
        with self.named(), self.active() as method:
            with mock.patch.object(self.unquant, "_BF16_GEMM_BACKEND", gemv):
                self.check(method, is_tuned=False)
            self.check(method, is_tuned=True)

    def test_deterministic_inference_is_sglangs(self):
        with self.named(), self.active() as method:
            with mock.patch.object(self.unquant, "is_batch_invariant_mode_enabled", lambda: True):
                self.check(method, is_tuned=False)
            self.check(method, is_tuned=True)


if __name__ == "__main__":
    unittest.main()
