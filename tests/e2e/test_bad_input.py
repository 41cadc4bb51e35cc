"""Bad input is refused in one sentence that names the place and the fix, and leaves nothing behind."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from e2e_command import Answer, netwarp
from e2e_scenarios import BULK, dumbbell

GOOD = dumbbell()

# The scenario's text, and words that its refusal must have: the place, and the right form.
INVALID: dict[str, tuple[str, list[str]]] = {
    "broken TOML": (GOOD.replace('name = "e2e"', 'name = "e2e'), ["scenario.toml:2:", "not TOML"]),
    "unknown field": (GOOD.replace("delay =", "dealy ="), ["links.bottleneck.dealy", 'mean "delay"']),
    "unknown node": (GOOD.replace('to = "h2"', 'to = "h3"'), ["flows.bulk.to", 'no node "h3"', "known: h1, r1, h2"]),
    "one end": (GOOD.replace('ends = ["r1", "h2"]', 'ends = ["r1"]'), ["links.bottleneck.ends", "exactly two ends"]),
    "rate 0": (GOOD.replace('rate = "10mbit"', 'rate = "0mbit"'), ["links.bottleneck.rate", "10mbit"]),
    "bytes per second": (GOOD.replace('"10mbit"', '"10mbps"'), ["links.bottleneck.rate", "BYTES per second", "10mbit"]),
    "no unit": (GOOD.replace('"10mbit"', '"10"'), ["links.bottleneck.rate", "10mbit"]),
    "negative delay": (GOOD.replace('"10ms"', '"-10ms"'), ["links.bottleneck.delay", "negative"]),
    "absurdly long": (GOOD.replace('duration = "10s"', 'duration = "10000d"'), ["duration"]),
    "no time at all": (GOOD.replace('duration = "10s"', 'duration = "0s"'), ["duration", "longer than 0"]),
    "no flow": (dumbbell(flows=""), ["flows", "add a flow"]),
    "to itself": (GOOD.replace('to = "h2"', 'to = "h1"'), ["flows.bulk.to", "itself"]),
    "cut off": (GOOD.replace("forward = true", "forward = false"), ["flows.bulk.to", "forward = true"]),
    "late start": (dumbbell(flows=BULK + 'start = "11s"'), ["flows.bulk.start", "over"]),
    "unknown tool": (GOOD.replace('tool = "bulk"', 'tool = "bluk"'), ["flows.bulk", "bulk"]),
    "field of another tool": (dumbbell(flows=BULK + 'interval = "1s"'), ["flows.bulk.interval", "ping"]),
    "both ends of a duration": (dumbbell(flows=BULK + 'bytes = "1MB"\nduration = "1s"'), ["bytes", "duration"]),
    "sweep of nothing": (dumbbell(tail='[sweep]\n"links.nosuch.rate" = ["1mbit"]'), ["nosuch"]),
    "empty": ("", ["name", "duration"]),
}


def _refused(answer: Answer, result: Path, words: list[str], code: int = 2) -> None:
    """One clear message, no traceback, and no result."""
    assert answer.code == code, answer.err
    assert "Traceback" not in answer.err
    assert answer.err.count("error:") == 1, answer.err
    for word in words:
        assert word in answer.words, answer.err
    assert answer.out == ""
    assert not result.exists()


def _run(tmp_path: Path, text: str | bytes, *arguments: str) -> tuple[Answer, Path]:
    file, result = tmp_path / "scenario.toml", tmp_path / "result"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return netwarp("run", file, "--no-plots", "-o", result, *arguments), result


@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_scenario_is_refused(tmp_path: Path, case: str) -> None:
    text, words = INVALID[case]
    _refused(*_run(tmp_path, text), words)


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes_are_refused(tmp_path: Path, seed: int) -> None:
    noise = random.Random(seed).randbytes(3000)
    _refused(*_run(tmp_path, noise), ["scenario.toml"])


def test_random_text_is_refused(tmp_path: Path) -> None:
    draw = random.Random(1)
    _refused(*_run(tmp_path, "".join(chr(draw.randrange(32, 0x2FFF)) for _ in range(3000))), ["scenario.toml", "TOML"])


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--set", "links.bottleneck.rate=0mbit"], "links.bottleneck.rate"),
        (["--set", "links.bottelneck.rate=1mbit"], "bottleneck"),
        (["--set", "nonsense"], "nonsense"),
        (["--seeds", "0"], "--seeds"),
        (["--jobs", "0"], "--jobs"),
        (["--case", "nosuch"], "nosuch"),
    ],
)
def test_bad_arguments_are_refused(tmp_path: Path, arguments: list[str], word: str) -> None:
    _refused(*_run(tmp_path, GOOD, *arguments), [word])


def test_a_scenario_that_is_not_there(tmp_path: Path) -> None:
    result = tmp_path / "result"
    _refused(netwarp("run", tmp_path / "nosuch.toml", "-o", result), result, ["nosuch.toml", "no such file"])
    _refused(netwarp("run", "bufferblot", "-o", result), result, ["bufferblot", 'mean "bufferbloat"'])
    _refused(netwarp("run", tmp_path, "-o", result), result, ["directory"])


@pytest.mark.parametrize("arguments", [["run"], ["nosuch"], ["run", "bufferbloat", "--nosuch"]])
def test_wrong_usage(arguments: list[str]) -> None:
    answer = netwarp(*arguments)
    assert answer.code == 2
    assert "Traceback" not in answer.err
