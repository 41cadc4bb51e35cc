"""Damaged results under every command that reads one."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from mutate import damage, files_of

from bench.torture.cases import Case
from bench.torture.judge import OUTSIDE, WRONG

Command = Callable[[Case, Path], None]


class Results:
    """Damages one to three files of a result, then runs a command."""

    name = "results"
    unit = "commands"
    share = 0.22

    def attack(self, case: Case) -> None:
        """Damage a copy of a result and run a command on it."""
        result = copied(case)
        chosen = case.rng.choices(files_of(result), k=case.rng.choice((1, 1, 2, 3)))
        for file in dict.fromkeys(chosen):
            case.note(damage(file, case.rng).replace(str(case.place.root), ""))
        if case.rng.random() < 0.15:
            case.note(_link(case, result))
        digests = case.rng.choice(("kept", "removed", "rewritten", "rewritten"))
        case.note(f"digests {digests}")
        redigest(result, digests)
        use(case, result, case.rng.choice(list(COMMANDS)))


def copied(case: Case) -> Path:
    """A copy of one of the results, in the sandbox."""
    source = case.rng.choice(case.bases.results)
    place = case.place.work / "r"
    shutil.copytree(source, place, symlinks=True)
    case.note(source.name)
    return place


def use(case: Case, result: Path, command: str) -> None:
    """Run the command, which must not change records."""
    case.report.target = command
    before = _records(result)
    COMMANDS[command](case, result)
    if command != "run" and _records(result) != before:
        case.fail(OUTSIDE, f"{command} changed records")


def redigest(result: Path, how: str) -> None:
    """Remove `digests.json` of each run, or write it to match, as an attacker would."""
    for run in sorted((result / "runs").glob("*")):
        file = run / "digests.json"
        if how == "kept" or run.is_symlink() or not file.is_file() or file.is_symlink():
            continue
        if how == "removed":
            file.unlink()
        else:
            _digest_again(run)


def _digest_again(run: Path) -> None:
    from netwarp.store.digests import write_digests  # noqa: PLC0415
    from netwarp.store.errors import StoreError  # noqa: PLC0415

    if all(path.is_dir() or (path.is_file() and path.stat().st_size < 1 << 26) for path in run.iterdir()):
        try:
            write_digests(run)
        except (StoreError, OSError):
            (run / "digests.json").unlink(missing_ok=True)


def _link(case: Case, result: Path) -> str:
    """Put a link to precious files where netwarp writes."""
    name, target = case.rng.choice(
        (
            (".lock", "id_ed25519"),
            ("plots", "plots"),
            ("export", "plots"),
            ("report.html", "id_ed25519"),
            ("summary.csv", "summary.csv"),
            ("summary.parquet", "summary.csv"),
            ("statistics.csv", "summary.csv"),
            ("runs", "plots"),
            ("views", "plots"),
            ("manifest.json", "id_ed25519"),
        )
    )
    path = result / name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(case.place.precious / target)
    return f"{name} → precious/{target}"


def _records(result: Path) -> dict[str, str]:
    """The digests of the runs' measured files, without derived ones."""
    derived = {"metrics.parquet", "status.json"}
    found = {}
    runs = result / "runs"
    for path in sorted(runs.rglob("*")) if runs.is_dir() and not runs.is_symlink() else ():
        if path.name in derived or path.is_symlink() or not path.is_file() or not os.access(path, os.R_OK):
            continue
        if path.stat().st_size < 1 << 26:
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _plot(case: Case, result: Path) -> None:
    case.netwarp("plot", result, outputs=[result])


def _plot_metric(case: Case, result: Path) -> None:
    metric = case.rng.choice(("flow.goodput_mbps", "flow.rtt_ms", "queue.length_pkts_mean", "run.fairness", "flow.*"))
    by = case.rng.choice(((), ("--by", "seed"), ("--by", "case"), ("--by", "name")))
    kind = case.rng.choice(((), ("--kind", "cdf"), ("--kind", "box"), ("--kind", "heatmap")))
    case.netwarp("plot", result, "--metric", metric, *by, *kind, "--format", "svg", outputs=[result])


def _report(case: Case, result: Path) -> None:
    options = case.rng.choice(((), ("--no-plots",), ("--no-plots", "--json")))
    case.netwarp("report", result, *options, outputs=[result])


def _export(case: Case, result: Path) -> None:
    formats = case.rng.sample(("--csv", "--parquet", "--flent", "--iperf3"), case.rng.choice((1, 1, 4)))
    place = case.rng.choice(((), ("-o", case.place.work / "exported")))
    case.netwarp("export", result, *formats, *place, outputs=[result, case.place.work / "exported"])


def _compare(case: Case, result: Path) -> None:
    whole = case.rng.choice(case.bases.results)
    sides: Sequence[str | Path] = case.rng.choice(
        ((result, whole), (whole, result), (result, "-a", "case=[bold]case[/]", "-b", "case=bbr"))
    )
    options = case.rng.choice(((), ("--json",), ("--all",), ("--junit", case.place.work / "junit.xml")))
    case.netwarp("compare", *sides, *options, outputs=[case.place.work / "junit.xml"])


def _rerun(case: Case, result: Path) -> None:
    case.netwarp("rerun", result, "-j", "1", outputs=[result])


def _run(case: Case, result: Path) -> None:
    """Repeat `run`: it must refuse damaged files, and make missing ones."""
    case.netwarp("run", _scenario(case, result), "--no-plots", "-j", "1", "-o", result, outputs=[result])


def _scenario(case: Case, result: Path) -> Path:
    """The scenario that the result's original was made from."""
    scenario = case.place.work / "again.toml"
    name = case.report.what.split(";")[0]
    shutil.copy(case.bases.place / f"{'swept' if name == 'imported' else name}.toml", scenario)
    return scenario


def _show(case: Case, result: Path) -> None:
    case.netwarp("show", result / "scenario.toml")


def _api(case: Case, result: Path) -> None:
    ended = case.netwarp(result, action=tour)
    if ended.status not in (0, 4):
        case.fail(WRONG, f"the Python interface ended with {ended.status}: {ended.err[-300:]}")


def tour(words: Sequence[str]) -> object:
    """Do what a notebook does with a result."""
    import netwarp.api as nw  # noqa: PLC0415
    import polars as pl  # noqa: PLC0415
    from netwarp.store.schemas import TABLES  # noqa: PLC0415

    try:
        study = nw.load_result(words[1])
        _ = study.failed, study.statistics, study.findings, study.expectations
        for run in study.result.planned:
            _ = study.result.run(run.id).description, study.result.run(run.id).status()
        for table in TABLES:
            try:
                study.scan(table).collect()
            except pl.exceptions.PolarsError as error:
                sys.stderr.write(f"{table}: {error}\n")
    except (nw.StoreError, nw.ScenarioError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 4
    return 0


COMMANDS: dict[str, Command] = {
    "show": _show,
    "plot": _plot,
    "plot --metric": _plot_metric,
    "report": _report,
    "export": _export,
    "compare": _compare,
    "rerun": _rerun,
    "run": _run,
    "api": _api,
}
