"""Tables and charts in Markdown, for the summaries of CI systems."""

from collections.abc import Iterator, Sequence

from rich.table import Table

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~$"})
"""Characters that begin markup somewhere in GitHub's or GitLab's dialect."""


def escaped(text: str) -> str:
    """Return text that is shown as it is, in one line."""
    return " ".join(text.translate(_SPECIAL).split())


def table(rows: Table) -> str:
    """Return a rich table in Markdown, its title and caption left out. Lines within a cell stay lines."""
    heads = [_cell(column.header) for column in rows.columns]
    marks = ["---:" if column.justify == "right" else "---" for column in rows.columns]
    lines = [heads, marks, *zip(*([_cell(cell) for cell in column.cells] for column in rows.columns), strict=True)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(content: object) -> str:
    return "<br>".join(escaped(line) for line in str(content).splitlines())


def chart(
    title: str, label: str, names: Sequence[str], bars: Sequence[float], line: Sequence[float] | None = None
) -> str:
    """Return a Mermaid chart of `bars`, one for each of `names`, and a `line` over them; GitHub and GitLab draw it.

    `label` is the name of the value's axis, with its unit. A summary's images need an address, which a job has not.
    """
    return "\n".join(_chart(title, label, names, bars, line))


def _chart(
    title: str, label: str, names: Sequence[str], bars: Sequence[float], line: Sequence[float] | None
) -> Iterator[str]:
    yield "```mermaid"
    yield "xychart-beta"
    yield f"    title {_quoted(title)}"
    yield f"    x-axis [{', '.join(map(_quoted, names))}]"
    low, high = min(0.0, *bars, *(line or ())), max(0.0, *bars, *(line or ()))
    yield f"    y-axis {_quoted(label)} {low:g} --> {high * 1.1 or 1.0:g}"
    yield f"    bar [{', '.join(f'{value:g}' for value in bars)}]"
    if line is not None:
        yield f"    line [{', '.join(f'{value:g}' for value in line)}]"
    yield "```"


def _quoted(text: str) -> str:
    """A string of Mermaid, which knows no escape for the quotation mark."""
    return '"' + " ".join(text.replace('"', "'").replace("`", "'").split()) + '"'
