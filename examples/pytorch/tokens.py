#!/usr/bin/env python3
"""Tokens per second of Llama-3-8B, Qwen2.5-7B and Mistral-7B in Transformers, with random weights
in bf16, on one Hopper GPU: plain, by torch.compile, and patched by hgemm_tune.

    tokens.py --shapes > tokens.yaml
    hgemm-tune tune --shapes tokens.yaml --regime sustained
    hgemm-tune export --format bundle -o tokens.hgb --shapes tokens.yaml
    tokens.py --bundle tokens.hgb --json tokens.json
    tokens.py --table tokens.json > tokens.md

A decode step is the forward pass of one token of each sequence with a static KV cache, which it
fills, in a CUDA graph. A prefill is that of all tokens of a sequence, without a graph. The ways
take turns. Beside the times are the share of the linear layers in a step and their own gain (how
much faster can a step become?), how far logits and tokens are from the plain ones and from those
of fp32, and what a process takes to its first token. Each result is printed, and added to the file
of --json, as soon as it is there.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from decoder import report, shapes  # noqa: E402
from decoder.choices import ATTENTION, WAYS, Failed  # noqa: E402


def number(least: int):
    def parse(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return value

    parse.__name__ = "number"
    return parse


def several(of, known=()):
    """An argument with commas."""
    def parse(text: str) -> list:
        found = [of(part) for part in text.split(",")]
        for one in found:
            if known and one not in known:
                raise argparse.ArgumentTypeError(f"{one} is none of {', '.join(known)}")
        return list(dict.fromkeys(found))

    parse.__name__ = "list"
    return parse


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tokens.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--models", type=several(str, tuple(shapes.MODELS)), default=list(shapes.MODELS),
        help=f"some of {','.join(shapes.MODELS)} (all)")
    add("--batches", type=several(number(0)), default=[1, 8, 32, 128],
        help="sequences of a decode step; 0: none (1,8,32,128)")
    add("--context", type=number(2), default=512,
        help="tokens that a decode step attends to, its own included (512)")
    add("--prefill", type=number(0), default=2048, help="tokens of the prefill; 0: none (2048)")
    add("--ways", type=several(str, tuple(WAYS)), default=["plain", "compiled", "patched"],
        help=f"some of {','.join(WAYS)}; plain is always one (the first three)")
    add("--attention", choices=ATTENTION, default="masked",
        help="masked: as Transformers calls it with a static cache; unmasked: without the mask, "
             "which hides nothing in the steps that are measured, so that torch takes its flash "
             "kernels (masked)")
    add("--unfused", action="store_true",
        help="patch each layer for itself: neither queries, keys and values in one product, nor "
             "gate and up")
    add("--layers", type=number(1), help="so many layers instead of the model's, for a quick look")
    add("--scale", type=number(1), default=1, help="divide all sizes, to try this script (1)")
    add("--rounds", type=number(0), default=40,
        help="times of each way in decode; 0: none, only logits and starts (40)")
    add("--steps", type=number(0), default=32,
        help="greedy steps, or prompts of a prefill, whose logits are compared; 0: none (32)")
    add("--starts", type=number(0), default=2, help="cold starts of each way (2)")
    add("--bundle", type=Path,
        help="the kernels (default: those that came with hgemm_tune for this GPU)")
    add("--any-machine", action="store_true",
        help="take a bundle that was measured with another GPU or driver")
    add("--json", type=Path, help="the file that results are added to")
    add("--device", choices=("cuda", "cpu"), default="cuda",
        help="cpu: to try this script, with any bundle and a --scale; torch computes all (cuda)")
    add("--shapes", action="store_true", help="only print the list of shapes that a tune reads")
    add("--table", type=Path, metavar="JSON", help="only print a page of Markdown of such a file")
    options = parser.parse_args(words)
    options.words = words
    options.batches = [batch for batch in options.batches if batch != 0]
    if not options.batches and not options.prefill:
        parser.error("--batches 0 and --prefill 0 leave nothing to measure")
    if not options.rounds and not options.steps and not options.starts:
        parser.error("--rounds 0, --steps 0 and --starts 0 leave nothing to measure")
    options.ways = list(dict.fromkeys(["plain", *options.ways]))
    return options


def recipe(options: argparse.Namespace) -> str:
    chosen = f" --models {','.join(options.models)}"
    chosen += f" --batches {','.join(map(str, options.batches)) or 0} --prefill {options.prefill}"
    chosen += " --unfused" if options.unfused else ""
    return ("tune them on this GPU, which takes minutes:\n"
            f"  tokens.py --shapes{chosen} > tokens.yaml\n"
            "  hgemm-tune tune --shapes tokens.yaml --regime sustained\n"
            "  hgemm-tune export --format bundle -o tokens.hgb --shapes tokens.yaml\n"
            f"  tokens.py --bundle tokens.hgb{chosen}")


def require(options: argparse.Namespace) -> None:
    """What is needed to measure; each message names the next step."""
    for module, next_step in (("torch", "pip install torch, 2.11 or newer"),
                              ("transformers", "pip install transformers, 5.0 or newer"),
                              ("hgemm_tune", "pip install . in the folder of hgemm-tune")):
        if importlib.util.find_spec(module) is None:
            raise Failed(f"no {module} in {sys.executable}: {next_step}")
    import torch

    if options.device == "cuda" and (not torch.cuda.is_available()
                                     or torch.cuda.get_device_capability() != (9, 0)):
        raise Failed("torch finds no Hopper GPU: run this on a Hopper GPU")


def prepare(bundle, device: int, options: argparse.Namespace) -> None:
    """Loads the kernels, if they were measured on such a machine or any will do."""
    from hgemm_tune import HgemmTuneError

    try:
        bundle.prepare(device, any_gpu=options.any_machine, any_driver=options.any_machine)
    except HgemmTuneError as error:
        raise Failed(f"{error}\nTake the kernels nevertheless by --any-machine, or "
                     f"{recipe(options)}") from error


def check(bundle, models: dict[str, shapes.Sizes], options: argparse.Namespace) -> None:
    """Says for which shapes the bundle has nothing; a model without any is an error on a GPU."""
    for name, sizes in models.items():
        wanted, missing = (shapes.untuned(sizes, options.batches, options.prefill, rows,
                                          options.unfused) for rows in ([], bundle.rows))
        if len(missing) == len(wanted) and options.device == "cuda":
            raise Failed(f"{bundle.path} was tuned for none of the {len(wanted)} shapes of {name}: "
                         f"{recipe(options)}")
        if missing:
            shown = ", ".join(missing[:6]) + (", ..." if len(missing) > 6 else "")
            print(f"tokens.py: {bundle.path} was not tuned for {len(missing)} of the {len(wanted)} "
                  f"shapes of {name} ({shown}): torch computes them, or a kernel of more rows",
                  file=sys.stderr)


def measure(options: argparse.Namespace, models: dict[str, shapes.Sizes]) -> None:
    require(options)
    import hgemm_tune
    import torch

    from decoder import run

    try:
        if options.bundle is not None:
            bundle = hgemm_tune.load(options.bundle)
        else:
            gpu = torch.cuda.get_device_name() if options.device == "cuda" else "this CPU"
            bundle = hgemm_tune.shipped(gpu)
        check(bundle, models, options)
        if options.device == "cpu":
            run.measure_all(models, options, bundle, options.json)
            return
        prepare(bundle, torch.cuda.current_device(), options)
        # One stream, for the reason that linear.py gives.
        with torch.cuda.stream(torch.cuda.Stream()):
            run.measure_all(models, options, bundle, options.json)
    except hgemm_tune.HgemmTuneError as error:
        raise Failed(str(error)) from error
    except torch.OutOfMemoryError as error:
        raise Failed(f"{error}\nName smaller --batches, a shorter --context or --prefill, or "
                     "--steps 0, which needs no second model in fp32") from error


def main(words: list[str]) -> int:
    options = parsed(words)
    models = {name: shapes.scaled(shapes.MODELS[name], options.scale, options.layers)
              for name in options.models}
    try:
        if options.shapes:
            print(shapes.shape_list(models, options.batches, options.prefill, options.unfused),
                  end="")
        elif options.table:
            print(report.page(options.table), end="")
        else:
            measure(options, models)
    except Failed as error:
        print(f"tokens.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
