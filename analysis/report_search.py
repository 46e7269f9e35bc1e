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
        see += (f"Hatched: the space {space} has valid configs with this tile, and none was measured, or ended ok. ")
    see += f"Where there is nothing, no config of the space {space} is valid for the shape."
    return Drawn(canvas, title, see,
                 {"spaces": len(spaces), "shown": near})


# Colour and what it does; others take the colours that are left, in turns.
SEARCHES = {
    "model": ("ours", "in the cost model's order, some at random"),
    "staged": ("line2", "one of each family, then all of the best families"),
    "adaptive": ("line0", "the model's order, corrected by what was measured"),
    "local": ("line1", "whatever is nearest to the best so far"),
    "random": ("base", "in a random order"),
}


def styles(strategies):
    left = ["line3"]
    others = [one["name"] for one in strategies if one["name"] not in SEARCHES]
    return SEARCHES | {name: (left[i % len(left)], "") for i, name in enumerate(others)}


def at_budget(strategy, budget):
    return next((p for p in strategy["points"] if abs(p["budget"] - budget) < 1e-9), None)


def search(data, palette):
    section = data["search"]
    strategies = section["strategies"]
    style = styles(strategies)
    row = 17
    table = 24 + row * len(strategies)
    canvas = Canvas(palette, table + 300)
    c = canvas.colour

    # The names of the lines, and what they have found by 1 %.
    canvas.text(14, 6, "speed found, of the fastest config there is", "muted", 8.8)
    canvas.text(706, 6, f"worst race at {percent(0.01)}", "muted", 8.8, ha="right")
    canvas.text(580, 6, f"geomean at {percent(0.01)}", "muted", 8.8, ha="right")
    for i, one in enumerate(strategies):
        colour, what = style[one["name"]]
        y = 25 + row * i
        key = canvas.axes(14, y + 1, 22, 8, grid=None)
        key.axis("off")
        key.plot([0, 0.5, 1], [0, 0, 0], color=c[colour], linewidth=1.8, marker="o", markersize=4,
                 markevery=[1], markeredgewidth=0)
        canvas.text(44, y, one["name"], colour, 9.2, weight="bold")
        canvas.text(112, y, what, "muted", 8.8)
        if point := at_budget(one, 0.01):
            canvas.text(706, y, percent(point["least"], 1), "ink", 8.8, ha="right")
            canvas.text(580, y, percent(point["geomean"], 1), "ink", 8.8, ha="right")

    points = [p for one in strategies for p in one["points"]]
    first, last = min(p["measured"] for p in points), max(p["measured"] for p in points)
    lowest = min(p["least"] for p in points)
    for i, (key, name) in enumerate((("geomean", "geomean"), ("least", "worst race"))):
        axes = canvas.axes(52 + 350 * i, table + 32, 300, 222)
        canvas.text(52 + 350 * i, table + 12, f"{name} of {section['rows']}", size=9.2, weight="bold")
        axes.set_xscale("log")
        axes.set_xlim(first * 0.85, last * 1.15)
        axes.set_ylim(max(0, lowest - 0.04), 1.02)
        axes.axhline(1, color=c["ink"], linewidth=0.8)
        for one in reversed(strategies):  # the first is seen where several are equal
            axes.plot([p["measured"] for p in one["points"]], [p[key] for p in one["points"]],
                      color=c[style[one["name"]][0]], linewidth=1.8, marker="o", markersize=3.6,
                      markeredgewidth=0, zorder=4)
        ticks = [t for t in (0.001, 0.01, 0.1, 1) if first * 0.8 <= t <= last * 1.2]
        axes.set_xticks(ticks, [percent(t, 0 if t >= 0.01 else 1) for t in ticks])
        axes.minorticks_off()
        axes.set_xlabel("of a race's configs measured", labelpad=2)

    known = {one["name"]: at_budget(one, 0.01) for one in strategies}
    title = f"Searches replayed on {section['rows']} races"
    if known.get("model") and known.get("random"):
        title = (f"Measuring the likeliest {percent(0.01)} of the configs finds "
                 f"{percent(known['model']['geomean'], 1)} of the best speed, {percent(0.01)} at random "
                 f"{percent(known['random']['geomean'], 1)}")
    seeds = max(p["seeds"] for p in points)
    see = (f"Each search is played again on the configs of {section['rows']} races (medians of {seeds} "
           "seeds); some of the model's constants were chosen with the recorded ones in view.")
    slow = [one for one in strategies if one["points"][-1]["seeds"] < seeds]
    if slow:
        names = " and ".join(one["name"] for one in slow)
        last_budget = {p["seeds"]: percent(p["budget"]) for p in slow[0]["points"]}
        have = " and ".join(f"{n} seed{'s' * (n > 1)} up to {share}" for n, share in last_budget.items())
        see += f" To choose by what was measured so far takes long to play: {names} have {have}, no more."
    return Drawn(canvas, title, see,
                 {"rows": section["rows"],
                  "curves": {one["name"]: [[p["budget"], round(p["geomean"], 4), round(p["least"], 4)]
                                           for p in one["points"]] for one in strategies}})
