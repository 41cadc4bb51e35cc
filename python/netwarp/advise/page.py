"""The page of an advice, its figures and its JSON."""

import json
from importlib import metadata
from pathlib import Path

from markupsafe import Markup

from netwarp.advise import render
from netwarp.advise.advice import Advice
from netwarp.advise.candidates import NOW
from netwarp.advise.criteria import MEASURES
from netwarp.advise.front import draw, front_of
from netwarp.advise.picture import draw_before_and_after, draw_narrow, probes_of
from netwarp.plots import style
from netwarp.report import page_style, page_templates
from netwarp.report.svg import compact, inline
from netwarp.store.files import read_text, write_text


def write_page(advice: Advice, directory: Path) -> Path:
    """Write `advice.html`, which loads nothing from outside, the figures and `advice.json`; return the page.

    Raises StoreError.
    """
    write_text(directory / "advice.json", json.dumps(render.as_json(advice), indent=2, ensure_ascii=False) + "\n")
    there = {name for place in advice.places for name in place.values} - {"goodput"}
    text = (
        page_templates("netwarp.advise", "netwarp.report")
        .get_template("advice.html")
        .render(
            advice=advice,
            styles=Markup(page_style()),
            headline=render.headline(advice),
            in_short=render.in_short(advice),
            tie=render.tie(advice),
            cost=render.cost(advice),
            weights=", ".join(f"{name} {weight:g}" for name, weight in advice.weights.items()),
            standings=list(render.standing_sentences(advice)),
            measures=[one for name, one in MEASURES.items() if name in there],
            dropped={one.name: one.why for one in advice.dropped},
            pictures=_before_and_after(advice, directory),
            front=_front(advice, directory),
            now=NOW,
            version=metadata.version("netwarp"),
        )
    )
    write_text(directory / "advice.html", text)
    return directory / "advice.html"


def _before_and_after(advice: Advice, directory: Path) -> tuple[Markup, Markup] | None:
    """Draw the picture for wide pages, which is also saved, and the one for phones."""
    if advice.choice.name == NOW or not advice.effects:
        return None
    probes = probes_of(advice, directory)
    label = "RTT under load and the measures before and after"
    with style.drawing():
        files = style.save(draw_before_and_after(advice, probes), directory / "before-and-after")
        return _inlined(files, "before", label), inline(draw_narrow(advice, probes), "narrow", label)


def _front(advice: Advice, directory: Path) -> Markup | None:
    if (front := front_of(advice)) is None:
        return None
    with style.drawing():
        files = style.save(draw(advice, front), directory / "front")
    return _inlined(files, "front", "the Pareto front of the candidates")


def _inlined(files: list[Path], key: str, label: str) -> Markup:
    return compact(read_text(next(path for path in files if path.suffix == ".svg")), key, label)
