"""Figures of the space: the best of each tile size, and how soon a search finds the best."""

from report_speed import Drawn
from report_style import RAMP, Canvas, hatched, outline, percent, ramp, rectangles

LEVELS = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97, 0.99]  # between the colours of the ramp


def level_of(fraction):
    return sum(fraction >= bound for bound in LEVELS)


def chosen_spaces(spaces, count=6):
    """The largest of each class and regime first, then the next ones: few that differ."""
    queues = {}
    for one in sorted(spaces, key=lambda s: -s["m"] * s["n"] * s["k"]):
        queues.setdefault((one["regime"] != "sustained", one["group"]), []).append(one)
    order, chosen = sorted(queues), []
    while len(chosen) < count and any(queues.values()):
        for key in order:
            if queues[key] and len(chosen) < count:
                chosen.append(queues[key].pop(0))
    return chosen


def how_many(one):
    """A race that was cut says of how many."""
    of = f" of {one['valid']}" if one["configs"] < one["valid"] else ""
    return f"{one['regime']}, {one['configs']}{of} configs"


def tiles(data, palette):
    spaces = data["tiles"]["spaces"]
    chosen = chosen_spaces(spaces)
    any_untimed = any(cell["fraction"] is None for one in chosen for cell in one["cells"])
    per_row = 2
    lines = -(-len(chosen) // per_row)
    panel = 164
    canvas = Canvas(palette, 44 + panel * lines)
    c = canvas.colour
    canvas.text(14, 8, "speed of the fastest config of a tile, of the fastest of all:", "muted", 8.8)
    legend = canvas.axes(330, 6, 376, 22, grid=None)
    legend.axis("off")
    legend.set_xlim(0, RAMP)
    legend.set_ylim(0, 2)
    for level in range(RAMP):
        rectangles(legend, [(level, 1, 0.96, 0.9)], ramp(c, level))
        if level:
            legend.text(level, 0.75, f"{LEVELS[level - 1]:g}", ha="center", va="top", fontsize=7.2,
                        color=c["muted"])
    if any_untimed:
        sample = canvas.axes(14, 23, 11, 10, grid=None)
        sample.axis("off")
        hatched(sample, [(0, 0, 1, 1)], c["muted"])
        canvas.text(30, 22, "not measured", "muted", 8.8)
    near = []
    for i, one in enumerate(chosen):
        left, top = 14 + 356 * (i % per_row), 40 + panel * (i // per_row)
        heights = sorted({cell["bm"] for cell in one["cells"]})
        widths = sorted({cell["bn"] for cell in one["cells"]})
        canvas.text(left, top, f"{one['shape']}", size=9.5, weight="bold")
        canvas.text(left + 336, top + 1, how_many(one), "muted", 8, ha="right")
        axes = canvas.axes(left + 34, top + 32, 302, min(96, 22 * len(heights)), grid=None)
        axes.set_xlim(0, len(widths))
        axes.set_ylim(0, len(heights))
        for side in axes.spines.values():
            side.set_visible(False)
        timed = [cell for cell in one["cells"] if cell["fraction"] is not None]
        boxes = {}
        for cell in one["cells"]:
            level = None if cell["fraction"] is None else level_of(cell["fraction"])
            boxes.setdefault(level, []).append(
                (widths.index(cell["bn"]) + 0.03, heights.index(cell["bm"]) + 0.04, 0.94, 0.92))
        hatched(axes, boxes.pop(None, []), c["base-soft"])
        for level, some in boxes.items():
            rectangles(axes, some, ramp(c, level))
        best = max(timed, key=lambda cell: cell["fraction"])
        outline(axes, widths.index(best["bn"]), heights.index(best["bm"]), 1, 1, c["late"])
        canvas.text(left, top + 15, f"best {best['bm']}x{best['bn']}", "late", 8.5, weight="bold")
        step = max(1, -(-len(widths) // 10))
        ticks = list(range(step - 1 if step > 1 else 0, len(widths), step))
        axes.set_xticks([t + 0.5 for t in ticks], [str(widths[t]) for t in ticks])
        axes.set_yticks([t + 0.5 for t in range(len(heights))], [str(h) for h in heights])
        axes.tick_params(labelsize=7.5, length=0, pad=2)
        canvas.text(left, top + 34, "BM", "muted", 8)
        canvas.text(left + 336, top + 34 + min(96, 22 * len(heights)) + 13, "BN", "muted", 8, ha="right")
        near.append({"shape": one["shape"], "regime": one["regime"], "tiles": len(timed),
                     "not_measured": len(one["cells"]) - len(timed),
                     "best": f"{best['bm']}x{best['bn']}",
                     "within_2_percent": sum(cell["fraction"] >= 0.98 for cell in timed)})
    fewest = min(near, key=lambda n: n["within_2_percent"] / n["tiles"])
    sizes = {n["best"] for n in near}
    of = f"{fewest['tiles']}{' measured' if fewest['not_measured'] else ''}"
    title = (f"{len(near)} GEMMs want {len(sizes)} different tiles; at {fewest['shape']} only "
             f"{fewest['within_2_percent']} of {of} come within 2\u00a0% of the best")
    if len(near) == 1:
        title = (f"At {fewest['shape']} {fewest['within_2_percent']} of {of} tiles come "
                 "within 2 % of the best")
    space = data["tiles"]["space"]
    see = ("A cell is the best that any config with this tile reached, whatever else it has: strong "
           "ridges are worth searching, pale areas are not. ")
    if any_untimed:
        see += (f"Hatched: the space {space} has valid configs with this tile, and none was measured. ")
    see += f"Where there is nothing, no config of the space {space} is valid for the shape."
    return Drawn(canvas, title, see,
                 {"spaces": len(spaces), "shown": near})


def search(data, palette):
    section = data["search"]
    canvas = Canvas(palette, 330)
    c = canvas.colour
    axes = canvas.axes(56, 30, 648, 254)
    axes.set_xscale("log")
    style = {"model": ("ours", "the cost model's order"), "random": ("base", "a random order")}
    lowest, stats, at = 1, {}, {}
    for one in section["strategies"]:
        colour, name = style[one["name"]]
        x = [p["measured"] for p in one["points"]]
        mean = [p["geomean"] for p in one["points"]]
        least = [p["least"] for p in one["points"]]
        axes.fill_between(x, least, mean, color=c[colour + "-soft"], alpha=0.45, linewidth=0)
        axes.plot(x, mean, color=c[colour], linewidth=1.8, marker="o", markersize=4,
                  markeredgewidth=0, zorder=4)
        axes.plot(x, least, color=c[colour], linewidth=0.9, linestyle=(0, (3, 3)), zorder=3)
        lowest = min(lowest, min(least))
        above = one["name"] == "model"
        at_point = min(1 if above else 3, len(x) - 1)
        axes.annotate(name, (x[at_point], mean[at_point]),
                      xytext=(-4 if above else 4, 14 if above else -14), textcoords="offset points",
                      fontsize=9, va="center", ha="center" if above else "left", color=c[colour],
                      weight="bold")
        if not above:
            axes.annotate("its worst shape", (x[at_point], least[at_point]), xytext=(8, -14), fontsize=8.5,
                          textcoords="offset points", va="center", color=c["muted"])
        stats[one["name"]] = [[p["budget"], round(p["geomean"], 4), round(p["least"], 4)]
                              for p in one["points"]]
        at[one["name"]] = next((p for p in one["points"] if abs(p["budget"] - 0.01) < 1e-9), None)
    axes.set_ylim(max(0, lowest - 0.04), 1.02)
    axes.axhline(1, color=c["ink"], linewidth=0.8)
    ticks = [t for t in (0.001, 0.01, 0.1, 1) if x[0] * 0.8 <= t <= 1]
    axes.set_xticks(ticks, [percent(t, 0 if t >= 0.01 else 1) for t in ticks])
    axes.set_xlim(x[0] * 0.9, x[-1] * 1.1)
    axes.minorticks_off()
    axes.set_xlabel("of a race's configs measured", labelpad=2)
    canvas.text(14, 8, "speed found, of the fastest config there is: geomean (line) and worst shape (dashed)",
                "muted", 8.8)
    title = f"Searches replayed on {section['rows']} races"
    if at.get("model") and at.get("random"):
        title = (f"Measuring the likeliest {percent(0.01)} of the configs finds "
                 f"{percent(at['model']['geomean'], 1)} of the best speed, {percent(0.01)} at random "
                 f"{percent(at['random']['geomean'], 1)}")
    return Drawn(canvas, title,
                 f"Each search is played again on the configs of {section['rows']} races (medians of "
                 f"{section['seeds']} seeds); some of the model's constants were chosen with the recorded "
                 "ones in view.", {"rows": section["rows"], "curves": stats})
