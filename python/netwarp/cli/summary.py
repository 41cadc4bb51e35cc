"""The result of a gate in Markdown, for the summary page of a CI system."""

from collections.abc import Iterator, Sequence

from netwarp.analysis.catalogue.metrics import label_of
from netwarp.analysis.summary.expectations import Look
from netwarp.cli.tables import main_table
from netwarp.common import markdown
from netwarp.compare import Comparison, Row
from netwarp.compare.formats import shown_rows, table
from netwarp.compare.render import differences, notes, sentence
from netwarp.exports.junit import runs_suite
from netwarp.plots.charts.chart import series_text
from netwarp.plots.charts.overview import wishes_that_differ
from netwarp.steps.evaluation import Study
from netwarp.steps.gate import Gated

_FIRST_ROWS, _MAX_ROWS = 10, 100
_MAX_BARS = 16
"""The most bars that a chart of a page's width can name."""
_MAX_FAILED = 20


def in_markdown(gated: Gated) -> str:
    """Return the whole summary: verdict, comparison with its chart, expectations, runs that are not good, the table."""
    return "\n\n".join(part for part in _parts(gated) if part) + "\n"


def _parts(gated: Gated) -> Iterator[str]:
    study = gated.study
    yield f"## netwarp: {markdown.escaped(str(study.result.plan.get('name', 'scenario')))}"
    if gated.comparison is not None:
        yield from _compared(gated.comparison)
    elif gated.open:
        yield f"**Not compared with the base: {markdown.escaped(gated.open)}**"
    yield from _judged(study)
    if gated.comparison is None:
        yield _chart_of_study(study)
    main = main_table(study)
    about = [markdown.escaped(line) for line in str(main.caption or "").splitlines()]
    yield _folded("Main metrics", markdown.table(main), *about)


def _compared(comparison: Comparison) -> Iterator[str]:
    rows = shown_rows(comparison)
    yield f"**{markdown.escaped(sentence(comparison))}** (A is the base, B is this change.)"
    yield "\n".join(f"- {markdown.escaped(text)}" for text in differences(comparison))
    if rows:
        yield _chart_of_row(comparison, rows[0])
        yield markdown.table(table(comparison, rows[:_FIRST_ROWS]))
    if more := rows[_FIRST_ROWS:]:
        cut = f"… and {len(more) - _MAX_ROWS} more." if len(more) > _MAX_ROWS else ""
        yield _folded(f"{len(more)} more values", markdown.table(table(comparison, more[:_MAX_ROWS])), cut)
    yield _folded("Notes", *(f"- {markdown.escaped(text)}" for text in notes(comparison)), joint="\n")


def _chart_of_row(comparison: Comparison, row: Row) -> str:
    """The metric that changed most, at every point: the base's bars and a line of this change."""
    alike = [other for other in comparison.rows if other.subject == row.subject]
    start = max(0, min(alike.index(row) - _MAX_BARS // 2, len(alike) - _MAX_BARS))
    alike = alike[start : start + _MAX_BARS]
    label = label_of(row.subject.scope, row.subject.metric)
    of = f" of {row.subject.name}" if row.subject.name else ""
    if len(alike) == 1:
        return markdown.chart(f"{label}{of}", label, ["A, the base", "B, this change"], [row.a, row.b])
    title = f"{label}{of}: bars A, the base; line B, this change"
    names = [series_text(other.point) for other in alike]
    return markdown.chart(title, label, names, [other.a for other in alike], [other.b for other in alike])


def _judged(study: Study) -> Iterator[str]:
    """The expectations, and the runs that are not good."""
    marks = {Look.MET: "✅", Look.FAILED: "❌", Look.OPEN: "❔"}
    checked = study.expectations
    if checked:
        met = sum(one.judgement.look is Look.MET for one in checked)
        yield f"{met} of {len(checked)} expectations are met."
        yield "\n".join(f"- {marks[one.judgement.look]} {markdown.escaped(one.sentence)}" for one in checked)
    runs = runs_suite(study.result).cases
    bad = [run for run in runs if run.fault is not None]
    if not bad:
        yield f"All {len(runs)} runs are good." if len(runs) > 1 else "Its run is good."
        return
    yield f"**{len(bad)} of {len(runs)} runs are not good:**"
    yield "\n".join(f"- {markdown.escaped(f'{run.name}: {run.message}')}" for run in bad[:_MAX_FAILED])


def _chart_of_study(study: Study) -> str:
    """The metric with the most visible difference between points, at every point; empty if nothing varies."""
    axes = study.result.axes
    for wish in wishes_that_differ(study.result) if axes else ():
        scope, _, metric = wish.metric.partition(".")
        rows = study.statistics.filter(scope=scope, metric=metric)
        if rows.is_empty():
            continue
        name = rows["name"][0]
        rows = rows.filter(name=name).drop_nulls("median").head(_MAX_BARS)
        names = [series_text(row) for row in rows[axes].rows()]
        of, label = f" of {name}" if name else "", label_of(scope, metric)
        return markdown.chart(f"{label}{of}, median over seeds", label, names, rows["median"].to_list())
    return ""


def _folded(title: str, *parts: str, joint: str = "\n\n") -> str:
    """Parts that are shown when the reader opens them."""
    inner: Sequence[str] = [part for part in parts if part]
    return f"<details><summary>{title}</summary>\n\n{joint.join(inner)}\n\n</details>" if inner else ""
