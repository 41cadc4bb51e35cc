"""The three-node study: its tables under their published names, the published numbers beside ours, its findings.

It is computed only from records (iperf3's JSON, flows, sockets, links, captures, queues) of runs between nodes called
client, bottleneck and server, so that it works for imported measurements too. docs/three-node.md describes the tables.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from netwarp.store.files import make_folder, write_atomic
from netwarp.store.findings import write_findings
from netwarp.store.result import ResultDir
from netwarp.studies.three_node import recommendations
from netwarp.studies.three_node.claims import load_note
from netwarp.studies.three_node.contrasts import published_names
from netwarp.studies.three_node.findings import check, write_table
from netwarp.studies.three_node.published import beside, published
from netwarp.studies.three_node.queues import check_under_netem
from netwarp.studies.three_node.recommendations import Sentence
from netwarp.studies.three_node.tables import Condition, conditions_of, write_tables

FOLDER = "three-node"


def write(result: ResultDir, *, figures: bool = True) -> list[Path]:
    """Write the study's tables and figures into `three-node/`; see `netwarp.steps.views.View`.

    Comparisons with the published numbers are left out if a result has none of the published scenarios.
    """
    conditions = conditions_of(result)
    if not conditions:
        return []
    folder = make_folder(result.path / FOLDER)
    files = write_tables(folder, conditions)
    compared = beside(conditions)
    if not published().keys().isdisjoint(condition.name for condition in conditions):
        files += _compare(folder, conditions, compared)
    files += recommendations.write(folder, sentences_of(conditions))
    return files + (_draw(result, conditions, compared) if figures else [])


def sentences_of(conditions: Sequence[Condition]) -> list[Sentence]:
    """The recommendations from these scenarios, with the study's statements that they contradict.

    A scenario is compared with the published row of the same factors, whatever its name. Rows for the study's note are
    left out: they have the factors of rows on another path.
    """
    own = [one for one in conditions if one.name not in load_note().instead.values()]
    names = published_names(own)
    rows = [replace(one, name=names[one.name]) for one in own if one.name in names]
    # Reversed, so that the first of a name counts: the published row itself precedes others with its factors.
    unique = list({one.name: one for one in reversed(rows)}.values())
    return recommendations.recommend(own, check(unique) if unique else ())


def _compare(folder: Path, conditions: list[Condition], compared: pl.DataFrame) -> list[Path]:
    queues = pl.concat([each.queues for condition in conditions for each in condition.repetitions])
    write_atomic(folder / "published.csv", compared.write_csv)
    write_atomic(folder / "queues.csv", queues.write_csv)
    findings = [*check(conditions), *check_under_netem(queues)]
    tables = [folder / "published.csv", folder / "queues.csv"]
    return [*tables, write_findings(folder, findings), write_table(folder, findings)]


def _draw(result: ResultDir, conditions: list[Condition], compared: pl.DataFrame) -> list[Path]:
    # Imported lazily: loading matplotlib takes longer than making the tables.
    from netwarp.studies.three_node.figures import draw  # noqa: PLC0415

    make_folder(result.plots)
    return draw(result.plots, str(result.plan.get("name", "")), conditions, compared)
