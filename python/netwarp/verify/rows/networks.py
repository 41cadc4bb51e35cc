"""The networks of the rows: h1 – r1 – h2, or two sources s1 and s2 at r1; the bottleneck is from r1 to h2."""

import json
from collections.abc import Sequence

from netwarp.verify.row import Experiment

HEADERS_BYTES = 14 + 20 + 32
"""Ethernet, IPv4, and TCP with timestamps."""
SEGMENT_BYTES = 1448
FRAME_BYTES = SEGMENT_BYTES + HEADERS_BYTES
BOTTLENECK = "bottleneck:r1"


def frame_ms(rate_mbps: float, frame_bytes: int = FRAME_BYTES) -> float:
    """The time that a frame takes on a link of this rate."""
    return frame_bytes * 8 / rate_mbps / 1000


def dumbbell(
    name: str,
    *,
    flows: str,
    duration: str,
    warmup: str = "0s",
    rate: str = "10mbit",
    delay: str = "10ms",
    queue: str = "pfifo limit 100",
    loss: str = "0%",
    wire: str = "",
    sweep: str = "",
    more: str = "",
    seeds: int | None = 1,
    settings: tuple[str, ...] = (),
) -> Experiment:
    """An experiment with one bottleneck; `flows`, `wire` (of the bottleneck), `sweep` and `more` are lines of TOML.

    With a trace in `wire`, `rate` is "". Without seeds the text lacks them, for a caller that puts them before it.
    """
    axes = f"[sweep]\n{sweep}\n" if sweep else ""
    text = f"""\
name = "{name}"
duration = "{duration}"
warmup = "{warmup}"
{"" if seeds is None else f"seeds = {seeds}"}
[nodes]
h1 = {{}}
r1 = {{ forward = true }}
h2 = {{}}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.bottleneck]
ends = ["r1", "h2"]
{f'rate = "{rate}"' if rate else ""}
delay = "{delay}"
{f'loss = "{loss}"' if loss else ""}
{wire}
{f'queue = "{queue}"' if queue else ""}
{flows}
{more}
{axes}"""
    return Experiment(name, text, settings)


def sharing(
    name: str,
    *,
    flows: str,
    duration: str,
    warmup: str = "0s",
    rate: str = "10mbit",
    queue: str = "",
    raw: Sequence[str] = (),
    delays_ms: tuple[float, float] = (0, 0),
    sweep: str = "",
    seeds: int = 1,
    settings: tuple[str, ...] = (),
) -> Experiment:
    """An experiment with two sources, whose addresses are 10.0.0.1 and 10.0.1.1, and whose links have these delays.

    `raw` are tc's commands for the interface of the bottleneck, in place of its rate and queue.
    """
    links = "\n".join(
        f'[links.access{number}]\nends = ["s{number}", "r1"]\nrate = "1gbit"\ndelay = "{delay:g}ms"'
        for number, delay in enumerate(delays_ms, start=1)
    )
    own = [f'queue = "{queue}"'] if queue else []
    own += [f"raw = {{ r1 = {json.dumps(list(raw))} }}"] if raw else []
    axes = f"[sweep]\n{sweep}\n" if sweep else ""
    text = f"""\
name = "{name}"
duration = "{duration}"
warmup = "{warmup}"
seeds = {seeds}
[nodes]
s1 = {{}}
s2 = {{}}
r1 = {{ forward = true }}
h2 = {{}}
{links}
[links.bottleneck]
ends = ["r1", "h2"]
rate = "{rate}"
{chr(10).join(own)}
{flows}
{axes}"""
    return Experiment(name, text, settings)


def flow(name: str, tool: str, *, source: str = "h1", to: str = "h2", **fields: str | int | Sequence[str]) -> str:
    """The lines of a flow; quotes are put around texts."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
    return "\n".join([f"[flows.{name}]", f'from = "{source}"', f'to = "{to}"', f'tool = "{tool}"', *lines])


def plain_cubic(*switches: str, after: str = "0") -> str:
    """The lines of a command that sets switches of tcp_cubic (`tcp_friendliness`, `fast_convergence`) to 0 after some
    seconds."""
    parameters = "/sys/module/tcp_cubic/parameters"
    script = "; ".join([f"sleep {after}", *(f"echo 0 > {parameters}/{switch}" for switch in switches)])
    return flow("plain", "command", client=["sh", "-c", script])


def program(name: str, client: str, server: str = "", port: int = 7000) -> str:
    """The lines of a flow that runs a program in Python at h1 and, if given, one at h2 that listens on `port`.

    The client finds h2's address in `sys.argv[1]`.
    """
    lines = flow(name, "command", client=["python3", "-c", f"exec({client!r})", "{destination}"])
    if not server:
        return lines
    return f'{lines}\nserver = {json.dumps(["python3", "-c", f"exec({server!r})"])}\nready = "port {port}"'
