"""What a call of a linear layer takes of the host: torch.ops.hgemm_tune.linear and a patched layer
beside torch.nn.functional.linear, for each product of a bundle; layers that a patched model
computes as one product, beside these layers; and a miss, which torch computes. A miss is timed by
torch's own operator torch.ops.aten.linear, too, and by a layer that looks up the shape of x and
does nothing else: what any operator and any layer takes that gives some shapes to kernels.

python host_time.py BUNDLE > host-time.md: a file of `hgemm-tune export --format bundle`. Needs a
Hopper GPU for which the bundle is valid. Calls are enqueued in short rows, so that nobody waits for
the GPU, and what is compared takes turns.
"""

from __future__ import annotations

import copy
import random
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

import hgemm_tune
import hgemm_tune.pytorch
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
from decoder import provenance, report  # noqa: E402

DEVICE = "cuda"
ROUNDS, CALLS = 60, 40  # a queue of the GPU takes some hundred launches before the host has to wait
LIMIT_US = 1.0  # how much more than torch a call may take
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
#: The activations of gates, by the words of the table.
GATES = {"swiglu": torch.nn.SiLU(), "geglu": torch.nn.GELU("tanh"), "geglu_erf": torch.nn.GELU(),
         "reglu": torch.nn.ReLU(), "bilinear": torch.nn.Identity()}
#: A way to call a layer, and what of torch it is compared with.
BESIDE = {"operator": "F.linear", "patched": "nn.Linear"}
TORCHS_OPERATOR = "torch.ops.aten.linear"
LOOKS_UP = "nn.Linear that looks up a shape"
COLUMNS = ("problem", "computed by", "F.linear", "operator", "more", "ratio", "nn.Linear",
           "patched", "more", "ratio")


# ---- Times ----


def microseconds(call) -> float:
    """The mean of a row of calls."""
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - start) / CALLS / 1e3


def medians(calls: dict) -> dict[str, float]:
    for call in calls.values():  # the first one makes a plan and a workspace
        microseconds(call)
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name in random.sample(list(calls), len(calls)):
            times[name].append(microseconds(calls[name]))
    return {name: statistics.median(of_rounds) for name, of_rounds in times.items()}


class Timed(NamedTuple):
    """Microseconds of the host for a call, by the way to call."""

    problem: str
    computed_by: str
    us: dict[str, float]

    def more(self, way: str) -> float:
        return self.us[way] - self.us[BESIDE[way]]

    def line(self) -> str:
        cells = [self.problem, self.computed_by]
        for way, of_torch in BESIDE.items():
            cells += [f"{number:.2f}" for number in (
                self.us[of_torch], self.us[way], self.more(way),
                self.us[way] / self.us[of_torch])] if way in self.us else [""] * 4
        return f"| {' | '.join(cells)} |"


@torch.inference_mode()
def timed(problem: str, calls: dict) -> Timed:
    before = hgemm_tune.calls().tuned
    us = medians(calls)
    return Timed(problem, "kernel" if hgemm_tune.calls().tuned > before else "torch", us)


# ---- What is called ----


@torch.inference_mode()
def normal(m: int, k: int, options: dict) -> torch.Tensor:
    return torch.randn(m, k, **options)


class LooksUp(torch.nn.Linear):
    """What a layer does at least that gives some shapes to kernels: here none."""

    others = frozenset({((1, 1), torch.float16)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if (x.shape, x.dtype) in self.others:
            raise NotImplementedError("no kernels here")
        return torch.nn.functional.linear(x, self.weight, self.bias)


def a_layer(problem: str, m: int, n: int, k: int, bias: bool, options: dict,
            with_bounds: bool = False) -> Timed:
    x, layer = normal(m, k, options), torch.nn.Linear(k, n, bias=bias, **options)
    patched = copy.copy(layer)
    patched.__class__ = hgemm_tune.pytorch.TunedLinear  # whatever the table says of it
    weight, bias = layer.weight.detach(), None if layer.bias is None else layer.bias.detach()
    calls = {
        "F.linear": lambda: torch.nn.functional.linear(x, weight, bias),
        "operator": lambda: torch.ops.hgemm_tune.linear(x, weight, bias),
        "nn.Linear": lambda: layer(x),
        "patched": lambda: patched(x)}
    if with_bounds:
        looks_up = copy.copy(layer)
        looks_up.__class__ = LooksUp
        calls[TORCHS_OPERATOR] = lambda: torch.ops.aten.linear(x, weight, bias)
        calls[LOOKS_UP] = lambda: looks_up(x)
    return timed(problem, calls)


class Projections(torch.nn.Module):
    """Queries, keys and values, by the names of Transformers. How many of the outputs are which
    makes no difference to the host."""

    def __init__(self, n: int, k: int, **options):
        super().__init__()
        keys = n // 6
        self.q_proj = torch.nn.Linear(k, n - 2 * keys, **options)
        self.k_proj = torch.nn.Linear(k, keys, **options)
        self.v_proj = torch.nn.Linear(k, keys, **options)

    def forward(self, x: torch.Tensor):
        return self.q_proj(x), self.k_proj(x), self.v_proj(x)


class Gated(torch.nn.Module):
    """Gate and up of a feed-forward block, by the names of Transformers."""

    def __init__(self, n: int, k: int, act_fn: torch.nn.Module, **options):
        super().__init__()
        self.gate_proj = torch.nn.Linear(k, n // 2, **options)
        self.up_proj = torch.nn.Linear(k, n // 2, **options)
        self.act_fn, self.down_proj = act_fn, torch.nn.Identity()

    def forward(self, x: torch.Tensor):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


def several(problem: str, x: torch.Tensor, layers: torch.nn.Module) -> Timed:
    """Layers of one input, and the same as patch() makes them."""
    patched = copy.deepcopy(layers)
    together = hgemm_tune.patch(patched).layers[0].one_product
    what = f"{together} in one product" if together else "each for itself"
    return timed(f"{problem}: {what}",
                 {"nn.Linear": lambda: layers(x), "patched": lambda: patched(x)})


def all_timed(bundle: hgemm_tune.Bundle):
    """For each product of a table what can be compared, and then a miss."""
    for row in bundle.rows:
        if not hgemm_tune.pytorch._is_dense(row):
            continue
        problem, m, n, k, epilogue = (row[name] for name in ("problem", "m", "n", "k", "epilogue"))
        options = {"dtype": DTYPES[row["dtype"]], "device": DEVICE}
        if epilogue in GATES:
            layers = Gated(n, k, GATES[epilogue], bias=False, **options)
            yield several(problem, normal(m, k, options), layers)
        elif epilogue in ("plain", "bias"):
            yield a_layer(problem, m, n, k, epilogue == "bias", options)
            if n <= 3 * k and n % 6 == 0:  # as of the projections in an attention
                layers = Projections(n, k, bias=epilogue == "bias", **options)
                yield several(problem, normal(m, k, options), layers)
    hgemm_tune.use(bundle)  # which leaves to torch what has no proven gain
    yield a_layer("16x1000x1000, which was not tuned", 16, 1000, 1000, False,
                  {"dtype": torch.bfloat16, "device": DEVICE},
                  with_bounds=True)


# ---- The page ----


def verdict(results: list[Timed]) -> str:
    parts, most = [], []
    for way, of_torch in BESIDE.items():
        last = max((one for one in results if way in one.us), key=lambda one: one.more(way))
        most.append(last.more(way))
        parts.append(f"{most[-1]:.2f} us ({way} beside {of_torch}, {last.problem})")
    is_within = "within" if max(most) <= LIMIT_US else "**not** within"
    lines = [f"The largest `more` is {' and '.join(parts)}: {is_within} {LIMIT_US:g} us of torch."]
    for one in results:
        if TORCHS_OPERATOR in one.us:
            more = one.us[TORCHS_OPERATOR] - one.us["F.linear"]
            lines.append(f"A call by `torch.ops` has a price of its own: `{TORCHS_OPERATOR}`, "
                         f"which computes the same, takes {more:.2f} us more than `F.linear` "
                         f"({one.problem}).")
            more = one.us[LOOKS_UP] - one.us["nn.Linear"]
            lines.append(f"A layer that looks up the shape and the type of x, and then calls "
                         f"`F.linear`, takes {more:.2f} us more than `nn.Linear`.")
    return "\n\n".join(lines)


def main(words: list[str]) -> int:
    if len(words) != 1:
        print("usage: python host_time.py BUNDLE", file=sys.stderr)
        return 2
    if DEVICE == "cuda" and not torch.cuda.is_available():
        print("host_time.py: torch finds no CUDA device; run this on a Hopper GPU", file=sys.stderr)
        return 1
    bundle, of = hgemm_tune.load(words[0]), provenance.environment(DEVICE)
    hgemm_tune.use(bundle, only_gains=False)
    print("# Host time of a linear layer\n")
    print(report.provenance([
        ("GPU", of["gpu"]),
        ("software", f"driver {of['driver']}, torch {of['torch']}, CUDA {of['cuda']}"),
        ("measured", provenance.today()), ("kernels", provenance.kernels_of(bundle)),
        ("recorded by", f"`host_time.py {Path(words[0]).name}`")]))
    print("Microseconds of the host for a call in inference mode, medians. `more` is what a call "
          "takes beyond torch's.\n")
    print(f"| {' | '.join(COLUMNS)} |\n|---|---|{'---:|' * (len(COLUMNS) - 2)}")
    results = []
    for one in all_timed(bundle):
        results.append(one)
        print(one.line(), flush=True)
    print(f"\n{verdict(results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
