"""A linear layer by exported kernels, beside torch.nn.functional.linear: results and times in captured
CUDA graphs at every tuned shape.

python linear.py PACKAGE LIBRARY: the folder that `hgemm-tune export --format cpp` wrote, and the
libhgemm_tuned.a that was built from it.
"""

import math
import random
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.utils import cpp_extension

SAMPLE_US = 2000.0
SHARED_ROUNDS = 60
LEAD_IN_MS, OWN_MS, OWN_ROUNDS = 100.0, 300.0, 5
LIGHT_LOAD = 40.0  # FLOP per byte: above it the power cap may be met


def load(package: Path, library: Path) -> None:
    """Compiles the operators and makes them torch.ops.hgemm_tuned."""
    cpp_extension.load(
        name="hgemm_tuned_torch",
        sources=[str(Path(__file__).with_name("hgemm_linear.cpp"))],
        extra_include_paths=[str(package / "include")],
        extra_cflags=["-O1", "-std=c++20"],
        extra_ldflags=[str(library), "-lcublas"],
        with_cuda=True,
        is_python_module=False,
    )
    torch.ops.hgemm_tuned.prepare()


class TunedLinear(torch.nn.Module):
    """y = x W^T. One workspace serves all layers of a stream; it grows outside of graphs."""

    workspace = torch.empty(0, dtype=torch.uint8)

    def __init__(self, weight: torch.Tensor):
        super().__init__()
        self.weight = torch.nn.Parameter(weight, requires_grad=False)

    def reserve(self, x: torch.Tensor) -> None:
        """Makes room for an input of this shape; before capture."""
        needed = torch.ops.hgemm_tuned.workspace_bytes(x, self.weight)
        if TunedLinear.workspace.numel() < max(needed, 1):
            TunedLinear.workspace = torch.empty(max(needed, 1), dtype=torch.uint8, device=x.device)
            torch.ops.hgemm_tuned.init_workspace(TunedLinear.workspace)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.hgemm_tuned.linear(x, self.weight, TunedLinear.workspace)


class Candidate:
    """A graph of launches that rotate over all inputs, and its times."""

    def __init__(self, layers, inputs):
        self.layers, self.inputs, self.us = layers, inputs, []
        self.capture(len(layers))
        self.graph.replay()
        us = self.timed(1)() / self.launches
        wanted = int(min(4096.0, SAMPLE_US / us))
        sets = len(layers)
        self.capture(max(sets, math.ceil(wanted / sets) * sets))
        self.graph.replay()
        torch.cuda.synchronize()
        self.replay_us = us * self.launches

    def capture(self, launches: int) -> None:
        self.graph, self.launches = torch.cuda.CUDAGraph(), launches
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, stream=torch.cuda.current_stream()):
            for i in range(launches):
                self.layers[i % len(self.layers)](self.inputs[i % len(self.inputs)])

    def replays_in(self, ms: float) -> int:
        return max(1, round(ms * 1e3 / self.replay_us))

    def timed(self, replays: int):
        """Enqueues them; returns what gives microseconds."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(replays):
            self.graph.replay()
        end.record()

        def us() -> float:
            end.synchronize()
            return start.elapsed_time(end) * 1e3

        return us


def time_in_turns(ours: Candidate, theirs: Candidate, heavy: bool) -> list[float]:
    """Ratios of their time to ours, by round."""
    for _ in range(theirs.replays_in(1000 if heavy else 300)):  # to full load
        theirs.graph.replay()
    rounds = []
    for _ in range(OWN_ROUNDS if heavy else SHARED_ROUNDS):
        times = {}
        for candidate in random.sample([ours, theirs], 2):
            if heavy:
                for _ in range(candidate.replays_in(LEAD_IN_MS)):
                    candidate.graph.replay()
            replays = candidate.replays_in(OWN_MS) if heavy else 1
            times[candidate] = (candidate.timed(replays), replays)
        rounds.append(times)
    ratios = []
    for times in rounds:
        for candidate, (us, replays) in times.items():
            candidate.us.append(us() / (candidate.launches * replays))
        ratios.append(theirs.us[-1] / ours.us[-1])
    return ratios


def interval(values: list[float]) -> tuple[float, float]:
    """95 % of the median, by order statistics; of few values their range."""
    values, n = sorted(values), len(values)
    low = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)))
    return values[low], values[n - 1 - low]


def rotation_sets(m: int, n: int, k: int) -> int:
    """Enough to exceed 3x L2; at least 16 where memory is the bound."""
    bytes_of_one = 2.0 * (m * k + n * k + m * n)
    exceed = math.floor(3.0 * torch.cuda.get_device_properties(0).L2_cache_size / bytes_of_one) + 1
    light = 2.0 * m * n * k / bytes_of_one <= LIGHT_LOAD or m <= 128
    return min(512, max(16, exceed) if light else exceed)


@torch.inference_mode()
def measure(m: int, n: int, k: int, dtype: torch.dtype) -> dict:
    sets = rotation_sets(m, n, k)
    inputs = [torch.randn(m, k, device="cuda", dtype=dtype) for _ in range(sets)]
    weights = [torch.randn(n, k, device="cuda", dtype=dtype).mul_(k**-0.5) for _ in range(sets)]
    layers = [TunedLinear(weight) for weight in weights]
    layers[0].reserve(inputs[0])

    expected = torch.nn.functional.linear(inputs[0].float(), weights[0].float())
    error = lambda y: ((y.float() - expected).abs() / (expected.abs() + 1)).max().item()
    our_error = error(layers[0](inputs[0]))
    their_error = error(torch.nn.functional.linear(inputs[0], weights[0]))
    del expected

    def reference(weight):
        return lambda x: torch.nn.functional.linear(x, weight)

    ours = Candidate(layers, inputs)
    theirs = Candidate([reference(weight) for weight in weights], inputs)
    heavy = 2.0 * m * n * k / (2.0 * (m * k + n * k + m * n)) > LIGHT_LOAD
    ratios = time_in_turns(ours, theirs, heavy)
    return {
        "us": statistics.median(ours.us),
        "their_us": statistics.median(theirs.us),
        "ratio": statistics.median(ratios),
        "interval": interval(ratios),
        "error": our_error,
        "their_error": their_error,
        # Allows one rounding to the type, and fp32 sums in another order.
        "tolerance": (2.0**-11 if dtype == torch.float16 else 2.0**-8) + k / 16 * 2.0**-23,
    }


def main() -> int:
    began = time.monotonic()
    load(Path(sys.argv[1]), Path(sys.argv[2]))
    print(
        f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}; "
        f"operators ready after {time.monotonic() - began:.0f} s\n"
    )
    torch.backends.cuda.matmul.allow_tf32 = False
    random.seed(1)
    torch.manual_seed(1)
    print("| shape | config | runs | us | F.linear us | x F.linear | error / tolerance |")
    print("|---|---|---|---:|---:|---:|---:|")
    flat = torch.ops.hgemm_tuned.shapes()
    ratios, wrong, behind = [], 0, 0
    for m, n, k, fp16 in zip(*[iter(flat)] * 4):
        row = measure(m, n, k, torch.float16 if fp16 else torch.bfloat16)
        label, runs = torch.ops.hgemm_tuned.selected(m, n, k, fp16)
        low, high = row["interval"]
        right = row["error"] <= row["tolerance"]
        wrong += not right
        behind += high < 1
        ratios.append(row["ratio"])
        shape = f"{m}x{n}x{k}{'.fp16' if fp16 else ''}"
        print(
            f"| {shape} | `{label}` | {runs} | {row['us']:.2f} | {row['their_us']:.2f} | "
            f"{row['ratio']:.3f} [{low:.3f}, {high:.3f}] | "
            f"{row['error'] / row['tolerance']:.2f}{'' if right else ' WRONG'} |",
            flush=True,
        )
    geomean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"| geomean of {len(ratios)} | | | | | {geomean:.3f} | |")
    print(f"\n{wrong} wrong; behind F.linear beyond the interval at {behind} shapes")
    return 1 if wrong else 0


if __name__ == "__main__":
    # Uses one stream, because once kernels have run on two at the same time, every later launch of
    # the process takes longer, also those of PyTorch (examples/cmake/main.cu). The same is true
    # after six launches without PDL, which this example does not undo.
    with torch.cuda.stream(torch.cuda.Stream()):
        sys.exit(main())
