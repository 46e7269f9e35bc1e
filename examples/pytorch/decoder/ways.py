"""The ways to run a model, and their times: what is compared takes turns, so that the drift of the
clock meets all alike."""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import hgemm_tune
import torch
from hgemm_tune import inductor
from torch.utils._python_dispatch import TorchDispatchMode

from .choices import WAYS
from .models import Decoder

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from graphs import interval  # noqa: E402

WARM_UPS = 3
HEAVY_MS = 20.0  # a step of so long may meet the power cap, whose clock is its own
LEAD_IN_MS = 100.0
# torch.compile's "max-autotune" makes graphs of its own, whose replays check their inputs on the
# host. Graphs are captured here for all ways alike.
MODE = "max-autotune-no-cudagraphs"


class Candidate:
    """Something that can be repeated, and its times."""

    def __init__(self, run, reset):
        self.run, self.reset, self.ms = run, reset, []

    def timed(self, device: str):
        """Runs it, or enqueues it; returns what gives milliseconds."""
        self.reset()
        if device == "cpu":
            start = time.perf_counter()
            self.run()
            ms = (time.perf_counter() - start) * 1e3
            return lambda: ms
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.run()
        end.record()

        def elapsed() -> float:
            end.synchronize()
            return start.elapsed_time(end)

        return elapsed


def time_in_turns(candidates: list[Candidate], rounds: int, device: str) -> None:
    """Adds a time for each round. Nobody waits for the GPU meanwhile, so it always has work ahead,
    and no time has the host's share of a launch."""
    leads = {}
    for candidate in candidates:
        candidate.timed(device)()
        ms = candidate.timed(device)()
        is_heavy = device != "cpu" and ms > HEAVY_MS
        leads[candidate] = round(LEAD_IN_MS / ms) if is_heavy else 0
    pending = []
    for _ in range(rounds):
        for candidate in random.sample(candidates, len(candidates)):
            for _ in range(leads[candidate]):
                candidate.reset()
                candidate.run()
            pending.append((candidate, candidate.timed(device)))
    for candidate, ms in pending:
        candidate.ms.append(ms())


def in_graph(run, reset):
    """The same as a CUDA graph, whose result is where it was captured. A replay reads what `run`
    holds, so it holds `run`: memory that is freed is unmapped where the next graph is captured."""
    for _ in range(WARM_UPS):
        reset()
        run()
    reset()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        result = run()

    def replay():
        graph.replay()
        return result

    replay.reads_from = run
    return replay


def without_graph(run, reset):
    for _ in range(WARM_UPS):
        reset()
        run()
    return run


class Phase(NamedTuple):
    """A step that is measured: decode of the last token that the cache has room for, or a prefill
    of all of them. A prefill runs without a graph, as Transformers' generate() does: it takes so
    long that the host is ahead, and a capture makes Transformers choose another attention."""

    name: str
    position: int
    ids: torch.Tensor

    @staticmethod
    def of(name: str, decoder: Decoder) -> Phase:
        tokens = 1 if name == "decode" else decoder.context
        return Phase(name, decoder.context - tokens, decoder.tokens(tokens))

    def function(self, decoder: Decoder):
        positions = decoder.positions(self.position, self.ids.shape[1])
        return lambda: decoder.forward(self.ids, positions)


class _Products(TorchDispatchMode):
    """Notes the products of matrices that linear layers become."""

    def __init__(self):
        super().__init__()
        ops = torch.ops.hgemm_tune
        self.known = {torch.ops.aten.mm.default, torch.ops.aten.addmm.default,
                      ops._linear.default, ops._siblings.default, ops._gated_siblings.default}
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function in self.known:
            self.calls.append((function, args, kwargs or {}))
        return function(*args, **(kwargs or {}))


def linears_alone(step):
    """A function of a step's linear layers, one after another, without what is between them; and
    how many products these are. A gate between two layers that is one product with them is a part
    of it."""
    with _Products() as products:
        step()

    def run() -> None:
        for function, args, kwargs in products.calls:
            function(*args, **kwargs)

    return run, len(products.calls)


def difference(ours: torch.Tensor, theirs: torch.Tensor) -> dict:
    """By which logits differ: at most, and as rms. And how many tokens are equal."""
    off = ours.float() - theirs.float()
    equal = (ours.argmax(-1) == theirs.argmax(-1)).sum()
    return {"max": off.abs().max().item(), "rms": off.square().mean().sqrt().item(),
            "equal_tokens": equal.item(), "tokens": len(ours)}


class Measurement(NamedTuple):
    ms: dict[str, list[float]]
    linears: dict[str, list[float]]
    #: by way, how far what was timed is from the plain step without a graph
    off: dict[str, dict]
    #: by way, what kept it from being measured
    failed: dict[str, str]
    #: products of the linear layers in a step of the last way; and how many of them kernels of the
    #: bundle compute
    calls: int
    tuned_calls: int


@contextmanager
def _autotuned_with_kernels() -> Iterator[None]:
    """What is compiled meanwhile may take kernels of the bundle."""
    inductor.enable()
    try:
        yield
    finally:
        inductor.disable()


def measure(plain: Decoder, patched: Decoder, phase: Phase, ways: list[str],
            rounds: int) -> Measurement:
    """Times of a step in each of the ways, and of its linear layers alone, plain and patched."""
    device = plain.device.type
    keep = in_graph if device == "cuda" else without_graph
    keep_step = keep if phase.name == "decode" else without_graph

    def reset() -> None:
        plain.set_length(phase.position)  # the cache is that of both

    steps, linears, failed, calls, tuned = {}, {}, {}, 0, 0
    reset()
    expected = phase.function(plain)()
    for name in ways:
        decoder = patched if WAYS[name].patched else plain
        step = phase.function(decoder)
        if not WAYS[name].compiled:
            reset()
            alone, calls = linears_alone(step)
            before = hgemm_tune.calls().tuned
            alone()
            tuned = hgemm_tune.calls().tuned - before
            linears[name] = Candidate(keep(alone, lambda: None), lambda: None)
        else:
            step = torch.compile(step, mode=MODE, dynamic=False)
        is_autotuned = WAYS[name].patched and WAYS[name].compiled
        try:
            with _autotuned_with_kernels() if is_autotuned else nullcontext():
                steps[name] = Candidate(keep_step(step, reset), reset)
        except RuntimeError as error:
            if not WAYS[name].compiled:
                raise
            # A compiler that fails leaves the other ways to be measured.
            first_line = str(error).strip().partition("\n")[0]
            failed[name] = f"{type(error).__name__}: {first_line}"
    time_in_turns([*steps.values(), *linears.values()], rounds, device)
    off = {}
    for name, one in steps.items():
        one.reset()
        off[name] = difference(one.run(), expected)
    return Measurement({name: one.ms for name, one in steps.items()},
                       {name: one.ms for name, one in linears.items()}, off, failed, calls, tuned)


# ---- What the times say ----


def median_ratio(numerators: list[float], denominators: list[float]) -> dict[str, float]:
    """The median of the ratios by round, with its interval of 95 %."""
    by_round = [one / other for one, other in zip(numerators, denominators)]
    low, high = interval(by_round)
    return {"median": statistics.median(by_round), "low": low, "high": high}


def record(phase: Phase, batch: int, measured: Measurement) -> dict:
    """Medians, and ratios of the plain way's time to each, by round. Amdahl's law says what the
    linear layers' gain alone makes of a step."""
    tokens = phase.ids.numel()
    ways = {name: {"failed": why} for name, why in measured.failed.items()}
    for name, times in measured.ms.items():
        ms = statistics.median(times)
        ways[name] = {"ms": ms, "tokens_per_s": tokens / ms * 1e3,
                      "x_plain": median_ratio(measured.ms["plain"], times),
                      "off": measured.off[name], "samples_ms": times}
    linears = {"calls": measured.calls, "tuned_calls": measured.tuned_calls,
               "ms": {name: statistics.median(ms) for name, ms in measured.linears.items()},
               "samples_ms": measured.linears}
    plain = measured.linears["plain"]
    linears["share"] = median_ratio(plain, measured.ms["plain"])
    if "patched" in measured.linears:
        linears["gain"] = median_ratio(plain, measured.linears["patched"])
        share, gain = (linears[name]["median"] for name in ("share", "gain"))
        linears["expected_x_plain"] = 1 / (1 - share + share / gain)
    return {"phase": phase.name, "batch": batch, "tokens": tokens, "ways": ways,
            "linears": linears}
