"""Advice as sentences, tables and JSON."""

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from netwarp.advise.advice import Advice
from netwarp.advise.candidates import NOW
from netwarp.advise.judgement import Difference, Effect, Standing


def headline(advice: Advice) -> str:
    """The answer in a sentence."""
    if advice.choice.name == NOW:
        ahead = [one for one in advice.standings if one.standing is not Standing.BETTER]
        if not ahead:
            return "Keep what is there now: every other finalist is worse."
        nearest = ahead[0].reversed
        if nearest.standing is Standing.CLOSE:
            return f"Keep what is there now: {nearest.one} is too close to call against it ({_percent(nearest)})."
        words = f"{nearest.one} comes nearest, but is not better by an amount that matters"
        return f"Keep what is there now: {words} ({_percent(nearest)})."
    against = advice.against_now
    gain = f", {_percent(against)} against what is there now" if against is not None else ""
    return f"Take {advice.choice.name}{gain}."


def _percent(one: Difference) -> str:
    return f"score {one.percent:+.1f} % [{one.low:+.1f}, {one.high:+.1f}]"


def standing_sentences(advice: Advice) -> Iterator[str]:
    """How the choice stands to every other finalist."""
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
    """What the choice does to a measure."""
    unit = f" {one.unit}" if one.unit else ""
    word = {True: "gain", False: "cost", None: "no clear difference"}[one.gain]
    return (
        f"{one.words}: {one.now:.4g} → {one.then:.4g}{unit}, {one.shift:+.3g} [{one.low:+.3g}, {one.high:+.3g}]"
        f"{unit} ({word})"
    )


def as_json(advice: Advice) -> dict[str, Any]:
    """Everything, for programs."""
    environment = advice.environment
    content = {
        "choice": advice.choice.name,
        "headline": headline(advice),
        "environment": {
            "words": environment.words,
            "rates_bps": environment.rates_bps,
            "rtt_ms": environment.rtt_ns / 1e6,
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
        "apply": list(advice.apply),
        "undo": list(advice.undo),
        "seeds": list(advice.seeds),
        "runs": advice.runs,
    }
    finite: dict[str, Any] = _finite(content)
    return finite


def _finite(value: Any) -> Any:
    """The value with null in place of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
