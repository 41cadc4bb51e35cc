"""Advice as sentences, tables and JSON."""

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from netwarp.advise.advice import Advice
from netwarp.advise.candidates import NOW, PREFERENCE
from netwarp.advise.environment import MINE
from netwarp.advise.judgement import Difference, Effect, Standing
from netwarp.values.json_values import Json

_SHORT = {
    "rtt_p95": "RTT under load",
    "call_r": "a call's R",
    "web_p95": "requests",
    "download": "download",
    "upload": "upload",
    "energy": "energy",
}
"""Measures of the headline, in its order, and their names there."""


def headline(advice: Advice) -> str:
    """The answer in a sentence, without numbers."""
    if advice.choice.name == NOW:
        ahead = [one for one in advice.standings if one.standing is not Standing.BETTER]
        if not ahead:
            return "Keep what is there now: every other finalist is worse."
        nearest = ahead[0].reversed
        if nearest.standing is Standing.CLOSE:
            return f"Keep what is there now: {nearest.one} is too close to call against it ({_percent(nearest)})."
        words = f"{nearest.one} comes nearest, but is not better by an amount that matters"
        return f"Keep what is there now: {words} ({_percent(nearest)})."
    where = " at your router" if advice.environment.queue_is != MINE and advice.choice.shaped_bps else ""
    return f"Take {advice.choice.name}{where}."


def in_short(advice: Advice) -> str:
    """The effects of the choice for the user: `RTT under load 617 → 32 ms, a call's R 25 → 93`; the score last."""
    effects = {one.measure: one for one in advice.effects}
    parts = []
    for name, words in _SHORT.items():
        if (one := effects.get(name)) is not None:
            unit = f" {one.unit}" if one.unit else ""
            parts.append(f"{words} {significant(one.now, 3)} → {significant(one.then, 3)}{unit}")
    against = advice.against_now
    parts += [f"score {against.percent:+.0f} %"] if against is not None else []
    return ", ".join(parts)


def tie(advice: Advice) -> str:
    """Say that the choice ties with others, and why it was preferred; empty without a tie."""
    if not advice.tied:
        return ""
    names = ", ".join(advice.tied)
    return f"A tie: {names} did as well, within noise. The choice is by preference: {PREFERENCE}."


def cost(advice: Advice) -> str:
    """Say how much throughput the shapers cost; empty without shapers."""
    effects = {one.measure: one for one in advice.effects}
    parts = []
    for at, name in enumerate(("download", "upload")):
        one = effects.get(name)
        if one is not None and one.now > 0:
            parts.append(f"{name} {one.now:.3g} → {one.then:.3g} Mbit/s ({100 * (one.then / one.now - 1):+.1f} %)")
        elif advice.choice.shares is not None:
            parts.append(f"{name} at most {100 * advice.choice.shares[at]:g} % of the line")
    return f"Cost in throughput: {', '.join(parts)}." if advice.choice.shaped_bps is not None else ""


def _percent(one: Difference) -> str:
    return f"score {_signed(one.percent)} % [{_signed(one.low)}, {_signed(one.high)}]"


def _signed(value: float) -> str:
    """Format a number with a sign and one digit; 0 has no sign."""
    return "0.0" if abs(value) < 0.05 else f"{value:+.1f}"


def standing_sentences(advice: Advice) -> Iterator[str]:
    """Say how the choice compares with every other finalist."""
    for one in advice.standings:
        words = f"{one.other}: {_percent(one)}"
        match one.standing:
            case Standing.BETTER:
                yield f"better than {words}, p = {one.p:.3f}"
            case Standing.WORSE:
                yield f"worse than {words}, p = {one.p:.3f}, which breaks a limit"
            case Standing.SAME:
                yield f"the same as {words}: no difference of 2 % or more is left"
            case Standing.CLOSE:
                more = f"; about {one.needed} seeds would settle it" if one.needed else ""
                yield f"too close to call against {words}, p = {one.p:.3f}{more}"


def effect_sentence(one: Effect) -> str:
    """Say how the choice changes a measure."""
    unit = f" {one.unit}" if one.unit else ""
    word = {True: "gain", False: "cost", None: "no clear difference"}[one.gain]
    shift, low, high = (significant(value, 3, "+") for value in (one.shift, one.low, one.high))
    now, then = significant(one.now, 4), significant(one.then, 4)
    return f"{one.words}: {now} → {then}{unit}, {shift} [{low}, {high}]{unit} ({word})"


def significant(value: float, digits: int, sign: str = "") -> str:
    """A value with this many significant digits, or all digits before the point: 2760.4 → `2760`, not `2.76e+03`."""
    is_long = 10**digits <= abs(float(f"{value:.{digits}g}")) < math.inf
    return f"{value:{sign}.0f}" if is_long else f"{value:{sign}.{digits}g}"


def as_json(advice: Advice) -> dict[str, Json]:
    """The whole advice as JSON, for programs."""
    environment = advice.environment
    content = {
        "choice": advice.choice.name,
        "headline": headline(advice),
        "in_short": in_short(advice),
        "tied": list(advice.tied),
        "environment": {
            "words": environment.words,
            "rates_bps": environment.rates_bps,
            "rtt_ms": environment.rtt_ns / 1e6,
            "queue_is": environment.queue_is,
            "assumed": environment.assumed,
            "estimates": [asdict(one) for one in environment.estimates],
        },
        "goal": advice.goal,
        "weights": dict(advice.weights),
        "settings": dict(advice.choice.settings),
        "standings": [asdict(one) for one in advice.standings],
        "against_now": asdict(advice.against_now) if advice.against_now else None,
        "effects": [{**asdict(one), "gain": one.gain} for one in advice.effects],
        "limits": [
            {"limit": one.limit.text, "median": one.median, "met": one.met, "broken": one.broken, "seeds": one.seeds}
            for one in advice.limits
        ],
        "candidates": [asdict(one) for one in advice.places],
        "dropped": [asdict(one) for one in advice.dropped],
        "rejected": [{"name": name, "why": why} for name, why in advice.rejected],
        "flips": [asdict(one) for one in advice.flips],
        "warnings": list(advice.warnings),
        "situations": [{"name": one.name, "words": one.words, "weight": one.weight} for one in advice.situations],
        "worst": {name: {"situation": where, "behind_pct": gap} for name, (where, gap) in advice.worst.items()},
        **{name: list(lines) for name, lines in asdict(advice.commands).items()},
        "seeds": list(advice.seeds),
        "runs": advice.runs,
    }
    finite: dict[str, Json] = _finite(content)
    return finite


def _finite(value: Any) -> Any:
    """Replace numbers that JSON does not have by null."""
    if isinstance(value, dict):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
