"""The page of an advice, its figure and its JSON."""

import json
from importlib import metadata
from pathlib import Path

from netwarp.advise.advice import Advice
from netwarp.advise.candidates import NOW
from netwarp.advise.criteria import MEASURES
from netwarp.advise.front import draw, front_of
from netwarp.advise.render import as_json, headline, standing_sentences
from netwarp.plots import style
from netwarp.report import page_templates
from netwarp.report.svg import compact
from netwarp.store.files import read_text, write_text


def write_page(advice: Advice, directory: Path) -> Path:
    """Write `advice.html`, one file that asks for nothing from outside, the figure and `advice.json`; returns the page.

    Raises StoreError.
    """
    write_text(directory / "advice.json", json.dumps(as_json(advice), indent=2, ensure_ascii=False) + "\n")
    figure = None
    if front := front_of(advice):
        with style.drawing():
            files = style.save(draw(advice, front), directory / "front")
        svg = next(path for path in files if path.suffix == ".svg")
        figure = compact(read_text(svg), "front", "the Pareto front of the candidates")
    there = {name for place in advice.places for name in place.values}
    text = (
        page_templates("netwarp.advise")
        .get_template("advice.html")
        .render(
            advice=advice,
            headline=headline(advice),
            weights=", ".join(f"{name} {weight:g}" for name, weight in advice.weights.items()),
            standings=list(standing_sentences(advice)),
            measures=[one for name, one in MEASURES.items() if name in there],
            dropped={one.name: one.why for one in advice.dropped},
            figure=figure,
            now=NOW,
            version=metadata.version("netwarp"),
        )
    )
    write_text(directory / "advice.html", text)
    return directory / "advice.html"
