"""For tests of python/hgemm_tune with torch: the package as a wheel of the build folder holds it,
and bundles. They run in the Python that HGEMM_TORCH_PYTHON names, or else in this one."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
EXIT_SKIPPED = 77


def arguments():
    """BUILD and PROGRAM of the command line, which unittest then does not see."""
    build, program = sys.argv[1:3]
    chosen = os.environ.get("HGEMM_TORCH_PYTHON")
    if chosen and Path(chosen).absolute() != Path(sys.executable).absolute():
        os.execv(chosen, [chosen, "-B", *sys.argv])
    del sys.argv[1:3]
    return Path(build), Path(program)


def skip(reason):
    print(reason)
    sys.exit(EXIT_SKIPPED)


def require_torch():
    if importlib.util.find_spec("torch") is None:
        skip(f"no torch in {sys.executable}; name a Python that has it by HGEMM_TORCH_PYTHON")
    import torch

    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11):
        skip(f"torch {torch.__version__} in {sys.executable}; 2.11 is needed")


def make_package(folder, build):
    """The package in a folder that is made importable; without the program, as tests know it."""
    package = folder / "hgemm_tune"
    shutil.copytree(SOURCE / "python/hgemm_tune", package,
                    ignore=shutil.ignore_patterns("__pycache__"))
    (package / "lib").mkdir()
    for name in ("libhgemm_tune.so", "libhgemm_tune_torch.so"):
        shutil.copy(build / "runtime" / name, package / "lib")
    (package / "shipped").mkdir()
    for path in SOURCE.glob("results/*/tokens.hgb"):
        shutil.copy(path, package / "shipped" / f"{path.parent.name}.hgb")
    about = folder / "hgemm_tune-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hgemm-tune\nVersion: 0\n")
    sys.path.insert(0, str(folder))


def begin_without_gpu(needs=()):
    """For a test that a GPU must not change: BUILD, PROGRAM, and a folder that is removed when the
    caller lets it go. The package is importable from there. Skips where torch or one of the modules
    `needs` is missing."""
    build, program = arguments()
    require_torch()
    for module in needs:
        if importlib.util.find_spec(module) is None:
            skip(f"no {module} in {sys.executable}")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a GPU that is there is hidden
    folder = temporary_folder()
    make_package(Path(folder.name), build)
    return build, program, folder


def export(program, path, shapes, *options):
    done = subprocess.run([program, "export", "--format", "bundle", "-o", path, "--recorded",
                           "--shapes", shapes, *options], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return path


def error(y, expected):
    """The largest one, beside the element and the spread of all; NaN if there is one."""
    return ((y.float() - expected).abs() / (expected.abs() + expected.std())).max().item()


def compiled(function, **options):
    """The function, compiled into one graph, and the names of what the graph calls."""
    import torch
    from torch._dynamo.backends.common import aot_autograd

    names = []

    def note(graph, _):
        names.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=note)
    return torch.compile(function, fullgraph=True, backend=backend, **options), names


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="hgemm-tune-test.")
