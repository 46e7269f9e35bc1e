"""Figures of what happens inside: cycles of a kernel, of an instruction, and the order of tiles."""

import numpy as np

from report_speed import Drawn, gap
from report_style import RAMP, Canvas, percent, ramp, rectangles


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
    "epilogue": ("base", "paper", "epilogue"), "store": ("base", "paper", "store"),
    "order": ("base-soft", "ink", "order"), "wait_empty": ("late-soft", "ink", "wait for a free stage"),
    "issue": ("ours-soft", "ink", "issue copies"),
    "load": ("late-soft", "ink", "load"), "mma": ("ours", "paper", "MMA"),
}


def stacked(canvas, axes, y, parts, whole, height=0.62, names=True):
    left = 0
    width_px = axes.get_position().width * 720
    for phase, cycles in parts:
        colour, on, name = PHASES[phase]
        axes.barh(y, cycles / whole, left=left / whole, height=height, linewidth=0.6,
                  color=canvas.colour[colour], edgecolor=canvas.colour["paper"], zorder=3)
        room = cycles / whole / (axes.get_xlim()[1] - axes.get_xlim()[0]) * width_px
        text = f"{name} {cycles:.0f}" if names else f"{cycles:.0f}"
        if room < len(text) * 4.9:
            text = f"{cycles:.0f}" if room > 20 else ""
        if text:
            axes.text((left + cycles / 2) / whole, y, text, ha="center", va="center", fontsize=7.8,
                      color=canvas.colour[on], zorder=4)
        left += cycles


def cycles(data, palette):
    probes = sorted(data["cycles"]["probes"], key=lambda p: -p["m"] * p["n"] * p["k"])
    steps = []
    if "ladders" in data["ladder"]:
        main = max(data["ladder"]["ladders"], key=lambda o: (o["family"] == "hopper", len(o["steps"])))
        for s in main["steps"]:
            load = s["load_cycles"] or s["wait_full_cycles"]
            if load and s["mma_cycles"]:
                steps.append((s, load, s["mma_cycles"], (s["store_cycles"] or 0) / (main["k"] / 64)))
    height = 30 + 62 * len(probes) + 30 + (46 + 21 * len(steps) if steps else 0)
    canvas = Canvas(palette, height)
    c = canvas.colour
    canvas.text(14, 6, "Shares of a role's time; numbers are cycles per k block. Grey: release, epilogue, "
                "store, order", "muted", 8.8)
    stats = {"probes": [], "ladder_steps": len(steps)}
    busiest = []
    for i, probe in enumerate(probes):
        top = 30 + 62 * i
        parts, total = per_k_block(probe, "consumer")
        label = probe["label"].removesuffix(".probe1")
        canvas.text(14, top, probe["shape"], size=9.5, weight="bold")
        canvas.text(160, top + 1, label, "muted", 8)
        axes = canvas.axes(84, top + 15, 622, 40, grid=None)
        axes.set_xlim(0, 1)
        axes.set_ylim(1.5, -0.5)
        axes.axis("off")
        order = ["wait_full", "mma_issue", "mma_wait", "release", "epilogue", "store"]
        if total:
            stacked(canvas, axes, 0, [(p, parts[p]) for p in order if parts.get(p)], total, 0.8)
        loop = sum(parts.get(p, 0) for p in order[:4])
        share = probe["mma_cycles_needed"] / loop if probe["mma_cycles_needed"] and loop else None
        producer, whole = per_k_block(probe, "producer")
        if whole:
            stacked(canvas, axes, 1, [(p, producer[p]) for p in ("order", "wait_empty", "issue")
                                      if producer.get(p)], whole, 0.8)
        canvas.text(78, top + 25, "consumer", "muted", 8, ha="right", va="center")
        canvas.text(78, top + 45, "producer", "muted", 8, ha="right", va="center")
        if share:
            canvas.text(706, top + 1, f"tensor cores busy for {percent(share, 1)} of the main loop",
                        "ours", 8.5, ha="right", weight="bold")
            busiest.append((share, probe["shape"]))
        stats["probes"].append({"shape": probe["shape"], "label": probe["label"],
                                "main_loop_cycles": round(loop, 1),
                                "tensor_share": share and round(share, 4)})
    if steps:
        top = 30 + 62 * len(probes) + 14
        canvas.text(14, top, f"The ladder's steps at {main['shape']}", size=10, weight="bold")
        canvas.text(260, top + 1, "cycles per k block of 64 as one thread sees them; store: a tile's, "
                    "spread over its k blocks", "muted", 8)
        axes = canvas.axes(234, top + 24, 472, 21 * len(steps), grid=None)
        axes.axis("off")
        whole = max(a + b + s for _, a, b, s in steps)
        axes.set_xlim(0, 1)
        axes.set_ylim(len(steps) - 0.5, -0.5)
        for j, (step, load, mma, store) in enumerate(steps):
            canvas.text(14, top + 24 + 21 * (j + 0.5), step["step"], "ours", 9, weight="bold",
                        va="center")
            canvas.text(42, top + 24 + 21 * (j + 0.5), step["name"].replace("_", " "), "ink", 8.5,
                        va="center")
            stacked(canvas, axes, j, [(p, v) for p, v in (("load", load), ("mma", mma),
                                                          ("store", store)) if v], whole, 0.66)
    title = "Where the cycles go"
    see = ("In each pair the consumer's time is above, the producer's below: blue multiplies, orange "
           "waits; a producer that waits is ahead, a consumer that waits is starved. \"Busy\" is what the "
           "wgmmas of a k block take by the model, over the phases of the main loop.")
    if busiest:
        most, least = max(busiest), min(busiest)
        title = (f"The main loop keeps the tensor cores busy for {percent(most[0], 1)} of its time at "
                 f"{most[1]}")
        if len(busiest) > 1:
            title += f", for {percent(least[0])} at {least[1]}"
    return Drawn(canvas, title, see, stats)


# ---- wgmma ----

def wgmma(data, palette):
    section = data["wgmma"]
    devices = sorted(section["devices"], key=lambda d: (not d["this_gpu"], -(d["threshold"] or 256)))[:3]
    if not any(device["this_gpu"] for device in devices):  # one that the model does not know
        devices = [{"name": data["gpu"], "this_gpu": True, "threshold": None, "n": [], "read": [],
                    "compute": []}] + devices[:2]
    canvas = Canvas(palette, 318)
    c = canvas.colour
    width = (720 - 52 - 24 - 28 * (len(devices) - 1)) / len(devices)
    points = [p for p in section["measured"] if not p["a_in_registers"]]
    registers = [p for p in section["measured"] if p["a_in_registers"]]
    errors = []
    for i, device in enumerate(devices):
        left = 48 + (width + 28) * i
        axes = canvas.axes(left, 48, width, 222)
        n, read, compute = device["n"], device["read"], device["compute"]
        axes.plot(n, read, color=c["late"], linewidth=1.3, zorder=3)
        axes.plot(n, compute, color=c["ink"], linewidth=1.3, zorder=3)
        top = max([*read, *compute] or [p["cycles"] for p in section["measured"]]) * 1.06
        axes.set_ylim(0, top)
        axes.set_xlim(0, 262)
        axes.set_xticks([8, 64, 128, 192, 256])
        axes.tick_params(labelsize=8)
        threshold = device["threshold"]
        if threshold:
            axes.axvspan(0, threshold, color=c["band"], zorder=0)
            axes.axvline(threshold, color=c["muted"], linewidth=0.9, linestyle=(0, (3, 3)))
            axes.text(threshold + 5, top * 0.975, f"N = {threshold}", fontsize=8.5, va="top",
                      color=c["ink"])
        if device["this_gpu"]:
            axes.scatter([p["n"] for p in points], [p["cycles"] for p in points], s=13,
                         color=c["ours"], zorder=5, linewidth=0)
            axes.scatter([p["n"] for p in registers], [p["cycles"] for p in registers], s=13,
                         facecolor=c["paper"], edgecolor=c["ours"], zorder=4, linewidth=0.9)
            model = dict(zip(n, np.maximum(read, compute)))
            errors = [abs(p["cycles"] / model[p["n"]] - 1) for p in points if p["n"] in model]
        canvas.text(left, 8, device["name"], "ours" if device["this_gpu"] else "ink", 10.5,
                    weight="bold")
        canvas.text(left, 25, "measured here" if device["this_gpu"] else "model only", "muted", 8.5)
        at = 232
        if at in n:
            k = n.index(at)
            axes.text(at, read[k] - top * 0.028, "read", fontsize=8.5, color=c["late"], ha="center",
                      va="top")
            axes.text(at - 30, compute[k - 3] + top * 0.02, "compute", fontsize=8.5, color=c["ink"], ha="right",
                  va="bottom")
        axes.set_xlabel("N of m64nNk16", labelpad=2)
    canvas.text(14, 34, "cycles", "muted", 8.5)
    canvas.text(52, 301, "●", "ours", 9)
    canvas.text(64, 302, "A in shared memory", "muted", 8.5)
    canvas.text(176, 301, "○", "ours", 9)
    canvas.text(188, 302, "A in registers (reads B alone, not drawn as a line)", "muted", 8.5)
    here = next((d for d in devices if d["this_gpu"]), None)
    title = f"wgmma's cycles at {len(points)} N"
    if errors:
        how = ("within " + percent(max(errors), 1) if max(errors) >= 5e-4 else
               "to less than " + percent(5e-4, 2))
        title = f"The larger of reading and computing gives wgmma's cycles at all {len(points)} N {how}"
    if here and here["threshold"]:
        title += f"; from N\u00a0=\u00a0{here['threshold']} on the tensor cores are the limit"
    return Drawn(canvas, title,
                 "Left of the dashed line an instruction waits for its operands from shared memory, "
                 "right of it for the tensor cores; an H20 has the same memory and a quarter of the "
                 "rate.", {"measured": len(points), "in_registers": len(registers),
                           "largest_error": round(max(errors), 4) if errors else None,
                           "thresholds": {d["name"]: d["threshold"] for d in devices}})


# ---- Order of tiles ----

def tile_order(data, palette):
    section = data["tile_order"]
    recorded = section["recorded"]
    rows, columns, clusters = section["rows"], section["columns"], section["clusters"]
    canvas = Canvas(palette, 318 + 330 * max(1, len(recorded)))
    c = canvas.colour
    waves = -(-rows * columns // clusters)
    counted = {}
    for one in section["l2"]:
        counted.setdefault(one["order"], []).append((one["label"], one["hit_rate"]))

    def name_of(label):
        return "step " + label.split(".")[2].split("_")[0] if label.startswith("ladder.") else "tuned"
    for i, order in enumerate(section["orders"]):
        left = 14 + 238 * i
        canvas.text(left, 8, order["name"], size=10.5, weight="bold")
        axes = canvas.axes(left, 30, 214, 214 * min(1.2, max(0.2, rows / columns)), grid=None)
        axes.set_xlim(0, columns)
        axes.set_ylim(rows, 0)
        axes.set_xticks([])
        axes.set_yticks([])
        for side in axes.spines.values():
            side.set_visible(False)
        position = np.array(order["positions"]).reshape(rows, columns)
        wave = position // clusters
        steps = np.minimum(RAMP - 1, 1 + wave * (RAMP - 1) // max(1, waves))
        for level in range(RAMP):
            rectangles(axes, runs(steps == level), ramp(c, level))
        middle = waves // 3
        rectangles(axes, runs(wave == middle), c["late"])
        canvas.text(left, 252, f"a wave reads {order['wave_bytes'] / 1e6:.0f} MB of A and B", "ink", 8.8)
        hits = counted.get(order["name"], [])
        if hits:
            canvas.text(left, 267, "L2 hits, counted: " +
                        ", ".join(f"{rate:.1f} %" for _, rate in hits[:4]), "ours", 8.8, weight="bold")
            canvas.text(left, 281, "(" + ", ".join(name_of(label) for label, _ in hits[:4]) + ")",
                        "muted", 8)
        else:
            canvas.text(left, 267, "L2 hits: not counted", "muted", 8.8)
    canvas.text(14, 300, f"{rows} x {columns} tiles of {section['tile_m']}x{section['tile_n']} at "
                f"{section['shape']}, computed from kernels/tiled/tile_scheduler.h for {clusters} clusters at a time; "
                "from pale to strong: early to late; orange: one wave", "muted", 8.3)
    stats = {"tiles": rows * columns, "waves": waves,
             "wave_mb": {o["name"]: round(o["wave_bytes"] / 1e6, 1) for o in section["orders"]},
             "l2_hit_rate": {k: [round(rate, 2) for _, rate in v] for k, v in counted.items()},
             "recorded_tiles": {one["order"] or one["label"]: len(one["cells"]) for one in recorded}}
    top = 330
    for i, one in enumerate(recorded):
        timeline(canvas, one, top + 330 * i)
    if not recorded:
        axes = canvas.axes(14, top + 20, 692, 250, grid=None)
        gap(canvas, axes, "no timeline of a kernel was recorded: hgemm-tune probe --shapes "
            "4096x4096x4096 --trace trace.json")
    mb = {o["name"]: o["wave_bytes"] / 1e6 for o in section["orders"]}
    title = "The order of tiles decides what a wave reads"
    if {"linear", "group8", "hilbert"} <= mb.keys():
        title = (f"Bands and Hilbert's curve read {mb['group8']:.0f} and {mb['hilbert']:.0f} MB a wave, "
                 f"rows one after the other {mb['linear']:.0f}")
    group, hilbert = counted.get("group8"), counted.get("hilbert")
    if group and hilbert:
        title += f"; L2 hits {max(r for _, r in group):.1f} and {max(r for _, r in hilbert):.1f}\u00a0%"
    return Drawn(canvas, title,
                 "A compact orange block shares rows of A and columns of B, so that its SMs find them in "
                 "L2; below, what a stamped kernel really did.", stats)


def runs(mask):
    """Boxes of the true cells of a grid, joined along rows."""
    boxes = []
    for y, line in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], line.astype(int), [0]))))
        boxes += [(a, y, b - a, 1) for a, b in zip(edges[::2], edges[1::2])]
    return boxes


def timeline(canvas, recorded, top):
    c = canvas.colour
    cells = recorded["cells"]
    rows, columns = recorded["rows"], recorded["columns"]
    sms = sorted({sm for cell in cells for sm in cell["sms"]})
    end = max(cell["end_us"] for cell in cells)
    canvas.text(14, top, f"Recorded at {recorded['shape']}, order {recorded['order'] or 'of its label'}",
                size=10.5, weight="bold")
    canvas.text(14, top + 17, f"by the stamps of {recorded['label']}, of {len(sms)} SMs", "muted", 8.3)
    axes = canvas.axes(14, top + 40, 254, 254 * min(1, rows / columns), grid=None)
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)
    rectangles(axes, [(x, y, 0.92, 0.92) for y in range(rows) for x in range(columns)], c["band"])
    level = {}
    for cell in cells:
        level[cell["position"]] = 1 + int((RAMP - 2) * cell["start_us"] / end)
        rectangles(axes, [(cell["column"], cell["row"], 0.92, 0.92)],
                   ramp(c, level[cell["position"]]))
        if columns <= 20:
            axes.text(cell["column"] + 0.46, cell["row"] + 0.48, str(min(cell["sms"])), ha="center",
                      va="center", fontsize=7,
                      color=c[f"on{level[cell['position']]}"])
    canvas.text(14, top + 40 + 254 * min(1, rows / columns) + 5,
                "tile of D: the SM that took it, of a cluster's two the lower", "muted", 8)
    axes = canvas.axes(330, top + 40, 376, 254, grid=None)
    axes.set_xlim(0, end * 1.01)
    axes.set_ylim(len(sms) - 0.5, -0.5)
    for cell in cells:
        for sm in cell["sms"]:
            axes.barh(sms.index(sm), cell["end_us"] - cell["start_us"], left=cell["start_us"],
                      height=0.8, color=ramp(c, level[cell["position"]]), linewidth=0)
            axes.text((cell["start_us"] + cell["end_us"]) / 2, sms.index(sm),
                      f"{cell['row']},{cell['column']}", ha="center", va="center", fontsize=7,
                      color=c[f"on{level[cell['position']]}"])
    axes.set_yticks(range(len(sms)), [f"SM {sm}" for sm in sms])
    axes.tick_params(labelsize=7.5, length=0)
    axes.spines["left"].set_visible(False)
    canvas.text(706, top + 18, "when, in us; row and column of the tile", "muted", 8.3, ha="right")
