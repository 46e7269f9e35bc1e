#!/usr/bin/env python3
"""Copies a database without the races that no peer took part in, and without its studies.

    scripts/keep_races_with_peers.py FROM TO

In the recorded command lines the peers' libraries lose their folders, which say where they lay on one
machine.

The checksum of each race stays right, because it covers the rows of that race only. The copy has
room for what was removed; `hgemm-tune merge` writes one without.
"""

import re
import sqlite3
import sys
from pathlib import Path

source, target = map(Path, sys.argv[1:])
target.unlink(missing_ok=True)
with sqlite3.connect(f"file:{source}?mode=ro", uri=True) as old, sqlite3.connect(target) as new:
    old.backup(new)
with sqlite3.connect(target) as database:
    database.execute("PRAGMA foreign_keys = OFF")
    database.execute("""
        CREATE TEMP TABLE kept AS SELECT DISTINCT race_id AS id FROM trial
        JOIN candidate ON candidate.id = candidate_id WHERE label LIKE 'peer.%'""")
    trials = "SELECT id FROM trial WHERE race_id NOT IN (SELECT id FROM kept)"
    for table in ("sample", "energy", "call_time"):
        if database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table]).fetchone():
            database.execute(f"DELETE FROM {table} WHERE trial_id IN ({trials})")
    database.execute(f"DELETE FROM trial WHERE id IN ({trials})")
    database.execute("DELETE FROM race WHERE id NOT IN (SELECT id FROM kept)")
    for table in ("span", "figure", "part", "study_sample"):
        database.execute(f"DELETE FROM {table}")
    database.execute("DELETE FROM study")
    database.execute("DELETE FROM build WHERE kernel_id NOT IN "
                     "(SELECT kernel_id FROM trial WHERE kernel_id NOTNULL)")
    for run, line in database.execute("SELECT id, command_line FROM run").fetchall():
        portable = re.sub(
            r"(?<=--peer )\S+", lambda peer: re.sub(r"(^|[=:])/[^:]*/", r"\1peers/", peer[0]), line
        )
        database.execute("UPDATE run SET command_line = ? WHERE id = ?", [portable, run])
