"""Options of the command line → the environment that they describe, with estimates for missing options."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from netwarp.advise.buffers import CHANGE as BUFFER
from netwarp.advise.candidates import CHANGES
from netwarp.advise.described import environment_of_scenario
from netwarp.advise.environment import MINE, MODEM, OWNERS, Environment, Line, environment_of
from netwarp.advise.errors import AdviceError
from netwarp.advise.estimate import Estimated, estimate
from netwarp.advise.path_trace import read_path
from netwarp.advise.traffic import parse_traffic
from netwarp.common.words import did_you_mean
from netwarp.scenario import load_scenario
from netwarp.values.units import (
    parse_duration,
    parse_percent,
    parse_positive_rate,
    parse_size,
)

_USUAL_NS = 12_000_000_000
_ROUND_TRIPS = 100
_STEP_NS = 100_000_000
_FAST_BITS = 1_200_000_000
_LEAST_NS, _LEAST_ROUND_TRIPS = 4_000_000_000, 60
_SHAPED_SPREAD = (0.95, 1.05)
"""The factors by which a rate may differ from the stated one if shapers are set by it, because it was measured."""
_LOWEST_BPS = 100_000
_T = TypeVar("_T")


@dataclass(frozen=True)
class Options:
    """Options of the command line that describe the environment, as written."""

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
    queue_is: str | None = None
    own_ends: bool = False


@dataclass(frozen=True)
class Ownership:
    """The owner of the queue that fills, and the sentence that says why, if the owner was assumed."""

    queue_is: str
    assumed: str = ""


def ownership_of(options: Options, given: Sequence[str]) -> Ownership:
    """Return the queue's owner: as stated, or assumed from possible changes and from the rates. Raises AdviceError."""
    if options.queue_is is not None:
        if options.queue_is not in OWNERS:
            raise AdviceError(
                f'--queue-is "{options.queue_is}" is not an owner{did_you_mean(options.queue_is, OWNERS)}'
            )
        if options.queue_is != MINE and options.source is not None and not _is_measurement(options.source):
            raise AdviceError(
                f"--queue-is {options.queue_is} cannot be combined with a scenario; write the router into it"
            )
        return Ownership(options.queue_is)
    changed = ",".join(given)
    if options.source is not None and not _is_measurement(options.source):
        return Ownership(MINE)
    if "shaper" in changed:
        return Ownership(
            MODEM, "a shaper is for a queue that cannot be changed, so the queue is taken to be the modem's"
        )
    rates = _rate(options.rate, Estimated())[0] if options.rate is not None else None
    named = [word for word in ("queue", "both", BUFFER) if word in changed]
    if rates is not None and rates[0] != rates[1] and not named:
        if options.buffer is not None and not given:
            return Ownership(MODEM, "")
        why = "different rates down and up are those of an access line, so the queues that fill are taken to be"
        return Ownership(MODEM, f"{why} the modem's and the provider's; if they are yours: --queue-is mine")
    return Ownership(MINE, "the queue that fills is taken to be yours; if it is not: --queue-is modem, or provider")


def changes_of(given: Sequence[str], buffer: str | None, queue_is: str = MINE) -> tuple[str, ...]:
    """Return the possible changes. Raises AdviceError."""
    words = [word.strip() for text in given for word in text.split(",") if word.strip()]
    if words == [BUFFER]:
        return (BUFFER,)
    if BUFFER in words:
        raise AdviceError("--change buffer searches for the smallest buffer; it cannot be combined with other changes")
    if not words:
        if queue_is != MINE:
            return ("shaper",)
        return ("sender",) if buffer is not None else ("sender", "queue")
    found: dict[str, None] = {}
    for word in words:
        if word not in (*CHANGES, "both"):
            raise AdviceError(
                f'"{word}" is not something that can be changed{did_you_mean(word, (*CHANGES, "both", BUFFER))}'
            )
        found |= dict.fromkeys(("sender", "queue") if word == "both" else (word,))
    if "shaper" in found and "queue" in found:
        del found["queue"]  # a shaper brings its own queue: the line's is never filled
    return tuple(found)


def default_goal(environment: Environment) -> str:
    """Return the goal if none was given: calls or the web, if nothing else is sent; otherwise latency."""
    roles = environment.roles
    if roles.bulk or roles.upload:
        return "latency"
    return "calls" if roles.call else "web" if roles.web else "latency"


def question_environment(options: Options, changes: Sequence[str], owner: Ownership = Ownership(MINE)) -> Environment:
    """Return the environment that the options describe. Raises AdviceError, ScenarioError, StoreError."""
    duration_ns = None if options.duration is None else _read("--duration", options.duration, parse_duration)
    measured = _is_measurement(options.source)
    if options.source is not None and not measured:
        return _of_scenario(options, changes, duration_ns)
    estimated = estimate(Path(options.source)) if options.source is not None else Estimated()
    return _of_line(options, owner, duration_ns, estimated)


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


def _of_line(options: Options, owner: Ownership, duration_ns: int | None, estimated: Estimated) -> Environment:
    if options.link is not None:
        raise AdviceError("--link names a link of a scenario; give the scenario as well")
    rates, trace, rate_spread = (
        _rate(options.rate, estimated) if _known(options, estimated) else (None, None, (1.0, 1.0))
    )
    path = None if trace is None else read_path(trace)
    delay_ns = None if path is None else path.delay_ns
    if options.rtt is None and delay_ns is not None:
        rtt_ns, rtt_spread = 2 * delay_ns, (0.8, 1.25)
    else:
        rtt_ns, rtt_spread = _rtt(options.rtt, estimated)
    if delay_ns is not None:
        rtt_ns = max(rtt_ns, 2 * delay_ns)
    loss = estimated.loss or 0.0 if options.loss is None else _read("--loss", options.loss, parse_percent)
    traffic = estimated.traffic if options.traffic is None else parse_traffic(options.traffic)
    if traffic is None:
        raise AdviceError("the environment is not known without the traffic (--traffic)")
    if owner.queue_is != MINE and rate_spread == (0.8, 1.25):
        rate_spread = _SHAPED_SPREAD
    line = Line(
        rates_bps=rates,
        rtt_ns=rtt_ns,
        traffic=traffic,
        trace=trace,
        trace_delay_ns=delay_ns,
        mean_bps=None if path is None else path.mean_bps,
        loss=loss,
        jitter_ns=0 if options.jitter is None else _read("--jitter", options.jitter, parse_duration),
        queue_now=_queue(options),
        control_now=options.cc or estimated.control or "cubic",
        queue_is=owner.queue_is,
        assumed=owner.assumed,
        own_ends=options.own_ends,
        rate_spread=rate_spread,
        rtt_spread=rtt_spread,
    )
    return environment_of(
        line, duration_ns or usual_duration_ns(line.usual_bps, rtt_ns), estimates=estimated.of_those_used(options)
    )


def _known(options: Options, estimated: Estimated) -> bool:
    """Refuse options that leave a value unknown. Raises AdviceError."""
    trace = options.rate is not None and not re.match(r"\s*\d", options.rate)
    has_delay = trace and read_path(str(options.rate)).delay_ns is not None
    missing = [
        f"{what} ({option}{why})"
        for what, option, given, known, why in (
            ("the rate", "--rate", options.rate, estimated.rate_bps, estimated.missing.get("rate", "")),
            ("the RTT", "--rtt", options.rtt, estimated.rtt_ns or has_delay or None, estimated.missing.get("RTT", "")),
            ("the traffic", "--traffic", options.traffic, estimated.traffic, estimated.missing.get("traffic", "")),
        )
        if given is None and known is None
    ]
    if missing:
        raise AdviceError(f"the environment is not known without {' and '.join(missing)}")
    return True


def usual_duration_ns(rates_bps: tuple[int, int], rtt_ns: int) -> int:
    """Return the duration of a run: 12 s, or 100 RTTs if that is longer; less above 100 Mbit/s, where seconds have as
    many packets as minutes below, but never less than 60 RTTs or 4 s."""
    usual = max(_USUAL_NS, _ROUND_TRIPS * rtt_ns)
    fast = _FAST_BITS * 10**9 // max(rates_bps)
    least = max(_LEAST_NS, _LEAST_ROUND_TRIPS * rtt_ns)
    return -(-min(usual, max(fast, least)) // _STEP_NS) * _STEP_NS


def _read(option: str, text: str, parse: Callable[[str], _T]) -> _T:
    try:
        return parse(text)
    except ValueError as error:
        raise AdviceError(f"{option}: {error}") from None


def _rate(text: str | None, estimated: Estimated) -> tuple[tuple[int, int] | None, str | None, tuple[float, float]]:
    """Parse the rates of both directions, or a trace, and the factors by which the rate may differ."""
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
            f"--rate {text} is less than 100 kbit/s: a single full frame takes longer than any goal allows"
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
            raise AdviceError("--buffer must hold at least one packet")
        return f"pfifo limit {int(text)}"
    size = _read("--buffer", options.buffer, parse_size)
    if size < 1514:
        raise AdviceError(f"--buffer {options.buffer} does not hold a full frame of 1514 bytes")
    return f"bfifo limit {size}"
