"""Figures of how fast: roofline, speed-ups, a sustained run, the ladder."""

from dataclasses import dataclass, field

import numpy as np

from matplotlib.lines import Line2D

from report_style import HEAD, WIDTH, Canvas, percent


@dataclass
class Drawn:
    canvas: Canvas
    title: str  # the finding, in words and numbers of the data
    see: str  # one sentence: what to look at
    stats: dict = field(default_factory=dict)  # of the data that was drawn: what tests compare


GROUPS = ["prefill", "decode", "square", "seed", "odd"]  # others follow by name
REGIMES = ["sustained", "burst"]


def groups_of(rows):
    names = {row["group"] for row in rows}
    return [g for g in GROUPS if g in names] + sorted(names - set(GROUPS))


def geomean(values):
    values = [v for v in values if v]
    return float(np.exp(np.mean(np.log(values)))) if values else None


def ratios(rows, key, group=None, regime=None):
    return [r[key] for r in rows
            if r[key] and group in (None, r["group"]) and regime in (None, r["regime"])]


def means(rows):
    """Geomean of the ratios and how many there are, of each class in each regime."""
    return [{"group": g, "regime": regime, "shapes": len(ratios(rows, "ratio_cublas", g, regime)),
             "cublas": geomean(ratios(rows, "ratio_cublas", g, regime)),
             "cublaslt": geomean(ratios(rows, "ratio_cublaslt", g, regime))}
            for g in groups_of(rows) for regime in REGIMES
            if ratios(rows, "ratio_cublas", g, regime)]


def listed(words):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def gap(canvas, axes, text):
    """A place where nothing is known says so."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(True)
        side.set_linestyle((0, (4, 4)))
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center",
              color=canvas.colour["muted"], fontsize=9)


# ---- Roofline ----

def roofline(data, palette):
    best, device = data["best"], data["device"]
    rows = [r for r in best["rows"] if r["tflops"]]
    canvas = Canvas(palette, 400)
    c = canvas.colour
    x = np.array([r["intensity"] for r in rows])
    y = np.array([r["tflops"] for r in rows] + [r["cublas_tflops"] for r in rows
                                                if r["cublas_tflops"]])
    low_x, high_x = 10 ** np.floor(np.log10(min(x)) - 0.05), max(max(x) * 2, 2000)
    low_y = min(y) / 2
    read = best["read_tbps"]
    stats = {"points": len(rows), "regimes": {}}
    sentences = []
    for i, regime in enumerate(REGIMES):
        axes = canvas.axes(52 + 346 * i, 34, 312, 318, grid="both")
        canvas.text(52 + 346 * i, 8, regime, size=10.5, weight="bold")
        here = [r for r in rows if r["regime"] == regime]
        if not here:
            gap(canvas, axes, f"not recorded in {regime}")
            continue
        ceiling = next((one for one in best["ceilings"] if one["regime"] == regime), None)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(low_x, high_x)
        axes.set_ylim(low_y, 2000)
        line_x = np.array([low_x, high_x])

        def memory(tbps, colour, **how):
            axes.plot(line_x, tbps * line_x, color=colour, clip_on=True, **how)

        def roof(tbps, tflops, colour, **how):
            knee = tflops / tbps
            axes.plot([low_x, knee, high_x], [tbps * low_x, tflops, tflops], color=colour, **how)

        if device:
            roof(device["memory_tbps"], device["peak_tflops"], c["base"], linewidth=1,
                 linestyle=(0, (4, 3)))
            axes.text(low_x * 1.25, device["peak_tflops"] * 1.09,
                      f"{device['peak_tflops']:.0f} TFLOP/s, {device['memory_tbps']:g} TB/s: "
                      "datasheet", color=c["muted"], fontsize=8, va="bottom")
        if ceiling and read:
            roof(read, ceiling["tflops"], c["ink"], linewidth=1.3)
            axes.text(low_x * 1.25, ceiling["tflops"] * 0.94,
                      f"{ceiling['tflops']:.0f} TFLOP/s at {ceiling['sm_mhz']:.0f} MHz",
                      color=c["ink"], fontsize=8, va="top")
        if read:
            if not ceiling:
                memory(read, c["ink"], linewidth=1.3)
            at = max(low_y / read, low_x) * 1.15
            axes.text(at * 1.5, read * at, f"{read:g} TB/s read", color=c["ink"], fontsize=8,
                      va="center")
        # The few rows of A that a decoder's shapes have, where they stand.
        for m in sorted({r["m"] for r in here if r["group"] == "decode"}):
            top = max((r for r in here if r["group"] == "decode" and r["m"] == m),
                      key=lambda r: r["tflops"])
            axes.annotate(f"M = {m}", (top["intensity"], top["tflops"]), xytext=(-7, 4),
                          textcoords="offset points", fontsize=7.8, color=c["muted"], ha="right")
        for r in here:
            if r["cublas_tflops"]:
                axes.plot([r["intensity"]] * 2, [r["cublas_tflops"], r["tflops"]],
                          color=c["ours-mid"], linewidth=0.9, zorder=3)
        axes.scatter([r["intensity"] for r in here if r["cublas_tflops"]],
                     [r["cublas_tflops"] for r in here if r["cublas_tflops"]], s=17,
                     facecolor=c["paper"], edgecolor=c["base"], linewidth=1.1, zorder=4)
        axes.scatter([r["intensity"] for r in here], [r["tflops"] for r in here], s=15,
                     color=c["ours"], linewidth=0, zorder=5)
        axes.set_xlabel("FLOP per byte", labelpad=2)
        if i == 0:
            axes.set_ylabel("TFLOP/s", labelpad=2)
        ticks = [t for t in (0.1, 1, 10, 100, 1000) if low_y <= t <= 2000]
        axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
        xticks = [t for t in (1, 10, 100, 1000) if low_x <= t <= high_x]
        axes.set_xticks(xticks, [f"{t:g}" for t in xticks])
        axes.minorticks_off()
        one = {"points": len(here), "with_cublas": sum(r["cublas_tflops"] is not None for r in here)}
        if ceiling and read:
            knee = ceiling["tflops"] / read
            tensor = [r["tflops"] / ceiling["tflops"] for r in here if r["intensity"] > knee]
            stream = [r["tflops"] / (r["intensity"] * read) for r in here if r["intensity"] <= knee]
            one["ceiling_tflops"] = round(ceiling["tflops"], 1)
            if tensor:
                one["tensor_fraction"] = round(float(np.median(tensor)), 4)
            if stream:
                one["memory_fraction"] = round(float(np.median(stream)), 4)
        stats["regimes"][regime] = one
        sentences.append((regime, one))
    canvas.text(52, 382, "●", "ours", 10)
    canvas.text(65, 383, "ours", "ours", 9, weight="bold")
    canvas.text(104, 382, "○", "base", 10)
    canvas.text(117, 383, "cuBLAS", "muted", 9)
    known = [(regime, one) for regime, one in sentences if "tensor_fraction" in one]
    if known:
        regime, one = known[0]
        title = (f"{regime.capitalize()}, half of the shapes right of the ridge reach "
                 f"{percent(one['tensor_fraction'])} of what the tensor cores can do")
        if len(known) > 1:
            title += f" ({percent(known[1][1]['tensor_fraction'])} in {known[1][0]})"
        if "memory_fraction" in one:
            title += f", half of those left of it {percent(one['memory_fraction'])} of what memory can"
    else:
        title = f"{len(rows)} shapes under the roof"
    return Drawn(canvas, title,
                 "The solid roof is what this GPU was measured to do: its memory's reading speed, and "
                 "the tensor cores at the clock that the power cap left (medians over the shapes); a "
                 "dot is a shape, and a line from it down to a ring is what it gains on cuBLAS.",
                 stats)


# ---- Speed-ups ----

def speedups(data, palette):
    rows = data["best"]["rows"]
    groups = groups_of(rows)
    row_px, head_px, gap_px = 14, 42, 30
    heights, shapes_of = [], {}
    for g in groups:
        shapes = []
        for r in rows:
            if r["group"] == g and r["shape"] not in shapes:
                shapes.append(r["shape"])
        shapes_of[g] = shapes
        heights.append(head_px + row_px * len(shapes) + gap_px)
    canvas = Canvas(palette, sum(heights) + 34)
    c = canvas.colour
    canvas.text(14, 6, "■", "ours-mid", 10)
    canvas.text(27, 7, "x cuBLAS", "ours", 9, weight="bold")
    canvas.text(92, 6, "◆", "base", 10)
    canvas.text(104, 7, "x the best algorithm of cuBLASLt", "muted", 9)
    canvas.text(282, 7, "with 95 % intervals; orange: cuBLAS is ahead", "muted", 9)
    top = 34
    for g, height in zip(groups, heights):
        shapes = shapes_of[g]
        values = [r[k] for r in rows if r["group"] == g
                  for k in ("ratio_cublas", "ratio_cublas_high", "ratio_cublaslt_high",
                            "ratio_cublaslt") if r[k]]
        low = min([r[k] for r in rows if r["group"] == g
                   for k in ("ratio_cublas_low", "ratio_cublaslt_low", "ratio_cublas") if r[k]],
                  default=1)
        log = max(values, default=1) > 2.5
        canvas.text(14, top, g, size=11, weight="bold")
        canvas.fig.add_artist(Line2D([14 / WIDTH, 706 / WIDTH],
                                     [1 - (HEAD + top - 6) / canvas.total] * 2, color=c["grid"],
                                     linewidth=0.8))
        for i, regime in enumerate(REGIMES):
            left = 152 if i == 0 else 444
            here = {r["shape"]: r for r in rows
                    if r["group"] == g and r["regime"] == regime and r["ratio_cublas"]}
            axes = canvas.axes(left, top + head_px - 4, 216, row_px * len(shapes), grid="x")
            axes.set_ylim(len(shapes) - 0.5, -0.5)
            if not here:
                gap(canvas, axes, f"not recorded in {regime}")
                continue
            mean = geomean([r["ratio_cublas"] for r in here.values()])
            lt = geomean([r["ratio_cublaslt"] for r in here.values()])
            canvas.text(left, top + 1, regime, "ink", 9)
            canvas.text(left + 62, top + 1, f"{mean:.3f}", "ours", 9.5, weight="bold")
            if lt:
                canvas.text(left + 102, top + 1, f"◆ {lt:.3f}", "muted", 9)
            dates = sorted({r["started_utc"][:10] for r in here.values()})
            kernels = sorted({r["kernel"][:8] for r in here.values()})
            canvas.text(left, top + 15,
                        f"geomean of {len(here)}, {dates[-1]}, kernels {', '.join(kernels[:2])}"
                        + (", ..." if len(kernels) > 2 else ""), "muted", 7.6)
            if log:
                axes.set_xscale("log")
                axes.set_xlim(min(0.9, low * 0.97), max(values) * 1.1)
                ticks = [t for t in (1, 2, 4, 8, 16) if t < max(values) * 1.1]
                axes.set_xticks(ticks, [f"{t}x" for t in ticks])
                axes.minorticks_off()
            else:
                axes.set_xlim(min(0.94, low - 0.01), max(values) + 0.02)
                axes.xaxis.set_major_formatter(lambda v, _: f"{v:g}x")
                axes.locator_params(axis="x", nbins=5, steps=[1, 2, 5, 10])
            axes.axvline(1, color=c["base"], linewidth=1, zorder=2)
            for j, shape in enumerate(shapes):
                r = here.get(shape)
                if r is None:
                    axes.text(1.004, j, " not recorded", color=c["muted"], fontsize=7.5, va="center")
                    continue
                v = r["ratio_cublas"]
                ahead = v >= 1
                axes.barh(j, v - 1, left=1, height=0.56, color=c["ours-mid" if ahead else "late"],
                          zorder=3)
                if r["ratio_cublas_low"]:
                    axes.plot([r["ratio_cublas_low"], r["ratio_cublas_high"]], [j, j],
                              color=c["ink"], linewidth=1.1, zorder=5)
                if r["ratio_cublaslt"]:
                    if r["ratio_cublaslt_low"]:
                        axes.plot([r["ratio_cublaslt_low"], r["ratio_cublaslt_high"]],
                                  [j + 0.36, j + 0.36], color=c["base"], linewidth=0.9, zorder=4)
                    axes.plot([r["ratio_cublaslt"]], [j + 0.36], marker="D", markersize=3.2,
                              color=c["base"], markeredgewidth=0, zorder=6)
                axes.annotate(f"{v:.3f}", (1, j), xycoords=("axes fraction", "data"),
                              xytext=(5, 0), textcoords="offset points", fontsize=8, va="center",
                              color=c["ink" if ahead else "late"], annotation_clip=False)
            axes.tick_params(axis="x", labelsize=7.5, length=0)
            axes.spines["left"].set_visible(False)
            axes.spines["bottom"].set_visible(False)
            axes.set_yticks([])
        for j, shape in enumerate(shapes):
            name = shape if len(shape) < 24 else shape.split(".ld")[0] + " padded"
            canvas.text(144, top + head_px - 4 + row_px * (j + 0.5), name, "ink", 8, ha="right",
                        va="center")
        top += height
    summary = means(rows)
    regime = summary[0]["regime"] if summary else ""
    words = {"square": "squares", "odd": "odd sizes"}
    parts = [f"{m['cublas']:.3f}x for {words.get(m['group'], m['group'])}" for m in summary
             if m["regime"] == regime and (m["shapes"] > 1 or len(groups) == 1)]
    behind = sum(r["ratio_cublas"] < 1 for r in rows if r["ratio_cublas"])
    with_pdl = sum(r["pdl"] not in ("off", False) for r in rows)  # False: before it had kinds
    compared = len(ratios(rows, "ratio_cublas"))
    return Drawn(canvas, (f"{regime.capitalize()}, geomeans over cuBLAS are " + listed(parts)) if parts
                 else f"{len(rows)} shapes, none measured beside cuBLAS",
                 f"Each bar is how many times faster than cublasGemmEx the fastest verified kernel of a "
                 f"shape is: at least as fast in {compared - behind} of {compared}; {with_pdl} of "
                 f"{len(rows)} winners use programmatic dependent launch, which cuBLAS's API does not "
                 "offer.",
                 {"means": [{**m, "cublas": round(m["cublas"], 4),
                             "cublaslt": m["cublaslt"] and round(m["cublaslt"], 4)} for m in summary],
                  "rows": len(rows), "behind": behind, "with_pdl": with_pdl})


# ---- A sustained run ----

def sustained(data, palette):
    section = data["sustained"]
    canvas = Canvas(palette, 428)
    c = canvas.colour
    style = {"ours": (c["ours"], "ours", 3), "cublas": (c["base"], "cuBLAS", 2),
             "cublaslt": (c["ink"], "cuBLASLt's best", 2)}
    panels = [("power_w", "power, W"), ("sm_mhz", "SM clock, MHz"), ("time_us", "time of a GEMM, us")]
    rounds = sorted({s["round"] for one in section["candidates"] for s in one["samples"]})
    own = sorted({s["round"] for one in section["candidates"] for s in one["samples"]
                  if s["pace"] == "own"})
    start = min(own) - 0.5
    before = [r for r in rounds if r < start]
    for i, (key, name) in enumerate(panels):
        axes = canvas.axes(58, 28 + 128 * i, 560, 100)
        values = [s[key] for one in section["candidates"] for s in one["samples"] if s[key]]
        span = max(values) - min(values) or 1
        axes.set_ylim(min(values) - 0.12 * span, max(values) + 0.18 * span)
        axes.set_xlim(rounds[0] - 0.6, rounds[-1] + 0.6)
        axes.axvspan(start, rounds[-1] + 0.6, color=c["band"], zorder=0)
        if key == "power_w" and section["power_limit_w"]:
            limit = section["power_limit_w"]
            axes.axhline(limit, color=c["ink"], linewidth=1, linestyle=(0, (4, 3)))
            axes.set_ylim(axes.get_ylim()[0], max(axes.get_ylim()[1], limit + 0.2 * span))
            axes.text(rounds[0] - 0.4, limit + 0.03 * span, f"power limit {limit:.0f} W", fontsize=8,
                      color=c["ink"], va="bottom")
        ends = []
        for one in section["candidates"]:
            colour, label, width = style[one["who"]]
            points = [(s["round"], s[key], s["pace"]) for s in one["samples"] if s[key]]
            for pace in ("rested", "shared", "own"):
                part = [(r, v) for r, v, p in points if p == pace]
                if part:
                    axes.plot(*zip(*part), color=colour, linewidth=1.3, marker="o", markersize=3.4,
                              markeredgewidth=0, zorder=width)
            if points:
                ends.append([points[-1][1], colour, label])
        # Labels at the ends of their lines, apart from one another.
        low, high = axes.get_ylim()
        step = (high - low) * 0.13
        ends.sort(key=lambda e: e[0])
        for a, b in zip(ends, ends[1:]):
            b.append(0)
            if b[0] - a[0] < step:
                b[0] = a[0] + step
        for end in ends if key != "power_w" else []:  # all have the same
            axes.annotate(end[2], (1, end[0]), xycoords=("axes fraction", "data"), xytext=(6, 0),
                          textcoords="offset points", fontsize=8.5, va="center", color=end[1],
                          annotation_clip=False)
        canvas.text(58, 10 + 128 * i, name, "muted", 8.8)
        axes.set_xticks(rounds)
        axes.tick_params(axis="x", labelbottom=i == 2, labelsize=8)
    axes.set_xlabel("round", labelpad=1)
    if before:
        canvas.text(58 + 560 * (start - rounds[0] + 0.6) / (len(rounds) + 0.2) - 6, 11,
                    "short samples after idle time", "muted", 8.5, ha="right")
        canvas.text(58 + 560 * (start - rounds[0] + 0.6) / (len(rounds) + 0.2) + 6, 11,
                    "windows at full load", "ink", 8.5)

    def median(who, key, pace):
        one = next((o for o in section["candidates"] if o["who"] == who), None)
        values = [s[key] for s in one["samples"] if s[key] and s["pace"] == pace] if one else []
        return float(np.median(values)) if values else None
    stats = {"rounds": len(rounds), "samples": {o["who"]: len(o["samples"])
                                                for o in section["candidates"]}}
    load_mhz, rest_mhz = median("cublas", "sm_mhz", "own"), median("cublas", "sm_mhz", "rested")
    load_us, rest_us = median("cublas", "time_us", "own"), median("cublas", "time_us", "rested")
    ours = median("ours", "time_us", "own")
    title = f"At full load, {section['shape']}"
    if rest_mhz:
        title = (f"The power cap takes cuBLAS's clock from {rest_mhz:.0f} to {load_mhz:.0f} MHz, and its "
                 f"{section['shape']} then takes {load_us / rest_us:.2f}x as long")
        stats.update(clock=[round(rest_mhz, 1), round(load_mhz, 1)],
                     slower=round(load_us / rest_us, 4))
    if ours and load_us:
        stats["ours_over_cublas"] = round(load_us / ours, 4)
    return Drawn(canvas, title,
                 "Once the GPU draws all the power that it may, everybody has the same watts, and who "
                 "needs fewer joules for a GEMM gets the higher clock or the shorter time.", stats)


# ---- Ladder ----

BARS = 308  # px, where they begin
FAMILIES = {"hopper": "Hopper", "cuda_core": "CUDA cores", "tensor_core": "Tensor cores before wgmma"}


def ladder(data, palette):
    ladders = data["ladder"]["ladders"]
    main = max(ladders, key=lambda one: (one["family"] == "hopper", len(one["steps"])))
    others = [one for one in ladders if one is not main and one["family"] == "cuda_core"
              and one["dtype"] == "fp32"] or [one for one in ladders if one is not main][:1]
    shown = [main] + others[:1]
    height = sum(78 + 21 * len(one["steps"]) for one in shown)
    canvas = Canvas(palette, height)
    c = canvas.colour
    top = 0
    for one in shown:
        steps = one["steps"]
        canvas.text(14, top + 6, f"{FAMILIES.get(one['family'], one['family'])}, {one['shape']}",
                    size=10.5, weight="bold")
        axes = canvas.axes(BARS, top + 44, 346, 21 * len(steps), grid="x")
        axes.set_ylim(len(steps) - 0.5, -0.5)
        speeds = [s["tflops"] or 0 for s in steps]
        published = [s["published_tflops"] or 0 for s in steps]
        cublas = one["cublas_tflops"]
        axes.set_xlim(0, (max(speeds + published + [cublas or 0]) or 1) * 1.04)
        if cublas and cublas < 1.5 * max(speeds):
            axes.axvline(cublas, color=c["base"], linewidth=1.2)
            canvas.text(BARS + 346 * cublas / axes.get_xlim()[1], top + 28,
                        f"cuBLAS {cublas:.{0 if cublas > 100 else 1}f}", "muted", 8.5, ha="center")
        for j, step in enumerate(steps):
            canvas.text(14, top + 44 + 21 * (j + 0.5), step["step"], "ours", 9, va="center",
                        weight="bold")
            name = step["title"]
            canvas.text(42, top + 44 + 21 * (j + 0.5), name if len(name) < 58 else name[:56] + "…",
                        "ink", 8.2, va="center")
            if step["tflops"] is None:
                axes.text(0, j, f"  {step['status'] or 'not measured'}", fontsize=8, va="center",
                          color=c["late"])
                continue
            axes.barh(j, step["tflops"], height=0.62, zorder=3,
                      color=c["ours" if step["tflops"] == max(speeds) else "ours-mid"])
            axes.annotate(f"{step['tflops']:.{0 if step['tflops'] >= 100 else 1}f}", (1, j),
                          xycoords=("axes fraction", "data"), xytext=(42, 0), ha="right",
                          textcoords="offset points", fontsize=8.5, va="center", color=c["ink"],
                          annotation_clip=False)
            if step["published_tflops"]:
                axes.plot([step["published_tflops"]] * 2, [j - 0.42, j + 0.42], color=c["ink"],
                          linewidth=2, zorder=5, solid_capstyle="butt")
        axes.set_yticks([])
        axes.spines["left"].set_color(c["base-soft"])
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="x", labelsize=8, length=0)
        canvas.text(704, top + 8, "TFLOP/s", "muted", 8.2, ha="right")
        sources = sorted({s["published_source"] for s in steps if s["published_source"]})
        if sources:
            canvas.text(BARS, top + 8, f"▎published: {sources[0]}", "muted", 8.2)
        top += 78 + 21 * len(steps)
    timed = [s for s in main["steps"] if s["tflops"]]
    largest = sorted((s for s in timed if s["gain"] and s["step"] > "02"),
                     key=lambda s: -s["gain"])[:1]
    title = f"None of {len(main['steps'])} steps ran"
    if timed:
        first, last = timed[0], max(timed, key=lambda s: s["tflops"])
        title = f"{last['tflops']:.0f} TFLOP/s"
        if len(timed) > 1:
            title = f"From {first['tflops']:.1f} to {title} in {len(timed)} steps"
        if last["ratio_cublas"]:
            title += f"; the fastest is {last['ratio_cublas']:.3f}x cuBLAS"
    see = "Each bar is a kernel with one thing changed, the upright line what its author published for it"
    if largest:
        see += (f"; after the first with tensor cores, step {largest[0]['step']} "
                f"({largest[0]['title']}) gains most, {largest[0]['gain']:.2f}x")
    return Drawn(canvas, title, see + ".",
                 {"ladders": [{"family": o["family"], "shape": o["shape"], "steps": len(o["steps"]),
                               "best_tflops": round(max(s["tflops"] or 0 for s in o["steps"]), 1),
                               "cublas_tflops": o["cublas_tflops"] and round(o["cublas_tflops"], 1),
                               "published": sum(s["published_tflops"] is not None
                                                for s in o["steps"])} for o in shown]})
