"""The user's smallest differences that matter: `flow.rtt_*=5%`, `flow.goodput_mbps=0.2`."""

from netwarp.analysis.catalogue.entry import MinEffect
from netwarp.store.errors import SelectionError


def parse_min_effect(text: str) -> tuple[str, MinEffect]:
    """Parse `PATTERN=SIZE` into the pattern and the size. Raises SelectionError."""
    pattern, equals, size = text.partition("=")
    number = size.strip().removesuffix("%")
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not pattern or not equals or not 0 <= value < float("inf"):
        raise SelectionError(f'"{text}" is not METRIC=SIZE, such as flow.rtt_ms_p95=5% or flow.goodput_mbps=0.2')
    return pattern.strip(), MinEffect(value / 100, 0.0) if size.strip().endswith("%") else MinEffect(0.0, value)
