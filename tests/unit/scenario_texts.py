"""Scenario texts that several tests start from."""

from __future__ import annotations

DUMBBELL = """\
name = "t"
duration = "10s"
[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "10mbit"
delay = "10ms"
queue = "pfifo limit 100"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
"""

TWO_LINKS = """
name = "two"
duration = "2s"
[nodes]
h1 = {}
r = { forward = true }
h2 = {}
[links.near]
ends = ["h1", "r"]
rate = "100mbit"
[links.far]
ends = ["r", "h2"]
rate = "10mbit"
[flows.f]
from = "h1"
to = "h2"
"""
"""h1 – r – h2 with a flow to which a test adds its tool."""


def replaced(*pairs: tuple[str, str], tail: str = "") -> str:
    """The dumbbell with some of its text replaced, and more text at its end."""
    text = DUMBBELL
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text + tail
