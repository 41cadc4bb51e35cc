"""The table of docs/figures.md that says which figures over time there are."""

from collections.abc import Iterator
from pathlib import Path

from netwarp.plots.timeseries.kinds import KINDS

from tools.marked import with_part

PAGE = Path(__file__).parents[1] / "docs/figures.md"
_BEGIN = "<!-- The table is made by `make generate` from `python/netwarp/plots/timeseries/kinds/`. -->\n"
_END = "\n<!-- End of the table. -->"


def markdown() -> str:
    """The page with its table as the kinds of figures have it."""
    return with_part(PAGE, _BEGIN, "\n".join(_table()), _END)


def _table() -> Iterator[str]:
    yield "| figure | what it shows | from |"
    yield "|---|---|---|"
    yield from (f"| {kind.names} | {kind.shows} | {kind.source} |" for kind in KINDS)
    yield "| a view's own | such as `monitor-…`, `summary_plot`, `tuners` | the view's tables |"
