#!/usr/bin/env python3
"""Draws a report from the data that `hgemm-tune report` writes (src/output/report.h describes it):
report.html, one self-contained page, figures/*.svg and *.png, and figures/figures.json, which
describes each figure. Opens no database and uses no network.

    report.py report.json DIR [NAME]

NAME is the final name of DIR, after it is moved to its place.
"""

import base64
import concurrent.futures
import ctypes
import hashlib
import html
import importlib.util
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
from report_style import (DARK, FONT, LIGHT, PANEL, Drawn, Panel, css_variables,  # noqa: E402
                          panel_svgs, svg_file, whole, write_png)

SCHEMA = 2

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


def missing_figure(section):
    text = f"{section['missing']}\nTo record it: {section['how']}"
    return Drawn([Panel(130,
        lambda canvas: speed.gap(canvas, canvas.axes(0, 0, PANEL, 130, grid=None),
                                                      text))],
                 f"Not recorded: {section['missing']}", f"To record it: {section['how']}",
                 {"missing": True})


def draw(job):
    """One figure in light and dark; runs in a process of its own."""
    name, data, folder = job
    _, label, key, function = next(one for one in FIGURES if one[0] == name)
    section = data[key]
    missing = "missing" in section
    drawn = missing_figure(section) if missing else function(data)
    source = section.get("source")
    where = source_text(source) if source else ""
    commands = source["commands"] if source else []
    more = f" and {len(commands) - 1} more" if len(commands) > 1 else ""
    command = textwrap.shorten(commands[0], 100, placeholder=" ...") + more if commands else ""
    below = [line for line in (where, command) if line]
    for palette, suffix in ((LIGHT, ""), (DARK, "-dark")):
        write_png(whole(drawn, palette, below), folder / f"{name}{suffix}.png")
    (folder / f"{name}.svg").write_text(svg_file(whole(drawn, LIGHT, below), name, drawn.title),
                                        encoding="utf-8")
    return {"name": name, "label": label, "missing": missing, "title": drawn.title,
        "see": drawn.see,
            "stats": drawn.stats, "svgs": panel_svgs(drawn, name), "where": where,
            "commands": commands, "kernels": source["kernels"] if source else []}


def commands_html(result):
    """The commands that made a figure; many are folded."""
    lines = [f"<code>{html.escape(command)}</code>" for command in result["commands"]]
    if len(lines) <= 2:
        return "".join(f'<p class="command">{line}</p>' for line in lines)
    return (f"<details><summary>Recorded by {len(lines)} commands</summary>"
            + "".join(f'<p class="command">{line}</p>' for line in lines) + "</details>")


def panels_html(result):
    return "".join(f'<div class="panel still">{svg}</div>' for svg in result["svgs"])


def caption_html(result):
    kernels = f", kernels {', '.join(result['kernels'])}" if result["kernels"] else ""
    caption = (f'<p class="source">{html.escape(result["where"] + kernels)}</p>'
               if result["where"] else "")
    return f"<figcaption>{caption}{commands_html(result)}</figcaption>"


def figure_html(result):
    missing = ' class="missing"' if result["missing"] else ""
    return f"""
<section id="{result['name']}"{missing}>
<p class="eyebrow">{html.escape(result['label'])}</p>
<h2>{html.escape(result['title'])}</h2>
<p class="see">{html.escape(result['see'])}</p>
<figure data-figure="{result['name']}"><div class="panels">{panels_html(result)}</div>
{caption_html(result)}</figure>
</section>"""


# Where D3 is: Debian's node-d3, else the copy that the Python package mpld3 has. It is put into the
# page as it is, with its notice; none of it is part of this project.
D3_OF_DEBIAN = pathlib.Path("/usr/share/nodejs/d3/dist/d3.min.js")
D3_NOTICE = re.compile(r"\s*(//|/\*)[ !]*https://d3js\.org v[567]\.")


def find_d3():
    """The text of D3, None if there is none."""
    places = [D3_OF_DEBIAN]
    if package := importlib.util.find_spec("mpld3"):
        places += sorted(pathlib.Path(package.origin).parent.glob("js/d3.v[567].min.js"))
    for place in places:
        try:
            text = place.read_text(encoding="utf-8")
        except OSError:
            continue
        if D3_NOTICE.match(text):
            return text
    return None


def shown(data):
    """What the page's scripts read, as JSON that no text in it can end."""
    best, configs = data["best"], data["configs"]
    content = {"rows": best.get("all", []), "ceilings": best.get("ceilings", []),
               "read_tbps": best.get("read_tbps"), "device": data["device"],
               "configs": {} if "missing" in configs else configs, "comparison": data["comparison"]}
    # "</script" would end the element that it stands in, "<!--" would change what ends it.
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")


def scripts_html(d3):
    """The scripts, and the policy by which the browser runs nothing else: whatever a text of a
    database may be taken for, it is no script of this page."""
    names = ["report.js", "report_race.js"] + (["report_charts.js"] if d3 else [])
    texts = ([d3.replace("</script", "<\\/script")] if d3 else [])
    texts += [(HERE / name).read_text(encoding="utf-8") for name in names] + ["start();"]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    policy = ("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src "
              + " ".join(f"'sha256-{one}'" for one in hashes))
    return "\n".join(f"<script>{text}</script>" for text in texts), policy


def page(data, results, d3):
    environments = sorted({e for key in {one[2] for one in FIGURES} if "source" in data[key]
                           for e in data[key]["source"]["environments"]})
    facts = [("Environment", "; ".join(environments) or "nothing was recorded")]
    facts.append(("Databases", ", ".join(data["databases"])))
    if data["comparison"]:
        facts.append(("Compared with", data["comparison"]["names"][0]))
    if data["other_gpus"]:
        facts.append(("Not in this report",
            ", ".join(data["other_gpus"]) + ": a report is of one GPU"))
    facts.append(("Written", f"{data['created_utc'].replace('T', ' ').rstrip('Z')} UTC by "
                             f"{data['revision'][:12]}: {data['command']}"))
    rows = data["best"].get("all", [])
    by_name = {r["name"]: r for r in results}
    # The charts that follow what is chosen stand for these two.
    drawn_by_scripts = ("speedups", "roofline") if rows else ()
    compared = (HERE / "report_compared.html").read_text(encoding="utf-8") if data["comparison"] else ""
    explorer = string.Template((HERE / "report_explorer.html").read_text(encoding="utf-8")).substitute(
        {name: "" if d3 else panels_html(by_name[name]) for name in ("speedups", "roofline")},
        compared=compared, speedups_title=html.escape(by_name["speedups"]["title"]),
        speedups_see=html.escape(by_name["speedups"]["see"]),
        roofline_title=html.escape(by_name["roofline"]["title"]))
    for name in drawn_by_scripts:
        explorer = explorer.replace(f'<figcaption id="{name}-source"></figcaption>',
                                    caption_html(by_name[name]))
    entries = [("gain", "What do I gain?", False)] if rows else []
    if compared:
        entries.append(("compared", "Before and after", False))
    if rows:
        entries.append(("rows", "Table", False))
    entries += [(r["name"], r["label"], r["missing"]) for r in results]
    entries.append(("about", "About", False))
    scripts, policy = scripts_html(d3)
    template = string.Template((HERE / "report.html").read_text(encoding="utf-8"))
    return template.substitute(
        policy=policy, title=html.escape(f"hgemm-tune on {data['gpu'] or 'no GPU'}"),
        light=css_variables(LIGHT), dark=css_variables(DARK), font=FONT,
        style=(HERE / "report.css").read_text(encoding="utf-8"),
        gpu=html.escape(data["gpu"] or "nothing recorded"),
        facts="".join(f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd></div>"
                      for k, v in facts),
        contents="".join(f'<li{" class=absent" if absent else ""}><a href="#{name}">'
                         f"{html.escape(label)}</a></li>" for name, label, absent in entries),
        explorer=explorer if rows else compared,
        figures="".join(figure_html(r) for r in results if r["name"] not in drawn_by_scripts),
        data=shown(data), scripts=scripts)


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
    if "rows" in data["best"]:
        # Figures show what is best of all; the page's own table and charts have the other kinds.
        data["best"]["all"] = data["best"]["rows"]
        data["best"]["rows"] = [row for row in data["best"]["all"] if "weights" in row["levels"]]
    d3 = find_d3()
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    jobs = [(one, data, figures) for one, *_ in FIGURES]
    # What was imported is not imported again by those who are forked.
    workers = max(1, min(len(jobs), len(os.sched_getaffinity(0))))
    with concurrent.futures.ProcessPoolExecutor(
            workers, mp_context=multiprocessing.get_context("fork"), initializer=end_with,
            initargs=(os.getpid(),)) as pool:
        results = list(pool.map(draw, jobs))
    text = page(data, results, d3)
    (folder / "report.html").write_text(text, encoding="utf-8")
    (figures / "figures.json").write_text(json.dumps(
        {r["name"]: {k: r[k] for k in ("title", "see", "where", "commands", "missing", "stats")}
         for r in results}, indent=1) + "\n", encoding="utf-8")
    absent = [r["label"] for r in results if r["missing"]]
    size = (folder / "report.html").stat().st_size
    print(f"{name / 'report.html'} ({size / 1e6:.1f} MB): {len(results) - len(absent)} of "
          f"{len(results)} figures" + (f"; not recorded: {', '.join(absent)}" if absent else "")
          + f"; as SVG and PNG in {name / 'figures'}", flush=True)
    if not d3:
        print("The page has its table, and no charts that answer to the pointer: there is no D3 here; "
              "install it (Debian: apt-get install node-d3; else pip install mpld3 into the Python that "
              "draws)", flush=True)


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
