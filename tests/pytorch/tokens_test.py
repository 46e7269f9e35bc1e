"""examples/pytorch/tokens.py without a GPU, with small models: what it measures, keeps and prints.
The bundle says of itself that it was tuned for them, and torch computes what its kernels would. And
host_time.py beside it, with a clock that a test sets.

tokens_test.py BUILD PROGRAM. Exits with 77 where torch 2.11 (support.py) or transformers is
missing.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import types
import unittest
from pathlib import Path
from unittest import mock

import support

EXAMPLES = support.SOURCE / "examples/pytorch"
sys.path.insert(0, str(EXAMPLES))
from decoder import report  # noqa: E402

# Also where what the other tests need is missing.
for recorded in support.SOURCE.glob("results/*/tokens.json"):
    assert recorded.with_suffix(".md").read_text() == report.page(recorded), (
        f"tokens.md is not that of its measurements: tokens.py --table {recorded} prints it")

BUILD, PROGRAM, _folder = support.begin_without_gpu(needs=["transformers"])
FOLDER = Path(_folder.name)
import hgemm_tune  # noqa: E402
import host_time  # noqa: E402
import tokens  # noqa: E402
import torch  # noqa: E402
from decoder import agreement, models, run, shapes, ways  # noqa: E402
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode  # noqa: E402

PYTHONPATH = os.pathsep.join([str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
SCALE, BATCHES, CONTEXT, PREFILL, STEPS = 16, [1, 3], 8, 12, 4
SMALL = {name: shapes.scaled(sizes, SCALE, 1) for name, sizes in shapes.MODELS.items()}
OPTIONS = ["--device", "cpu", "--scale", str(SCALE), "--layers", "1", "--context", str(CONTEXT),
           "--rounds", "3", "--steps", str(STEPS), "--ways", "patched",
           "--bundle", str(FOLDER / "tuned.hgb")]


def setUpModule():
    support.export(PROGRAM, FOLDER / "tuned.hgb", "16x12288x4096")
    unittest.addModuleCleanup(_folder.cleanup)


def setUp(test):
    torch.manual_seed(1)
    test.addCleanup(hgemm_tune.use, None)


def as_if_tuned(path, names=tuple(SMALL), load=hgemm_tune.load):
    """The bundle, with a row for each product of these small models."""
    bundle = load(path)
    products = shapes.rows_of({name: SMALL[name] for name in names}, BATCHES, PREFILL)
    bundle.rows[:] = [{**bundle.rows[0], "m": m, "n": n, "k": k, "lda": k, "ldb": k,
                       "ldd": n // 2 if epilogue == "swiglu" else n, "epilogue": epilogue}
                      for (n, k, epilogue), (_, rows) in products.items() for m in rows]
    return bundle


def said(*words):
    """Exit code, stdout and stderr of a call in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = tokens.main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


def small(name, batch=3, context=CONTEXT):
    return models.Decoder(models.build(SMALL[name], PREFILL, "cpu"), batch, context)


class Shapes(unittest.TestCase):
    def listed(self, *words):
        code, out, err = said("--shapes", *words)
        self.assertEqual((code, err), (0, ""))
        found = {}
        for line in out.splitlines():
            if match := re.fullmatch(r"  - \{m: \[(.*)\], n: (\d+), k: (\d+), "
                                     r"(?:epilogue: (\w+), )?tag: (\S+)\}", line):
                rows, n, k, epilogue, tag = match.groups()
                found[int(n), int(k), epilogue or "plain"] = (
                    [int(m) for m in rows.split(", ")], tag)
        return out, found

    def test_unfused_they_are_those_of_the_models_of_transformers(self):
        _, found = self.listed("--unfused")
        expected = set()
        for sizes in shapes.MODELS.values():
            model = models.build(sizes, 64, "meta")
            layers = {(layer.out_features, layer.in_features,
                       "plain" if layer.bias is None else "bias")
                      for layer in model.modules() if isinstance(layer, torch.nn.Linear)}
            self.assertEqual(layers, set(shapes.linears(sizes, unfused=True).values()))
            self.assertEqual(len(model.model.layers), sizes.num_hidden_layers)
            expected |= layers
        self.assertEqual(set(found), expected)
        self.assertEqual(len(found), 12)
        for (n, _, _), (rows, tag) in found.items():
            self.assertEqual(rows, [1, 8, 32, 128] + ([] if n > 30000 else [2048]), tag)
        self.assertEqual(found[3584, 3584, "bias"][1], "qwen2.5-7b/q_proj")
        self.assertEqual(found[1024, 4096, "plain"][1], "llama-3-8b+mistral-7b/k_proj+v_proj")

    @torch.no_grad()
    def test_they_are_what_a_patched_model_asks_for(self):
        listed = {(n, k, epilogue) for n, k, epilogue in self.listed()[1]}
        asked = set()
        for sizes in shapes.MODELS.values():
            asked |= set(shapes.linears(sizes).values())
        self.assertEqual(listed, asked)
        for name, sizes in SMALL.items():
            decoder = small(name)
            bundle = as_if_tuned(FOLDER / "tuned.hgb")
            hgemm_tune.patch(decoder.model, bundle)
            with ways._Products() as products:
                decoder.run(decoder.tokens(1), 0)
            called = set()
            ops = torch.ops.hgemm_tune
            for function, args, _ in products.calls:
                weights, bias = args[1:2], args[2] if len(args) > 2 else None
                epilogue = "plain" if bias is None else "bias"
                if function is ops._siblings.default:
                    weights, epilogue = args[1:4], "plain" if args[4] is None else "bias"
                elif function is ops._gated_siblings.default:
                    weights, epilogue = args[1:3], "swiglu"
                called.add((sum(map(len, weights)), weights[0].shape[1], epilogue))
            self.assertEqual(called, set(shapes.linears(sizes).values()), name)
            hgemm_tune.use(None)
            bundle.close()

    def test_options_choose_them(self):
        _, found = self.listed("--models", "Mistral-7B", "--batches", "4,2", "--prefill", "100")
        self.assertEqual(len(found), 5)
        self.assertEqual(found[32768, 4096, "plain"], ([1, 2, 4], "mistral-7b/lm_head"))
        self.assertEqual(found[4096, 14336, "plain"][0], [2, 4, 100])
        self.assertEqual(found[28672, 4096, "swiglu"][1], "mistral-7b/gate_proj+up_proj")
        _, found = self.listed("--models", "Mistral-7B", "--batches", "4", "--prefill", "0")
        self.assertEqual({tuple(rows) for rows, _ in found.values()}, {(4,)})
        text, found = self.listed("--models", "Mistral-7B", "--batches", "0", "--prefill", "100")
        self.assertIn("\n# prefill of 100 tokens.\n", text)
        self.assertEqual({tuple(rows) for rows, _ in found.values()}, {(100,), (1,)})

    def test_the_program_reads_the_list_which_needs_no_torch(self):
        code = ("import runpy, sys; sys.modules['torch'] = None; sys.argv[1:] = ['--shapes'];"
                f"runpy.run_path({str(EXAMPLES / 'tokens.py')!r}, run_name='__main__')")
        done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        shipped = support.SOURCE / "configs/shapes/tokens.yaml"
        self.assertEqual(done.stdout, shipped.read_text(), "tokens.py --shapes writes this file")
        best = subprocess.run([PROGRAM, "best", "--recorded", "--shapes", shipped,
                               "--format", "json"], text=True, capture_output=True)
        self.assertEqual(best.returncode, 0, best.stderr)
        for problem in ("1x4096x4096", "8x128256x4096", "2048x4608x3584.bias",
                        "32x28672x4096.swiglu"):
            self.assertIn(problem, best.stdout + best.stderr)


class Steps(unittest.TestCase):
    setUp = setUp

    @torch.no_grad()
    def test_a_step_is_the_models_own_and_can_be_repeated(self):
        for name in SMALL:
            with self.subTest(name):
                decoder = small(name)
                ids = decoder.tokens(CONTEXT)
                expected = decoder.model(ids, use_cache=False).logits[:, -1]
                for attention in tokens.ATTENTION.values():
                    decoder.run(ids[:, :-1], 0)
                    decoder.model.set_attn_implementation(attention)
                    for _ in range(2):
                        logits = decoder.run(ids[:, -1:], CONTEXT - 1)
                        torch.testing.assert_close(logits, expected, rtol=0, atol=0.03)
                    whole = decoder.run(ids, 0)
                    torch.testing.assert_close(whole, expected, rtol=0, atol=0.03)
                    decoder.model.set_attn_implementation(tokens.ATTENTION["masked"])

    @torch.no_grad()
    def test_no_step_waits_for_a_value(self):
        sizes = SMALL["Qwen2.5-7B"]
        with FakeTensorMode():  # in which asking for a value fails
            decoder = models.Decoder(models.build(sizes, PREFILL, "cpu"), 3, CONTEXT)
            for phase in ("decode", "prefill"):
                logits = ways.Phase.of(phase, decoder).function(decoder)()
                self.assertEqual(logits.shape, (3, sizes.vocab_size))
            with self.assertRaises(DataDependentOutputException):
                logits.max().item()

    @torch.no_grad()
    def test_twins_have_the_same_tensors_and_differences_are_found(self):
        decoder = small("Qwen2.5-7B")
        other = models.twin(decoder.model)
        for one, same in zip(decoder.model.parameters(), other.parameters()):
            self.assertIs(one, same)
        bundle = as_if_tuned(FOLDER / "tuned.hgb")
        self.addCleanup(bundle.close)
        self.addCleanup(hgemm_tune.use, None)
        self.assertEqual(len(hgemm_tune.patch(other, bundle).replaced), 8)
        self.assertIs(type(decoder.model.lm_head), torch.nn.Linear)
        for name in ("decode", "prefill"):
            with self.subTest(name):
                phase = ways.Phase.of(name, decoder)
                agreed = agreement.agreement(decoder, decoder.with_model(other), phase, STEPS)
                size, found = agreed["logits_rms"], agreed["off"]
                same = {"max": 0, "rms": 0, "equal_tokens": 3 * STEPS, "tokens": 3 * STEPS}
                fp32 = found["plain"]["fp32"]
                for way in ("plain", "patched"):
                    self.assertEqual(found[way], {**same, "fp32": fp32})
                self.assertGreater(fp32["rms"], 0)
                self.assertLess(fp32["rms"], 0.02 * size)
                self.assertGreaterEqual(fp32["max"], fp32["rms"])
                wrong = models.twin(decoder.model)
                wrong.lm_head.weight = torch.nn.Parameter(-wrong.lm_head.weight)
                off = agreement.agreement(decoder, decoder.with_model(wrong), phase, STEPS)["off"]
                self.assertEqual(off["patched"]["equal_tokens"], 0)
                for of in (off["patched"], off["patched"]["fp32"]):
                    self.assertAlmostEqual(of["rms"], 2 * size, delta=1e-2)
                self.assertGreater(off["patched"]["max"], off["patched"]["rms"])

    def test_what_is_compared_takes_turns(self):
        events = []
        candidates = [ways.Candidate(lambda i=i: events.append(i), lambda: events.append("reset"))
                      for i in range(3)]
        ways.time_in_turns(candidates, 5, "cpu")
        self.assertEqual([len(one.ms) for one in candidates], [5] * 3)
        self.assertEqual(set(events[::2]), {"reset"})
        for first in range(12, 42, 6):  # after two runs of each
            self.assertEqual(sorted(events[first + 1:first + 6:2]), [0, 1, 2])

    @torch.no_grad()
    def test_a_compiler_that_fails_leaves_the_other_ways(self):
        decoder = small("Mistral-7B")
        phase = ways.Phase.of("decode", decoder)

        def broken(step, **_):
            def run():
                raise RuntimeError("none\nand more")
            return run

        with mock.patch.object(torch, "compile", broken):
            measured = ways.measure(decoder, decoder, phase, ["plain", "compiled", "patched"], 2)
        self.assertEqual(measured.failed, {"compiled": "RuntimeError: none"})
        self.assertEqual({name: len(ms) for name, ms in measured.ms.items()},
                         {"plain": 2, "patched": 2})
        self.assertEqual(list(measured.linears), ["plain", "patched"])
        self.assertEqual(measured.calls, 8)

    @torch.no_grad()
    def test_a_way_that_computes_something_else_is_seen(self):
        decoder = small("Mistral-7B")
        phase = ways.Phase.of("decode", decoder)
        with mock.patch.object(torch, "compile", lambda step, **_: lambda: -step()):
            off = ways.measure(decoder, decoder, phase, ["plain", "compiled"], 2).off
        self.assertEqual(off["plain"], {"max": 0, "rms": 0, "equal_tokens": 3, "tokens": 3})
        self.assertEqual(off["compiled"]["equal_tokens"], 0)
        self.assertGreater(off["compiled"]["rms"], 0.1)

    def test_amdahls_law(self):
        phase = types.SimpleNamespace(name="decode", ids=torch.zeros(8, 1))
        entry = ways.record(phase, 8, ways.Measurement(
            ms={"plain": [4.0, 8.0, 4.0], "patched": [2.0, 4.0, 4.0]},
            linears={"plain": [2.0, 4.0, 2.0], "patched": [1.0, 2.0, 1.0]},
            off={"plain": {"max": 0}, "patched": {"max": 1}}, failed={"compiled": "no compiler"},
            calls=15, tuned_calls=14))
        self.assertEqual(entry["ways"]["plain"]["tokens_per_s"], 2000)
        self.assertEqual(entry["ways"]["patched"]["x_plain"], {"median": 2, "low": 1, "high": 2})
        self.assertEqual(entry["ways"]["compiled"], {"failed": "no compiler"})
        self.assertEqual(entry["linears"]["share"]["median"], 0.5)
        self.assertEqual(entry["linears"]["gain"]["median"], 2)
        self.assertAlmostEqual(entry["linears"]["expected_x_plain"], 4 / 3)


class Measured(unittest.TestCase):
    setUp = setUp

    def measure(self, *words):
        with (mock.patch.object(hgemm_tune, "load", as_if_tuned),
              mock.patch.dict(os.environ, PYTHONPATH=PYTHONPATH)):
            return said(*OPTIONS, "--json", FOLDER / "tokens.json", *words)

    def test_results_are_printed_kept_and_added_to(self):
        code, out, err = self.measure("--models", "Qwen2.5-7B,Mistral-7B", "--batches", "1",
                                      "--prefill", PREFILL, "--starts", "1")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.count(": 8 of 8 linear layers replaced"), 2)
        self.assertIn("Qwen2.5-7B, 1 layers, patched, cold start, s: imports ", out)
        self.assertIn("Mistral-7B, 1 layers, prefill, batch 1, 12 tokens of context:", out)
        content = json.loads((FOLDER / "tokens.json").read_text())
        self.assertEqual(content["environment"]["torch"], torch.__version__)
        self.assertEqual([(one["model"], one["phase"], one["tokens"])
                          for one in content["measured"]],
                         [(name, *step) for name in ("Qwen2.5-7B", "Mistral-7B")
                          for step in (("decode", 1), ("prefill", PREFILL))])
        for entry in content["measured"]:
            self.assertEqual(list(entry["ways"]), ["plain", "patched"])
            for way in entry["ways"].values():
                self.assertEqual((way["off"]["max"], way["off"]["equal_tokens"]), (0, 1))
                self.assertAlmostEqual(way["tokens_per_s"] * way["ms"] / 1e3, entry["tokens"])
                self.assertEqual(len(way["samples_ms"]), 3 if entry["phase"] == "decode" else 5)
            self.assertEqual(entry["linears"]["calls"], 5)
        self.assertEqual(len(content["logits"]), 4)
        for entry in content["logits"]:
            patched = entry["off"]["patched"]
            self.assertEqual((patched["max"], patched["equal_tokens"]), (0, STEPS))
        for start in content["starts"]:
            parts = dict(start["seconds"])
            self.assertEqual("load and patch" in parts, start["way"] == "patched")
            self.assertAlmostEqual(parts.pop("total"), sum(parts.values()))

        hgemm_tune.use(None)  # the next process begins without a bundle
        code, _, err = self.measure("--models", "Qwen2.5-7B", "--batches", "3,1", "--prefill", "0",
                                    "--starts", "0", "--attention", "unmasked")
        self.assertEqual((code, err), (0, ""))
        added = json.loads((FOLDER / "tokens.json").read_text())["measured"]
        self.assertEqual(len(added), 6, "those without a mask are others")
        self.assertEqual(added[:4], content["measured"])
        self.check_only_logits()
        self.check_page()
        self.check_other_software()

    def check_only_logits(self):
        hgemm_tune.use(None)
        before = json.loads((FOLDER / "tokens.json").read_text())
        code, out, err = self.measure("--models", "Mistral-7B", "--batches", "1", "--prefill", "0",
                                      "--context", "7", "--starts", "0", "--rounds", "0")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("Mistral-7B, 1 layers, decode, batch 1, 7 tokens of context:\n  plain: logits",
                      out)
        after = json.loads((FOLDER / "tokens.json").read_text())
        self.assertEqual(after["measured"], before["measured"])
        self.assertEqual(after["logits"][:-1], before["logits"])
        self.assertEqual(after["logits"][-1]["context"], 7)

    def check_page(self):
        path = FOLDER / "tokens.json"
        content = json.loads(path.read_text())
        content["starts"][0]["command"] = "tokens.py --starts 7"
        path.write_text(json.dumps(content))
        code, page, err = said("--table", path)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("| provenance | |\n|---|---|\n| measurements | [tokens.json](tokens.json) |",
                      page)
        self.assertIn("<br>`tokens.py --starts 7` |\n", page)
        self.assertRegex(page, rf"\| patched \| 0.0000 \| 0.0000 \| \d\.\d+ \| {STEPS} of {STEPS} "
                               rf"\| 0\.0\d+ \| 0\.\d+ \| \d of {STEPS} \|\n")
        self.assertRegex(page, r"\n\| Mistral-7B \| 1 \| prefill \| 1 \| 12 \| \d+\.\d{3} \| \d+ "
                               r"\| \d+ \| \d+\.\d{3} \[\d+\.\d{3}, \d+\.\d{3}\] \|\n")
        self.assertIn("\n| Qwen2.5-7B | 1 | decode, unmasked | 3 | 8 | ", page)
        self.assertIn("\n| model | layers | way | imports s | weights s | load and patch s |", page)
        tables = [block for block in page.split("\n\n") if block.startswith("|")]
        self.assertEqual(len(tables), 5)
        for table in tables:
            self.assertEqual(len({line.count("|") for line in table.splitlines()}), 1, table)

    def check_other_software(self):
        path = FOLDER / "tokens.json"
        path.write_text(path.read_text().replace('"transformers": "', '"transformers": "0.'))
        code, _, err = self.measure("--models", "Qwen2.5-7B", "--batches", "1", "--starts", "0")
        self.assertEqual(code, 1)
        self.assertRegex(err, r"was measured with transformers 0\..*: name another file by --json")


class Errors(unittest.TestCase):
    setUp = setUp

    def fails(self, *words):
        code, _, err = said(*words)
        self.assertEqual(code, 1)
        self.assertTrue(err.startswith("tokens.py: "), err)
        self.assertNotIn("Traceback", err)
        return err

    def test_what_is_missing_is_named_with_the_next_step(self):
        self.assertIn("no Hopper GPU: run this on a Hopper GPU", self.fails())
        with mock.patch.dict(sys.modules, transformers=None):
            self.assertRegex(self.fails(), "no transformers in .*: pip install transformers, 5.0")
        self.assertIn("none.hgb", self.fails("--device", "cpu", "--bundle", FOLDER / "none.hgb"))
        self.assertIn("--json of a measurement writes such a file",
                      self.fails("--table", FOLDER / "tuned.hgb"))
        for words, why in ((("--models", "Llama-3-8B,GPT-2"),
                            "GPT-2 is none of Llama-3-8B, Qwen2.5-7B, Mistral-7B"),
                           (("--batches", "0", "--prefill", "0"),
                            "--batches 0 and --prefill 0 leave nothing to measure"),
                           (("--rounds", "0", "--steps", "0", "--starts", "0"),
                            "--rounds 0, --steps 0 and --starts 0 leave nothing to measure")):
            with (contextlib.redirect_stderr(io.StringIO()) as err,
                  self.assertRaises(SystemExit) as left):
                tokens.main(words)
            self.assertEqual(left.exception.code, 2)
            self.assertIn(why, err.getvalue())

    def test_a_bundle_for_other_shapes_is_refused_with_the_recipe(self):
        options = tokens.parsed(["--models", "Llama-3-8B", "--batches", "1,3", "--prefill", "0"])
        with (hgemm_tune.load(FOLDER / "tuned.hgb") as bundle,
              self.assertRaises(tokens.Failed) as failed):
            tokens.check(bundle, {"Llama-3-8B": SMALL["Llama-3-8B"]}, options)
        err = str(failed.exception)
        self.assertIn("was tuned for none of the 10 shapes of Llama-3-8B: tune them on this GPU",
                      err)
        self.assertIn("\n  tokens.py --shapes --models Llama-3-8B --batches 1,3 --prefill 0 > "
                      "tokens.yaml\n  hgemm-tune tune --shapes tokens.yaml --regime sustained\n",
                      err)

    def test_without_a_bundle_the_one_of_the_package_is_asked_for(self):
        at = OPTIONS.index("--bundle")
        err = self.fails(*OPTIONS[:at], *OPTIONS[at + 2:], "--models", "Llama-3-8B")
        self.assertIn("no bundle for this CPU came with this package, only for NVIDIA H200", err)

    def test_the_packages_bundle_has_all_their_shapes(self):
        with hgemm_tune.shipped("NVIDIA H200") as bundle:
            for name, sizes in shapes.MODELS.items():
                missing = shapes.untuned(sizes, [1, 8, 32, 128], 2048, bundle.rows)
                self.assertEqual(missing, [], name)

    def test_shapes_that_were_not_tuned_are_listed(self):
        bundle = as_if_tuned(FOLDER / "tuned.hgb", ["Llama-3-8B"])
        self.addCleanup(bundle.close)
        options = tokens.parsed([*OPTIONS, "--batches", "1,3,9", "--prefill", str(PREFILL)])
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            tokens.check(bundle, {"Llama-3-8B": SMALL["Llama-3-8B"]}, options)
        self.assertRegex(err.getvalue(), r"was not tuned for 5 of the \d+ shapes of Llama-3-8B "
                                         r"\(9x512x256, 9x1792x256.swiglu, ")

    def test_a_bundle_for_another_machine_is_refused(self):
        with hgemm_tune.load(FOLDER / "tuned.hgb") as bundle:
            with self.assertRaisesRegex(tokens.Failed, "driver.*\nTake the kernels nevertheless by "
                                                       "--any-machine, or tune them on this GPU"):
                tokens.prepare(bundle, 0, tokens.parsed(OPTIONS))

    def test_a_cold_start_that_fails_says_why(self):
        options = tokens.parsed([*OPTIONS, "--starts", "1"])
        with (mock.patch.dict(os.environ, PYTHONPATH=PYTHONPATH),
              self.assertRaisesRegex(tokens.Failed, "(?s)cold start, patched: .*none.hgb")):
            run.cold_starts("Mistral-7B", SMALL["Mistral-7B"], options, FOLDER / "none.hgb")


class HostTime(unittest.TestCase):
    setUp = setUp

    def page(self, us, *words):
        """What it prints, where ways to call take so many microseconds."""
        out = io.StringIO()
        with (mock.patch.object(host_time, "DEVICE", "cpu"),
              mock.patch.object(hgemm_tune, "load", as_if_tuned), contextlib.redirect_stdout(out),
              mock.patch.object(host_time, "medians", lambda calls: self.called(calls, us))):
            self.assertEqual(host_time.main([str(word) for word in words]), 0)
        return out.getvalue()

    def called(self, calls, us):
        ways = list(calls)
        for ours, theirs in zip(ways[1::2], ways[::2]):
            ys = [call() for call in (calls[ours], calls[theirs])]
            for y, expected in zip(*(y if isinstance(y, tuple) else (y,) for y in ys)):
                self.assertTrue(torch.equal(y, expected), ours)
        return {way: us[way] for way in ways}

    def test_each_product_and_a_miss_are_compared(self):
        us = {"F.linear": 9.0, "operator": 9.5, "nn.Linear": 20.0, "patched": 18.0,
              "torch.ops.aten.linear": 9.25, "nn.Linear that looks up a shape": 20.75}
        page = self.page(us, FOLDER / "tuned.hgb")
        self.assertRegex(page, r"\| kernels \| \d+ shapes tuned on NVIDIA H200.* SHA-256 \w{12} "
                               r"\|\n\| recorded by \| `host_time.py tuned.hgb` \|\n\n")
        self.assertIn(" | torch | 9.00 | 9.50 | 0.50 | 1.06 | 20.00 | 18.00 | -2.00 | 0.90 |\n",
                      page)
        for together in ("q_proj+k_proj+v_proj", "gate_proj+up_proj, swiglu"):
            self.assertIn(f": {together} in one product | torch |  |  |  |  | 20.00 | 18.00 |",
                          page)
        self.assertIn("\n| 16x1000x1000, which was not tuned | torch | 9.00 |", page)
        rows = [line for line in page.splitlines() if line.startswith("|")]
        self.assertEqual({row.count("|") for row in rows}, {3, 11})
        verdict, of_torch, of_layer = page.splitlines()[-5::2]
        self.assertRegex(verdict, r"^The largest `more` is 0.50 us \(operator beside "
                         r"F.linear, .*\) and -2.00 us \(patched beside nn.Linear, .*\): within 1 ")
        self.assertIn("`torch.ops.aten.linear`, which computes the same, takes 0.25 us more than "
                      "`F.linear` (16x1000x1000, which was not tuned)", of_torch)
        self.assertIn("A layer that looks up the shape and the type of x, and then calls "
                      "`F.linear`, takes 0.75 us more than `nn.Linear`", of_layer)
        us["patched"] = 21.01
        self.assertRegex(self.page(us, FOLDER / "tuned.hgb").splitlines()[-5],
                         r"and 1.01 us \(.*\): \*\*not\*\* within 1 us of torch\.$")

    def test_a_time_is_the_mean_of_a_row_of_calls(self):
        clock = iter(range(0, 10**9, 80_000))
        with (mock.patch.object(torch.cuda, "synchronize"),
              mock.patch.object(host_time.time, "perf_counter_ns", lambda: next(clock))):
            self.assertEqual(host_time.medians({"one": lambda: None, "other": lambda: None}),
                             {"one": 2.0, "other": 2.0})


if __name__ == "__main__":
    unittest.main()
