"""Where the program is, and how it is started."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

#: The program looks for its shapes and recorded results in ../share, from where it is.
PROGRAM = Path(__file__).resolve().parent / "bin" / "hgemm-tune"


class HgemmTuneError(RuntimeError):
    """The program could not be started or failed; the text is its own message.

    `exit_code` is 1 for a failure, 2 for bad usage or input, and None if it did not start.
    """

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def missing_libraries() -> list[str]:
    """Names of the shared libraries that the dynamic linker does not find for the program.

    The linker lists them itself, as for ldd, and runs nothing of the program.
    """
    environment = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    listed = subprocess.run([PROGRAM], env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return re.findall(r"^\s*(\S+) => not found", os.fsdecode(listed.stdout), re.MULTILINE)


def require_program() -> None:
    """Raises HgemmTuneError, with what to do next, if the program cannot start here."""
    try:
        missing = missing_libraries()
    except OSError as error:
        raise HgemmTuneError(f"{PROGRAM}: {error.strerror}; install the package again: "
                             "pip install --force-reinstall hgemm-tune") from error
    if missing:
        raise HgemmTuneError(
            f"{', '.join(missing)} not found; install NVIDIA's wheels of CUDA 13 (pip install "
            "nvidia-cublas nvidia-cuda-nvrtc nvidia-cuda-cupti, or hgemm-tune with [cuda]), or the "
            "CUDA 13 toolkit and add its lib64 to LD_LIBRARY_PATH")


def environment() -> dict[str, str]:
    """That of the program: reports are drawn by this Python, if it can."""
    variables = dict(os.environ)
    if not variables.get("HGEMM_TUNE_PYTHON") and sys.executable:
        if all(importlib.util.find_spec(module) for module in ("matplotlib", "numpy")):
            variables["HGEMM_TUNE_PYTHON"] = sys.executable
    return variables


def main() -> NoReturn:
    """The command `hgemm-tune`: becomes the program, so signals and exit codes are its own."""
    try:
        require_program()
        os.execve(PROGRAM, ["hgemm-tune", *sys.argv[1:]], environment())
    except HgemmTuneError as error:
        print(f"hgemm-tune: {error}", file=sys.stderr)
        sys.exit(1)
