#!/usr/bin/env bash
# Writes the reference pages from the program's own tables, with a finished build folder.
# Tests fail if a page is stale.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build/hgemm-tune plan --axes --format md >docs/reference/axes.md
build/hgemm-tune help --format md >docs/reference/commands.md
build/hgemm-tune best --fields --format md >docs/reference/fields.md
