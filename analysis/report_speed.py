"""Figures of how fast: roofline, speed-ups, a sustained run, the ladder."""

import numpy as np

from report_style import LARGE, PANEL, TEXT, Drawn, Panel, flow, percent, wrap

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


def over_best_library(row, prefix=""):
    """The ratio to the faster one of cuBLAS and cuBLASLt's best; None if neither is known."""
    known = [row.get(f"{prefix}{key}") for key in ("ratio_cublas", "ratio_cublaslt")]
    return min((ratio for ratio in known if ratio), default=None)


def is_lead_by_pdl(row):
    """Without PDL the best library is ahead."""
    ours, without = over_best_library(row), over_best_library(row, "pdl_off_")
    return row["pdl"] != "off" and bool(ours and without) and without < 1 < ours


def listed(words):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def gap(canvas, axes, text):
    """Draws empty axes with a text about the missing data."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(True)
        side.set_linestyle((0, (4, 4)))
    axes.text(0.5, 0.5, "\n".join(wrap(text, 44)), transform=axes.transAxes, ha="center",
              va="center", color=canvas.colour["muted"])


# ---- Roofline ----

def bits_of(row_or_ceiling):
    """Bits of an operand. Data of older versions has 16-bit operands only, and does not say so."""
    return row_or_ceiling.get("operand_bits", 16)


def ceiling_of(best, regime, bits):
    """What the tensor cores do with such operands at the regime's clock; None if not recorded."""
    return next((one for one in best["ceilings"]
                 if one["regime"] == regime and bits_of(one) == bits), None)


def peaks_of(device, bits):
    """Datasheet peaks of a device for these numbers of bits of operands."""
    return {n: device.get("peak_fp8_tflops" if n == 8 else "peak_tflops") for n in bits}


def draw_roof(canvas, data, rows, regime, limits):
    best, device, c = data["best"], data["device"], canvas.colour
    low_x, high_x, low_y, high_y = limits
    read = best["read_tbps"]
    bits = sorted({bits_of(r) for r in rows if r["regime"] == regime}, reverse=True)
    of_bits = {n: f" ({n} bits)" if bits != [16] else "" for n in bits}
    ceilings = [(n, one) for n in bits if (one := ceiling_of(best, regime, n))]
    canvas.text(0, 2, regime, size=LARGE, weight="bold")
    canvas.text(PANEL - 118, 3, "●", "ours")
    canvas.text(PANEL - 103, 3, "ours", "ours", weight="bold")
    canvas.text(PANEL - 64, 3, "○", "base")
    canvas.text(PANEL - 50, 3, "cuBLAS", "muted")
    here = [r for r in rows if r["regime"] == regime]
    axes = canvas.axes(48, 44, PANEL - 54, 310, grid="both")
    if not here:
        gap(canvas, axes, f"not recorded in {regime}")
        return
    canvas.text(0, 24, "TFLOP/s", "muted")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low_x, high_x)
    axes.set_ylim(low_y, high_y)

    def roof(tbps, tflops, colour, **how):
        axes.plot([low_x, tflops / tbps, high_x], [tbps * low_x, tflops, tflops], color=colour,
            **how)

    for n, peak in peaks_of(device, bits).items() if device else ():
        if not peak:
            continue
        roof(device["memory_tbps"], peak, c["base"], linewidth=1, linestyle=(0, (4, 3)))
        if n == bits[-1]:  # the highest roof; between the others there is no room for it
            axes.text(low_x * 1.25, peak * 1.09, f"{peak:.0f} TFLOP/s{of_bits[n]}: datasheet",
                      color=c["muted"], va="bottom")
    for n, ceiling in ceilings if read else ():
        roof(read, ceiling["tflops"], c["ink"], linewidth=1.3)
        axes.text(low_x * 1.25, ceiling["tflops"] * 0.94,
                  f"{ceiling['tflops']:.0f} at {ceiling['sm_mhz']:.0f} MHz{of_bits[n]}",
                  color=c["ink"], va="top")
    if read:
        if not ceilings:
            axes.plot([low_x, high_x], [read * low_x, read * high_x], color=c["ink"], linewidth=1.3)
        at = max(low_y / read, low_x) * 1.15
        axes.text(at * 1.8, read * at, f"{read:g} TB/s read", color=c["ink"], va="center")
    for r in here:
        if r["cublas_tflops"]:
            axes.plot([r["intensity"]] * 2, [r["cublas_tflops"], r["tflops"]], color=c["ours-mid"],
                      linewidth=0.9, zorder=3)
    axes.scatter([r["intensity"] for r in here if r["cublas_tflops"]],
                 [r["cublas_tflops"] for r in here if r["cublas_tflops"]], s=17,
                 facecolor=c["paper"], edgecolor=c["base"], linewidth=1.1, zorder=4)
    axes.scatter([r["intensity"] for r in here], [r["tflops"] for r in here], s=15,
                 color=c["ours"], linewidth=0, zorder=5)
    axes.set_xlabel("FLOP per byte", labelpad=2)
    ticks = [t for t in (0.1, 1, 10, 100, 1000) if low_y <= t <= high_y]
    axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
    xticks = [t for t in (1, 10, 100, 1000) if low_x <= t <= high_x]
    axes.set_xticks(xticks, [f"{t:g}" for t in xticks])
    axes.minorticks_off()


def roofline(data):
    best = data["best"]
    rows = [r for r in best["rows"] if r["tflops"]]
    x = [r["intensity"] for r in rows]
    y = [r["tflops"] for r in rows] + [r["cublas_tflops"] for r in rows if r["cublas_tflops"]]
    high_y = 2000 if all(bits_of(r) == 16 for r in rows) else 4000
    limits = 10 ** np.floor(np.log10(min(x)) - 0.05), max(max(x) * 2, 2000), min(y) / 2, high_y
    read = best["read_tbps"]
    stats = {"points": len(rows), "regimes": {}}
    for regime in REGIMES:
        here = [r for r in rows if r["regime"] == regime]
        if not here:
            continue
        one = {"points": len(here),
            "with_cublas": sum(r["cublas_tflops"] is not None for r in here)}
        tensor, stream = [], []
        for bits in (16, 8):
            ceiling = ceiling_of(best, regime, bits)
            if not ceiling or not read:
                continue
            knee = ceiling["tflops"] / read
            same = [r for r in here if bits_of(r) == bits]
            tensor += [r["tflops"] / ceiling["tflops"] for r in same if r["intensity"] > knee]
            stream += [r["tflops"] / (r["intensity"] * read) for r in same
                       if r["intensity"] <= knee]
            key = "ceiling_tflops" if bits == 16 else "ceiling_8_bit_tflops"
            one[key] = round(ceiling["tflops"], 1)
        if tensor:
            one["tensor_fraction"] = round(float(np.median(tensor)), 4)
        if stream:
            one["memory_fraction"] = round(float(np.median(stream)), 4)
        stats["regimes"][regime] = one
    known = [(regime, one) for regime, one in stats["regimes"].items() if "tensor_fraction" in one]
    title = f"{len(rows)} shapes under the roof"
    if known:
        regime, one = known[0]
        title = (f"{regime.capitalize()}, half of the shapes right of the ridge reach "
                 f"{percent(one['tensor_fraction'])} of what the tensor cores can do")
        if len(known) > 1:
            title += f" ({percent(known[1][1]['tensor_fraction'])} in {known[1][0]})"
        if "memory_fraction" in one:
            title += f", half of those left of it {percent(one['memory_fraction'])} of what memory can"
    panels = [Panel(396, lambda canvas,
        regime=regime: draw_roof(canvas, data, rows, regime, limits))
              for regime in REGIMES]
    return Drawn(panels, title,
                 "The solid roof is what this GPU was measured to do: its memory's reading speed, and "
                 "the tensor cores at the clock that the power cap left (medians over the shapes); a "
                 "dot is a shape, and a line from it down to a ring is what it gains on cuBLAS.",
                 stats, columns=2)


# ---- Speed-ups ----

ROW = 18  # px
LINE = 18  # px, of text above the bars
HEAD = 40  # px, of two lines


def common_kind(shapes):
    """What most of the shapes have behind their extents, ".e4m3.scaling-blocks"; or nothing."""
    kinds = [dot + kind for _, dot, kind in (shape.partition(".") for shape in shapes)]
    kind = max(kinds, key=kinds.count, default="")
    return kind if 2 * kinds.count(kind) > len(kinds) else ""


def text_above(group, shapes):
    """The kind of the shapes, if the group's name does not say it, and the height of all text."""
    kind = common_kind(shapes)
    return ("", HEAD) if kind in ("", f".{group}") else (kind, HEAD + LINE)


def draw_bars(canvas, group, regime, shapes, here, limits):
    c = canvas.colour
    low, high = limits
    kind, top = text_above(group, shapes)
    mean, lt = (geomean([r[key] for r in here.values()])
        for key in ("ratio_cublas", "ratio_cublaslt"))
    canvas.text(0, 2, f"{group}, {regime}", size=LARGE, weight="bold")
    canvas.text(0, HEAD, kind, "muted")
    axes = canvas.axes(142, top, 156, ROW * len(shapes), grid="x")
    axes.set_ylim(len(shapes) - 0.5, -0.5)
    if not here:
        gap(canvas, axes, f"not recorded in {regime}")
        return
    canvas.text(0, 22, "geomean", "muted")
    canvas.text(62, 22, f"{mean:.3f}", "ours", weight="bold")
    if lt:
        canvas.text(112, 22, f"◆ {lt:.3f} of cuBLASLt's best", "muted")
    if high > 2.5:
        axes.set_xscale("log")
        axes.set_xlim(min(0.9, low * 0.97), high * 1.1)
        ticks = [t for t in (1, 2, 4, 8, 16) if t < high * 1.1]
        axes.set_xticks(ticks, [f"{t}x" for t in ticks])
        axes.minorticks_off()
    else:
        axes.set_xlim(min(0.94, low - 0.01), high + 0.02)
        axes.xaxis.set_major_formatter(lambda v, _: f"{v:g}x")
        axes.locator_params(axis="x", nbins=4, steps=[1, 2, 5, 10])
    axes.axvline(1, color=c["base"], linewidth=1, zorder=2)
    shown_once = common_kind(shapes)
    for j, shape in enumerate(shapes):
        name = shape.removesuffix(shown_once)
        name = name if len(name) < 18 else name.split(".ld")[0][:17] + "…"
        canvas.text(136, top + ROW * (j + 0.5), name, ha="right", va="center")
        r = here.get(shape)
        if r is None:
            axes.text(1.004, j, " not recorded", color=c["muted"], va="center")
            continue
        v = r["ratio_cublas"]
        ahead = v >= 1
        axes.barh(j, v - 1, left=1, height=0.56, color=c["ours-mid" if ahead else "late"], zorder=3)
        if r["ratio_cublas_low"]:
            axes.plot([r["ratio_cublas_low"], r["ratio_cublas_high"]], [j, j], color=c["ink"],
                      linewidth=1.1, zorder=5)
        if r["ratio_cublaslt"]:
            axes.plot([r["ratio_cublaslt"]], [j + 0.34], marker="D", markersize=4, color=c["base"],
                      markeredgewidth=0, zorder=6)
        canvas.text(PANEL, top + ROW * (j + 0.5), f"{v:.3f}", "ink" if ahead else "late",
                    ha="right", va="center")
    axes.tick_params(axis="x", length=0)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.set_yticks([])


def speedups(data):
    rows = data["best"]["rows"]
    groups = groups_of(rows)
    panels = []
    for g in groups:
        shapes = list(dict.fromkeys(r["shape"] for r in rows if r["group"] == g))
        values = [r[k] for r in rows if r["group"] == g
                  for k in ("ratio_cublas", "ratio_cublas_high", "ratio_cublaslt") if r[k]]
        low = min([r[k] for r in rows if r["group"] == g
                   for k in ("ratio_cublas_low", "ratio_cublaslt",
                       "ratio_cublas") if r[k]], default=1)
        for regime in REGIMES:
            here = {r["shape"]: r for r in rows
                    if r["group"] == g and r["regime"] == regime and r["ratio_cublas"]}
            _, top = text_above(g, shapes)
            panels.append(Panel(top + 22 + ROW * len(shapes), lambda canvas, now=(
                g, regime, shapes, here, (low, max(values, default=1))): draw_bars(canvas, *now)))
    summary = means(rows)
    regime = summary[0]["regime"] if summary else ""
    words = {"square": "squares", "odd": "odd sizes"}
    parts = [f"{m['cublas']:.3f}x for {words.get(m['group'], m['group'])}" for m in summary
             if m["regime"] == regime and (m["shapes"] > 1 or len(groups) == 1)]
    behind = sum(r["ratio_cublas"] < 1 for r in rows if r["ratio_cublas"])
    with_pdl = sum(r["pdl"] != "off" for r in rows)
    by_pdl = sum(map(is_lead_by_pdl, rows))
    without = (f"; at {by_pdl} the lead is by PDL: without it the best library is ahead"
               if by_pdl else "")
    compared = len(ratios(rows, "ratio_cublas"))
    return Drawn(panels,
        (f"{regime.capitalize()}, geomeans over cuBLAS are " + listed(parts)) if parts
                 else f"{len(rows)} shapes, none measured beside cuBLAS",
                 f"Each bar is how many times faster than cublasGemmEx the fastest verified kernel of a "
                 f"shape is, the diamond how many times faster than the best algorithm of cuBLASLt: at "
                 f"least as fast as cuBLAS in {compared - behind} of {compared}; {with_pdl} of "
                 f"{len(rows)} winners use programmatic dependent launch, which cuBLAS's API does not "
                 f"offer{without}.",
                 {"means": [{**m, "cublas": round(m["cublas"], 4),
                             "cublaslt": m["cublaslt"] and round(m["cublaslt"],
                                 4)} for m in summary],
                  "rows": len(rows), "behind": behind, "with_pdl": with_pdl,
                  "leads_by_pdl": by_pdl}, columns=2)


# ---- A sustained run ----

WHO = {"ours": ("ours", "ours"), "cublas": ("base", "cuBLAS"),
    "cublaslt": ("ink", "cuBLASLt's best")}


def draw_run(canvas, section, key, name, rounds, start):
    c = canvas.colour
    canvas.text(0, 2, name, size=LARGE, weight="bold")
    x = 0
    for one in section["candidates"]:
        colour, label = WHO[one["who"]]
        canvas.text(x, 22, label, colour)
        x += 12 + 7.4 * len(label)
    axes = canvas.axes(50, 46, PANEL - 56, 150)
    values = [s[key] for one in section["candidates"] for s in one["samples"] if s[key]]
    span = max(values) - min(values) or 1
    axes.set_ylim(min(values) - 0.12 * span, max(values) + 0.18 * span)
    axes.set_xlim(rounds[0] - 0.6, rounds[-1] + 0.6)
    axes.axvspan(start, rounds[-1] + 0.6, color=c["band"], zorder=0)
    if key == "power_w" and section["power_limit_w"]:
        limit = section["power_limit_w"]
        axes.axhline(limit, color=c["ink"], linewidth=1, linestyle=(0, (4, 3)))
        axes.set_ylim(axes.get_ylim()[0], max(axes.get_ylim()[1], limit + 0.25 * span))
        axes.text(rounds[0] - 0.4, limit + 0.03 * span, f"power limit {limit:.0f} W",
            color=c["ink"],
                  va="bottom")
    for i, one in enumerate(section["candidates"]):
        for pace in ("rested", "shared", "own"):
            part = [(s["round"], s[key]) for s in one["samples"] if s[key] and s["pace"] == pace]
            if part:
                axes.plot(*zip(*part), color=c[WHO[one["who"]][0]], linewidth=1.3, marker="o",
                          markersize=3.4, markeredgewidth=0, zorder=4 - i)
    axes.set_xticks(rounds[::max(1, len(rounds) // 8)])
    axes.set_xlabel("round", labelpad=1)


def sustained(data):
    section = data["sustained"]
    samples = [s for one in section["candidates"] for s in one["samples"]]
    rounds = sorted({s["round"] for s in samples})
    start = min(s["round"] for s in samples if s["pace"] == "own") - 0.5
    panels = [Panel(238, lambda canvas,
        now=(key, name): draw_run(canvas, section, *now, rounds, start))
              for key, name in (("power_w", "power, W"), ("sm_mhz", "SM clock, MHz"),
                                ("time_us", "time of a GEMM, us"))]

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
    return Drawn(panels, title,
                 "Shaded: windows at full load; left of them short samples after idle time. Once the "
                 "GPU draws all the power that it may, all candidates have the same watts, and one that "
                 "needs fewer joules for a GEMM gets the higher clock or the shorter time.", stats)


# ---- Ladder ----

STEP = 38  # px
FAMILIES = {"hopper": "Hopper", "cuda_core": "CUDA cores",
    "tensor_core": "Tensor cores before wgmma"}


def is_of_ladder(step, one):
    """Not of the step with operands of 8 bits, whose peak is another one."""
    return step["dtype"] == one["dtype"]


def draw_ladder(canvas, one):
    c, steps = canvas.colour, one["steps"]
    speeds = [s["tflops"] or 0 for s in steps]
    published = [s["published_tflops"] or 0 for s in steps]
    cublas = one["cublas_tflops"]
    canvas.text(0, 2, f"{FAMILIES.get(one['family'], one['family'])}, {one['shape']}", size=LARGE,
                weight="bold")
    sources = sorted({s["published_source"] for s in steps if s["published_source"]})
    known = []
    if cublas:
        known.append(f"line: cuBLAS, {cublas:.{0 if cublas > 100 else 1}f}")
    if sources:
        known.append("mark: as published")
    canvas.text(0, 22, "TFLOP/s" + "".join(f"; {one}" for one in known), "muted")
    axes = canvas.axes(0, 46, PANEL - 50, STEP * len(steps), grid="x")
    axes.set_ylim(len(steps) - 0.5, -0.5)
    axes.set_xlim(0, (max(speeds + published + [cublas or 0]) or 1) * 1.02)
    if cublas:
        axes.axvline(cublas, color=c["base"], linewidth=1.2)
    for j, step in enumerate(steps):
        y = 46 + STEP * j
        canvas.text(0, y + 3, step["step"], "ours", weight="bold")
        name = step["title"]
        canvas.text(32, y + 3, name if len(name) < 47 else name[:45] + "…",
                    bbox={"facecolor": c["paper"], "edgecolor": "none", "pad": 0.5})
        if step["tflops"] is None:
            canvas.text(26, y + 19, step["status"] or "not measured", "late")
            continue
        same = is_of_ladder(step, one)
        best = max(s["tflops"] or 0 for s in steps if is_of_ladder(s, one) == same)
        axes.barh(j + 0.22, step["tflops"], height=0.32, zorder=3,
                  color=c["ours" if step["tflops"] == best else "ours-mid"],
                  hatch=None if same else "///", edgecolor=c["paper"], linewidth=0)
        if not same and step["cublas_time_us"]:
            theirs = step["tflops"] * step["time_us"] / step["cublas_time_us"]
            axes.plot([theirs] * 2, [j + 0.02, j + 0.42], color=c["base"], linewidth=2, zorder=5)
        canvas.text(PANEL, y + 19, f"{step['tflops']:.{0 if step['tflops'] >= 100 else 1}f}",
                    ha="right")
        if step["published_tflops"]:
            axes.plot([step["published_tflops"]] * 2, [j + 0.02, j + 0.42], color=c["ink"],
                      linewidth=2, zorder=5, solid_capstyle="butt")
    axes.set_yticks([])
    axes.spines["left"].set_color(c["base-soft"])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="x", length=0)
    axes.locator_params(axis="x", nbins=5)


def ladder(data):
    ladders = data["ladder"]["ladders"]
    main = max(ladders, key=lambda one: (one["family"] == "hopper", len(one["steps"])))
    others = [one for one in ladders if one is not main and one["family"] == "cuda_core"
              and one["dtype"] == "fp32"] or [one for one in ladders if one is not main][:1]
    shown = [main] + others[:1]
    panels = [Panel(74 + STEP * len(one["steps"]), lambda canvas, one=one: draw_ladder(canvas, one))
              for one in shown]
    timed = [s for s in main["steps"] if s["tflops"] and is_of_ladder(s, main)]
    others_timed = [s for s in main["steps"] if s["tflops"] and not is_of_ladder(s, main)]
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
    see = "Each bar is a kernel with one thing changed, the upright mark what its author published for it"
    sources = sorted({s["published_source"] for one in shown for s in one["steps"]
                      if s["published_source"]})
    if sources:
        see += f" ({'; '.join(sources)})"
    if largest:
        see += (f"; after the first with tensor cores, step {largest[0]['step']} "
                f"({largest[0]['title']}) gains most, {largest[0]['gain']:.2f}x")
    for step in others_timed:
        see += (f". With operands of 8 bits ({step['dtype']}; hatched), whose sums have other errors and "
                f"whose peak is twice as high, it is {step['tflops']:.0f} TFLOP/s")
        if step["ratio_cublas"]:
            see += f", {step['ratio_cublas']:.3f}x cuBLASLt's first choice for them (grey mark)"
    return Drawn(panels, title, see + ".",
                 {"ladders": [{"family": o["family"], "shape": o["shape"], "steps": len(o["steps"]),
                               "best_tflops": round(max((s["tflops"] or 0 for s in o["steps"]
                                                         if is_of_ladder(s, o)), default=0), 1),
                               "cublas_tflops": o["cublas_tflops"] and round(o["cublas_tflops"], 1),
                               "published": sum(s["published_tflops"] is not None
                                                for s in o["steps"])} for o in shown]}, columns=2)
