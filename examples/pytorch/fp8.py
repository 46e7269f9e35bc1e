"""A quantised linear layer by exported kernels, beside torch._scaled_mm and the bf16 layer: results
and times in captured CUDA graphs at every tuned shape with e4m3 operands.

python fp8.py PACKAGE LIBRARY: the folder that `hgemm-tune export --format cpp` wrote, and the
libhgemm_tuned.a that was built from it. Shapes of configs/shapes/fp8.yaml have scales of tensors,
those of fp8-rows.yaml there scales of each token and each output channel (`rows`), and those of
fp8-blocks.yaml scales of 128 inputs of a token and of 128 x 128 weights (`blocks`), as DeepSeek-V3
has them.

The times are those of the product. Quantising the input is another kernel, which every way to
multiply it needs. The results are checked against the product of the quantised operands. The last
column is what quantising itself costs, relative to the root mean square, whoever multiplies.
"""

import math
import random
import statistics
import sys

import torch
from graphs import LIGHT_LOAD, Candidate, interval, ratios, time_in_turns
from package import Workspace, load_arguments

E4M3 = torch.float8_e4m3fn
LARGEST = torch.finfo(E4M3).max  # 448
BLOCK = 128
# In the package's order.
SCALINGS = ("none", "tensor", "rows", "blocks", "row_blocks", "packed_blocks")
WITH_BLOCKS_OF_WEIGHTS = ("blocks", "packed_blocks")  # 128 x 128 weights share a scale


# ---- Quantising ----


def up(value: int, to: int) -> int:
    return -(-value // to) * to


def in_blocks(matrix: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """The matrix, with zeros to whole blocks, as blocks: of dimensions 1 and 3."""
    height, width = up(matrix.size(0), rows), up(matrix.size(1), columns)
    padded = matrix.new_zeros(height, width)
    padded[: matrix.size(0), : matrix.size(1)] = matrix
    return padded.view(height // rows, rows, width // columns, columns)


def quantised(matrix: torch.Tensor, rows: int, columns: int):
    """The matrix in e4m3, and the factor of each block of so many rows and columns: as fp32, a
    row for each row of blocks. A conversion to e4m3 makes NaN of what is too large: scale first."""
    blocks = in_blocks(matrix.float(), rows, columns)
    scale = blocks.abs().amax(dim=(1, 3), keepdim=True).clamp(min=1e-4) / LARGEST
    values = (blocks / scale).clamp(-LARGEST, LARGEST).to(E4M3)
    height, width = blocks.size(0) * rows, blocks.size(2) * columns
    values = values.view(height, width)[: matrix.size(0), : matrix.size(1)].contiguous()
    return values, scale[:, 0, :, 0]


def dequantised(values: torch.Tensor, scale: torch.Tensor, rows: int, columns: int):
    factors = scale.repeat_interleave(rows, 0).repeat_interleave(columns, 1)
    return values.float() * factors[: values.size(0), : values.size(1)]


def with_padding(scale: torch.Tensor) -> torch.Tensor:
    """Rows of a multiple of 4 numbers, of which those at the end are not used."""
    padded = scale.new_zeros(scale.size(0), up(scale.size(1), 4))
    padded[:, : scale.size(1)] = scale
    return padded


def block_of(scaling: str, is_weight: bool, matrix: torch.Tensor) -> tuple[int, int]:
    """Rows and columns of a matrix that share a scale."""
    if scaling in ("none", "tensor"):
        return matrix.size(0), matrix.size(1)
    if scaling == "rows":
        return 1, matrix.size(1)
    return (BLOCK if is_weight and scaling in WITH_BLOCKS_OF_WEIGHTS else 1), BLOCK


def laid_out(scale: torch.Tensor, scaling: str, is_weight: bool) -> torch.Tensor:
    """Scales as the operator takes them (operators.cpp, scaling_of())."""
    if scaling == "none":
        return scale.new_empty(0)
    if scaling in ("tensor", "rows"):
        return scale.flatten()
    if is_weight and scaling == "packed_blocks":
        return scale.contiguous()
    return with_padding(scale if is_weight and scaling == "blocks" else scale.t())


class Quantised:
    """A matrix in e4m3 with its scales, for this operator and for torch._scaled_mm."""

    def __init__(self, matrix: torch.Tensor, scaling: str, is_weight: bool):
        self.shape = block_of(scaling, is_weight, matrix)
        self.values, scale = quantised(matrix, *self.shape)
        if scaling == "none":  # as if all scales were 1
            self.values, scale = matrix.to(E4M3), torch.ones_like(scale)
        self.scale = scale
        self.ours = laid_out(scale, scaling, is_weight)

    def exact(self) -> torch.Tensor:
        return dequantised(self.values, self.scale, *self.shape)


# ---- The layers ----


class TunedLinear(torch.nn.Module):
    """y = scale_a scale_b x W^T, of x and W in e4m3."""

    def __init__(self, weight: Quantised, scaling: str, fast_sums: bool):
        super().__init__()
        self.weight, self.scaling, self.fast_sums = weight, scaling, fast_sums

    def reserve(self, x: Quantised) -> None:
        """Makes room for an input of this shape; before capture."""
        Workspace.reserve(
            torch.ops.hgemm_tuned.scaled_workspace_bytes(
                x.values, self.weight.values, x.ours, self.weight.ours, self.scaling, self.fast_sums
            )
        )

    def forward(self, x: Quantised) -> torch.Tensor:
        return torch.ops.hgemm_tuned.scaled_linear(
            x.values,
            self.weight.values,
            x.ours,
            self.weight.ours,
            self.scaling,
            self.fast_sums,
            Workspace.memory,
        )


def theirs(weight: Quantised, scaling: str, fast_sums: bool):
    """The same by torch._scaled_mm, whose second matrix is K x N."""

    def scale_of(of: Quantised, is_weight: bool) -> torch.Tensor:
        if scaling in ("none", "tensor"):
            return of.scale.reshape(())
        if scaling == "rows":
            return of.scale.t() if is_weight else of.scale
        if is_weight and scaling in WITH_BLOCKS_OF_WEIGHTS:
            # K / 128 x N / 128, with neighbours along K and the padding of `blocks`
            return with_padding(of.scale)[:, : of.scale.size(1)].t()
        scale = of.ours[:, : of.scale.size(0)]  # K / 128 x rows, with neighbours along the rows
        return scale if is_weight else scale.t()

    scale_b = scale_of(weight, True)

    def layer(x: Quantised) -> torch.Tensor:
        return torch._scaled_mm(
            x.values,
            weight.values.t(),
            scale_a=scale_of(x, False),
            scale_b=scale_b,
            out_dtype=torch.bfloat16,
            use_fast_accum=fast_sums,
        )

    return layer


# ---- Measuring ----


def tolerance(k: int, fast_sums: bool, is_scaled: bool) -> float:
    """One rounding to bf16, and 8 deviations of the error of sums of 8-bit products, of which the
    tensor cores keep about 14 bits (src/gemm/problem.cpp)."""
    sums = max(5.5e-6 * k ** (2 / 3), 3.4e-4) if fast_sums else 3.4e-4
    return 2.0**-8 + (2 if is_scaled else 1) * 8 * sums


def error(y: torch.Tensor, expected: torch.Tensor) -> float:
    return ((y.float() - expected).abs() / (expected.abs() + expected.std())).max().item()


def sets_of(m: int, n: int, k: int) -> int:
    """Enough 8-bit inputs and weights to exceed 3x L2, and few enough to hold their bf16 forms."""
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    return min(64, max(4, math.ceil(3.0 * l2 / (m * k + n * k + 2.0 * m * n))))


@torch.inference_mode()
def measure(m: int, n: int, k: int, scaling: str, fast_sums: bool) -> dict:
    sets = sets_of(m, n, k)
    normal = lambda *shape: torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
    inputs = [normal(m, k) for _ in range(sets)]
    weights = [normal(n, k).mul_(k**-0.5) for _ in range(sets)]
    if scaling == "none":  # k^-1/2 in e4m3 would leave few bits
        inputs = [x.mul_(k**-0.25) for x in inputs]
        weights = [w.mul_(k**0.25) for w in weights]
    x8 = [Quantised(x, scaling, False) for x in inputs]
    w8 = [Quantised(w, scaling, True) for w in weights]
    layers = [TunedLinear(w, scaling, fast_sums) for w in w8]
    layers[0].reserve(x8[0])

    # First whether it is right: a wrong kernel is not timed.
    expected = x8[0].exact() @ w8[0].exact().t()
    row = {"error": error(layers[0](x8[0]), expected)}
    row["tolerance"] = tolerance(k, fast_sums, scaling != "none")
    row["right"] = row["error"] <= row["tolerance"]
    exact = inputs[0].float() @ weights[0].float().t()
    row["quantising"] = ((expected - exact).norm() / exact.norm()).item()
    del exact
    if not row["right"]:
        return row
    others, row["why_none"] = {}, ""
    of_torch = [theirs(w, scaling, fast_sums) for w in w8]
    try:
        row["their_error"] = error(of_torch[0](x8[0]), expected)
        others["their"] = Candidate(of_torch, x8)
    except (RuntimeError, ValueError) as refused:  # a scaling that this PyTorch has not
        row["why_none"] = str(refused).splitlines()[0]
    del expected
    bf16 = [lambda x, w=weight: torch.nn.functional.linear(x, w) for weight in weights]
    others["bf16"] = Candidate(bf16, inputs)

    ours = Candidate(layers, x8)
    heavy = 2.0 * m * n * k / (m * k + n * k + 2.0 * m * n) > LIGHT_LOAD
    time_in_turns([ours, *others.values()], heavy)
    row["us"] = statistics.median(ours.us)
    for name, other in others.items():
        by_round = ratios(other, ours)
        row[f"{name}_us"] = statistics.median(other.us)
        row[f"{name}_ratio"] = statistics.median(by_round), *interval(by_round)
    return row


def columns(row: dict) -> list[str]:
    if not row["right"]:
        return ["-"] * 5
    texts = [f"{row['us']:.2f}"]
    for name in ("their", "bf16"):
        if f"{name}_us" in row:
            ratio, low, high = row[f"{name}_ratio"]
            texts += [f"{row[f'{name}_us']:.2f}", f"{ratio:.3f} [{low:.3f}, {high:.3f}]"]
        else:
            texts += ["-", "-"]
    return texts


def main() -> int:
    load_arguments()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}\n")
    torch.backends.cuda.matmul.allow_tf32 = False
    random.seed(1)
    torch.manual_seed(1)
    flat = torch.ops.hgemm_tuned.scaled_shapes()
    if not flat:
        print(
            "this package has no shapes with e4m3 operands and no epilogue; export some, "
            "as those of fp8.yaml, fp8-rows.yaml or fp8-blocks.yaml"
        )
        return 1
    print("| shape | config | us | _scaled_mm us | x _scaled_mm | bf16 us | x bf16 "
          "| error / tolerance | error by quantising |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    wrong, left_out = 0, {}
    for m, n, k, number, fast_sums in zip(*[iter(flat)] * 5):
        scaling = SCALINGS[number]
        row = measure(m, n, k, scaling, bool(fast_sums))
        wrong += not row["right"]
        label = torch.ops.hgemm_tuned.scaled_selected(m, n, k, number, bool(fast_sums))
        shape = f"{m}x{n}x{k}.e4m3{'.accfast' if fast_sums else ''}"
        shape += "" if scaling == "none" else f".scaling-{scaling}"
        if row.get("why_none"):
            left_out.setdefault(row["why_none"], []).append(shape)
        print(
            f"| {shape} | `{label}` | {' | '.join(columns(row))} | "
            f"{row['error'] / row['tolerance']:.2f}{'' if row['right'] else ' WRONG'} | "
            f"{row['quantising']:.4f} |",
            flush=True,
        )
    for why, shapes in left_out.items():
        print(f"\ntorch._scaled_mm refused {', '.join(shapes)}: {why}")
    print(f"\n{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    # One stream, for the reason that linear.py gives.
    with torch.cuda.stream(torch.cuda.Stream()):
        sys.exit(main())
