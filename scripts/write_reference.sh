#!/usr/bin/env bash
# Writes the reference pages that the program's own tables make, from a finished build folder.
# Tests say when one is stale.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build/hgemm-tune plan --axes --format md >docs/reference/axes.md
build/hgemm-tune help --format md >docs/reference/commands.md
build/hgemm-tune best --fields --format md >docs/reference/fields.md
