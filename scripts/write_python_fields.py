#!/usr/bin/env python3
"""Prints python/hgemm_tune/best_fields.py: rows of `best` as a dataclass, from the program's list.

write_python_fields.py PROGRAM
"""

import json
import subprocess
import sys
import textwrap

TYPES = {"integer": "int", "number": "float", "text": "str", "true or false": "bool",
         "list of texts": "tuple[str, ...]"}
WIDTH = 100

HEAD = '''"""Written by scripts/write_python_fields.py, which scripts/write_reference.sh calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Best:
    """The fastest verified config of one problem in one regime: a row of `hgemm-tune best`.

    None stands where nothing is known.
    """
'''


def comment(field: dict) -> list[str]:
    unit = f" ({field['unit']})" if field["unit"] else ""
    null = f". None if: {field['null_if']}" if field["null_if"] else ""
    return textwrap.wrap(f"{field['meaning']}{unit}{null}", WIDTH, initial_indent="    #: ",
                         subsequent_indent="    #: ", break_on_hyphens=False)


def main() -> None:
    [program] = sys.argv[1:]
    printed = subprocess.run([program, "best", "--fields", "--format", "json"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    print(HEAD)
    for field in json.loads(printed):
        if field["of"] != "best":
            continue
        kind = TYPES[field["type"]] + (" | None" if field["null_if"] else "")
        print(*comment(field), f"    {field['field']}: {kind}", sep="\n")


if __name__ == "__main__":
    main()
