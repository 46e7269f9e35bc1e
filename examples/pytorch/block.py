"""A feed-forward block and a training step of a linear layer by exported kernels, beside PyTorch's
eager mode and torch.compile: results and times in captured CUDA graphs.

python block.py PACKAGE LIBRARY: the folder that `hgemm-tune export --format cpp` wrote for the
shapes of configs/shapes/block.yaml, and the libhgemm_tuned.a that was built from it.

The block is that of Llama 2 7B: y = x + (silu(x Wg^T) * (x Wu^T)) Wd^T, in two launches. In the
first the weights of gate and up lie one after the other, and SwiGLU is computed on the sums; the
second adds x to them. The training step is y = x W^T, dx = dy W, and dW += dy^T x with dW in fp32,
in three launches, none of which transposes or copies an operand.
"""

import random
import statistics
import sys

import torch
from graphs import Candidate, interval, ratios, time_in_turns
from package import gemm, load_arguments

HIDDEN, WIDTH = 4096, 11008
BLOCK_TOKENS = (2048, 64, 16)
TRAINED = ((4096, 4096, 4096), (4096, 11008, 4096))  # tokens, outputs, inputs
SETS = 4  # of weights and inputs, which exceed L2
MEMORY_BOUND_TOKENS = 64  # so many do not meet the power cap


def normal(*shape: int, deviation: float = 1.0) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16).mul_(deviation)


# ---- The block ----


class TunedBlock(torch.nn.Module):
    def __init__(self, gate_up: torch.Tensor, down: torch.Tensor):
        super().__init__()
        self.gate_up, self.down = gate_up, down

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = x.new_empty(x.size(0), self.down.size(1))
        gemm(x, self.gate_up, inner, activation="swiglu")
        return gemm(inner, self.down, torch.empty_like(x), c=x)


def block(x: torch.Tensor, gate_up: torch.Tensor, down: torch.Tensor) -> torch.Tensor:
    gate, up = torch.nn.functional.linear(x, gate_up).chunk(2, dim=-1)
    return x + torch.nn.functional.linear(torch.nn.functional.silu(gate) * up, down)


# ---- The training step ----


class TunedLinear(torch.autograd.Function):
    """y = x W^T. Its backward pass returns the gradient of x, and adds that of W to `total`."""

    @staticmethod
    def forward(ctx, x, weight, total):
        ctx.save_for_backward(x, weight, total)
        return gemm(x, weight, x.new_empty(x.size(0), weight.size(0)))

    @staticmethod
    def backward(ctx, dy):
        x, weight, total = ctx.saved_tensors
        gemm(dy.t(), x.t(), total, c=total)
        return gemm(dy, weight.t(), torch.empty_like(x)), None, None


def tuned_step(x, weight, dy, total):
    y = TunedLinear.apply(x, weight, total)
    return y, torch.autograd.grad(y, x, dy)[0]


def step(x, weight, dy, total):
    y = torch.nn.functional.linear(x, weight)
    total += dy.t() @ x  # rounded to bf16, then added to the fp32 sums
    return y, dy @ weight


# ---- Measuring ----


def error(result: torch.Tensor, expected: torch.Tensor) -> float:
    scale = expected.std()
    return ((result.float() - expected).abs() / (expected.abs() + scale)).max().item()


def timed(all_layers: dict, inputs, heavy: bool) -> list[str]:
    """Columns of a table: our time, and for each other its time and how many times ours it is."""
    ours, *others = candidates = [Candidate(layers, inputs) for layers in all_layers.values()]
    time_in_turns(candidates, heavy)
    columns = [f"{statistics.median(ours.us):.1f}"]
    for theirs in others:
        by_round = ratios(theirs, ours)
        low, high = interval(by_round)
        columns.append(f"{statistics.median(theirs.us):.1f}")
        columns.append(f"{statistics.median(by_round):.3f} [{low:.3f}, {high:.3f}]")
    return columns


def measure_block(tokens: int) -> tuple[list[str], bool]:
    inputs = [normal(tokens, HIDDEN) for _ in range(SETS)]
    weights = [
        (
            normal(2 * WIDTH, HIDDEN, deviation=HIDDEN**-0.5),
            normal(HIDDEN, WIDTH, deviation=WIDTH**-0.5),
        )
        for _ in range(SETS)
    ]
    compiled = torch.compile(block, dynamic=False)
    candidates = {
        "ours": [TunedBlock(*of_layer) for of_layer in weights],
        "eager": [lambda x, w=of_layer: block(x, *w) for of_layer in weights],
        "compiled": [lambda x, w=of_layer: compiled(x, *w) for of_layer in weights],
    }
    expected = block(inputs[0].float(), *(w.float() for w in weights[0]))
    errors = [error(layers[0](inputs[0]), expected) for layers in candidates.values()]
    right = errors[0] <= 1.5 * errors[1]  # PyTorch rounds what we keep in fp32
    heavy = tokens > MEMORY_BOUND_TOKENS
    return [*timed(candidates, inputs, heavy), *(f"{e:.4f}" for e in errors)], right


def measure_step(tokens: int, outputs: int, inputs: int) -> tuple[list[str], bool]:
    sets = []
    for _ in range(SETS):
        x = normal(tokens, inputs).requires_grad_()
        weight = normal(outputs, inputs, deviation=inputs**-0.5)
        total = torch.zeros(outputs, inputs, device="cuda")
        sets.append((x, weight, normal(tokens, outputs), total))

    def candidate(run, is_ours: bool):
        def layer(of_set):
            x, weight, dy, total = of_set
            return run(x if is_ours else x.detach(), weight, dy, total)

        return [layer] * SETS

    compiled = torch.compile(step, dynamic=False)
    candidates = {
        "ours": candidate(tuned_step, True),
        "eager": candidate(step, False),
        "compiled": candidate(compiled, False),
    }
    x, weight, dy, total = (t.detach() for t in sets[0])
    expected = (
        x.float() @ weight.float().t(),
        dy.float() @ weight.float(),
        1.0 + dy.float().t() @ x.float(),
    )
    errors = []
    for layers in candidates.values():
        total.fill_(1.0)
        results = (*layers[0](sets[0]), total)
        errors.append(max(error(r.detach(), e) for r, e in zip(results, expected)))
    right = errors[0] <= 1.5 * errors[1]
    return [*timed(candidates, sets, heavy=True), *(f"{e:.4f}" for e in errors)], right


def main() -> int:
    load_arguments()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}\n")
    torch.backends.cuda.matmul.allow_tf32 = False
    random.seed(1)
    torch.manual_seed(1)
    columns = "ours us | eager us | x eager | compiled us | x compiled | errors: ours | eager | compiled"
    rule = "|---|" + "---:|" * 8
    print(f"| block of Llama 2 7B, tokens | {columns} |\n{rule}")
    wrong = 0
    with torch.no_grad():
        for tokens in BLOCK_TOKENS:
            row, right = measure_block(tokens)
            wrong += not right
            print(f"| {tokens} | {' | '.join(row)}{'' if right else ' WRONG'} |", flush=True)
    print(f"\n| training step, tokens x outputs x inputs | {columns} |\n{rule}")
    for shape in TRAINED:
        row, right = measure_step(*shape)
        wrong += not right
        name = " x ".join(map(str, shape))
        print(f"| {name} | {' | '.join(row)}{'' if right else ' WRONG'} |", flush=True)
    print(f"\n{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    # One stream, for the reason that linear.py gives.
    with torch.cuda.stream(torch.cuda.Stream()):
        sys.exit(main())
