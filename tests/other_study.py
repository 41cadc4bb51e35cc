"""A study as another package would provide it: one of everything, offered by an installed package (`offer`).

Its command, view and importer load what they need when they are called, as netwarp's own do.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.studies.base import Export, Study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.plan import Plan
    from netwarp.steps.imports import Imported
    from netwarp.store.result import ResultDir
    from netwarp.verify.row import Family

SCENARIO = """\
name = "one-flow"
summary = "One flow of someone else's"
duration = "1s"
views = ["goodputs"]
[nodes]
h1 = {}
h2 = {}
[links.only]
ends = ["h1", "h2"]
rate = "10mbit"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
[[cases]]
name = "othersCubic_10"
[cases.set]
"flows.bulk.cc" = "cubic"
[[cases]]
name = "othersReno_10"
[cases.set]
"flows.bulk.cc" = "reno"
"""

STUDY = Study(
    scenarios=Path(__file__).parent / "others_scenarios",
    views={"goodputs": "other_study:write"},
    needs={"goodputs": "other_study:lacking"},
    rows=("other_study:family",),
    imports=("other_study:read_archive",),
    exports={"goodputs": Export("other_study:write_goodputs", "the goodput of each flow, a line for each")},
    commands={"fastest": "other_study:fastest"},
    short_words={"^others": "my "},
)


def family() -> Family:
    """A row that agrees, measured by its scenario."""
    from netwarp.verify.measures import metric
    from netwarp.verify.row import Experiment, Family, Row, share

    row = Row(
        "others-goodput",
        "A flow alone gets what headers leave.",
        "arithmetic: 10 Mbit/s × 1448 / 1514",
        "Mbit/s",
        {"goodput_mbps": 9.56},
        share(0.1, "slow start is a tenth of the run"),
        Experiment("one-flow"),
        metric("flow", "bulk", "goodput_mbps"),
    )
    return Family("Others", (row,))


def lacking(plan: Plan, axes: Sequence[str], *, exact: bool) -> str | None:
    """The table has a line for each case."""
    return None if "case" in axes else "the view goodputs compares cases, and there are none; add [[cases]]"


def write(result: ResultDir, *, figures: bool = True) -> list[Path]:
    """A table, a finding and a figure."""
    from netwarp.plots import style
    from netwarp.store.files import make_folder
    from netwarp.store.findings import Finding, Holds, write_findings

    folder = make_folder(result.path / "goodputs")
    goodputs = _goodputs(result)
    finding = Finding("every flow moves data", Holds.YES, f"{len(goodputs)} flows did")
    files = [*write_goodputs(result, folder), write_findings(folder, [finding])]
    if figures:
        with style.drawing():
            figure = style.new_figure(3.0)
            figure.add_subplot().bar(list(goodputs), list(goodputs.values()))
            files += style.save(figure, result.plots / "goodputs")
    return files


def write_goodputs(result: ResultDir, directory: Path, /) -> list[Path]:
    """A line for each run, `case,Mbit/s`."""
    from netwarp.store.files import write_text

    lines = [f"{case},{value:.3f}\n" for case, value in _goodputs(result).items()]
    write_text(directory / "goodputs.csv", "case,goodput_mbps\n" + "".join(lines))
    return [directory / "goodputs.csv"]


def _goodputs(result: ResultDir) -> dict[str, float]:
    rows = result.summary().filter(scope="flow", metric="goodput_mbps")
    return dict(zip(rows["case"].to_list(), rows["value"].to_list(), strict=True))


def fastest(result: Path, /) -> int:
    """Name the case with the highest goodput.

    Parameters
    ----------
    result
        A result of one-flow.
    """
    from netwarp.cli.common import OK, errors
    from netwarp.store.result import open_verified

    with errors():
        goodputs = _goodputs(open_verified(result))
        sys.stdout.write(f"{max(goodputs, key=lambda case: goodputs[case])}\n")
    return OK


def read_archive(directory: Path, output: Path | None = None) -> Imported:
    """Unpack a result that was packed as result.tar."""
    from netwarp.common.archives import unpack
    from netwarp.steps.imports import Imported, Note
    from netwarp.store.errors import LayoutError

    archive = directory / "result.tar"
    if not archive.is_file():
        raise LayoutError(f"{directory} has no result.tar")
    place = output or Path("results/unpacked")
    with tarfile.open(archive) as packed:
        unpack(packed, place)
    return Imported(place, 1, (Note("one-flow", archive.name, "was packed", left_out=False),))


def offer(site: Path) -> None:
    """Install this study in a directory for PYTHONPATH: its module, its scenario, and the line that registers it."""
    shutil.copy(__file__, site / "other_study.py")
    (site / "others_scenarios").mkdir()
    (site / "others_scenarios" / "one-flow.toml").write_text(SCENARIO)
    register(site, "others", "other_study:STUDY")


def register(site: Path, name: str, value: str) -> None:
    """Let a package of this name offer a study of this name."""
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[netwarp.studies]\n{name} = {value}\n")
