"""What the commands `tune` and `best` do, as functions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

from .best_fields import Best
from .command import PROGRAM, HgemmTuneError, environment, require_program

Shape = str | tuple[int, int, int]
#: A YAML file, the name of a shipped list ("llama7b"), a problem ("4096x4096x1024.fp16"),
#: (m, n, k), or a list of problems and tuples.
Shapes = Shape | os.PathLike[str] | Sequence[Shape]

# They decide what is printed; here it is a list of Best.
_OF_PRINTING = {"format", "columns", "color", "wide", "fields", "predict", "max_kernels", "dry_run",
                "no_follow", "help", "version"}

# So the program begins a warning, and the line of an error, which an exception then says.
_WARNING = "hgemm-tune: warning: "
_ERROR = "hgemm-tune: "


@dataclass(frozen=True)
class Results:
    """What a tune gives."""

    #: one for each shape and regime
    rows: list[Best]
    #: what the program wrote to stderr: progress, and, without a Hopper GPU, that nothing was
    #: measured and where the rows were recorded
    messages: str


def tune(shapes: Shapes | None = None, *, db: str | os.PathLike[str] | None = None,
         budget: str | None = None, progress: bool = True, **options: Any) -> Results:
    """Races kernels for the shapes on this machine's Hopper GPU, and returns the fastest of each.

    Every trial is kept in the database `db` (by default hgemm-tune.db in the working folder); the
    same call goes on where it stopped. `budget` is a time ("60s", the default), a number of configs
    ("100configs"), or a share or all of a space of grids. Progress goes to sys.stderr, unless
    `progress` is false. Other options are those of `hgemm-tune --help`: regime="burst" is
    --regime burst, energy=True is --energy, m=[1, 16] is --m 1,16.

    Without a Hopper GPU the answer comes from the recorded results, unless `db`, `budget` or
    `strategy` ask for a measurement: then HgemmTuneError is raised.
    """
    arguments = _arguments("tune", shapes, {"db": db, "budget": budget, **options})
    printed, messages = _run(arguments, show=progress)
    return Results(_rows(printed), messages)


def best(shapes: Shapes | None = None, *, db: str | os.PathLike[str] | None = None,
         recorded: bool = False, **options: Any) -> list[Best]:
    """Returns the fastest verified config of each shape in a database. Measures nothing.

    `db` is by default hgemm-tune.db in the working folder; with `recorded` the results that ship
    with the program answer instead. Without `shapes` all that are in it are returned. Other options
    are those of `hgemm-tune best --help`, as for `tune`.
    """
    arguments = _arguments("best", shapes, {"db": db, "recorded": recorded, **options})
    printed, _ = _run(arguments, show=False)
    return _rows(printed)


def _arguments(command: str, shapes: Shapes | None, options: dict[str, Any]) -> list[str]:
    arguments = [command, "--format", "json"]
    if shapes is not None:
        arguments.append(f"--shapes={_shapes_text(shapes)}")
    for name, value in options.items():
        if name in _OF_PRINTING:
            raise TypeError(f"{name}: {command}() returns rows as objects; for other forms run the "
                            f"command hgemm-tune {command}")
        option = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(option)
        elif isinstance(value, (list, tuple)):
            arguments.append(f"{option}={','.join(map(_text, value))}")
        elif value is not None and value is not False:
            arguments.append(f"{option}={_text(value)}")
    return arguments


def _text(value: Any) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _shapes_text(shapes: Shapes) -> str:
    if isinstance(shapes, (str, os.PathLike)):
        return os.fspath(shapes)
    if not shapes:
        raise ValueError("shapes is empty; name at least one, or leave it out")
    if isinstance(shapes, tuple) and all(isinstance(extent, Integral) for extent in shapes):
        return _shape_text(shapes)
    return ",".join(map(_shape_text, shapes))


def _shape_text(shape: Any) -> str:
    if isinstance(shape, str):
        return shape
    if not isinstance(shape, (tuple, list)) or len(shape) != 3:
        raise ValueError(f"{shape!r} is no shape: write (m, n, k), or a text such as "
                         '"4096x4096x1024.fp16"')
    return "x".join(map(str, shape))


def _run(arguments: list[str], *, show: bool) -> tuple[str, str]:
    """Runs the program; returns its stdout and stderr, which `show` also passes on as it comes."""
    require_program()
    # Stdout goes to a file: a pipe that nobody reads meanwhile would hold the program up.
    # A session of its own: Ctrl-C on a terminal would reach it beside the signal from here, and a
    # second signal ends it in the middle of its work.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        process = subprocess.Popen([PROGRAM, *arguments], env=environment(), stdout=printed,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   encoding="utf-8", errors="replace", start_new_session=True)
        messages = []
        try:
            assert process.stderr is not None
            for line in process.stderr:
                messages.append(line)
                if show and (line.startswith(_WARNING) or not line.startswith(_ERROR)):
                    print(line, end="", file=sys.stderr, flush=True)
            process.wait()
        except BaseException:
            process.terminate()  # it keeps all finished work
            process.communicate()
            raise
        if process.returncode != 0:
            raise HgemmTuneError(_message(messages, process.returncode), process.returncode)
        printed.seek(0)
        return printed.read(), "".join(messages)


def _message(messages: list[str], exit_code: int) -> str:
    """An error is the program's last line."""
    if messages:
        return messages[-1].removeprefix(_ERROR).strip()
    return f"hgemm-tune ended with exit code {exit_code} and without a message"


def _rows(printed: str) -> list[Best]:
    names = {field.name for field in fields(Best)}
    rows = []
    for row in json.loads(printed):
        row["ties"] = tuple(row["ties"])
        rows.append(Best(**{name: value for name, value in row.items() if name in names}))
    return rows
