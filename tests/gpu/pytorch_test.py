"""torch.ops.hgemm_tune and patched models on a Hopper GPU: that kernels compute what they should,
in graphs, on several streams, compiled, in training, and in a model. Kernels of several kinds are
tuned for it, one config each, so the bundle is of this GPU and need not be faster than cuBLAS.
And torch.ops.hgemm_tuned.scaled_linear of a C++ package, which is built here.

pytorch_test.py BUILD PROGRAM. Exits with 77 where torch 2.11 or a Hopper GPU is missing
(tests/pytorch/support.py).
"""

import contextlib
import ctypes
import gc
import importlib.util
import io
import math
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
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

if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    support.skip("no Hopper GPU")

_folder = support.temporary_folder()
FOLDER = Path(_folder.name)
support.make_package(FOLDER, BUILD)
import hgemm_tune  # noqa: E402
import hgemm_tune.pytorch  # noqa: E402

sys.path.insert(0, str(support.SOURCE / "examples/pytorch"))
import fp8  # noqa: E402
import package  # noqa: E402
from torch.utils import cpp_extension  # noqa: E402

error = support.error
linear = torch.ops.hgemm_tune.linear
K = 1024
TILED = "bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma."
# Configs, and the shapes that each is tuned for. Kernels that add up in memory, or pack, need a
# workspace, which of the latter grows with M.
TUNED = {
    TILED + "persist": (f"256x{K}x{K},256x{K}x{K}.bias,256x{K}x{K}.bias-gelu_erf,256x{K}x{K}.fp16,"
                        f"256x{K}x{K}.layoutTT,{K}x{K}x256.layoutNT,"
                        f"256x{3 * K}x{K},256x{4 * K}x{K}.swiglu"),
    TILED + "persist.pack": f"256x{K}x{K + 1}",
    TILED + "stream": f"384x{K}x{2 * K}",
    "swap_ab.bm16.bn64.bk128.q3.d0.tma.csplit2.p128": f"16x{K}x{K}",
}
ACTIVATIONS = {None: lambda y: y, "gelu": F.gelu}


def run(*command):
    done = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def program(*arguments):
    return run(PROGRAM, *arguments)


def setUpModule():
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    database = FOLDER / "tuned.db"
    for config, shapes in TUNED.items():
        program("--db", database, "--shapes", shapes, "--config", config, "--regime", "burst",
                "--require-gpu")
    program("export", "--format", "bundle", "-o", FOLDER / "tuned.hgb", "--db", database,
            "--regime", "burst")
    unittest.addModuleCleanup(_folder.cleanup)


def normal(*shape, dtype=torch.bfloat16, **options):
    return torch.randn(*shape, dtype=dtype, device="cuda", **options)


def weight_of(n, k, dtype=torch.bfloat16):
    return normal(n, k, dtype=dtype).mul_(k**-0.5)


class OnGpu(unittest.TestCase):
    def setUp(self):
        self.bundle = hgemm_tune.load(FOLDER / "tuned.hgb")
        self.addCleanup(self.bundle.close)
        self.addCleanup(torch.cuda.synchronize)
        self.addCleanup(hgemm_tune.use, None)
        hgemm_tune.use(self.bundle, only_gains=False)

    def check(self, y, x, weight, bias=None, activation=None):
        """Whether a result is as good as torch's own."""
        def of(cast):
            given = [None if t is None else cast(t) for t in (x, weight, bias)]
            return ACTIVATIONS[activation](F.linear(*given))

        expected = of(lambda t: t.float())
        self.assertEqual((y.shape, y.dtype), (expected.shape, x.dtype))
        self.assertLessEqual(error(y, expected), 1.5 * error(of(lambda t: t), expected) + 2e-3)

    def expect_tuned(self, calls):
        torch.cuda.synchronize()
        self.assertEqual(hgemm_tune.calls().tuned, calls)

    @torch.no_grad()
    def test_every_kind_of_kernel_computes_a_linear_layer(self):
        cases = [(dtype, shape, K, bias, activation)
                 for dtype, bias, activation in ((torch.bfloat16, False, None),
                                                 (torch.bfloat16, True, None),
                                                 (torch.bfloat16, True, "gelu"),
                                                 (torch.float16, False, None))
                 for shape in ((256,), (2, 128), (1, 4, 64), (200,))]
        cases += [(torch.bfloat16, shape, K, False, None) for shape in ((16,), (), (1,), (3, 5))]
        cases += [(torch.bfloat16, shape, 2 * K, False, None) for shape in ((384,), (3, 100))]
        for count, (dtype, shape, k, has_bias, activation) in enumerate(cases):
            with self.subTest(dtype=dtype, shape=shape, k=k, bias=has_bias, activation=activation):
                x, weight = normal(*shape, k, dtype=dtype), weight_of(K, k, dtype)
                bias = normal(K, dtype=dtype) if has_bias else None
                y = linear(x, weight, bias, activation)
                self.check(y, x, weight, bias, activation)
                self.expect_tuned(count + 1)

    @torch.no_grad()
    def test_a_gated_layer(self):
        x, weight = normal(2, 128, K), weight_of(4 * K, K)
        gates, ups = F.linear(x.float(), weight.float()).chunk(2, -1)
        expected = F.silu(gates) * ups
        gated = torch.ops.hgemm_tune.gated_linear
        y = gated(x, weight, "silu")
        self.expect_tuned(1)
        self.assertEqual(y.shape, (2, 128, 2 * K))
        self.assertLess(error(y, expected), 0.02)
        with torch.enable_grad():  # the product is a kernel's, without its gate
            weight.requires_grad_()
            y = gated(x, weight, "silu")
            y.sum().backward()
        self.assertLess(error(y, expected), 0.02)
        self.assertEqual(weight.grad.shape, weight.shape)

    @torch.no_grad()
    def test_rows_with_padding_and_views(self):
        weight = weight_of(K, K)
        between = normal(256 * K + 1)[1:].view(256, K)  # begins between two units of 16 bytes
        for x in (normal(256, 2 * K)[:, :K], normal(4, 64, K + 8)[..., 8:], between,
                  normal(64, 4, K).transpose(0, 1), normal(256, K + 1)[:, 1:]):
            self.check(linear(x, weight), x, weight)
        padded = weight_of(K, 2 * K)[:, K:]
        x = normal(256, K)
        self.check(linear(x, padded), x, padded)
        # No matrix is transposed(0, 1). The rows that begin anywhere are packed.
        self.assertEqual(hgemm_tune.calls(), (5, 1))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = linear(between, weight)
        between.neg_()
        graph.replay()
        self.check(y, between, weight)
        self.expect_tuned(6)

    def test_a_training_step_takes_kernels_of_all_three_layouts(self):
        x, weight = normal(256, K, requires_grad=True), weight_of(K, K).requires_grad_()
        dy = normal(256, K)
        ours = torch.autograd.grad(linear(x, weight), (x, weight), dy)
        self.expect_tuned(3)
        self.check(ours[0].detach(), dy, weight.detach().t())
        self.check(ours[1].detach(), dy.t(), x.detach().t())

    @torch.no_grad()
    def test_another_weight_at_the_same_address(self):
        weight, x = weight_of(K, K), normal(256, K)
        self.check(linear(x, weight), x, weight)
        weight.copy_(weight_of(K, K))
        self.check(linear(x, weight), x, weight)
        memory = torch.empty(2 * K * K, dtype=torch.bfloat16, device="cuda")
        for n, k in ((K, K), (K, 2 * K), (K, K)):  # one address, as after a weight was freed
            weight, x = memory[:n * k].view(n, k), normal(256, k)
            weight.copy_(weight_of(n, k))
            self.check(linear(x, weight), x, weight)
        self.expect_tuned(5)

    @torch.no_grad()
    def test_graphs_are_captured_and_run_at_once_on_two_streams(self):
        stream = torch.cuda.Stream()
        layers = [(normal(256, K), weight_of(K, K)), (normal(384, 2 * K), weight_of(K, 2 * K))]
        graphs = []
        for x, weight in 2 * layers:  # without a call before: nothing has to be warmed up
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                ys = [linear(x, weight) for _ in range(4)]
            graphs.append((graph, x, weight, ys))
        self.expect_tuned(16)
        for x, _ in layers:
            x.copy_(torch.randn_like(x))
        torch.cuda.synchronize()
        streams = [torch.cuda.Stream() for _ in graphs]
        for _ in range(50):
            for (graph, *_), on in zip(graphs, streams):
                with torch.cuda.stream(on):
                    graph.replay()
        torch.cuda.synchronize()
        for _, x, weight, ys in graphs:
            for y in ys:
                self.check(y, x, weight)

    @torch.no_grad()
    def test_autocast_asks_kernels_for_its_type(self):
        x, weight, bias = (normal(*sizes, dtype=torch.float32)
                           for sizes in ((256, K), (K, K), (K,)))
        weight *= K**-0.5
        cases = ((torch.bfloat16, None), (torch.bfloat16, bias), (torch.float16, None))
        for count, (dtype, bias) in enumerate(cases):
            with self.subTest(dtype=dtype, bias=bias is not None):
                with torch.autocast("cuda", dtype):
                    y = linear(x, weight, bias)
                cast = [None if t is None else t.to(dtype) for t in (x, weight, bias)]
                self.check(y, *cast)
                self.expect_tuned(count + 1)
        with torch.enable_grad(), torch.autocast("cuda", torch.bfloat16):
            y = linear(x.requires_grad_(), weight.requires_grad_())
        dy = normal(256, K)
        dx, dw = torch.autograd.grad(y, (x, weight), dy)
        self.assertEqual((dx.dtype, dw.dtype), (torch.float32, torch.float32))
        x, weight = x.detach().bfloat16(), weight.detach().bfloat16()
        self.check(dx.bfloat16(), dy, weight.t())
        self.check(dw.bfloat16(), dy.t(), x.t())
        self.expect_tuned(len(cases) + 3)

    @torch.no_grad()
    def test_a_workspace_grows_while_launches_use_it(self):
        sums, packed = ((normal(384, 2 * K), weight_of(K, 2 * K)),
                        (normal(2**14, K + 1), weight_of(K, K + 1)))
        torch.cuda.synchronize()
        ys = []
        with torch.cuda.stream(torch.cuda.Stream()):  # one that has no workspace yet
            for m in (16, 1000, 4096, 2**14, 300):  # 4 MiB are enough for 16, 2**14 need 64
                for (x, weight), rows in ((packed, m), (sums, min(m, 384))):
                    ys.append((linear(x[:rows], weight), x[:rows], weight))
        self.expect_tuned(5 * 2)
        for y, x, weight in ys:
            self.check(y, x, weight)

    def check_threads(self, streams):
        """Threads on these streams launch kernels that need a workspace, which grows."""
        layers = []
        with torch.no_grad():
            for k in (2 * K, K + 1):
                x, weight = normal(2**14, k), weight_of(K, k)
                layers.append((x, weight, F.linear(x.float(), weight.float())))
        torch.cuda.synchronize()
        rows = (384, 100, 2**14, 257)
        wrong = []

        def run(index, stream):
            with torch.no_grad(), torch.cuda.stream(stream):
                for m in rows[index:] + rows[:index]:
                    for x, weight, expected in layers:
                        for _ in range(25):
                            y = linear(x[:m], weight)
                        stream.synchronize()
                        if (y.float() - expected[:m]).abs().max() > 0.05 * expected.std():
                            wrong.append((m, x.shape[1]))

        threads = [threading.Thread(target=run, args=(index % len(rows), stream))
                   for index, stream in enumerate(streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.expect_tuned(len(streams) * len(rows) * len(layers) * 25)

    def test_threads_with_streams_of_their_own(self):
        self.check_threads([torch.cuda.Stream() for _ in range(4)])

    def test_threads_share_a_stream(self):
        self.check_threads(4 * [torch.cuda.Stream()])

    @torch.no_grad()
    def test_streams_that_come_and_go(self):
        # The driver may give the handle of one that was destroyed to the next, while launches run.
        driver = ctypes.CDLL("libcuda.so.1")
        x, weight = normal(384, 2 * K), weight_of(K, 2 * K)
        torch.cuda.synchronize()
        ys = []
        for _ in range(30):
            handle = ctypes.c_void_p()
            self.assertEqual(driver.cuStreamCreate(ctypes.byref(handle), 1), 0)  # non-blocking
            with torch.cuda.stream(torch.cuda.ExternalStream(handle.value)):
                ys.extend(linear(x, weight) for _ in range(10))
            self.assertEqual(driver.cuStreamDestroy_v2(handle), 0)
        self.expect_tuned(300)
        for y in ys:
            self.check(y, x, weight)

    @torch.no_grad()
    def test_out_of_memory_is_torchs_own_error(self):
        def give_back():
            gc.collect()
            torch.cuda.empty_cache()

        give_back()  # so that there is no gap beside x
        x = normal(2**16, K)
        layer = torch.nn.Linear(K, K, bias=False, dtype=torch.bfloat16, device="cuda")
        hgemm_tune.patch(layer, only_gains=False)
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: linear(x, layer.weight), backend="aot_eager")
        calls = (layer, compiled, lambda x: linear(x, layer.weight))
        for call in calls:
            self.check(call(x), x, layer.weight)
        self.expect_tuned(len(calls))
        give_back()
        self.addCleanup(torch.cuda.set_per_process_memory_fraction, 1.0)
        total = torch.cuda.get_device_properties("cuda").total_memory
        torch.cuda.set_per_process_memory_fraction(torch.cuda.memory_reserved() / total)
        for call in calls:  # each has 128 MiB to allocate
            with self.assertRaisesRegex(torch.OutOfMemoryError, "out of memory"):
                call(x)
        torch.cuda.set_per_process_memory_fraction(1.0)
        self.check(layer(x), x, layer.weight)
        self.assertEqual(hgemm_tune.calls(), (len(calls) + 1, len(calls)))

    def test_every_device_loads_the_kernels_at_its_first_call(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("one GPU")
        with torch.no_grad():
            x, weight = (t.to("cuda:1") for t in (normal(384, 2 * K), weight_of(K, 2 * K)))
            self.check(linear(x, weight), x, weight)
        self.expect_tuned(1)

    def check_compiled(self, **options):
        weights = [weight_of(K, 2 * K), weight_of(2 * K, K)]  # the second has another's kernel

        def block(x):
            return x + linear(F.silu(linear(x, weights[1])), weights[0])

        torch._dynamo.reset()
        compiled = torch.compile(block, fullgraph=True, **options)
        before = hgemm_tune.calls()
        with torch.no_grad(), self.subTest(**options):
            for m in (384, 300):
                x = normal(m, K)
                for _ in range(3):  # a graph is captured at the second
                    y = compiled(x).clone()
                self.assertLess(error(y, block(x).float()), 0.05)
            self.assertGreater(hgemm_tune.calls().tuned, before.tuned)
            self.assertEqual(hgemm_tune.calls().torch, before.torch)

    def test_compiled_code_calls_the_kernels(self):
        self.check_compiled(backend="aot_eager")
        self.check_compiled(backend="aot_eager", dynamic=True)

    def test_inductor_calls_the_kernels_also_in_its_graphs(self):
        header = Path(sysconfig.get_paths()["include"], "Python.h")
        if not (importlib.util.find_spec("triton") and shutil.which("gcc") and header.exists()):
            self.skipTest("no triton, gcc or Python.h")
        for options in ({}, {"dynamic": True}, {"mode": "reduce-overhead"}):
            self.check_compiled(**options)

    @torch.no_grad()
    def test_inductor_times_a_kernel_in_a_graph(self):
        import hgemm_tune.inductor as inductor
        from torch._inductor import config

        for row in self.bundle.rows:
            row["gain"] = True
        inductor.enable()
        self.addCleanup(inductor.disable)
        x, weight, times = normal(256, K), weight_of(K, K), []
        time_in_graph = inductor._time_in_graph

        def noted(*arguments):
            times.append(time_in_graph(*arguments))
            return times[-1]

        settings = {"max_autotune": True, "max_autotune_gemm_backends": "ATEN",
                    "force_disable_caches": True}
        torch._dynamo.reset()
        with mock.patch.object(inductor, "_time_in_graph", noted), config.patch(settings):
            self.check(torch.compile(F.linear, fullgraph=True)(x, weight), x, weight)
        self.assertEqual(len(times), 1)
        self.assertGreater(times[0], 0)
        torch.cuda.synchronize()
        calls = hgemm_tune.calls()
        self.assertGreaterEqual(calls.tuned, 2, "to load it, and in the graph")
        self.assertEqual(calls.torch, 0)

    @torch.no_grad()
    def test_only_gains_leaves_the_rest_to_torch_and_lists_what_was_missed(self):
        hgemm_tune.use(self.bundle)
        weight = weight_of(K, 3 * K)
        for x in (normal(64, 3 * K), normal(2, 32, 3 * K)):
            for _ in range(3):  # the first one finds it out
                torch.testing.assert_close(linear(x, weight), F.linear(x, weight), rtol=0, atol=0)
        self.assertEqual(hgemm_tune.calls(), (0, 6))
        layer = torch.nn.Linear(K, 64, bias=False, dtype=torch.bfloat16, device="cuda")
        hgemm_tune.patch(layer, count_misses=True)
        for _ in range(3):
            layer(normal(5, K))
        self.assertIn(f"m: 5, n: 64, k: {K}, weight: 3", self.bundle.misses())
        misses = FOLDER / "misses.yaml"
        misses.write_text(self.bundle.misses())
        self.assertIn(f"m: 64, n: {K}, k: {3 * K}, weight: 6", misses.read_text())
        # The next tune takes just this, and the next bundle has a kernel for it.
        database = FOLDER / "missed.db"
        program("--db", database, "--misses", misses, "--budget", "20configs", "--regime", "burst",
                "--require-gpu")
        program("export", "--format", "bundle", "-o", FOLDER / "missed.hgb", "--db", database,
                "--regime", "burst")
        hgemm_tune.use(None)
        with hgemm_tune.load(FOLDER / "missed.hgb") as bundle:
            self.assertEqual({row["problem"] for row in bundle.rows},
                             {f"64x{K}x{3 * K}", f"5x64x{K}"})
            hgemm_tune.use(bundle, only_gains=False)
            self.check(linear(x, weight), x, weight)
            self.expect_tuned(1)
            hgemm_tune.use(None)

    def test_a_llama_is_patched_and_given_back(self):
        if importlib.util.find_spec("transformers") is None:
            self.skipTest("no transformers")
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(vocab_size=512, hidden_size=K, intermediate_size=2 * K,
                             num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=8)
        model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
        exact = LlamaForCausalLM(config).to("cuda").eval()
        exact.load_state_dict({name: value.float() for name, value in model.state_dict().items()})
        tokens = torch.randint(512, (3, 128), device="cuda")
        with torch.no_grad():
            reference = exact(tokens).logits
            before = model(tokens).logits
            report = hgemm_tune.patch(model, self.bundle, only_gains=False)
            print(report)
            self.assertEqual({layer.name.rsplit(".")[-1] for layer in report.replaced},
                             {f"{name}_proj" for name in ("q", "k", "v", "o", "gate", "up", "down")})
            patched = model(tokens).logits
            self.assertEqual(hgemm_tune.calls().tuned, 4 * 4, "four products in each layer")
            self.assertLessEqual(error(patched, reference), 1.5 * error(before, reference) + 2e-3)
            expected = model.generate(tokens[:, :16], max_new_tokens=8, do_sample=False)
            self.assertEqual(expected.shape, (3, 24))
            self.assertEqual(hgemm_tune.unpatch(model), 7 * 4)
            torch.testing.assert_close(model(tokens).logits, before, rtol=0, atol=0)


class ScaledLinear(unittest.TestCase):
    """Of a package with a kernel for each scaling of 8-bit operands, as examples/pytorch/fp8.py
    calls it. The kernel takes any M, N at multiples of 8 and any K that the operator takes."""

    TUNED = (256, 512, 1024)
    # Rests of M, N and K, and an M that is no multiple of 4; one row.
    UNTUNED = ((101, 400, 528), (6, 200, 384), (1, 512, 1024))
    CONFIG = "bm128.bn128.bk128.q4.c1x1.coop2.d0.acc128.linear.tma.persist"

    @classmethod
    def setUpClass(cls):
        nvcc = shutil.which("nvcc", path=f"{cpp_extension.CUDA_HOME}/bin")
        found = {"nvcc": nvcc, **{tool: shutil.which(tool) for tool in ("cmake", "ninja", "c++")}}
        if None in found.values():
            raise unittest.SkipTest(f"no {', '.join(t for t in found if found[t] is None)}")
        shape = "{}x{}x{}.e4m3".format(*cls.TUNED)
        shapes = [shape, *(f"{shape}.scaling-{scaling}" for scaling in fp8.SCALINGS[1:])]
        database, folder = FOLDER / "fp8.db", FOLDER / "fp8_package"
        program("--db", database, "--shapes", ",".join(shapes), "--config", cls.CONFIG, "--regime",
                "burst", "--require-gpu")
        program("export", "--format", "cpp", "-o", folder, "--db", database, "--regime", "burst")
        run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja",
            f"-DCMAKE_CUDA_COMPILER={nvcc}")
        run("cmake", "--build", folder / "build")
        cls.arguments = folder, folder / "build/libhgemm_tuned.a"
        settings = mock.patch.dict(os.environ, TORCH_EXTENSIONS_DIR=str(FOLDER / "extensions"),
                                   TORCH_CUDA_ARCH_LIST="9.0a")
        settings.start()
        cls.addClassCleanup(settings.stop)
        package.load(*cls.arguments)

    def setUp(self):
        self.addCleanup(torch.cuda.synchronize)

    def quantised(self, m, n, k, scaling):
        """Input and weight, whose rows and blocks of K differ by factors of 2, and the product of
        their dequantised forms. What pads scales is NaN."""
        def of(rows, is_weight):
            matrix = normal(rows, k) * 2.0 ** torch.randint(2, (rows, 1), device="cuda")
            by_block = 2.0 ** (torch.arange(k, device="cuda") // 128 % 2)
            return fp8.Quantised((matrix * by_block).bfloat16(), scaling, is_weight)

        x, weight = of(m, False), of(n, True)
        if scaling.endswith("blocks"):
            x.ours[:, m:] = math.nan
            weight.ours[:, (n if scaling == "row_blocks" else math.ceil(k / 128)):] = math.nan
        return x, weight, x.exact() @ weight.exact().t()

    def check(self, y, expected, k, scaling):
        self.assertEqual((y.shape, y.dtype), (expected.shape, torch.bfloat16))
        self.assertLessEqual(fp8.error(y, expected), fp8.tolerance(k, False, scaling != "none"))

    @torch.no_grad()
    def test_it_is_the_product_of_the_dequantised_matrices(self):
        shapes = [*zip(*[iter(torch.ops.hgemm_tuned.scaled_shapes())] * 5)]
        self.assertEqual(sorted(shapes),
                         [(*self.TUNED, number, 0) for number in range(len(fp8.SCALINGS))])
        for number, scaling in enumerate(fp8.SCALINGS):
            for m, n, k in (self.TUNED, *self.UNTUNED):
                with self.subTest(m=m, n=n, k=k, scaling=scaling):
                    label = torch.ops.hgemm_tuned.scaled_selected(m, n, k, number, False)
                    self.assertEqual(label, self.CONFIG)
                    x, weight, expected = self.quantised(m, n, k, scaling)
                    layer = fp8.TunedLinear(weight, scaling, False)
                    layer.reserve(x)
                    self.check(layer(x), expected, k, scaling)

    @torch.no_grad()
    def test_in_a_graph_and_compiled(self):
        m, n, k = self.UNTUNED[0]
        x, weight, expected = self.quantised(m, n, k, "blocks")
        layer = fp8.TunedLinear(weight, "blocks", False)
        layer.reserve(x)

        def call(values, scale):
            return torch.ops.hgemm_tuned.scaled_linear(
                values, weight.values, scale, weight.ours, "blocks", False, fp8.Workspace.memory)

        torch._dynamo.reset()
        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        self.check(compiled(x.values, x.ours), expected, k, "blocks")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = layer(x)
        x.ours.mul_(2)
        graph.replay()
        self.check(y, 2 * expected, k, "blocks")

    def test_wrong_operands_are_refused_with_what_is_expected(self):
        m, n, k = self.UNTUNED[0]  # 5 blocks of K
        new = lambda *shape, dtype=torch.float32: torch.ones(*shape, dtype=dtype, device="cuda")
        e4m3 = lambda *shape: torch.zeros(*shape, device="cuda").to(fp8.E4M3)
        of_a, of_b = new(5, 104), new(4, 8)  # of blocks
        cases = [
            ("none", {"scale_a": new(1)}, "scale_a has so many elements: [0], not [1]"),
            ("tensor", {"scale_b": new(2)}, "scale_b has so many elements: [1], not [2]"),
            ("rows", {"scale_a": new(104)}, "scale_a has so many elements: [101], not [104]"),
            ("rows", {"scale_b": new(4)}, "scale_b has so many elements: [400], not [4]"),
            ("blocks", {"scale_a": new(5, 101)}, "scale_a has the shape [5, 104], not [5, 101]"),
            ("blocks", {"scale_a": new(104, 5)}, "scale_a has the shape [5, 104], not [104, 5]"),
            ("blocks", {"scale_b": new(4, 5)}, "scale_b has the shape [4, 8], not [4, 5]"),
            ("packed_blocks", {"scale_b": of_b}, "scale_b has the shape [4, 5], not [4, 8]"),
            ("row_blocks", {"scale_b": of_b}, "scale_b has the shape [5, 400], not [4, 8]"),
            ("blocks", {"scale_a": new(104, 5).t()}, "scale_a is contiguous"),
            ("blocks", {"scale_b": of_b.half()}, "scale_b is float32, not Half"),
            ("blocks", {"scale_a": of_a.cpu()}, "scale_a is on the GPU of its operand"),
            ("blocks", {"fast_sums": True}, "pass fast_sums=False"),
            ("columns", {}, "row_blocks, not columns"),
            ("blocks", {"input": new(m, k)}, "input is float8_e4m3fn or float8_e5m2, not Float"),
            ("blocks", {"weight": e4m3(k, n).t()}, "weight is contiguous along K"),
            ("blocks", {"weight": e4m3(n, k + 16)}, "input is M x K and weight N x K"),
            ("blocks", {"weight": e4m3(n, k + 8)}, "are multiples of 16 elements, not 536"),
        ]
        for scaling, changes, message in cases:
            with self.subTest(message=message):
                known = scaling if scaling in fp8.SCALINGS else "none"
                x, weight, _ = self.quantised(m, n, k, known)
                arguments = {"input": x.values, "weight": weight.values, "scale_a": x.ours,
                             "scale_b": weight.ours, "scaling": scaling, "fast_sums": False}
                with self.assertRaisesRegex(RuntimeError, re.escape(message)):
                    torch.ops.hgemm_tuned.scaled_linear(**{**arguments, **changes},
                                                        workspace=fp8.Workspace.memory)
        x, weight, expected = self.quantised(m, n, k, "blocks")
        self.check(fp8.TunedLinear(weight, "blocks", False)(x), expected, k, "blocks")

    def test_the_example_finds_no_error(self):
        out = io.StringIO()
        # As if memory were the bound: samples are short then. No time is judged here.
        with mock.patch.object(fp8, "LIGHT_LOAD", math.inf), contextlib.redirect_stdout(out), \
                mock.patch.object(sys, "argv", ["fp8.py", *map(str, self.arguments)]), \
                torch.cuda.stream(torch.cuda.Stream()):
            self.assertEqual(fp8.main(), 0, out.getvalue())
        print(out.getvalue())
        self.assertEqual(out.getvalue().count(f"| `{self.CONFIG}` |"), len(fp8.SCALINGS))


if __name__ == "__main__":
    unittest.main()
