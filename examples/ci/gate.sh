#!/bin/sh
# For every other CI system, and for a git hook. Exit codes: docs/ci.md.
set -eu
command -v netwarp >/dev/null || { python3 -m venv "$HOME/.netwarp" && PATH="$HOME/.netwarp/bin:$PATH" && pip install --quiet netwarp; }
exec netwarp gate ci/network.toml --base "${BASE:-origin/main}" --seeds 10 -o gate
