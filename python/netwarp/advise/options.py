"""Options of the command line → the environment that they describe, estimated where they say nothing."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from netwarp.advise.candidates import CHANGES
from netwarp.advise.environment import Environment, Line, environment_of, environment_of_scenario
from netwarp.advise.errors import AdviceError
from netwarp.advise.estimate import Estimated, estimate
from netwarp.advise.traffic import parse_traffic
from netwarp.scenario import load_scenario
from netwarp.units import (
    parse_duration,
    parse_percent,
    parse_positive_rate,
    parse_size,
)
from netwarp.words import did_you_mean

_USUAL_NS = 12_000_000_000
_ROUND_TRIPS = 100
_LOWEST_BPS = 100_000
_HALF_OF_A_RANGE = 2
_T = TypeVar("_T")


@dataclass(frozen=True)
class Options:
    """What the command line says of the environment, as written."""

    source: str | None = None
    rate: str | None = None
    rtt: str | None = None
    traffic: str | None = None
    loss: str | None = None
    jitter: str | None = None
    buffer: str | None = None
    queue: str | None = None
    cc: str | None = None
    link: str | None = None
    duration: str | None = None


def changes_of(given: Sequence[str], buffer: str | None) -> tuple[str, ...]:
    """What can be changed. Raises AdviceError."""
    words = [word.strip() for text in given for word in text.split(",") if word.strip()]
    if not words:
        return ("sender",) if buffer is not None else ("sender", "queue")
    found: dict[str, None] = {}
    for word in words:
        if word not in (*CHANGES, "both"):
            raise AdviceError(f'"{word}" is not something that can be changed{did_you_mean(word, (*CHANGES, "both"))}')
        found |= dict.fromkeys(("sender", "queue") if word == "both" else (word,))
    if "shaper" in found and "queue" in found:
        del found["queue"]  # a shaper brings its own queue: the line's is never filled
    return tuple(found)


def question_environment(options: Options, changes: Sequence[str]) -> Environment:
    """The environment that the options describe. Raises AdviceError, ScenarioError, StoreError."""
    duration_ns = None if options.duration is None else _read("--duration", options.duration, parse_duration)
    measured = _is_measurement(options.source)
    if options.source is not None and not measured:
        return _of_scenario(options, changes, duration_ns)
    estimated = estimate(Path(options.source)) if options.source is not None else Estimated()
    return _of_line(options, changes, duration_ns, estimated)


def _is_measurement(source: str | None) -> bool:
    return source is not None and Path(source).suffix.lower() in (".pcap", ".pcapng", ".cap", ".arrow", ".arrows")


def _of_scenario(options: Options, changes: Sequence[str], duration_ns: int | None) -> Environment:
    given = {"rate", "rtt", "traffic", "loss", "jitter", "buffer", "queue", "cc"}
    named = sorted(f"--{name}" for name in given if getattr(options, name) is not None)
    if named:
        raise AdviceError(
            f"{' and '.join(named)} cannot be combined with a scenario, which defines this itself; edit the scenario"
        )
    if "shaper" in changes:
        raise AdviceError("--change shaper cannot be combined with a scenario; write the shaper's link into it")
    return environment_of_scenario(load_scenario(str(options.source)), options.link, duration_ns)


def _of_line(options: Options, changes: Sequence[str], duration_ns: int | None, estimated: Estimated) -> Environment:
    if options.link is not None:
        raise AdviceError("--link names a link of a scenario; give the scenario as well")
    missing = [
        f"{what} ({option}{why})"
        for what, option, given, known, why in (
            ("the rate", "--rate", options.rate, estimated.rate_bps, estimated.missing.get("rate", "")),
            ("the RTT", "--rtt", options.rtt, estimated.rtt_ns, estimated.missing.get("RTT", "")),
            ("the traffic", "--traffic", options.traffic, estimated.traffic, estimated.missing.get("traffic", "")),
        )
        if given is None and known is None
    ]
    if missing:
        raise AdviceError(f"the environment is not known without {' and '.join(missing)}")
    rates, trace, rate_spread = _rate(options.rate, estimated)
    rtt_ns, rtt_spread = _rtt(options.rtt, estimated)
    loss = estimated.loss or 0.0 if options.loss is None else _read("--loss", options.loss, parse_percent)
    traffic = estimated.traffic if options.traffic is None else parse_traffic(options.traffic)
    if traffic is None:
        raise AdviceError("the environment is not known without the traffic (--traffic)")
    line = Line(
        rates_bps=rates,
        rtt_ns=rtt_ns,
        traffic=traffic,
        trace=trace,
        loss=loss,
        jitter_ns=0 if options.jitter is None else _read("--jitter", options.jitter, parse_duration),
        queue_now=_queue(options),
        control_now=options.cc or estimated.control or "cubic",
        rate_spread=rate_spread,
        rtt_spread=rtt_spread,
    )
    usual = max(_USUAL_NS, _ROUND_TRIPS * rtt_ns)
    return environment_of(
        line, duration_ns or usual, shapes="shaper" in changes, estimates=estimated.of_those_used(options)
    )


def _read(option: str, text: str, parse: Callable[[str], _T]) -> _T:
    try:
        return parse(text)
    except ValueError as error:
        raise AdviceError(f"{option}: {error}") from None


def _rate(text: str | None, estimated: Estimated) -> tuple[tuple[int, int] | None, str | None, tuple[float, float]]:
    """Rates of both directions, or a trace; and by what factors the rate may differ."""
    if text is None:
        rate = estimated.rate_bps or 0
        low, high = estimated.rate_interval or (0.8 * rate, 1.25 * rate)
        return (rate, rate), None, (min(low / rate, 0.8), max(high / rate, 1.25))
    if not re.match(r"\s*\d", text):
        return None, text, (1.0, 1.0)
    if ".." in text:
        low, high = _range("--rate", text, lambda part: float(parse_positive_rate(part)))
        rate = _at_least(int(math.sqrt(low * high)), text)
        return (rate, rate), None, (low / rate, high / rate)
    down, slash, up = text.partition("/")
    if slash and re.fullmatch(r"\s*[\d.]+\s*", down):
        down += re.sub(r"[\d.\s]", "", up)  # 20/2mbit
    rates = [
        _at_least(_read("--rate", part.strip(), parse_positive_rate), text)
        for part in ((down, up) if slash else (down,))
    ]
    return (rates[0], rates[-1]), None, (0.8, 1.25)


def _at_least(rate: int, text: str) -> int:
    if rate < _LOWEST_BPS:
        raise AdviceError(
            f"--rate {text} is less than 100 kbit/s: a full frame alone takes longer than any goal allows"
        )
    return rate


def _rtt(text: str | None, estimated: Estimated) -> tuple[int, tuple[float, float]]:
    if text is None:
        rtt = estimated.rtt_ns or 0
        low, high = estimated.rtt_interval or (0.8 * rtt, 1.25 * rtt)
        return rtt, (min(low / rtt, 0.8), max(high / rtt, 1.25))
    if ".." in text:
        low, high = _range("--rtt", text, lambda part: float(parse_duration(part)))
        rtt = int(math.sqrt(low * high))
        return rtt, (low / rtt, high / rtt)
    rtt = _read("--rtt", text, parse_duration)
    if rtt <= 0:
        raise AdviceError("--rtt must be longer than 0; on a path without delay there is nothing to choose")
    return rtt, (0.8, 1.25)


def _range(option: str, text: str, parse: Callable[[str], float]) -> tuple[float, float]:
    first, _, last = text.partition("..")
    if re.fullmatch(r"\s*[\d.]+\s*", first):
        first += re.sub(r"[\d.\s]", "", last)
    low, high = (_read(option, part.strip(), parse) for part in (first, last))
    if not 0 < low <= high:
        raise AdviceError(
            f"{option} {text} is not a range; write the lower end first, such as 10mbit..30mbit or 20ms..60ms"
        )
    return low, high


def _queue(options: Options) -> str:
    if options.buffer is None:
        return options.queue or "pfifo limit 1000"
    if options.queue is not None:
        raise AdviceError("--buffer and --queue both describe the present queue; give one of them")
    text = options.buffer.strip().lower().removesuffix("packets").removesuffix("p").strip()
    if text.isdigit():
        if int(text) < 1:
            raise AdviceError("--buffer holds at least one packet")
        return f"pfifo limit {int(text)}"
    size = _read("--buffer", options.buffer, parse_size)
    if size < 1514:
        raise AdviceError(f"--buffer {options.buffer} does not hold a full frame of 1514 bytes")
    return f"bfifo limit {size}"
