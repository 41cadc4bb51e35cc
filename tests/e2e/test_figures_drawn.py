"""Figures of every shipped scenario, drawn from short runs: nothing is clipped, runs into something or hides something.

`make nightly` does the same with the scenarios as they are.
"""

from __future__ import annotations

import html
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from e2e_command import netwarp
from e2e_nights import parameters
from netwarp.plots.chosen import MOST
from netwarp.plots.look import Look, names
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Stack
from netwarp.plots.timeseries.result import figures_of
from netwarp.scenario import shipped_scenarios
from netwarp.store.result import open_result

from bench.figures import faults

BRIEF = ("--set", 'duration="3s"', "--seeds", "1")
UNWARMED = (*BRIEF, "--set", 'warmup="0s"')
THEORY = (*UNWARMED, "--sweep", 'flows.poisson.rate=["30mbit", "90mbit"]')
FEW = (
    *("bw3+impairments_10_bbr_fq", "bw3+impairments_10_cubic_fq", "bwNORMAL_1_cubic_fq"),
    *("bw3Mbps_multiflow_10_RED", "bw3Mbps_oneflow_RED", "bwNORMAL_oneflow_RED"),
    *("bw3Mbps_multiflow_pfifo", "bw3Mbps_oneflow_pfifo"),
)
STUDY = (
    *(word for name in FEW for word in ("--case", name)),
    *("--seeds", "1", "--set", 'duration="6s"', "--set", 'flows.tcp.duration="2s"'),
    *("--set", 'flows.udp.start="4s"', "--set", 'flows.udp.duration="1s"'),
)
SIZES = 'links.bottleneck.queue=["pfifo limit 20", "pfifo limit 300"]'
TWO = 'links.bottleneck.queue=["pfifo limit 20", "pfifo limit 100"]'
SHORT: dict[str, tuple[str, ...]] = {
    "bufferbloat": (*UNWARMED, "--sweep", TWO),
    "bufferbloat-50-100-150": UNWARMED,
    "buffer-sizing": (*UNWARMED, "--sweep", 'flows.bulk.cc=["cubic", "bbr"]', "--sweep", SIZES),
    "bufferbloat-first-peak": (*UNWARMED, "--sweep", 'links.bottleneck.queue=["pfifo limit 50", "pfifo limit 150"]'),
    "coexistence": (*UNWARMED, "--sweep", "flows.cubic.count=[10]"),
    "coexistence-matrix": (
        *UNWARMED,
        *("--sweep", 'flows.a.cc=["cubic", "vegas"]', "--sweep", 'flows.b.cc=["cubic", "vegas"]'),
    ),
    "differential": (*BRIEF, "--case", "baseline", "--case", "bw-h1 5", "--case", "bw-h1 20", "--case", "delay-h1 200"),
    "energy": (*UNWARMED, "--sweep", 'flows.bulk.cc=["cubic", "bbr"]'),
    "join-and-leave": ("--seeds", "1", "--case", "bbr"),
    "l4s": (*UNWARMED, "--case", "1 and 1", "--case", "one queue"),
    "md1": THEORY,
    "mitigate": (),
    "mm1": THEORY,
    "mm1k": THEORY,
    "mobile": (*BRIEF, "--set", 'duration="6s"', "--sweep", 'links.radio.trace=["lte"]'),
    "red-law": (*UNWARMED, "--sweep", 'flows.poisson.rate=["100mbit", "120mbit"]'),
    "tcp-vs-udp": (*UNWARMED, "--set", 'duration="20s"', "--case", "TCP alone", "--case", "TCP and UDP"),
    "three-node-builtin": STUDY,
    "three-node-published": (*STUDY, "--set", 'duration="14s"'),
    "web-search": ("--set", 'duration="10s"'),
    "shape-udp": (*UNWARMED, "--case", "tail drop", "--case", "shaped"),
    "fair-users": (*UNWARMED, "--case", "fq_codel", "--case", "CAKE hosts"),
    "real-time": (*UNWARMED, "--case", "CoDel", "--case", "priority"),
    "receive-buffers": (*UNWARMED, "--case", "64 kB"),
    "different-rtts": (*UNWARMED, "--case", "Reno"),
    "red-synchronisation": UNWARMED,
    "calls": ("--seeds", "1"),
    "mptcp": ("--seeds", "1", "--case", "spread"),
    "quic-vs-tcp": UNWARMED,
    "game": (*UNWARMED, "--set", 'duration="5s"'),
    "handshakes": ("--set", 'duration="10s"'),
    "sctp-vs-tcp": (*UNWARMED, "--set", 'duration="5s"', "--sweep", 'flows.tcp.cc=["reno"]'),
    "rate-step": (*UNWARMED, "--set", 'duration="6s"'),
    "page-loads": ("--set", 'duration="10s"'),
    "video-players": (*UNWARMED, "--set", 'duration="50s"', "--sweep", 'flows.video.player=["rate"]'),
    "tuners": (*BRIEF, "--sweep", 'run.tuner=["default", "small-buffers", "fq"]'),
}
"""Changes that make each short; the full three-node studies run iperf3, which takes minutes, and draw the same
figures."""
KINDS = "cwnd|rtt|queue|throughput|stack|interfaces|bbr|iperf3|jain|monitor"
ALIKE = {
    "bufferbloat-50-100-150",
    "bufferbloat-first-peak",
    "different-rtts",
    "fair-users",
    "game",
    "handshakes",
    "join-and-leave",
    "md1",
    "mitigate",
    "mm1k",
    "mobile",
    "rate-step",
    "real-time",
    "receive-buffers",
    "sctp-vs-tcp",
    "shape-udp",
    "tcp-vs-udp",
    "three-node-published",
    "tuners",
}
"""Their figures have the same kinds as the others; `make nightly` draws them."""
LEFT_OUT = {"ab-interference", "three-node", "kernel-ab", "diurnal"}
"""They take long, and `make nightly` draws every figure of them."""


def test_every_shipped_scenario_is_here() -> None:
    assert set(SHORT) | LEFT_OUT == set(shipped_scenarios())


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {}


def made(results: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    """A short result of a shipped scenario, made once."""
    if name not in results:
        results[name] = tmp_path_factory.mktemp(name) / "r"
        done = netwarp("run", name, *SHORT[name], "--no-plots", "-o", results[name])
        assert done.code in (0, 1), done.err  # expectations for a minute do not hold for seconds
    return results[name]


@pytest.mark.parametrize("name", parameters(sorted(SHORT), ALIKE.__contains__))
def test_figures_can_be_read(name: str, results: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> None:
    drawn, found = faults(made(results, tmp_path_factory, name), Look())
    assert 1 <= len(drawn) <= MOST + 2, "a lab has the figures that answer its questions"
    assert found == []
    missing = [figure for figure in _figures_of_the_lab(name) if not any(names(figure, stem) for stem in drawn)]
    assert missing == [], "the lab's page names figures that there are not"


def _figures_of_the_lab(name: str) -> list[str]:
    """The figures that the page of a lab names, if there is one; open parts match anything."""
    page = Path(__file__).parents[2] / "docs" / "labs" / f"{name}.md"
    named = re.findall(rf"`(?:plots/)?((?:{KINDS})-[^`\s]*?)(?:\.png)?`", page.read_text() if page.exists() else "")
    return [re.sub("-?…|METRIC", "*", figure) for figure in named]


def test_figures_that_labs_name_are_found() -> None:
    assert {"cwnd-bulk--cubic", "rtt-ping--cubic-each"} <= set(_figures_of_the_lab("bufferbloat"))
    assert "monitor-*-tcp--links.h1.delay" in _figures_of_the_lab("differential")
    assert not any(names(figure, "cwnd-bulk--reno") for figure in _figures_of_the_lab("bufferbloat"))


def test_figures_fit_a_column(results: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> None:
    result = made(results, tmp_path_factory, "three-node-builtin")  # with the longest names
    drawn, found = faults(result, Look(width_in=3.3, title=False))
    assert len(drawn) >= 2
    assert found == []


def test_the_page_of_figures(results: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> None:
    """It shows the drawn figures, and each of its commands works."""
    path = made(results, tmp_path_factory, "bufferbloat")
    answer = netwarp("plot", path, "--format", "png")
    drawn = {Path(line).name for line in answer.out.split()}
    page = html.unescape((path / "plots" / "index.html").read_text())
    assert drawn == set(re.findall(r'<img src="([^"]*)"', page)), answer.err
    assert {"cwnd-bulk--cubic.png", "stack-bulk--cubic.png"} <= drawn and len(drawn) <= MOST
    others = re.findall(r"<li><code>netwarp plot DIR ('?[^<]*)</code>", page)
    assert "queue-bottleneck-r1--reno" in others and "'*--by-bulk-cc-pfifo-limit-20*'" in others
    some = netwarp("plot", path, "cwnd-bulk--by-bulk-cc-pfifo-limit-20", "--format", "png")
    assert [Path(line).stem for line in some.out.split()] == ["cwnd-bulk--by-bulk-cc-pfifo-limit-20"], some.err


def test_what_is_recorded_has_a_figure(results: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> None:
    """BBR's state, interfaces over time, and RTT, queue and window on one axis; iperf3's own intervals."""
    mobile = {figure.stem: figure for figure in figures_of(open_result(made(results, tmp_path_factory, "mobile")))}
    bbr = mobile["bbr-bulk--lte-fq-codel"].spec
    assert isinstance(bbr, Stack)
    whole, start = bbr.columns
    assert [row.quantity.axis for row in whole] == [
        "gain (times)",
        "bandwidth (Mbit/s)",
        "RTT (ms)",
        "window (packets)",
    ]
    assert start[0].window[1] < whole[0].window[1]
    gains = {variant.label: variant.curves[0].values for variant in whole[0].variants}
    assert max(gains["pacing gain"]) == pytest.approx(739 / 256), "bbr_high_gain of tcp_bbr.c"
    assert {bar.kind for bar in whole[0].variants[0].phases} >= {"Startup", "Drain", "ProbeBW"}
    stack = mobile["stack-bulk--lte-fq-codel"].spec
    assert isinstance(stack, Stack)
    assert [row.quantity.stem.split("-")[0] for row in stack.columns[0]] == ["rtt", "queue", "cwnd"]
    rates = mobile["interfaces--lte-fq-codel"].spec
    assert isinstance(rates, FigureSpec)
    assert {"server → r1 (core)", "r1 → phone (radio)"} <= {variant.label for variant in rates.variants}
    titles = _figures_in_the_page(made(results, tmp_path_factory, "mobile"))
    assert {rates.quantity.title, bbr.title, stack.title} <= titles


def _figures_in_the_page(result: Path) -> set[str]:
    """The titles of the figures in a result's page."""
    answer = netwarp("report", result)
    assert answer.code in (0, 1), answer.err
    labels = re.findall(r'role="img" aria-label="([^"]*)', (result / "report.html").read_text())
    return {html.unescape(label).split("; ")[0] for label in labels}


def test_iperf3s_own_intervals(tmp_path: Path) -> None:
    iperf3 = ("--set", 'flows.bulk.tool="iperf3"', "--set", 'flows.bulk.args=["-i", "0.5"]')
    values = ("--sweep", 'links.bottleneck.queue=["pfifo limit 100"]', "--sweep", 'flows.bulk.cc=["cubic"]')
    done = netwarp("run", "bufferbloat", *UNWARMED, *iperf3, *values, "--no-plots", "-o", tmp_path / "r")
    assert done.code in (0, 1), done.err
    figures = {figure.stem: figure.spec for figure in figures_of(open_result(tmp_path / "r"))}
    spec = next(spec for stem, spec in figures.items() if stem.startswith("iperf3-bulk"))
    assert isinstance(spec, FigureSpec)
    sender, readable = spec.shown_alone[0].variants
    assert (sender.label, readable.label) == ("iperf3's sender", "readable, in each 100 ms")
    (sent,), (taken,) = sender.curves, readable.curves
    assert sent.values[0] > taken.values[taken.times < 0.5].max(), "the first peak: buffers are filled"
    spread = float(sender.curves[0].values.std(ddof=1))
    assert spec.shown_alone[0].heading == f"σ {spread:.2f}"
    assert spec.window[1] == 3, "a short run as a whole"
    assert spec.quantity.title in _figures_in_the_page(tmp_path / "r")


@pytest.mark.parametrize(
    "name", parameters(["three-node-builtin", "three-node-published"], "three-node-published".__eq__)
)
def test_the_study_of_many_rows(name: str, results: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Small multiples by discipline under short names, bars sorted by value, the two series in two figures each."""
    path = made(results, tmp_path_factory, name)
    figures = {figure.stem: figure.spec for figure in figures_of(open_result(path))}
    parts = [figures[f"cwnd-tcp--{kind}-each"] for kind in ("fq-codel", "red", "pfifo")]
    assert "cwnd-tcp" not in figures, "eight cases over each other"
    counts = [len(spec.shown_alone) for spec in parts if isinstance(spec, FigureSpec)]
    assert counts == [3, 3, 2]
    headings = [panel.heading for spec in parts if isinstance(spec, FigureSpec) for panel in spec.shown_alone]
    assert {"bw3 imp 10 bbr", "norm oneflow RED"} <= set(headings)
    if name == "three-node-builtin":
        ten = next(p for p in parts[0].shown_alone if p.heading == "bw3 imp 10 cubic")  # type: ignore[union-attr]
        assert [len(variant.bands) for variant in ten.variants] == [2], "ten flows are bands"
    else:
        printed = figures["iperf3-tcp--pfifo"]
        assert isinstance(printed, FigureSpec)
        assert printed.window[1] < printed.duration_s, "what iperf3 printed ends with its flow"
        arriving = figures["throughput-udp--pfifo-each"]
        assert isinstance(arriving, FigureSpec)
        ends = [curve.values[-1] for panel in arriving.shown_alone for v in panel.variants for curve in v.curves]
        sentences = (path / "three-node/recommendations.csv").read_text()
        assert "stands for both" not in sentences, "rows with and without a rate limit are different rows"
        assert ends == [0.0] * len(ends), "what is in the queue when the sender stops arrives after that"
    answer = netwarp("plot", path, "summary_plot", "--format", "svg")
    assert [Path(line).stem for line in answer.out.split()] == [
        "summary_plot--fq-codel-series",
        "summary_plot--pfifo-and-RED-series",
    ], answer.err


SCRIPTED = ["cwnd-bulk--cubic", "rtt-ping--cubic", "queue-bottleneck-r1--cubic-each", "throughput-bulk--cubic"]
PAGES = ["cwnd-page--0", "cwnd-page--by-line-loss-3", "rtt-page--0"]
"""Figures of connections that come and go, over TCP and QUIC."""


@pytest.mark.parametrize("name", [*SCRIPTED, "interfaces--cubic", "stack-bulk--cubic", *PAGES])
def test_a_script_draws_the_same(
    name: str, tmp_path: Path, results: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The script runs without netwarp, and has every sample that the figure shows."""
    path = made(results, tmp_path_factory, "page-loads" if name in PAGES else "bufferbloat")
    answer = netwarp("plot", path, name, "--script", "-o", tmp_path)
    script = tmp_path / f"{name}.py"
    assert answer.out.split() == [str(script)], answer.err
    alone = "import sys, runpy; sys.modules['netwarp'] = None; runpy.run_path(sys.argv.pop(), run_name='__main__')"
    environment = os.environ | {"MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-c", alone, script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"{name}.png").stat().st_size > 5_000
    (figure,) = (figure for figure in figures_of(open_result(path)) if figure.stem == name)
    saved, sys.argv = sys.argv, ["script"]
    try:
        read = runpy.run_path(str(script))["CURVES"]
    finally:
        sys.argv = saved
    ours = _curves(figure.spec)
    theirs = [(np.asarray(times, float), np.asarray(values, float)) for *_, (times, values) in read]
    for curve in ours:
        assert any(_within(curve, *one) for one in theirs), "a curve of the figure is not in the script"
    if not name.startswith("interfaces"):  # the figure leaves out those that carry ACKs
        assert len(ours) == len(theirs)


def _curves(spec: FigureSpec | Stack) -> list[Curve]:
    rows: Any = spec.columns[0] if isinstance(spec, Stack) else [spec]
    return [curve for row in rows for panel in row.shown_alone for v in panel.variants for curve in v.curves]


def _within(curve: Curve, times: np.ndarray, values: np.ndarray) -> bool:
    """Whether each sample of the figure, which is reduced, is one of the script's."""
    if abs(times[0] - curve.times[0]) > 1e-6 or abs(times[-1] - curve.times[-1]) > 1e-6:
        return False
    first = np.searchsorted(times, curve.times - 1e-7)
    alike = np.zeros(len(first), bool)
    for later in (0, 1):  # the gap of a missing reply stands where the one before it came
        found = values[np.minimum(first + later, len(values) - 1)]
        alike |= np.abs(found - curve.values) <= 1e-6 * np.maximum(1.0, np.abs(curve.values))
        alike |= np.isnan(found) & np.isnan(curve.values)
    return bool(alike.mean() > 0.999)


def test_print(results: dict[str, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = made(results, tmp_path_factory, "bufferbloat")
    words = ("--style", "acm", "--no-title", "--only", "bulk,cubic", "--xlim", "0,1", "--ylog", "--format", "pdf,svg")
    answer = netwarp("plot", path, "cwnd-bulk", *words, "-o", tmp_path)
    names = sorted(Path(line).name for line in answer.out.split())
    stems = ("cwnd-bulk--cubic", "cwnd-bulk--cubic-each")
    assert names == sorted(f"{stem}.{kind}" for stem in stems for kind in ("pdf", "svg")), answer.err
    svg = (tmp_path / "cwnd-bulk--cubic.svg").read_text()
    assert f'width="{3.33 * 72:g}' in svg
    described, drawn = svg.split("</metadata>")
    assert "<title>Congestion window of bulk</title>" in described and "Congestion window of bulk" not in drawn
    assert b"/Type3" not in (tmp_path / "cwnd-bulk--cubic.pdf").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cwnd-blk",), 'there is no figure "cwnd-blk" (did you mean "cwnd-bulk--'),
        (("--style", "acn"), 'there is no style "acn" (did you mean "acm"?), and no such file'),
        (("--width", "3.3"), '"3.3" is not a width; write a number and its unit, such as 3.3in'),
        (("--width", "1in"), "a figure is 2.5 to 40 inches wide; 1in is not"),
        (("--only", "blk"), 'nothing is called "blk" (did you mean "bulk"?); there are: flows bulk, ping; '),
        (("--xlim", "5,1"), '"5,1" is not a range: its first end must be below the second'),
        (("--xlim", "5"), '"5" is not a range; write both ends in seconds'),
        (("--xlim", "80,90"), "--xlim begins at 80 s, and the runs end at 3 s"),
        (("--script",), "--script needs the name of a figure; there are: cwnd-bulk--"),
        (("--format", "gif"), '"gif" is not a format of figures'),
        (("cwnd-bulk", "--metric", "flow.rtt_ms"), 'so the name "cwnd-bulk" has no meaning'),
    ],
)
def test_what_cannot_be_drawn_is_said(
    arguments: tuple[str, ...], words: str, results: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    answer = netwarp("plot", made(results, tmp_path_factory, "bufferbloat"), *arguments)
    assert answer.code == 2, answer.err
    assert words in answer.words


def test_a_style_file(results: dict[str, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = made(results, tmp_path_factory, "bufferbloat")
    style = tmp_path / "mine.mplstyle"
    style.write_text("lines.linewidth: 3\nfigure.figsize: 5, 3\n")
    answer = netwarp("plot", path, "cwnd-bulk--cubic", "--style", style, "--format", "svg", "-o", tmp_path)
    assert answer.code == 0, answer.err
    assert 'width="360pt"' in (tmp_path / "cwnd-bulk--cubic.svg").read_text()
    style.write_text("lines.linewidth: wide\n")
    answer = netwarp("plot", path, "--style", style)
    assert answer.code == 2
    assert "mine.mplstyle is not a matplotlib style: " in answer.words
