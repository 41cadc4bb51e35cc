"""Recordings of `netwarp watch` in the form that an experiment has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def samples(control: str, rates_mbps: Sequence[float]) -> list[dict[str, Any]]:
    """Three samples each of connections to port 5201 that deliver this many Mbit/s for 2 s."""
    return [
        {
            "time_s": time_s,
            "cookie": number,
            "source": "10.0.0.1",
            "source_port": 40000 + number,
            "destination": "10.0.1.1",
            "destination_port": 5201,
            "congestion_control": control,
            "bytes_acked": int(rate * 125_000 * time_s),
            "bytes_sent": int(rate * 125_000 * time_s),
        }
        for number, rate in enumerate(rates_mbps)
        for time_s in (0.0, 1.0, 2.0)
    ]
