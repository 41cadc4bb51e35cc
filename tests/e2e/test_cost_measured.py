"""A measurement of docs/cost.md, made as those are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MEASURE = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from bench.cost import CURVES
(nodes,) = (curve for curve in CURVES if curve.name == "nodes")
print(json.dumps(asdict(nodes.measure(3, Path(sys.argv[1])))))
"""


def test_a_command_costs_its_engine_and_more(tmp_path: Path) -> None:
    """In a new process: the most memory of a command is never less than that of the process that started it."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, tmp_path], capture_output=True, text=True, check=True, cwd=root
    )
    point = json.loads(done.stdout)
    assert 0 < point["engine_s"] < point["command_s"]
    assert 30 < point["peak_mb"] < 1000
    assert point["file_mb"] is None
