"""Figures of the space: the best of each tile size, and how soon a search finds the best."""

from report_style import (LARGE, PANEL, RAMP, SMALL, Drawn, Panel, hatched, outline, percent,
                          ramp, rectangles)

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
    """Names the total number of configs if the race was cut."""
    of = f" of {one['valid']}" if one["configs"] < one["valid"] else ""
    return f"{one['regime']}, {one['configs']}{of} configs"


def draw_tiles(canvas, one):
    c = canvas.colour
    heights = sorted({cell["bm"] for cell in one["cells"]})
    widths = sorted({cell["bn"] for cell in one["cells"]})
    timed = [cell for cell in one["cells"] if cell["fraction"] is not None]
    best = max(timed, key=lambda cell: cell["fraction"])
    canvas.text(0, 2, one["shape"], size=LARGE, weight="bold")
    canvas.text(PANEL, 3, f"best {best['bm']}x{best['bn']}", "late", ha="right", weight="bold")
    canvas.text(0, 22, how_many(one), "muted")
    high = min(120, 26 * len(heights))
    axes = canvas.axes(36, 48, PANEL - 50, high, grid=None)
    axes.set_xlim(0, len(widths))
    axes.set_ylim(0, len(heights))
    for side in axes.spines.values():
        side.set_visible(False)
    boxes = {}
    for cell in one["cells"]:
        level = None if cell["fraction"] is None else level_of(cell["fraction"])
        boxes.setdefault(level, []).append(
            (widths.index(cell["bn"]) + 0.03, heights.index(cell["bm"]) + 0.04, 0.94, 0.92))
    untimed = boxes.pop(None, [])
    hatched(axes, untimed, c["base-soft"])
    for level, some in boxes.items():
        rectangles(axes, some, ramp(c, level))
    outline(axes, widths.index(best["bn"]), heights.index(best["bm"]), 1, 1, c["late"])
    step = max(1, -(-len(widths) // 8))
    ticks = list(range(step - 1 if step > 1 else 0, len(widths), step))
    axes.set_xticks([t + 0.5 for t in ticks], [str(widths[t]) for t in ticks])
    every = max(1, -(-len(heights) * 14 // int(high)))
    axes.set_yticks([t + 0.5 for t in range(0, len(heights), every)],
                    [str(h) for h in heights[::every]])
    axes.tick_params(length=0, pad=2)
    canvas.text(0, 48 + high + 3, "BM", "muted")
    canvas.text(36, 48 + high + 18, "BN", "muted")
    key = canvas.axes(64, 48 + high + 22, PANEL - 78, 30, grid=None)
    key.axis("off")
    key.set_xlim(0, RAMP)
    key.set_ylim(0, 3)
    for level in range(RAMP):
        rectangles(key, [(level, 2, 0.96, 1)], ramp(c, level))
        if level and level % 2:
            key.text(level, 1.7, f"{LEVELS[level - 1]:g}", ha="center", va="top", color=c["muted"],
                     fontsize=SMALL)


def tiles(data):
    spaces = data["tiles"]["spaces"]
    chosen = chosen_spaces(spaces)
    any_untimed = any(cell["fraction"] is None for one in chosen for cell in one["cells"])
    near, panels = [], []
    for one in chosen:
        timed = [cell for cell in one["cells"] if cell["fraction"] is not None]
        best = max(timed, key=lambda cell: cell["fraction"])
        high = min(120, 26 * len({cell["bm"] for cell in one["cells"]}))
        panels.append(Panel(104 + high, lambda canvas, one=one: draw_tiles(canvas, one)))
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
    see = ("A cell is the best that any config with this tile reached, whatever else it has, as a share "
           "of the fastest of all (the scale below each map). Ridges near 1 are worth searching. ")
    if any_untimed:
        see += (f"Hatched: the space {space} has valid configs with this tile, and none was measured, or ended ok. ")
    see += f"Where there is nothing, no config of the space {space} is valid for the shape."
    return Drawn(panels, title, see,
                 {"spaces": len(spaces), "shown": near})


# Colour and what it does; others take the colours that are left, in turns.
SEARCHES = {
    "model": ("ours", "in the cost model's order, some at random"),
    "staged": ("line2", "one of each family, then all of the best families"),
    "adaptive": ("line0", "in the model's order, corrected on the way"),
    "local": ("line1", "whatever is nearest to the best so far"),
    "random": ("base", "in a random order"),
}


def styles(strategies):
    left = ["line3"]
    others = [one["name"] for one in strategies if one["name"] not in SEARCHES]
    return SEARCHES | {name: (left[i % len(left)], "") for i, name in enumerate(others)}


def at_budget(strategy, budget):
    return next((p for p in strategy["points"] if abs(p["budget"] - budget) < 1e-9), None)


# Lines that are the same would hide one another: what is drawn first is wider, and the marks differ.
MARKERS = ["o", "s", "^", "D", "v"]


def look_of(place, of):
    return {"linewidth": 1.4 + 1.3 * (of - 1 - place), "marker": MARKERS[place % len(MARKERS)],
            "markersize": 4 + 1.8 * (of - 1 - place), "markeredgewidth": 0}


def draw_strategies(canvas, strategies, style):
    canvas.text(0, 2, "Found with 1 % measured", size=LARGE, weight="bold")
    canvas.text(PANEL, 24, "worst race", "muted", ha="right")
    canvas.text(PANEL - 84, 24, "geomean", "muted", ha="right")
    for i, one in enumerate(strategies):
        colour, what = style[one["name"]]
        y = 44 + 40 * i
        key = canvas.axes(0, y + 1, 28, 15, grid=None)
        key.axis("off")
        key.plot([0, 0.5, 1], [0, 0, 0], color=canvas.colour[colour], markevery=[1],
                 **look_of(i, len(strategies)))
        canvas.text(38, y, one["name"], colour, weight="bold")
        canvas.text(38, y + 16, what, "muted")
        if point := at_budget(one, 0.01):
            canvas.text(PANEL, y, percent(point["least"], 1), ha="right")
            canvas.text(PANEL - 84, y, percent(point["geomean"], 1), ha="right")


def draw_found(canvas, section, style, key, name):
    c = canvas.colour
    strategies = section["strategies"]
    points = [p for one in strategies for p in one["points"]]
    first, last = min(p["measured"] for p in points), max(p["measured"] for p in points)
    lowest = min(p["least"] for p in points)
    canvas.text(0, 2, f"{name} of {section['rows']}", size=LARGE, weight="bold")
    canvas.text(0, 22, "speed found, of the fastest config there is", "muted")
    axes = canvas.axes(38, 44, PANEL - 46, 220)
    axes.set_xscale("log")
    axes.set_xlim(first * 0.85, last * 1.15)
    axes.set_ylim(max(0, lowest - 0.04), 1.03)
    axes.axhline(1, color=c["ink"], linewidth=0.8)
    for i, one in enumerate(strategies):
        axes.plot([p["measured"] for p in one["points"]], [p[key] for p in one["points"]],
                  color=c[style[one["name"]][0]], zorder=4 + i, **look_of(i, len(strategies)))
    ticks = [t for t in (0.001, 0.01, 0.1, 1) if first * 0.8 <= t <= last * 1.2]
    axes.set_xticks(ticks, [percent(t, 0 if t >= 0.01 else 1) for t in ticks])
    axes.minorticks_off()
    axes.set_xlabel("of a race's configs measured", labelpad=2)


def search(data):
    section = data["search"]
    strategies = section["strategies"]
    style = styles(strategies)
    points = [p for one in strategies for p in one["points"]]
    panels = [Panel(44 + 40 * len(strategies),
                    lambda canvas: draw_strategies(canvas, strategies, style))]
    panels += [Panel(306, lambda canvas, it=(key, name): draw_found(canvas, section, style, *it))
               for key, name in (("geomean", "geomean"), ("least", "worst race"))]

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
        have = " and ".join(f"{n} seed{'s' * (n > 1)} up to {share}" for n,
            share in last_budget.items())
        see += f" To choose by what was measured so far takes long to play: {names} have {have}, no more."
    return Drawn(panels, title, see,
                 {"rows": section["rows"],
                  "curves": {one["name"]: [[p["budget"], round(p["geomean"], 4),
                      round(p["least"], 4)]
                                           for p in one["points"]] for one in strategies}})
