"""What a call of a linear layer takes of the host: torch.ops.hgemm_tune.linear and a patched layer
beside torch.nn.functional.linear, for each product of a bundle.

python host_time.py BUNDLE: a file of `hgemm-tune export --format bundle`. Needs a Hopper GPU for
which the bundle is valid. Calls are enqueued in short rows, so that nobody waits for the GPU, and
what is compared takes turns.
"""

import random
import statistics
import sys
import time

import hgemm_tune
import hgemm_tune.pytorch
import torch

ROUNDS, CALLS = 60, 40  # a queue of the GPU takes some hundred launches before the host has to wait
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def microseconds(call) -> float:
    """The mean of a row of calls."""
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - start) / CALLS / 1e3


def medians(calls: dict) -> dict:
    for call in calls.values():  # the first one makes a plan and a workspace
        microseconds(call)
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name in random.sample(list(calls), len(calls)):
            times[name].append(microseconds(calls[name]))
    return {name: statistics.median(of_rounds) for name, of_rounds in times.items()}


def measure(row: dict) -> str:
    options = {"dtype": DTYPES[row["dtype"]], "device": "cuda"}
    x = torch.randn(row["m"], row["k"], **options)
    layer = torch.nn.Linear(row["k"], row["n"], bias=row["epilogue"] == "bias", **options)
    patched = torch.nn.Linear(row["k"], row["n"], bias=row["epilogue"] == "bias", **options)
    patched.__class__ = hgemm_tune.pytorch.TunedLinear  # whatever the table says of it
    weight, bias = layer.weight.detach(), None if layer.bias is None else layer.bias.detach()
    before = hgemm_tune.calls().tuned
    us = medians({
        "torch": lambda: torch.nn.functional.linear(x, weight, bias),
        "operator": lambda: torch.ops.hgemm_tune.linear(x, weight, bias),
        "nn.Linear": lambda: layer(x),
        "patched": lambda: patched(x),
    })
    ran = "kernel" if hgemm_tune.calls().tuned > before else "torch"
    more, more_patched = us["operator"] - us["torch"], us["patched"] - us["nn.Linear"]
    numbers = (us["torch"], us["operator"], more, us["operator"] / us["torch"], us["nn.Linear"],
               us["patched"], more_patched)
    return f"| {row['problem']} | {ran} | " + " | ".join(f"{one:.2f}" for one in numbers) + " |"


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python host_time.py BUNDLE", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("host_time.py: torch finds no CUDA device; run this on a Hopper GPU", file=sys.stderr)
        return 1
    bundle = hgemm_tune.load(sys.argv[1])
    hgemm_tune.use(bundle, only_gains=False)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}:"
          " microseconds of the host for a call\n")
    columns = ("problem", "computed by", "F.linear", "operator", "more", "ratio", "nn.Linear",
               "patched", "more")
    print(f"| {' | '.join(columns)} |\n|---|---|" + "---:|" * 7)
    rows = [row for row in bundle.rows if row["layout"] == "TN" and row["batch"] == 1
            and row["dtype"] in DTYPES and row["epilogue"] in ("plain", "bias")]
    with torch.inference_mode():
        for row in rows:
            print(measure(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
