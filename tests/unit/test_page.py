"""Parts of the page that need no browser: the drawing's layout, data for the panels, words."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from netwarp.common import quantities
from netwarp.lab_format.model import read_lab
from netwarp.plots import style
from netwarp.plots.values import words_of
from netwarp.report.drawing import MAX_NODES, draw
from netwarp.report.layout import places
from netwarp.report.panels import _axis, _differences
from netwarp.report.svg import compact, title_of
from netwarp.store.network import Network, StepSeries, network_of


def _network(*pairs: tuple[str, str], forwarding: str = "") -> Network:
    def end(node: str, index: int) -> dict[str, object]:
        return {"node": node, "index": index, "wire": {"rate_bps": 10**7, "delay_ns": 10**7}}

    nodes = dict.fromkeys(node for pair in pairs for node in pair)
    links = [
        {"name": f"l{number}", "ends": [end(one, 2 * number), end(other, 2 * number + 1)]}
        for number, (one, other) in enumerate(pairs)
    ]
    named = [{"name": n, "forward": n in forwarding.split()} for n in nodes]
    return network_of(read_lab({"duration_ns": 1, "flows": [], "nodes": named, "links": links}))


def test_a_chain_is_a_line() -> None:
    chain = _network(("a", "b"), ("c", "b"), ("c", "d"))
    assert places(chain, ["a"]) == {"a": (0, 0), "b": (1, 0), "c": (2, 0), "d": (3, 0)}
    assert places(chain, ["d"])["d"] == (0, 0)


def test_a_dumbbell_looks_like_one() -> None:
    dumbbell = _network(
        ("s1", "r1"), ("s2", "r1"), ("s3", "r1"), ("r1", "r2"), ("r2", "d1"), ("r2", "d2"), ("r2", "d3")
    )
    found = places(dumbbell, ["s1", "s2", "s3"])
    assert [found[f"s{n}"] for n in (1, 2, 3)] == [(0, 0), (0, 1), (0, 2)]
    assert [found[f"d{n}"] for n in (1, 2, 3)] == [(3, 0), (3, 1), (3, 2)]


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")), min_size=1, max_size=20))
def test_no_two_nodes_stand_in_one_place(pairs: list[tuple[str, str]]) -> None:
    network = _network(*(pair for pair in [*pairs, *pairwise("abcdefgh")] if pair[0] != pair[1]))
    found = places(network, ["a"])
    assert set(found) == set("abcdefgh")
    assert len(set(found.values())) == 8
    assert min(column for column, _ in found.values()) == 0


def test_a_drawing_escapes_what_it_writes() -> None:
    drawn = draw(_network(("<b>", "r"), ("r", "c")), {"<i>": ("<b>", "c")}, {"links.l1.delay": "2 values"})
    assert drawn is not None and drawn.complete
    for drawing in (drawn.lying, drawn.standing):
        assert "<b>" not in drawing and "&lt;b&gt;" in drawing and "sends &lt;i&gt;" in drawing
        assert "delay: 2 values" in drawing
    many = _network(*(("n" * number, "n" * (number + 1)) for number in range(1, MAX_NODES + 1)))
    assert draw(many, {}, {}) is None


def test_what_a_link_goes_through() -> None:
    end = {"node": "a", "index": 11, "wire": {"rate_bps": 10**7, "delay_ns": 0, "loss": None}}
    slow = {"rate_bps": 10**6, "delay_ns": 0, "loss": {"model": "random", "p": 0.01}}
    lab = {
        "duration_ns": 1,
        "flows": [],
        "nodes": [{"name": "a"}, {"name": "b"}],
        "links": [{"name": "l", "ends": [end, end | {"node": "b", "index": 12}]}],
        "changes": [{"at_ns": 5, "index": 11, "wire": slow}, {"at_ns": 9, "index": 11, "wire": None}],
    }
    there, back = network_of(read_lab(lab)).links[0].directions
    assert there.series == (StepSeries("rate", "Mbit/s", ((0, 10), (5, 1))), StepSeries("loss", "%", ((0, 0), (5, 1))))
    assert back.series == ()


@given(st.lists(st.one_of(st.integers(-(10**9), 10**9).map(float), st.just(float("nan")))))
def test_differences_can_be_added_up_again(values: list[float]) -> None:
    total, found = 0, []
    for step in _differences(np.array(values)):
        total += step or 0
        found.append(float("nan") if step is None else float(total))
    assert np.array_equal(found, values, equal_nan=True)


def test_an_svg_is_made_short() -> None:
    text = (
        '<?xml version="1.0"?>\n<svg viewBox="0 0 9 9">\n <!-- <b> -->\n <g id="unused">\n'
        '  <path id="m1" d="M 1.23456 2.0000"/>\n  <use xlink:href="#m1"/>\n'
        "  <text>0.12345 a\x01b</text>\n </g>\n</svg>\n"
    )
    assert compact(text, "f0", "a & b") == (
        '<svg role="img" aria-label="a &amp; b" viewBox="0 0 9 9"><g><path id="f0-m1" d="M 1.23 2"/>'
        '<use xlink:href="#f0-m1"/><text>0.12345 ab</text></g></svg>'
    )


def test_a_figure_knows_its_title(tmp_path: Path) -> None:
    with style.drawing():
        figure = style.new_figure(2.0)
        style.head(figure, "Drops & marks", "a test", 0.1)
        (file,) = style.save(figure, tmp_path / "drops", ("svg",))
    text = file.read_text()
    assert title_of(text) == "Drops & marks"
    assert "<title>" not in compact(text, "f0", "Drops & marks"), "the label says it"
    assert title_of("<svg></svg>") is None


def test_panels_name_a_module_as_figures_do() -> None:
    values = ["cubic", "file:./tcp_mine.c window=50", "file:a/tcp_two.c", "file:b/tcp_two.c", None]
    words = words_of(values)
    assert words["file:./tcp_mine.c window=50"] == "mine window=50"
    assert _axis("flows.bulk.cc", words, values)["values"] == [
        *("cubic", "mine window=50", "file:a/tcp_two.c", "file:b/tcp_two.c", "null")
    ]


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (quantities.rate(1_500_000), "1.5 Mbit/s"),
        (quantities.rate(10**9), "1 Gbit/s"),
        (quantities.rate(999_999, 3), "1 Mbit/s"),
        (quantities.rate(0), "0 bit/s"),
        (quantities.duration(0), "0 s"),
        (quantities.duration(1500), "1.5 µs"),
        (quantities.duration(20_641_947, 4), "20.64 ms"),
        (quantities.duration(59_979_358_053, 4), "59.98 s"),
        (quantities.count(1, "run"), "1 run"),
        (quantities.count(2, "run"), "2 runs"),
    ],
)
def test_quantities_in_words(made: str, wanted: str) -> None:
    assert made == wanted
