"""Measures one model after another; what is measured is printed and kept at once."""

from __future__ import annotations

import gc
import json
import os
import random
import statistics
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import hgemm_tune
import torch
import transformers

from . import report, shapes
from .agreement import agreement
from .choices import ATTENTION, Failed
from .models import Decoder, build, twin
from .provenance import environment, kernels_of, today
from .ways import Phase, measure, record


def free_memory() -> None:
    """Graphs, caches and models that are done with. What torch.compile made of them would also
    count against its limit."""
    torch._dynamo.reset()
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def cold_starts(name: str, sizes: shapes.Sizes, options: Namespace, bundle: Path) -> list[dict]:
    """Each way in processes of its own, in turns."""
    script = str(Path(__file__).with_name("start.py"))
    command = [sys.executable, script, name, str(sizes.num_hidden_layers), str(options.scale),
               options.device]
    fusion = "unfused" if options.unfused else "fused"
    ways = {"plain": command, "patched": [*command, str(bundle), fusion]}
    samples = {way: [] for way in ways}
    for _ in range(options.starts):
        for way, words in ways.items():
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Failed(f"cold start, {way}: {done.stderr.strip()[-600:]}")
            samples[way].append(json.loads(done.stdout))
    return [{"way": way, "samples_s": starts,
             "seconds": {part: statistics.median(start[part] for start in starts)
                         for part in starts[0]}}
            for way, starts in samples.items() if starts]


def measure_model(name: str, sizes: shapes.Sizes, options: Namespace, bundle: hgemm_tune.Bundle,
                  results: report.Results) -> None:
    key = {"model": name, "layers": sizes.num_hidden_layers, "scale": options.scale,
           "date": today(), "kernels": kernels_of(bundle),
           "command": " ".join(["tokens.py", *map(os.path.basename, options.words)])}
    for start in cold_starts(name, sizes, options, bundle.path):
        entry = {**key, **start}
        results.add("starts", ("model", "layers", "scale", "way"), entry)
        print(report.start_line(entry), flush=True)
    began = time.monotonic()
    model = build(sizes, max(options.context, options.prefill), options.device)
    patched = twin(model)
    patching = hgemm_tune.patch(patched, bundle, fuse=not options.unfused)
    print(f"{name}: {str(patching).splitlines()[0]}; ready after {time.monotonic() - began:.0f} s")
    for left in dict.fromkeys(f"  {layer.name.rpartition('.')[2]} left alone: {layer.reason}"
                              for layer in patching.layers if not layer.replaced):
        print(left, flush=True)
    phases = [("decode", batch, options.context, options.rounds) for batch in options.batches]
    if options.prefill:  # long steps, of which fewer do
        rounds = max(5, options.rounds // 4) if options.rounds else 0
        phases.append(("prefill", 1, options.prefill, rounds))
    for phase_name, batch, context, rounds in phases:
        decoder = Decoder(model, batch, context)
        decoders = decoder, decoder.with_model(patched)
        phase = Phase.of(phase_name, decoder)
        for one in (model, patched):
            one.set_attn_implementation(ATTENTION["masked"])
        of = {**key, "context": context, "attention": options.attention, "phase": phase_name,
              "batch": batch}
        steps = min(options.steps, context - 1)
        if steps:
            entry = {**of, **agreement(*decoders, phase, steps)}
            results.add("logits", report.KEY, entry)
            print("\n".join(report.logit_lines(entry)), flush=True)
        for one in (model, patched):  # a step of a full cache needs no mask, those before it do
            one.set_attn_implementation(ATTENTION[options.attention])
        if rounds:
            measured = measure(*decoders, phase, options.ways, rounds)
            entry = {**of, **record(phase, batch, measured)}
            results.add("measured", report.KEY, entry)
            print("\n".join(report.lines(entry)), flush=True)
            del measured
        del decoder, decoders, phase
        free_memory()


@torch.no_grad()
def measure_all(models: dict[str, shapes.Sizes], options: Namespace, bundle: hgemm_tune.Bundle,
                path: Path | None) -> None:
    random.seed(1)
    torch.manual_seed(1)
    machine = {**environment(options.device), "transformers": transformers.__version__}
    results = report.Results(path, machine)
    print(", ".join(f"{name} {value}" for name, value in results.content["environment"].items()),
          flush=True)
    for name, sizes in models.items():
        measure_model(name, sizes, options, bundle, results)
        free_memory()
    measured = results.content["measured"]
    if measured:
        print("", report.times(measured), report.shares(measured), sep="\n")
