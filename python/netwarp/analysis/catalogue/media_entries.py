"""Metrics of media streams (`media`): playout, the E-model, and the rate of adaptive ones."""

from netwarp.analysis.catalogue.entry import HIGHER, LOWER, Axis, Entry, entry

_SENT = "datagrams by when they are sent, in the flow's time in the window; those whose fate is known, as of `loss_pct`"
_PLAYOUT = "`datagrams`, `run.json`"

MEDIA_ENTRIES: tuple[Entry, ...] = (
    entry(
        "late_pct",
        "100 × packets that arrived after their playout / sent ones. The time from sending to playout is the flow's "
        "`deadline`, or else, for each second, the median one-way delay of the packets that arrived in the second "
        "before it, plus the flow's `playout`; in the first second the delay of the first packet, plus `playout`",
        "packets",
        _PLAYOUT,
        better=LOWER,
        min_effect=(0.2, 0.1),
        basis=_SENT,
        axis=Axis("late packets", "%"),
    ),
    entry(
        "media_loss_pct",
        "100 × packets that arrived after their playout or never / sent ones: `late_pct` plus what the network lost",
        "packets",
        _PLAYOUT,
        better=LOWER,
        min_effect=(0.2, 0.1),
        basis=_SENT,
        axis=Axis("packets lost or late", "%"),
        main={"media_loss_pct": "lost or\nlate %"},
        overview="media_loss_pct",
    ),
    entry(
        "mouth_to_ear_ms: mean",
        "mean of the time from a sound, or the beginning of a picture's frame, to its playout: the frame's interval, "
        "the codec's lookahead, and the time from sending to playout (see `late_pct`)",
        "packets",
        _PLAYOUT,
        better=LOWER,
        min_effect=(0.05, 1),
        basis=_SENT,
        axis=Axis("mouth-to-ear delay", "ms"),
        main={"mouth_to_ear_ms_mean": "mouth to\near ms"},
        overview="mouth_to_ear_ms_mean",
    ),
    entry(
        "r_factor",
        "the E-model's rating R = 93.2 − Idd − Ie,eff (ITU-T G.107, all other parameters at their defaults, echo "
        "perfectly cancelled): Idd of `mouth_to_ear_ms_mean`; Ie,eff of the codec's Ie and Bpl (G.113, Appendix I), "
        "of `media_loss_pct` and BurstR, the mean length of bursts of losses in place of that of independent ones, "
        "between 1 and 2. Absent without a `codec`, and above a `media_loss_pct` of 20, up to which the Recommendation "
        "defines it",
        "packets",
        _PLAYOUT,
        better=HIGHER,
        min_effect=(0.0, 2.0),
        basis="as its parts",
        axis=Axis("R"),
    ),
    entry(
        "mos",
        "the mean opinion score that the E-model gives for R (G.107, Annex B): 1 + 0.035 R + R (R − 60) (100 − R) "
        "7e-6, 1 below R = 0 and 4.5 from 100 on",
        "as `r_factor`",
        _PLAYOUT,
        better=HIGHER,
        min_effect=(0.0, 0.1),
        basis="as its parts",
        axis=Axis("mean opinion score"),
        digits=2,
        main={"mos": "MOS"},
        overview="mos",
    ),
    entry(
        "media_rate_mbps: mean",
        "mean of the rate of media, without headers, that the sender of an adaptive stream took",
        "time; flows of a group each count separately",
        "`rate_control`",
        better=HIGHER,
        min_effect=(0.05, 0),
        basis="the sender's state, from its first report on; after each report; the flow's life in the window",
        axis=Axis("media rate", "Mbit/s"),
        digits=2,
    ),
)
