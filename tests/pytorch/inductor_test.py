"""hgemm_tune.inductor without a GPU: which products torch.compile is offered a candidate for, that
it takes one where it is the fastest, that results are right, and that nothing stays replaced. The
times are made up. torch computes what the operator is asked for.

inductor_test.py BUILD PROGRAM. Exits with 77 where torch 2.11 is missing (support.py).
"""

import os
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

import support

BUILD, PROGRAM, _folder = support.begin_without_gpu()
FOLDER = Path(_folder.name)
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(FOLDER / "cache")

import hgemm_tune  # noqa: E402
import torch  # noqa: E402
from hgemm_tune import inductor  # noqa: E402
from torch._inductor import choices, config, select_algorithm  # noqa: E402
from torch._inductor.utils import run_and_get_code  # noqa: E402
from torch._inductor.virtualized import V  # noqa: E402

N, K = 48, 64
BUNDLE = FOLDER / "tuned.hgb"

# In a process of its own: compiles a layer, and says whether the graph came from disk.
PROCESS = f"""
import sys, torch, hgemm_tune, hgemm_tune.inductor
from torch._dynamo.utils import counters
from torch._inductor import config
hgemm_tune.inductor._DEVICE_TYPES = ("cpu",)
bundle = hgemm_tune.load(sys.argv[1])
for row in bundle.rows:
    row.update(n={N}, k={K}, lda={K}, ldb={K}, ldd={N}, time_us=float(sys.argv[3]))
hgemm_tune.use(bundle)
if sys.argv[2] == "enabled":
    hgemm_tune.inductor.enable()
    config.test_configs.autotune_choice_name_regex = "hgemm_tune_mm.*"
config.max_autotune, config.max_autotune_gemm_backends = True, "ATEN"
weight, x = torch.ones({N}, {K}, dtype=torch.bfloat16), torch.ones(5, {K}, dtype=torch.bfloat16)
with torch.inference_mode():
    y = torch.compile(torch.nn.functional.linear)(x, weight)
assert (y == {K}).all()
print(counters["inductor"]["fxgraph_cache_hit"])
"""


def setUpModule():
    unittest.addModuleCleanup(_folder.cleanup)
    torch.manual_seed(1)
    support.export(PROGRAM, BUNDLE, "16x12288x4096")


def normal(*shape, **options):
    return torch.randn(*shape, dtype=torch.bfloat16, **options)


class Inductor(unittest.TestCase):
    def setUp(self):
        self.bundle = hgemm_tune.load(BUNDLE)
        self.addCleanup(self.bundle.close)
        self.addCleanup(hgemm_tune.use, None)
        self.addCleanup(inductor.disable)
        [row] = self.bundle.rows
        row.update(n=N, k=K, lda=K, ldb=K, ldd=N)
        self.bundle.rows.append({**row, "epilogue": "bias"})
        hgemm_tune.use(self.bundle)
        patched = mock.patch.object(inductor, "_DEVICE_TYPES", ("cpu",))
        patched.start()
        self.addCleanup(patched.stop)
        self.x, self.weight, self.bias = normal(5, K), normal(N, K), normal(N)

    def compile(self, function, *arguments, ours=1.0, theirs=2.0, dynamic=False, **settings):
        """Compiles and checks a function; the names of all candidates, and the code. Times are in
        milliseconds; by default ours win."""
        timed = []

        def benchmark(caller, *_, **__):
            timed.append(caller.name)
            return ours if caller.name.startswith("hgemm_tune") else theirs

        settings = {"max_autotune": True, "max_autotune_gemm_backends": "ATEN",
                    "force_disable_caches": True, **settings}
        torch._dynamo.reset()
        with mock.patch.object(select_algorithm.ExternKernelCaller, "benchmark", benchmark), \
                config.patch(settings), torch.no_grad():
            compiled = torch.compile(function, fullgraph=True, dynamic=dynamic)
            result, [code] = run_and_get_code(compiled, *arguments)
            torch.testing.assert_close(result, function(*arguments))
            self.assertEqual(result.stride(), function(*arguments).stride())
            if dynamic:
                x, *others = arguments
                x = torch.cat([x, x])
                torch.testing.assert_close(compiled(x, *others), function(x, *others))
        return timed, code

    def of_ours(self, names):
        return [name.rsplit("_", 1)[0] for name in names if name.startswith("hgemm_tune")]

    def test_linear_layers_are_offered_a_candidate(self):
        inductor.enable()
        linear = torch.nn.functional.linear
        for dynamic in (False, True):
            for arguments, name in (((self.x, self.weight), "mm"),
                                    ((self.x, self.weight, self.bias), "addmm")):
                with self.subTest(name, dynamic=dynamic):
                    timed, code = self.compile(linear, *arguments, dynamic=dynamic)
                    self.assertEqual(self.of_ours(timed), [f"hgemm_tune_{name}"])
                    self.assertIn(name, timed)
                    self.assertIn(f"extern_kernels.hgemm_tune_{name}_", code)

    def test_it_is_taken_only_where_it_wins(self):
        inductor.enable()
        for arguments in ((self.x, self.weight), (self.x, self.weight, self.bias)):
            timed, code = self.compile(torch.nn.functional.linear, *arguments, ours=2, theirs=1)
            self.assertEqual(len(self.of_ours(timed)), 1)
            self.assertNotIn("hgemm_tune", code)

    def test_a_candidate_is_the_operator(self):
        inductor.enable()
        for name, arguments in (("mm", (self.x, self.weight.t())),
                                ("addmm", (self.bias, self.x, self.weight.t())),
                                ("addmm", (self.bias.expand(5, N), self.x, self.weight.t()))):
            candidate = inductor._candidate(name, inductor._digest()).to_callable()
            hgemm_tune.pytorch._fallbacks.forget()  # by which torch computes at once
            with torch.no_grad(), torch.profiler.profile() as profile:
                y = candidate(*arguments)
            torch.testing.assert_close(y, getattr(torch, name)(*arguments), rtol=0, atol=0)
            self.assertIn("hgemm_tune::_linear", {event.key for event in profile.key_averages()})

    def test_other_products_are_left_alone(self):
        inductor.enable()
        linear = torch.nn.functional.linear
        for function, arguments in (
                (linear, (self.x, normal(N + 16, K))),
                (linear, (self.x.float(), self.weight.float())),
                (torch.mm, (self.x, self.weight.t().contiguous())),
                (lambda x, w, b: torch.addmm(b, x, w.t(), alpha=2),
                 (self.x, self.weight, self.bias)),
                (lambda x, w, b: torch.addmm(b, x, w.t()), (self.x, self.weight, normal(5, N))),
                (lambda x, w, b: torch.addmm(b, x, w.t()), (self.x, self.weight, normal(5, 1))),
                (lambda x, w, b: torch.addmm(b, x, w.t()), (self.x, self.weight, normal(1)))):
            with self.subTest(shapes=[tuple(argument.shape) for argument in arguments]):
                timed, code = self.compile(function, *arguments)
                self.assertEqual(self.of_ours(timed), [])
                self.assertNotIn("hgemm_tune", code)

    def test_without_a_gain_or_autotuning_nothing_is_offered(self):
        inductor.enable()
        linear = torch.nn.functional.linear
        timed, _ = self.compile(linear, self.x, self.weight, max_autotune=False)
        self.assertEqual(self.of_ours(timed), [])
        for row in self.bundle.rows:
            row["gain"] = False
        timed, _ = self.compile(linear, self.x, self.weight)
        self.assertEqual(self.of_ours(timed), [])
        hgemm_tune.use(None)
        timed, _ = self.compile(linear, self.x, self.weight)
        self.assertEqual(self.of_ours(timed), [])

    def test_disabling_leaves_nothing(self):
        before = type(V.choices)
        inductor.enable()
        inductor.enable()
        self.assertIsNot(type(V.choices), before)
        inductor.disable()
        inductor.disable()
        self.assertIs(type(V.choices), before)
        self.assertIsNone(config.inductor_choices_class)
        self.assertFalse(getattr(choices, "_registered_inductor_choices", None))
        timed, _ = self.compile(torch.nn.functional.linear, self.x, self.weight)
        self.assertEqual(self.of_ours(timed), [])

    def test_what_it_needs_is_said(self):
        hgemm_tune.use(None)
        with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, r"call hgemm_tune.use\(bundle\)"):
            inductor.enable()
        hgemm_tune.use(self.bundle)
        with mock.patch.object(choices.InductorChoices, "get_template_configs", lambda self: []):
            with self.assertRaisesRegex(hgemm_tune.HgemmTuneError,
                                        rf"torch {torch.__version__.split('+')[0]}\S* chooses"):
                inductor.enable()
        if not hasattr(choices, "register_inductor_choices"):
            with config.patch(inductor_choices_class=choices.InductorChoices):
                with self.assertRaisesRegex(hgemm_tune.HgemmTuneError, "something else"):
                    inductor.enable()
        self.assertIs(type(V.choices), choices.InductorChoices)

    def test_graphs_on_disk_are_kept_apart(self):
        def from_disk(mode, time):
            done = subprocess.run(
                [sys.executable, "-c", PROCESS, BUNDLE, mode, str(time)], text=True,
                capture_output=True,
                env={**os.environ, "PYTHONPATH": str(FOLDER),
                     "TORCHINDUCTOR_CACHE_DIR": str(FOLDER / "graphs")})
            self.assertEqual(done.returncode, 0, done.stderr)
            return int(done.stdout)

        self.assertEqual(from_disk("enabled", 1), 0)
        self.assertEqual(from_disk("enabled", 1), 1, "the same bundle")
        self.assertEqual(from_disk("enabled", 2), 0, "another one")
        self.assertEqual(from_disk("disabled", 1), 0)


if __name__ == "__main__":
    unittest.main()
