"""Makes the script that draws a figure over time: the records of its curves, and the text around them."""

from collections.abc import Sequence

from netwarp.analysis.flow.flows import load_flows
from netwarp.plots import look
from netwarp.plots.labels import slug
from netwarp.plots.timeseries.curves import chosen_flows
from netwarp.plots.timeseries.figure_spec import FigureSpec, Stack
from netwarp.plots.timeseries.kinds import KINDS, kind_of
from netwarp.plots.timeseries.kinds.base import Call, Records, Script
from netwarp.plots.timeseries.kinds.queue import QUEUE
from netwarp.plots.timeseries.result import Figure
from netwarp.store.errors import SelectionError
from netwarp.store.result import ResultDir

_TABLE = '''
def table(run, name):
    """One table of a run's records."""
    return pl.read_ipc_stream(RESULT / "runs" / run / f"{name}.arrows")
'''
_HEAD = '''"""{title}

Drawn from the records of a result of netwarp, whose columns docs/records.md describes: python {name}.py [RESULT]
"""

{imports}
import matplotlib.pyplot as plt
import polars as pl

RESULT = Path(sys.argv[1] if len(sys.argv) > 1 else {place!r})

'''
_TAIL = """
figure, grid = plt.subplots({rows}, 1, figsize=({width:g}, {height:g}), sharex=True, squeeze=False)
panels = grid.ravel()
for panel, label, colour, dashes, (times, values) in CURVES:
    steps = "steps-post" if panel in STEPS else "default"
    panels[panel].plot(times, values, label=label, color=colour, linestyle=dashes, drawstyle=steps, linewidth=1.1)
for axes, label in zip(panels, LABELS):
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, loc="upper right")
panels[-1].set_xlabel("time (s)")
figure.tight_layout()
figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)
"""


def script_of(result: ResultDir, figure: Figure) -> str:
    """The script that draws a figure, chosen by the beginning of its stem. Raises SelectionError."""
    run_set, stem = figure.run_set, figure.stem
    title = figure.spec.title if isinstance(figure.spec, Stack) else figure.spec.quantity.title
    drawn = _labels(figure.spec) & set(run_set.labels) or set(run_set.labels)
    base, each = stem.removesuffix("-each").split("--")[0], stem.endswith("-each")
    queue = next((q.stem for run in run_set.runs for q in run.curves if q.stem.startswith(QUEUE)), "")
    runs = [
        Records(
            run := result.run(shown.id),
            label,
            chosen_flows(load_flows(run, transits=False)),
            drawn_as,
            slug(queue).removeprefix(QUEUE),
        )
        for label, shown, drawn_as in zip(run_set.labels, run_set.runs, run_set.looks, strict=True)
        if label in drawn
    ]
    kind = kind_of(base)
    calls, labels, steps = (
        kind.script(base.removeprefix(kind.prefix), runs) if kind and kind.script else Script([], [], [])
    )
    if not calls:
        *others, last = (kind.prefix for kind in KINDS if kind.script)
        raise SelectionError(
            f'there is no script for "{stem}"; there are for exact records, of figures whose names begin with '
            f"{', '.join(others)} or {last}"
        )
    if each:
        number = {label: at for at, label in enumerate(dict.fromkeys(call.label for call in calls))}
        calls = [Call(number[c.label], c.label, c.colour, c.dash, c.reader, c.given) for c in calls]
        labels, steps = labels * len(number), steps and list(range(len(number)))
    head = (title, stem, str(result.path.resolve()))
    return _text(head, calls, labels, steps)


def _labels(spec: FigureSpec | Stack) -> set[str]:
    """The labels of the runs that a stack shows, which may be some of them; empty for other figures, which show all."""
    return {variant.label for row in spec.columns[0] for variant in row.variants} if isinstance(spec, Stack) else set()


def _text(head: tuple[str, str, str], calls: Sequence[Call], labels: Sequence[str], steps: Sequence[int]) -> str:
    """The script; `head` is the figure's title, the script's name and the result's path."""
    title, stem, place = head
    texts = {name: text for kind in KINDS for name, text in kind.readers.items()}
    used = list(dict.fromkeys(call.reader for call in calls))
    imports = "".join(
        f"import {name}\n" for name in (*(["json"] if any("json." in texts[name] for name in used) else []), "sys")
    )
    begin = _HEAD.format(title=title, name=stem, imports=f"{imports}from pathlib import Path\n", place=place)
    read = "\n".join(text for text in (_TABLE, *(texts[name] for name in used)))
    curves = "\n".join(call.text for call in calls)
    rows = max(call.panel for call in calls) + 1
    width = look.current().width_in
    tail = _TAIL.format(rows=rows, width=width, height=max(0.5 * width, 1.6 * rows))
    return (
        f"{begin}{read}\n\n# The panel, the label, colour and dashes, times and values.\nCURVES = [\n{curves}\n]\n"
        f"LABELS = {list(labels)!r}\nSTEPS = {list(steps)!r}  # panels of states (held until the next sample)\n{tail}"
    )
