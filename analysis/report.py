#!/usr/bin/env python3
"""Draws a report from the data that `hgemm-tune report` writes (src/output/report.h says what is in
it): report.html, one page that needs nothing else, figures/*.svg and *.png, and
figures/figures.json, which says what each of them shows. Opens no database and no network.

    report.py report.json DIR [NAME]

NAME is what DIR will be called when it is put in its place.
"""

import concurrent.futures
import ctypes
import html
import json
import multiprocessing
import os
import pathlib
import re
import signal
import string
import sys
import textwrap
import traceback

HERE = pathlib.Path(__file__).resolve().parent
# Run isolated (python -I) it does not find what lies beside it.
sys.path.insert(0, str(HERE))

import report_inside as inside  # noqa: E402
import report_search as spaces  # noqa: E402
import report_speed as speed  # noqa: E402
from report_style import DARK, FONT, LIGHT, Canvas, css_variables  # noqa: E402

SCHEMA = 1

# name, what it is called in the table of contents, the section of the data, what draws it. The
# longest to draw first would be faster by little; this is the order of the page.
FIGURES = [
    ("speedups", "Speed-ups", "best", speed.speedups),
    ("roofline", "Roofline", "best", speed.roofline),
    ("sustained", "Power and clock", "sustained", speed.sustained),
    ("ladder", "The ladder", "ladder", speed.ladder),
    ("cycles", "Cycles", "cycles", inside.cycles),
    ("wgmma", "wgmma", "wgmma", inside.wgmma),
    ("tile-order", "Order of tiles", "tile_order", inside.tile_order),
    ("tiles", "Tile sizes", "tiles", spaces.tiles),
    ("search", "Search", "search", spaces.search),
]


def source_text(source):
    """Where a figure's data are from, in a line."""
    if not source["environments"]:
        return "computed, not measured"
    parts = ["; ".join(source["environments"])]
    # Cycles and counts have no regime: a clock does not change them.
    parts.append(" and ".join(reversed(source["regimes"])) or "in cycles, whatever the clock")
    parts.append(source["dates"] or "no date")
    return ", ".join(part for part in parts if part)


def missing_figure(section, palette):
    canvas = Canvas(palette, 150)
    axes = canvas.axes(14, 10, 692, 130, grid=None)
    speed.gap(canvas, axes, f"{section['missing']}\nTo record it: {section['how']}")
    return speed.Drawn(canvas, f"Not recorded: {section['missing']}",
                       f"To record it: {section['how']}", {"missing": True})


def draw(job):
    """One figure in light and dark; runs in a process of its own."""
    name, data, folder = job
    _, label, key, function = next(one for one in FIGURES if one[0] == name)
    section = data[key]
    result = {"name": name, "label": label, "missing": "missing" in section}
    for palette, suffix in ((LIGHT, ""), (DARK, "-dark")):
        drawn = (missing_figure(section, palette) if result["missing"]
                 else function(data, palette))
        source = section.get("source")
        where = source_text(source) if source else ""
        commands = source["commands"] if source else []
        more = f" and {len(commands) - 1} more" if len(commands) > 1 else ""
        command = textwrap.shorten(commands[0], 126 - len(more), placeholder=" ...") + more \
            if commands else ""
        drawn.canvas.title(drawn.title, [where, command])
        drawn.canvas.png(folder / f"{name}{suffix}.png")
        if palette is LIGHT:
            page, alone = drawn.canvas.svg(name, drawn.title)
            (folder / f"{name}.svg").write_text(alone, encoding="utf-8")
            result.update(title=drawn.title, see=drawn.see, stats=drawn.stats, svg=page, where=where,
                          commands=source["commands"] if source else [],
                          kernels=source["kernels"] if source else [])
    return result


def commands_html(result):
    """The commands that made a figure; many are folded."""
    lines = [f"<code>{html.escape(command)}</code>" for command in result["commands"]]
    if len(lines) <= 2:
        return "".join(f'<p class="command">{line}</p>' for line in lines)
    return (f"<details><summary>Recorded by {len(lines)} commands</summary>"
            + "".join(f'<p class="command">{line}</p>' for line in lines) + "</details>")


def figure_html(result):
    kernels = f", kernels {', '.join(result['kernels'])}" if result["kernels"] else ""
    caption = (f'<p class="source">{html.escape(result["where"] + kernels)}</p>'
               if result["where"] else "")
    missing = ' class="missing"' if result["missing"] else ""
    return f"""
<section id="{result['name']}"{missing}>
<p class="eyebrow">{html.escape(result['label'])}</p>
<h2>{html.escape(result['title'])}</h2>
<p class="see">{html.escape(result['see'])}</p>
<figure data-figure="{result['name']}">
<div class="plot" tabindex="0">{result['svg']}</div>
<figcaption>{caption}{commands_html(result)}</figcaption>
</figure>
</section>"""


def summary_html(data):
    """A line per class: what its kernels gain."""
    if "rows" not in data["best"]:
        return ""
    cells = {}
    for one in speed.means(data["best"]["rows"]):
        cells.setdefault(one["group"], {})[one["regime"]] = one
    lines = []
    for group, by_regime in cells.items():
        tds = ""
        for regime in speed.REGIMES:
            one = by_regime.get(regime)
            if one is None:
                tds += '<td class="none">-</td><td class="none">-</td>'
                continue
            lt = f"{one['cublaslt']:.3f}" if one["cublaslt"] else "-"
            tds += f"<td class=\"ours\">{one['cublas']:.3f}</td><td>{lt}</td>"
        shapes = max(one["shapes"] for one in by_regime.values())
        lines.append(f"<tr><th scope=\"row\">{html.escape(group)}</th><td class=\"count\">{shapes}</td>{tds}</tr>")
    newest = max(row["started_utc"][:10] for row in data["best"]["rows"])
    older = {}
    for row in data["best"]["rows"]:
        older.setdefault((row["group"], row["regime"]), set()).add(row["started_utc"][:10])
    older = [f"{group} in {regime} ({max(dates)})" for (group, regime), dates in older.items()
             if max(dates) < newest]
    note = (f'<p class="note">Recorded before the others, by kernels of then: {html.escape(", ".join(older))}.</p>'
            if older else "")
    return f"""
<div class="scroll"><table class="summary">
<caption>How many times faster than cuBLAS, and than the best algorithm of cuBLASLt: geomeans</caption>
<thead><tr><th rowspan="2">class</th><th rowspan="2" class="count">shapes</th><th colspan="2">sustained</th>
<th colspan="2">burst</th></tr>
<tr><th>x cuBLAS</th><th>x cuBLASLt</th><th>x cuBLAS</th><th>x cuBLASLt</th></tr></thead>
<tbody>{''.join(lines)}</tbody></table></div>{note}"""


def number(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def rows_html(data):
    """Every row behind the first two figures."""
    if "rows" not in data["best"]:
        return ""
    lines = []
    for row in data["best"]["rows"]:
        interval = ("" if row["ratio_cublas_low"] is None else
                    f" [{row['ratio_cublas_low']:.3f}, {row['ratio_cublas_high']:.3f}]")
        lines.append(
            f"<tr><td>{html.escape(row['shape'])}</td><td>{row['regime']}</td>"
            f"<td>{number(row['time_us'], 2)}</td><td>{number(row['tflops'], 1)}</td>"
            f"<td>{number(row['ratio_cublas'], 3)}{interval}</td>"
            f"<td>{number(row['ratio_cublaslt'], 3)}</td><td>{number(row['sm_mhz'], 0)}</td>"
            f"<td class=\"label\"><code>{html.escape(row['label'])}</code></td></tr>")
    return f"""
<section id="rows"><p class="eyebrow">Table</p><h2>Every shape</h2>
<details><summary>{len(lines)} rows</summary><div class="scroll"><table>
<thead><tr><th>shape</th><th>regime</th><th>us</th><th>TFLOP/s</th><th>x cuBLAS</th><th>x cuBLASLt</th>
<th>SM MHz</th><th>config</th></tr></thead><tbody>{''.join(lines)}</tbody></table></div></details>
</section>"""


def page(data, results):
    environments = sorted({e for key in {one[2] for one in FIGURES} if "source" in data[key]
                           for e in data[key]["source"]["environments"]})
    facts = [("Environment", "; ".join(environments) or "nothing was recorded")]
    facts.append(("Databases", ", ".join(data["databases"])))
    if data["other_gpus"]:
        facts.append(("Not in this report", ", ".join(data["other_gpus"]) + ": a report is of one GPU"))
    facts.append(("Written", f"{data['created_utc'].replace('T', ' ').rstrip('Z')} UTC by "
                             f"{data['revision'][:12]}: {data['command']}"))
    # "</script" would end the element that it stands in, "<!--" would change what ends it.
    shown = json.dumps({r["name"]: {k: r[k] for k in ("title", "missing", "stats")} for r in results})
    template = string.Template((HERE / "report.html").read_text(encoding="utf-8"))
    table = rows_html(data)
    entries = [(r["name"], r["label"], r["missing"]) for r in results]
    if table:
        entries.append(("rows", "Every shape", False))
    return template.substitute(
        title=html.escape(f"hgemm-tune on {data['gpu'] or 'no GPU'}"),
        light=css_variables(LIGHT), dark=css_variables(DARK), font=FONT,
        style=(HERE / "report.css").read_text(encoding="utf-8"),
        gpu=html.escape(data["gpu"] or "nothing recorded"),
        facts="".join(f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd></div>"
                      for k, v in facts),
        contents="".join(f'<li{" class=absent" if absent else ""}><a href="#{name}">'
                         f"{html.escape(label)}</a></li>" for name, label, absent in entries),
        summary=summary_html(data),
        figures="".join(figure_html(r) for r in results), rows=table,
        shown=shown.replace("<", "\\u003c"))


# Control characters, marks that turn the order of a line, and what XML cannot hold.
UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff"
                   "\ud800-\udfff]")
LONGEST_GROUP = 60  # characters, of a heading


def fit(value, key=None):
    """The data with texts of others made fit for a figure: on one line."""
    if isinstance(value, str):
        text = UNFIT.sub("?", value)
        if key == "group" and len(text) > LONGEST_GROUP:
            text = text[:LONGEST_GROUP - 1] + "\u2026"
        return text
    if isinstance(value, list):
        return [fit(one) for one in value]
    if isinstance(value, dict):
        return {name: fit(one, name) for name, one in value.items()}
    return value


def end_with(parent):
    """For a process that draws: nobody else would end it if its parent is killed."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def write_report(source, folder, name):
    data = fit(json.loads(source.read_text(encoding="utf-8")))
    if data.get("schema") != SCHEMA:
        sys.exit(f"report.py: {source} has schema {data.get('schema')}, this program draws {SCHEMA}; "
                 "write it with the hgemm-tune that this file came with")
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    jobs = [(one, data, figures) for one, *_ in FIGURES]
    # What was imported is not imported again by those who are forked.
    workers = max(1, min(len(jobs), len(os.sched_getaffinity(0))))
    with concurrent.futures.ProcessPoolExecutor(
            workers, mp_context=multiprocessing.get_context("fork"), initializer=end_with,
            initargs=(os.getpid(),)) as pool:
        results = list(pool.map(draw, jobs))
    text = page(data, results)
    (folder / "report.html").write_text(text, encoding="utf-8")
    (figures / "figures.json").write_text(json.dumps(
        {r["name"]: {k: r[k] for k in ("title", "see", "where", "commands", "missing", "stats")}
         for r in results}, indent=1) + "\n", encoding="utf-8")
    absent = [r["label"] for r in results if r["missing"]]
    size = (folder / "report.html").stat().st_size
    print(f"{name / 'report.html'} ({size / 1e6:.1f} MB): {len(results) - len(absent)} of "
          f"{len(results)} figures" + (f"; not recorded: {', '.join(absent)}" if absent else "")
          + f"; as SVG and PNG in {name / 'figures'}", flush=True)


def main(arguments):
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends here as it ends whoever started this
    source, folder = map(pathlib.Path, arguments[:2])
    try:
        write_report(source, folder, pathlib.Path(arguments[-1]))
    except OSError as error:
        sys.exit(f"report.py: cannot write the report: {error.strerror or error}")
    except Exception as error:  # of a figure, whose own process had it
        where = traceback.extract_tb((error.__cause__ or error).__traceback__)
        at = f" at {pathlib.Path(where[-1].filename).name}:{where[-1].lineno}" if where else ""
        sys.exit(f"report.py: cannot draw these data ({type(error).__name__}{at}): "
                 + UNFIT.sub(" ", str(error)))


if __name__ == "__main__":
    main(sys.argv[1:])
