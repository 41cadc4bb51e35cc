"""Speech codecs: their rates, and their parameters in the E-model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args


@dataclass(frozen=True)
class Codec:
    """A codec of speech with a constant rate.

    `impairment` is the equipment impairment factor Ie, and `robustness` the packet-loss robustness factor Bpl (ITU-T
    G.113, Appendix I, tables I.1 and I.4). `lookahead_ms` is the speech that it must hear beyond a frame (G.114, table
    I.4).
    """

    rate_bps: int
    impairment: float
    robustness: float
    lookahead_ms: float = 0.0


CodecName = Literal["g711", "g711-plain", "g729", "gsm-efr"]
CODECS: Mapping[CodecName, Codec] = {
    "g711": Codec(64_000, 0, 25.1),
    "g711-plain": Codec(64_000, 0, 4.3),
    "g729": Codec(8_000, 11, 19.0, 5.0),
    "gsm-efr": Codec(12_200, 5, 10.0),
}
"""G.711 with and without concealment of losses (its Appendix I), G.729A with voice activity detection, GSM EFR."""
if set(CODECS) != set(get_args(CodecName)):
    raise TypeError("each codec's name has an entry")
