"""Renders the page from its contents and its template."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from netwarp.analysis.summary.ensemble import statistics_frame
from netwarp.analysis.summary.expectations import Checked
from netwarp.common import quantities
from netwarp.plots.values import words_of
from netwarp.report import drawing, extras, tables
from netwarp.report.drawing import direction_text
from netwarp.report.panels import panels
from netwarp.report.provenance import provenance
from netwarp.report.selection import choose
from netwarp.report.verdict import verdict
from netwarp.store.description import Description
from netwarp.store.files import write_text
from netwarp.store.findings import Finding
from netwarp.store.planfile import IMPORTED
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir
from netwarp.store.summary import CASE, axis_text, axis_title
from netwarp.values.json_values import Json

FILE_NAME = "report.html"
_MAX_STATISTICS_BYTES = 700_000
_MAX_QUEUES = 3
_SCRIPTS = ("uplot/uPlot.iife.min.js", "save.js", "tables.js", "panels.js")
_STYLES = ("uplot/uPlot.min.css", "page.css")


@dataclass(frozen=True)
class Written:
    """Outputs of a study beyond its records: checked expectations, findings, files that its views wrote."""

    about: str = ""
    expectations: Sequence[Checked] = ()
    findings: Sequence[Finding] = ()
    views: Sequence[Path] = ()


def write_report(result: ResultDir, summary: pl.DataFrame, study: Written, *, figures: bool = True) -> Path:
    """Write the page of a result into its directory; return its path. Raises StoreError.

    It is one file that loads nothing from outside; without `figures` it has no static figures. It names the parts for
    which it has no room.
    """
    path = result.path / FILE_NAME
    write_text(path, render_report(result, summary, study, figures=figures))
    return path


def render_report(
    result: ResultDir,
    summary: pl.DataFrame,
    study: Written,
    *,
    figures: bool = True,
    back: tuple[str, str] | None = None,
    part: str = "",
) -> str:
    """The page of a result as HTML; `back`: a link in its head (text, address). Raises StoreError.

    `part` describes the part of the result that it shows; it then omits expectations, which are about the whole.
    """
    content = _context(result, summary, study, figures) | {"back": back, "part": part}
    return _templates().get_template("page.html").render(content)


def page_style() -> str:
    """The style sheet of the page."""
    return _asset("page.css")


def tables_script() -> str:
    """The scripts that sort and save tables."""
    return "\n".join(_asset(name) for name in ("save.js", "tables.js"))


@cache
def page_templates(*packages: str) -> Environment:
    """The templates of pages in these packages; one environment for the process, so that each is compiled once."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _templates() -> Environment:
    environment = page_templates("netwarp.report")
    environment.globals.update(quantities=quantities, direction_text=direction_text)
    return environment


def _context(result: ResultDir, summary: pl.DataFrame, study: Written, figures: bool) -> dict[str, object]:
    outcomes = result.outcomes()
    statistics = statistics_frame(summary, result.axes)
    choice = choose(result, outcomes)
    usable = choice.runs[0].id if choice.runs else None
    described = _first_described(result, usable)
    drawn, left = ([], []) if usable is None or not figures else _figures(result, usable)
    shown = extras.extras(result, study.views)
    scripts = "\n".join((f"/*!\n{_asset('uplot/LICENSE')}\n*/", *(_asset(name) for name in _SCRIPTS)))
    return {
        "name": str(result.plan.get("name") or "result"),
        "about": study.about,
        "imported": result.plan.get("engine") == IMPORTED,
        "verdict": verdict(outcomes, study.expectations, study.findings),
        "setup": _setup(result, described) if described else None,
        "results": tables.results_table(statistics, summary, result.axes) if usable else None,
        "statistics": _statistics(statistics),
        "panels": panels(result, choice, _queues(summary)) if usable else None,
        "figures": drawn,
        "figures_left": left,
        "figures_wanted": figures,
        "views": shown,
        "runs": tables.runs_table(result, outcomes),
        "csv_of": tables.csv_of,
        "provenance": provenance(result),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": metadata.version("netwarp"),
        "styles": Markup("\n".join(_asset(name) for name in _STYLES)),
        "scripts": Markup(scripts),
        "scripts_digest": base64.b64encode(hashlib.sha256(scripts.encode()).digest()).decode(),
    }


def _figures(result: ResultDir, run_id: str) -> tuple[list[Any], list[str]]:
    # Imported lazily: without figures, matplotlib is not needed, and loading it takes a second.
    from netwarp.report.figures import static_figures  # noqa: PLC0415
    from netwarp.report.states import state_figures  # noqa: PLC0415

    drawn, left = static_figures(result, result.run(run_id))
    states, more = state_figures(result)
    return drawn + states, left + more


def _asset(name: str) -> str:
    return (resources.files("netwarp.report") / "assets" / name).read_text(encoding="utf-8").strip()


def _first_described(result: ResultDir, usable: str | None) -> RunDir | None:
    """The run whose set-up is shown: the first usable one, else the first with a description."""
    ids = [usable] if usable else [run.id for run in result.planned]
    return next((result.run(run_id) for run_id in ids if (result.run(run_id).path / "run.json").is_file()), None)


def _setup(result: ResultDir, run: RunDir) -> dict[str, object]:
    """The common set-up as in the first run, and the differences between runs."""
    what, network = run.description, run.network
    words = {axis: words_of(_values(result, axis)) for axis in result.axes}
    values = {axis: [axis_text(v) for v in dict.fromkeys(_values(result, axis))] for axis in result.axes}
    swept = {axis: quantities.count(len(found), "value") for axis, found in values.items() if len(found) > 1}
    swept |= _set_by_cases(result, values.get(CASE, ()))
    ends = _ends(what)
    seeds = sorted({planned.seed for planned in result.planned})
    return {
        "drawing": drawing.draw(network, ends, swept),
        "most_nodes": drawing.MAX_NODES,
        "network": network,
        "duration": quantities.duration(what.duration_ns),
        "warmup": quantities.duration(what.warmup_ns),
        "seeds": f"{len(seeds)}" if len(seeds) > 1 else str(seeds[0]) if seeds else "",
        "several_seeds": len(seeds) > 1,
        "axes": [(axis_title(axis), axis, found) for axis, found in values.items()],
        "flows": _flows(what, ends),
        "changes": what.changes,
        "point": ", ".join(
            f"{axis_title(axis)} {words[axis][axis_text(v)]}" for axis, v in _point(result, run).items()
        ),
    }


def _set_by_cases(result: ResultDir, cases: Sequence[str]) -> dict[str, str]:
    """The paths in which cases differ, each with its number of values: those that cases set, and the scenario's."""
    settings = [result.settings_of(case) for case in cases]
    found = {}
    for path in dict.fromkeys(path for one in settings for path in one):
        values = {axis_text(one[path]) for one in settings if path in one}
        many = len(values) + any(path not in one for one in settings)
        if many > 1:
            found[path] = quantities.count(many, "value")
    return found


def _values(result: ResultDir, axis: str) -> list[Any]:
    texts = {axis_text(run.point[axis]): run.point[axis] for run in result.planned if axis in run.point}
    return list(texts.values())


def _point(result: ResultDir, run: RunDir) -> Mapping[str, Json]:
    return next((planned.point for planned in result.planned if planned.id == run.path.name), {})


def _ends(what: Description) -> dict[str, tuple[str, str]]:
    """The nodes from and to which the data of flows goes, by the flows' name, if the run has them."""
    found: dict[str, tuple[str, str]] = {}
    for flow in what.flows:
        if len(flow.nodes) == 2:
            source, target = flow.nodes
            found.setdefault(flow.group, (target, source) if flow.reverse else (source, target))
    return found


def _flows(what: Description, ends: Mapping[str, tuple[str, str]]) -> list[dict[str, str]]:
    rows: dict[str, dict[str, Any]] = {}
    for flow in what.flows:
        row = rows.setdefault(flow.group, {"name": flow.group, "tool": flow.tool, "count": 0, "cc": flow.cc})
        row["count"] += 1
        row["route"] = " → ".join(ends.get(flow.group, ("", ""))) if flow.group in ends else ""
        row["start"] = quantities.duration(flow.start_ns, 4) if row["count"] == 1 else row["start"]
        row["life"] = quantities.duration(flow.duration_ns, 4) if row["count"] == 1 else row["life"]
    return list(rows.values())


def _queues(summary: pl.DataFrame) -> list[str]:
    """The queues to show over time: the longest on average, and others of at least a tenth of that."""
    lengths = (
        summary.filter(scope="queue", metric="length_pkts_mean")
        .group_by("name", maintain_order=True)
        .agg(pl.col("value").mean())
        .sort("value", descending=True, maintain_order=True)
    )
    if lengths.is_empty():
        return []
    least = max(float(lengths["value"][0]) / 10, 0.1)
    return list(lengths.filter(pl.col("value") >= least)["name"][:_MAX_QUEUES]) or [str(lengths["name"][0])]


def _statistics(statistics: pl.DataFrame) -> str | None:
    """Every metric at every point as CSV; None if it does not fit into the page."""
    text = statistics.drop_nulls("metric").write_csv(float_precision=6)
    return text if len(text) <= _MAX_STATISTICS_BYTES else None
