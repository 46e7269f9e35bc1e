#!/usr/bin/env python3
"""Reads exported tables and the output of the examples, for check_export.sh.

check_export.py commands TABLE: prints the commands that measure again the rows of an
hgemm_tuned.json whose answer is a kernel of hgemm-tune, one per line.
check_export.py table OUTPUT: prints tuned times beside those in the examples, as Markdown. If the
example read the SM clock, also cycles (time x clock), which distinguish a slower kernel from a
slower clock. Reads OUTPUT's recorded.json (the shapes), hgemm_tuned.json (what the examples ran)
and the examples' cmake.md and pytorch.md. Exit code 1 if the examples timed none of the kernels.
"""

import json
import re
import statistics
import sys
from pathlib import Path

LIMIT = 0.01  # largest accepted difference between exported and tuned time
# For each example: its file, the name of its column of ratios, and whether it reads the SM clock.
EXAMPLES = {"CMake": ("cmake.md", "x cuBLAS", True), "PyTorch": ("pytorch.md", "x F.linear", False)}
# The compared values, with their names in the summary.
SLOWER = {
    "slower": "time",
    "slower_in_cycles": "cycles",
    "slower_than_cublas": "beside cuBLAS",
}


def rows_of(path: Path) -> list[dict]:
    """The examples compute single plain products: rows with an epilogue or a batch are left out."""
    rows = json.loads(path.read_text())["rows"]
    return [
        row
        for row in rows
        if row.get("epilogue", "plain") == "plain"
        and not row.get("c_dtype")
        and row.get("batch", 1) == 1
    ]


def problem(row: dict) -> str:
    """The shape as the examples write it, which name every type except bf16."""
    extents = f"{row['m']}x{row['n']}x{row['k']}"
    return ".".join([extents, *(word for word in row["dtype"].split(".") if word != "bf16")])


def key(row: dict) -> tuple:
    """Of a shape."""
    return (problem(row), *(row.get(name) for name in ("lda", "ldb", "ldd")))


def commands(table: Path) -> list[str]:
    """A package leaves shapes without a proven gain to cuBLAS; there is nothing to tune for them."""
    return [row["command"] for row in rows_of(table) if row["gain"]]


def number(cell: str) -> float:
    """The first number in a cell; the middle of an interval comes before its bounds."""
    return float(re.match(r"[-+\d.eE]+", cell).group())


def printed(path: Path, ratio_column: str) -> dict:
    """(shape, label) -> (us, ratio, SM MHz or None) of our kernels in the table that an example
    printed. Where the package ran cuBLAS for a shape, the time is none of ours."""
    found, header = {}, None
    for line in path.read_text().splitlines() if path.exists() else []:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == "shape":
            header = cells
        elif header and len(cells) == len(header) and re.fullmatch(r"\d+x\d+x\d+(\.\w+)*", cells[0]):
            row = dict(zip(header, cells))
            if row.get("runs", "ours") == "ours":
                where = (row["shape"], row["config"].strip("`"))
                mhz = number(row["SM MHz"]) if "SM MHz" in row else None
                found[where] = (number(row["us"]), number(row[ratio_column]), mhz)
    return found


def percent(share: float) -> str:
    return f"{100 * share:+.2f} %"


def compare(row: dict, times: dict) -> dict:
    """For each example that timed it: its time, its ratio, and by which share it is slower."""
    seen = {}
    for example, found in times.items():
        if (problem(row), row["label"]) not in found:
            continue
        us, ratio, mhz = found[problem(row), row["label"]]
        seen[example] = {"us": us, "ratio": ratio, "slower": us / row["time_us"] - 1}
        if mhz:
            seen[example]["mhz"] = mhz
        if mhz and row.get("sm_mhz"):
            cycles = us * mhz / (row["time_us"] * row["sm_mhz"])
            seen[example]["slower_in_cycles"] = cycles - 1
        if row["ratio_cublas"]:
            seen[example]["slower_than_cublas"] = row["ratio_cublas"] / ratio - 1
    return seen


def columns() -> list[str]:
    names = ["shape", "config", "runs", "tuned us", "tuned SM MHz", "tuned x cuBLAS"]
    for example, (_, ratio, clocked) in EXAMPLES.items():
        names += [f"{example} us", f"{example} slower"]
        names += [f"{example} SM MHz", f"{example} slower in cycles"] if clocked else []
        names += [f"{example} {ratio}", f"{example} slower to cuBLAS"]
    return names


def cells(row: dict, seen: dict) -> list[str]:
    """Those after the first three columns."""

    def text(value, how) -> str:
        return "-" if value is None else how(value)

    def mhz(value) -> str:
        return f"{value:.0f}"

    def ratio(value) -> str:
        return f"{value:.3f}"

    line = [f"{row['time_us']:.2f}"]
    line += [text(row.get("sm_mhz"), mhz), text(row["ratio_cublas"] or None, ratio)]
    for example, (_, _, clocked) in EXAMPLES.items():
        of = seen.get(example, {})
        line += [text(of.get("us"), "{:.2f}".format), text(of.get("slower"), percent)]
        if clocked:
            line += [text(of.get("mhz"), mhz), text(of.get("slower_in_cycles"), percent)]
        line += [text(of.get("ratio"), ratio), text(of.get("slower_than_cublas"), percent)]
    return line


def summary(example: str, what: str, differences: dict) -> str:
    """Summary of differences by shape, which are shares."""
    if not differences:
        return f"- {example}, {what}: not known"
    worst = max(differences, key=lambda shape: abs(differences[shape]))
    near = sum(round(abs(value), 4) <= LIMIT for value in differences.values())  # as printed
    return (
        f"- {example}, {what}: largest {percent(differences[worst])} ({worst}), "
        f"median {percent(statistics.median(differences.values()))}, "
        f"within {100 * LIMIT:.0f} % at {near} of {len(differences)}"
    )


def table(output: Path) -> tuple[str, bool]:
    """Its text, and whether the examples timed any kernel."""
    times = {
        name: printed(output / file, column) for name, (file, column, _) in EXAMPLES.items()
    }
    tuned = {key(row): row for row in rows_of(output / "hgemm_tuned.json")}
    names = columns()
    lines = ["| " + " | ".join(names) + " |", "|---|---|---|" + "---:|" * (len(names) - 3)]
    differences = {
        (name, of): {}
        for name, (_, _, clocked) in EXAMPLES.items()
        for of in SLOWER
        if clocked or of != "slower_in_cycles"
    }
    for recorded in rows_of(output / "recorded.json"):
        shape = problem(recorded)
        row = tuned.pop(key(recorded), None)
        if row is None:
            line = ["-", "not measured" if recorded["gain"] else "cuBLAS"]
            line += ["-"] * (len(names) - 3)
        else:
            seen = compare(row, times)
            # Proven faster when it was recorded, and not today: a package then leaves it to cuBLAS.
            answer = "ours" if row["gain"] else "cuBLAS today" if recorded["gain"] else "cuBLAS"
            line = [f"`{row['label']}`", answer, *cells(row, seen)]
            for (name, of), found in differences.items():
                if of in seen.get(name, {}):
                    found[shape] = seen[name][of]
        lines.append("| " + " | ".join([shape, *line]) + " |")
    lines += [
        "",
        "Slower, slower in SM cycles (time x clock) and slower to cuBLAS than when it was tuned; a "
        "minus is faster.",
        "",
    ]
    for (name, of), found in differences.items():
        lines.append(summary(name, SLOWER[of], found))
    return "\n".join(lines) + "\n", any(differences.values())


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in ("commands", "table"):
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[1])
    if arguments[0] == "commands":
        chosen = commands(path)
        if not chosen:
            sys.exit(f"{path}: no kernel in it is faster than cuBLAS")
        print(*chosen, sep="\n")
        return 0
    text, any_timed = table(path)
    print(text, end="")
    return 0 if any_timed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
