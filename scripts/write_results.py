#!/usr/bin/env python3
"""Writes the tables of recorded results: README.md in a results folder, and the pages beside it.

    scripts/write_results.py [--program build/hgemm-tune] [--check] [results/h200]

results.json in the folder lists the sections: a title, what the reader should know, the databases,
and the commands that print the tables. A section has a block with its provenance, which this script
reads from the databases, and then the tables. A table goes to a page of its own if the section
names one. With --check nothing is written: the exit code is 1 if a file is not what the databases
and the program say now. Needs no GPU.
"""

import argparse
import collections
import json
import os
import re
import shlex
import sqlite3
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RACES = "SELECT run_id, regime FROM race"


def columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in database.execute(f"PRAGMA table_info({table})")}


def joined(values) -> str:
    return ", ".join(sorted({str(value) for value in values}))


def dates(moments) -> str:
    days = sorted({moment[:10] for moment in moments})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def short_commands(command_lines, most: int = 6) -> str:
    """Removes what does not affect the result: the seed, the files and the number of processes."""
    noise = re.compile(r" --(seed|db|cache-dir|jobs|format|require-gpu|shared-cache)( [^-\s]\S*)?")
    commands = list(dict.fromkeys(noise.sub("", line) for line in command_lines))
    shown = [f"`{c if len(c) <= 160 else c[:157] + '...'}`" for c in commands[:most]]
    if len(commands) > most:
        shown.append(f"and {len(commands) - most} more")
    return "<br>".join(shown)


def provenance(folder: Path, names: list[str], kinds: list[str] | None) -> list[tuple[str, str]]:
    """What the databases say about themselves; of their studies only those of `kinds`."""
    facts = collections.defaultdict(list)
    races = 0
    for name in names:
        path = (folder / name).resolve()
        with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as database:
            database.row_factory = sqlite3.Row
            table = "study" if kinds else "race"
            where = f" WHERE kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
            regime = "''" if kinds else "regime"
            measured = database.execute(
                f"SELECT run_id, {regime} AS regime, started_utc FROM {table}{where}", kinds or []
            ).fetchall()
            races += len(measured)
            facts["regimes"] += [row["regime"] for row in measured if row["regime"]]
            facts["moments"] += [row["started_utc"] for row in measured]
            of_run = "run" if "gpu_uuid" in columns(database, "run") else "environment"
            sources = "kernel_sources" if of_run == "run" else "kernel_hash"
            run_ids = sorted({row["run_id"] for row in measured})
            for row in database.execute(
                f"""SELECT gpu_name, sm_count, power_limit_w, driver, cuda, cublas, command_line,
                           {of_run}.gpu_uuid AS card, {of_run}.git_revision AS revision,
                           {of_run}.{sources} AS sources
                    FROM run JOIN environment ON environment.id = run.environment_id
                    WHERE run.id IN ({', '.join('?' * len(run_ids))}) ORDER BY run.id""",
                run_ids,
            ):
                facts["gpus"].append(
                    f"{row['gpu_name']}, {row['sm_count']} SMs, {row['power_limit_w']:.0f} W"
                )
                facts["software"].append(
                    f"driver {row['driver']}, CUDA {row['cuda']}, cuBLAS {row['cublas']}"
                )
                facts["cards"].append(row["card"])
                facts["revisions"].append(row["revision"][:7] + row["revision"][12:])
                facts["sources"].append(row["sources"][:8])
                facts["commands"].append(row["command_line"])
    cards = len(set(facts["cards"]))
    measured = f"{dates(facts['moments'])}"
    if facts["regimes"]:
        measured += f", {joined(facts['regimes'])}, {races} races"
    else:
        measured += f", {races} studies"
    return [
        ("databases", ", ".join(f"[{name}]({name})" for name in names)),
        ("GPU", f"{joined(facts['gpus'])} ({cards} card{'s' if cards > 1 else ''})"),
        ("software", joined(facts["software"])),
        ("measured", measured),
        ("program", f"{joined(facts['revisions'])} (kernel sources {joined(facts['sources'])})"),
        ("recorded by", short_commands(facts["commands"])),
    ]


def block(rows: list[tuple[str, str]]) -> str:
    return "| provenance | |\n|---|---|\n" + "".join(f"| {k} | {v} |\n" for k, v in rows)


class Writer:
    def __init__(self, program: Path, folder: Path, skip: list[str]):
        self.program = program
        self.folder = folder
        self.skip = skip
        self.files: dict[str, str] = {}

    def answer(self, command: str) -> str:
        """What the program prints. Without a GPU its first line may say that nothing is measured."""
        words = [str(self.program), *shlex.split(command)]
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES="")
        done = subprocess.run(
            words, cwd=self.folder, env=environment, text=True, capture_output=True
        )
        if done.returncode != 0:
            sys.exit(f"{command}: exit code {done.returncode}: {done.stderr.strip()}")
        lines = done.stdout.splitlines()
        if lines and lines[0].startswith(("No Hopper GPU", "Nothing is measured now")):
            lines = lines[1:]
        return "\n".join(lines).strip() + "\n"

    def rows(self, command: str) -> list[dict]:
        return json.loads(self.answer(f"{command} --format json"))

    def by_rows(self, table: dict) -> str:
        """Geometric means over the shapes of each tag's phase and M, one column pair a command."""
        names = list(table["commands"])
        answers = [self.rows(command) for command in table["commands"].values()]
        tags = {row["problem"]: row["tag"] for rows in answers for row in rows if row["tag"]}
        groups: dict[str, list[list[dict]]] = {}
        for index, rows in enumerate(answers):
            for row in rows:
                phase = tags.get(row["problem"], "other").split("/")[0]
                group = phase if phase not in ("decode", "prefill") else f"{phase}, M = {row['m']}"
                groups.setdefault(group, [[] for _ in names])[index].append(row)
        order = sorted(groups, key=lambda g: (g.split(",")[0] != "decode", groups[g][0][0]["m"]))
        lines = ["| shapes | " + " | ".join(f"{n}: x cuBLAS | x cuBLASLt" for n in names) + " |"]
        lines.append("|---|" + "---:|" * (2 * len(names)))
        for group in order:
            cells = [f"{group} ({len(groups[group][0])} shapes)"]
            for rows in groups[group]:
                for key in ("ratio_cublas", "ratio_cublaslt"):
                    cells.append(f"{statistics.geometric_mean(row[key] for row in rows):.3f}")
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"

    def table(self, table: dict) -> tuple[str, list[str]]:
        """Its text, and the commands that print it."""
        if "commands" in table:
            return self.by_rows(table), list(table["commands"].values())
        if "script" in table:
            words = [sys.executable, "-B", *shlex.split(table["script"])]
            words[2] = str(ROOT / words[2])
            done = subprocess.run(
                words, cwd=self.folder, text=True, capture_output=True, check=True
            )
            return done.stdout.strip() + "\n", []
        return self.answer(table["command"] + " --format md"), [table["command"]]

    def section(self, section: dict) -> str:
        text = f"## {section['title']}\n\n{section['about']}\n\n"
        facts = provenance(self.folder, section["databases"], section.get("studies"))
        tables, commands = "", []
        for table in section["tables"]:
            if table.get("page") in self.skip:
                commands.append(f"hgemm-tune {table['command']}")
                tables += f"[{table['title']}]({table['page']})\n\n"
                continue
            body, of_table = self.table(table)
            commands += [f"hgemm-tune {command}" for command in of_table]
            commands += [table["script"]] if "script" in table else []
            if page := table.get("page"):
                own = facts + [("printed by", "<br>".join(f"`hgemm-tune {c}`" for c in of_table))]
                heading = f"# {table['title']}\n\n"
                self.files[page] = heading + block(own) + "\n" + body
                tables += f"[{table['title']}]({page})\n\n"
            else:
                if title := table.get("title"):
                    tables += f"**{title}**\n\n"
                tables += body + "\n"
        printed = "<br>".join(f"`{command}`" for command in dict.fromkeys(commands))
        return text + block(facts + [("printed by, in this folder", printed)]) + "\n" + tables

    def write(self, description: dict) -> None:
        sections = [self.section(section) for section in description["sections"]]
        contents = "".join(
            f"- [{s['title']}](#{re.sub('[^a-z0-9 -]', '', s['title'].lower()).replace(' ', '-')})\n"
            for s in description["sections"]
        )
        self.files["README.md"] = (
            f"# {description['title']}\n\n{description['about']}\n\n{contents}\n"
            + "\n".join(sections)
            + (f"\n## Notes\n\n{description['notes']}\n" if "notes" in description else "")
        )


def text_of(value) -> str:
    """JSON has no text of several lines: a list of lines is one."""
    return "\n".join(value) if isinstance(value, list) else value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "results" / "h200")
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "hgemm-tune")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if one is stale")
    parser.add_argument("--skip", action="append", default=[], metavar="PAGE", help="leave PAGE as it is")
    arguments = parser.parse_args()
    titles = arguments.folder / "results.json"
    if not titles.exists():
        sys.exit(f"{titles} is missing: it lists the tables; results/h200/results.json is an example")
    description = json.loads(titles.read_text())
    for section in list(description["sections"]):
        missing = [name for name in section["databases"] if not (arguments.folder / name).exists()]
        if missing:
            print(f"left out: {section['title']}: no {', '.join(missing)}", file=sys.stderr)
            description["sections"].remove(section)
    for part in [description, *description["sections"]]:
        for key in ("about", "notes"):
            if key in part:
                part[key] = text_of(part[key])
    writer = Writer(arguments.program.resolve(), arguments.folder.resolve(), arguments.skip)
    writer.write(description)
    stale = []
    for name, text in writer.files.items():
        path = arguments.folder / name
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if not arguments.check:
            path.write_text(text)
    for name in stale:
        print(f"{'stale' if arguments.check else 'written'}: {arguments.folder / name}")
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
