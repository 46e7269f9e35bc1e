"""How the figures of a report look: one palette in light and dark, and SVG that follows the page.

A figure is drawn with the light palette. In its SVG every colour of the palette becomes a CSS
variable of the same name, so that one drawing serves both: inside the page, whose style sheet has
the variables, and as a file of its own, which brings them along.
"""

import io
import re
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import matplotlib

matplotlib.use("Agg")
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.path import Path  # noqa: E402
from matplotlib.patches import PathPatch, Rectangle  # noqa: E402
from PIL import Image  # noqa: E402

# ours: the accent. base: cuBLAS. late: time that is lost. line: of several. ramp: little to much.
LIGHT = {
    "paper": "#fefefd", "ink": "#1c2128", "muted": "#5f6875", "grid": "#e4e6e9", "band": "#f3f4f2",
    "ours": "#1559c7", "ours-mid": "#6f9be6", "ours-soft": "#c3d6f6",
    "base": "#868e99", "base-soft": "#c4c9d0", "late": "#c4561b", "late-soft": "#eeb995",
    "line0": "#c4561c", "line1": "#0f857a", "line2": "#8748b8", "line3": "#a8790c",
    "ramp0": "#eef1f4", "ramp1": "#dde6f1", "ramp2": "#c6d7ee", "ramp3": "#a8c3e9",
    "ramp4": "#86abe2", "ramp5": "#6290d8", "ramp6": "#3f73cb", "ramp7": "#2157b5",
    "ramp8": "#123e8c", "ramp9": "#0a2860",
}
DARK = {
    "paper": "#14171b", "ink": "#e8eaed", "muted": "#a1a9b4", "grid": "#2b3038", "band": "#1c2026",
    "ours": "#78a9ff", "ours-mid": "#4675c4", "ours-soft": "#2a4573",
    "base": "#8f98a5", "base-soft": "#4b535f", "late": "#f08a4b", "late-soft": "#7d492b",
    "line0": "#f08a4c", "line1": "#45c4b5", "line2": "#c792f2", "line3": "#dcb54a",
    "ramp0": "#1f242b", "ramp1": "#222d3d", "ramp2": "#263951", "ramp3": "#2a4768",
    "ramp4": "#2f5885", "ramp5": "#376ca6", "ramp6": "#4783c8", "ramp7": "#659fe6",
    "ramp8": "#93c0fa", "ramp9": "#cbe1ff",
}
RAMP = 10
# What is written on a colour. Each has a value of its own, by which its variable is found.
LIGHT["on-mid"], DARK["on-mid"] = "#fefefa", "#f4f6f9"
for _level in range(RAMP):
    LIGHT[f"on{_level}"] = f"#1c21{0x30 + _level:x}" if _level < 5 else f"#fefe{0xf0 + _level:x}"
    DARK[f"on{_level}"] = DARK["ink"] if _level < 7 else DARK["paper"]
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

PANEL = 350  # px, the width of every panel: a phone's
MARGIN, GAP = 14, 34  # px, around and between the panels of a file
PNG_DPI = 120
SMALL, TEXT, LARGE = 12, 12.5, 14  # px of letters: none is smaller

matplotlib.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": SMALL,
    "svg.fonttype": "none", "axes.linewidth": 0.8, "axes.spines.top": False,
    "axes.spines.right": False, "xtick.major.size": 3, "ytick.major.size": 3,
    "xtick.minor.size": 0, "ytick.minor.size": 0, "xtick.major.pad": 3, "ytick.major.pad": 3,
    # Tags are foreign text: "$" and "^" are plain characters there.
    "text.parse_math": False,
    "axes.axisbelow": True, "xtick.labelsize": SMALL, "ytick.labelsize": SMALL, "axes.labelsize": SMALL,
})


# A character that the font lacks is drawn as a box.
warnings.filterwarnings("ignore", message="Glyph .* missing from")


def css_variables(palette):
    return "".join(f"--{name}:{colour};" for name, colour in palette.items())


@dataclass
class Panel:
    """A part of a figure, PANEL px wide, which the page puts beside or below the others."""
    height: int  # px
    draw: Callable  # of a Canvas


@dataclass
class Drawn:
    panels: list
    title: str  # the finding, in words and numbers of the data
    see: str  # one sentence: what to look at
    stats: dict = field(default_factory=dict)  # of the data that was drawn: what tests compare
    columns: int = 3  # of panels, in a file of its own


class Canvas:
    """Where a panel is drawn: places are px from its top left."""

    def __init__(self, fig, palette, left=0, top=0):
        self.fig, self.colour, self.left, self.top = fig, palette, left, top
        self.width, self.height = (size * 72 for size in fig.get_size_inches())

    def axes(self, left, top, width, height, grid="y"):
        axes = self.fig.add_axes([(self.left + left) / self.width,
                                  1 - (self.top + top + height) / self.height,
                                  width / self.width, height / self.height])
        c = self.colour
        axes.set_facecolor("none")
        for side in axes.spines.values():
            side.set_color(c["base-soft"])
        axes.tick_params(colors=c["muted"], labelcolor=c["muted"], which="both")
        axes.xaxis.label.set_color(c["muted"])
        axes.yaxis.label.set_color(c["muted"])
        if grid:
            axes.grid(True, axis=grid, color=c["grid"], linewidth=0.8)
        return axes

    def text(self, x, y, text, colour="ink", size=SMALL, **how):
        """y grows downwards. The top of a line is at y."""
        how.setdefault("va", "top")
        return self.fig.text((self.left + x) / self.width, 1 - (self.top + y) / self.height, text,
                             color=self.colour[colour], fontsize=size, **how)


def new_figure(palette, width, height):
    return Figure(figsize=(width / 72, height / 72), dpi=72, facecolor=palette["paper"])


def svg_of(fig, name):
    matplotlib.rcParams["svg.hashsalt"] = name  # ids differ from figure to figure
    out = io.StringIO()
    fig.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return themed(out.getvalue(), name)


def panel_svgs(drawn, name):
    """One SVG for each panel, for the page."""
    svgs = []
    for i, panel in enumerate(drawn.panels):
        fig = new_figure(LIGHT, PANEL, panel.height)
        panel.draw(Canvas(fig, LIGHT))
        svgs.append(head_of_svg(f"0 0 {PANEL} {panel.height}", f"{drawn.title}, part {i + 1}",
            False)
                    + svg_of(fig, f"{name}-{i}"))
    return svgs


def whole(drawn, palette, source):
    """All panels in one figure with its title and its source, for a file of its own."""
    columns = min(drawn.columns, len(drawn.panels))
    rows = [drawn.panels[i:i + columns] for i in range(0, len(drawn.panels), columns)]
    heights = [max(panel.height for panel in row) for row in rows]
    width = columns * (PANEL + GAP) - GAP + 2 * MARGIN
    lines = wrap(drawn.title, max(30, width // 10))
    head, foot = 20 + 20 * len(lines), 24 + 17 * len(source)
    fig = new_figure(palette, width, head + sum(heights) + GAP * (len(rows) - 1) + foot)
    around = Canvas(fig, palette)
    for i, line in enumerate(lines):
        around.text(MARGIN, 10 + 20 * i, line, size=15, fontweight="bold")
    top = head
    for row, height in zip(rows, heights):
        for i, panel in enumerate(row):
            panel.draw(Canvas(fig, palette, MARGIN + i * (PANEL + GAP), top))
        top += height + GAP
    for i, line in enumerate(source):
        around.text(MARGIN, around.height - 12 - 17 * (len(source) - i),
                    textwrap.shorten(line, width // 7, placeholder=" ..."), "muted")
    return fig


def write_png(fig, path):
    fig.set_dpi(PNG_DPI)
    agg = FigureCanvasAgg(fig)
    agg.draw()
    # A third of the size: there are few colours, and their edges.
    Image.frombuffer("RGBA", agg.get_width_height(), agg.buffer_rgba()).convert("RGB") \
        .quantize(128).save(path)


def svg_file(fig, name, alt):
    width, height = (round(size * 72) for size in fig.get_size_inches())
    return head_of_svg(f"0 0 {width} {height}", alt, alone=True) + svg_of(fig, name)


def wrap(text, columns):
    lines = [""]
    for word in text.split(" "):  # not at no-break spaces
        if lines[-1] and len(lines[-1]) + 1 + len(word) > columns:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def percent(fraction, digits=0):
    return f"{fraction * 100:.{digits}f}\u00a0%"


def escaped(text):
    return (text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            .replace('"', "&quot;"))


def head_of_svg(view_box, alt, alone):
    style = ""
    if alone:
        style = (f"<style>svg{{{css_variables(LIGHT)}--figure-font:{FONT};background:var(--paper)}}"
                 f"@media(prefers-color-scheme:dark){{svg{{{css_variables(DARK)}}}}}</style>")
    width, height = view_box.split()[2:]
    size = f' width="{width}" height="{height}"' if alone else ""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
            f'{size} viewBox="{view_box}" role="img" aria-label="{escaped(alt)}">{style}')


def themed(svg, name):
    """The content of an SVG with variables for colours, without what nobody refers to."""
    svg = svg[svg.index("<svg"):]
    svg = svg[svg.index(">") + 1:]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.S)
    by_colour = {colour: f"var(--{key})" for key, colour in LIGHT.items()}
    svg = re.sub(r"#[0-9a-f]{6}\b", lambda m: by_colour.get(m.group(), m.group()), svg)
    svg = re.sub(r"font: ((?:[a-z0-9]+ )?[0-9.]+px) [^;\"]*", r"font: \1 var(--figure-font)", svg)
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg))
    svg = re.sub(r' id="([^"]+)"',
                 lambda m: m.group() if m.group(1) in used else "", svg)
    for one in used:  # a page has many figures
        svg = re.sub(rf'(id="|url\(#|href="#){re.escape(one)}([")])', rf"\g<1>{name}-{one}\2", svg)
    # Coordinates to a hundredth of a px; what stands between tags is text.
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d\d)\d+", r"\1", tag.group()), svg)
    return re.sub(r">\s+<", "><", svg)


def flow(canvas, x, y, words, columns, colour="muted", size=SMALL, step=16, **how):
    """Text on as many lines as it needs; returns where the next one begins."""
    for line in wrap(words, columns):
        canvas.text(x, y, line, colour, size, **how)
        y += step
    return y


def broken(label, columns):
    """A label as lines that end at its fields."""
    return wrap(label.replace(".", ". "), columns)


def ramp(palette, level):
    """Colour of a level from 0 to RAMP - 1."""
    return palette[f"ramp{max(0, min(RAMP - 1, level))}"]


def rectangles(axes, boxes, colour, **how):
    """Many (x, y, width, height) in one path: one element of an SVG however many they are."""
    if not boxes:
        return
    vertices, codes = [], []
    for x, y, w, h in boxes:
        vertices += [(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)]
        codes += [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    how.setdefault("linewidth", 0)
    axes.add_patch(PathPatch(Path(vertices, codes), facecolor=colour, **how))


def hatched(axes, boxes, colour):
    """Many (x, y, width, height) with lines across them: one path, as hatches of an SVG are patterns
    whose colours do not follow the page."""
    vertices, codes = [], []
    for x, y, w, h in boxes:
        for low, high in (((0, 0.5), (0.5, 1)), ((0, 0), (1, 1)), ((0.5, 0), (1, 0.5))):
            vertices += [(x + w * low[0], y + h * low[1]), (x + w * high[0], y + h * high[1])]
            codes += [Path.MOVETO, Path.LINETO]
    if boxes:
        axes.add_patch(PathPatch(Path(vertices, codes), fill=False, edgecolor=colour,
            linewidth=0.7))


def outline(axes, x, y, w, h, colour, width=1.6):
    axes.add_patch(Rectangle((x, y), w, h, fill=False, edgecolor=colour, linewidth=width, zorder=5))
