"""The front page's figure: speed over cuBLAS without and with programmatic dependent launch (PDL).

headline.py PROGRAM FOLDER [RESULTS; default: results/h200]

writes FOLDER/headline.png and FOLDER/headline-dark.png from the databases in RESULTS. Each dot is a
shape, each bar the geometric mean of the shapes with the same M, or of the squares. The text of the PNGs
names their source.
Needs Python 3 with matplotlib.
"""

import csv
import io
import json
import statistics
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results/h200"
KINDS = {"off": "without PDL", "safe": "safe PDL"}
DATABASES = {"off": "headline-off.db", "safe": "headline-safe.db"}

LIGHT = {"paper": "#fefefd", "ink": "#1c2128", "muted": "#5f6875", "grid": "#e4e6e9", "off": "#c3d6f6",
         "safe": "#6f9be6", "dot": "#1559c7", "line": "#1c2128"}
DARK = {"paper": "#14171b", "ink": "#e8eaed", "muted": "#a1a9b4", "grid": "#2b3038", "off": "#2a4573",
        "safe": "#4675c4", "dot": "#a8c8ff", "line": "#e8eaed"}


def recorded(program, folder):
    """PDL kind -> rows of `best`, as CSV has them."""
    rows = {}
    for kind, database in DATABASES.items():
        done = subprocess.run([program, "best", "--db", folder / database, "--pdl", kind, "--format", "csv"],
                              check=True, capture_output=True, text=True)
        rows[kind] = list(csv.DictReader(io.StringIO(done.stdout)))
    return rows


def groups(rows):
    """"M = 1", ..., and "squares", each with its rows of `best`."""
    squares = [row for row in rows if row["m"] == row["n"] == row["k"]]
    others = [row for row in rows if row not in squares]
    found = {f"M = {m}": [row for row in others if int(row["m"]) == m]
             for m in sorted({int(row["m"]) for row in others})}
    return found | ({"squares": squares} if squares else {})


def ratios(rows):
    """PDL kind -> group -> the ratios to cuBLAS of its shapes."""
    return {kind: {name: [float(row["ratio_cublas"]) for row in group]
                   for name, group in groups(of_kind).items()} for kind, of_kind in rows.items()}


def summary(rows):
    """What a PNG says that it shows: geometric means to three digits, as JSON."""
    means = {kind: {name: f"{statistics.geometric_mean(values):.3f}" for name, values in by_group.items()}
             for kind, by_group in ratios(rows).items()}
    return json.dumps(means, sort_keys=True)


def source(rows):
    every = [row for of_kind in rows.values() for row in of_kind]

    def said(name):
        return " and ".join(sorted({row[name] for row in every}))

    dates = sorted({row["date"][:10] for row in every})
    return (f"{said('gpu')}, driver {said('driver')}, CUDA {said('cuda')}, cuBLAS {said('cublas')}, "
            f"{said('regime')}, {' to '.join(dict.fromkeys([dates[0], dates[-1]]))}")


def draw(rows, palette, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.3), dpi=150, facecolor=palette["paper"])
    axes = figure.add_axes((0.075, 0.19, 0.91, 0.62), facecolor=palette["paper"])
    by_kind = ratios(rows)
    names = list(by_kind["off"])
    every = [value for by_group in by_kind.values() for values in by_group.values()
             for value in values]
    lowest = min(every) - 0.06
    width = 0.36
    for side, kind in ((-1, "off"), (1, "safe")):
        for place, name in enumerate(names):
            values = sorted(by_kind[kind][name])
            mean, middle = statistics.geometric_mean(values), place + side * width / 2
            axes.bar(middle, mean - 1, width * 0.94, bottom=1, color=palette[kind],
                     label=KINDS[kind] if place == 0 else None)
            spread = [middle + width * 0.5 * (i / (len(values) - 1) - 0.5) if len(values) > 1
                      else middle for i in range(len(values))]
            axes.plot(spread, values, "o", markersize=3.2, color=palette["dot"], zorder=3)
            axes.text(middle, lowest, f"{mean:.3f}", ha="center", va="bottom", fontsize=8.5,
                      color=palette["ink"])
    axes.axhline(1, color=palette["line"], linewidth=1)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(lowest, max(every) + 0.03)
    axes.yaxis.grid(True, color=palette["grid"], linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=palette["muted"], labelsize=8.5, length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    figure.text(0.02, 0.945, "Speed over cuBLAS: Llama 2 7B's GEMMs and squares, bf16", fontsize=11, weight="bold",
                color=palette["ink"], va="center")
    legend = figure.legend(loc="upper left", bbox_to_anchor=(0.01, 0.925), ncol=2, frameon=False,
                           fontsize=8.5, labelcolor=palette["ink"], handlelength=1.2)
    legend.set_in_layout(False)
    figure.text(0.36, 0.868, "bar and number: geometric mean; dot: one shape; 1.0: cuBLAS", fontsize=8.5, color=palette["muted"],
                va="center")
    figure.text(0.02, 0.04, source(rows), fontsize=7.5, color=palette["muted"], va="center")
    figure.savefig(path, metadata={"Description": summary(rows), "Software": None})


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rows = recorded(sys.argv[1], Path(sys.argv[3]) if len(sys.argv) > 3 else RESULTS)
    folder = Path(sys.argv[2])
    draw(rows, LIGHT, folder / "headline.png")
    draw(rows, DARK, folder / "headline-dark.png")


if __name__ == "__main__":
    main()
