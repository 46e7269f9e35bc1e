#!/usr/bin/env python3
"""Writes a program's answers from each recorded database, for the test that another version gives
the same answers: scripts/write_recorded_best.py PROGRAM > tests/data/recorded_best.tsv

A line for each row of `PROGRAM best`, in its order: the database's name, regime, the problem's
text key, label, time_us, ratio_cublas, ratio_cublaslt and ties (joined by '+'); "-" is nothing.
Labels are as the program wrote them, numbers as precise as it did. The databases are copied first:
a program may bring them to its own schema. Those that it cannot read, being newer than it is, are
left out and named on stderr.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RECORDED = Path(__file__).resolve().parent.parent / "results" / "h200"
NUMBERS = ("time_us", "ratio_cublas", "ratio_cublaslt")


def problem_key(row: dict) -> str:
    """Programs wrote the key into their rows only later."""
    if "problem" in row:
        return row["problem"]
    key = f"{row['m']}x{row['n']}x{row['k']}"
    if row["dtype"] != "bf16":
        key += f".{row['dtype']}"
    for name, packed in (("lda", "k"), ("ldb", "k"), ("ldd", "n")):
        if row.get(name, row[packed]) != row[packed]:
            key += f".{name}{row[name]}"
    return key


def rows_of(program: str, database: Path) -> list[dict]:
    command = [program, "best", "--db", str(database), "--format", "json"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if answer.returncode != 0:  # the program has said why
        print(f"{database.name}: left out", file=sys.stderr)
        return []
    return json.loads(answer.stdout)


def line_of(database: str, row: dict) -> str:
    fields = [database, row["regime"], problem_key(row), row["label"] or "-"]
    fields += ["-" if row[name] is None else repr(row[name]) for name in NUMBERS]
    fields.append("+".join(row["ties"]) or "-")
    return "\t".join(fields)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        for recorded in sorted(RECORDED.glob("*.db")):
            copy = Path(shutil.copy(recorded, folder))
            for row in rows_of(arguments[0], copy):
                print(line_of(recorded.name, row))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
