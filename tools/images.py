"""The pictures of the documentation, drawn from shipped scenarios as they are.

`python -m tools.images [IMAGE...]` makes the runs of the named pictures (all of them take some twenty minutes on two
CPUs), draws each and writes it to docs/images. `--results DIR` keeps the results there, so that only missing ones are
made again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from tools.gallery_page import files

ROOT = Path(__file__).parents[1]
NETWARP = Path(sys.executable).parent / "netwarp"
IMAGES = ROOT / "docs" / "images"
COLOURS = 128
"""Number of colours; enough for lines and the edges of letters, and a file a third as large."""


@dataclass(frozen=True)
class Source:
    """Source of a picture: a scenario, its options, and the name of the figure.

    A figure of a metric has its metric, its axes and its kind as well, by which `netwarp plot` draws it.
    """

    scenario: str
    figure: str
    arguments: tuple[str, ...] = ()
    metric: str = ""
    axes: str = ""
    kind: str = "auto"

    @property
    def result(self) -> str:
        """The name of its result, which pictures of the same runs share."""
        return "-".join([self.scenario, *(["tuned"] if self.arguments else [])])


TUNED = ("--case", "TCP and UDP", "--sweep", 'run.tuner=["default","small-buffers","large-buffers"]')
SEEDS = ("--seeds", "20")
# One row of the study; the whole of it has 24, three times each.
ROW = ("--seeds", "1", "--case")
SOURCES = {
    "bufferbloat-cwnd": Source("bufferbloat", "cwnd-bulk--cubic"),
    "bufferbloat-cwnd-reno": Source("bufferbloat", "cwnd-bulk--reno"),
    "bufferbloat-first-peak": Source("bufferbloat-first-peak", "cwnd-bulk--Reno-offloads"),
    "gallery-bbr-draft": Source(
        "bbr-draft", "throughput-all-flows", ("--case", "BBR and CUBIC", "--case", "draft and CUBIC")
    ),
    "gallery-copa": Source("copa", "rtt-copa", ("--case", "alone", "--case", "two", "--case", "four")),
    "gallery-hystartpp": Source("hystartpp", "cwnd-bulk"),
    "gallery-prague": Source("prague-rtt", "throughput-all-flows"),
    "gallery-vivace": Source(
        "vivace",
        "flow.goodput_mbps-vivace-by-case-bar",
        ("--seeds", "6"),
        metric="flow.goodput_mbps",
        axes="case",
    ),
    "l4s": Source("l4s", "throughput-all-flows"),
    "lab-ab-interference": Source("ab-interference", "ab-interference"),
    "lab-buffer-sizing": Source(
        "buffer-sizing",
        "link.utilisation-bottleneck-r1-by-bottleneck-queue-by-bulk-cc-line",
        metric="link.utilisation",
        axes="links.bottleneck.queue,flows.bulk.cc",
    ),
    "lab-bufferbloat-large": Source("bufferbloat-50-100-150", "rtt-ping"),
    "lab-coexistence": Source(
        "coexistence",
        "flow.goodput_mbps-bbr-by-cubic-count-by-bottleneck-queue-heatmap",
        metric="flow.goodput_mbps",
        axes="flows.cubic.count,links.bottleneck.queue",
    ),
    "lab-coexistence-matrix": Source("coexistence-matrix", "coexistence-matrix"),
    "lab-differential-cwnd": Source("differential", "monitor-snd-cwnd-tcp--links.h1.delay"),
    "lab-differential-rate": Source("differential", "monitor-delivery-rate-bps-tcp--links.h2.rate"),
    "lab-diurnal": Source("diurnal", "throughput-all-flows"),
    "lab-energy": Source("energy", "energy-cost"),
    "lab-join-and-leave": Source("join-and-leave", "throughput-all-flows"),
    "lab-md1": Source("md1", "queueing-theory"),
    "lab-mitigate-average": Source("mitigate", "inside-bottleneck-r1-average"),
    "lab-mitigate-count": Source("mitigate", "inside-bottleneck-r1-count"),
    "lab-mitigate-prob": Source("mitigate", "inside-bottleneck-r1-prob"),
    "lab-mitigate-ping": Source("mitigate", "rtt-ping"),
    "lab-mitigate-rtt": Source("mitigate", "rtt-bulk"),
    "lab-mitigate-throughput": Source("mitigate", "throughput-bulk-each"),
    "lab-mm1": Source("mm1", "queueing-theory"),
    "lab-mm1k": Source("mm1k", "queueing-theory"),
    "lab-mobile-rtt": Source("mobile", "rtt-bulk--lte-pfifo-limit-1000"),
    "lab-red-law": Source("red-law", "red-law"),
    "lab-web-search": Source(
        "web-search",
        "flow.completion_ms-search-by-bottleneck-queue-cdf",
        metric="flow.completion_ms",
        axes="links.bottleneck.queue",
    ),
    "lab-shape-udp": Source(
        "shape-udp", "flow.goodput_mbps-by-case-by-name-bar", SEEDS, metric="flow.goodput_mbps", axes="case,name"
    ),
    "lab-fair-users": Source(
        "fair-users", "flow.goodput_mbps-by-case-by-name-bar", SEEDS, metric="flow.goodput_mbps", axes="case,name"
    ),
    "lab-real-time": Source(
        "real-time", "flow.delay_ms_p99-call-by-case-bar", SEEDS, metric="flow.delay_ms_p99", axes="case"
    ),
    "lab-receive-buffers": Source(
        "receive-buffers",
        "flow.goodput_mbps-bulk-by-case-by-bulk-cc-bar",
        SEEDS,
        metric="flow.goodput_mbps",
        axes="case,flows.bulk.cc",
    ),
    "lab-different-rtts": Source(
        "different-rtts",
        "run.goodput_ratio-by-bottleneck-queue-by-case-bar",
        SEEDS,
        metric="run.goodput_ratio",
        axes="links.bottleneck.queue,case",
    ),
    "lab-red-synchronisation": Source("red-synchronisation", "queue-bottleneck-r1"),
    "lab-mptcp": Source("mptcp", "throughput-upload", ("--seeds", "1")),
    "lab-game": Source(
        "game", "flow.late_pct-by-line-queue-by-name-bar", SEEDS, metric="flow.late_pct", axes="links.line.queue,name"
    ),
    "lab-handshakes": Source(
        "handshakes",
        "flow.ttfb_rtts_p50-page-by-line-delay-by-case-bar",
        metric="flow.ttfb_rtts_p50",
        axes="links.line.delay,case",
        kind="bar",
    ),
    "lab-sctp-vs-tcp": Source(
        "sctp-vs-tcp",
        "flow.goodput_mbps-by-tcp-cc-by-bottleneck-queue-by-name-bar",
        SEEDS,
        metric="flow.goodput_mbps",
        axes="flows.tcp.cc,links.bottleneck.queue,name",
    ),
    "lab-quic-vs-tcp": Source("quic-vs-tcp", "throughput-all-flows"),
    "lab-rate-step": Source("rate-step", "throughput-bulk--bbr"),
    "lab-page-loads": Source(
        "page-loads",
        "flow.page_load_ms-page-by-page-version-by-line-loss-cdf",
        metric="flow.page_load_ms",
        axes="flows.page.version,links.line.loss",
    ),
    "lab-video-players": Source("video-players", "video-bitrate-video--bfifo-limit-125000"),
    "lab-calls": Source(
        "calls", "flow.mos-speech-by-bottleneck-queue-bar", metric="flow.mos", axes="links.bottleneck.queue"
    ),
    "lab-tcp-vs-udp": Source("tcp-vs-udp", "throughput-all-flows--TCP-and-UDP"),
    "lab-tcp-vs-udp-tuners": Source("tcp-vs-udp", "throughput-all-flows--TCP-and-UDP-pfifo-limit-165", TUNED),
    "lab-three-node": Source("three-node", "stack-tcp", (*ROW, "bw3Mbps_oneflow_RED")),
    "lab-three-node-builtin": Source("three-node-builtin", "throughput-all-flows", (*ROW, "bw3Mbps_oneflow_pfifo")),
    "lab-three-node-published": Source("three-node-published", "stack-tcp", (*ROW, "bw3Mbps_oneflow_RED")),
    "lab-tuners": Source("tuners", "tuners"),
}


def draw(name: str, results: Path) -> Path:
    """Make a picture's runs, unless they exist, and draw it; returns the file."""
    source = SOURCES[name]
    result = results / source.result
    run: list[str | Path] = [NETWARP, "run", files()[source.scenario], *source.arguments, "--no-plots", "-o", result]
    if subprocess.run(run, stdout=subprocess.DEVNULL, check=False).returncode not in (0, 1):
        raise SystemExit(f"{source.scenario} failed; see {result}")
    with tempfile.TemporaryDirectory() as folder:
        which = (
            ["--metric", source.metric, "--by", source.axes, "--kind", source.kind]
            if source.metric
            else [source.figure]
        )
        plot: list[str | Path] = [NETWARP, "plot", result, *which, "--format", "png", "-o", folder]
        subprocess.run(plot, stdout=subprocess.DEVNULL, check=True)
        drawn = Image.open(Path(folder) / f"{source.figure}.png").convert("RGB")
        small = drawn.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        small.save(IMAGES / f"{name}.png", optimize=True)
    return IMAGES / f"{name}.png"


def main() -> None:
    """Draw the named pictures, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", nargs="*", metavar="IMAGE", help=f"one of {', '.join(SOURCES)}")
    parser.add_argument("--results", type=Path, help="a directory that keeps the results")
    wanted = parser.parse_args()
    if unknown := set(wanted.images) - set(SOURCES):
        parser.error(f"there is no picture {', '.join(sorted(unknown))}; there are: {', '.join(SOURCES)}")
    with tempfile.TemporaryDirectory(prefix="netwarp-images-") as scratch:
        for name in wanted.images or SOURCES:
            sys.stdout.write(f"{draw(name, wanted.results or Path(scratch)).relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
