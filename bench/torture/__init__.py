"""Attacks on netwarp, counted: `make torture`, or `python -m bench.torture`.

Each attack is a case, named by its family and a seed: `--case results:17` repeats one and keeps its files.
docs/torture.md says what is attacked and what counts as a failure.
"""

import sys
from pathlib import Path

# The functions that damage files are in the tests, which use them as well.
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "torture"))
