"""Agreement of two engines or wires: a scenario on both, compared metric by metric, and a page with the results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from netwarp.common.terminal import Terminal
from netwarp.compare import Comparison, Row, Verdict, compare, open_input
from netwarp.compare.formats import as_json as comparison_as_json
from netwarp.compare.render import weight
from netwarp.engines import SSH, Engine, EngineError, EngineOptions, find_engine
from netwarp.plan import make_plan
from netwarp.scenario import Scenario, load_scenario
from netwarp.scenario.errors import ScenarioError
from netwarp.steps.study import make_study
from netwarp.steps.variants import wires_of
from netwarp.store.errors import SelectionError
from netwarp.store.run_status import RunStatus
from netwarp.values.json_values import Json

SEEDS = 6
"""The fewest pairs with which a difference, however large, can be distinguished from chance."""

_SAME_RECORDS = ("record.exact=false", 'record.sample="10ms"', "views=[]")
"""Both engines record samples, and no views of exact records: otherwise metrics would differ in their meaning."""
WIRES = ("netem", "device")
_DELAY = ("links", "delay")


@dataclass(frozen=True)
class Sides:
    """The two sides of a comparison: `what` differs (engines, wires), their `names`, and the engine of each."""

    what: str
    names: tuple[str, str]
    engines: tuple[str, str]

    @property
    def records(self) -> tuple[str, ...]:
        """The settings with which both sides record the same."""
        return _SAME_RECORDS if self.what == "engines" else ()

    def settings(self, scenario: Scenario, number: int) -> tuple[str, ...]:
        """The settings of one side alone."""
        return wires_of(scenario, self.names[number]) if self.what == "wires" else ()


def sides(engines: str | None, wires: str | None) -> Sides:
    """The sides that the command line names: two engines, or two wires on one engine. Raises SelectionError."""
    if wires is None:
        pair = _pair(engines or "uml,host", "engines", "uml,host")
        return Sides("engines", pair, pair)
    pair = _pair(wires, "wires", ",".join(WIRES))
    if unknown := [name for name in pair if name not in WIRES]:
        raise SelectionError(f'there is no wire "{unknown[0]}"; expected {" or ".join(WIRES)}')
    engine = engines or "uml"
    if "," in engine:
        raise SelectionError(f'two wires are compared on one engine, not on "{engine}"')
    return Sides("wires", pair, (engine, engine))


def _pair(words: str, what: str, example: str) -> tuple[str, str]:
    names = [name.strip() for name in words.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise SelectionError(f'"{words}" does not name two {what}; expected a pair such as {example}')
    return names[0], names[1]


@dataclass(frozen=True)
class Agreement:
    """The result of a scenario: a comparison, or the `reasons` why there is none. `settings` were added for it."""

    scenario: str
    settings: tuple[str, ...] = ()
    comparison: Comparison | None = None
    reasons: tuple[str, ...] = ()
    left_out: tuple[str, ...] = field(default=())


def agree(
    source: str,
    both: Sides,
    directory: Path,
    *,
    settings: Sequence[str] = (),
    seeds: int | None = SEEDS,
    inventory: Path | None = None,
    console: Console | None = None,
) -> Agreement:
    """Run a scenario on both sides with the same seeds, and compare.

    If an engine lacks nothing but delays, links have no delay on either. Finished runs in `directory` are kept, and
    runs that the machine disturbed are repeated once. The engine `ssh` needs an `inventory`. Raises ScenarioError,
    EngineError, StoreError, KeyboardInterrupt.
    """
    console = console or Terminal(stderr=True)
    found = [find_engine(name, EngineOptions(inventory=inventory if name == SSH else None)) for name in both.engines]
    asked = (*both.records, *settings)
    numbers = range(1, seeds + 1) if seeds else None
    name = load_scenario(source).name
    places = [directory / f"{name}-{side}" for side in both.names]
    taken = tuple(settings)
    reasons: list[str] = []
    try:
        taken += tuple(dict.fromkeys(word for engine in found for word in _delays(source, asked, engine)))
        plain = load_scenario(source, [*both.records, *taken])
        for number, (engine, place) in enumerate(zip(found, places, strict=True)):
            scenario = load_scenario(source, [*both.records, *taken, *both.settings(plain, number)])
            reasons += (f"{both.names[number]}: {lack}" for lack in _run(scenario, engine, place, numbers, console))
    except ScenarioError as error:
        return Agreement(name, taken, reasons=tuple(problem.message for problem in error.problems))
    except EngineError as error:
        return Agreement(name, taken, reasons=(str(error),))
    try:
        comparison = compare(*(open_input(letter, place) for letter, place in zip("AB", places, strict=True)))
    except SelectionError as error:
        return Agreement(name, taken, reasons=(*reasons, str(error)))
    return Agreement(name, taken, comparison, left_out=tuple(reasons))


def _run(
    scenario: Scenario, engine: Engine, place: Path, seeds: Sequence[int] | None, console: Console
) -> Iterator[str]:
    """Execute the runs, and repeat those that the machine disturbed; yield omissions from the result, with reasons.

    Raises ScenarioError, EngineError, StoreError, KeyboardInterrupt.
    """
    for again in ((), (RunStatus.SUSPECT,)):
        study = make_study(scenario, engine, place, seeds=seeds, again=again, plots=False, console=console)
        if study.execution.interrupted:
            raise KeyboardInterrupt
        runs = study.summary.unique("run_id")
        if runs.filter(status=RunStatus.SUSPECT).is_empty():
            break
    for status in (RunStatus.FAILED, RunStatus.SUSPECT):
        if bad := runs.filter(status=status).height:
            yield f"{bad} of {runs.height} runs {status}"


def _delays(source: str, settings: Sequence[str], engine: Engine) -> Iterator[str]:
    """The settings that remove a scenario's delays, if the engine lacks nothing else."""
    lacks = [keys for keys, _ in engine.check(make_plan(load_scenario(source, list(settings))))]
    if all(len(keys) == 3 and (keys[0], keys[2]) == _DELAY for keys in lacks):
        yield from (f'{".".join(map(str, keys))}="0ms"' for keys in lacks)


def page(found: Sequence[Agreement], both: Sides, machine: str) -> str:
    """The page of agreement, in Markdown."""
    a, b = both.names
    sampled = "Both engines sampled every 10 ms" if both.records else "Both were recorded exactly"
    lines = [
        f"# How far the {both.what} {a} and {b} agree",
        "",
        f"Written by `netwarp agree --{both.what} {a},{b} --page FILE`, on {machine}. {sampled},",
        f"with the same seeds; {b} is compared with {a} as by `netwarp compare` (docs/compare.md).",
        "*Same* means that no difference that matters is left in the interval, which holds the true one with the",
        "comparison's confidence. Runs that the machine disturbed are repeated once, and left out if they are",
        "suspect again (docs/host.md).",
        "",
        "| scenario | runs | same | unclear | differ |",
        "|---|---|---|---|---|",
    ]
    for one in found:
        lines.append(_line(one))
    for one in found:
        lines += ["", f"## {one.scenario}", *_section(one, a, b)]
    return "\n".join(lines) + "\n"


def as_json(one: Agreement) -> dict[str, Json]:
    """The result of a scenario as JSON."""
    return {
        "scenario": one.scenario,
        "settings": list(one.settings),
        "comparison": None if one.comparison is None else comparison_as_json(one.comparison),
        "reasons": list(one.reasons),
        "left_out": list(one.left_out),
    }


def _line(one: Agreement) -> str:
    if one.comparison is None:
        return f"| {one.scenario} | – | – | – | – |"
    counts = one.comparison.counts
    differ = sum(counts[verdict] for verdict in (Verdict.BETTER, Verdict.WORSE, Verdict.CHANGED))
    runs = max((min(row.runs_a, row.runs_b) for row in one.comparison.rows), default=0)
    return f"| {one.scenario} | {runs} | {counts[Verdict.SAME]} | {counts[Verdict.UNCLEAR]} | {differ} |"


def _section(one: Agreement, a: str, b: str) -> list[str]:
    lines = [""]
    if one.settings:
        lines += [f"With {', '.join(f'`--set {word}`' for word in one.settings)}.", ""]
    if one.comparison is None:
        return [*lines, "Not compared:", *(f"- {reason}" for reason in one.reasons)]
    if one.left_out:
        lines += [f"Left out: {'; '.join(one.left_out)}.", ""]
    rows = sorted(one.comparison.rows, key=lambda row: (_ORDER.index(row.verdict), -weight(row)))
    same = [row for row in rows if row.verdict is Verdict.SAME]
    if rest := rows[: len(rows) - len(same)]:
        lines += _table(one.comparison, rest, a, b)
    if same:
        # Folded, on GitHub and most other sites: there are many, and they rarely need to be read.
        lines += ["", f"<details><summary>The same: {len(same)}</summary>", ""]
        lines += [*_table(one.comparison, same, a, b), "", "</details>"]
    return lines


def _table(comparison: Comparison, rows: Sequence[Row], a: str, b: str) -> list[str]:
    head = [f"| metric | at | {a} | {b} | difference | interval | verdict |", "|---|---|---|---|---|---|---|"]
    return [*head, *(_row(comparison, row) for row in rows)]


_ORDER = (Verdict.WORSE, Verdict.BETTER, Verdict.CHANGED, Verdict.UNCLEAR, Verdict.SAME)


def _row(comparison: Comparison, row: Row) -> str:
    verdict = "differs" if row.verdict in _ORDER[:3] else str(row.verdict)
    cells = (
        str(row.subject),
        comparison.matching.words(row.point),
        f"{row.a:.4g}",
        f"{row.b:.4g}",
        f"{row.shift.estimate:+.3g}" + ("" if row.percent is None else f" ({row.percent:+.2g} %)"),
        f"{row.shift.low:+.3g} to {row.shift.high:+.3g}",
        verdict,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
