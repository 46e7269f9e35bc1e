"""Finds the fastest verified GEMM kernel for each shape on an H100 or H200.

    import hgemm_tune

    for row in hgemm_tune.best("llama7b.yaml", recorded=True):
        print(row.problem, row.regime, row.label, row.ratio_cublas)

`tune` measures on a GPU, `best` looks up what was measured. Both run the program of this package,
which is the command `hgemm-tune`, too.
"""

from importlib.metadata import version

from .best_fields import Best
from .command import HgemmTuneError
from .tuning import Results, Shapes, best, tune

__all__ = ["Best", "HgemmTuneError", "Results", "Shapes", "best", "tune"]
__version__ = version("hgemm-tune")
