"""The ranges of transfer sizes by which completion times are told apart."""

from math import inf

SIZES: dict[str, tuple[float, float]] = {
    "to_10kb": (0, 10e3),
    "10kb_to_100kb": (10e3, 100e3),
    "100kb_to_1mb": (100e3, 1e6),
    "above_1mb": (1e6, inf),
}
"""Ranges of sizes in bytes, without the smaller bound and with the larger one, by their part in names of metrics."""
