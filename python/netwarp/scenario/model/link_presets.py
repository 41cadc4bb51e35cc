"""Presets of links: access lines of users, from the provider (the first end) to the user (the second).

Each number has its source beside it; docs/scenario.md shows this table. The traces are models
(`netwarp.traces.generate`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

PresetName = Literal["dsl", "cable", "3g", "lte", "wifi", "satellite-leo", "satellite-geo"]


@dataclass(frozen=True)
class LinkPreset:
    """Fields of a link in a file's syntax, and their source."""

    fields: Mapping[str, Any]
    source: str


_WEBPAGETEST = "WebPageTest, `connectivity.ini.sample`"
_STARLINK = "F. Michel et al., A First Look at Starlink Performance, IMC 2022"

LINK_PRESETS: Mapping[PresetName, LinkPreset] = {
    "dsl": LinkPreset(
        {"rate": {"forward": "1.5mbit", "reverse": "384kbit"}, "delay": "25ms"},
        f"{_WEBPAGETEST}, `DSL`: 1.5 Mbit/s, 384 kbit/s, 50 ms RTT",
    ),
    "cable": LinkPreset(
        {"rate": {"forward": "5mbit", "reverse": "1mbit"}, "delay": "14ms"},
        f"{_WEBPAGETEST}, `Cable`: 5 and 1 Mbit/s, 28 ms RTT",
    ),
    "3g": LinkPreset(
        {"rate": {"forward": "1.6mbit", "reverse": "768kbit"}, "delay": "150ms"},
        f"{_WEBPAGETEST}, `3G`: 1.6 Mbit/s, 768 kbit/s, 300 ms RTT",
    ),
    "lte": LinkPreset(
        {"trace": {"forward": "lte"}, "rate": {"reverse": "12mbit"}, "delay": "35ms"},
        f"the shipped trace `lte`, to the user; {_WEBPAGETEST}, `LTE`: 12 Mbit/s, 70 ms RTT",
    ),
    "wifi": LinkPreset(
        {"trace": "wifi", "delay": "1ms"},
        "the shipped trace `wifi`, in both directions; Firefox's profile `Wi-Fi` for throttling: 2 ms",
    ),
    "satellite-leo": LinkPreset(
        {
            "trace": {"forward": "satellite"},
            "rate": {"reverse": "12mbit"},
            "delay": {"forward": "0ms", "reverse": "20ms"},
        },
        "the shipped trace `satellite`, to the user, which has handovers, delays of 12 to 30 ms and losses; from the "
        "user a tenth of its mean rate and the middle of its delays, which are assumptions",
    ),
    "satellite-geo": LinkPreset(
        {"rate": {"forward": "100mbit", "reverse": "10mbit"}, "delay": "300ms"},
        f"{_STARLINK}: the geostationary access of its comparison, 100 and 10 Mbit/s, with the minimum of about 600 ms "
        "RTT that it cites",
    ),
}


def with_preset(link: Mapping[str, Any], name: PresetName) -> dict[str, Any]:
    """The fields of a link together with those of its preset that it does not have. A rate replaces a trace of the
    preset, and a trace its rate."""
    given = dict(LINK_PRESETS[name].fields)
    if "rate" in link:
        given.pop("trace", None)
    if "trace" in link:
        given.pop("rate", None)
    return {**given, **link}
