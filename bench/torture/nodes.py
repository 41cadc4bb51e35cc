"""Machines over SSH with answers that no agent gives."""

from __future__ import annotations

import json
import random
from typing import Any

from mutate import VALUES, mutate_bytes

from bench.torture.bases import SWEPT
from bench.torture.cases import Case
from bench.torture.commands import Limits

_SSH = """\
#!/bin/sh
case "$*" in *"exec cat"*) exec cat > /dev/null;; esac
printf 'netwarp-dir /tmp/netwarp-xxxxxxxxxx\\n'
cat {says}
sleep 0.3
"""
"""A false login: it takes the agent, prints a file, and hangs up."""
_INVENTORY = """\
[nodes.{node}]
host = "{node}.invalid"
user = "nobody"
interfaces = {{ {links} }}
"""
_NODES = {"h1": ("access",), "r1": ("access", "bottleneck"), "h2": ("bottleneck",)}
_ANSWERS: tuple[dict[str, Any], ...] = (
    {"agent": "0.1.0"},
    {
        "kernel": "Linux",
        "release": "6.12",
        "landlock": 6,
        "programs": {"tc": "0" * 64},
        "refused": {"qdiscs": [], "congestion_controls": []},
        "problems": [],
        "note": None,
    },
    {"heard_ns": 1, "said_ns": 2, "wall_ns": 3},
    {"built": True, "landlock": 6},
    {"ended": 0, "late_ns": 0, "indices": {"2": 1}},
    {"file": "flows.arrows", "bytes": 0},
    {"restored": []},
    {"failed": "no"},
)
_LIMITS = Limits(seconds=30.0, wall_s=240.0)
"""Limits: a process and a thread log in to every node, and wait for a silent one."""


class Nodes:
    """Every node of a lab is a machine with malformed answers."""

    name = "nodes"
    unit = "labs"
    share = 0.03

    def attack(self, case: Case) -> None:
        """Put a false `ssh` into the path, and run a lab on its machines."""
        work = case.place.work
        (work / "scenario.toml").write_text(SWEPT.replace("[record]", "[record]\nexact = false"))
        (work / "inventory.toml").write_text(
            "".join(
                _INVENTORY.format(node=node, links=", ".join(f'{link} = "eth{at}"' for at, link in enumerate(links)))
                for node, links in _NODES.items()
            )
        )
        (work / "says").write_bytes(answers(case.rng))
        (work / "ssh").write_text(_SSH.format(says=work / "says"))
        (work / "ssh").chmod(0o755)
        case.report.target = "run --engine ssh"
        lab = (work / "scenario.toml", "--engine", "ssh", "--inventory", work / "inventory.toml")
        case.netwarp("run", *lab, "-o", work / "result", outputs=[work / "result"], limits=_LIMITS, programs=work)


def answers(rng: random.Random) -> bytes:
    """Lines of answers, some of them damaged: other values, other types, other bytes, or nothing at all."""
    lines: list[bytes] = []
    for answer in (*_ANSWERS[:1], *rng.choices(_ANSWERS, k=rng.choice((0, 1, 3, 30)))):
        kind = rng.choice(("whole", "whole", "value", "alone", "bytes", "deep"))
        if kind == "value":
            line = json.dumps(answer | {rng.choice(list(answer)): rng.choice(VALUES)}).encode()
        elif kind == "alone":
            line = json.dumps(rng.choice(VALUES)).encode()
        elif kind == "bytes":
            line = mutate_bytes(json.dumps(answer).encode(), rng)
        elif kind == "deep":
            line = b"[" * rng.choice((10, 1_000, 200_000))
        else:
            line = json.dumps(answer).encode()
        lines.append(line)
    return b"\n".join(lines) + rng.choice((b"\n", b"\n", b""))
