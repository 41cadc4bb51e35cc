"""Colours and dashes of labels: one table, so that a congestion control or a queue discipline looks the same in every
figure."""

import re
from collections.abc import Iterable, Sequence

# M. Okabe, K. Ito: Color Universal Design (2008), without yellow, which is hard to see on white.
CATEGORICAL = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
OWN = ("#6A3D9A", "#8C510A", "#7A8B00", "#A50F4C", "#2F5D62", "#8DA0CB", "#B2912F")
"""Colours for labels that are not in the table below, such as users' modules; the table has none of these colours."""
REFERENCE = "#9a9a9a"
"""The colour of references: grey, so that it differs from all colours."""
DASHES = ("-", "--", ":", "-.")
MAX_DISTINCT = len(CATEGORICAL)
"""The most curves without an order that can be told apart in one panel."""

# In the order of the colours; each row of seven has its own dashes.
CONGESTION_CONTROLS = (
    *("cubic", "bbr", "reno", "dctcp", "vegas", "westwood", "htcp"),
    *("bic", "bbr_draft", "illinois", "hybla", "nv", "veno", "yeah"),
    *("highspeed", "prague", "scalable", "lp", "cdg"),
)
QUEUE_DISCIPLINES = (
    *("pfifo", "red", "fq_codel", "codel", "pie", "cake", "fq"),
    *("bfifo", "choke", "fq_pie", "sfq", "gred", "dualpi2", "tbf"),
    *("pfifo_fast", "sfb", "drr", "qfq", "htb", "netem", "hhf"),
)

Look = tuple[str, str]
"""Colour and dashes of a line."""


def _table(names: Sequence[str]) -> dict[str, Look]:
    count = len(CATEGORICAL)
    return {name: (CATEGORICAL[at % count], DASHES[at // count]) for at, name in enumerate(names)}


_CONTROLS, _QUEUES = _table(CONGESTION_CONTROLS), _table(QUEUE_DISCIPLINES)


def known_look(label: str) -> Look | None:
    """The look of the first congestion control or queue discipline that the label names; None if it names none."""
    return _named(label, _QUEUES | _CONTROLS)


def _named(label: str, table: dict[str, Look]) -> Look | None:
    return next((look for word in re.findall(r"[a-z0-9_]+", label.lower()) if (look := table.get(word))), None)


def colours(count: int, ordered: bool) -> list[str]:
    """A colour for each entry: shades from dark to light if the entries have an order, else distinct ones."""
    if not ordered or count < 2:
        return [CATEGORICAL[at % len(CATEGORICAL)] for at in range(count)]
    # Imported lazily, as below: tables and the page's interactive figures need no shades.
    from matplotlib import colormaps  # noqa: PLC0415
    from matplotlib.colors import to_hex  # noqa: PLC0415

    shades = colormaps["viridis"]
    return [to_hex(shades(0.86 * at / (count - 1))) for at in range(count)]


def pale(colour: str) -> str:
    """The colour mixed with white, for the reference with which a curve of that colour is compared."""
    from matplotlib.colors import to_hex, to_rgb  # noqa: PLC0415

    red, green, blue = (0.45 * part + 0.55 for part in to_rgb(colour))
    return to_hex((red, green, blue))


def looks(labels: Sequence[str], ordered: bool = False, *, named: bool = False) -> list[Look]:
    """Colour and dashes for each label: shades if the labels have an order, else those of the table.

    If two labels name the same entry, the second has other dashes. If some name congestion controls and some queues,
    which share colours, only the controls count. A label that is not in the table never gets one of its colours if
    another label is in it, or if the labels are names of such entries (`named`).
    """
    if ordered and len(labels) > 1:
        return [(colour, "-") for colour in colours(len(labels), ordered)]
    wanted = [_named(label, _CONTROLS) for label in labels]
    if not any(wanted):
        wanted = [_named(label, _QUEUES) for label in labels]
    named = named or any(wanted)
    taken: set[Look] = set()
    found: dict[int, Look] = {}
    for at, look in enumerate(wanted):
        if look is not None:
            found[at] = _free([look, *((look[0], dash) for dash in DASHES)], taken)
    every = [(colour, dash) for dash in DASHES for colour in (OWN if named else (*CATEGORICAL, *OWN))]
    for at, look in enumerate(wanted):
        if look is None:
            found[at] = _free(every, taken)
    return [found[at] for at in range(len(labels))]


def _free(candidates: Iterable[Look], taken: set[Look]) -> Look:
    """The first look that no other label has; the first of all if all are taken."""
    candidates = list(candidates)
    look = next((one for one in candidates if one not in taken), candidates[0])
    taken.add(look)
    return look
