"""Figures of what happens inside: cycles of a kernel, of an instruction, and the order of tiles."""

import numpy as np

from report_speed import gap
from report_style import (LARGE, PANEL, RAMP, Drawn, Panel, broken, flow, percent, ramp, rectangles,
                          wrap)


def per_k_block(probe, role):
    """Cycles of each phase of a role, per k block."""
    figures = [f for f in probe["figures"] if f["role"] == role]
    blocks = next((f["count"] for f in figures if f["unit"] == "k_block"), 0)
    around = ("prologue", "setmaxnreg", "drain")
    phases = {f["phase"]: f["cycles"] / blocks for f in figures if f["phase"] not in around} \
        if blocks else {}
    return phases, phases.pop("total", None)


PHASES = {  # colour, text on it, name
    "wait_full": ("late-soft", "ink", "wait for data"), "mma_issue": ("ours", "paper", "MMA issue"),
    "mma_wait": ("ours-mid", "on-mid", "MMA wait"), "release": ("base-soft", "ink", "release"),
    "promote": ("ours-soft", "ink", "promote"),
    "epilogue": ("base", "paper", "epilogue"), "store": ("base", "paper", "store"),
    "order": ("base-soft", "ink", "order"), "wait_empty": ("late-soft", "ink",
        "wait for a free stage"),
    "issue": ("ours-soft", "ink", "issue copies"),
    "load": ("late-soft", "ink", "load"), "mma": ("ours", "paper", "MMA"),
}


def stacked(canvas, left, top, width, height, parts, whole):
    """A bar of phases, each with its name and cycles where there is room."""
    axes = canvas.axes(left, top, width, height, grid=None)
    axes.set_xlim(0, 1)
    axes.axis("off")
    at = 0
    for phase, cycles in parts:
        colour, on, name = PHASES[phase]
        axes.barh(0, cycles / whole, left=at / whole, height=1, linewidth=0.6,
                  color=canvas.colour[colour], edgecolor=canvas.colour["paper"], zorder=3)
        room = cycles / whole * width
        text = next((text for text in (f"{name} {cycles:.0f}", f"{cycles:.0f}")
                     if room > 7 * len(text) + 4), "")
        if text:
            axes.text((at + cycles / 2) / whole, 0, text, ha="center", va="center",
                      color=canvas.colour[on], zorder=4)
        at += cycles


MAIN_LOOP = ["wait_full", "mma_issue", "mma_wait", "release", "promote"]
CONSUMER = [*MAIN_LOOP, "epilogue", "store"]
PRODUCER = ["order", "wait_empty", "issue"]


def draw_probe(canvas, probe, note, share):
    canvas.text(0, 2, probe["shape"], size=LARGE, weight="bold")
    y = 22
    for line in broken(probe["label"].removesuffix(".probe1"), 50):
        canvas.text(0, y, line.replace(". ", "."), "muted")
        y += 16
    y = flow(canvas, 0, y, note, 54, "muted")
    if share:
        canvas.text(0, y, f"tensor cores busy for {percent(share, 1)} of the main loop", "ours",
                    weight="bold")
    y += 20
    for role, order in (("consumer", CONSUMER), ("producer", PRODUCER)):
        parts, total = per_k_block(probe, role)
        canvas.text(0, y, role + (f", {total:.0f} cycles a k block" if total else ": not stamped"),
                    "muted")
        if total:
            stacked(canvas, 0, y + 17, PANEL, 24, [(p, parts[p]) for p in order if parts.get(p)],
                total)
        y += 48


def draw_steps(canvas, main, steps):
    canvas.text(0, 2, f"The ladder's steps at {main['shape']}", size=LARGE, weight="bold")
    flow(canvas, 0, 22,
        "cycles per k block of 64 as one thread sees them: load, MMA, and of a tile's "
         "store its share", 54)
    whole = max(a + b + s for _, a, b, s in steps)
    for j, (step, load, mma, store) in enumerate(steps):
        y = 62 + 40 * j
        canvas.text(0, y, step["step"], "ours", weight="bold")
        canvas.text(32, y, step["name"].replace("_", " "))
        parts = [(p, v) for p, v in (("load", load), ("mma", mma), ("store", store)) if v]
        stacked(canvas, 0, y + 16, PANEL, 18, parts, whole)


def is_same_config(probe, label):
    """Ignores stamps and constant extents, which hardly change the cycles of the main loop."""
    return label and probe["label"].removesuffix(".probe1").removesuffix(".fixed") == \
        label.removesuffix(".fixed")


def cycles(data):
    best = {}
    for row in data["best"].get("rows", []):
        best.setdefault(row["shape"], []).append(row["label"])
    probes = sorted(data["cycles"]["probes"], key=lambda p: -p["m"] * p["n"] * p["k"])
    probes.sort(key=lambda p: not any(is_same_config(p, one) for one in best.get(p["shape"], [])))
    steps = []
    if "ladders" in data["ladder"]:
        main = max(data["ladder"]["ladders"],
            key=lambda o: (o["family"] == "hopper", len(o["steps"])))
        for s in main["steps"]:
            load = s["load_cycles"] or s["wait_full_cycles"]
            if load and s["mma_cycles"]:
                steps.append((s, load, s["mma_cycles"],
                    (s["store_cycles"] or 0) / (main["k"] / 64)))
    stats = {"probes": [], "ladder_steps": len(steps)}
    busiest, panels, now = [], [], 0
    for probe in probes:
        parts, _ = per_k_block(probe, "consumer")
        loop = sum(parts.get(p, 0) for p in MAIN_LOOP)
        share = probe["mma_cycles_needed"] / loop if probe["mma_cycles_needed"] and loop else None
        labels = best.get(probe["shape"], [])
        note = "probed; no race of this shape is in this report"
        if any(is_same_config(probe, one) for one in labels):
            note = "the best config of now"
            now += 1
        elif labels:
            note = "not the best any more; probe it anew with: hgemm-tune probe --shapes " + probe["shape"]
        if share:
            busiest.append((share, probe["shape"]))
        stats["probes"].append({"shape": probe["shape"], "label": probe["label"],
                                "main_loop_cycles": round(loop, 1),
                                "tensor_share": share and round(share, 4)})
        lines = len(broken(probe["label"].removesuffix(".probe1"), 50)) + len(wrap(note, 54))
        panels.append(Panel(142 + 16 * lines, lambda canvas, it=(probe, note, share):
                            draw_probe(canvas, *it)))
    if steps:
        panels.append(Panel(62 + 40 * len(steps), lambda canvas: draw_steps(canvas, main, steps)))
    title = "Where the cycles go"
    see = (f"{now} of {len(probes)} probed kernels are the best of their shape now. The consumer's time "
           "is above, the producer's below, in cycles: blue multiplies (the palest adds sums that are promoted), orange waits, grey is release, "
           "epilogue, store and order; a producer that waits is ahead, a consumer that waits is starved. "
           "\"Busy\" is what the wgmmas of a k block take by the model, over the phases of the main loop.")
    if busiest:
        most, least = max(busiest), min(busiest)
        title = (f"The main loop keeps the tensor cores busy for {percent(most[0], 1)} of its time at "
                 f"{most[1]}")
        if len(busiest) > 1:
            title += f", for {percent(least[0])} at {least[1]}"
    return Drawn(panels, title, see, stats)


# ---- wgmma ----

def draw_wgmma(canvas, device, points, registers):
    c = canvas.colour
    canvas.text(0, 2, device["name"], "ours" if device["this_gpu"] else "ink", LARGE, weight="bold")
    canvas.text(0, 22,
        "cycles; dots: measured here" if device["this_gpu"] else "cycles by the model",
                "muted")
    canvas.text(PANEL, 22, "compute", "ink", ha="right")
    canvas.text(PANEL - 62, 22, "read", "late", ha="right")
    if device["this_gpu"]:
        canvas.text(0, 300, "●", "ours")
        canvas.text(13, 300, "A in shared memory", "muted")
        canvas.text(160, 300, "○", "ours")
        canvas.text(173, 300, "in registers (reads B alone)", "muted")
    axes = canvas.axes(34, 46, PANEL - 44, 212)
    n, read, compute = device["n"], device["read"], device["compute"]
    axes.plot(n, read, color=c["late"], linewidth=1.3, zorder=3)
    axes.plot(n, compute, color=c["ink"], linewidth=1.3, zorder=3)
    top = max([*read, *compute] or [p["cycles"] for p in points + registers] or [1]) * 1.06
    axes.set_ylim(0, top)
    axes.set_xlim(0, 262)
    axes.set_xticks([8, 64, 128, 192, 256])
    threshold = device["threshold"]
    if threshold:
        axes.axvspan(0, threshold, color=c["band"], zorder=0)
        axes.axvline(threshold, color=c["muted"], linewidth=0.9, linestyle=(0, (3, 3)))
        axes.text(threshold + 5, top * 0.975, f"N = {threshold}", va="top", color=c["ink"])
    if device["this_gpu"]:
        axes.scatter([p["n"] for p in points], [p["cycles"] for p in points], s=13,
                     color=c["ours"], zorder=5, linewidth=0)
        axes.scatter([p["n"] for p in registers], [p["cycles"] for p in registers], s=13,
                     facecolor=c["paper"], edgecolor=c["ours"], zorder=4, linewidth=0.9)
    axes.set_xlabel("N of m64nNk16", labelpad=2)


def wgmma(data):
    section = data["wgmma"]
    devices = sorted(section["devices"],
        key=lambda d: (not d["this_gpu"], -(d["threshold"] or 256)))[:3]
    if not any(device["this_gpu"] for device in devices):  # one that the model does not know
        devices = [{"name": data["gpu"], "this_gpu": True, "threshold": None, "n": [], "read": [],
                    "compute": []}] + devices[:2]
    points = [p for p in section["measured"] if not p["a_in_registers"]]
    registers = [p for p in section["measured"] if p["a_in_registers"]]
    panels = [Panel(320, lambda canvas,
        device=device: draw_wgmma(canvas, device, points, registers))
              for device in devices]
    here = next((d for d in devices if d["this_gpu"]), None)
    model = dict(zip(here["n"], np.maximum(here["read"], here["compute"]))) if here else {}
    errors = [abs(p["cycles"] / model[p["n"]] - 1) for p in points if p["n"] in model]
    title = f"wgmma's cycles at {len(points)} N"
    if errors:
        how = ("within " + percent(max(errors), 1) if max(errors) >= 5e-4 else
               "to less than " + percent(5e-4, 2))
        title = f"The larger of reading and computing gives wgmma's cycles at all {len(points)} N {how}"
    if here and here["threshold"]:
        title += f"; from N\u00a0=\u00a0{here['threshold']} on the tensor cores are the limit"
    return Drawn(panels, title,
                 "Left of the dashed line an instruction waits for its operands from shared memory, "
                 "right of it for the tensor cores; an H20 has the same memory and a quarter of the "
                 "rate.", {"measured": len(points), "in_registers": len(registers),
                           "largest_error": round(max(errors), 4) if errors else None,
                           "thresholds": {d["name"]: d["threshold"] for d in devices}})


# ---- Order of tiles ----

def ramp_key(canvas, y, low, high, first=1):
    """What the colours say, by the colours themselves: which is dark differs from light to dark."""
    canvas.text(0, y, low, "muted")
    left, width = 9 + 7.2 * len(low), 12
    axes = canvas.axes(left, y + 2, width * (RAMP - first), 11, grid=None)
    axes.axis("off")
    axes.set_xlim(first, RAMP)
    axes.set_ylim(0, 1)
    for level in range(first, RAMP):
        rectangles(axes, [(level, 0, 1, 1)], ramp(canvas.colour, level))
    canvas.text(left + width * (RAMP - first) + 8, y, high, "muted")


def draw_order(canvas, section, order, hits):
    c = canvas.colour
    rows, columns, clusters = section["rows"], section["columns"], section["clusters"]
    waves = -(-rows * columns // clusters)
    high = 330 * min(1.2, max(0.2, rows / columns))
    canvas.text(0, 2, order["name"], size=LARGE, weight="bold")
    axes = canvas.axes(0, 26, 330, high, grid=None)
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    axes.axis("off")
    wave = np.array(order["positions"]).reshape(rows, columns) // clusters
    steps = np.minimum(RAMP - 1, 1 + wave * (RAMP - 1) // max(1, waves))
    for level in range(RAMP):
        rectangles(axes, runs(steps == level), ramp(c, level))
    rectangles(axes, runs(wave == waves // 3), c["late"])
    y = 26 + high + 8
    ramp_key(canvas, y, "early", "late")
    canvas.text(210, y, "■", "late")
    canvas.text(224, y, "one wave", "muted")
    canvas.text(0, y + 19, f"a wave reads {order['wave_bytes'] / 1e6:.0f} MB of A and B")
    if not hits:
        canvas.text(0, y + 36, "L2 hits: not counted", "muted")
        return

    def name_of(label):
        return "step " + label.split(".")[2].split("_")[0] if label.startswith("ladder.") else "tuned"
    flow(canvas, 0, y + 36, "L2 hits, counted: " + ", ".join(
        f"{rate:.1f} % ({name_of(label)})" for label, rate in hits[:4]), 48, "ours", weight="bold")


def order_height(section):
    return round(26 + 330 * min(1.2, max(0.2, section["rows"] / section["columns"])) + 84)


def tile_order(data):
    section = data["tile_order"]
    recorded = section["recorded"]
    rows, columns, clusters = section["rows"], section["columns"], section["clusters"]
    counted = {}
    for one in section["l2"]:
        counted.setdefault(one["order"], []).append((one["label"], one["hit_rate"]))
    panels = [Panel(order_height(section), lambda canvas, order=order: draw_order(
        canvas, section, order, counted.get(order["name"], []))) for order in section["orders"]]
    for one in recorded:
        panels.append(Panel(map_height(one) + 376, lambda canvas,
            one=one: draw_timeline(canvas, one)))
    if not recorded:
        panels.append(Panel(200, lambda canvas: gap(
            canvas, canvas.axes(0, 0, PANEL, 200,
                grid=None), "no timeline of a kernel was recorded: "
            "hgemm-tune probe --shapes 4096x4096x4096 --trace trace.json")))
    stats = {"tiles": rows * columns, "waves": -(-rows * columns // clusters),
             "wave_mb": {o["name"]: round(o["wave_bytes"] / 1e6, 1) for o in section["orders"]},
             "l2_hit_rate": {k: [round(rate, 2) for _, rate in v] for k, v in counted.items()},
             "recorded_tiles": {one["order"] or one["label"]: len(one["cells"])
                 for one in recorded}}
    mb = {o["name"]: o["wave_bytes"] / 1e6 for o in section["orders"]}
    title = "The order of tiles decides what a wave reads"
    if {"linear", "group8", "hilbert"} <= mb.keys():
        title = (f"Bands and Hilbert's curve read {mb['group8']:.0f} and {mb['hilbert']:.0f} MB a wave, "
                 f"rows one after the other {mb['linear']:.0f}")
    group, hilbert = counted.get("group8"), counted.get("hilbert")
    if group and hilbert:
        title += f"; L2 hits {max(r for _, r in group):.1f} and {max(r for _, r in hilbert):.1f}\u00a0%"
    return Drawn(panels, title,
                 f"{rows} x {columns} tiles of {section['tile_m']}x{section['tile_n']} at "
                 f"{section['shape']}, for {clusters} clusters at a time, computed from "
                 "kernels/tiled/tile_scheduler.h. A compact orange block shares rows of A and columns "
                 "of B, so that its SMs find them in L2; below, what a stamped kernel really did.", stats)


def runs(mask):
    """Boxes of the true cells of a grid, joined along rows."""
    boxes = []
    for y, line in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], line.astype(int), [0]))))
        boxes += [(a, y, b - a, 1) for a, b in zip(edges[::2], edges[1::2])]
    return boxes


def levels(recorded):
    end = max(cell["end_us"] for cell in recorded["cells"])
    return {cell["position"]: 1 + int((RAMP - 2) * cell["start_us"] / end)
            for cell in recorded["cells"]}, end


def map_height(recorded):
    return round(320 * min(1, recorded["rows"] / recorded["columns"])) + 84


def draw_timeline(canvas, recorded):
    canvas.text(0, 2, f"{recorded['shape']}, order {recorded['order'] or 'of its label'}",
                size=LARGE, weight="bold")
    draw_map(canvas, recorded)
    draw_times(canvas, recorded, map_height(recorded))


def draw_map(canvas, recorded):
    c = canvas.colour
    rows, columns = recorded["rows"], recorded["columns"]
    level, _ = levels(recorded)
    canvas.text(0, 22, "where: tiles of D that the stamped SMs took", "muted")
    size = 320 * min(1, rows / columns)
    axes = canvas.axes(0, 44, 320, size, grid=None)
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    axes.axis("off")
    rectangles(axes, [(x, y, 0.92, 0.92) for y in range(rows) for x in range(columns)], c["band"])
    for cell in recorded["cells"]:
        rectangles(axes, [(cell["column"], cell["row"], 0.92, 0.92)],
                   ramp(c, level[cell["position"]]))
    ramp_key(canvas, 44 + size + 8, "early", "late")


def draw_times(canvas, recorded, top):
    c = canvas.colour
    level, end = levels(recorded)
    sms = sorted({sm for cell in recorded["cells"] for sm in cell["sms"]})
    canvas.text(0, top, f"when: time in us, of {len(sms)} SMs", "muted")
    axes = canvas.axes(50, top + 22, PANEL - 68, 320, grid=None)
    axes.set_xlim(0, end * 1.01)
    axes.set_ylim(len(sms) - 0.5, -0.5)
    for cell in recorded["cells"]:
        for sm in cell["sms"]:
            axes.barh(sms.index(sm), cell["end_us"] - cell["start_us"], left=cell["start_us"],
                      height=0.8, color=ramp(c, level[cell["position"]]), linewidth=0)
    axes.set_yticks(range(len(sms)), [f"SM {sm}" for sm in sms])
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
