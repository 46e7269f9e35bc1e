#!/usr/bin/env bash
# Writes the reference pages, and the fields in the Python package, from the program's own tables,
# with a finished build folder. Tests fail if one is stale.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build/hgemm-tune plan --axes --format md >docs/reference/axes.md
build/hgemm-tune help --format md >docs/reference/commands.md
build/hgemm-tune best --fields --format md >docs/reference/fields.md
scripts/write_python_fields.py build/hgemm-tune >python/hgemm_tune/best_fields.py
