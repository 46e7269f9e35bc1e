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

import torch
from graphs import LIGHT_LOAD, Candidate, interval, ratios, time_in_turns
from package import Workspace, load_arguments


class TunedLinear(torch.nn.Module):
    """y = x W^T."""

    def __init__(self, weight: torch.Tensor):
        super().__init__()
        self.weight = torch.nn.Parameter(weight, requires_grad=False)

    def reserve(self, x: torch.Tensor) -> None:
        """Makes room for an input of this shape; before capture."""
        Workspace.reserve(torch.ops.hgemm_tuned.workspace_bytes(x, self.weight))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.hgemm_tuned.linear(x, self.weight, Workspace.memory)


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
    time_in_turns([ours, theirs], heavy)
    by_round = ratios(theirs, ours)
    return {
        "us": statistics.median(ours.us),
        "their_us": statistics.median(theirs.us),
        "ratio": statistics.median(by_round),
        "interval": interval(by_round),
        "error": our_error,
        "their_error": their_error,
        # Allows one rounding to the type, and fp32 sums in another order.
        "tolerance": (2.0**-11 if dtype == torch.float16 else 2.0**-8) + k / 16 * 2.0**-23,
    }


def main() -> int:
    began = time.monotonic()
    load_arguments()
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
    all_ratios, wrong, behind = [], 0, 0
    for m, n, k, fp16 in zip(*[iter(flat)] * 4):
        row = measure(m, n, k, torch.float16 if fp16 else torch.bfloat16)
        label, runs = torch.ops.hgemm_tuned.selected(m, n, k, fp16)
        low, high = row["interval"]
        right = row["error"] <= row["tolerance"]
        wrong += not right
        behind += high < 1
        all_ratios.append(row["ratio"])
        shape = f"{m}x{n}x{k}{'.fp16' if fp16 else ''}"
        print(
            f"| {shape} | `{label}` | {runs} | {row['us']:.2f} | {row['their_us']:.2f} | "
            f"{row['ratio']:.3f} [{low:.3f}, {high:.3f}] | "
            f"{row['error'] / row['tolerance']:.2f}{'' if right else ' WRONG'} |",
            flush=True,
        )
    geomean = math.exp(sum(map(math.log, all_ratios)) / len(all_ratios))
    print(f"| geomean of {len(all_ratios)} | | | | | {geomean:.3f} | |")
    print(f"\n{wrong} wrong; behind F.linear beyond the interval at {behind} shapes")
    return 1 if wrong else 0


if __name__ == "__main__":
    # Uses one stream, because once kernels have run on two at the same time, every later launch of
    # the process takes longer, also those of PyTorch (examples/cmake/main.cu). The same is true
    # after six launches without PDL, which this example does not undo.
    with torch.cuda.stream(torch.cuda.Stream()):
        sys.exit(main())
