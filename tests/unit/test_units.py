"""Units: exact, ordered, and refused with a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.lab_format.wires.netem import FourState, GilbertElliott, Jitter, RandomLoss, parse_jitter, parse_loss
from netwarp.values import units


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [
        ("10mbit", 10**7),
        ("1.5gbit", 15 * 10**8),
        ("8bit", 8),
        ("1tbit", 10**12),
        ("10 kbit", 10**4),
        ("2Mbit", 2 * 10**6),
    ],
)
def test_rates(text: str, rate_bps: int) -> None:
    assert units.parse_rate(text) == rate_bps


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [("1ns", 1), ("2.5us", 2500), ("10ms", 10**7), ("0s", 0), ("1min", 60 * 10**9), ("0.1h", 360 * 10**9)],
)
def test_durations(text: str, duration_ns: int) -> None:
    assert units.parse_duration(text) == duration_ns


@pytest.mark.parametrize(
    ("value", "size_bytes"),
    [("10MB", 10**7), ("1KiB", 1024), (1472, 1472), ("0B", 0), ("1.5kB", 1500), ("2GiB", 2**31)],
)
def test_sizes(value: object, size_bytes: int) -> None:
    assert units.parse_size(value) == size_bytes


def test_memory_is_binary() -> None:
    assert units.parse_memory("128M") == 128 * 2**20
    assert units.parse_memory("1GiB") == 2**30


def test_percent() -> None:
    assert units.parse_percent("0.5%") == 0.005
    assert units.parse_percent("100%") == 1.0


@pytest.mark.parametrize(
    ("parse", "value", "fragment"),
    [
        (units.parse_rate, "10mbps", 'BYTES per second by "mbps"; write "10mbit"'),
        (units.parse_rate, "5 kbps", '"5 kbit"'),
        (units.parse_rate, "1bps", '"1bit"'),
        (units.parse_rate, "10", "has no unit"),
        (units.parse_rate, 10, "has no unit"),
        (units.parse_rate, True, "text with a unit"),
        (units.parse_rate, "10mib", 'unknown unit "mib"'),
        (units.parse_rate, "-1mbit", "is negative"),
        (units.parse_rate, "nan", "is not a rate"),
        (units.parse_rate, "infmbit", "is not a rate"),
        (units.parse_rate, "1e3mbit", "is not a rate"),
        (units.parse_rate, "", "is not a rate"),
        (units.parse_rate, "٣mbit", "is not a rate"),
        (units.parse_rate, "0.5bit", "whole number of bit/s"),
        (units.parse_rate, "11tbit", "beyond any link"),
        (units.parse_rate, "9" * 500 + "mbit", "is not a rate"),
        (units.parse_positive_rate, "0mbit", "a rate of 0"),
        (units.parse_positive_rate, "7bit", "minimum is 8bit"),
        (units.parse_duration, "-3ms", "is negative"),
        (units.parse_duration, "3", "has no unit"),
        (units.parse_duration, "0.5ns", "whole number of nanoseconds"),
        (units.parse_duration, "0.123456789012345678901234567890s", "whole number of nanoseconds"),
        (units.parse_duration, "10000h", "longer than a year"),
        (units.parse_duration, [1], "text with a unit"),
        (units.parse_size, "10mb", 'unknown unit "mb"'),
        (units.parse_size, -1, "between 0 and"),
        (units.parse_size, "9999999GB", "petabyte"),
        (units.parse_memory, "128", "is not a memory size"),
        (units.parse_memory, 128, "has no unit"),
        (units.parse_percent, "0.5", "percent sign"),
        (units.parse_percent, 0.5, "percent sign"),
        (units.parse_percent, "101%", "more than 100%"),
        (units.parse_percent, "-1%", "is negative"),
    ],
)
def test_refused(parse: object, value: object, fragment: str) -> None:
    assert callable(parse)
    with pytest.raises(ValueError) as refusal:
        parse(value)
    assert fragment in str(refusal.value)
    assert len(str(refusal.value)) < 300


@settings(deadline=None)
@given(st.integers(0, units.MAX_RATE_BPS))
def test_rate_round_trip(rate_bps: int) -> None:
    assert units.parse_rate(units.format_rate(rate_bps)) == rate_bps


@settings(deadline=None)
@given(st.integers(0, units.MAX_DURATION_NS))
def test_duration_round_trip(duration_ns: int) -> None:
    assert units.parse_duration(units.format_duration(duration_ns)) == duration_ns


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_percent_round_trip(billionths: int) -> None:
    fraction = billionths / 10**9
    assert units.parse_percent(units.format_percent(fraction)) == fraction


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from(["kbit", "mbit"]))
def test_rate_keeps_order(a: int, b: int, unit: str) -> None:
    assert (units.parse_rate(f"{a}{unit}") <= units.parse_rate(f"{b}{unit}")) == (a <= b)


@settings(deadline=None)
@given(st.decimals("0", "1000", places=3), st.sampled_from(list(units.DURATION_UNITS.items())))
def test_duration_is_exact(number: object, unit: tuple[str, int]) -> None:
    thousandths = int(str(number).replace(".", ""))
    if thousandths * unit[1] % 1000 == 0:
        assert units.parse_duration(f"{number}{unit[0]}") * 1000 == thousandths * unit[1]


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for parse in (units.parse_rate, units.parse_duration, units.parse_size, units.parse_percent, parse_loss):
        try:
            parse(text)
        except ValueError as refusal:
            assert str(refusal)


def test_negative_is_not_formatted() -> None:
    with pytest.raises(ValueError):
        units.format_rate(-1)


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("0%", RandomLoss(p=0)),
        ("0.5%", RandomLoss(p=0.005)),
        ("0.5% 25%", RandomLoss(p=0.005, correlation=0.25)),
        ("random 1%", RandomLoss(p=0.01)),
        ("1% ecn", RandomLoss(p=0.01, ecn=True)),
        ("random 1% 25% ecn", RandomLoss(p=0.01, correlation=0.25, ecn=True)),
        ("gemodel 1%", GilbertElliott(p=0.01, r=0.99, one_minus_h=1, one_minus_k=0)),
        ("gemodel 1% 10%", GilbertElliott(p=0.01, r=0.1, one_minus_h=1, one_minus_k=0)),
        ("gemodel 1% 10% 70% 0.1%", GilbertElliott(p=0.01, r=0.1, one_minus_h=0.7, one_minus_k=0.001)),
        ("state 2%", FourState(p13=0.02, p31=0.98, p32=0, p23=1, p14=0)),
        ("state 1% 2% 3% 4% 5%", FourState(p13=0.01, p31=0.02, p32=0.03, p23=0.04, p14=0.05)),
    ],
)
def test_loss(text: str, model: object) -> None:
    parsed = parse_loss(text)
    assert parsed == model
    assert parse_loss(parsed.words()) == parsed


@pytest.mark.parametrize(
    "text",
    ["", "1", "1% 2% 3%", "gemodel", "gemodel 1% 2% 3% 4% 5%", "state x", "burst 1%", "ecn", "gemodel 1% ecn", None],
)
def test_loss_refused(text: object) -> None:
    with pytest.raises(ValueError):
        parse_loss(text)


@pytest.mark.parametrize(
    ("text", "jitter"),
    [
        ("2ms", Jitter(ns=2 * 10**6)),
        ("2ms normal", Jitter(ns=2 * 10**6, distribution="normal")),
        ("2ms 25%", Jitter(ns=2 * 10**6, correlation=0.25)),
        ("2ms 25% distribution pareto", Jitter(ns=2 * 10**6, correlation=0.25, distribution="pareto")),
    ],
)
def test_jitter(text: str, jitter: Jitter) -> None:
    assert parse_jitter(text) == jitter
    assert parse_jitter(jitter.words()) == jitter


@pytest.mark.parametrize("text", ["", "2", "2ms gauss", "2ms normal extra", 5])
def test_jitter_refused(text: object) -> None:
    with pytest.raises(ValueError):
        parse_jitter(text)
