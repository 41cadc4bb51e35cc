"""The page of a result's figures: those that were drawn, and the commands that draw the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from netwarp.report.page import page_style, page_templates
from netwarp.store.files import write_text
from netwarp.store.result import ResultDir
from netwarp.values.json_values import Json

NAME = "index.html"


@dataclass(frozen=True)
class Shown:
    """A figure of the page: the stem of its files in the page's folder, its title, and the command that draws it."""

    stem: str
    title: str
    command: str


def write_index(result: ResultDir, shown: Sequence[Shown], left: Sequence[str], missing: Sequence[str]) -> Path:
    """Write `plots/index.html`; return its path. Raises StoreError.

    `left` are commands for figures that were not drawn, `missing` sentences about requested figures that cannot be
    drawn. Figures without a file are not shown.
    """
    path = result.plots / NAME
    figures: list[dict[str, Json]] = []
    for one in shown:
        files = [kind for kind in ("png", "svg", "pdf") if (result.plots / f"{one.stem}.{kind}").is_file()]
        if files:
            figures.append({"stem": one.stem, "title": one.title, "drawn_by": one.command, "files": files})
    content = {
        "name": str(result.plan.get("name") or "result"),
        "figures": figures,
        "left": left,
        "missing": missing,
        "styles": Markup(page_style()),
    }
    write_text(path, page_templates("netwarp.report").get_template("index.html").render(content))
    return path
