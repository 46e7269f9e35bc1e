"""The operators of an exported package, and the memory that they share."""

import sys
from pathlib import Path

import torch
from torch.utils import cpp_extension


def check(package: Path, library: Path) -> None:
    """Says what is not there, and what writes it."""
    if not (package / "include/hgemm_tuned.h").is_file():
        raise FileNotFoundError(
            f"{package} is not the folder of an exported package, since it has no "
            f"include/hgemm_tuned.h; write one: hgemm-tune export --format cpp -o {package} ..."
        )
    if not library.is_file():
        raise FileNotFoundError(
            f"there is no library {library}; build it: cmake -S {package} -B {package}/build "
            f"-G Ninja && cmake --build {package}/build makes {package}/build/libhgemm_tuned.a"
        )


def load(package: Path, library: Path) -> None:
    """Compiles the operators and makes them torch.ops.hgemm_tuned."""
    check(package, library)
    cpp_extension.load(
        name="hgemm_tuned_torch",
        sources=[str(Path(__file__).with_name("operators.cpp"))],
        extra_include_paths=[str(package.resolve() / "include")],
        extra_cflags=["-O1", "-std=c++20"],
        extra_ldflags=[str(library.resolve()), "-lcublas"],  # it is linked in another folder
        with_cuda=True,
        is_python_module=False,
    )
    torch.ops.hgemm_tuned.prepare()


def load_arguments() -> None:
    """load() of the command line's PACKAGE and LIBRARY. Exits if it does not name them."""
    if len(sys.argv) != 3:
        sys.exit(f"usage: python {Path(sys.argv[0]).name} PACKAGE LIBRARY")
    package, library = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        check(package, library)
    except FileNotFoundError as missing:
        sys.exit(str(missing))
    load(package, library)


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
