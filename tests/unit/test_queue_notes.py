"""A note on a queue at the end of a link at which no data leaves: a plain `queue` is that of the first end."""

from __future__ import annotations

import pytest
from netwarp.lab import network_notes
from netwarp.scenario import parse_scenario
from netwarp.scenario.points.notes import notes
from scenario_texts import TWO_LINKS

TEXT = TWO_LINKS.replace('rate = "10mbit"', 'rate = "10mbit"\nqueue = "fq_codel"')
PAGE = 'tool = "http"\n'
BULK = 'tool = "bulk"\n'
PING = '[flows.p]\nfrom = "h1"\nto = "h2"\ntool = "ping"\n'
BACK = '[flows.b]\nfrom = "h2"\nto = "h1"\ntool = "bulk"\n'


def said(more: str, *settings: str) -> list[str]:
    found = notes(parse_scenario(TEXT + more, settings=settings), network_notes)
    return [note.message for note in found if "it is the queue at" in note.message]


@pytest.mark.parametrize("more", [PAGE, PAGE + PING, 'tool = "video"\n', 'tool = "iperf3"\nargs = []\n' + BACK + PING])
def test_a_queue_that_only_requests_cross_is_noted(more: str) -> None:
    settings = ("flows.f.count=0",) if "iperf3" in more else ()
    (note,) = said(more, *settings)
    assert 'the queue at the end "r", and data (that of the flow' in note and 'leaves at "h2" alone' in note
    assert 'write queue = { reverse = "fq_codel" }' in note


@pytest.mark.parametrize(
    ("more", "settings"),
    [
        (BULK, ()),
        (PAGE + '[flows.b]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\n', ()),
        (PAGE, ('links.far.queue={ reverse = "fq_codel" }',)),
        (PAGE, ('links.far.queue={ forward = "fq_codel", reverse = "pfifo limit 50" }',)),
        (PAGE, ('links.far.ends=["h2", "r"]',)),
        # A program may send both ways, as may iperf3.
        (PAGE + '[flows.c]\nfrom = "h1"\nto = "h2"\ntool = "command"\nclient = ["true"]\n', ()),
        (PAGE + '[flows.i]\nfrom = "h2"\nto = "h1"\ntool = "iperf3"\nargs = ["--bidir"]\n', ()),
    ],
)
def test_a_queue_that_data_crosses_needs_no_words(more: str, settings: tuple[str, ...]) -> None:
    assert said(more, *settings) == []


def test_what_the_author_wrote_is_quoted() -> None:
    (note,) = said(PAGE, "links.far.queue=pfifo limit 0.5BDP")
    assert 'reverse = "pfifo limit 0.5BDP"' in note
