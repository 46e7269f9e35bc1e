"""Finds the fastest verified GEMM kernel for each shape on an H100 or H200.

    import hgemm_tune

    for row in hgemm_tune.best("llama7b.yaml", recorded=True):
        print(row.problem, row.regime, row.label, row.ratio_cublas)

`tune` measures on a GPU, `best` looks up what was measured. Both run the program of this package,
which is the command `hgemm-tune`, too. `patch` makes the linear layers of a model run compiled
kernels of a bundle. `load` opens one, and `shipped` that which came with the package; `use` makes
torch.ops.hgemm_tune.linear take kernels from it.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from .best_fields import Best
from .bundles import Bundle, load, shipped
from .command import HgemmTuneError
from .tuning import Results, Shapes, best, tune

if TYPE_CHECKING:
    from .pytorch import calls, patch, unpatch, use

__all__ = ["Best", "Bundle", "HgemmTuneError", "Results", "Shapes", "best", "load", "shipped",
           "tune"]
__version__ = version("hgemm-tune")


def __getattr__(name: str) -> Any:
    """What needs torch imports it when it is first asked for."""
    if name not in ("calls", "patch", "unpatch", "use"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import pytorch

    return getattr(pytorch, name)
