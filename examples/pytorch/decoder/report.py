"""What was measured: as a file of JSON, as lines, and as a page of Markdown."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .choices import WAYS, Failed

# ---- The file ----

#: Times of the ways, differences of their logits, and cold starts.
KINDS = ("measured", "logits", "starts")
#: The step that an entry is about.
KEY = ("model", "layers", "scale", "phase", "batch", "context", "attention")


class Results:
    """A file of JSON, written whenever something was added. What it had stays, unless it is
    measured anew; but only from the same machine and software."""

    def __init__(self, path: Path | None, environment: dict):
        self.path = path
        self.content = {"environment": environment, **{kind: [] for kind in KINDS}}
        if path is None or not path.exists():
            return
        before = read(path)
        for name, now in environment.items():
            if before["environment"].get(name) != now:
                raise Failed(f"{path} was measured with {name} {before['environment'].get(name)}"
                             f", and this is {now}: name another file by --json")
        self.content.update({kind: before[kind] for kind in KINDS})

    def add(self, kind: str, key: tuple[str, ...], entry: dict) -> None:
        entries = self.content[kind]
        places = [place for place, one in enumerate(entries)
                  if all(one[name] == entry[name] for name in key)]
        place = places[0] if places else len(entries)
        entries[place:place + 1] = [entry]
        if self.path is not None:
            written = self.path.with_name(f"{self.path.name}.{os.getpid()}")
            written.write_text(json.dumps(self.content, indent=1) + "\n")
            written.replace(self.path)


def read(path: Path) -> dict:
    try:
        content = json.loads(path.read_text())
        if isinstance(content, dict) and {"environment", *KINDS} <= content.keys():
            return content
        why = "no results of tokens.py"
    except (OSError, ValueError) as error:
        why = str(error)
    raise Failed(f"{path}: {why}; --json of a measurement writes such a file")


# ---- Lines ----


def ratio(of: dict) -> str:
    return f"{of['median']:.3f} [{of['low']:.3f}, {of['high']:.3f}]"


def title(entry: dict) -> str:
    return (f"{entry['model']}, {entry['layers']} layers, {entry['phase']}, batch "
            f"{entry['batch']}, {entry['context']} tokens of context:")


def lines(entry: dict) -> list[str]:
    """What is printed as soon as it is measured."""
    found = [title(entry)]
    for name, way in entry["ways"].items():
        if "failed" in way:
            found.append(f"  {name}: not measured: {way['failed']}")
        else:
            found.append(f"  {name}: {way['ms']:.3f} ms, {way['tokens_per_s']:.0f} tokens/s, "
                         f"{ratio(way['x_plain'])} x plain")
    linears = entry["linears"]
    text = f"  linear layers: {ratio(linears['share'])} of the plain step"
    if "gain" in linears:
        text += (f"; {linears['tuned_calls']} of {linears['calls']} computed by kernels, gain of "
                 f"all {ratio(linears['gain'])}; so expected {linears['expected_x_plain']:.3f} x "
                 "plain")
    found.append(text)
    return found + difference_lines(off_as_timed(entry))


def logit_lines(entry: dict) -> list[str]:
    return [title(entry), *difference_lines(entry["off"]),
            f"  logits of plain: {entry['logits_rms']:.3f} rms"]


def difference_lines(differing: dict[str, dict]) -> list[str]:
    return [f"  {name}: logits differ from {other} by {of['rms']:.4f} rms, at most "
            f"{of['max']:.4f}; {of['equal_tokens']} of {of['tokens']} tokens equal"
            for name, off in differing.items()
            for other, of in (("plain", off), ("fp32", off.get("fp32"))) if of]


def off_as_timed(entry: dict) -> dict[str, dict]:
    """How far each timed step is from the plain one."""
    return {f"{name}, as timed": way["off"] for name, way in entry["ways"].items()
            if "off" in way}


def start_line(entry: dict) -> str:
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in entry["seconds"].items())
    return f"{entry['model']}, {entry['layers']} layers, {entry['way']}, cold start, s: {parts}"


# ---- Tables ----


TEXTS = ("model", "step", "way", "instead of plain")


def table(header: list[str], rows: list[list[str]]) -> str:
    rule = "".join("|---" if name in TEXTS else "|---:" for name in header) + "|"
    header, *rows = (f"| {' | '.join(row)} |" for row in (header, *rows))
    return "\n".join([header, rule, *rows]) + "\n"


STEP = ["model", "layers", "step", "batch", "context"]


def step_of(entry: dict) -> list[str]:
    mask = "" if entry["attention"] == "masked" else ", unmasked"
    return [entry["model"], str(entry["layers"]), entry["phase"] + mask, str(entry["batch"]),
            str(entry["context"])]


def times(measured: list[dict]) -> str:
    """A row for each step, with the ways that any of them has."""
    names = [name for name in WAYS if any(name in entry["ways"] for entry in measured)]
    header = [*STEP, "plain ms"]
    for name in names:
        header += [f"{name} tokens/s"] + ([] if name == "plain" else [f"{name} x plain"])
    rows = []
    for entry in measured:
        row = [*step_of(entry), f"{entry['ways']['plain']['ms']:.3f}"]
        for name in names:
            way = entry["ways"].get(name, {})
            row.append(f"{way['tokens_per_s']:.0f}" if "ms" in way else "")
            if name != "plain":
                row.append(ratio(way["x_plain"]) if "ms" in way else "")
        rows.append(row)
    return table(header, rows)


def shares(measured: list[dict]) -> str:
    rows = []
    for entry in measured:
        linears, patched = entry["linears"], entry["ways"].get("patched", {})
        rows.append([*step_of(entry), ratio(linears["share"]),
                     f"{linears['tuned_calls']} of {linears['calls']}",
                     ratio(linears["gain"]) if "gain" in linears else "",
                     f"{linears['expected_x_plain']:.3f}" if "gain" in linears else "",
                     ratio(patched["x_plain"]) if "ms" in patched else ""])
    return table([*STEP, "share of linear layers", "by kernels", "their gain", "expected",
                  "measured"], rows)


def differences(measured: list[dict], logits: list[dict]) -> str:
    """The rows of each step: of those that were timed, and of those that were only compared. Older
    ones were not compared with fp32."""
    def cells(off: dict | None) -> list[str]:
        if off is None:
            return [""] * 3
        return [f"{off['rms']:.4f}", f"{off['max']:.4f}",
                f"{off['equal_tokens']} of {off['tokens']}"]

    def key(entry: dict) -> tuple:
        return tuple(entry[name] for name in KEY)

    timed, compared = ({key(entry): entry for entry in entries} for entries in (measured, logits))
    rows, has_fp32 = [], any("fp32" in off for entry in logits for off in entry["off"].values())
    for step, entry in {**timed, **compared}.items():
        size = f"{compared[step]['logits_rms']:.3f}" if step in compared else ""
        off_by_name = {**(off_as_timed(timed[step]) if step in timed else {}),
                       **(compared[step]["off"] if step in compared else {})}
        for name, off in off_by_name.items():
            rms, most, equal = cells(off)
            rows.append([*step_of(entry), name, rms, most, size, equal,
                         *(cells(off.get("fp32")) if has_fp32 else [])])
    of_fp32 = ["rms from fp32", "max from fp32", "tokens of fp32"] if has_fp32 else []
    return table([*STEP, "instead of plain", "rms", "max", "logits' rms", "equal tokens",
                  *of_fp32], rows)


def cold_starts(entries: list[dict]) -> str:
    parts = max((list(entry["seconds"]) for entry in entries), key=len, default=["total"])
    rows = [[entry["model"], str(entry["layers"]), entry["way"],
             *(f"{entry['seconds'][part]:.2f}" if part in entry["seconds"] else ""
               for part in parts)] for entry in entries]
    return table(["model", "layers", "way", *(f"{part} s" for part in parts)], rows)


def provenance(of: list[tuple[str, str]]) -> str:
    return "\n".join(["| provenance | |\n|---|---|",
                      *(f"| {name} | {text} |" for name, text in of)]) + "\n"


def page(path: Path) -> str:
    """The Markdown of a file of results."""
    content = read(path)
    of, measured, logits, starts = (content[kind] for kind in ("environment", *KINDS))
    if not measured and not logits:
        raise Failed(f"{path} has no measurement yet: run tokens.py with --json {path}")

    def all_of(name: str) -> list[str]:
        return list(dict.fromkeys(str(one[name]) for one in (*measured, *logits, *starts)))

    dates = sorted(all_of("date"))
    about = [
        ("measurements", f"[{path.name}]({path.name})"), ("GPU", of["gpu"]),
        ("software", f"driver {of['driver']}, torch {of['torch']}, CUDA {of['cuda']}, "
                     f"Transformers {of['transformers']}"),
        ("measured", " to ".join(dict.fromkeys((dates[0], dates[-1])))),
        ("models", "with random weights, in bf16"),
        ("kernels", "<br>".join(all_of("kernels"))),
        ("recorded by", "<br>".join(f"`{command}`" for command in all_of("command")))]
    return "\n".join([
        "# Tokens per second of three models\n", provenance(about),
        "Times are medians. Ratios are of the plain way's time to the other's in the same round, "
        "with 95 % intervals: above 1 the other is faster. Decode is a CUDA graph in each way, and "
        "prefill runs without one. Compiled is torch.compile with max-autotune (and without its "
        "graphs); there Transformers gives attention a mask in prefill, too. Patched and compiled "
        "is with hgemm_tune.inductor.enable(), which leaves layers of one row to torch.compile. A "
        "command may have been stopped before its last steps.\n",
        times(measured), "## Where the time goes\n",
        "Share and gain are of the linear layers in a row, in a graph without the rest of the "
        "step, so that a kernel may begin while the one before it ends. Expected is what this "
        "gain alone makes of the whole step.\n",
        shares(measured), "## Logits and tokens beside those of the plain way\n",
        "All are given the same tokens. As timed: the step whose time is above, against the plain "
        "one without a graph.\n", differences(measured, logits),
        "## From the imports to the first token\n", cold_starts(starts)])
