"""The networks of the rows: h1 – r1 – h2, with the bottleneck at r1."""

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
    seeds: int = 1,
    settings: tuple[str, ...] = (),
) -> Experiment:
    """An experiment with one bottleneck; `flows`, `wire` (of the bottleneck), `sweep` and `more` are lines of TOML.

    With a trace in `wire`, `rate` is "".
    """
    axes = f"[sweep]\n{sweep}\n" if sweep else ""
    text = f"""\
name = "{name}"
duration = "{duration}"
warmup = "{warmup}"
seeds = {seeds}
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
loss = "{loss}"
{wire}
queue = "{queue}"
{flows}
{more}
{axes}"""
    return Experiment(name, text, settings)


def flow(name: str, tool: str, **fields: str | int) -> str:
    """The lines of a flow from h1 to h2; quotes are put around texts."""
    lines = [f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in fields.items()]
    return "\n".join([f"[flows.{name}]", 'from = "h1"', 'to = "h2"', f'tool = "{tool}"', *lines])
