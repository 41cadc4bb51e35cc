"""From what a figure compares to what it shows: variants with their looks, panels, and the words above them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from netwarp.plots import style
from netwarp.plots.comparison import SEED, Comparison, Shown
from netwarp.plots.curves import GOODPUT
from netwarp.plots.labels import is_ordered
from netwarp.plots.scene import Curve, Panel, Quantity, Scene, Variant
from netwarp.store.result import ResultDir

_MOST_SHARES = 24


def scene_of(result: ResultDir, comparison: Comparison, quantity: Quantity) -> Scene:
    """One quantity of all runs that have it, behind them the reference that they share, if there is one."""
    having = [(label, run) for label, run in _labelled(comparison) if quantity in run.curves]
    looks = _looks([label for label, _ in having], is_ordered([label for label, _ in having]))
    # A reference of its own for each run would double the lines; the panels of all flows have those.
    shared = comparison.references if len(comparison.references) == 1 else ()
    variants = [_reference(label, run.curves[quantity]) for label, run in shared if quantity in run.curves]
    variants += [
        Variant(label, colour, dash, run.curves[quantity], run.phases_with(quantity))
        for (label, run), (colour, dash) in zip(having, looks, strict=True)
    ]
    each = "a line for each flow" if any(len(variant.curves) > 1 for variant in variants) else ""
    runs = [run for _, run in having]
    return Scene(
        quantity=quantity,
        subtitle=_subtitle(result, comparison, runs, quantity.how, each),
        legend_title=comparison.differs,
        duration_s=max(run.duration_s for run in runs),
        variants=variants,
        changes=runs[0].changes if len({run.changes for run in runs}) == 1 else (),
        schedules=runs[0].schedules if len({run.schedules for run in runs}) == 1 else (),
    )


def shares_of(result: ResultDir, comparison: Comparison) -> Scene | None:
    """The goodputs of all flows, a panel for each run, behind them those of the run that it is compared with.

    None where no run has flows of two names.
    """
    having = [(label, run) for label, run in _labelled(comparison) if len(_goodputs(run)) > 1][:_MOST_SHARES]
    if not having:
        return None
    runs = [run for _, run in having]
    groups = list(dict.fromkeys(quantity.group for run in runs for quantity in _goodputs(run)))
    looks = dict(zip(groups, _looks(groups, ordered=False), strict=True))
    panels = []
    for label, run in having:
        behind = comparison.reference_of(run)
        lines = [_reference(f"{q.group}, {behind[0]}", c) for q, c in _goodputs(behind[1]).items()] if behind else []
        lines += [Variant(q.group, *looks[q.group], curves) for q, curves in _goodputs(run).items()]
        panels.append(Panel(label if len(comparison.runs) > 1 else "", lines))
    quantity = next(iter(_goodputs(runs[0])))
    assert quantity.twin is not None
    title = "Goodput of each flow"
    twin = replace(quantity.twin, title="Goodput and transfer of each flow")
    named = {line.label: line for panel in panels for line in panel.variants}
    return Scene(
        quantity=Quantity(f"{GOODPUT}all-flows", title, "", quantity.axis, quantity.steps, "", twin),
        subtitle=_subtitle(result, comparison, runs, quantity.how.replace("acknowledged", "delivered")),
        legend_title=comparison.differs if len(panels) > 1 else "",
        duration_s=max(run.duration_s for run in runs),
        variants=sorted(named.values(), key=lambda line: line.reference),
        changes=runs[0].changes if len({run.changes for run in runs}) == 1 else (),
        schedules=runs[0].schedules if len({run.schedules for run in runs}) == 1 else (),
        panels=panels,
        linear=True,
    )


def _labelled(comparison: Comparison) -> Iterator[tuple[str, Shown]]:
    for label, run in zip(comparison.labels, comparison.runs, strict=True):
        yield label + (" (suspect)" if run.suspect else ""), run


def _goodputs(run: Shown) -> dict[Quantity, Sequence[Curve]]:
    return {quantity: curves for quantity, curves in run.curves.items() if quantity.stem.startswith(GOODPUT)}


def _looks(labels: Sequence[str], ordered: bool) -> list[tuple[str, str]]:
    """Colour and dashes for each label."""
    return list(zip(style.colours(len(labels), ordered), style.dashes(len(labels), ordered), strict=True))


def _reference(label: str, curves: Sequence[Curve]) -> Variant:
    return Variant(label, style.REFERENCE, "-", curves, reference=True)


def _subtitle(result: ResultDir, comparison: Comparison, runs: Sequence[Shown], *how: str) -> str:
    """The scenario, where the runs stand on what they do not differ in, their seed, and how it was measured."""
    seeds = len({run.seed for run in result.planned})
    parts = [str(result.plan.get("name", "")), *comparison.place]
    if len(comparison.runs) == 1 and comparison.differs != SEED:
        parts.append(f"{comparison.differs} {comparison.labels[0]}")
    if comparison.differs != SEED:
        parts.append(f"seed {runs[0].seed}" + (f" of {seeds}" if seeds > 1 else ""))
    left = f"{result.failed} failed {'run' if result.failed == 1 else 'runs'} left out" if result.failed else ""
    return " · ".join(part for part in (*parts, *how, left) if part)
