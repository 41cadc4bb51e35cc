"""docs/labs/README.md: the gallery, with the figure, the question and the command of every shipped scenario."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import netwarp
from netwarp.scenario import shipped_scenarios


@dataclass(frozen=True)
class Exhibit:
    """A scenario's entry in the gallery: the question that it answers, its page in docs/, and a picture of it.

    The picture is the name of a file in docs/images, without its ending.
    """

    question: str
    page: str
    picture: str


_MODULES = "Modules that come with netwarp"
_GROUPS = {
    "Buffers and queues": {
        "bufferbloat": Exhibit(
            "How long does everyone wait as a buffer grows, and what is gained by it?",
            "labs/bufferbloat.md",
            "bufferbloat-cwnd",
        ),
        "bufferbloat-50-100-150": Exhibit(
            "And if the buffers are three to nine times as large as the path needs?",
            "labs/bufferbloat.md",
            "lab-bufferbloat-large",
        ),
        "bufferbloat-first-peak": Exhibit(
            "What makes the first peak of the window six times the queue's limit?",
            "labs/bufferbloat.md",
            "bufferbloat-first-peak",
        ),
        "buffer-sizing": Exhibit(
            "How large a buffer does one flow need to keep the link busy?",
            "labs/buffer-sizing.md",
            "lab-buffer-sizing",
        ),
        "mitigate": Exhibit(
            "Which queue discipline keeps delays short while the rate of the link changes?",
            "labs/mitigate.md",
            "lab-mitigate-rtt",
        ),
        "red-synchronisation": Exhibit(
            "Do flows lose packets at the same times, under tail drop and under RED?",
            "labs/red-law.md",
            "lab-red-synchronisation",
        ),
        "red-law": Exhibit("Does RED in the kernel drop as often as its law says?", "labs/red-law.md", "lab-red-law"),
    },
    "Who gets the link": {
        "web-search": Exhibit("How long do short transfers wait behind long ones?", "open-loop.md", "lab-web-search"),
        "calls": Exhibit("How does a call sound beside a download?", "media.md", "lab-calls"),
        "game": Exhibit("Is a game's update there in time beside downloads?", "media.md", "lab-game"),
        "sctp-vs-tcp": Exhibit("Who gets how much when SCTP and TCP share a queue?", "sctp.md", "lab-sctp-vs-tcp"),
        "handshakes": Exhibit(
            "How many round trips until the first byte: TLS over TCP, QUIC, 0-RTT?", "http.md", "lab-handshakes"
        ),
        "quic-vs-tcp": Exhibit(
            "Who gets how much when QUIC and TCP, both with CUBIC, share a queue?", "quic.md", "lab-quic-vs-tcp"
        ),
        "mptcp": Exhibit(
            "What do two paths give one connection, and what happens when one of them ends?", "mptcp.md", "lab-mptcp"
        ),
        "rate-step": Exhibit(
            "Which senders recover when a path becomes slower and longer at once?", "quic.md", "lab-rate-step"
        ),
        "page-loads": Exhibit(
            "How long does a page take over HTTP/1.1, 2 and 3, and what does one lost packet hold up?",
            "http.md",
            "lab-page-loads",
        ),
        "video-players": Exhibit(
            "Which bitrate does a player of video choose beside a download, and does it get its share?",
            "video.md",
            "lab-video-players",
        ),
        "coexistence": Exhibit(
            "What share does one BBR flow take from one to ten CUBIC flows?",
            "labs/coexistence-matrix.md",
            "lab-coexistence",
        ),
        "coexistence-matrix": Exhibit(
            "Which congestion control harms which?", "labs/coexistence-matrix.md", "lab-coexistence-matrix"
        ),
        "energy": Exhibit(
            "What do congestion controls and queues cost in energy, beside what they deliver?",
            "labs/energy.md",
            "lab-energy",
        ),
        "join-and-leave": Exhibit(
            "How fast do flows that come and go reach their fair share?", "changes.md", "lab-join-and-leave"
        ),
        "tcp-vs-udp": Exhibit(
            "What is left for TCP beside UDP at the rate of the link?", "labs/tcp-vs-udp.md", "lab-tcp-vs-udp"
        ),
        "different-rtts": Exhibit(
            "How much less does a far flow get than a near one, under which control and queue?",
            "labs/different-rtts.md",
            "lab-different-rtts",
        ),
        "l4s": Exhibit("Can a flow with almost no queue share a link with one that fills it?", "l4s.md", "l4s"),
    },
    "Recommendations of a study, measured": {
        "shape-udp": Exhibit(
            "What leaves TCP a share of a narrow link beside UDP that does not slow down?",
            "labs/recommendations.md",
            "lab-shape-udp",
        ),
        "receive-buffers": Exhibit(
            "How large a receive buffer do BBR and CUBIC need on a fast path?",
            "labs/recommendations.md",
            "lab-receive-buffers",
        ),
        "fair-users": Exhibit(
            "What limits a user who opens ten connections?", "labs/recommendations.md", "lab-fair-users"
        ),
        "real-time": Exhibit(
            "Does a call beside downloads need a priority, and does ECN help?",
            "labs/recommendations.md",
            "lab-real-time",
        ),
    },
    "Networks that change": {
        "mobile": Exhibit(
            "How do CUBIC and BBR follow LTE, Wi-Fi and satellite links?", "labs/mobile.md", "lab-mobile-rtt"
        ),
        "diurnal": Exhibit("What does an evening's load do to a call?", "labs/diurnal.md", "lab-diurnal"),
        "differential": Exhibit(
            "Which metric of a connection shows which change of the path?",
            "labs/differential.md",
            "lab-differential-cwnd",
        ),
    },
    "Theory beside measurement": {
        "md1": Exhibit(
            "Is the wait behind packets of one size what the formula of M/D/1 gives?",
            "labs/queueing-theory.md",
            "lab-md1",
        ),
        "mm1": Exhibit("And with exponential sizes, as in M/M/1?", "labs/queueing-theory.md", "lab-mm1"),
        "mm1k": Exhibit(
            "How much does a queue for ten packets lose, beside M/M/1/K?", "labs/queueing-theory.md", "lab-mm1k"
        ),
    },
    "Hosts, kernels and published studies": {
        "ab-interference": Exhibit(
            "Does an experiment at half of the flows predict what treating all of them does?",
            "ab.md",
            "lab-ab-interference",
        ),
        "tuners": Exhibit("Which settings of the hosts matter on which path?", "labs/tuners.md", "lab-tuners"),
        "kernel-ab": Exhibit(
            "What did an upstream fix of HyStart change, and is the published number reproduced?",
            "kernels.md",
            "kernel-ab-cwnd",
        ),
        "three-node": Exhibit(
            "Do 24 published conditions of CUBIC and BBR come out as published?", "three-node.md", "lab-three-node"
        ),
        "three-node-published": Exhibit(
            "Does the published layout, all on one interface, explain the differences?",
            "three-node.md",
            "lab-three-node-published",
        ),
        "three-node-builtin": Exhibit(
            "Is the study the same with built-in generators in place of iperf3?",
            "three-node.md",
            "lab-three-node-builtin",
        ),
    },
    _MODULES: {
        "hystartpp": Exhibit(
            "Does HyStart++ leave slow start late enough on a path with jitter?", "gallery.md", "gallery-hystartpp"
        ),
        "copa": Exhibit("Does Copa keep the queue that its paper promises?", "gallery.md", "gallery-copa"),
        "vivace": Exhibit(
            "Does a control outside of the kernel keep its rate when packets are lost at random?",
            "learning.md",
            "gallery-vivace",
        ),
        "prague-rtt": Exhibit("Does a near sender of Prague get more than a far one?", "gallery.md", "gallery-prague"),
        "bbr-draft": Exhibit(
            "Does the draft's BBR lose less than the kernel's, and leave CUBIC a share?",
            "gallery.md",
            "gallery-bbr-draft",
        ),
    },
}

_HEAD = """\
# Gallery: every shipped scenario

Generated by `make generate` from `tools/gallery_page.py`: change that instead.

Each has a figure, a question and a command; the name leads to its page, which says what you should get and why.
`netwarp show NAME` prints a scenario's network, and `netwarp new mine --from NAME` copies it to be changed."""

_ON_MODULES = """\
These scenarios are beside the modules, in the folder that `$GALLERY` names in [gallery.md](../gallery.md)."""


def markdown() -> str:
    """The page `docs/labs/README.md`. Raises ValueError if a shipped scenario is missing."""
    return "\n".join(_page()) + "\n"


def files() -> dict[str, Path]:
    """The scenarios of the gallery: name → file."""
    modules = Path(netwarp.__file__).parent / "gallery"
    return shipped_scenarios() | {file.stem: file for file in modules.glob("*.toml")}


def _page() -> Iterator[str]:
    scenarios = files()
    shown = [name for group in _GROUPS.values() for name in group]
    if missing := set(scenarios) ^ set(shown):
        raise ValueError(f"tools/gallery_page.py and the shipped scenarios differ in {', '.join(sorted(missing))}")
    yield _HEAD
    for title, group in _GROUPS.items():
        yield f"\n## {title}\n"
        if title == _MODULES:
            yield f"{_ON_MODULES}\n"
        yield '<div class="grid cards" markdown>\n'
        for name, exhibit in group.items():
            yield from _card(name, exhibit, scenarios[name], f"$GALLERY/{name}.toml" if title == _MODULES else name)
        yield "</div>"


def _card(name: str, exhibit: Exhibit, file: Path, argument: str) -> Iterator[str]:
    """An entry of a list, which the site shows as a card."""
    page = exhibit.page.removeprefix("labs/") if exhibit.page.startswith("labs/") else f"../{exhibit.page}"
    summary = tomllib.loads(file.read_text())["summary"]
    yield f"-   [![{summary}](../images/{exhibit.picture}.png)]({page})\n"
    yield f"    **[{name}]({page})**: {exhibit.question}\n"
    yield f"    `netwarp run {argument}`\n"
