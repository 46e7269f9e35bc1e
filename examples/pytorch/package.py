"""The operators of an exported package, and the memory that they share."""

from pathlib import Path

import torch
from torch.utils import cpp_extension


def load(package: Path, library: Path) -> None:
    """Compiles the operators and makes them torch.ops.hgemm_tuned."""
    cpp_extension.load(
        name="hgemm_tuned_torch",
        sources=[str(Path(__file__).with_name("operators.cpp"))],
        extra_include_paths=[str(package / "include")],
        extra_cflags=["-O1", "-std=c++20"],
        extra_ldflags=[str(library), "-lcublas"],
        with_cuda=True,
        is_python_module=False,
    )
    torch.ops.hgemm_tuned.prepare()


class Workspace:
    """One serves all calls of a stream; it grows outside of graphs."""

    memory = torch.empty(0, dtype=torch.uint8)

    @staticmethod
    def reserve(needed: int) -> None:
        if Workspace.memory.numel() < max(needed, 1):
            Workspace.memory = torch.empty(max(needed, 1), dtype=torch.uint8, device="cuda")
            torch.ops.hgemm_tuned.init_workspace(Workspace.memory)


def gemm(a, b, d, c=None, activation: str = "none") -> torch.Tensor:
    """d = activation(a b^T + c), of views a (M x K) and b (N x K). c may be d. With swiglu and geglu
    d = act(gates) * ups, of N / 2 columns."""
    if not torch.cuda.is_current_stream_capturing():
        Workspace.reserve(torch.ops.hgemm_tuned.gemm_workspace_bytes(a, b, d, c, activation))
    torch.ops.hgemm_tuned.gemm(a, b, d, c, activation, Workspace.memory)
    return d
