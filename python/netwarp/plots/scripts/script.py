"""Makes the script that draws a figure over time: the records of its curves, and the text around them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from netwarp.analysis.flow.flows import FlowData, load_flows
from netwarp.analysis.run import series
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.plots import look
from netwarp.plots.colours import looks
from netwarp.plots.labels import slug
from netwarp.plots.scripts import readers
from netwarp.plots.timeseries.curves import CWND, GOODPUT, QUEUE, RTT, chosen_flows
from netwarp.plots.timeseries.figure_spec import FigureSpec, Stack
from netwarp.plots.timeseries.result import Figure
from netwarp.plots.timeseries.several import BBR, INTERFACES, IPERF3
from netwarp.store.errors import SelectionError
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir

_TEXTS = {
    "window": readers.WINDOW,
    "sampled_window": readers.SAMPLED_WINDOW,
    "rtt": readers.RTT,
    "echo": readers.PING,
    "queue": readers.QUEUE,
    "goodput": readers.GOODPUT,
    "interface": readers.INTERFACE,
    "bbr": readers.BBR,
    "reported": readers.IPERF3,
}
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


@dataclass(frozen=True)
class Call:
    """One curve of a script: its panel, label and look, the reader, and the reader's arguments."""

    panel: int
    label: str
    colour: str
    dash: str
    reader: str
    given: Sequence[object]

    @property
    def text(self) -> str:
        """The curve as an entry of CURVES."""
        arguments = ", ".join(repr(one) for one in self.given)
        return f"    ({self.panel}, {self.label!r}, {self.colour!r}, {self.dash!r}, {self.reader}({arguments})),"


@dataclass(frozen=True)
class _Records:
    """One run to read curves from."""

    run: RunDir
    label: str
    flows: Sequence[FlowData]
    look: tuple[str, str]

    def ids(self, data: FlowData) -> list[int]:
        """The five-tuples that carry the flow's data."""
        flow_of = flow_of_tuples(self.run.scan("tuples").collect(), self.run.description.flows)
        return [number for number, flow_id in flow_of.items() if flow_id == data.flow.id]

    def of(self, group: str) -> Sequence[FlowData]:
        """The flows of one name, as spelt in the names of files."""
        return [data for data in self.flows if slug(data.flow.group) == group]

    @property
    def name(self) -> str:
        return self.run.path.name


def script_of(result: ResultDir, figure: Figure) -> str:
    """The script that draws a figure, chosen by the beginning of its stem. Raises SelectionError."""
    run_set, stem = figure.run_set, figure.stem
    title = figure.spec.title if isinstance(figure.spec, Stack) else figure.spec.quantity.title
    drawn = _labels(figure.spec) if stem.startswith("stack-") else None
    base, each = stem.removesuffix("-each").split("--")[0], stem.endswith("-each")
    runs = [
        _Records(run := result.run(shown.id), label, chosen_flows(load_flows(run, transits=False)), drawn_as)
        for label, shown, drawn_as in zip(run_set.labels, run_set.runs, run_set.looks, strict=True)
        if drawn is None or label in drawn
    ]
    queue = next((q.stem for run in run_set.runs for q in run.curves if q.stem.startswith(QUEUE)), "")
    calls, labels, steps = _calls(base, runs, slug(queue).removeprefix(QUEUE))
    if not calls:
        raise SelectionError(
            f'there is no script for "{stem}"; figures of exact records have one if their names begin with '
            "cwnd-, rtt-, queue-, throughput-, interfaces, iperf3-, bbr- or stack-"
        )
    if each:
        number = {label: at for at, label in enumerate(dict.fromkeys(call.label for call in calls))}
        calls = [Call(number[c.label], c.label, c.colour, c.dash, c.reader, c.given) for c in calls]
        labels, steps = labels * len(number), steps and list(range(len(number)))
    head = (title, stem, str(result.path.resolve()))
    return _text(head, calls, labels, steps)


def _labels(spec: FigureSpec | Stack) -> set[str]:
    """The labels of the variants that a figure shows; a stack may show a part of them."""
    rows = spec.columns[0] if isinstance(spec, Stack) else [spec]
    return {variant.label for row in rows for variant in row.variants}


def _text(head: tuple[str, str, str], calls: Sequence[Call], labels: Sequence[str], steps: Sequence[int]) -> str:
    """The script; `head` is the figure's title, the script's name and the result's path."""
    title, stem, place = head
    used = list(dict.fromkeys(call.reader for call in calls))
    imports = "".join(f"import {name}\n" for name in (*(["json"] if "reported" in used else []), "sys"))
    begin = _HEAD.format(title=title, name=stem, imports=f"{imports}from pathlib import Path\n", place=place)
    read = "\n".join(text for text in (readers.TABLE, *(_TEXTS[name] for name in used)))
    curves = "\n".join(call.text for call in calls)
    rows = max(call.panel for call in calls) + 1
    width = look.current().width_in
    tail = _TAIL.format(rows=rows, width=width, height=max(0.5 * width, 1.6 * rows))
    return (
        f"{begin}{read}\n\n# The panel, the label, colour and dashes, times and values.\nCURVES = [\n{curves}\n]\n"
        f"LABELS = {list(labels)!r}\nSTEPS = {list(steps)!r}  # panels of what holds until the next sample\n{tail}"
    )


def _calls(base: str, runs: Sequence[_Records], queue: str) -> tuple[list[Call], list[str], list[int]]:
    """The curves, the labels of the panels, and the panels that show steps."""
    drawn = [one.look for one in runs]
    single: dict[str, tuple[Callable[[_Records, str], Iterator[tuple[str, Sequence[object]]]], str, bool]] = {
        CWND: (_window, "congestion window (packets)", True),
        RTT: (_rtt, "RTT (ms)", False),
        QUEUE: (_queue, "queue length (packets)", True),
        GOODPUT: (_goodput, "goodput (Mbit/s)", False),
    }
    for prefix, (source, label, steps) in single.items():
        if base.startswith(prefix):
            about = base.removeprefix(prefix)
            calls = [
                Call(0, one.label, *drawn[at], reader, given)
                for at, one in enumerate(runs)
                for reader, given in source(one, about)
            ]
            return calls, [label], [0] if steps else []
    if base.startswith("stack-"):
        return _stacked(base.removeprefix("stack-"), queue, runs, drawn)
    if base.startswith(BBR):
        return _bbr(base.removeprefix(BBR), runs)
    several = next((s for prefix, s in ((INTERFACES, _interfaces), (IPERF3, _iperf3)) if base.startswith(prefix)), None)
    return _several(several, base, runs) if several else ([], [], [])


_Several = Callable[[_Records, str], Iterator[tuple[str, str, Sequence[object]]]]


def _several(source: _Several, base: str, runs: Sequence[_Records]) -> tuple[list[Call], list[str], list[int]]:
    """The curves of a figure with a panel for each run and several curves in each."""
    calls: list[Call] = []
    for at, one in enumerate(runs):
        found = list(source(one, base))
        colours = looks([label for label, *_ in found])
        calls += [Call(at, label, *colours[n], reader, given) for n, (label, reader, given) in enumerate(found)]
    labels = [f"{one.label}\n(Mbit/s)" if len(runs) > 1 else "rate (Mbit/s)" for one in runs]
    return calls, labels, []


def _window(one: _Records, group: str) -> Iterator[tuple[str, Sequence[object]]]:
    for data in one.of(group):
        if data.sender is not None and not data.sender.sampled:
            yield "window", (one.name, one.ids(data))


def _rtt(one: _Records, group: str) -> Iterator[tuple[str, Sequence[object]]]:
    for data in one.of(group):
        if data.pings is not None:
            yield "echo", (one.name, data.flow.id)
        elif data.sender is not None and not data.sender.sampled:
            yield "rtt", (one.name, one.ids(data))


def _queue(one: _Records, about: str) -> Iterator[tuple[str, Sequence[object]]]:
    end = next((end for end in one.run.description.ends if slug(f"{end.link}-{end.node}") == about), None)
    if end is not None and one.run.has_rows("packets"):
        yield "queue", (one.name, end.interface_index)


def _goodput(one: _Records, group: str) -> Iterator[tuple[str, Sequence[object]]]:
    flows = one.of(group)
    if not flows or not all(data.deliveries and data.deliveries.arrived for data in flows):
        return
    step_ns = series.interval_ns(one.run, one.flows)
    frame = series.throughput(flows, series.whole_run(one.run), step_ns)
    ids = [number for data in flows for number in one.ids(data)]
    yield "goodput", (one.name, ids, step_ns, (0, frame.height))


def _interfaces(one: _Records, _: str) -> Iterator[tuple[str, str, Sequence[object]]]:
    step_ns = max(series.interval_ns(one.run, one.flows), one.run.description.sample_ns)
    for end in one.run.description.ends:
        frame = series.interface_rate(one.run, end, step_ns)
        if frame.height > 1:
            yield f"{end.node} on {end.link}", "interface", (one.name, end.interface_index, step_ns)


def _iperf3(one: _Records, base: str) -> Iterator[tuple[str, str, Sequence[object]]]:
    name = base.removeprefix(IPERF3)
    for data in (data for data in one.flows if slug(data.flow.name) == name):
        for side, file in (
            ("client", f"iperf3-{data.flow.name}.json"),
            ("server", f"iperf3-{data.flow.name}-server.json"),
        ):
            if (one.run.path / file).is_file():
                yield f"iperf3's {side}", "reported", (one.name, file, data.start_ns / 1e9)
        for reader, given in _goodput(one, slug(data.flow.group)):
            yield "arrived", reader, given


def _stacked(
    group: str, queue: str, runs: Sequence[_Records], drawn: Sequence[tuple[str, str]]
) -> tuple[list[Call], list[str], list[int]]:
    rows: list[tuple[str, list[Call], bool]] = []
    for label, source, about, steps in (
        ("RTT (ms)", _rtt, group, False),
        ("queue length (packets)", _queue, queue, True),
        ("congestion window (packets)", _window, group, True),
    ):
        calls = [
            Call(len(rows), one.label, *drawn[at], reader, given)
            for at, one in enumerate(runs)
            for reader, given in source(one, about)
        ]
        if calls:
            rows.append((label, calls, steps))
    steps_at = [at for at, (_, _, steps) in enumerate(rows) if steps]
    return [call for _, calls, _ in rows for call in calls], [label for label, _, _ in rows], steps_at


def _bbr(about: str, runs: Sequence[_Records]) -> tuple[list[Call], list[str], list[int]]:
    """The curves of BBR's state in the figure's run; `about` is a flow's name, followed by the run's label."""
    wanted = (
        (0, "pacing gain", "bbr_pacing_gain", 256),
        (0, "window gain", "bbr_cwnd_gain", 256),
        (1, "bandwidth estimate", "bbr_bw_bps", 1e6),
    )
    for one in sorted(runs, key=lambda one: not about.endswith(slug(one.label))):
        for data in one.flows:
            if about.startswith(slug(data.flow.group)) and data.flow.cc.startswith("bbr"):
                colours = looks([label for _, label, *_ in wanted])
                calls = [
                    Call(row, label, *colours[n], "bbr", (one.name, one.ids(data), column, unit))
                    for n, (row, label, column, unit) in enumerate(wanted)
                ]
                return calls, ["gain (times)", "bandwidth (Mbit/s)"], [0, 1]
    return [], [], []
